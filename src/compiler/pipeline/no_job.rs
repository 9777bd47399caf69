//! The problem for an input without a TrainingJob: describes what the input is instead, and how to get a TrainingJob from it.
//! See [`problem`].
//!
//! The input is not parsed as YAML, because it may be any text.

use std::ops::Range;

use memchr::memmem;

use crate::job;
use crate::problem::{Problem, Span, codes};
use crate::yaml;

codes! {
    /// There is no TrainingJob in the input
    ///
    /// khorovod searches for documents with `apiVersion: khorovod.dev/v1alpha1` and `kind: TrainingJob`. `khorovod init`
    /// writes a first spec, and `khorovod import` converts jobs of other systems.
    Error NO_JOB = "no-training-job";
}

/// Kinds of training jobs of other operators, which you can rewrite as a TrainingJob.
const TRAINERS: &[&str] = &[
    "JAXJob",
    "JobSet",
    "MPIJob",
    "PaddleJob",
    "PyTorchJob",
    "RayCluster",
    "RayJob",
    "TFJob",
    "TrainJob",
    "XGBoostJob",
];
/// The label that every rendered object has.
pub const RENDERED: &str = "khorovod.dev/job:";
/// The lines that a TrainingJob needs before the fields of its spec.
const HEADER: &str = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata:\n  name: mnist\nspec:\n";

/// The problem for a text without a TrainingJob. `whole` is the span of the text. `empty_stdin` is `Some` if the text
/// is an empty standard input: `Some(true)` if the command line has overlays.
pub fn problem(text: &str, whole: Span, empty_stdin: Option<bool>) -> Problem {
    let no_job = |message: &str, span: Span, hint: &str| Problem::new(&NO_JOB, span, message).hint(hint);
    let first = first_line(text, whole);
    if let Some(has_overlays) = empty_stdin {
        let hint = if has_overlays {
            "an overlay needs a spec to be merged over: `khorovod plan job.yaml --overlay prod.yaml`"
        } else {
            "the standard input is a pipe, so no file was read: give one, as in `khorovod plan job.yaml`, or pipe a spec"
        };
        return no_job("the input is empty", first, hint);
    }
    let (message, start) = (
        "there is no TrainingJob in the input",
        "start a document with `apiVersion: khorovod.dev/v1alpha1` and `kind: TrainingJob`, or create one with `khorovod init`",
    );
    if text.trim().is_empty() {
        return no_job("the input is empty", first, start);
    }
    if let Some(sign) = yaml::find_sign(text) {
        let span = Span { start: sign.at.start, end: sign.at.end, ..whole };
        return no_job(&format!("the input is not a TrainingJob: it seems to be {}", sign.what), span, sign.hint);
    }
    if let Some(at) = memmem::find(text.as_bytes(), b"- apiVersion:").filter(|_| text.contains("kind: TrainingJob"))
        && text[..at].lines().all(|line| line.trim().is_empty() || line.starts_with(['#', '-']))
        && (at == 0 || text[..at].ends_with('\n'))
    {
        let hint = "remove the `- `, and unindent the lines below it; separate several jobs by a line `---`";
        return no_job("the TrainingJob is an item of a list", first, hint);
    }
    let keys = top_keys(text);
    if let Some(fields) = keys.as_ref().filter(|keys| are_spec_fields(keys)) {
        let content = if fields.len() == 1 { "a field" } else { "fields" };
        let indented = text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
        return no_job(
            &format!("the input is not a TrainingJob: it has only {content} of `spec`"),
            first,
            "indent them below `spec:`, and add `apiVersion`, `kind` and `metadata` before it",
        )
        .fix(whole, format!("{HEADER}{}", indented.collect::<String>()));
    }
    let kinds = kinds(text, whole);
    match kinds.as_slice() {
        [] if keys.as_ref().is_some_and(|keys| keys.contains(&"spec")) => no_job(
            message,
            first,
            "start it with `apiVersion: khorovod.dev/v1alpha1` and `kind: TrainingJob`; to merge it over a spec, use `--overlay`; to use it as values of a Helm chart, run `helm template CHART -f values.yaml | khorovod post-render`",
        ),
        [] => match other_tool(text, keys.as_deref().unwrap_or_default()) {
            Some((tool, hint)) => {
                no_job(&format!("this looks like a file of {tool}, and there is no TrainingJob in it"), first, hint)
            }
            None => no_job(message, first, start),
        },
        // A TrainingJob with another API group, such as that of the Kubeflow Training Operator.
        [(kind, place), ..] if *kind == job::KIND => no_job(
            "this TrainingJob does not have khorovod's `apiVersion`",
            *place,
            "set `apiVersion: khorovod.dev/v1alpha1`",
        ),
        [(kind, place), rest @ ..] => {
            let message = match rest.len() {
                0 => format!("this is `kind: {kind}`, but khorovod needs `kind: TrainingJob`"),
                more => format!("none of the {} documents is a TrainingJob; the first is `kind: {kind}`", more + 1),
            };
            let hint = if text.contains(RENDERED) {
                "khorovod rendered these objects: give the spec that they were rendered from"
            } else if kind.starts_with("Ray") {
                "Ray starts the ranks in a cluster of its own: put the training function into a program that torchrun can start, and create a TrainingJob with `khorovod init`; image, GPUs and the number of workers are in `workerGroupSpecs`"
            } else if TRAINERS.contains(kind) {
                "create a TrainingJob with `khorovod init`, and copy image, command and workers; the page \"Frequently asked questions\" of the documentation describes the other fields"
            } else {
                "apply it with `kubectl apply`; to train, create a TrainingJob with `khorovod init`; the page \"Frequently asked questions\" of the documentation describes which fields to copy"
            };
            no_job(&message, *place, hint)
        }
    }
}

/// The span of the first line of a part of a text.
pub fn first_line(text: &str, part: Span) -> Span {
    let line = text[part.start..part.end].lines().next().map_or(0, str::len);
    Span { end: part.start + line, ..part }
}

/// The top-level keys of a text in block style. `None` if a line in the first column is not a key.
fn top_keys(text: &str) -> Option<Vec<&str>> {
    let is_top_level = |line: &&str| !line.trim().is_empty() && !line.starts_with([' ', '#', '-']);
    let keys: Option<Vec<&str>> = text.lines().filter(is_top_level).map(|line| Some(line.split_once(':')?.0)).collect();
    keys.filter(|keys| !keys.is_empty())
}

/// Whether all keys are fields of `spec`, and one of them is a field that every spec has.
fn are_spec_fields(keys: &[&str]) -> bool {
    let mut known = Vec::new();
    job::fields(&mut |path, key| {
        if path == "spec" {
            known.push(key);
        }
    });
    keys.iter().all(|key| known.contains(key)) && ["image", "workers"].iter().any(|key| keys.contains(key))
}

/// The name of another tool whose file a text may be, and how its fields are written in a TrainingJob.
fn other_tool(text: &str, keys: &[&str]) -> Option<(&'static str, &'static str)> {
    let has = |key: &str| keys.contains(&key);
    if has("run") && ["num_nodes", "resources", "setup"].iter().any(|key| has(key)) {
        return Some((
            "SkyPilot",
            "create a TrainingJob with `khorovod init`: `run` is `command`, without the launcher and its options; `num_nodes` is `workers.replicas`; `resources: {accelerators: H100:8}` is `workers.gpus: 8`; `envs` is `env`; `file_mounts` are entries of `storage`; what `setup` installs belongs in the image",
        ));
    }
    let is_torchx = |line: &str| {
        let code = ["import torchx", "from torchx"].iter().any(|start| line.starts_with(start));
        code || ["[torchx:", "[component:", "[cli:run]"].iter().any(|start| line.starts_with(start))
    };
    text.lines().any(is_torchx).then_some((
        "torchx",
        "create a TrainingJob with `khorovod init`: `torchx run dist.ddp -j 2x8 --script train.py` is `workers: {replicas: 2, gpus: 8}`, `launcher: torchrun` and `command: [python, train.py]`",
    ))
}

/// The kinds of the documents that have one, and their spans.
pub fn kinds(text: &str, whole: Span) -> Vec<(&str, Span)> {
    let kind = |body: Range<usize>| {
        let mut at = body.start;
        text[body].split_inclusive('\n').find_map(|line| {
            let start = at;
            at += line.len();
            let value = line.strip_prefix("kind:")?.split(" #").next()?.trim().trim_matches(['"', '\'']);
            let is_kind =
                !value.is_empty() && value.len() <= 64 && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
            is_kind.then_some((value, Span { start, end: start + line.trim_end().len(), ..whole }))
        })
    };
    yaml::pieces(text).into_iter().map(|piece| piece.body).filter_map(kind).collect()
}
