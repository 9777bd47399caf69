//! An MPIJob that khorovod itself rendered, with the objects around it → the spec it came from.
//!
//! What is read here is checked at once: the new spec is rendered, and each field of the old objects is kept exactly where
//! that says the same. So whatever somebody changed in them, or a patch did, is found and said.

mod again;
mod launched;
mod placed;
mod storage;

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

use crate::codes::BAD_VALUE;
use crate::context::{Context, items, text};
use crate::from::mpi_job::{BESIDE, LONG};
use crate::pod::{self, container};
use crate::shell::words;
use khorovod_compiler::problem::Problem;
use khorovod_compiler::targets;
use khorovod_compiler::yaml::Node;
use khorovod_compiler::{Inputs, Keys, Text};

/// Whether it is our launcher.
pub fn is(launcher: &Node) -> bool {
    let words = launcher.get("command").map_or(&[][..], items);
    words.iter().any(|word| text(word).as_deref() == Some("/etc/khorovod/scripts/launcher.sh"))
}

/// What our objects say, as trees without places.
struct Parts {
    job: Json,
    launcher: Json,
    worker: Json,
    pod: Json,
    /// The other objects by `Kind/name`.
    beside: Map<String, Json>,
    /// Of `job.sh`, each with its words.
    settings: HashMap<String, Vec<String>>,
}

impl Parts {
    fn beside(&self, kind: &str) -> impl Iterator<Item = &Json> {
        let head = format!("{kind}/");
        self.beside.iter().filter(move |(key, _)| key.starts_with(&head)).map(|(_, object)| object)
    }

    /// Data of the ConfigMap that has this key.
    fn data(&self, key: &str) -> Option<&Map<String, Json>> {
        self.beside("ConfigMap").filter_map(|object| object["data"].as_object()).find(|data| data.contains_key(key))
    }

    fn setting(&self, name: &str) -> &str {
        self.settings.get(name).and_then(|words| words.first()).map_or("", String::as_str)
    }

    fn volume(&self, name: &str) -> Option<&Json> {
        self.pod["volumes"].as_array()?.iter().find(|volume| volume["name"] == name)
    }

    fn mounts(&self) -> impl Iterator<Item = &Json> {
        self.worker["volumeMounts"].as_array().into_iter().flatten()
    }

    /// A variable of the workers with a value.
    fn variable(&self, name: &str) -> Option<&str> {
        let list = self.worker["env"].as_array()?;
        list.iter().find(|variable| variable["name"] == name)?["value"].as_str()
    }
}

/// Reads the job and all that stands beside it.
pub fn read(job: &Node, launcher: &Node, worker: &Node, context: &mut Context<'_>) {
    let whole = job.to_json();
    let mut parts = Parts {
        pod: whole["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"].clone(),
        beside: whole[BESIDE].as_object().cloned().unwrap_or_default(),
        job: whole,
        launcher: launcher.to_json(),
        worker: worker.to_json(),
        settings: HashMap::new(),
    };
    let Some(script) = parts.data("job.sh").and_then(|data| data["job.sh"].as_str()).map(str::to_owned) else {
        let problem =
            Problem::new(&BAD_VALUE, launcher.span, "khorovod rendered this MPIJob, and its ConfigMaps are not here");
        let hint = "give all that was rendered, or: kubectl get mpijob,configmap,pvc,networkpolicy -l khorovod.dev/job=NAME -o yaml";
        return context.problems.push(problem.hint(hint));
    };
    parts.settings = settings(&script);
    if let Some(node) = worker.get("resources") {
        pod::resources(context, node);
    }
    if let Some(node) = worker.get("envFrom") {
        container::env_from(context, node);
    }
    names(&parts, context);
    program(&parts, context);
    workers(&parts, context);
    launched::launcher(&parts, context);
    launched::knobs(&parts, context);
    storage::read(&parts, context);
    placed::placement(&parts, context);
    placed::around(&parts, context);
    placed::security(&parts, context);
    launched::launch(&parts, context);
    again::trim(context);
    again::patch(job, context);
    again::compare(job, context);
    context.spec.shorten(LONG);
}

/// `name=value` and `name=( words )` lines.
fn settings(script: &str) -> HashMap<String, Vec<String>> {
    let line = |line: &str| {
        let (name, value) = line.split_once('=')?;
        let value = value.strip_prefix("( ").and_then(|value| value.strip_suffix(" )")).unwrap_or(value);
        Some((name.to_owned(), words(value)?.into_iter().map(|word| word.text).collect()))
    };
    // A program may have several lines, each quoted as a part of its word.
    let mut lines: Vec<String> = Vec::new();
    for part in script.lines().filter(|part| !part.starts_with('#')) {
        match lines.last_mut().filter(|last| last.matches('\'').count() % 2 == 1) {
            Some(last) => last.extend(["\n", part]),
            None => lines.push(part.to_owned()),
        }
    }
    lines.iter().filter_map(|text| line(text)).collect()
}

fn names(parts: &Parts, context: &mut Context<'_>) {
    context.name(parts.setting("job"), "");
    let metadata = &parts.job["metadata"];
    if let (Some(namespace), None) = (metadata["namespace"].as_str(), &context.options.namespace) {
        context.spec.put("metadata.namespace", namespace, "");
    }
    let ours = |key: &str| key.starts_with("khorovod.dev/") || key.starts_with("app.kubernetes.io/");
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        if key == "kueue.x-k8s.io/queue-name" {
            context.spec.put("spec.scheduling.kueue", value.clone(), "");
        } else if !ours(key) {
            context.spec.put_key("metadata.labels", key, value.clone(), "");
        }
    }
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        if key != "kubectl.kubernetes.io/last-applied-configuration" {
            context.spec.put_key("metadata.annotations", key, value.clone(), "");
        }
    }
}

fn program(parts: &Parts, context: &mut Context<'_>) {
    context.image(parts.worker["image"].as_str().unwrap_or_default(), "");
    put(context, "spec.image.pullPolicy", &parts.worker["imagePullPolicy"]);
    let secrets: Vec<_> = list(&parts.pod["imagePullSecrets"]).map(|secret| secret["name"].clone()).collect();
    if !secrets.is_empty() {
        context.spec.put("spec.image.pullSecrets", secrets, "");
    }
    put(context, "spec.workdir", &parts.worker["workingDir"]);
    let Some(mount) = parts.mounts().find(|mount| mount["name"] == "khorovod-code") else { return };
    let volume = parts.volume("khorovod-code").unwrap_or(&Json::Null);
    put(context, "spec.code.mountPath", &mount["mountPath"]);
    put(context, "spec.code.configMap", &volume["configMap"]["name"]);
    for source in list(&volume["projected"]["sources"]) {
        let name = source["configMap"]["name"].as_str().unwrap_or_default();
        let files = parts.beside.get(&format!("ConfigMap/{name}")).and_then(|object| object["data"].as_object());
        for (file, text) in files.into_iter().flatten() {
            context.spec.put_key("spec.code.files", file, text.clone(), "");
        }
    }
}

fn workers(parts: &Parts, context: &mut Context<'_>) {
    let spec = &parts.job["spec"];
    put(context, "spec.workers.replicas", &spec["mpiReplicaSpecs"]["Worker"]["replicas"]);
    put(context, "spec.workers.slots", &spec["slotsPerWorker"]);
    if let Some(shm) = parts.volume("khorovod-shm") {
        put(context, "spec.workers.shm", &shm["emptyDir"]["sizeLimit"]);
    }
}

/// The new job as far as it is drawn up.
fn text_of(context: &Context<'_>) -> Text {
    Text { name: "the imported job".to_owned(), text: context.spec.text(&[]) }
}

fn inputs() -> Inputs {
    Inputs { target: targets::MPI_JOB, keys: Keys::LeftOut, ..Inputs::default() }
}

/// Sets a field that is given.
fn put(context: &mut Context<'_>, to: &str, value: &Json) {
    if !value.is_null() {
        context.spec.put(to, value.clone(), "");
    }
}

fn list(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}
