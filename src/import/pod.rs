//! What old files say in Kubernetes' own words: resources, variables, where pods may run.

use serde_json::{Map, Value as Json, json};

use super::desk::{Desk, entries, items, text};
use super::ledger::Verdict;
use khorovod_compiler::job;
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::yaml::Node;

/// `requests` and `limits` of a container, into `spec.workers`; how many GPUs there are.
pub fn resources(desk: &mut Desk<'_>, node: &Node) -> u32 {
    let mut gpus = 0;
    let mut plain: [Map<String, Json>; 2] = [Map::new(), Map::new()];
    for (section, side) in ["requests", "limits"].iter().zip(0..) {
        for entry in node.get(section).map_or(&[][..], entries) {
            let Some(amount) = text(&entry.value) else {
                desk.refuse(&entry.value, "a quantity");
                continue;
            };
            let from = desk.ledger.path(&entry.value).to_owned();
            if Quantity::parse(&amount).is_none() {
                desk.lose(&entry.value, "it is no quantity that khorovod reads; write it as 4, 500m or 16Gi");
            } else if is_gpu(&entry.key) || is_rdma(&entry.key) {
                let Some(count) = desk.count(&entry.value) else { continue };
                if count == 0 {
                    desk.needless(&entry.value, "none is asked for");
                    continue;
                }
                device(desk, &entry.key, count, &from);
                let to = if is_gpu(&entry.key) { "spec.workers.gpus" } else { "spec.workers.rdma" };
                gpus = gpus.max(if is_gpu(&entry.key) { count } else { 0 });
                desk.ledger.settle(&entry.value, Verdict::Kept, to, "");
            } else {
                plain[side].insert(entry.key.clone(), amount.into());
            }
        }
    }
    amounts(desk, node, plain);
    if let Some(claims) = node.get("claims") {
        desk.lose(claims, "the spec asks for devices by name, as in `gpus`; a patch of Kustomize's reaches claims");
    }
    if text(node).is_some() || !items(node).is_empty() {
        desk.refuse(node, "a map of requests and limits");
    }
    desk.needless(node, "nothing is asked for, as here by default");
    gpus
}

/// CPUs, memory and the rest: one amount each where both sides agree, else in full.
fn amounts(desk: &mut Desk<'_>, node: &Node, [requests, limits]: [Map<String, Json>; 2]) {
    const SHORT: &[(&str, &str)] = &[("cpu", "cpu"), ("memory", "memory"), ("ephemeral-storage", "ephemeralStorage")];
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
        let from = desk.head(node);
        desk.draft.put("spec.workers.resources", all, &from);
        return desk.ledger.settle(node, Verdict::Kept, "spec.workers.resources", "");
    }
    let one_sided = requests.len() != limits.len();
    let (verdict, how) =
        if one_sided { (Verdict::Changed, "asked for and limit at once") } else { (Verdict::Kept, "") };
    for section in ["requests", "limits"] {
        for entry in node.get(section).map_or(&[][..], entries) {
            let (Some(ours), Some(amount)) = (short(&entry.key), text(&entry.value)) else { continue };
            let to = format!("spec.workers.{ours}");
            let from = desk.ledger.path(&entry.value).to_owned();
            desk.draft.put(&to, amount, &from);
            desk.ledger.settle(&entry.value, verdict, &to, how);
        }
    }
}

/// GPUs or RDMA devices of a worker; whether `name` is either.
pub fn device(desk: &mut Desk<'_>, name: &str, count: u32, from: &str) -> bool {
    if is_gpu(name) {
        desk.draft.put("spec.workers.gpus", count, from);
        if name != "nvidia.com/gpu" {
            desk.draft.put("spec.workers.gpuResource", name, from);
        }
        return true;
    }
    if is_rdma(name) {
        desk.draft.put("spec.workers.rdma", json!({"resource": name, "count": count}), from);
        desk.profile("privileged", "RDMA devices need the capability IPC_LOCK");
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

/// Variables by name: `{NAME: value}`.
pub fn env_map(desk: &mut Desk<'_>, node: &Node) {
    for entry in entries(node) {
        let from = desk.ledger.path(&entry.value).to_owned();
        let Some(value) = desk.text(&entry.value) else { continue };
        variable(desk, &entry.value, &entry.key, &value, &from);
    }
    desk.needless(node, "there are none");
}

/// A variable with a value.
pub fn variable(desk: &mut Desk<'_>, node: &Node, name: &str, value: &str, from: &str) {
    if job::owns_variable(name) {
        return desk.replaced(node, "khorovod sets it itself, as its own hostfile and ssh need it");
    }
    let moved = desk.env(name, value, from);
    let (verdict, how) = if moved { (Verdict::Changed, "moved to a Secret") } else { (Verdict::Kept, "") };
    desk.ledger.settle(node, verdict, &format!("spec.env.{name}"), how);
}

/// Fields of a pod that say where it runs; whether `key` is one.
pub fn placement(desk: &mut Desk<'_>, key: &str, node: &Node) -> bool {
    let empty = matches!(&node.to_json(), Json::Null) || entries(node).is_empty() && items(node).is_empty();
    let to = match key {
        "nodeSelector" => "spec.placement.nodeSelector",
        "tolerations" => "spec.placement.tolerations",
        "affinity" => "spec.placement.affinity",
        "priorityClassName" => "spec.placement.priorityClass",
        "runtimeClassName" => "spec.placement.runtimeClass",
        "schedulerName" => "spec.scheduling.scheduler",
        _ => return false,
    };
    match text(node) {
        Some(text) if text.is_empty() => desk.needless(node, "nothing is asked for, as here by default"),
        Some(text) => desk.keep(node, to, text),
        None if empty => desk.needless(node, "nothing is asked for, as here by default"),
        None if key == "affinity" && node.to_json().to_string().contains("\"training.kubeflow.org/") => {
            let how = "it goes by labels that the operator wrote; pods of this job have `khorovod.dev/job`";
            desk.lose(node, how);
        }
        None => {
            let from = desk.head(node);
            desk.draft.put(to, node.to_json(), &from);
            desk.ledger.settle(node, Verdict::Kept, to, "");
        }
    }
    true
}

/// Names of pull secrets: `[{name: x}]`, or names alone.
pub fn pull_secrets(desk: &mut Desk<'_>, node: &Node) {
    let names: Vec<String> =
        items(node).iter().filter_map(|item| item.get("name").and_then(text).or_else(|| text(item))).collect();
    if names.is_empty() {
        return desk.needless(node, "there are none");
    }
    let from = desk.head(node);
    desk.draft.put("spec.image.pullSecrets", json!(names), &from);
    desk.ledger.settle(node, Verdict::Kept, "spec.image.pullSecrets", "");
}

/// The host's network, where `node` says yes.
pub fn host_network(desk: &mut Desk<'_>, node: &Node) {
    if desk.yes(node) {
        desk.keep(node, "spec.placement.hostNetwork", true);
        desk.profile("privileged", "the host's network needs it");
    } else {
        desk.needless(node, "the same here by default");
    }
}
