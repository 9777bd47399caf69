//! The new spec rendered again: what of it is needless, and which fields of the old objects it holds.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::{inputs, text_of};
use crate::context::{self, Context};
use crate::field_outcomes::Verdict;
use crate::from::mpi_job::BESIDE;
use khorovod_compiler::pipeline;
use khorovod_compiler::problem::Span;
use khorovod_compiler::yaml::{self, Kind, Node};

const CHANGED: &str = "it was changed since khorovod rendered it, or by a patch; `spec.patches` puts it back";

/// Takes away what says no more than the default.
pub fn trim(context: &mut Context<'_>) {
    const DEFAULTS: &[&str] = &[
        "spec.workers.slots",
        "spec.workers.shm",
        "spec.launcher.kind",
        "spec.launcher.mpi",
        "spec.launcher.cpu",
        "spec.launcher.memory",
        "spec.launcher.retries",
        "spec.launcher.waitTimeout",
        "spec.launcher.idleTimeout",
        "spec.elastic.timeout",
        "spec.placement.spread",
        "spec.security.profile",
        "spec.security.runAsUser",
        "spec.security.fsGroup",
        "spec.security.readOnlyRootFilesystem",
        "spec.workdir",
    ];
    let whole = rendered(context);
    for path in DEFAULTS {
        let Some(value) = context.spec.take(path) else { continue };
        if rendered(context) != whole {
            context.spec.put(path, value, "");
        }
    }
}

/// What the new job is rendered to; empty where it does not hold.
fn rendered(context: &Context<'_>) -> String {
    pipeline::render(&text_of(context), &inputs()).map(|rendered| rendered.text).unwrap_or_default()
}

/// The objects of the new job.
fn objects(context: &Context<'_>) -> Vec<Json> {
    let text = rendered(context);
    let object = |body| yaml::parse(&text[body], Span::default(), &mut Vec::new()).ok()?.map(|node| node.to_json());
    yaml::pieces(&text).into_iter().filter_map(|piece| object(piece.body)).collect()
}

/// Lays over the pods what the old ones have beyond those of the new job: a patch put it there, or a person.
pub fn patch(job: &Node, context: &mut Context<'_>) {
    let ours = objects(context).into_iter().find(|object| object["kind"] == "MPIJob").unwrap_or_default();
    for (part, name) in [("Launcher", "*-launcher"), ("Worker", "*-worker")] {
        let parts = job.get("spec").and_then(|spec| spec.get("mpiReplicaSpecs")).and_then(|parts| parts.get(part));
        let Some(old) = parts.and_then(|part| part.get("template")) else { continue };
        let mut found = Vec::new();
        added(old, &ours["spec"]["mpiReplicaSpecs"][part]["template"], "", &mut found);
        for (path, key, value) in found {
            context.spec.patch(&json!({"kind": "Pod", "name": name}), &path, &key, value);
        }
    }
}

/// Entries of maps that the new object lacks: their map's path, key and value.
fn added(old: &Node, new: &Json, path: &str, found: &mut Vec<(String, String, Json)>) {
    for entry in context::entries(old) {
        let (key, value) = (&entry.key, &new[entry.key.as_str()]);
        if !value.is_null() {
            added(&entry.value, value, &format!("{path}/{key}"), found);
        } else if !THEIRS.contains(&key.as_str()) && !matches!(entry.value.to_json(), Json::Null) {
            found.push((path.to_owned(), key.clone(), entry.value.to_json()));
        }
    }
}

/// Renders the new job, and says of each field of the old objects whether that holds it.
pub fn compare(job: &Node, context: &mut Context<'_>) {
    let run = |object: &Json| object["metadata"]["labels"]["khorovod.dev/run"].as_str().unwrap_or_default().to_owned();
    let (mut objects, mut new_run) = (HashMap::new(), String::new());
    for object in self::objects(context) {
        new_run = Some(run(&object)).filter(|run| !run.is_empty()).unwrap_or(new_run);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        objects.insert(format!("{}/{name}", object["kind"].as_str().unwrap_or_default()), object);
    }
    let runs = (run(&job.to_json()), new_run);
    let name = job.get("metadata").and_then(|node| node.get("name")).and_then(context::text).unwrap_or_default();
    let renamed = |key: &str| if runs.0.is_empty() { key.to_owned() } else { key.replace(&runs.0, &runs.1) };
    let found = |key: String| objects.get(&renamed(&key)).unwrap_or(&Json::Null);
    let Kind::Map(fields) = &job.kind else { return };
    let ours = found(format!("MPIJob/{name}"));
    for entry in fields.iter().filter(|entry| entry.key != BESIDE) {
        match entry.key.as_str() {
            "status" => context.needless(&entry.value, "Kubernetes wrote it"),
            key => judge(context, &entry.value, &ours[key], &runs),
        }
    }
    for entry in job.get(BESIDE).map_or(&[][..], context::entries) {
        match objects.get(&renamed(&entry.key)) {
            Some(object) => judge(context, &entry.value, object, &runs),
            None => context.lose(&entry.value, "khorovod did not render it, or makes it no more"),
        }
    }
}

/// Fields that the API server or a controller writes.
const THEIRS: &[&str] = &[
    "creationTimestamp",
    "finalizers",
    "generation",
    "kubectl.kubernetes.io/last-applied-configuration",
    "launcherCreationPolicy",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "status",
    "suspend",
    "uid",
    "volumeMode",
    "volumeName",
];

/// Each leaf of `old`: whether the new object has it too.
fn judge(context: &mut Context<'_>, old: &Node, new: &Json, runs: &(String, String)) {
    match &old.kind {
        Kind::Map(entries) if !entries.is_empty() => {
            for entry in entries {
                let new = &new[entry.key.as_str()];
                let theirs = THEIRS.contains(&entry.key.as_str()) || entry.key.contains("pv.kubernetes.io/");
                match theirs && new.is_null() {
                    true => context.needless(&entry.value, "Kubernetes wrote it"),
                    false => judge(context, &entry.value, new, runs),
                }
            }
        }
        Kind::List(list) if !list.is_empty() => {
            for (index, item) in list.iter().enumerate() {
                judge(context, item, new.get(index).unwrap_or(&Json::Null), runs);
            }
        }
        _ => {
            let same = match (old.to_json(), new) {
                (Json::String(old), Json::String(new)) if !runs.0.is_empty() => old.replace(&runs.0, &runs.1) == *new,
                (old, new) => old == *new,
            };
            match same {
                true => context.outcomes.settle(old, Verdict::Kept, "", "khorovod renders it again"),
                false => context.lose(old, CHANGED),
            }
        }
    }
}
