//! Values of stable/horovod, of its successor in Horovod's repository, and of the elastic chart that descends from it.
//!
//! All three make workers and one more pod, the master or driver, which is a host too: the first in the hostfile, with
//! one slot like the others.

use serde_json::json;

use super::desk::{Desk, entries, items, text};
use super::launch::{self, Place, World};
use super::ledger::Verdict;
use super::{System, container, pod, volumes};
use khorovod_compiler::yaml::Node;

/// Reads the values.
pub fn read(system: System, values: &Node, desk: &mut Desk<'_>) {
    let masters = system == System::StableHorovod || values.get("master").is_some();
    let leader = if masters && values.get("driver").is_none() { "master" } else { "driver" };
    name(values, desk);
    images(system, values, leader, desk);
    // Older releases had them at the workers.
    let of_workers = values.get("worker").and_then(|node| node.get("resources"));
    let resources =
        values.get("resources").filter(|node| !entries(node).is_empty()).or(of_workers).or(values.get("resources"));
    let gpus = resources.map_or(0, |node| pod::resources(desk, node));
    let world = workers(values, leader, gpus, desk);
    command(values, leader, &world, desk);
    environment(values, leader, desk);
    ssh(values, desk);
    volumes::read(desk, values.get("volumes"), values.get("volumeMounts"));
    data_set(values, desk);
    for entry in entries(values) {
        other(&entry.key, &entry.value, leader, desk);
    }
    defaults(desk);
}

fn name(values: &Node, desk: &mut Desk<'_>) {
    let given = ["fullnameOverride", "nameOverride"].into_iter().find_map(|key| {
        let node = values.get(key)?;
        text(node).filter(|name| !name.is_empty()).map(|name| (node, name))
    });
    let Some((node, name)) = given else {
        desk.name("horovod", "the release's name; `--name` gives another");
        return;
    };
    let path = desk.ledger.path(node).to_owned();
    let kept = desk.name(&name, &path);
    let (verdict, how) = match (&desk.options.name, kept) {
        (Some(_), _) => (Verdict::Changed, "another name was asked for"),
        (None, true) => (Verdict::Kept, ""),
        (None, false) => (Verdict::Changed, "in the form Kubernetes takes"),
    };
    desk.ledger.settle(node, verdict, "metadata.name", how);
}

/// `repository:tag` of the workers, and of the leader where that differs.
fn images(system: System, values: &Node, leader: &str, desk: &mut Desk<'_>) {
    let own = match (system, leader) {
        (System::StableHorovod, "master") => ("uber/horovod", "0.12.1-tf1.8.0-py3.5"),
        _ => ("horovod/horovod", "0.24.3"),
    };
    let worker = image(values, "worker", own);
    let other = image(values, leader, own);
    desk.image(&worker, "worker.image");
    for (who, to) in [("worker", "spec.image"), (leader, "spec.launcher.image")] {
        let Some(node) = values.get(who).and_then(|node| node.get("image")) else { continue };
        let same = who == "worker" || other == worker;
        if let Some(policy) = node.get("pullPolicy") {
            pull_policy(policy, who == "worker", desk);
        }
        if let Some(digest) = node.get("digest").filter(|_| desk.options.image.is_none()) {
            self::digest(digest, who == "worker", desk);
        }
        if desk.options.image.is_some() {
            desk.ledger.settle(node, Verdict::Changed, "spec.image", "another image was asked for");
        } else if same {
            desk.ledger.settle(node, Verdict::Kept, "spec.image", "");
        } else {
            desk.draft.put(to, &*other, &format!("{who}.image"));
            desk.ledger.settle(node, Verdict::Kept, to, "");
        }
    }
    if values.get("worker").and_then(|node| node.get("image")).is_none() && desk.options.image.is_none() {
        desk.draft.comment("spec.image.name", "the chart's default");
    }
}

fn image(values: &Node, who: &str, (repository, tag): (&str, &str)) -> String {
    let node = values.get(who).and_then(|node| node.get("image"));
    // Some write the whole name in one.
    if let Some(whole) = node.and_then(text) {
        return whole;
    }
    let get = |key: &str| node.and_then(|node| node.get(key)).and_then(text).filter(|text| !text.is_empty());
    let own = |own: &str| own.to_owned();
    format!("{}:{}", get("repository").unwrap_or_else(|| own(repository)), get("tag").unwrap_or_else(|| own(tag)))
}

/// Releases that people edited name images by their digests.
fn digest(node: &Node, of_workers: bool, desk: &mut Desk<'_>) {
    match text(node).filter(|digest| !digest.is_empty()) {
        None => desk.needless(node, "nothing is given"),
        Some(digest) if of_workers => desk.keep(node, "spec.image.digest", digest),
        Some(digest) if desk.draft.get("spec.image.digest") == Some(&json!(digest)) => {
            desk.ledger.settle(node, Verdict::Kept, "spec.image.digest", "");
        }
        Some(_) => desk.lose(node, "the workers' holds; spec.launcher.image may name another image with its digest"),
    }
}

fn pull_policy(node: &Node, of_workers: bool, desk: &mut Desk<'_>) {
    match text(node).as_deref() {
        Some(policy @ ("Always" | "IfNotPresent" | "Never")) if of_workers => {
            desk.keep(node, "spec.image.pullPolicy", policy);
        }
        Some(_) if !of_workers => {
            desk.ledger.settle(node, Verdict::Changed, "spec.image.pullPolicy", "the workers' holds");
        }
        _ => desk.refuse(node, "Always, IfNotPresent or Never"),
    }
}

/// The workers and the leader, which ran a rank too.
fn workers(values: &Node, leader: &str, gpus: u32, desk: &mut Desk<'_>) -> World {
    let node = values.get("worker").and_then(|node| node.get("number"));
    let number = node.map_or(Some(3), |node| desk.count(node)).unwrap_or(1);
    if let Some(node) = node {
        let how = format!("the {leader} ran a rank too; here all ranks run in workers");
        desk.ledger.settle(node, Verdict::Changed, "spec.workers.replicas", &how);
    }
    let from = if node.is_some() { "worker.number" } else { "the chart's default of 3" };
    World {
        pods: number.saturating_add(1),
        from: format!("{from}, and one for the {leader}"),
        without_launcher: Some(number),
        gpus,
    }
}

/// What the leader ran: its `args`, joined as the chart did, or the line that was typed into it.
fn command(values: &Node, leader: &str, world: &World, desk: &mut Desk<'_>) {
    let args = values.get(leader).and_then(|node| node.get("args"));
    let lines: Vec<String> = args.map_or(&[][..], items).iter().filter_map(text).collect();
    let line = args.and_then(text).unwrap_or_else(|| lines.join(" "));
    let given = args.filter(|_| !line.trim().is_empty());
    if let Some((typed, span)) = desk.typed.clone() {
        launch::line(desk, &typed, &Place { path: "--command".to_owned(), span }, world);
        if let Some(args) = given {
            desk.replaced(args, "another command was given");
        }
    } else if let Some(args) = given {
        let span = items(args).first().map_or(args.span, |first| first.span);
        launch::line(desk, &line, &Place { path: format!("{leader}.args"), span }, world);
        let to = "spec.command spec.launcher";
        let how = launch::became(desk);
        desk.ledger.settle(args, Verdict::Changed, to, how);
    } else {
        let why = format!("the {leader} waited for somebody to type the launch; `--command LINE` puts it here");
        return launch::by_hand(desk, &why, world);
    }
    if desk.draft.get("spec.launcher.kind") != Some(&json!("shell")) {
        desk.default("spec.launcher.retries", 6, "as often as the chart's Job started again");
    }
}

/// What the charts do and khorovod does not unless asked.
fn defaults(desk: &mut Desk<'_>) {
    if desk.draft.get("spec.security.profile").is_none() {
        desk.default("spec.security.profile", "restricted", "the chart's pods were root; here nothing is");
    }
    desk.default("spec.lifecycle.release", "scaleDown", "the chart's workers kept their GPUs after the end");
}

/// The leader's variables reached the workers; theirs were documented and ignored.
fn environment(values: &Node, leader: &str, desk: &mut Desk<'_>) {
    if let Some(env) = values.get(leader).and_then(|node| node.get("env")) {
        match items(env).is_empty() {
            true => pod::env_map(desk, env),
            false => container::env(desk, env, &format!("{leader}.env")),
        }
    }
    let Some(env) = values.get("worker").and_then(|node| node.get("env")) else { return };
    if !items(env).is_empty() {
        return container::env(desk, env, "worker.env");
    }
    for entry in entries(env) {
        let taken = desk.draft.get("spec.env").is_some_and(|env| env.get(&entry.key).is_some());
        if taken {
            desk.lose(&entry.value, &format!("{leader}.env has it, and the chart gave workers that"));
            continue;
        }
        let from = desk.ledger.path(&entry.value).to_owned();
        let Some(value) = desk.text(&entry.value) else { continue };
        let from_secret = if desk.env(&entry.key, &value, &from) { ", from a Secret" } else { "" };
        let to = format!("spec.env.{}", entry.key);
        let how = format!("the chart ignored it; here it takes effect{from_secret}");
        desk.ledger.settle(&entry.value, Verdict::Changed, &to, &how);
    }
    desk.needless(env, "there are none");
}

fn ssh(values: &Node, desk: &mut Desk<'_>) {
    for entry in values.get("ssh").map_or(&[][..], entries) {
        let node = &entry.value;
        match entry.key.as_str() {
            "port" => match desk.count(node) {
                Some(port @ 1024..=65535) => desk.keep(node, "spec.ssh.port", port),
                Some(_) => desk.replaced(node, "2222, as sshd is not root"),
                None => {}
            },
            "useSecrets" | "useSecret" => desk.needless(node, "keys are always used, and host keys are checked"),
            "hostKey" | "hostKeyPub" => desk.replaced(
                node,
                "khorovod makes keys of its own; this one stood in plain values and in Helm's release: use it no more",
            ),
            _ => {}
        }
    }
}

/// What is known of the data set's claim.
const DATA_SET: &[&str] = &[
    "enabled",
    "mountPath",
    "path",
    "mountDir",
    "existingClaim",
    "claimName",
    "name",
    "size",
    "storage",
    "capacity",
    "storageClass",
    "storageClassName",
    "accessMode",
    "accessModes",
    "readOnly",
];

/// The claim of the elastic chart.
fn data_set(values: &Node, desk: &mut Desk<'_>) {
    let Some(node) = values.get("datasetPvc") else { return };
    let get = |keys: &[&str]| keys.iter().find_map(|key| node.get(key).and_then(text)).filter(|text| !text.is_empty());
    if !node.get("enabled").is_some_and(|enabled| desk.yes(enabled)) {
        return desk.needless(node, "it is off");
    }
    let mount = get(&["mountPath", "path", "mountDir"]);
    let mut item = json!({"name": "dataset", "mountPath": mount.clone().unwrap_or_else(|| "/dataset".to_owned())});
    match get(&["existingClaim", "claimName", "name"]) {
        Some(claim) => item["existingClaim"] = claim.into(),
        None => {
            item["claim"] = json!({"size": get(&["size", "storage", "capacity"]).unwrap_or_else(|| "50Gi".to_owned())});
            if let Some(class) = get(&["storageClass", "storageClassName"]) {
                item["claim"]["storageClass"] = class.into();
            }
            if let Some(mode) = get(&["accessMode"]) {
                item["claim"]["accessModes"] = json!([mode]);
            }
            if let Some(modes) = node.get("accessModes") {
                item["claim"]["accessModes"] = modes.to_json();
            }
        }
    }
    if node.get("readOnly").is_some_and(|node| desk.yes(node)) {
        item["readOnly"] = true.into();
    }
    let comment = if mount.is_some() { "datasetPvc" } else { "datasetPvc; the chart's path is not in its values" };
    desk.draft.push("spec.storage", item, comment);
    for entry in entries(node).iter().filter(|entry| DATA_SET.contains(&entry.key.as_str())) {
        desk.ledger.settle(&entry.value, Verdict::Kept, "spec.storage", "");
    }
    desk.lose(node, "spec.storage has no such setting");
}

/// What is left: settings of pods, some of which only edited charts have.
fn other(key: &str, node: &Node, leader: &str, desk: &mut Desk<'_>) {
    match key {
        "useHostNetwork" | "hostNetwork" => pod::host_network(desk, node),
        "useHostPID" => match desk.yes(node) {
            true => desk.lose(node, "nothing in the pods needs the host's processes; spec.patches could set hostPID"),
            false => desk.needless(node, "the same here"),
        },
        "USER-SUPPLIED VALUES" | "COMPUTED VALUES" => desk.needless(node, "a heading of `helm get values`"),
        "imagePullSecrets" => pod::pull_secrets(desk, node),
        "nameOverride" | "fullnameOverride" => desk.needless(node, "nothing is given"),
        "worker" => {
            for (key, value) in fields(node, &["podManagementPolicy", "privileged"]) {
                match key {
                    "podManagementPolicy" if text(value).as_deref() != Some("Parallel") => {
                        desk.replaced(value, "all workers start at once");
                    }
                    "podManagementPolicy" => desk.needless(value, "the same here"),
                    _ => privileged(value, desk),
                }
            }
        }
        _ if key == leader && entries(node).is_empty() => desk.needless(node, "nothing is given"),
        _ if key == leader => fields(node, &["privileged"]).for_each(|(_, value)| privileged(value, desk)),
        _ => {
            pod::placement(desk, key, node);
        }
    }
}

fn fields<'n>(node: &'n Node, names: &'n [&str]) -> impl Iterator<Item = (&'n str, &'n Node)> {
    names.iter().filter_map(|name| Some((*name, node.get(name)?)))
}

fn privileged(node: &Node, desk: &mut Desk<'_>) {
    match desk.yes(node) {
        true => desk.lose(
            node,
            "training needs no such right; RDMA devices are spec.workers.rdma, and spec.patches reaches the container",
        ),
        false => desk.needless(node, "the same here"),
    }
}
