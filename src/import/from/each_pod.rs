//! Imports the pods of operators that start the same command in every pod. The importers of PyTorchJobs, TrainJobs and
//! JobSets use this module. The main type is [`Pods`]: the template of one kind of pods.

use serde_json::json;

use crate::context::{Context, text};
use crate::field::{self, set};
use crate::launch::each_pod::{self, Start};
use crate::launch::program::{is_shell, takes_script};
use crate::launch::{self, Place, World};
use crate::manifest::{OWN, is_own};
use crate::option_table::has_word;
use crate::pod::kubelet_vars::Filled;
use crate::pod::{self, container};
use khorovod_compiler::yaml::{Entry, Kind, Node};

/// The pods of one replica type.
#[derive(Debug, Clone, Copy)]
pub struct Pods<'n> {
    /// The name of the replica type, such as `Worker`.
    pub name: &'n str,
    /// The template of the pods: `metadata` and `spec`.
    pub template: Option<&'n Node>,
    /// The pod spec.
    pub pod: Option<&'n Node>,
    /// The container that trains.
    pub container: Option<&'n Node>,
}

impl<'n> Pods<'n> {
    /// The pods of a template. The container that trains has one of these names, or is the first one.
    pub fn new(name: &'n str, template: Option<&'n Node>, main: &[&str]) -> Self {
        let pod = template.and_then(|node| node.get("spec"));
        let containers = pod.and_then(|pod| pod.get("containers"));
        let containers = containers.map_or(&[][..], Node::items);
        let is_main = |container: &&Node| {
            let name = container.get("name").and_then(text);
            name.is_some_and(|name| main.contains(&name.as_str()))
        };
        Self { name, template, pod, container: containers.iter().find(is_main).or(containers.first()) }
    }

    /// A field of the container.
    pub fn field(&self, key: &str) -> Option<&'n Node> {
        self.container.and_then(|container| container.get(key))
    }
}

/// The command of the pods: `command` and `args`, and the container, which has the variables that they use.
#[derive(Debug, Clone, Copy)]
pub struct Words<'n> {
    pub parts: [Option<&'n Node>; 2],
    pub container: Option<&'n Node>,
}

impl Words<'_> {
    /// The command as shell text, with the variables that the kubelet inserts. None if the pods run the command of the
    /// image.
    pub fn line(&self) -> Option<String> {
        self.parts[0].filter(|node| !node.items().is_empty())?;
        let words = self.parts.iter().flatten().flat_map(|node| node.items()).filter_map(text);
        let all: Vec<Filled> = words.map(|word| Filled::new(&word, self.container)).collect();
        Some(match all.as_slice() {
            [shell, dash, script] if is_shell(&shell.text()) && takes_shell(&dash.text()) => script.text(),
            words => words.iter().map(Filled::word).collect::<Vec<_>>().join(" "),
        })
    }
}

/// Whether the word after an option of a shell is a script, as after `-c`. The option may also contain the `l` of a login
/// shell, as in `-lc`.
fn takes_shell(option: &str) -> bool {
    takes_script(&option.replace('l', ""))
}

/// Imports the command. `from` is the name of the pods.
pub fn command(context: &mut Context<'_>, words: Words<'_>, from: &str, world: &World, start: &Start<'_>) {
    let parts = words.parts;
    if let Some((typed, span)) = context.typed.clone() {
        each_pod::line(context, &typed, &Place { path: "--command".to_owned(), span }, world, start);
        return parts.into_iter().flatten().for_each(|node| context.replaced(node, "`--command` replaces it"));
    }
    let first = parts.into_iter().flatten().next();
    let Some((line, first)) = words.line().zip(first) else {
        let span = first.or(words.container).map_or(context.whole, |node| node.span);
        let hint = "pass the whole command with `--command LINE`; the entry point of the image is its first part";
        return context.refuse_at(span, format!("the command of `{from}` is not in the file, but in the image"), hint);
    };
    each_pod::line(context, &line, &Place { path: from.to_owned(), span: first.span }, world, start);
    let is_plain = is_plain(context);
    let how = launch::launcher_note(context);
    for node in parts.into_iter().flatten() {
        match is_plain {
            true => context.kept(node, field::COMMAND),
            false => context.changed(node, field::COMMAND_AND_LAUNCHER, how),
        }
    }
}

/// Whether no launcher started the old command, so that each pod was one rank.
fn is_plain(context: &Context<'_>) -> bool {
    context.outcomes.has(each_pod::PLAIN)
}

/// Records the outcome of the field with the number of processes per pod. Runs after the launcher is known. The value of the
/// field may be `auto`.
pub fn processes(context: &mut Context<'_>, node: &Node) {
    let get = |path: &str| context.spec.get(path).and_then(serde_json::Value::as_u64);
    let ranks = get(field::WORKERS_SLOTS_PER_WORKER).or(get(field::WORKERS_GPUS)).unwrap_or(1);
    match text(node).is_some_and(|text| text == ranks.to_string()) {
        true => context.kept(node, field::WORKERS_SLOTS_PER_WORKER),
        false => {
            let how = format!("each worker has {ranks} rank{}", if ranks == 1 { "" } else { "s" });
            context.changed(node, field::WORKERS_SLOTS_PER_WORKER, &how);
        }
    }
}

/// Sets the ranks per worker, unless the command sets them.
pub fn slots(context: &mut Context<'_>, slots: u32, gpus: u32, from: &str) {
    let is_open = context.spec.get(field::WORKERS_SLOTS_PER_WORKER).is_none();
    if is_open && slots != gpus.max(1) && !is_plain(context) {
        context.spec.put(set::WORKERS_SLOTS_PER_WORKER, slots, from);
    }
}

/// Imports the image.
pub fn image(context: &mut Context<'_>, node: Option<&Node>, from: &str) {
    let name = node.and_then(text);
    match (&context.options.image, node) {
        (None, None) => {}
        (Some(_), node) => {
            context.image("", "");
            if let Some(node) = node {
                context.changed(node, field::IMAGE, "`--image` replaces it");
            }
        }
        (None, Some(node)) => {
            context.image(&name.unwrap_or_default(), from);
            context.kept(node, field::IMAGE);
        }
    }
}

/// Imports everything of the pods except their command, image and number.
pub fn template(context: &mut Context<'_>, pods: &Pods<'_>) {
    if let Some(container) = pods.container {
        let gone = own_variables(context, container.get("env"));
        rendezvous(context, container);
        container::read(context, container, pods.name, true);
        remove(context, &gone);
    }
    container::volumes(context, pods.pod, pods.container, false);
    if let Some(pod) = pods.pod {
        if let Some(node) = pod.get("schedulingGroup") {
            let why = "write `gang: native` in spec.scheduling, and render with `--kube-version 1.36` or newer";
            context.lose(node, why);
        }
        for entry in pod.entries().iter().filter(|entry| pod::BEYOND.contains(&entry.key.as_str())) {
            context.spec.patch(&json!({"kind": "Pod"}), "/spec", &entry.key, entry.value.to_json());
            context.kept(&entry.value, field::PATCHES);
        }
        container::pod(context, pod, pods.container, false);
    }
    if let Some(node) = pods.template.and_then(|template| template.get("metadata")) {
        metadata(context, node);
    }
}

/// Records the outcome of the port at which the ranks find each other.
fn rendezvous(context: &mut Context<'_>, container: &Node) {
    let values = values(container.get("env"));
    let is_port = |number: &str| {
        ["2222", "23456", "29400", "29500"].contains(&number)
            || values.iter().any(|(name, value)| name.ends_with("MASTER_PORT") && value == number)
    };
    for port in container.get("ports").map_or(&[][..], Node::items) {
        if port.get("containerPort").and_then(text).is_some_and(|number| is_port(&number)) {
            context.replaced(port, "khorovod chooses the port at which the ranks find each other");
        }
    }
}

/// Imports the labels and annotations of pods.
pub fn metadata(context: &mut Context<'_>, node: &Node) {
    for key in ["labels", "annotations"] {
        for Entry { key: name, value, .. } in node.get(key).map_or(&[][..], Node::entries) {
            match name.as_str() {
                "sidecar.istio.io/inject" => context.needless(value, "khorovod disables sidecars itself"),
                name if is_own(name) => context.lose(value, OWN),
                name => {
                    let Some(text) = context.text(value) else { continue };
                    context.spec.patch(&json!({"kind": "Pod"}), &format!("/metadata/{key}"), name, text);
                    context.kept(value, field::PATCHES);
                }
            }
        }
    }
    context.needless(node, "only labels and annotations of a template reach its pods");
}

/// Variables that the new launcher gives each rank.
const OF_LAUNCHERS: &str = "MASTER_ADDR MASTER_PORT RANK LOCAL_RANK NODE_RANK WORLD_SIZE TF_CONFIG JAX_COORDINATOR_ADDRESS \
     JAX_COORDINATOR_PORT JAX_NUM_PROCESSES JAX_PROCESS_ID JAX_LOCAL_DEVICE_IDS JOB_COMPLETION_INDEX";

/// Records the outcome of variables that number the ranks of the old job or name its pods. Returns their names.
pub fn own_variables(context: &mut Context<'_>, env: Option<&Node>) -> Vec<String> {
    let mut gone = Vec::new();
    for item in env.map_or(&[][..], Node::items) {
        let Some(name) = item.get("name").and_then(text) else { continue };
        if has_word(OF_LAUNCHERS, &name) || name.starts_with("PET_") {
            context.replaced(item, "the launcher gives each rank its own value");
            gone.push(name);
        } else if item.get("value").and_then(text).is_some_and(|value| names_pods(context, &value)) {
            let why = "it contains the name of a pod of the operator, and the pods have other names now";
            context.lose(item, why);
            gone.push(name);
        }
    }
    gone
}

/// Whether a text contains the name of a pod of the old job, such as `JOB-workers-0-0`.
fn names_pods(context: &Context<'_>, value: &str) -> bool {
    let job = format!("{}-", context.job());
    value.match_indices(&job).any(|(at, _)| {
        let rest = &value[at + job.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let pod = &rest[..end];
        pod.split_once('-').is_some_and(|(_, index)| index.ends_with(|c: char| c.is_ascii_digit()))
    })
}

/// Removes variables from the new spec.
pub fn remove(context: &mut Context<'_>, names: &[String]) {
    for name in names {
        context.spec.take_key(set::ENV, name);
    }
}

/// Imports the fields of a pod that starts the ranks in others: its image and its variables.
pub fn leader(context: &mut Context<'_>, pods: &Pods<'_>) {
    if let Some(container) = pods.container {
        let gone = own_variables(context, container.get("env"));
        container::read(context, container, pods.name, true);
        remove(context, &gone);
    }
    let Some(node) = pods.field("image").filter(|_| context.options.image.is_none()) else { return };
    let image = text(node).unwrap_or_default();
    match context.spec.get(field::IMAGE_NAME).is_some_and(|name| *name == image) {
        true => context.kept(node, field::IMAGE),
        false => context.keep(node, set::LAUNCHER_IMAGE, image),
    }
}

/// Records the outcomes of further pods. These must be equal to the pods that were imported, because the new job has
/// one template for all its pods. Variables that only the further pods have are added to this template.
pub fn alike(context: &mut Context<'_>, other: &Pods<'_>, main: &Pods<'_>) {
    let lists = [other, main].map(|pods| pods.container.and_then(|container| container.get("env")));
    let more = |item: &&Node| {
        let name = item.get("name").and_then(text);
        lists[1].is_none_or(|env| env.items().iter().all(|known| known.get("name").and_then(text) != name))
    };
    let gone = own_variables(context, lists[0]);
    for item in lists[0].map_or(&[][..], Node::items).iter().filter(more) {
        let name = item.get("name").and_then(text).unwrap_or_default();
        if !gone.contains(&name) {
            if item.get("valueFrom").is_none_or(|from| container::source(from).is_some()) {
                let how = format!("only `{}` had it; now all workers have it", other.name);
                context.changed(item, &format!("spec.env.{name}"), &how);
            }
            container::variable(context, item, &name, other.name, |_| false);
        }
    }
    remove(context, &gone);
    if let Some(template) = other.template {
        compare(context, template, main.template, (other, main));
    }
}

/// Gives each value the outcome of the value at the same place of another tree. Items of lists with the same name are at
/// the same place.
fn compare(context: &mut Context<'_>, node: &Node, main: Option<&Node>, pods: (&Pods<'_>, &Pods<'_>)) {
    match &node.kind {
        Kind::Map(entries) if !entries.is_empty() => {
            for entry in entries {
                compare(context, &entry.value, main.and_then(|main| main.get(&entry.key)), pods);
            }
        }
        // A single word of a command has no outcome of its own, so the whole list is compared.
        Kind::List(items)
            if items.iter().all(|item| text(item).is_some())
                && main.is_some_and(|main| main.to_json() != node.to_json()) =>
        {
            let why = format!("`{}` has another value, and the spec has one value for all pods", pods.1.name);
            context.lose(node, &why);
        }
        Kind::List(items) if !items.is_empty() => {
            let others = main.map_or(&[][..], Node::items);
            for (index, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(text);
                let same = match &name {
                    _ if pods.0.container.is_some_and(|main| std::ptr::eq(main, item)) => pods.1.container,
                    Some(_) => others.iter().find(|other| other.get("name").and_then(text) == name),
                    None => others.get(index),
                };
                compare(context, item, same, pods);
            }
        }
        _ => match main {
            Some(main) if main.to_json() == node.to_json() => context.outcomes.copy(main, node),
            Some(_) => {
                let why = format!("`{}` has another value, and the spec has one value for all pods", pods.1.name);
                context.lose(node, &why);
            }
            None => {
                let why = format!("only `{}` had it, and the spec is the same for all pods", pods.0.name);
                context.lose(node, &why);
            }
        },
    }
}

/// The names and values of the variables whose value is in the file, and not in a Secret or ConfigMap.
pub fn values(env: Option<&Node>) -> Vec<(String, String)> {
    let pair = |item: &Node| Some((item.get("name").and_then(text)?, item.get("value").and_then(text)?));
    env.map_or(&[][..], Node::items).iter().filter_map(pair).collect()
}
