//! Rules about the version of Kubernetes, images and tolerations.

use super::Case;
use crate::job::declare::Image;
use crate::job::declare::scalars::ImageName;
use crate::job::types::KubeVersion;
use crate::job::types::spec::{Gang, LauncherPod, Scheduling};
use crate::problem::{Problem, codes};
use crate::yaml::Kind;

codes! {
    /// The version of Kubernetes is too old for the rendered objects
    ///
    /// `launcher.runsIn: firstWorker` needs the field `successPolicy` of Jobs, which ends the workers after a success. Kubernetes has it
    /// since 1.31. `launcher.runsIn: ownPod` needs 1.26: with `security.apiAccess: false`, its Job has a `podFailurePolicy`. In older versions, workers
    /// would keep their GPUs, or the loss of a launcher would end the job. Use the other value of `runsIn`, or a newer cluster.
    /// `scheduling.gang: native` needs the PodGroup of Kubernetes itself, which exists since 1.36.
    /// `workers.resourceClaims` and `workers.computeDomain` need the API `resource.k8s.io/v1` of Kubernetes 1.34.
    /// `placement.topology.rankOrder` with only `zone` and `region` needs the labels that Kubernetes copies to pods since 1.35.
    Error KUBE_VERSION = "kube-version";

    /// An image without a tag or digest, or with `latest`
    ///
    /// Another image can get the same tag later. Then workers that start at different times may run different programs, and you
    /// cannot repeat a training. Use the tag of a version, or a digest.
    Warning IMAGE_UNPINNED = "image-unpinned";

    /// An image that is a placeholder
    ///
    /// Domains such as `example.org` are reserved for documentation, so no registry has this image, and the pods would wait
    /// with `ImagePullBackOff`. `khorovod import slurm` writes such a name, because a batch script contains no image. Write the
    /// name of your image.
    Warning IMAGE_PLACEHOLDER = "image-placeholder";

    /// An affinity that Kubernetes refuses
    ///
    /// The required terms of `nodeAffinity` are a map with the list `nodeSelectorTerms`. All other terms are a list.
    Error AFFINITY = "affinity";

    /// A toleration that Kubernetes refuses
    ///
    /// A toleration with the operator `Exists` must not have a value. Without a key, the operator must be `Exists`.
    /// `tolerationSeconds` needs the effect `NoExecute`.
    Error TOLERATION = "toleration";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    version(case, problems);
    images(case, problems);
    tolerations(case, problems);
    affinity(case, problems);
}

/// Reports the terms of an affinity whose type the API server refuses. The required terms of a node affinity must be a map, and all
/// other terms must be a list.
fn affinity(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let placement = case.document.get("spec").and_then(|spec| spec.get("placement"));
    let Some(affinity) = placement.and_then(|placement| placement.get("affinity")) else { return };
    for part in affinity.entries() {
        for term in part.value.entries() {
            let is_map = part.key == "nodeAffinity" && term.key == "requiredDuringSchedulingIgnoredDuringExecution";
            let (is_right, expected, hint) = match (&term.value.kind, is_map) {
                (Kind::Map(_), true) => {
                    let has_terms = term.value.get("nodeSelectorTerms").is_some();
                    (has_terms, "a map with `nodeSelectorTerms`", "write `nodeSelectorTerms:` with the list of terms")
                }
                (_, true) => (false, "a map, not a list", "write `nodeSelectorTerms:` before the list of terms"),
                (Kind::List(_), false) => (true, "", ""),
                (_, false) => (false, "a list of terms", "put `- ` before its first line, and indent the others"),
            };
            if !is_right {
                let message = format!("`spec.placement.affinity.{}.{}` takes {expected}", part.key, term.key);
                problems.push(Problem::new(&AFFINITY, term.value.span, message).hint(hint));
            }
        }
    }
}

fn version(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["launcher.runsIn", "launcher.kind", "scheduling"]) {
        return;
    }
    if !case.spec.target.uses_jobs {
        return;
    }
    native_gang(case, problems);
    let (needs, what) = match case.spec.launcher.runs_in {
        LauncherPod::FirstWorker => (KubeVersion::new(31), "`launcher.runsIn: firstWorker`"),
        LauncherPod::Own => (KubeVersion::new(26), "`launcher.runsIn: ownPod`"),
    };
    if case.kube_version < needs {
        let span = field!(case.launcher.runs_in)
            .map(|at| at.span)
            .or_else(|| Some(case.body.workers.as_ref()?.key))
            .unwrap_or(case.top);
        let message = format!("{what} needs Kubernetes {needs}, and `--kube-version` is {}", case.kube_version);
        let Scheduling { gang, local_queue, suspend, .. } = &case.spec.scheduling;
        let queued = gang.is_some() || local_queue.is_some() || *suspend;
        let alone = case.spec.launcher.kind.has_agents() || queued && case.spec.target.own_workloads;
        let problem = Problem::new(&KUBE_VERSION, span, message);
        problems.push(match case.spec.launcher.runs_in {
            LauncherPod::FirstWorker if alone => {
                problem.hint("use a newer `--kube-version`: torchrun, jax, tensorflow, a gang, Kueue and `suspend` need `launcher.runsIn: firstWorker`")
            }
            LauncherPod::FirstWorker => {
                problem.hint("write `launcher: {runsIn: ownPod}`, or use a newer `--kube-version`")
            }
            LauncherPod::Own => problem.hint("use a newer `--kube-version`"),
        });
    }
}

/// Reports `gang: native` before Kubernetes 1.36, the first version in which pods refer to a PodGroup. In 1.35 they refer to a
/// Workload.
fn native_gang(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let needs = KubeVersion::new(36);
    if let (Some(Gang::Native), Some(at)) = (case.spec.scheduling.gang, field!(case.scheduling.gang))
        && case.kube_version < needs
    {
        let version = case.kube_version;
        let message = format!("`scheduling.gang: native` needs Kubernetes {needs}, and `--kube-version` is {version}");
        let hint = "use a newer `--kube-version`, or write `gang: coscheduling` or `gang: volcano`, which need a scheduler of their own";
        problems.push(Problem::new(&KUBE_VERSION, at.span, message).hint(hint));
    }
}

fn images(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let job = case.body.image.as_ref().and_then(|at| match &at.value {
        Image::Name(name) => Some((name, at.span)),
        Image::Full(parts) if parts.digest.is_some() => None,
        Image::Full(parts) => parts.name.as_ref().map(|at| (&at.value, at.span)),
    });
    let launcher = field!(case.launcher.image).map(|at| (&at.value, at.span));
    for (ImageName(name), span) in job.into_iter().chain(launcher) {
        if case.spec.target.has_pods && is_placeholder(name) {
            let message = format!("the image `{name}` is a placeholder: no registry has it");
            problems.push(Problem::new(&IMAGE_PLACEHOLDER, span, message).hint("write the name of your image"));
            continue;
        }
        let last = name.rsplit('/').next().unwrap_or(name);
        let tag = last.split_once(':').map(|(_, tag)| tag);
        if !name.contains('@') && matches!(tag, None | Some("latest" | "")) {
            let what = if tag.is_some_and(|tag| !tag.is_empty()) { "names `latest`" } else { "has no tag" };
            let problem =
                Problem::new(&IMAGE_UNPINNED, span, format!("the image `{name}` {what}: its content may change"));
            let name = name.strip_suffix(":latest").unwrap_or(name).trim_end_matches(':');
            problems.push(problem.hint(format!(
                "append a tag or a digest that the registry has, in the form `{name}:1.4` or `{name}@sha256:…`; khorovod does not look them up"
            )));
        }
    }
}

/// Whether the registry of an image is in a domain that is reserved for documentation.
fn is_placeholder(name: &str) -> bool {
    let Some((registry, _)) = name.split_once('/') else { return false };
    let host = registry.split(':').next().unwrap_or_default();
    let is_in = |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    ["example.com", "example.org", "example.net"].into_iter().any(is_in)
        || [".example", ".invalid"].iter().any(|end| host.ends_with(end))
}

fn tolerations(case: &Case<'_>, problems: &mut Vec<Problem>) {
    for at in case.body.placement.iter().filter_map(|at| at.tolerations.as_ref()).flat_map(|at| &at.value) {
        let exists = at.operator.as_ref().is_some_and(|operator| operator.0 == "Exists");
        let no_execute = at.effect.as_ref().is_none_or(|effect| effect.0 == "NoExecute");
        let found = match (&at.value.key, &at.value.value, &at.toleration_seconds) {
            (_, Some(value), _) if exists => {
                Some((value.span, "`operator: Exists` takes no `value`", "remove `value`"))
            }
            (None, _, _) if !exists => {
                Some((at.span, "a toleration without `key` needs `operator: Exists`", "add `operator: Exists`"))
            }
            (_, _, Some(seconds)) if !no_execute => {
                Some((seconds.span, "`tolerationSeconds` needs `effect: NoExecute`", "remove `tolerationSeconds`"))
            }
            _ => None,
        };
        if let Some((span, message, hint)) = found {
            problems.push(Problem::new(&TOLERATION, span, message).hint(hint));
        }
    }
}
