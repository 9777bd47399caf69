//! Converts YAML to JSON, for programs that cannot read YAML. See [`documents`] and [`jobs`].

use serde_json::Value as Json;

use super::recognise::{self, Expected, Found};
use crate::api::Text;
use crate::problem::{Problem, Problems, Severity, Span};
use crate::{job, yaml};

/// Returns every document of a YAML stream as a JSON value, in the order of the stream, without empty documents. Returns the
/// problems of a stream that is not valid YAML, or that YAML parsers read differently.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Text, documents};
///
/// let text = Text { name: "objects.yaml".to_owned(), text: "---\na: 1\n---\nb: [c, \"2\"]\n".to_owned() };
/// let values = documents(&text).unwrap();
/// assert_eq!(serde_json::json!(values).to_string(), r#"[{"a":1},{"b":["c","2"]}]"#);
///
/// let text = Text { name: "objects.yaml".to_owned(), text: "a: on\n".to_owned() };
/// assert_eq!(documents(&text).unwrap_err().list[0].code.name, "yaml-ambiguous");
/// ```
pub fn documents(text: &Text) -> Result<Vec<Json>, Problems> {
    convert(text, |body, span, problems| yaml::parse(body, span, problems).ok().flatten())
}

/// Returns every TrainingJob of a YAML stream as a JSON value, without the other documents. The fields are not checked. Returns
/// the problems of a job that is not valid YAML, or that YAML parsers read differently.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Text, jobs};
///
/// let text = "kind: ConfigMap\napiVersion: v1\n---\nkind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\nspec: {image: a}\n";
/// let jobs = jobs(&Text { name: "job.yaml".to_owned(), text: text.to_owned() }).unwrap();
/// assert_eq!(jobs.len(), 1);
/// assert_eq!(jobs[0]["spec"]["image"], "a");
/// ```
pub fn jobs(text: &Text) -> Result<Vec<Json>, Problems> {
    let mut seen = 0;
    convert(text, |body, span, problems| match recognise::find(body, span, Expected::Jobs, problems, &mut seen) {
        Found::Job(document) => Some(document),
        Found::Invalid | Found::Other => None,
    })
}

/// Converts the documents that `find` returns, or returns the problems that it adds.
fn convert(
    text: &Text,
    mut find: impl FnMut(&str, Span, &mut Vec<Problem>) -> Option<yaml::Node>,
) -> Result<Vec<Json>, Problems> {
    let mut problems = Problems::default();
    let source = problems.sources.add(&text.name, text.text.clone());
    let mut values = Vec::new();
    for yaml::Piece { body, .. } in yaml::pieces(&text.text) {
        let span = Span { source, start: body.start, end: body.end };
        if let Some(document) = find(&text.text[body], span, &mut problems.list) {
            job::refuse_ambiguous(&document, "", &mut problems.list);
            values.push(document.to_json());
        }
    }
    problems.list.retain(|problem| problem.severity == Severity::Error);
    if problems.list.is_empty() { Ok(values) } else { Err(problems) }
}
