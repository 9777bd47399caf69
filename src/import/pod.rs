//! What old files say in Kubernetes' own words: resources, variables, volumes, where pods may run.

use serde_json::{Map, Value as Json, json};

use super::desk::{self, Desk, entries, items, text};
use super::ledger::Verdict;
use crate::source::Node;
use crate::spec::quantity::Quantity;

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
    let moved = desk.env(name, value, from);
    let (verdict, how) = if moved { (Verdict::Changed, "moved to a Secret") } else { (Verdict::Kept, "") };
    desk.ledger.settle(node, verdict, &format!("spec.env.{name}"), how);
}

/// What each volume is, and where it is mounted.
pub fn volumes(desk: &mut Desk<'_>, volumes: Option<&Node>, mounts: Option<&Node>) {
    let volumes = volumes.map_or(&[][..], items);
    for mount in mounts.map_or(&[][..], items) {
        let name = mount.get("name").and_then(text).unwrap_or_default();
        match volumes.iter().find(|volume| volume.get("name").and_then(text).as_ref() == Some(&name)) {
            Some(volume) => mounted(desk, volume, mount, &name),
            None => desk.lose(mount, "there is no volume of that name"),
        }
    }
    for volume in volumes {
        desk.lose(volume, "it was mounted nowhere");
    }
}

fn mounted(desk: &mut Desk<'_>, volume: &Node, mount: &Node, name: &str) {
    let Some(path) = mount.get("mountPath").and_then(text) else {
        return desk.refuse(mount, "a map with `name` and `mountPath`");
    };
    let from = desk.ledger.path(volume).rsplit_once('.').map_or(String::new(), |(head, _)| head.to_owned());
    let Some(kind) = entries(volume).iter().find(|entry| entry.key != "name") else {
        desk.lose(volume, "it says no source");
        return desk.lose(mount, "its volume says no source");
    };
    if kind.key == "emptyDir" && path == "/dev/shm" {
        return memory(desk, volume, mount, &kind.value);
    }
    if kind.key == "configMap" && desk.draft.get("spec.code").is_none() {
        let map = kind.value.get("name").and_then(text).unwrap_or_default();
        desk.draft.put("spec.code", json!({"configMap": map, "mountPath": path}), &from);
        desk.ledger.settle(volume, Verdict::Kept, "spec.code", "");
        return desk.ledger.settle(mount, Verdict::Kept, "spec.code.mountPath", "");
    }
    let Some((source, mut how)) = source(&kind.key, &kind.value) else {
        let why = "spec.storage has no such volume; make a claim of it, or give its values as spec.env from a Secret";
        desk.lose(volume, why);
        return desk.lose(mount, "its volume is lost");
    };
    match kind.key.as_str() {
        "hostPath" => {
            desk.profile("privileged", "a directory of the node needs it");
            how = "needs the profile privileged";
        }
        "nfs" => {
            desk.profile("baseline", "NFS without a claim needs it; `persistentVolume` makes one");
            how = "needs the profile baseline";
        }
        _ => {}
    }
    let mut item = Map::from_iter([("name".to_owned(), free_name(desk, name)), ("mountPath".to_owned(), path.into())]);
    item.extend(source);
    if mount.get("readOnly").is_some_and(|node| desk.yes(node)) {
        item.insert("readOnly".to_owned(), true.into());
    }
    if let Some(below) = mount.get("subPath").and_then(text).filter(|below| !below.is_empty()) {
        item.insert("subPath".to_owned(), below.into());
    }
    desk.draft.push("spec.storage", item, &from);
    let verdict = if how.is_empty() { Verdict::Kept } else { Verdict::Changed };
    desk.ledger.settle(volume, verdict, "spec.storage", how);
    for entry in entries(mount) {
        match entry.key.as_str() {
            "name" | "mountPath" | "readOnly" | "subPath" => {
                desk.ledger.settle(&entry.value, Verdict::Kept, "spec.storage", "");
            }
            _ => desk.lose(&entry.value, "spec.storage has no such setting; a patch over the StatefulSet reaches it"),
        }
    }
}

/// A name that no other entry of storage has.
fn free_name(desk: &Desk<'_>, name: &str) -> Json {
    let taken = |name: &str| {
        let entries = desk.draft.get("spec.storage").and_then(Json::as_array);
        entries.is_some_and(|entries| entries.iter().any(|entry| entry["name"] == name))
    };
    let name = desk::label(name);
    let mut free = name.clone();
    for number in 2.. {
        if !taken(&free) {
            break;
        }
        free = format!("{name}-{number}");
    }
    free.into()
}

/// A volume source of Kubernetes as an entry of storage, and how it changes.
fn source(kind: &str, node: &Node) -> Option<(Map<String, Json>, &'static str)> {
    let get = |key: &str| node.get(key).and_then(text);
    let one = |key: &str, value: Json, how| Some((Map::from_iter([(key.to_owned(), value)]), how));
    match kind {
        "persistentVolumeClaim" => {
            let claim = one("existingClaim", get("claimName")?.into(), "");
            let read_only = node.get("readOnly").is_some_and(|node| text(node).as_deref() == Some("true"));
            claim.map(|(mut map, how)| {
                if read_only {
                    map.insert("readOnly".to_owned(), true.into());
                }
                (map, how)
            })
        }
        "nfs" => one("nfs", json!({"server": get("server")?, "path": get("path")?}), ""),
        "hostPath" => one("hostPath", get("path")?.into(), ""),
        "emptyDir" => match get("sizeLimit").filter(|size| Quantity::parse(size).is_some()) {
            Some(size) => one("emptyDir", json!({"size": size}), ""),
            None => one("emptyDir", json!({}), ""),
        },
        _ => None,
    }
}

/// A volume in memory at `/dev/shm`.
fn memory(desk: &mut Desk<'_>, volume: &Node, mount: &Node, node: &Node) {
    match node.get("sizeLimit").and_then(text).filter(|size| Quantity::parse(size).is_some()) {
        Some(size) => {
            let from = node.get("sizeLimit").map_or(String::new(), |node| desk.ledger.path(node).to_owned());
            desk.draft.put("spec.workers.shm", size, &from);
            desk.ledger.settle(volume, Verdict::Kept, "spec.workers.shm", "");
        }
        None => desk.ledger.settle(
            volume,
            Verdict::Changed,
            "spec.workers.shm",
            "by default a quarter of the memory, else 8Gi",
        ),
    }
    desk.ledger.settle(mount, Verdict::Kept, "spec.workers.shm", "");
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
