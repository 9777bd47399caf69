//! Detects the system of a file before it is read, so that a wrong system on the command line is reported at once.

use crate::api::System;
use crate::codes::{NOTHING, OTHER_SYSTEM, TEMPLATE};
use khorovod_compiler::Text;
use khorovod_compiler::pipeline::{self, NO_JOB};
use khorovod_compiler::problem::{Problem, Problems, Span};
use khorovod_compiler::targets::SCRIPT_MARK;

/// Adds a hint to the problems of a text without a job. If the text looks like a file of another system, the hint names
/// the command that imports it.
pub fn with_import_hint(mut problems: Problems, text: &Text) -> Problems {
    // If the problem has a fix, the file is nearly a TrainingJob and needs no import.
    let astray = |problem: &&mut Problem| problem.code == &NO_JOB && problem.fix.is_none();
    if let Some(problem) = problems.list.iter_mut().find(astray)
        && let Some(system) = system(&text.text)
    {
        let file = if text.name == "<stdin>" { "FILE" } else { &text.name };
        let name = system.name();
        problem.hint = Some(format!("it looks like {}: `khorovod import {name} {file}`", system.about()));
    }
    problems
}

/// Pushes a problem if a text is clearly not a file of `system`.
pub fn check(system: System, text: &Text, whole: Span, problems: &mut Vec<Problem>) {
    let Some(first) = content(&text.text) else {
        let problem = Problem::new(&NOTHING, Span { end: whole.start, ..whole }, format!("{} is empty", text.name));
        return problems.push(problem.hint(format!("it must contain {}", system.about())));
    };
    if let Some(at) = text.text.find("{{") {
        let span = Span { start: at, end: at + 2, ..whole };
        let problem = Problem::new(&TEMPLATE, span, format!("{} is a template that is not filled in", text.name));
        return problems.push(problem.hint(match system {
            _ if system.kind().is_some() => "import the output: `helm template …`, or `kubectl get … -o yaml`",
            System::StableHorovod | System::ElasticHorovod => {
                "import the output: `helm get values RELEASE`, `helm template …`"
            }
            _ => "fill in the template, and import the result",
        }));
    }
    let other = match guess(&text.text) {
        Some(Guess::Ours) => "this is a TrainingJob already: `khorovod plan FILE`".to_owned(),
        Some(Guess::Made) => MADE.to_owned(),
        Some(Guess::Objects) => objects(system, &text.text, whole),
        Some(Guess::Theirs(other)) if !kin(system, other) => format!("try `khorovod import {}`", other.name()),
        _ => return,
    };
    let line = text.text[first..].find('\n').map_or(text.text.len(), |end| first + end);
    let span = Span { start: first, end: line, ..whole };
    let message = format!("{} does not contain {}", text.name, system.about());
    problems.push(Problem::new(&OTHER_SYSTEM, span, message).hint(other));
}

/// Returns the offset of the first line that is not blank or a comment.
pub fn content(text: &str) -> Option<usize> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        let trimmed = line.trim();
        (!trimmed.is_empty() && (!trimmed.starts_with('#') || trimmed.starts_with("#SBATCH"))).then_some(start)
    })
}

const MADE: &str = "khorovod rendered this script from a TrainingJob: edit that, and render it again with `--target slurm`, \
                    or without `--target` for Kubernetes";

/// The hint for a file that holds Kubernetes objects but no job of an operator.
fn objects(system: System, text: &str, whole: Span) -> String {
    let kinds = pipeline::kinds(text, whole);
    let kind = kinds.last().map_or("an object", |(kind, _)| kind);
    if text.contains(pipeline::RENDERED) {
        return "khorovod rendered these objects from a TrainingJob: use that, or add the ConfigMap JOB-current, which \
                contains it"
            .to_owned();
    }
    match system {
        System::StableHorovod | System::ElasticHorovod => {
            "it is the output of a chart; import its values instead: `helm get values RELEASE`".to_owned()
        }
        _ => format!(
            "it contains `kind: {kind}`, and of Kubernetes objects only an MPIJob, a PyTorchJob, a TFJob, a TrainJob and a JobSet can \
             be imported. For others, create a TrainingJob with `khorovod init`, and copy image, command and workers"
        ),
    }
}

enum Guess {
    Ours,
    /// A script that khorovod rendered.
    Made,
    /// Kubernetes objects without a job of an operator.
    Objects,
    Theirs(System),
}

/// Whether a file that looks like a file of the system `other` can be imported as a file of the system `one`.
fn kin(one: System, other: System) -> bool {
    let charts = [System::StableHorovod, System::ElasticHorovod];
    one == other || charts.contains(&one) && other == System::StableHorovod
}

/// Returns the system that a text is most likely written for.
pub fn system(text: &str) -> Option<System> {
    match guess(text)? {
        Guess::Theirs(system) => Some(system),
        Guess::Ours | Guess::Made | Guess::Objects => None,
    }
}

/// The system of a manifest, by the kind of its first object that belongs to an operator.
fn by_kind(text: &str) -> Option<System> {
    let kinds = text.lines().filter_map(|line| line.strip_prefix("kind:"));
    let mut kinds = kinds.map(|kind| kind.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']));
    kinds.find_map(|kind| System::ALL.iter().copied().find(|system| system.kind() == Some(kind)))
}

/// Guesses the system of a text by its content.
fn guess(text: &str) -> Option<Guess> {
    let top = |key: &str| text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')));
    if text.lines().any(|line| line.trim_start().starts_with("kind: TrainingJob")) {
        return Some(Guess::Ours);
    }
    // Parameters of the openmpi component may be indented inside an object, and their names may be in quotes.
    let within = |key: &str| {
        let line = |line: &str| line.trim_start().trim_start_matches(['"', '\'']).strip_prefix(key).map(str::to_owned);
        text.lines().any(|text| line(text).is_some_and(|rest| rest.trim_start_matches(['"', '\'']).starts_with(':')))
    };
    let is_rendered = text.contains(pipeline::RENDERED);
    if let Some(system) = by_kind(text).filter(|system| *system == System::MpiJob || !is_rendered) {
        return Some(Guess::Theirs(system));
    }
    if text.lines().any(|line| line.starts_with("# Training job ") && line.contains(SCRIPT_MARK)) {
        return Some(Guess::Made);
    }
    let batch = text.lines().any(|line| line.starts_with("#SBATCH "));
    let is_list = top("items")
        && !is_rendered
        && System::ALL.iter().any(|one| one.kind().is_some_and(|kind| text.contains(kind)));
    if top("apiVersion") && top("kind") && !batch && !is_list {
        return Some(Guess::Objects);
    }
    let ks = |line: &str| {
        ["ks generate openmpi", "ks prototype use openmpi", "ks param set"].iter().any(|command| line.contains(command))
    };
    let theirs = if top("framework") && (top("learners") || top("data_stores") || top("gpus")) {
        System::Ffdl
    } else if text.lines().any(ks) || ["image", "secret", "workers"].iter().all(|key| within(key)) {
        System::KubeflowOpenmpi
    } else if top("datasetPvc") {
        System::ElasticHorovod
    } else if top("worker") && (top("master") || top("driver")) {
        System::StableHorovod
    } else if batch || text.lines().any(|line| line.trim_start().starts_with("srun ")) {
        System::Slurm
    } else {
        return None;
    };
    Some(Guess::Theirs(theirs))
}
