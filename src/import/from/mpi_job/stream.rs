//! Finds the MPIJob in a file of several documents.

use crate::codes::BAD_VALUE;
use crate::context::text;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::yaml::{self, Entry, Kind, Node};

/// The key below which [`stream`] adds the other documents of the file to the MPIJob.
pub const BESIDE: &str = "beside";

/// Returns the MPIJob of a file, with the other documents of the file below the key [`BESIDE`].
pub fn stream(body: &str, span: Span, problems: &mut Vec<Problem>) -> Option<Node> {
    let (mut job, mut others) = (None, Vec::new());
    let before = problems.len();
    for piece in yaml::pieces(body) {
        let (start, end) = (piece.body.start, piece.body.end);
        let Ok(Some(node)) = yaml::parse(&body[start..end], Span { start, end, ..span }, problems) else { continue };
        for node in listed(node) {
            let kind = node.get("kind").and_then(text).unwrap_or_default();
            if kind != "MPIJob" {
                let name = node.get("metadata").and_then(|node| node.get("name")).and_then(text).unwrap_or_default();
                others.push(Entry { key: format!("{kind}/{name}"), key_span: node.span, value: node });
            } else if job.is_none() {
                job = Some(node);
            } else {
                let problem = Problem::new(&BAD_VALUE, node.span, "there are several MPIJobs");
                problems.push(problem.hint("import them one at a time"));
            }
        }
    }
    if job.is_none() && problems.len() > before {
        return None;
    }
    let Some(mut job) = job else {
        let first = Span { end: span.start, ..span };
        let problem = Problem::new(&BAD_VALUE, first, "there is no MPIJob in it");
        problems.push(
            problem.hint("import the file with `kind: MPIJob`, or the output of `kubectl get mpijob NAME -o yaml`"),
        );
        return None;
    };
    if let (Kind::Map(fields), false) = (&mut job.kind, others.is_empty()) {
        let value = Node { span: others[0].value.span, kind: Kind::Map(others) };
        fields.push(Entry { key: BESIDE.to_owned(), key_span: value.span, value });
    }
    Some(job)
}

/// Returns the items of a `List`, which is how kubectl writes several objects, or the object itself.
fn listed(mut node: Node) -> Vec<Node> {
    let is_list = node.get("kind").and_then(text).is_some_and(|kind| kind.ends_with("List"));
    if let (true, Kind::Map(fields)) = (is_list, &mut node.kind)
        && let Some(at) = fields.iter().position(|entry| entry.key == "items")
        && let Kind::List(items) = fields.swap_remove(at).value.kind
    {
        return items;
    }
    vec![node]
}
