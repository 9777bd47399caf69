//! Imports volumes and mounts of Kubernetes into `spec.storage`, `spec.code` and `spec.workers.shm`.

use crate::field::{self, set};
use serde_json::{Map, Value as Json, json};

use crate::context::{self, Context, text};
use crate::field_outcomes::Verdict;
use crate::launch::{files, program};
use crate::pod;
use khorovod_compiler::job;
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::problem::Span;
use khorovod_compiler::yaml::{Entry, Node};

/// Imports volumes, and the paths at which they are mounted.
pub fn read(context: &mut Context<'_>, volumes: Option<&Node>, mounts: Option<&Node>) {
    let lists = [volumes, mounts];
    let volumes = volumes.map_or(&[][..], Node::items);
    for mount in mounts.map_or(&[][..], Node::items) {
        let name = mount.get("name").and_then(text).unwrap_or_default();
        match volumes.iter().find(|volume| volume.get("name").and_then(text).as_ref() == Some(&name)) {
            Some(volume) => mounted(context, volume, mount, &name),
            None => context.lose(mount, "there is no volume of that name"),
        }
    }
    for volume in volumes {
        context.lose(volume, "no container mounts it");
    }
    for list in lists.into_iter().flatten().filter(|list| pod::is_empty(list)) {
        context.needless(list, "it is empty");
    }
}

fn mounted(context: &mut Context<'_>, volume: &Node, mount: &Node, name: &str) {
    let Some(path) = mount.get("mountPath").and_then(text) else {
        return context.refuse(mount, "a map with `name` and `mountPath`");
    };
    let from = context.outcomes.path(volume).rsplit_once('.').map_or(String::new(), |(head, _)| head.to_owned());
    let Some(kind) = volume.entries().iter().find(|entry| entry.key != "name") else {
        context.lose(volume, "it has no source");
        return context.lose(mount, "its volume has no source");
    };
    if path == "/dev/shm" {
        return memory(context, volume, mount, kind);
    }
    if let Some(reserved) = job::reserved(path.trim_end_matches('/')) {
        let why = match reserved {
            "/dev" => "a device plugin provides devices: for those of InfiniBand, set spec.workers.rdma".to_owned(),
            _ => format!("pods use `{reserved}` themselves: choose another mountPath, and pass it to the program"),
        };
        context.lose(volume, &why);
        return context.lose(mount, &why);
    }
    if kind.key == "configMap" && context.spec.get(field::CODE).is_none() {
        return code(context, &kind.value, volume, mount, &path, &from);
    }
    details(context, kind);
    let Some((source, mut how)) = source(&kind.key, &kind.value) else {
        let why = "spec.storage has no such kind of volume: use a claim, or set variables from a Secret in spec.env";
        context.lose(volume, why);
        return context.lose(mount, "its volume is lost");
    };
    match kind.key.as_str() {
        "hostPath" => {
            context.pod_security_level("privileged", "`hostPath` needs it");
            how = "needs the Pod Security level privileged";
        }
        "nfs" => {
            context.pod_security_level("baseline", "`nfs` without `persistentVolume` needs it");
            how = "needs the Pod Security level baseline";
        }
        _ => {}
    }
    let mut item =
        Map::from_iter([("name".to_owned(), free_name(context, name)), ("mountPath".to_owned(), path.into())]);
    item.extend(source);
    let read_only = [mount.get("readOnly"), kind.value.get("readOnly")];
    if read_only.into_iter().flatten().any(|node| context.yes(node)) {
        item.insert("readOnly".to_owned(), true.into());
    }
    if let Some(below) = mount.get("subPath").and_then(text).filter(|below| !below.is_empty()) {
        item.insert("subPath".to_owned(), below.into());
    }
    context.spec.push(set::STORAGE, item, &from);
    let verdict = if how.is_empty() { Verdict::Kept } else { Verdict::Changed };
    context.outcomes.settle(volume, verdict, field::STORAGE, how);
    for entry in mount.entries() {
        match entry.key.as_str() {
            "name" | "mountPath" | "readOnly" | "subPath" => context.kept(&entry.value, field::STORAGE),
            _ => {
                context.lose(&entry.value, "spec.storage has no such field: set it with spec.patches");
            }
        }
    }
}

/// Returns a name that is unique in `spec.storage`.
fn free_name(context: &Context<'_>, name: &str) -> Json {
    let taken = |name: &str| {
        let entries = context.spec.get(field::STORAGE).and_then(Json::as_array);
        entries.is_some_and(|entries| entries.iter().any(|entry| entry["name"] == name))
    };
    let name = context::label(name);
    let mut free = name.clone();
    for number in 2.. {
        if !taken(&free) {
            break;
        }
        free = format!("{name}-{number}");
    }
    free.into()
}

/// Converts a volume source to a field of an entry of `spec.storage`. Returns the field, and a note on how it differs from
/// the source. None if storage has no such kind of volume.
fn source(kind: &str, node: &Node) -> Option<(Map<String, Json>, &'static str)> {
    let get = |key: &str| node.get(key).and_then(text);
    let one = |key: &str, value: Json, how| Some((Map::from_iter([(key.to_owned(), value)]), how));
    match kind {
        "persistentVolumeClaim" => one("existingClaim", get("claimName")?.into(), ""),
        "nfs" => one("nfs", json!({"server": get("server")?, "path": get("path")?}), ""),
        "hostPath" => one("hostPath", json!({"path": get("path")?}), ""),
        "emptyDir" => match node.get("sizeLimit").and_then(size) {
            Some(size) => one("emptyDir", json!({"sizeLimit": size}), ""),
            None => one("emptyDir", json!({}), ""),
        },
        _ => None,
    }
}

/// Records settings of a volume for which `spec.storage` has no field.
fn details(context: &mut Context<'_>, kind: &Entry) {
    let get = |key: &str| kind.value.get(key);
    match kind.key.as_str() {
        "emptyDir" => {
            if let Some(node) = get("medium").filter(|node| text(node).as_deref() == Some("Memory")) {
                context.lose(node, "`emptyDir` in spec.storage is on the disk of the node; memory is at /dev/shm, with the size of spec.workers.shm");
            }
            if let Some(node) = get("sizeLimit").filter(|node| size(node).is_none()) {
                context.lose(node, "it is not a valid quantity; write it as 10Gi");
            }
        }
        "hostPath" => {
            let checks = |node: &&Node| !matches!(text(node).as_deref(), None | Some(""));
            if let Some(node) = get("type").filter(checks) {
                context.lose(
                    node,
                    "spec.storage does not check the type, and does not create the directory: create it on the nodes",
                );
            }
        }
        _ => {}
    }
}

/// Imports a ConfigMap into `spec.code`. Each key of the ConfigMap becomes the name of a file.
fn code(context: &mut Context<'_>, map: &Node, volume: &Node, mount: &Node, path: &str, from: &str) {
    let renamed = |item: &Node| item.get("key").and_then(text) != item.get("path").and_then(text);
    let why = if mount.get("subPath").is_some() {
        "spec.code mounts a directory, not a single file: mount the ConfigMap at its own directory"
    } else if map.get("items").is_some_and(|list| list.items().iter().any(renamed)) {
        "in spec.code, the keys of the ConfigMap are the names of the files: rename the keys"
    } else {
        ""
    };
    if !why.is_empty() {
        context.lose(volume, why);
        return context.lose(mount, "its volume is lost");
    }
    let name = map.get("name").and_then(text).unwrap_or_default();
    context.spec.put(set::CODE, json!({"configMapName": name, "mountPath": path}), from);
    if let Some(list) = map.get("items") {
        context.changed(list, field::CODE, "all keys become files");
    }
    for (key, why) in [
        ("defaultMode", "the files are read-only and not executable: start a script with its interpreter"),
        ("optional", "the ConfigMap must exist"),
    ] {
        if let Some(node) = map.get(key) {
            context.lose(node, why);
        }
    }
    context.kept(volume, field::CODE);
    if let (Some(node), None) = (mount.get("mountPath"), context.spec.get(field::WORKING_DIR)) {
        let how = "ranks also start in this directory, unless spec.workingDir names another";
        context.changed(node, field::CODE_MOUNT_PATH, how);
    }
    context.kept(mount, field::CODE_MOUNT_PATH);
}

/// Reports that relative paths in the command no longer refer to the image's working directory, because the ranks start
/// in the folder of `spec.code`.
pub fn report_start_folder(context: &mut Context<'_>, text: &str) {
    let get = |path: &str| context.spec.get(path);
    let Some(path) = get(field::CODE_MOUNT_PATH).and_then(Json::as_str).filter(|_| get(field::WORKING_DIR).is_none())
    else {
        return;
    };
    let command = get(field::COMMAND).and_then(program::as_text).unwrap_or_default();
    let Some(file) = files::words(&command).into_iter().find(|word| files::is_relative(word)) else { return };
    let how = format!(
        "with spec.code, ranks start in {path}, and the image's directory has this file: write that directory in spec.workingDir"
    );
    let place = text.find(&file).map(|start| Span { start, end: start + file.len(), ..context.whole });
    context.report(file, place.unwrap_or(context.whole), Verdict::Lost, "", &how);
}

fn size(node: &Node) -> Option<String> {
    text(node).filter(|size| Quantity::parse(size).is_some())
}

/// Imports the volume at `/dev/shm`. Every pod of khorovod has such a volume.
fn memory(context: &mut Context<'_>, volume: &Node, mount: &Node, kind: &Entry) {
    let limit = kind.value.get("sizeLimit").filter(|_| kind.key == "emptyDir");
    match limit.and_then(|node| Some((node, size(node)?))) {
        Some((node, size)) => {
            let from = context.outcomes.path(node).to_owned();
            context.spec.put(set::WORKERS_SHM, size, &from);
            context.kept(volume, field::WORKERS_SHM);
        }
        None => {
            let how = "every pod has one: by default a quarter of its memory, or 8Gi if it has no memory limit";
            context.changed(volume, field::WORKERS_SHM, how);
        }
    }
    context.kept(mount, field::WORKERS_SHM);
}
