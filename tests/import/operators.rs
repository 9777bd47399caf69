//! PyTorchJobs, TFJobs, TrainJobs and JobSets: the report is true for each value of their files, and files that cannot be imported are
//! refused with the next step.

use std::collections::BTreeSet;

use khorovod::import::{Imported, Options, System, import};
use khorovod::problem::Problems;
use serde::Deserialize;
use serde_yaml::Value as Yaml;

use super::{Case, cases, leaves, text};

const SYSTEMS: &[System] = &[System::PyTorchJob, System::TfJob, System::TrainJob, System::JobSet];

/// The documents of a file, with aliases replaced by their values.
fn documents(text: &str) -> Vec<Yaml> {
    serde_yaml::Deserializer::from_str(text).map(|one| Yaml::deserialize(one).unwrap()).collect()
}

/// The value at a path such as `a.b[0].c`. Keys may contain dots, so each key of a map is tried.
fn at<'v>(value: &'v mut Yaml, path: &str) -> Option<&'v mut Yaml> {
    if path.is_empty() {
        return Some(value);
    }
    if let Some(rest) = path.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        return at(value.get_mut(index.parse::<usize>().ok()?)?, rest.trim_start_matches('.'));
    }
    let keys: Vec<String> = value.as_mapping()?.keys().filter_map(|key| key.as_str().map(str::to_owned)).collect();
    let fits = |key: &String| {
        path.strip_prefix(key.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let key = keys.into_iter().filter(fits).max_by_key(String::len)?;
    let rest = path[key.len()..].trim_start_matches('.').to_owned();
    at(value.get_mut(key.as_str())?, &rest)
}

/// The documents with one value changed.
fn with_change(documents: &[Yaml], index: usize, path: &str, change: fn(&mut Yaml)) -> String {
    let mut documents = documents.to_vec();
    change(at(&mut documents[index], path).unwrap_or_else(|| panic!("{path}")));
    let texts: Vec<String> = documents.iter().map(|document| serde_yaml::to_string(document).unwrap()).collect();
    texts.join("---\n")
}

/// Another value of the same type.
fn other(value: &mut Yaml) {
    *value = match &*value {
        Yaml::Bool(yes) => (!*yes).into(),
        Yaml::Number(number) => (number.as_i64().unwrap_or_default() + 1).into(),
        Yaml::String(text) => match text.parse::<i64>() {
            Ok(number) => (number + 1).to_string().into(),
            Err(_) => format!("{text}1").into(),
        },
        _ => "other".into(),
    };
}

fn imported(case: &Case, text: String) -> Result<Imported, Problems> {
    Case { system: case.system, path: case.path.clone(), text, options: case.options.clone() }.import()
}

/// The job without comments, its Secrets, and the outcome of a field.
fn meaning(imported: &Imported, path: &str) -> (Yaml, String, Option<(&'static str, String)>) {
    let field = imported.fields.iter().find(|field| field.path == path);
    let outcome = field.map(|field| (field.verdict, field.note.clone()));
    (serde_yaml::from_str(&imported.job).unwrap(), imported.secrets.clone(), outcome)
}

/// Values whose change need not change the job, by a part of their path and of their note.
const EXEMPT: &[(&str, &str)] = &[
    // Words of a command that starts the ranks: each option has a row of its own.
    ("command", "khorovod writes the launch itself"),
    ("args", "it only waited"),
    ("emptyDir.medium", ""),
    ("minAvailable", "a gang always has all pods"),
    // Kubernetes refuses the name of a claim that the pod does not have.
    ("resources.claims", ""),
];

#[test]
fn values_have_the_effect_that_the_report_names() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in cases().iter().filter(|case| SYSTEMS.contains(&case.system)) {
        let documents = documents(&case.text);
        let before = case.import().unwrap();
        for (index, document) in documents.iter().enumerate() {
            let is_job = document["kind"].as_str() == case.system.kind();
            let name = format!(
                "beside.{}/{}.",
                document["kind"].as_str().unwrap(),
                document["metadata"]["name"].as_str().unwrap()
            );
            let mut paths = BTreeSet::new();
            leaves(document, String::new(), &mut paths);
            for path in paths {
                let full = if is_job { path.clone() } else { format!("{name}{path}") };
                let Some(field) = before.fields.iter().find(|field| field.path == full) else { continue };
                // Kubernetes would refuse the object without these, and other values belong to another object.
                if ["apiVersion", "kind", "metadata.name"].contains(&path.as_str()) {
                    continue;
                }
                tried += 1;
                let has_effect = ["kept", "changed"].contains(&field.verdict);
                // The outcome of a field without effect may change, but not the job.
                let same = |one: &Imported, two: &Imported| {
                    let (one, two) = (meaning(one, &full), meaning(two, &full));
                    one.0 == two.0 && one.1 == two.1 && (!has_effect || one.2 == two.2)
                };
                // Kubernetes may refuse the other value.
                let is_same = imported(case, with_change(&documents, index, &path, other))
                    .map_or(!has_effect, |after| same(&after, &before));
                let is_exempt = EXEMPT.iter().any(|(end, note)| path.contains(end) && field.note.contains(note));
                // A name without effect selects other values.
                if has_effect == is_same && !is_exempt && (has_effect || !path.ends_with("name")) {
                    let how = if is_same { "the import is the same" } else { "the import differs" };
                    wrong.push(format!("{}: {field:?}: with another value, {how}", case.path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty() && tried > 200, "{tried} tried, {} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A PyTorchJob with this command in its pods.
fn pytorch_job(command: &str, more: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: a}}\nspec:\n  {more}\n  pytorchReplicaSpecs:\n    \
         Worker: {{replicas: 2, template: {{spec: {{containers: [{{name: pytorch, image: 'a:1', {command}}}]}}}}}}\n"
    )
}

fn train_job(spec: &str) -> String {
    format!("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: a}}\nspec: {{{spec}}}\n")
}

#[test]
fn unsupported_files_are_refused_with_the_next_step() {
    let run = "command: [python, a.py]";
    let set = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\n";
    let cases = [
        (System::PyTorchJob, pytorch_job(run, "").replace("/v1\n", "/v1beta1\n"), "v1beta1", "`kubeflow.org/v1`"),
        (
            System::PyTorchJob,
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {}\n".to_owned(),
            "no pods",
            "Master",
        ),
        (
            System::PyTorchJob,
            pytorch_job("args: [--epochs, '1']", ""),
            "is not in the file, but in the image",
            "--command",
        ),
        (
            System::PyTorchJob,
            pytorch_job("command: [bash, -c, 'for i in 1 2; do torchrun a.py; done']", ""),
            "in a loop",
            "--command",
        ),
        (
            System::PyTorchJob,
            pytorch_job("command: [bash, -c, 'torchrun --nproc-per-node=$(nvidia-smi -L | wc -l) a.py']", ""),
            "only a shell can run it",
            "--command",
        ),
        (
            System::PyTorchJob,
            pytorch_job(
                "command: [bash, -c, 'wandb login 0123456789abcdef0123456789abcdef01234567 && torchrun a.py']",
                "",
            ),
            "looks like a secret",
            "$NAME",
        ),
        (
            System::PyTorchJob,
            pytorch_job(run, "elasticPolicy: {minReplicas: 4, maxReplicas: 2}"),
            "`minReplicas` is above `maxReplicas`",
            "raise `maxReplicas`",
        ),
        (
            System::TfJob,
            "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: {tfReplicaSpecs: {PS: {}, Worker: {}}}\n".to_owned(),
            "no parameter servers",
            "MultiWorkerMirroredStrategy",
        ),
        (
            System::TrainJob,
            train_job("runtimeRef: {name: torch-distributed}, trainer: {command: [python, a.py]}"),
            "the image is in the runtime `torch-distributed`",
            "kubectl get trainjob/a clustertrainingruntime/torch-distributed -o yaml",
        ),
        (
            System::TrainJob,
            train_job("runtimeRef: {name: xgboost-distributed}, trainer: {image: 'a:1', command: [python, a.py]}"),
            "no launcher for the runtime `xgboost`",
            "PyTorch, JAX",
        ),
        (
            System::TrainJob,
            train_job(
                "runtimeRef: {name: torchtune-llama3.2-1b}, trainer: {image: 'a:1', command: [tune, run, full_finetune_distributed]}",
            ),
            "only a shell can run it",
            "--command",
        ),
        (
            System::JobSet,
            format!("{set}spec: {{replicatedJobs: [{{name: a, template: {{}}}}]}}\n"),
            "no pods that train",
            "containers",
        ),
        (System::JobSet, format!("{set}---\n{set}"), "several JobSets", "one at a time"),
        (System::JobSet, set.replace("v1alpha2", "v1alpha1"), "v1alpha1", "v1alpha2"),
    ];
    for (system, file, message, hint) in cases {
        let problems = import(system, &[text(&file)], &Options::default()).expect_err(&file);
        let found = problems.list.iter().find(|problem| problem.message.contains(message));
        let found = found.unwrap_or_else(|| panic!("{file}: {:#?}", problems.list));
        assert!(found.hint.as_deref().unwrap_or_default().contains(hint), "{file}: {found:#?}");
    }
}

#[test]
fn outcomes_of_single_fields() {
    let options = |command: &str| Options { command: Some(command.to_owned()), ..Options::default() };
    let run = "command: [python, a.py]";
    let torchrun = "command: [torchrun, a.py]";
    let read = |file: &str, options: &Options| {
        let system = if file.contains("PyTorchJob") { System::PyTorchJob } else { System::TrainJob };
        import(system, &[text(file)], options).unwrap_or_else(|problems| panic!("{file}: {:#?}", problems.list))
    };
    let field = |file: &str, options: &Options, path: &str| {
        let imported = read(file, options);
        let field =
            imported.fields.into_iter().find(|field| field.path.ends_with(path)).unwrap_or_else(|| panic!("{path}"));
        (field.verdict, field.note)
    };
    let none = Options::default();
    for (file, options, path, verdict, note) in [
        (pytorch_job(torchrun, "nprocPerNode: '2'"), &none, "nprocPerNode", "kept", ""),
        (pytorch_job(torchrun, "nprocPerNode: auto"), &none, "nprocPerNode", "changed", "each worker has 1 rank"),
        // Without torchrun each pod is one rank, whatever the number is.
        (pytorch_job(run, "nprocPerNode: '2'"), &none, "nprocPerNode", "changed", "each worker has 1 rank"),
        (pytorch_job(run, "elasticPolicy: {minReplicas: 2}"), &none, "minReplicas", "changed", "the number is fixed"),
        (pytorch_job(run, "elasticPolicy: {minReplicas: 1, maxReplicas: 4}"), &none, "maxReplicas", "kept", ""),
        (
            pytorch_job(run, ""),
            &options("torchrun --nproc-per-node 4 b.py"),
            "command[0]",
            "dropped",
            "`--command` replaces it",
        ),
        (
            pytorch_job("command: [torchrun, a.py], env: [{name: A, value: a-worker-1:80}]", ""),
            &none,
            "env[0].value",
            "lost",
            "the pods have other names now",
        ),
        (
            train_job(
                "runtimeRef: {name: deepspeed-distributed}, trainer: {image: 'a:1', command: [mpirun, ./a], numProcPerNode: 2}",
            ),
            &none,
            "numProcPerNode",
            "kept",
            "",
        ),
    ] {
        let found = field(&file, options, path);
        assert!(found.0 == verdict && found.1.contains(note), "{file}: {path} {found:?}");
    }
    let job = read(&pytorch_job(run, ""), &options("torchrun --nproc-per-node 4 b.py")).job;
    assert!(job.contains("slotsPerWorker: 4") && job.contains("command: [python, -u, b.py]"), "{job}");
    let image = Options { image: Some("b:2".to_owned()), ..Options::default() };
    let job = read(&train_job("runtimeRef: {name: jax-distributed}, trainer: {command: [python, a.py]}"), &image).job;
    assert!(job.contains("image: b:2") && job.contains("launcher: jax"), "{job}");
}
