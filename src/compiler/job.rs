//! Document → [`RawSpec`](raw) (what a person may write) → [`Spec`] (what holds), or every
//! problem at once.

mod elsewhere;
pub mod field;
mod insert;
mod kube_version;
pub mod limits;
mod lower;
pub mod quantity;
mod raw;
mod rules;
mod scalars;
mod shapes;
mod texts;
pub mod valid;
pub mod wording;

use serde_json::{Value as Json, json};

use crate::problem::{Code, Problem, Severity, Span};
use crate::yaml::Node;
use field::{Field, Reader};

pub use insert::Texts;
pub use kube_version::{KubeVersion, NotAKubeVersion};
pub use rules::{looks_secret, owns_variable, reserved};
pub use valid::{Spec, Target, UnknownTarget};

/// The kind of our documents.
pub const KIND: &str = "TrainingJob";

/// Reads a document, pushing everything wrong with it. None where something is.
pub fn read(
    document: &Node,
    texts: &dyn Texts,
    kube_version: KubeVersion,
    target: Target,
    problems: &mut Vec<Problem>,
) -> Option<Spec> {
    let before = problems.len();
    let job = raw::TrainingJob::read(document, &mut Reader::new(texts, problems))?;
    let misshapen: Vec<Span> =
        problems[before..].iter().filter_map(|problem| Some(problem.labels.first()?.span)).collect();
    let spec = lower::lower(&job, target);
    let none = raw::Body::default();
    let body = job.spec.as_ref().map_or(&none, |at| &at.value);
    let top = document.entry("kind").map_or(document.span, |entry| entry.key_span);
    let case = rules::Case { document, texts, misshapen: &misshapen, job: &job, body, spec: &spec, kube_version, top };
    rules::check(&case, problems);
    let sound = problems[before..].iter().all(|problem| problem.severity < Severity::Error);
    sound.then_some(spec)
}

/// Every code of the reader and the rules.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    field::CODES.iter().copied().chain(rules::codes())
}

/// Names the fields of a document in order, not too deep: the path of what holds each, and its key.
pub fn fields(each: &mut dyn FnMut(&str, &'static str)) {
    raw::TrainingJob::fields("", 0, &mut |_, path, key| each(path, key));
}

/// The JSON Schema of a document.
pub fn schema() -> Json {
    let mut defs = field::Defs::new();
    let top = raw::TrainingJob::schema(&mut defs);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://khorovod.dev/schema/training-job.v1alpha1.schema.json",
        "title": "TrainingJob",
        "description": "One training job for khorovod.",
    });
    schema["$ref"] = top["$ref"].clone();
    schema["$defs"] = Json::Object(defs);
    schema
}
