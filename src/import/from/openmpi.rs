//! Imports the parameters of Kubeflow's openmpi component: a master pod that starts the ranks, and worker pods with one
//! slot per GPU.

mod jsonnet;
pub mod parameters;

use crate::field::{self, set};
use std::borrow::Cow;

use serde_json::{Map, json};

use crate::context::{Context, text};
use crate::field_outcomes::Verdict;
use crate::from::openmpi::parameters::COMMAND;
use crate::launch::{self, Place, World};
use crate::pod::{self, container, volumes};
use crate::shell_text::first_words;
use khorovod_compiler::job::quantity::Quantity;
use khorovod_compiler::yaml::{self, Node};

/// The working directory of each pod of the component.
const DATA: &str = "/kubeflow/openmpi/data";

/// Imports the parameters. In ksonnet, `"null"` and `""` mean that a parameter is not set.
pub fn read(params: &Node, context: &mut Context<'_>) {
    for entry in params.entries() {
        if let Some(command) = entry.key.strip_prefix(COMMAND) {
            report_other_command(command, &entry.value, context);
            continue;
        }
        let bare = entry.value.entries().is_empty() && entry.value.items().is_empty();
        if bare && matches!(text(&entry.value).as_deref(), None | Some("null" | "")) {
            context.needless(&entry.value, "it has no value");
        }
    }
    let get = |name: &str| params.get(name).filter(|node| !matches!(text(node).as_deref(), Some("null" | "")));
    name(get("name"), get("namespace"), context);
    image(get("image"), context);
    let gpus = get("gpu").and_then(|node| context.count(node)).unwrap_or(0);
    let world = World {
        pods: get("workers").map_or(Some(4), |node| context.count(node)).unwrap_or(1),
        from: if get("workers").is_some() { "workers" } else { "the component's default" }.to_owned(),
        without_launcher: None,
        gpus,
    };
    if let Some(node) = get("gpu").filter(|_| gpus > 0) {
        context.keep(node, set::WORKERS_GPUS, gpus);
    }
    command(get("exec"), &world, context);
    if let Some(node) = get("workers") {
        launch::replicas_outcome(context, node, world.pods);
    }
    storage(get, context);
    let (held, mounted) = (list(params.get("volumes"), context), list(params.get("volumeMounts"), context));
    volumes::read(context, held.as_deref(), mounted.as_deref());
    for entry in params.entries().iter().filter(|entry| !entry.key.starts_with(COMMAND)) {
        if get(&entry.key).is_some() {
            parameter(&entry.key, &entry.value, gpus, context);
        }
    }
    if context.spec.get(field::SECURITY).is_none() {
        context.default(
            set::SECURITY_POD_SECURITY_LEVEL,
            "restricted",
            "the component's pods ran as root; these do not",
        );
    }
}

/// Records the outcome of a command between the `ks` lines that sets no parameter of the component.
fn report_other_command(command: &str, node: &Node, context: &mut Context<'_>) {
    let words = first_words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_of_keys = command.contains("ssh-keygen") || words.starts_with(&["kubectl"]) && words.contains(&"secret");
    match words.as_slice() {
        ["ks", ..] => context.needless(node, "it set up or applied ksonnet's own objects; khorovod needs no such step"),
        ["brew", ..] if command.contains("ksonnet") => context.needless(node, "khorovod needs no ksonnet"),
        _ if is_of_keys => context.needless(node, "khorovod creates its own keys, host keys too"),
        ["kubectl", "get" | "logs" | "describe", ..] => {
            context.needless(node, "it only shows the job; the pods now have the label khorovod.dev/job");
        }
        ["cd" | "mkdir", ..] => context.needless(node, "it prepared folders for the other commands"),
        _ => context.lose(node, "it is not part of the job: if you need it, run it by hand as before"),
    }
}

/// Reads a list, or a text that contains a list, because `ks param set` accepts both.
fn list<'n>(node: Option<&'n Node>, context: &mut Context<'_>) -> Option<Cow<'n, Node>> {
    let node = node?;
    let Some(written) = text(node) else { return Some(Cow::Borrowed(node)) };
    let list = yaml::parse(&written, node.span, &mut context.problems).ok()??;
    context.kept(node, field::STORAGE);
    Some(Cow::Owned(list))
}

fn name(name: Option<&Node>, namespace: Option<&Node>, context: &mut Context<'_>) {
    context.named(name, "openmpi");
    match namespace {
        Some(node) if context.options.namespace.is_none() => {
            let name = text(node).unwrap_or_default();
            context.keep(node, set::METADATA_NAMESPACE, name);
        }
        Some(node) => context.replaced(node, "`--namespace` replaces it"),
        None => {}
    }
}

fn image(node: Option<&Node>, context: &mut Context<'_>) {
    match (node, context.options.image.is_some()) {
        (Some(node), false) => {
            let name = text(node).unwrap_or_default();
            context.image(&name, "image");
            context.kept(node, field::IMAGE);
        }
        (node, true) => {
            context.image("", "");
            if let Some(node) = node {
                context.replaced(node, "`--image` replaces it");
            }
        }
        (None, false) => context.missing("image", "the component needs an image: add `image`, or use `--image NAME`"),
    }
}

fn command(exec: Option<&Node>, world: &World, context: &mut Context<'_>) {
    match (context.typed.clone(), exec) {
        (Some((typed, span)), exec) => {
            launch::line(context, &typed, &Place { path: "--command".to_owned(), span }, world);
            if let Some(node) = exec {
                context.replaced(node, "`--command` replaces it");
            }
        }
        (None, Some(node)) => {
            let line = text(node).unwrap_or_default();
            launch::line(context, &line, &Place { path: "exec".to_owned(), span: node.span }, world);
            let to = field::COMMAND_AND_LAUNCHER;
            let how = launch::launcher_note(context);
            context.changed(node, to, how);
        }
        (None, None) => {
            return launch::by_hand(
                context,
                "without `exec` the master waited until someone started the training by hand; pass that command with `--command LINE`",
                world,
            );
        }
    }
    if context.spec.get(field::LIFECYCLE_RETRIES).is_none() {
        context.default(set::LIFECYCLE_RETRIES, 0_u32, "the component's pods were never restarted");
    }
}

/// Imports the working directory, and the buckets that are copied in and out.
fn storage<'n>(get: impl Fn(&str) -> Option<&'n Node>, context: &mut Context<'_>) {
    let secret = get("s3Secret");
    let mut paths = Vec::new();
    for (direction, bucket, folder) in
        [("in", "downloadDataFrom", "downloadDataTo"), ("out", "uploadDataTo", "uploadDataFrom")]
    {
        let (bucket, folder) = (get(bucket), get(folder));
        let Some((node, url)) = bucket.and_then(|node| Some((node, text(node)?))) else {
            if let Some(node) = folder {
                context.lose(node, "there is no bucket for it");
            }
            continue;
        };
        let path = folder.and_then(text).unwrap_or_else(|| DATA.to_owned());
        let path = if path.starts_with('/') { path } else { format!("{DATA}/{path}") };
        let Some((name, prefix)) = bucket_of(&url) else {
            context.refuse(node, "a bucket such as s3://bucket/prefix");
            continue;
        };
        if paths.contains(&path) {
            let why = "the data is downloaded into the same directory: write the results to another directory";
            context.lose(node, why);
            if let Some(node) = folder {
                context.lose(node, why);
            }
            continue;
        }
        let mut s3 = Map::from_iter([("bucket".to_owned(), name.into()), ("direction".to_owned(), direction.into())]);
        if !prefix.is_empty() {
            s3.insert("prefix".to_owned(), prefix.into());
        }
        if let Some(secret) = secret.and_then(text) {
            s3.insert("secretName".to_owned(), secret.into());
        }
        let from = context.outcomes.path(node).to_owned();
        let item = json!({"name": format!("data-{direction}"), "mountPath": path.trim_end_matches('/'), "s3": s3});
        context.spec.push(set::STORAGE, item, &from);
        for node in [Some(node), folder].into_iter().flatten() {
            context.kept(node, field::STORAGE);
        }
        paths.push(path);
    }
    if let Some(node) = secret {
        let used = !paths.is_empty();
        let how = "it needs the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
        match used {
            true => context.outcomes.settle(node, Verdict::Kept, field::STORAGE, how),
            false => context.lose(node, "there is no bucket to use it for"),
        }
    }
    if context.spec.get(field::COMMAND).is_some() {
        if !paths.iter().any(|path| path.trim_end_matches('/') == DATA) {
            let item = json!({"name": "openmpi-data", "mountPath": DATA, "emptyDir": {}});
            context.spec.push(set::STORAGE, item, "the working directory of the component's pods");
        }
        if context.spec.get(field::WORKING_DIR).is_none() {
            context.default(set::WORKING_DIR, DATA, "as in the component's pods");
        }
    }
}

/// Splits `s3://bucket/a/b` into `bucket` and `a/b/`.
fn bucket_of(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("s3://").or_else(|| url.strip_prefix("s3n://")).unwrap_or(url);
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    (!bucket.is_empty() && bucket.chars().all(plain)).then(|| (bucket.to_owned(), prefix.to_owned()))
}

fn parameter(name: &str, node: &Node, gpus: u32, context: &mut Context<'_>) {
    let value = text(node).unwrap_or_default();
    match name {
        "secret" => context.replaced(node, "khorovod creates its own keys, host keys too; you can delete that Secret"),
        "gpu" if gpus == 0 => context.needless(node, "this is the default of khorovod, too"),
        "gpu" => context.keep(node, set::WORKERS_GPUS, gpus),
        "cpu" | "memory" if Quantity::parse(&value).is_some() => {
            let to = if name == "cpu" { set::WORKERS_CPU } else { set::WORKERS_MEMORY };
            context.spec.put(to, value, name);
            context.changed(node, to.path, "it is both the request and the limit");
        }
        "cpu" | "memory" => context.lose(node, "it is not a valid quantity; write it as 4, 500m or 16Gi"),
        "customResources" => custom(node, &value, context),
        "imagePullPolicy" => match value.as_str() {
            "Always" | "IfNotPresent" | "Never" => context.keep(node, set::IMAGE_PULL_POLICY, value),
            _ => context.refuse(node, "Always, IfNotPresent or Never"),
        },
        "imagePullSecrets" if !value.is_empty() => {
            let names: Vec<String> = value.split(',').map(|name| name.trim().to_owned()).collect();
            context.spec.put(set::IMAGE_PULL_SECRETS, names, name);
            context.kept(node, field::IMAGE_PULL_SECRETS);
        }
        "imagePullSecrets" => pod::pull_secrets(context, node),
        "init" => context.lose(node, "khorovod starts the pods itself; put anything else that this did into the image"),
        "initTimeout" => match value.parse::<u32>() {
            Ok(seconds) => {
                context.spec.put(set::LIFECYCLE_START_TIMEOUT, format!("{seconds}s"), name);
                context.kept(node, field::LIFECYCLE_START_TIMEOUT);
            }
            Err(_) => context.refuse(node, "a number of seconds"),
        },
        "controllerImage" => context.needless(node, "no sidecar is needed"),
        "serviceAccountName" => context.lose(
            node,
            "khorovod creates a ServiceAccount that may only scale the workers; for yours, set spec.security.serviceAccountName",
        ),
        "schedulerName" if value == "default-scheduler" => context.needless(node, "this is the default of khorovod, too"),
        "nodeSelector" if !value.is_empty() => selector(node, &value, context),
        "useHostNetwork" => pod::host_network(context, node),
        "runAsUser" => container::user(context, node),
        "runAsGroup" => context.lose(node, "the id of the group is that of the user; the group of files on volumes is spec.security.fsGroup"),
        "supplementalGroups" => match value.split(',').next().and_then(|group| group.trim().parse::<u32>().ok()) {
            Some(group) => {
                context.spec.put(set::SECURITY_FS_GROUP, group, name);
                context.changed(node, field::SECURITY_FS_GROUP, "the first group");
            }
            None => context.refuse(node, "numbers of groups"),
        },
        _ => {
            pod::placement(context, name, node);
        }
    }
}

/// Imports extended resources: `rdma/hca=1,example.com/fpga=2`.
fn custom(node: &Node, value: &str, context: &mut Context<'_>) {
    let mut others = Vec::new();
    for pair in value.split(',') {
        let (name, count) = pair.split_once('=').unwrap_or((pair, "1"));
        let Ok(count) = count.trim().parse::<u32>() else { return context.refuse(node, "pairs such as rdma/hca=1") };
        if !pod::device(context, name.trim(), count, "customResources") {
            others.push(name.trim());
        }
    }
    if !others.is_empty() {
        let why = format!("write {} into spec.workers.resources, with all requests and limits", others.join(", "));
        return context.lose(node, &why);
    }
    context.kept(node, field::WORKERS);
}

/// Imports a node selector: `pool=a100,zone=x`.
fn selector(node: &Node, value: &str, context: &mut Context<'_>) {
    for pair in value.split(',') {
        match pair.split_once('=') {
            Some((label, wanted)) => {
                context.spec.put_key(set::PLACEMENT_NODE_SELECTOR, label.trim(), wanted.trim(), "nodeSelector");
            }
            None => return context.refuse(node, "pairs such as pool=a100"),
        }
    }
    context.kept(node, field::PLACEMENT_NODE_SELECTOR);
}
