//! The exceptions of the targets (`Facts::exceptions`), from which `explain` and `docs/fields.md` get the fields that a target
//! refuses or ignores: each field of the spec is set for each target, and the problems must agree with the exceptions.

use khorovod::targets::{ALL, exceptions};
use khorovod::{Inputs, Text};
use serde_json::{Value as Json, json};

const BASE: &str = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec:\n  image: a/b:1\n  command: [x]\n  \
                    launcher: {kind: mpirun}\n  workers: {replicas: 2, gpus: 1}\n";

/// Settings for fields that need others beside them.
const TOGETHER: &[(&str, &[&str])] = &[
    ("storage.perWorker", &["storage=[{name: d, mountPath: /d, perWorker: {size: 1Gi}}]"]),
    ("storage", &["storage=[{name: d, mountPath: /d, claim: {size: 1Gi}}]"]),
    ("env.NAME.fieldRef", &["env={A: {fieldRef: {fieldPath: metadata.name}}}"]),
    ("workers.groups", &["workers={groups: [{name: a, replicas: 1}, {name: b, replicas: 1}]}"]),
    (
        "workers.elastic.maxReplicas",
        &["launcher=horovodrun", "workers={replicas: 2, elastic: {minReplicas: 1, maxReplicas: 4}}"],
    ),
    ("workers.elastic", &["launcher=horovodrun", "workers={replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}"]),
    ("workers.gpuResource", &["workers.gpuResource=acme.com/npu"]),
    ("launcher.args", &["launcher.args=[-v]", "slurm={srun: {}}"]),
    (
        "launcher.program",
        &["launcher={kind: torchrun, program: ft_launcher}", "workers.elastic={minReplicas: 1, maxReplicas: 2}"],
    ),
    ("launcher.interactive", &["launcher={kind: shell, interactive: true}"]),
    ("placement.topology.rankOrder", &["placement.topology.rankOrder=[rack]"]),
    (
        "placement.affinity",
        &["placement.affinity={podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}"],
    ),
    ("placement.spread", &["placement.spread=acme.com/zone"]),
    ("ssh.secretName", &["ssh.secretName=keys"]),
];

/// The codes and messages of the problems of a spec with these settings.
fn problems(sets: &[String], target: &'static dyn khorovod::Target) -> Vec<(&'static str, String)> {
    let text = Text { name: "job.yaml".into(), text: BASE.into() };
    let inputs = Inputs { sets: sets.to_vec(), target, ..Inputs::default() };
    khorovod::check(&text, &inputs).list.into_iter().map(|problem| (problem.code.name, problem.message)).collect()
}

/// The fields of a shape and below, without those of lists and of maps with names of the user, each with values to try.
fn fields(root: &Json, shape: &Json, prefix: &str, found: &mut Vec<(String, Vec<Json>)>) {
    for (key, field) in shape["properties"].as_object().unwrap() {
        let path = format!("{prefix}{key}");
        let mut values: Vec<Json> = field["examples"].as_array().into_iter().flatten().cloned().collect();
        values.extend(field["enum"].as_array().into_iter().flatten().cloned());
        values.extend(field["default"].as_bool().map(|value| json!(!value)));
        found.push((path.clone(), values));
        for part in [field].into_iter().chain(field["anyOf"].as_array().into_iter().flatten()) {
            if let Some(name) = part["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
                fields(root, &root["$defs"][name], &format!("{path}."), found);
            }
        }
    }
}

#[test]
fn exceptions_agree_with_the_problems_of_targets() {
    let schema = khorovod::schema();
    let mut all = Vec::new();
    fields(&schema, &schema["$defs"]["Body"], "", &mut all);
    let metadata = &schema["$defs"]["Metadata"];
    fields(&schema, metadata, "metadata.", &mut all);
    let mut wrong: Vec<String> = Vec::new();
    for target in ALL.iter().copied() {
        let before = problems(&[], target);
        let mut refused_fields: Vec<String> = Vec::new();
        let mut ignored_fields: Vec<String> = Vec::new();
        for (path, values) in &all {
            for value in values {
                let found = problems(&[format!("{path}={value}")], target);
                let new: Vec<_> = found.into_iter().filter(|problem| !before.contains(problem)).collect();
                let named = |message: &str| message.contains(&format!("`{path}`"));
                let is_refused = new.iter().any(|(code, _)| *code == "target-cannot");
                let is_ignored = new.iter().any(|(code, text)| *code == "slurm-ignores" && named(text));
                let own = exceptions(path).into_iter().filter(|(name, _)| *name == target.name());
                let own: Vec<_> = own.map(|(_, exception)| exception).collect();
                // A map may be refused because of a field of its example.
                let has = |is_refused: bool| {
                    let below =
                        target.facts().exceptions.iter().filter(|other| other.field.starts_with(&format!("{path}.")));
                    own.iter().copied().chain(below).any(|exception| exception.is_refused == is_refused)
                };
                if is_refused && !has(true) || is_ignored && !has(false) {
                    wrong.push(format!("{}: {path}={value}: not in the exceptions: {new:?}", target.name()));
                }
                refused_fields.extend(is_refused.then(|| path.clone()));
                ignored_fields.extend(is_ignored.then(|| path.clone()));
            }
        }
        for exception in target.facts().exceptions.iter().filter(|exception| exception.field != "slurm") {
            let path = exception.field;
            let together = TOGETHER.iter().find(|(field, _)| *field == path);
            let is_reported = match (together, exception.is_refused) {
                (Some((_, sets)), true) => {
                    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
                    problems(&sets, target).iter().any(|(code, _)| ["target-cannot", "topology"].contains(code))
                }
                (None, true) => refused_fields.iter().any(|field| field == path),
                // Only Slurm has a note for fields without effect.
                (Some((_, sets)), false) => {
                    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
                    problems(&sets, target).iter().any(|(code, _)| *code == "slurm-ignores")
                }
                (None, false) => target.facts().has_pods || ignored_fields.iter().any(|field| field == path),
            };
            if !is_reported {
                wrong.push(format!("{}: {path}: no problem is reported", target.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
