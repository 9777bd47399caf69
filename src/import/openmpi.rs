//! Parameters of Kubeflow's openmpi component: a master that launches, and workers with one slot a GPU.

use std::borrow::Cow;

use serde_json::{Map, json};

use super::desk::{Desk, entries, items, text};
use super::launch::{self, Place, World};
use super::ledger::Verdict;
use super::params::COMMAND;
use super::{container, pod, volumes};
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::yaml::{self, Node};

/// Where all pods worked, in a directory of their own.
const DATA: &str = "/kubeflow/openmpi/data";

/// Reads the parameters. `"null"` and `""` are what ksonnet has for nothing.
pub fn read(params: &Node, desk: &mut Desk<'_>) {
    for entry in entries(params) {
        if let Some(command) = entry.key.strip_prefix(COMMAND) {
            beside(command, &entry.value, desk);
            continue;
        }
        let bare = entries(&entry.value).is_empty() && items(&entry.value).is_empty();
        if bare && matches!(text(&entry.value).as_deref(), None | Some("null" | "")) {
            desk.needless(&entry.value, "nothing is given");
        }
    }
    let get = |name: &str| params.get(name).filter(|node| !matches!(text(node).as_deref(), Some("null" | "")));
    name(get("name"), get("namespace"), desk);
    image(get("image"), desk);
    let gpus = get("gpu").and_then(|node| desk.count(node)).unwrap_or(0);
    let world = World {
        pods: get("workers").map_or(Some(4), |node| desk.count(node)).unwrap_or(1),
        from: if get("workers").is_some() { "workers" } else { "the component's default" }.to_owned(),
        without_launcher: None,
        gpus,
    };
    if let Some(node) = get("workers") {
        desk.ledger.settle(node, Verdict::Kept, "spec.workers.replicas", "");
    }
    command(get("exec"), &world, desk);
    storage(get, desk);
    let (held, mounted) = (list(params.get("volumes"), desk), list(params.get("volumeMounts"), desk));
    volumes::read(desk, held.as_deref(), mounted.as_deref());
    for entry in entries(params).iter().filter(|entry| !entry.key.starts_with(COMMAND)) {
        if get(&entry.key).is_some() {
            parameter(&entry.key, &entry.value, gpus, desk);
        }
    }
    if desk.draft.get("spec.security").is_none() {
        desk.default("spec.security.profile", "restricted", "the component's pods were root; here nothing is");
    }
}

/// A command among the lines of `ks` that says nothing of the component.
fn beside(command: &str, node: &Node, desk: &mut Desk<'_>) {
    match command.split_whitespace().next() {
        Some("ks") => desk.needless(node, "it set up or applied ksonnet's own objects; khorovod needs no such step"),
        _ => desk.lose(node, "no part of the job: where it is needed, run it by hand as before"),
    }
}

/// A list, or a text that holds one, as `ks param set` takes it.
fn list<'n>(node: Option<&'n Node>, desk: &mut Desk<'_>) -> Option<Cow<'n, Node>> {
    let node = node?;
    let Some(written) = text(node) else { return Some(Cow::Borrowed(node)) };
    let list = yaml::parse(&written, node.span, &mut desk.problems).ok()??;
    desk.ledger.settle(node, Verdict::Kept, "spec.storage", "");
    Some(Cow::Owned(list))
}

fn name(name: Option<&Node>, namespace: Option<&Node>, desk: &mut Desk<'_>) {
    desk.named(name, "openmpi");
    match namespace {
        Some(node) if desk.options.namespace.is_none() => {
            let name = text(node).unwrap_or_default();
            desk.keep(node, "metadata.namespace", name);
        }
        Some(node) => desk.replaced(node, "another namespace was asked for"),
        None => {}
    }
}

fn image(node: Option<&Node>, desk: &mut Desk<'_>) {
    match (node, desk.options.image.is_some()) {
        (Some(node), false) => {
            let name = text(node).unwrap_or_default();
            desk.image(&name, "image");
            desk.ledger.settle(node, Verdict::Kept, "spec.image", "");
        }
        (node, true) => {
            desk.image("", "");
            if let Some(node) = node {
                desk.replaced(node, "another image was asked for");
            }
        }
        (None, false) => desk.missing("image", "the component cannot do without; `--image NAME` gives one"),
    }
}

fn command(exec: Option<&Node>, world: &World, desk: &mut Desk<'_>) {
    match (desk.typed.clone(), exec) {
        (Some((typed, span)), exec) => {
            launch::line(desk, &typed, &Place { path: "--command".to_owned(), span }, world);
            if let Some(node) = exec {
                desk.replaced(node, "another command was given");
            }
        }
        (None, Some(node)) => {
            let line = text(node).unwrap_or_default();
            launch::line(desk, &line, &Place { path: "exec".to_owned(), span: node.span }, world);
            let to = "spec.command spec.launcher";
            let how = launch::became(desk);
            desk.ledger.settle(node, Verdict::Changed, to, how);
        }
        (None, None) => {
            return launch::by_hand(
                desk,
                "without `exec` the master waited for somebody; `--command LINE` puts it here",
                world,
            );
        }
    }
    if desk.draft.get("spec.launcher.retries").is_none() {
        desk.default("spec.launcher.retries", 0, "the component's pods never started again");
    }
}

/// The directory they worked in, and the buckets in and out of it.
fn storage<'n>(get: impl Fn(&str) -> Option<&'n Node>, desk: &mut Desk<'_>) {
    let secret = get("s3Secret");
    let mut paths = Vec::new();
    for (direction, bucket, folder) in
        [("in", "downloadDataFrom", "downloadDataTo"), ("out", "uploadDataTo", "uploadDataFrom")]
    {
        let (bucket, folder) = (get(bucket), get(folder));
        let Some((node, url)) = bucket.and_then(|node| Some((node, text(node)?))) else {
            if let Some(node) = folder {
                desk.lose(node, "there is no bucket beside it");
            }
            continue;
        };
        let path = folder.and_then(text).unwrap_or_else(|| DATA.to_owned());
        let path = if path.starts_with('/') { path } else { format!("{DATA}/{path}") };
        let Some((name, prefix)) = bucket_of(&url) else {
            desk.refuse(node, "a bucket such as s3://bucket/prefix");
            continue;
        };
        if paths.contains(&path) {
            let why = "its directory is the one the data comes into: write the results to a directory of their own";
            desk.lose(node, why);
            if let Some(node) = folder {
                desk.lose(node, why);
            }
            continue;
        }
        let mut s3 = Map::from_iter([("bucket".to_owned(), name.into()), ("direction".to_owned(), direction.into())]);
        if !prefix.is_empty() {
            s3.insert("prefix".to_owned(), prefix.into());
        }
        if let Some(secret) = secret.and_then(text) {
            s3.insert("secret".to_owned(), secret.into());
        }
        let from = desk.ledger.path(node).to_owned();
        let item = json!({"name": format!("data-{direction}"), "mountPath": path.trim_end_matches('/'), "s3": s3});
        desk.draft.push("spec.storage", item, &from);
        for node in [Some(node), folder].into_iter().flatten() {
            desk.ledger.settle(node, Verdict::Kept, "spec.storage", "");
        }
        paths.push(path);
    }
    if let Some(node) = secret {
        let used = !paths.is_empty();
        let how = "it needs the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
        match used {
            true => desk.ledger.settle(node, Verdict::Kept, "spec.storage", how),
            false => desk.lose(node, "there is no bucket to use it for"),
        }
    }
    if desk.draft.get("spec.command").is_some() {
        if !paths.iter().any(|path| path.trim_end_matches('/') == DATA) {
            let item = json!({"name": "openmpi-data", "mountPath": DATA, "emptyDir": {}});
            desk.draft.push("spec.storage", item, "the directory the component's pods worked in");
        }
        if desk.draft.get("spec.workdir").is_none() {
            desk.default("spec.workdir", DATA, "as in the component's pods");
        }
    }
}

/// `s3://bucket/a/b` → `bucket`, `a/b/`.
fn bucket_of(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("s3://").or_else(|| url.strip_prefix("s3n://")).unwrap_or(url);
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    (!bucket.is_empty() && bucket.chars().all(plain)).then(|| (bucket.to_owned(), prefix.to_owned()))
}

fn parameter(name: &str, node: &Node, gpus: u32, desk: &mut Desk<'_>) {
    let value = text(node).unwrap_or_default();
    match name {
        "secret" => desk.replaced(node, "khorovod makes keys of its own, host keys too; that Secret can be deleted"),
        "gpu" if gpus == 0 => desk.needless(node, "the same here by default"),
        "gpu" => desk.keep(node, "spec.workers.gpus", gpus),
        "cpu" | "memory" if Quantity::parse(&value).is_some() => {
            desk.draft.put(&format!("spec.workers.{name}"), value, name);
            let to = format!("spec.workers.{name}");
            desk.ledger.settle(node, Verdict::Changed, &to, "asked for and limit at once");
        }
        "cpu" | "memory" => desk.lose(node, "it is no quantity that khorovod reads; write it as 4, 500m or 16Gi"),
        "customResources" => custom(node, &value, desk),
        "imagePullPolicy" => match value.as_str() {
            "Always" | "IfNotPresent" | "Never" => desk.keep(node, "spec.image.pullPolicy", value),
            _ => desk.refuse(node, "Always, IfNotPresent or Never"),
        },
        "imagePullSecrets" if !value.is_empty() => {
            let names: Vec<&str> = value.split(',').map(str::trim).collect();
            desk.draft.put("spec.image.pullSecrets", json!(names), name);
            desk.ledger.settle(node, Verdict::Kept, "spec.image.pullSecrets", "");
        }
        "imagePullSecrets" => pod::pull_secrets(desk, node),
        "init" => desk.lose(node, "khorovod starts the pods itself; what it did beyond that belongs in the image"),
        "initTimeout" => match value.parse::<u32>() {
            Ok(seconds) => {
                desk.draft.put("spec.launcher.waitTimeout", format!("{seconds}s"), name);
                desk.ledger.settle(node, Verdict::Kept, "spec.launcher.waitTimeout", "");
            }
            Err(_) => desk.refuse(node, "a number of seconds"),
        },
        "controllerImage" => desk.needless(node, "no sidecar is needed"),
        "serviceAccountName" => desk.lose(
            node,
            "khorovod makes an account that may only scale the workers; name yours in spec.security.serviceAccount if it must be that one",
        ),
        "schedulerName" if value == "default-scheduler" => desk.needless(node, "the same here by default"),
        "nodeSelector" if !value.is_empty() => selector(node, &value, desk),
        "useHostNetwork" => pod::host_network(desk, node),
        "runAsUser" => container::user(desk, node),
        "runAsGroup" => desk.lose(node, "the group is the user's; files of a volume belong to spec.security.fsGroup"),
        "supplementalGroups" => match value.split(',').next().and_then(|group| group.trim().parse::<u32>().ok()) {
            Some(group) => {
                desk.draft.put("spec.security.fsGroup", group, name);
                desk.ledger.settle(node, Verdict::Changed, "spec.security.fsGroup", "the first of them");
            }
            None => desk.refuse(node, "numbers of groups"),
        },
        _ => {
            pod::placement(desk, name, node);
        }
    }
}

/// `rdma/hca=1,example.com/fpga=2`.
fn custom(node: &Node, value: &str, desk: &mut Desk<'_>) {
    let mut others = Vec::new();
    for pair in value.split(',') {
        let (name, count) = pair.split_once('=').unwrap_or((pair, "1"));
        let Ok(count) = count.trim().parse::<u32>() else { return desk.refuse(node, "pairs such as rdma/hca=1") };
        if !pod::device(desk, name.trim(), count, "customResources") {
            others.push(name.trim());
        }
    }
    if !others.is_empty() {
        let why =
            format!("of {}: write it under spec.workers.resources, requests and limits in full", others.join(", "));
        return desk.ledger.settle(node, Verdict::Lost, "", &why);
    }
    desk.ledger.settle(node, Verdict::Kept, "spec.workers", "");
}

/// `pool=a100,zone=x`.
fn selector(node: &Node, value: &str, desk: &mut Desk<'_>) {
    for pair in value.split(',') {
        match pair.split_once('=') {
            Some((label, wanted)) => {
                desk.draft.put_key("spec.placement.nodeSelector", label.trim(), wanted.trim(), "nodeSelector");
            }
            None => return desk.refuse(node, "pairs such as pool=a100"),
        }
    }
    desk.ledger.settle(node, Verdict::Kept, "spec.placement.nodeSelector", "");
}
