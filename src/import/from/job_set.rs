//! Imports a JobSet, v1alpha2.
//!
//! A JobSet has several Jobs, each with pods of its own. The pods that run the ranks become the workers of the new job.
//! These are all pods with the same command, or the pods in which another pod starts ranks with `mpirun`.

mod claims;
mod fields;

use crate::context::{Context, text};
use crate::field;
use crate::from::each_pod::{self, Pods, Words};
use crate::launch::command_line::starts_launcher;
use crate::launch::each_pod::Start;
use crate::launch::{self, Place, World};
use crate::manifest;
use crate::pod::{self, container};
use khorovod_compiler::yaml::Node;
use serde_json::Value as Json;

pub use fields::{Role, around, job};

/// The comments in the new spec leave out these parts of the paths of old fields.
pub const LEFT_OUT: &[&str] = &[".template.spec.template.spec.containers[0]", ".template.spec.template.spec"];

/// A replicated Job: its entry in the list, its pods, and their number.
pub struct Replicated<'n> {
    pub node: &'n Node,
    pub pods: Pods<'n>,
    pub count: u32,
    /// The command as shell text; None if the pods run the command of the image.
    line: Option<String>,
}

/// The programs with which one replicated Job starts ranks in the pods of another one.
const OVER_SSH: &[&str] = &["mpirun", "mpiexec", "horovodrun", "deepspeed"];

impl<'n> Replicated<'n> {
    fn words(&self) -> Words<'n> {
        Words { parts: ["command", "args"].map(|key| self.pods.field(key)), container: self.pods.container }
    }

    /// Whether its command starts ranks in other pods.
    fn leads(&self) -> bool {
        let line = self.line.as_deref().unwrap_or_default();
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        words.any(|word| OVER_SSH.contains(&word)) && (starts_launcher(line) || launch::names_launcher(line))
    }

    /// Whether another replicated Job waits until this one is complete.
    fn is_before(&self, all: &[Self]) -> bool {
        let name = self.node.get("name").and_then(text);
        let depends = all.iter().filter_map(|other| other.node.get("dependsOn")).flat_map(Node::items);
        let mut complete = depends.filter(|on| on.get("status").and_then(text).as_deref() == Some("Complete"));
        complete.any(|on| on.get("name").and_then(text) == name)
    }
}

/// Imports the job.
pub fn read(node: &Node, context: &mut Context<'_>) {
    let version = node.get("apiVersion").and_then(text).unwrap_or_default();
    if version != "jobset.x-k8s.io/v1alpha2" {
        let span = node.get("apiVersion").map_or(node.span, |node| node.span);
        let message = format!("a JobSet of `apiVersion: {version}` cannot be imported");
        return context.refuse_at(span, message, "`jobset.x-k8s.io/v1alpha2` can be imported");
    }
    manifest::kind(node, context);
    fields::exclusive(node, context);
    manifest::metadata(node.get("metadata"), "jobset", context);
    let spec = node.get("spec");
    let names: Vec<String> =
        items(spec).iter().map(|item| item.get("name").and_then(text).unwrap_or_default()).collect();
    let all: Vec<Replicated<'_>> =
        items(spec).iter().zip(&names).map(|(item, name)| replicated(item, name, context)).collect();
    let trains = |one: &&Replicated<'_>| one.count > 0 && !one.is_before(&all) && one.pods.container.is_some();
    let leader = all.iter().filter(trains).find(|one| one.leads());
    let workers = all.iter().filter(trains).filter(|one| leader.is_none_or(|leader| !std::ptr::eq(*one, leader)));
    // Choose the replicated Job with the most pods. If several have the same number of pods, choose the first of them.
    let Some(main) = workers.rev().max_by_key(|one| one.count).or(leader) else {
        let span = spec.map_or(node.span, |spec| spec.span);
        let hint = "add a container to `spec.replicatedJobs[0].template.spec.template.spec.containers`";
        return context.refuse_at(span, "the JobSet has no pods that train", hint);
    };
    let leader = leader.filter(|leader| !std::ptr::eq(*leader, main));
    let alike: Vec<&Replicated<'_>> =
        all.iter().filter(trains).filter(|one| leader.is_none() && one.line == main.line).collect();
    let pods = alike.iter().map(|one| one.count).fold(0, u32::saturating_add).max(main.count);
    fields::slices(context, main, pods);
    around(context, spec, main.pods.name);
    let gpus = main.pods.field("resources").map_or(0, |node| pod::resources(context, node));
    let from = if alike.len() > 1 { "replicatedJobs" } else { main.pods.name };
    let world = World { pods, from: format!("pods of {from}"), without_launcher: None, gpus: gpus.max(1) };
    match leader {
        Some(leader) => over_ssh(leader, main, &world, context),
        None => {
            let start = Start { plain: plain(main), variables: each_pod::values(main.pods.field("env")) };
            let world = World { gpus: 1, ..world };
            each_pod::command(context, main.words(), main.pods.name, &world, &start);
            each_pod::slots(context, 1, gpus, "torchrun starts one by default");
        }
    }
    each_pod::image(context, main.pods.field("image"), main.pods.name);
    claims::read(context, spec, main.pods.container);
    each_pod::template(context, &main.pods);
    // The launch line may use another number of workers.
    let replicas = context.spec.get(field::WORKERS_REPLICAS).and_then(Json::as_u64);
    let replicas = replicas.and_then(|count| u32::try_from(count).ok()).unwrap_or(pods);
    for one in &all {
        let is = |other: &Replicated<'_>| std::ptr::eq(one, other);
        let role = match leader.is_some_and(is) {
            true => Role::Leader,
            false if is(main) || alike.iter().any(|other| is(other)) => Role::Workers(replicas),
            false => Role::Other,
        };
        match role {
            _ if is(main) => {}
            Role::Workers(_) => each_pod::alike(context, &one.pods, &main.pods),
            _ => fields::record_other_pods(context, one, role == Role::Leader, &all),
        }
        job(context, one, role);
    }
    if context.spec.get(field::LIFECYCLE_RETRIES).is_none() {
        launch::default_retries(context, "as many as each Job had");
    }
    manifest::rest(node, context);
    pod::security_level(context);
    context.spec.shorten(LEFT_OUT);
}

/// The replicated Jobs of a spec.
pub fn items(spec: Option<&Node>) -> &[Node] {
    spec.and_then(|spec| spec.get("replicatedJobs")).map_or(&[][..], Node::items)
}

/// Reads a replicated Job. `name` is its name.
pub fn replicated<'n>(node: &'n Node, name: &'n str, context: &mut Context<'_>) -> Replicated<'n> {
    let spec = node.get("template").and_then(|template| template.get("spec"));
    let get = |key: &str| spec.and_then(|spec| spec.get(key));
    let mut count = |node: Option<&Node>| node.and_then(|node| context.count(node)).unwrap_or(1);
    let count = count(node.get("replicas")).saturating_mul(count(get("parallelism").or(get("completions"))));
    let pods = Pods::new(name, spec.and_then(|spec| spec.get("template")), &["node"]);
    let mut found = Replicated { node, pods, count, line: None };
    found.line = found.words().line();
    found
}

/// Imports a leader that starts ranks over ssh in the workers.
fn over_ssh(leader: &Replicated<'_>, workers: &Replicated<'_>, world: &World, context: &mut Context<'_>) {
    let place = |node: &Node| Place { path: leader.pods.name.to_owned(), span: node.span };
    let words = leader.words();
    let first = words.parts.into_iter().flatten().next();
    if let Some((typed, span)) = context.typed.clone() {
        launch::line(context, &typed, &Place { path: "--command".to_owned(), span }, world);
        words.parts.into_iter().flatten().for_each(|node| context.replaced(node, "`--command` replaces it"));
    } else if let Some((line, first)) = leader.line.as_ref().zip(first) {
        launch::line(context, line, &place(first), world);
        let how = launch::launcher_note(context);
        for node in words.parts.into_iter().flatten() {
            context.changed(node, field::COMMAND_AND_LAUNCHER, how);
        }
    }
    for node in workers.words().parts.into_iter().flatten() {
        container::worker_command(context, workers.pods.container, node);
    }
    if let Some(node) = leader.pods.field("resources") {
        container::launcher_resources(context, node);
    }
}

/// Returns the launcher of the new job for a program that no launcher starts, and a note. The names in the pods decide
/// between JAX, TensorFlow and PyTorch.
fn plain(main: &Replicated<'_>) -> (&'static str, &'static str) {
    let has = |word: &str| {
        main.pods.container.is_some_and(|node| node.to_json().to_string().to_ascii_lowercase().contains(word))
    };
    if has("jax") {
        ("jax", "assumed JAX, because the pods name it")
    } else if has("tf_config") || has("tensorflow") {
        ("tensorflow", "assumed TensorFlow, because the pods name it")
    } else {
        ("torchrun", "assumed PyTorch; for JAX or TensorFlow, write `launcher: jax` or `launcher: tensorflow`")
    }
}
