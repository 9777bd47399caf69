//! Turns the YAML document of a job into a [`Spec`], or reports every problem of the document at once.
//!
//! There are three steps. First, the reader converts the document to the fields that [declare] declares. Then [resolve]
//! converts these fields to a `Spec`, in which every default is filled in. At the end, the [rules] check the fields and the
//! `Spec`.

pub(crate) mod declare;
pub mod expectations;
#[cfg(test)]
pub mod fixtures;
mod read;
mod resolve;
mod rules;
mod secrets;
pub mod types;
mod variables;

use serde_json::{Value as Json, json};

use crate::problem::{Explained, Problem, Severity, Span};
use crate::yaml::Node;
use declare::TrainingJob;
use read::suggestions::FieldIndex;
use read::{Field, Reader};

pub use declare::scalars::meant_quantity;
pub use read::edits::Texts;
pub use read::refuse_ambiguous;
pub use read::suggestions::{alternatives, nearest};
pub(crate) use rules::field;
pub use rules::{Case, POD_SECURITY_LEVEL, key, owns_variable, reserved, spares};
pub use secrets::{looks_secret, may_be_secret};
pub use types::spec::Spec;
pub use types::target::Facts;
pub use types::{KubeVersion, NotAKubeVersion, limits, parse_duration, quantity, spec as valid, target};

/// The `kind` of a document that describes a job.
pub const KIND: &str = "TrainingJob";

static INDEX: FieldIndex = FieldIndex::new(|each| TrainingJob::fields("", 0, each));

/// The version of Kubernetes and the target for which a document is read.
pub struct Purpose<'a> {
    /// The Kubernetes version the objects are for.
    pub kube_version: KubeVersion,
    /// The target that the job is rendered for.
    pub target: &'static Facts,
    /// Reports the fields that the target does not support.
    pub refuse: &'a dyn Fn(&Case<'_>, &mut Vec<Problem>),
}

/// Reads a document and pushes all of its problems. If one of these problems is an error, returns nothing.
pub fn read(document: &Node, texts: &dyn Texts, purpose: &Purpose<'_>, problems: &mut Vec<Problem>) -> Option<Spec> {
    let before = problems.len();
    let job = TrainingJob::read(document, &mut Reader::new(document, texts, &INDEX, problems))?;
    let misshapen: Vec<Span> =
        problems[before..].iter().filter_map(|problem| Some(problem.labels.first()?.span)).collect();
    let spec = resolve::resolve(&job, purpose.target, purpose.kube_version);
    let none;
    let body = match &job.spec {
        Some(at) => &*at.value,
        None => {
            none = declare::Body::default();
            &none
        }
    };
    let top = document.entry("kind").map_or(document.span, |entry| entry.key_span);
    let case = rules::Case {
        document,
        texts,
        misshapen: &misshapen,
        job: &job,
        body,
        spec: &spec,
        kube_version: purpose.kube_version,
        top,
    };
    rules::check(&case, problems);
    (purpose.refuse)(&case, problems);
    let sound = problems[before..].iter().all(|problem| problem.severity < Severity::Error);
    sound.then_some(spec)
}

/// Every code of the reader and the rules.
pub fn codes() -> impl Iterator<Item = &'static Explained> {
    read::CODES.iter().chain(secrets::CODES).chain(expectations::CODES).chain(rules::codes())
}

/// Calls `each` for every field of a document, in order, down to a limited depth. The arguments of `each` are the path of
/// the map that contains the field, and the key of the field.
pub fn fields(each: &mut dyn FnMut(&str, &'static str)) {
    TrainingJob::fields("", 0, &mut |field| each(field.parent, field.key));
}

/// The JSON Schema of a TrainingJob.
///
/// ```
/// let schema = khorovod_compiler::schema();
/// assert_eq!(schema["$defs"]["Workers"]["properties"]["gpus"]["default"], 0);
/// ```
pub fn schema() -> Json {
    schema_of::<TrainingJob>(
        concat!(env!("CARGO_PKG_HOMEPAGE"), "/schema/training-job.v1alpha1.schema.json"),
        KIND,
        "One training job for khorovod.",
    )
}

/// The JSON Schema of [expectations].
///
/// ```
/// let schema = khorovod_compiler::expectations_schema();
/// assert_eq!(schema["$defs"]["Expectations"]["properties"]["kind"]["enum"][0], "Expectations");
/// ```
pub fn expectations_schema() -> Json {
    schema_of::<expectations::Expectations>(
        concat!(env!("CARGO_PKG_HOMEPAGE"), "/schema/expectations.v1alpha1.schema.json"),
        "Expectations",
        "Limits that jobs must meet, for the option --expect of khorovod.",
    )
}

fn schema_of<T: Field>(id: &str, title: &str, description: &str) -> Json {
    let mut defs = read::Defs::new();
    let top = T::schema(&mut defs);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": id,
        "title": title,
        "description": description,
    });
    schema["$ref"] = top["$ref"].clone();
    schema["$defs"] = Json::Object(defs);
    schema
}
