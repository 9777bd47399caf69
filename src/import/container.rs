//! Fields of pods and containers as operators' files have them, of workers and of the launcher.

use serde_json::{Value as Json, json};

use super::desk::{Desk, entries, items, text};
use super::ledger::Verdict;
use super::{pod, volumes};
use khorovod_compiler::yaml::Node;

/// What to say of a field that one container a pod has no room for.
const PATCH: &str = "spec.patches reaches it";

/// The same of a container's: a merge patch would have to write all of the container anew.
const CONTAINER: &str = "the spec has no word for it: a patch of Kustomize's over the rendered objects reaches it";

/// Fields of a container but its image, words, resources and mounts. `leads`: it is the launcher's.
pub fn read(desk: &mut Desk<'_>, container: &Node, leads: bool) {
    for entry in entries(container) {
        let node = &entry.value;
        match entry.key.as_str() {
            "name" => desk.needless(node, "khorovod names its containers"),
            "imagePullPolicy" => policy(desk, node),
            "command" | "args" if !leads => desk.needless(node, "khorovod's workers start sshd themselves"),
            "workingDir" => match desk.text(node) {
                Some(path) if path.starts_with('/') => once(desk, node, "spec.workdir", path.into()),
                _ => desk.lose(node, "it is no whole path"),
            },
            "env" => env(desk, node, if leads { "Launcher" } else { "Worker" }),
            "envFrom" => env_from(desk, node),
            "ports" => ports(desk, node),
            "securityContext" => security(desk, node),
            "tty" | "stdin" => desk.needless(node, "nobody types into it"),
            "terminationMessagePath" | "terminationMessagePolicy" => desk.replaced(node, "khorovod sets its own"),
            "readinessProbe" | "livenessProbe" | "startupProbe" => {
                desk.replaced(node, "khorovod probes sshd, and the launcher each worker");
            }
            "image" | "command" | "args" | "resources" | "volumeMounts" => {}
            _ => desk.lose(node, CONTAINER),
        }
    }
}

/// Ports that a container names: ssh's is khorovod's, others are closed.
fn ports(desk: &mut Desk<'_>, node: &Node) {
    for port in items(node) {
        match port.get("containerPort").and_then(text).as_deref() {
            Some("22" | "2222") => desk.replaced(port, "ssh has a port of its own, spec.ssh.port"),
            _ => desk.lose(port, "pods let in ssh and each other; spec.observability.metrics opens a port to scrape"),
        }
    }
    desk.needless(node, "there are none");
}

/// A value that both pods may give; the first one holds.
fn once(desk: &mut Desk<'_>, node: &Node, to: &str, value: Json) {
    match desk.draft.get(to) {
        None => desk.keep(node, to, value),
        Some(other) if *other == value => desk.ledger.settle(node, Verdict::Kept, to, ""),
        Some(_) => desk.lose(node, "the workers say another, and all pods have one here"),
    }
}

fn policy(desk: &mut Desk<'_>, node: &Node) {
    match text(node).as_deref() {
        Some(policy @ ("Always" | "IfNotPresent" | "Never")) => {
            once(desk, node, "spec.image.pullPolicy", policy.into());
        }
        _ => desk.refuse(node, "Always, IfNotPresent or Never"),
    }
}

/// Variables as containers list them.
pub fn env(desk: &mut Desk<'_>, list: &Node, from: &str) {
    for (index, item) in items(list).iter().enumerate() {
        let Some(name) = item.get("name").and_then(text) else {
            desk.refuse(item, "a map with `name` and `value`");
            continue;
        };
        let again = |other: &Node| other.get("name").and_then(text).as_ref() == Some(&name);
        if items(list)[index + 1..].iter().any(again) {
            desk.lose(item, "a later entry of the same name holds, in Kubernetes too");
            continue;
        }
        let taken = desk.draft.get("spec.env").and_then(|env| env.get(&name)).cloned();
        let value = match (item.get("value").and_then(text), item.get("valueFrom")) {
            (_, Some(from)) => match source(from) {
                Some(value) => value,
                None => {
                    desk.lose(item, "spec.env takes values from Secrets, ConfigMaps and fields of the pod");
                    continue;
                }
            },
            (value, None) => json!(value.unwrap_or_default()),
        };
        let to = format!("spec.env.{name}");
        match taken {
            Some(other) if other == value => desk.ledger.settle(item, Verdict::Kept, &to, ""),
            Some(_) => desk.lose(item, "the workers have another value, and all pods have one here"),
            None => match &value {
                Json::String(value) => pod::variable(desk, item, &name, value, from),
                _ => {
                    desk.draft.put_key("spec.env", &name, value, from);
                    desk.ledger.settle(item, Verdict::Kept, &to, "");
                }
            },
        }
    }
    desk.needless(list, "there are none");
}

/// Where a variable takes its value from.
pub fn source(from: &Node) -> Option<Json> {
    let get = |kind: &str, key: &str| from.get(kind).and_then(|node| node.get(key)).and_then(text);
    if let Some(field) = get("fieldRef", "fieldPath") {
        return Some(json!({"field": field}));
    }
    for (theirs, ours) in [("secretKeyRef", "secret"), ("configMapKeyRef", "configMap")] {
        if let (Some(name), Some(key)) = (get(theirs, "name"), get(theirs, "key")) {
            return Some(json!({ours: name, "key": key}));
        }
    }
    None
}

pub fn env_from(desk: &mut Desk<'_>, list: &Node) {
    for item in items(list) {
        let mut entry = serde_json::Map::new();
        for (theirs, ours) in [("secretRef", "secret"), ("configMapRef", "configMap")] {
            let Some(reference) = item.get(theirs) else { continue };
            entry.insert(ours.to_owned(), reference.get("name").and_then(text).unwrap_or_default().into());
            if reference.get("optional").is_some_and(|node| desk.yes(node)) {
                entry.insert("optional".to_owned(), true.into());
            }
        }
        if let Some(prefix) = item.get("prefix").and_then(text) {
            entry.insert("prefix".to_owned(), prefix.into());
        }
        let entry = Json::Object(entry);
        let there = desk.draft.get("spec.envFrom").and_then(Json::as_array).is_some_and(|list| list.contains(&entry));
        if !there {
            desk.draft.push("spec.envFrom", entry, "");
        }
        desk.ledger.settle(item, Verdict::Kept, "spec.envFrom", "");
    }
    desk.needless(list, "there are none");
}

/// Of a pod or a container.
fn security(desk: &mut Desk<'_>, node: &Node) {
    for entry in entries(node) {
        let value = &entry.value;
        match entry.key.as_str() {
            "runAsUser" => user(desk, value),
            "fsGroup" => {
                if let Some(group) = desk.count(value) {
                    once(desk, value, "spec.security.fsGroup", group.into());
                }
            }
            "readOnlyRootFilesystem" => {
                let read_only = desk.yes(value);
                once(desk, value, "spec.security.readOnlyRootFilesystem", read_only.into());
            }
            "capabilities" => capabilities(desk, value),
            "runAsGroup" => desk.replaced(value, "the group has the user's number"),
            "privileged" if desk.yes(value) => {
                desk.lose(value, "training needs no such right; RDMA devices are spec.workers.rdma");
            }
            "runAsNonRoot" | "allowPrivilegeEscalation" | "seccompProfile" | "privileged" | "fsGroupChangePolicy" => {
                desk.needless(value, "as strict as the profile allows here");
            }
            _ => desk.lose(value, PATCH),
        }
    }
    desk.needless(node, "nothing is asked for");
}

pub fn user(desk: &mut Desk<'_>, node: &Node) {
    let Some(user) = desk.count(node) else { return };
    once(desk, node, "spec.security.runAsUser", user.into());
    if user == 0 {
        desk.profile("baseline", "root needs it");
    }
}

fn capabilities(desk: &mut Desk<'_>, node: &Node) {
    for name in node.get("add").map_or(&[][..], items) {
        match text(name).unwrap_or_default().trim_start_matches("CAP_") {
            "IPC_LOCK" if desk.draft.get("spec.workers.rdma").is_some() => {
                desk.ledger.settle(name, Verdict::Kept, "spec.workers.rdma", "");
            }
            "IPC_LOCK" => desk.lose(name, "spec.workers.rdma brings it, with the devices it is for"),
            _ => desk.lose(name, "sshd runs without any capability here; spec.patches reaches it"),
        }
    }
    desk.needless(node, "all are dropped here");
}

/// CPUs and memory of the launcher.
pub fn launcher_resources(desk: &mut Desk<'_>, node: &Node) {
    for section in ["limits", "requests"] {
        for entry in node.get(section).map_or(&[][..], entries) {
            let to = match entry.key.as_str() {
                "cpu" => "spec.launcher.cpu",
                "memory" => "spec.launcher.memory",
                _ => {
                    desk.lose(
                        &entry.value,
                        "a launcher has CPUs and memory; `runsRanks` gives it all that workers have",
                    );
                    continue;
                }
            };
            let Some(amount) = desk.text(&entry.value) else { continue };
            match desk.draft.get(to) {
                None => desk.keep(&entry.value, to, amount),
                Some(other) if other.as_str() == Some(&amount) => {
                    desk.ledger.settle(&entry.value, Verdict::Kept, to, "");
                }
                Some(_) => desk.ledger.settle(&entry.value, Verdict::Changed, to, "asked for and limit at once"),
            }
        }
    }
    desk.needless(node, "nothing is asked for");
}

/// Volumes of the workers; the launcher's where workers have none, since storage is mounted in every pod here.
pub fn volumes(desk: &mut Desk<'_>, pod: Option<&Node>, container: Option<&Node>, leads: bool) {
    let held = pod.and_then(|pod| pod.get("volumes"));
    let mounts = container.and_then(|container| container.get("volumeMounts"));
    if !leads || desk.draft.get("spec.storage").is_none() && desk.draft.get("spec.code").is_none() {
        return volumes::read(desk, held, mounts);
    }
    let name = |node: &Node| node.get("name").and_then(text);
    let mounts = mounts.map_or(&[][..], items);
    for volume in held.map_or(&[][..], items) {
        match mounts.iter().find(|mount| name(mount) == name(volume)) {
            Some(mount) => as_workers(desk, volume, mount),
            None => desk.lose(volume, "it was mounted nowhere"),
        }
    }
    for mount in mounts {
        as_workers(desk, mount, mount);
    }
}

/// Says whether what the launcher mounts is storage that workers have: a volume, or its mount.
fn as_workers(desk: &mut Desk<'_>, node: &Node, mount: &Node) {
    let path = mount.get("mountPath").and_then(text);
    match path.is_some_and(|path| mounted(desk, &path)) {
        true => desk.ledger.settle(node, Verdict::Changed, "spec.storage", "the launcher has the workers' storage"),
        false => desk.lose(node, "the launcher alone had it; an entry of spec.storage is mounted in every pod"),
    }
}

/// Whether something is mounted there already.
fn mounted(desk: &Desk<'_>, path: &str) -> bool {
    let storage = desk.draft.get("spec.storage").and_then(Json::as_array);
    let at = |entry: &Json| entry["mountPath"] == path;
    storage.is_some_and(|entries| entries.iter().any(at))
        || desk.draft.get("spec.code").is_some_and(at)
        || path == "/dev/shm"
}

/// Fields of a pod but its containers and volumes.
pub fn pod(desk: &mut Desk<'_>, pod: &Node, leads: bool) {
    for entry in entries(pod) {
        let node = &entry.value;
        match entry.key.as_str() {
            "containers" => items(node).iter().skip(1).for_each(|other| {
                desk.lose(other, "there is one container a pod; spec.patches adds others");
            }),
            "initContainers" => desk.lose(node, "S3 is spec.storage; spec.patches adds containers that come before"),
            "volumes" => {}
            "resources" => {
                desk.lose(node, "a container asks for devices, no pod does: spec.workers.gpus, .cpu and .memory");
            }
            "imagePullPolicy" => {
                desk.lose(node, "a container has one, no pod does: it did nothing. spec.image.pullPolicy says it");
            }
            "securityContext" => security(desk, node),
            "hostNetwork" if !leads => pod::host_network(desk, node),
            "hostNetwork" | "dnsPolicy" => desk.replaced(node, "follows from the workers' hostNetwork"),
            "imagePullSecrets" if desk.draft.get("spec.image.pullSecrets").is_none() => pod::pull_secrets(desk, node),
            "imagePullSecrets" => {
                desk.ledger.settle(node, Verdict::Changed, "spec.image.pullSecrets", "the workers' hold");
            }
            "restartPolicy" => desk.replaced(node, "spec.launcher.retries says how often"),
            "serviceAccountName" | "serviceAccount" => {
                desk.lose(node, "pods get no token here; spec.security.serviceAccount names one for the launcher");
            }
            "hostname"
            | "subdomain"
            | "automountServiceAccountToken"
            | "enableServiceLinks"
            | "terminationGracePeriodSeconds" => desk.replaced(node, "khorovod sets its own"),
            key if leads && placed(desk, key) => {
                desk.ledger.settle(node, Verdict::Changed, "spec.placement", "all pods go where the workers go");
            }
            key => {
                if !pod::placement(desk, key, node) {
                    desk.lose(node, PATCH);
                }
            }
        }
    }
}

/// Whether the workers have said where they go, by this field.
fn placed(desk: &Desk<'_>, key: &str) -> bool {
    let to = match key {
        "nodeSelector" | "tolerations" | "affinity" => format!("spec.placement.{key}"),
        "priorityClassName" => "spec.placement.priorityClass".to_owned(),
        "runtimeClassName" => "spec.placement.runtimeClass".to_owned(),
        "schedulerName" => "spec.scheduling.scheduler".to_owned(),
        _ => return false,
    };
    desk.draft.get(&to).is_some()
}
