//! Imports fields that have the names of Kubernetes: resources, variables, and where pods may run.

pub mod container;
pub mod kubelet_vars;
pub mod volumes;

use crate::field::{self, Field, set};
use serde_json::{Map, Value as Json, json};

use crate::context::{Context, text};
use crate::field_outcomes::Verdict;
use khorovod_compiler::job;
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::yaml::{Node, Scalar};

/// Imports `requests` and `limits` of a container into `spec.workers`. Returns the number of GPUs.
pub fn resources(context: &mut Context<'_>, node: &Node) -> u32 {
    let mut gpus = 0;
    let mut plain: [Map<String, Json>; 2] = [Map::new(), Map::new()];
    for (section, side) in ["requests", "limits"].iter().zip(0..) {
        for entry in node.get(section).map_or(&[][..], Node::entries) {
            let Some(amount) = text(&entry.value) else {
                context.refuse(&entry.value, "a quantity");
                continue;
            };
            let from = context.outcomes.path(&entry.value).to_owned();
            if Quantity::parse(&amount).is_none() {
                context.refuse(&entry.value, "a quantity such as 4, 500m or 16Gi");
            } else if is_gpu(&entry.key) || is_rdma(&entry.key) {
                let Some(count) = context.count(&entry.value) else { continue };
                if count == 0 {
                    context.needless(&entry.value, "the amount is 0");
                    continue;
                }
                device(context, &entry.key, count, &from);
                let to = if is_gpu(&entry.key) { field::WORKERS_GPUS } else { field::WORKERS_RDMA };
                gpus = gpus.max(if is_gpu(&entry.key) { count } else { 0 });
                context.kept(&entry.value, to);
            } else {
                plain[side].insert(entry.key.clone(), amount.into());
            }
        }
    }
    amounts(context, node, plain);
    if let Some(claims) = node.get("claims") {
        for claim in claims.items() {
            if let Some(request) = claim.get("request") {
                context.lose(request, "a worker gets all devices of the claim");
            }
        }
        context.kept(claims, field::WORKERS_RESOURCE_CLAIMS);
    }
    if text(node).is_some() || !node.items().is_empty() {
        context.refuse(node, "a map of requests and limits");
    }
    context.needless(node, "it is empty, which is the default");
    gpus
}

/// Imports CPUs, memory and other resources. If requests and limits do not differ, the spec gets one amount per
/// resource. If they differ, or if a resource has no field of its own, the spec gets `workers.resources` with both.
fn amounts(context: &mut Context<'_>, node: &Node, [requests, limits]: [Map<String, Json>; 2]) {
    const SHORT: &[(&str, Field<String>)] = &[
        ("cpu", set::WORKERS_CPU),
        ("memory", set::WORKERS_MEMORY),
        ("ephemeral-storage", set::WORKERS_EPHEMERAL_STORAGE),
    ];
    let short = |name: &str| SHORT.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
    let alike = requests.iter().all(|(name, amount)| limits.get(name).is_none_or(|other| other == amount));
    let names = requests.keys().chain(limits.keys());
    let full = !alike || names.clone().any(|name| short(name).is_none());
    if full {
        let mut all = Map::new();
        for (side, amounts) in [("requests", &requests), ("limits", &limits)] {
            if !amounts.is_empty() {
                all.insert(side.to_owned(), Json::Object(amounts.clone()));
            }
        }
        let from = context.head(node);
        context.spec.put(set::WORKERS_RESOURCES, all, &from);
        return context.kept(node, field::WORKERS_RESOURCES);
    }
    let one_sided = requests.len() != limits.len();
    let (verdict, how) =
        if one_sided { (Verdict::Changed, "it is both the request and the limit") } else { (Verdict::Kept, "") };
    for section in ["requests", "limits"] {
        for entry in node.get(section).map_or(&[][..], Node::entries) {
            let (Some(to), Some(amount)) = (short(&entry.key), text(&entry.value)) else { continue };
            let from = context.outcomes.path(&entry.value).to_owned();
            context.spec.put(to, amount, &from);
            context.outcomes.settle(&entry.value, verdict, to.path, how);
        }
    }
}

/// Imports GPUs or RDMA devices. Returns whether the resource `name` is one of these.
pub fn device(context: &mut Context<'_>, name: &str, count: u32, from: &str) -> bool {
    if is_gpu(name) {
        context.spec.put(set::WORKERS_GPUS, count, from);
        if name != "nvidia.com/gpu" {
            context.spec.put(set::WORKERS_GPU_RESOURCE, name, from);
        }
        return true;
    }
    if is_rdma(name) {
        context.spec.put(set::WORKERS_RDMA, json!({"resource": name, "count": count}), from);
        context.pod_security_level("privileged", "RDMA devices need the capability IPC_LOCK");
        return true;
    }
    false
}

fn is_gpu(name: &str) -> bool {
    name.contains('/') && (name.contains("gpu") || name.contains("nvidia.com/mig") || name.starts_with("habana.ai/"))
}

fn is_rdma(name: &str) -> bool {
    name.contains('/') && ["rdma", "infiniband", "/efa", "/hca"].iter().any(|word| name.contains(word))
}

/// Imports variables from a map: `{NAME: value}`.
pub fn env_map(context: &mut Context<'_>, node: &Node) {
    for entry in node.entries() {
        if matches!(entry.value.scalar(), Some(Scalar::Null)) {
            context.needless(&entry.value, "it has no value");
            continue;
        }
        let from = context.outcomes.path(&entry.value).to_owned();
        let Some(value) = context.text(&entry.value) else { continue };
        variable(context, &entry.value, &entry.key, &value, &from);
    }
    context.needless(node, "it is empty");
}

/// Imports a variable with a value.
pub fn variable(context: &mut Context<'_>, node: &Node, name: &str, value: &str, from: &str) {
    if job::owns_variable(name) {
        return context.replaced(node, "khorovod sets this variable itself, for its hostfile and ssh");
    }
    let moved = context.env(name, value, from);
    let (verdict, how) = match (moved, from) {
        (true, _) => (Verdict::Changed, "moved to a Secret"),
        // The name of the launcher's pods in an MPIJob.
        (false, "Launcher") => (Verdict::Changed, "only the launcher had it, and now every rank gets it"),
        (false, _) => (Verdict::Kept, ""),
    };
    context.outcomes.settle(node, verdict, &format!("spec.env.{name}"), how);
}

/// Fields of a pod that the spec does not have and that do not affect khorovod's own fields.
pub const BEYOND: &[&str] = &["dnsConfig", "hostAliases", "preemptionPolicy"];

/// Returns the field of the spec for a field of a pod that selects its nodes.
pub fn placement_field(key: &str) -> Option<Field<Json>> {
    Some(match key {
        "nodeSelector" => set::PLACEMENT_NODE_SELECTOR,
        "tolerations" => set::PLACEMENT_TOLERATIONS,
        "affinity" => set::PLACEMENT_AFFINITY,
        "priorityClassName" => set::PLACEMENT_PRIORITY_CLASS_NAME.untyped(),
        "runtimeClassName" => set::PLACEMENT_RUNTIME_CLASS_NAME.untyped(),
        "schedulerName" => set::SCHEDULING_SCHEDULER_NAME.untyped(),
        _ => return None,
    })
}

/// Imports the claims of a pod, from which it gets devices.
pub fn claims(context: &mut Context<'_>, node: &Node) {
    for claim in node.items() {
        let get = |key: &str| claim.get(key).and_then(text);
        let sources = ["resourceClaimTemplateName", "resourceClaimName"].map(|key| (key, get(key)));
        let Some((key, source)) = sources.into_iter().find_map(|(key, source)| Some((key, source?))) else {
            context.lose(claim, "it names neither a ResourceClaim nor a ResourceClaimTemplate");
            continue;
        };
        let from = context.outcomes.path(claim).to_owned();
        let entry = json!({"name": get("name").unwrap_or_default(), key: source});
        context.spec.push(set::WORKERS_RESOURCE_CLAIMS, entry, &from);
        context.kept(claim, field::WORKERS_RESOURCE_CLAIMS);
    }
    context.needless(node, "it is empty");
}

/// Whether a value is null, or an empty text, map or list.
pub fn is_empty(node: &Node) -> bool {
    text(node).is_none_or(|text| text.is_empty()) && node.entries().is_empty() && node.items().is_empty()
}

/// The note for an affinity that selects labels of the MPI Operator.
pub const OPERATOR_LABELS: &str =
    "it selects labels that only the operator writes; the pods of this job have the label `khorovod.dev/job`";

/// Whether an affinity selects labels that the MPI Operator writes.
pub fn selects_operator_labels(key: &str, node: &Node) -> bool {
    key == "affinity" && node.to_json().to_string().contains("\"training.kubeflow.org/")
}

/// Imports a field that selects the nodes of a pod. Returns whether `key` is such a field.
pub fn placement(context: &mut Context<'_>, key: &str, node: &Node) -> bool {
    let Some(to) = placement_field(key) else { return false };
    match text(node) {
        _ if is_empty(node) => context.needless(node, "it is empty, which is the default"),
        Some(text) => context.keep(node, to, text),
        None if selects_operator_labels(key, node) => context.lose(node, OPERATOR_LABELS),
        None => {
            let from = context.head(node);
            context.spec.put(to, node.to_json(), &from);
            context.kept(node, to.path);
        }
    }
    true
}

/// The note for pods that may have run as root.
pub const NO_ROOT: &str = "pods run as user 65532, and their root file system is read-only. If the image needs root, set \
                           `security: {podSecurityLevel: baseline, runAsUser: 0, readOnlyRootFilesystem: false}`";

/// Sets the Pod Security level `restricted`, if no field of the job needs another level.
pub fn security_level(context: &mut Context<'_>) {
    if context.spec.get(field::SECURITY_POD_SECURITY_LEVEL).is_none() {
        let why = match context.spec.get(field::SECURITY_RUN_AS_USER).is_some() {
            true => "the default; the pods run as the user below",
            false => "the user of the image ran it, often root; these pods do not run as root",
        };
        context.default(set::SECURITY_POD_SECURITY_LEVEL, "restricted", why);
    }
}

/// Reports, once, that pods may run as another user than before.
pub fn report_user(context: &mut Context<'_>) {
    if context.spec.get(field::SECURITY_RUN_AS_USER).is_none() {
        context.report("the image's user", context.whole, Verdict::Changed, field::SECURITY, NO_ROOT);
    }
}

/// Imports pull secrets: `[{name: x}]`, or a list of names.
pub fn pull_secrets(context: &mut Context<'_>, node: &Node) {
    let names: Vec<String> =
        node.items().iter().filter_map(|item| item.get("name").and_then(text).or_else(|| text(item))).collect();
    if names.is_empty() {
        return context.needless(node, "it is empty");
    }
    let from = context.head(node);
    context.spec.put(set::IMAGE_PULL_SECRETS, names, &from);
    context.kept(node, field::IMAGE_PULL_SECRETS);
}

/// If `node` is true, lets the pods use the network of their nodes.
pub fn host_network(context: &mut Context<'_>, node: &Node) {
    if context.yes(node) {
        context.keep(node, set::PLACEMENT_HOST_NETWORK, true);
        context.pod_security_level("privileged", "`placement.hostNetwork` needs it");
    } else {
        context.needless(node, "this is the default of khorovod, too");
    }
}
