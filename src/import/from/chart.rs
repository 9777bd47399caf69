//! Imports values of the chart stable/horovod, of its successor in Horovod's repository, and of the elastic chart that
//! is derived from it.
//!
//! All three charts create workers and one further pod, the master or driver, which is called the leader below. The
//! leader is the first host in the hostfile. Like each worker, it has one slot.

use crate::field::{self, set};
use serde_json::json;

use crate::api::System;
use crate::context::{Context, text};
use crate::field_outcomes::Verdict;
use crate::launch::{self, Place, World};
use crate::option_table::has_word;
use crate::pod::{self, container, volumes};
use khorovod_compiler::yaml::{Node, Scalar};

/// Imports the values.
pub fn read(system: System, values: &Node, context: &mut Context<'_>) {
    let masters = system == System::StableHorovod || values.get("master").is_some();
    let leader = if masters && values.get("driver").is_none() { "master" } else { "driver" };
    name(values, context);
    images(system, values, leader, context);
    // Older releases of the chart have the resources below `worker`.
    let of_workers = values.get("worker").and_then(|node| node.get("resources"));
    let resources =
        values.get("resources").filter(|node| !node.entries().is_empty()).or(of_workers).or(values.get("resources"));
    let gpus = resources.map_or(0, |node| pod::resources(context, node));
    let world = workers(values, leader, gpus, context);
    command(values, leader, &world, context);
    environment(values, leader, context);
    ssh(values, context);
    volumes::read(context, values.get("volumes"), values.get("volumeMounts"));
    data_set(values, context);
    for entry in values.entries() {
        other(&entry.key, &entry.value, leader, context);
    }
    defaults(context);
}

fn name(values: &Node, context: &mut Context<'_>) {
    let given = ["fullnameOverride", "nameOverride"].into_iter().find_map(|key| {
        let node = values.get(key)?;
        text(node).filter(|name| !name.is_empty()).map(|name| (node, name))
    });
    let Some((node, name)) = given else {
        context.name("horovod", "the name of the release; for another, use `--name`");
        return;
    };
    let path = context.outcomes.path(node).to_owned();
    let kept = context.name(&name, &path);
    let (verdict, how) = match (&context.options.name, kept) {
        (Some(_), _) => (Verdict::Changed, "`--name` replaces it"),
        (None, true) => (Verdict::Kept, ""),
        (None, false) => (Verdict::Changed, "changed to a name that Kubernetes accepts"),
    };
    context.outcomes.settle(node, verdict, field::METADATA_NAME, how);
}

/// Imports the image of the workers, `repository:tag`. Also imports the image of the leader, if it has a different image.
fn images(system: System, values: &Node, leader: &str, context: &mut Context<'_>) {
    let own = match (system, leader) {
        (System::StableHorovod, "master") => ("uber/horovod", "0.12.1-tf1.8.0-py3.5"),
        _ => ("horovod/horovod", "0.24.3"),
    };
    let worker = image(values, "worker", own);
    let other = image(values, leader, own);
    context.image(&worker, "worker.image");
    for (component, to) in [("worker", set::IMAGE), (leader, set::LAUNCHER_IMAGE.untyped())] {
        let Some(node) = values.get(component).and_then(|node| node.get("image")) else { continue };
        let same = component == "worker" || other == worker;
        if let Some(policy) = node.get("pullPolicy") {
            pull_policy(policy, component == "worker", context);
        }
        if let Some(digest) = node.get("digest").filter(|_| context.options.image.is_none()) {
            self::digest(digest, component == "worker", context);
        }
        if context.options.image.is_some() {
            context.changed(node, field::IMAGE, "`--image` replaces it");
        } else if same {
            context.kept(node, field::IMAGE);
        } else {
            context.spec.put(to, &*other, &format!("{component}.image"));
            context.kept(node, to.path);
        }
    }
    if values.get("worker").and_then(|node| node.get("image")).is_none() && context.options.image.is_none() {
        context.spec.comment(field::IMAGE_NAME, "the chart's default");
    }
}

fn image(values: &Node, component: &str, (repository, tag): (&str, &str)) -> String {
    let node = values.get(component).and_then(|node| node.get("image"));
    // Some files have the whole name of the image in one field.
    if let Some(whole) = node.and_then(text) {
        return whole;
    }
    let get = |key: &str| node.and_then(|node| node.get(key)).and_then(text).filter(|text| !text.is_empty());
    let own = |own: &str| own.to_owned();
    format!("{}:{}", get("repository").unwrap_or_else(|| own(repository)), get("tag").unwrap_or_else(|| own(tag)))
}

/// Imports the digest of an image, which only edited charts have.
fn digest(node: &Node, of_workers: bool, context: &mut Context<'_>) {
    match text(node).filter(|digest| !digest.is_empty()) {
        None => context.needless(node, "it has no value"),
        Some(digest) if of_workers => context.keep(node, set::IMAGE_DIGEST, digest),
        Some(digest) if context.spec.get(field::IMAGE_DIGEST) == Some(&json!(digest)) => {
            context.kept(node, field::IMAGE_DIGEST);
        }
        Some(_) => context.lose(
            node,
            "the launcher uses the image of the workers; for another, set spec.launcher.image with its digest",
        ),
    }
}

fn pull_policy(node: &Node, of_workers: bool, context: &mut Context<'_>) {
    match text(node).as_deref() {
        Some(policy @ ("Always" | "IfNotPresent" | "Never")) if of_workers => {
            context.keep(node, set::IMAGE_PULL_POLICY, policy);
        }
        None | Some("") => context.needless(node, "it has no value"),
        Some(_) if !of_workers => {
            context.changed(node, field::IMAGE_PULL_POLICY, "the launcher uses that of the workers");
        }
        _ => context.refuse(node, "Always, IfNotPresent or Never"),
    }
}

/// Imports the workers, and the leader, which ran a rank as well.
fn workers(values: &Node, leader: &str, gpus: u32, context: &mut Context<'_>) -> World {
    let node = values.get("worker").and_then(|node| node.get("number"));
    let number = node.map_or(Some(3), |node| context.count(node)).unwrap_or(1);
    if let Some(node) = node {
        let how = format!("the {leader} ran a rank too; here all ranks run in workers");
        context.changed(node, field::WORKERS_REPLICAS, &how);
    }
    let from = if node.is_some() { "worker.number" } else { "the chart's default of 3" };
    World {
        pods: number.saturating_add(1),
        from: format!("{from}, and one for the {leader}"),
        without_launcher: Some(number),
        gpus,
    }
}

/// Imports the leader's command: its `args`, joined as the chart joins them, or the line from the command line.
fn command(values: &Node, leader: &str, world: &World, context: &mut Context<'_>) {
    let args = values.get(leader).and_then(|node| node.get("args"));
    let lines: Vec<String> = args.map_or(&[][..], Node::items).iter().filter_map(text).collect();
    let line = args.and_then(text).unwrap_or_else(|| lines.join(" "));
    let given = args.filter(|_| !line.trim().is_empty());
    if let Some((typed, span)) = context.typed.clone() {
        launch::line(context, &typed, &Place { path: "--command".to_owned(), span }, world);
        if let Some(args) = given {
            context.replaced(args, "`--command` replaces it");
        }
    } else if let Some(args) = given {
        let span = args.items().first().map_or(args.span, |first| first.span);
        launch::line(context, &line, &Place { path: format!("{leader}.args"), span }, world);
        let to = field::COMMAND_AND_LAUNCHER;
        let how = launch::launcher_note(context);
        context.changed(args, to, how);
    } else {
        let why = format!(
            "the {leader} waited until someone started the training by hand; pass that command with `--command LINE`"
        );
        return launch::by_hand(context, &why, world);
    }
    launch::default_retries(context, "as many as the chart's Job had");
}

/// Sets fields for which the charts have other defaults than khorovod.
fn defaults(context: &mut Context<'_>) {
    if context.spec.get(field::SECURITY_POD_SECURITY_LEVEL).is_none() {
        context.default(set::SECURITY_POD_SECURITY_LEVEL, "restricted", "the chart's pods ran as root; these do not");
    }
    context.default(set::LIFECYCLE_KEEP_WORKERS, false, "the chart's workers kept their GPUs after the end");
}

/// Imports the leader's environment variables, which the charts pass to the workers. The charts ignore `worker.env`;
/// its variables are imported too, unless the leader sets the same ones.
fn environment(values: &Node, leader: &str, context: &mut Context<'_>) {
    if let Some(env) = values.get(leader).and_then(|node| node.get("env")) {
        match env.items().is_empty() {
            true => pod::env_map(context, env),
            false => container::env(context, env, &format!("{leader}.env")),
        }
    }
    let Some(env) = values.get("worker").and_then(|node| node.get("env")) else { return };
    if !env.items().is_empty() {
        return container::env(context, env, "worker.env");
    }
    for entry in env.entries() {
        let taken = context.spec.get(field::ENV).is_some_and(|env| env.get(&entry.key).is_some());
        if taken {
            context.lose(&entry.value, &format!("{leader}.env sets it too, and the chart used that value in workers"));
            continue;
        }
        if matches!(entry.value.scalar(), Some(Scalar::Null)) {
            context.needless(&entry.value, "it has no value");
            continue;
        }
        let from = context.outcomes.path(&entry.value).to_owned();
        let Some(value) = context.text(&entry.value) else { continue };
        let from_secret = if context.env(&entry.key, &value, &from) { ", from a Secret" } else { "" };
        let to = format!("spec.env.{}", entry.key);
        let how = format!("the chart ignored it; here it takes effect{from_secret}");
        context.changed(&entry.value, &to, &how);
    }
    context.needless(env, "it is empty");
}

fn ssh(values: &Node, context: &mut Context<'_>) {
    for entry in values.get("ssh").map_or(&[][..], Node::entries) {
        let node = &entry.value;
        match entry.key.as_str() {
            "port" => match context.count(node) {
                Some(port @ 1024..=65535) => context.keep(node, set::SSH_PORT, port),
                Some(_) => context.replaced(node, "the port is 2222, because sshd does not run as root"),
                None => {}
            },
            "useSecrets" | "useSecret" => context.needless(node, "khorovod always creates keys and checks host keys"),
            "hostKey" | "hostKeyPub" => context.replaced(
                node,
                "khorovod generates its own keys; this one was readable in the values and in Helm's release: do not use it again",
            ),
            _ => {}
        }
    }
}

/// The keys of `datasetPvc` that are imported. Different charts have different keys for the same setting.
const DATA_SET: &str = "enabled mountPath path mountDir existingClaim claimName name size storage capacity storageClass \
     storageClassName accessMode accessModes readOnly";

/// Imports the PersistentVolumeClaim of the elastic chart.
fn data_set(values: &Node, context: &mut Context<'_>) {
    let Some(node) = values.get("datasetPvc") else { return };
    let get = |keys: &[&str]| keys.iter().find_map(|key| node.get(key).and_then(text)).filter(|text| !text.is_empty());
    if !node.get("enabled").is_some_and(|enabled| context.yes(enabled)) {
        return context.needless(node, "it is not enabled");
    }
    let mount = get(&["mountPath", "path", "mountDir"]);
    let mut item = json!({"name": "dataset", "mountPath": mount.clone().unwrap_or_else(|| "/dataset".to_owned())});
    match get(&["existingClaim", "claimName", "name"]) {
        Some(claim) => item["existingClaim"] = claim.into(),
        None => {
            item["claim"] = json!({"size": get(&["size", "storage", "capacity"]).unwrap_or_else(|| "50Gi".to_owned())});
            if let Some(class) = get(&["storageClass", "storageClassName"]) {
                item["claim"]["storageClassName"] = class.into();
            }
            if let Some(mode) = get(&["accessMode"]) {
                item["claim"]["accessModes"] = json!([mode]);
            }
            if let Some(modes) = node.get("accessModes") {
                item["claim"]["accessModes"] = modes.to_json();
            }
        }
    }
    if node.get("readOnly").is_some_and(|node| context.yes(node)) {
        item["readOnly"] = true.into();
    }
    let comment = if mount.is_some() { "datasetPvc" } else { "datasetPvc; its values have no path, so check it" };
    context.spec.push(set::STORAGE, item, comment);
    if let (Some(enabled), None) = (node.get("enabled"), get(&["existingClaim", "claimName", "name"])) {
        context.outcomes.settle(
            enabled,
            Verdict::Kept,
            field::STORAGE,
            "the new claim is empty: see \"Fill a claim\" on the page \"Storage\" of the documentation",
        );
    }
    for entry in node.entries().iter().filter(|entry| has_word(DATA_SET, &entry.key)) {
        context.kept(&entry.value, field::STORAGE);
    }
    context.lose(node, "spec.storage has no such field");
}

/// Imports the remaining settings of pods. Some of them exist in edited charts only.
fn other(key: &str, node: &Node, leader: &str, context: &mut Context<'_>) {
    match key {
        "useHostNetwork" | "hostNetwork" => pod::host_network(context, node),
        "useHostPID" => match context.yes(node) {
            true => {
                context.lose(node, "khorovod does not need it; if your program does, set hostPID with spec.patches");
            }
            false => context.needless(node, "this is the default of khorovod, too"),
        },
        "USER-SUPPLIED VALUES" | "COMPUTED VALUES" => context.needless(node, "a heading of `helm get values`"),
        "imagePullSecrets" => pod::pull_secrets(context, node),
        "nameOverride" | "fullnameOverride" => context.needless(node, "it has no value"),
        "worker" => {
            for (key, value) in fields(node, &["podManagementPolicy", "privileged"]) {
                match key {
                    "podManagementPolicy" if text(value).as_deref() != Some("Parallel") => {
                        context.replaced(value, "all workers start at once");
                    }
                    "podManagementPolicy" => context.needless(value, "this is the default of khorovod, too"),
                    _ => privileged(value, context),
                }
            }
        }
        _ if key == leader && node.entries().is_empty() => context.needless(node, "it has no value"),
        _ if key == leader => fields(node, &["privileged"]).for_each(|(_, value)| privileged(value, context)),
        _ => {
            pod::placement(context, key, node);
        }
    }
}

fn fields<'n>(node: &'n Node, names: &'n [&str]) -> impl Iterator<Item = (&'n str, &'n Node)> {
    names.iter().filter_map(|name| Some((*name, node.get(name)?)))
}

fn privileged(node: &Node, context: &mut Context<'_>) {
    match context.yes(node) {
        true => context.lose(
            node,
            "training does not need it; for RDMA devices, set spec.workers.rdma, and for other reasons spec.patches",
        ),
        false => context.needless(node, "this is the default of khorovod, too"),
    }
}
