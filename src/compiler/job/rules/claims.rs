//! Rules about devices by Dynamic Resource Allocation: `workers.resourceClaims`, `gpuClaim`, `rdma.claim` and `computeDomain`.

use serde_json::Value as Json;

use super::Case;
use super::cluster::KUBE_VERSION;
use crate::job::declare::{ResourceClaim, WorkerFields};
use crate::job::types::KubeVersion;
use crate::problem::{Problem, Span, codes};

codes! {
    /// Claims of devices that do not fit together
    ///
    /// `workers.gpuClaim` and `rdma.claim` name an entry of `workers.resourceClaims`. `gpus` is the number of GPUs in the claim,
    /// because the number of ranks follows from it. A claim with GPUs must be named by `gpuClaim`: otherwise the workers would
    /// request GPUs twice, or a worker with several GPUs would run one rank. Names of entries are unique. At most 256 pods can
    /// share a ResourceClaim.
    Error RESOURCE_CLAIMS = "resource-claims";
}

/// The number of pods that can share a ResourceClaim.
const MAX_SHARERS: u32 = 256;

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(workers) = &case.body.workers else { return };
    if !case.spec.target.has_pods || !case.could_read(&["workers"]) {
        return;
    }
    version(case, problems);
    match &workers.groups {
        None => worker(case, &WorkerFields::new(workers, None), problems),
        Some(groups) => {
            groups.iter().for_each(|group| worker(case, &WorkerFields::new(workers, Some(group)), problems));
        }
    }
}

/// Reports claims in a version of Kubernetes that does not have their API.
fn version(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let needs = KubeVersion::new(34);
    let Some(workers) = case.body.workers.as_ref().filter(|_| case.kube_version < needs) else { return };
    let groups = workers.groups.iter().flat_map(|at| &at.value).filter_map(|group| group.resource_claims.as_ref());
    let claims = workers.resource_claims.iter().chain(groups).map(|at| ("workers.resourceClaims", at.key));
    let domain = workers.compute_domain.iter().map(|at| ("workers.computeDomain", at.key));
    for (field, span) in claims.chain(domain) {
        let version = case.kube_version;
        let message = format!("`{field}` needs Kubernetes {needs}, and `--kube-version` is {version}");
        let problem = Problem::new(&KUBE_VERSION, span, message);
        problems.push(
            problem.hint("use a newer `--kube-version`, or a device plugin: `gpus` and `rdma: {resource: NAME}`"),
        );
    }
}

fn worker(case: &Case<'_>, fields: &WorkerFields<'_>, problems: &mut Vec<Problem>) {
    let claims: Vec<&ResourceClaim> =
        fields.resource_claims.iter().flat_map(|at| &at.value).map(|at| &at.value).collect();
    let is_called = |claim: &ResourceClaim, name: &str| claim.name.as_ref().is_some_and(|at| at.0 == name);
    let mut report = |span: Span, message: String, hint: &str| {
        problems.push(Problem::new(&RESOURCE_CLAIMS, span, message).hint(hint));
    };
    for (index, claim) in claims.iter().enumerate() {
        let Some(name) = &claim.name else { continue };
        if claims[..index].iter().any(|other| is_called(other, &name.0)) {
            report(name.span, format!("two claims are called `{}`", name.0), "give each claim a name of its own");
        }
        if name.0 == "compute-domain-channel" {
            report(name.span, format!("`{}` is the claim of `computeDomain`", name.0), "give it another name");
        }
    }
    let rdma = fields.rdma.and_then(|at| at.claim.as_ref());
    for (field, at) in [("gpuClaim", fields.gpu_claim), ("rdma.claim", rdma)] {
        if let Some(at) = at.filter(|at| !claims.iter().any(|claim| is_called(claim, &at.0))) {
            let message = format!("`{field}` names `{}`, which is not in `resourceClaims`", at.0);
            report(at.span, message, "write the name of an entry of `resourceClaims`");
        }
    }
    let gpus = fields.gpus().value.0;
    if let Some(at) = fields.gpu_claim.filter(|_| gpus == 0) {
        let hint = "write the number of GPUs in the claim as `gpus`";
        report(at.key, "`gpuClaim` has no effect without `gpus`".to_owned(), hint);
    }
    for claim in &claims {
        let (Some(name), Some(devices)) = (&claim.name, &claim.devices) else { continue };
        let Some(claimed) = claimed_gpus(&devices.0) else { continue };
        if fields.gpu_claim.is_some_and(|at| at.0 == name.0) {
            if let Some(at) = fields.gpus.filter(|_| gpus > 0 && claimed != u64::from(gpus)) {
                let message = format!("`gpus` is {gpus}, and the claim `{}` has {claimed}", name.0);
                report(at.span, message, "write the same number in both");
            }
        } else if gpus > 0 || claimed > 1 && fields.slots_per_worker.is_none() {
            let message = match gpus {
                0 => format!(
                    "1 rank on the {claimed} GPUs of the claim `{}`: the number of ranks follows from `gpus`",
                    name.0
                ),
                _ => format!("`gpus` and the claim `{}` would both request GPUs", name.0),
            };
            report(name.span, message, &format!("write `gpus: {claimed}` and `gpuClaim: {}`", name.0));
        }
    }
    let pods = case.spec.groups.iter().map(|group| group.replicas.saturating_add(group.spares));
    let pods = pods.fold(0, u32::saturating_add);
    let shared = claims.iter().find_map(|claim| claim.resource_claim_name.as_ref());
    if let Some(at) = shared.filter(|_| pods > MAX_SHARERS) {
        let message = format!("{pods} workers would share one ResourceClaim, and at most {MAX_SHARERS} pods can");
        report(at.key, message, "use `resourceClaimTemplateName`, so that each worker gets a claim of its own");
    }
}

/// The number of GPUs in the devices of a claim. Devices count as GPUs if the name of their class begins with `gpu.`. `None` if
/// there are no such devices, or if their number is not fixed.
fn claimed_gpus(devices: &Json) -> Option<u64> {
    let requests = devices["requests"].as_array()?;
    let exact: Vec<&Json> = requests
        .iter()
        .map(|request| &request["exactly"])
        .filter(|exactly| exactly["deviceClassName"].as_str().is_some_and(|class| class.starts_with("gpu.")))
        .collect();
    if exact.is_empty() || exact.iter().any(|exactly| exactly["allocationMode"] == "All") {
        return None;
    }
    Some(exact.iter().map(|exactly| exactly["count"].as_u64().unwrap_or(1)).sum())
}
