//! Every example on every Kubernetes target: khorovod renders it, or reports a problem with a location and a solution. The
//! rendered objects must contain everything that the plain objects contain.
//!
//! If `KHOROVOD_CORPUS` is a folder with the published custom resources in `crds/`, they validate the objects. `make bless`
//! writes the files in this folder.

mod fields;
mod mpi_job;
mod patches;
mod pods;
mod published;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use khorovod::problem::Problems;
use khorovod::{Inputs, Keys, Rendered, Target, Text, targets};
use serde_json::Value as Json;

/// The targets whose pods an operator creates.
fn operators() -> Vec<&'static dyn Target> {
    let has_operator = |target: &&dyn Target| target.facts().has_pods && !target.facts().own_workloads;
    targets::ALL.iter().copied().filter(has_operator).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names and texts of the examples.
fn examples() -> Vec<(String, Text)> {
    let folders = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = folders
        .filter(|path| path.is_dir())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(path.join("job.yaml")).unwrap();
            (name.clone(), Text { name: format!("{name}/job.yaml"), text })
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

fn render(text: &Text, target: &'static dyn Target) -> Result<Rendered, Problems> {
    khorovod::render(text, &Inputs { target, keys: Keys::Seed([7; 32]), ..Inputs::default() })
}

fn objects(rendered: &Rendered) -> Vec<Json> {
    serde_yaml::Deserializer::from_str(&rendered.text)
        .map(|document| serde::Deserialize::deserialize(document).unwrap())
        .collect()
}

/// A job with some changed fields.
fn job(name: &str, spec: &str) -> Text {
    let text = format!(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: {name}}}\nspec:\n  image: a:1\n  command: [train]\n{spec}"
    );
    Text { name: "job.yaml".to_owned(), text }
}

/// Compares a text with a file, or writes the file if `KHOROVOD_BLESS` is set.
fn hold(path: &Path, text: &str, stale: &mut Vec<String>) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    } else if fs::read_to_string(path).unwrap_or_default() != text {
        stale.push(path.display().to_string());
    }
}

#[test]
fn every_example_renders_or_is_refused_with_a_way_out() {
    let mut refused = String::new();
    for target in operators() {
        for (name, text) in examples() {
            match render(&text, target) {
                Ok(rendered) => {
                    assert!(rendered.warnings.list.is_empty(), "{name} for {}", target.name());
                }
                Err(problems) => {
                    for problem in &problems.list {
                        let line = problems.sources.position(problem.labels[0].span).line;
                        assert!(line > 1 && problem.hint.is_some(), "{name} for {}: {problem:?}", target.name());
                        let _ = writeln!(refused, "{} {name}:{line}: {}", target.name(), problem.message);
                    }
                }
            }
        }
    }
    let mut stale = Vec::new();
    hold(&root().join("tests/targets/refused.txt"), &refused, &mut stale);
    assert!(stale.is_empty(), "not what is refused; look at the difference, then `make bless`");
}

#[test]
fn examples_render_to_the_stored_objects() {
    let shown = [
        (targets::MPI_JOB, "cpu"),
        (targets::MPI_JOB, "gang"),
        (targets::JOB_SET, "worker-groups"),
        (targets::JOB_SET, "torchrun"),
        (targets::TRAIN_JOB, "kueue"),
        (targets::TRAIN_JOB, "torchrun"),
        (targets::JOB_SET, "topology"),
        (targets::VOLCANO, "gang"),
        (targets::VOLCANO, "indexed-job"),
    ];
    let mut stale = Vec::new();
    for (target, example) in shown {
        let (_, text) = examples().into_iter().find(|(name, _)| name == example).unwrap();
        let rendered = render(&text, target).unwrap();
        // The other objects are the same as for the plain target.
        let around = ["NetworkPolicy", "Secret", "ConfigMap", "Service"];
        let mut workloads = String::new();
        for document in rendered.documents.iter().filter(|document| !around.contains(&document.kind)) {
            workloads.extend(["---\n", &rendered.text[document.range.clone()]]);
        }
        hold(&root().join(format!("tests/targets/{}-{example}.yaml", target.name())), &workloads, &mut stale);
    }
    assert!(stale.is_empty(), "not what the code renders; look at the difference, then `make bless`: {stale:#?}");
}
