//! What to say of a text in which there is no job: what it is instead, and how one comes of it.
//!
//! Nothing of it is parsed: it may be of anybody, in any language.

use std::ops::Range;

use crate::job;
use crate::problem::{Problem, Span, codes};
use crate::yaml;

codes! {
    /// There is no TrainingJob in the input
    ///
    /// khorovod looks for documents with `apiVersion: khorovod.dev/v1alpha1` and
    /// `kind: TrainingJob`. `khorovod init` writes one to start from, and `khorovod import` makes one of files of
    /// other systems.
    Error NO_JOB = "no-training-job";
}

/// Kinds by which operators train: what they say is said again in a TrainingJob.
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
/// What every object that khorovod renders carries.
pub const RENDERED: &str = "khorovod.dev/job:";
/// What stands around the fields of a spec.
const FRAME: &str = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata:\n  name: mnist\nspec:\n";

/// Says it. `whole` is the text's place; `awaited` is a standard input that nobody filled, with overlays or without.
pub fn problem(text: &str, whole: Span, awaited: Option<bool>) -> Problem {
    let says = |message: &str, span: Span, hint: &str| Problem::new(&NO_JOB, span, message).hint(hint);
    let first = first_line(text, whole);
    if let Some(overlaid) = awaited {
        let hint = if overlaid {
            "`-f` names what is laid over a spec; the spec goes without it: `khorovod plan job.yaml -f prod.yaml`"
        } else {
            "name a file, as in `khorovod plan job.yaml`; without one, what is piped in is read"
        };
        return says("the input is empty", first, hint);
    }
    let (none, start) = (
        "there is no TrainingJob in the input",
        "start a document with `apiVersion: khorovod.dev/v1alpha1` and `kind: TrainingJob`, or let `khorovod init` write one",
    );
    if text.trim().is_empty() {
        return says("the input is empty", first, start);
    }
    let keys = top_keys(text);
    if let Some(fields) = keys.as_ref().filter(|keys| are_of_spec(keys)) {
        let subject = if fields.len() == 1 { "a field of a spec alone makes" } else { "fields of a spec alone make" };
        let indented = text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") });
        return says(
            &format!("{subject} no TrainingJob"),
            first,
            "write them below `spec:`, and before it `apiVersion`, `kind` and `metadata`",
        )
        .fix(whole, format!("{FRAME}{}", indented.collect::<String>()));
    }
    let kinds = kinds(text, whole);
    match kinds.as_slice() {
        [] if keys.is_some_and(|keys| keys.contains(&"spec")) => says(
            none,
            first,
            "start it with `apiVersion: khorovod.dev/v1alpha1` and `kind: TrainingJob`; values of a chart go through Helm: `helm template CHART -f values.yaml | khorovod post-render`",
        ),
        [] => says(none, first, start),
        // Of another group: what is missing is not the kind.
        [(kind, place), ..] if *kind == job::KIND => says(
            "a TrainingJob, but not one of khorovod's",
            *place,
            "beside it write `apiVersion: khorovod.dev/v1alpha1`",
        ),
        [(kind, place), rest @ ..] => {
            let message = match rest.len() {
                0 => format!("this is `kind: {kind}`, and khorovod takes `kind: TrainingJob`"),
                more => format!("{} documents from `kind: {kind}` on, and none is a TrainingJob", more + 1),
            };
            let hint = if text.contains(RENDERED) {
                "these are objects that khorovod made: name the spec they came from"
            } else if TRAINERS.contains(kind) {
                "let `khorovod init` write a TrainingJob, and carry over image, command and workers; docs/faq.md says what becomes of the rest"
            } else {
                "`kubectl apply` takes it as it is; to train, let `khorovod init` write a TrainingJob, and docs/faq.md says what carries over"
            };
            says(&message, *place, hint)
        }
    }
}

/// The first line of a part of a text.
pub fn first_line(text: &str, part: Span) -> Span {
    let line = text[part.start..part.end].lines().next().map_or(0, str::len);
    Span { end: part.start + line, ..part }
}

/// The keys in the first column of a text that has nothing else there; none of any other text.
fn top_keys(text: &str) -> Option<Vec<&str>> {
    let says = |line: &&str| !line.trim().is_empty() && !line.starts_with([' ', '#', '-']);
    let keys: Option<Vec<&str>> = text.lines().filter(says).map(|line| Some(line.split_once(':')?.0)).collect();
    keys.filter(|keys| !keys.is_empty())
}

/// Whether they are fields of a spec, and one of those that every spec has is among them.
fn are_of_spec(keys: &[&str]) -> bool {
    let mut known = Vec::new();
    job::fields(&mut |path, key| {
        if path == "spec" {
            known.push(key);
        }
    });
    keys.iter().all(|key| known.contains(key)) && ["image", "workers"].iter().any(|key| keys.contains(key))
}

/// The kinds of the documents that say one, and where.
pub fn kinds(text: &str, whole: Span) -> Vec<(&str, Span)> {
    let kind = |body: Range<usize>| {
        let mut at = body.start;
        text[body].split_inclusive('\n').find_map(|line| {
            let start = at;
            at += line.len();
            let value = line.strip_prefix("kind:")?.split(" #").next()?.trim().trim_matches(['"', '\'']);
            let word = !value.is_empty() && value.len() <= 64 && value.bytes().all(|byte| byte.is_ascii_alphanumeric());
            word.then_some((value, Span { start, end: start + line.trim_end().len(), ..whole }))
        })
    };
    yaml::pieces(text).into_iter().map(|piece| piece.body).filter_map(kind).collect()
}
