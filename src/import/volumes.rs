//! Volumes and mounts of Kubernetes → `spec.storage`, `spec.code`, `spec.workers.shm`.

use serde_json::{Map, Value as Json, json};

use super::desk::{self, Desk, entries, items, text};
use super::ledger::Verdict;
use khorovod_compiler::job;
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::yaml::{Entry, Node};

/// What each volume is, and where it is mounted.
pub fn read(desk: &mut Desk<'_>, volumes: Option<&Node>, mounts: Option<&Node>) {
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
    if path == "/dev/shm" {
        return memory(desk, volume, mount, kind);
    }
    if let Some(reserved) = job::reserved(path.trim_end_matches('/')) {
        let why = match reserved {
            "/dev" => {
                "devices come by a device plugin: `spec.workers.rdma` asks one for those of InfiniBand".to_owned()
            }
            _ => format!("pods need `{reserved}` as it is: name another mountPath, and that to the program"),
        };
        desk.lose(volume, &why);
        return desk.lose(mount, &why);
    }
    if kind.key == "configMap" && desk.draft.get("spec.code").is_none() {
        return code(desk, &kind.value, volume, mount, &path, &from);
    }
    details(desk, kind);
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
    let read_only = [mount.get("readOnly"), kind.value.get("readOnly")];
    if read_only.into_iter().flatten().any(|node| desk.yes(node)) {
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
        "persistentVolumeClaim" => one("existingClaim", get("claimName")?.into(), ""),
        "nfs" => one("nfs", json!({"server": get("server")?, "path": get("path")?}), ""),
        "hostPath" => one("hostPath", get("path")?.into(), ""),
        "emptyDir" => match node.get("sizeLimit").and_then(size) {
            Some(size) => one("emptyDir", json!({"size": size}), ""),
            None => one("emptyDir", json!({}), ""),
        },
        _ => None,
    }
}

/// What an entry of storage cannot say of a volume.
fn details(desk: &mut Desk<'_>, kind: &Entry) {
    let get = |key: &str| kind.value.get(key);
    match kind.key.as_str() {
        "emptyDir" => {
            if let Some(node) = get("medium").filter(|node| text(node).as_deref() == Some("Memory")) {
                desk.lose(node, "it lies on the node's disk here; in memory there is /dev/shm, by spec.workers.shm");
            }
            if let Some(node) = get("sizeLimit").filter(|node| size(node).is_none()) {
                desk.lose(node, "it is no quantity that khorovod reads; write it as 10Gi");
            }
        }
        "hostPath" => {
            let checks = |node: &&Node| !matches!(text(node).as_deref(), None | Some(""));
            if let Some(node) = get("type").filter(checks) {
                desk.lose(
                    node,
                    "what is there is mounted, unchecked, and nothing made where it lacks: make it on the nodes",
                );
            }
        }
        _ => {}
    }
}

/// A ConfigMap: files of code, where its keys are their names.
fn code(desk: &mut Desk<'_>, map: &Node, volume: &Node, mount: &Node, path: &str, from: &str) {
    let renamed = |item: &Node| item.get("key").and_then(text) != item.get("path").and_then(text);
    let why = if mount.get("subPath").is_some() {
        "spec.code mounts a folder, not one file of it: mount the ConfigMap as a folder of its own"
    } else if map.get("items").is_some_and(|list| items(list).iter().any(renamed)) {
        "spec.code names files by their keys: name the keys of the ConfigMap so"
    } else {
        ""
    };
    if !why.is_empty() {
        desk.lose(volume, why);
        return desk.lose(mount, "its volume is lost");
    }
    let name = map.get("name").and_then(text).unwrap_or_default();
    desk.draft.put("spec.code", json!({"configMap": name, "mountPath": path}), from);
    if let Some(list) = map.get("items") {
        desk.ledger.settle(list, Verdict::Changed, "spec.code", "all keys become files");
    }
    for (key, why) in [
        ("defaultMode", "files are read-only; run a script by its interpreter"),
        ("optional", "the ConfigMap must be there"),
    ] {
        if let Some(node) = map.get(key) {
            desk.lose(node, why);
        }
    }
    desk.ledger.settle(volume, Verdict::Kept, "spec.code", "");
    if let (Some(node), None) = (mount.get("mountPath"), desk.draft.get("spec.workdir")) {
        let how = "and ranks start there; spec.workdir names another folder";
        desk.ledger.settle(node, Verdict::Changed, "spec.code.mountPath", how);
    }
    desk.ledger.settle(mount, Verdict::Kept, "spec.code.mountPath", "");
}

fn size(node: &Node) -> Option<String> {
    text(node).filter(|size| Quantity::parse(size).is_some())
}

/// What is mounted at `/dev/shm`, which every pod has here.
fn memory(desk: &mut Desk<'_>, volume: &Node, mount: &Node, kind: &Entry) {
    let limit = kind.value.get("sizeLimit").filter(|_| kind.key == "emptyDir");
    match limit.and_then(|node| Some((node, size(node)?))) {
        Some((node, size)) => {
            let from = desk.ledger.path(node).to_owned();
            desk.draft.put("spec.workers.shm", size, &from);
            desk.ledger.settle(volume, Verdict::Kept, "spec.workers.shm", "");
        }
        None => {
            let how = "a pod has its own, by default a quarter of its memory, else 8Gi";
            desk.ledger.settle(volume, Verdict::Changed, "spec.workers.shm", how);
        }
    }
    desk.ledger.settle(mount, Verdict::Kept, "spec.workers.shm", "");
}
