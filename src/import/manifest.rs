//! Reads manifests of Kubernetes objects: finds the job in a file of several documents, and imports its metadata.

pub mod run_policy;

use crate::codes::BAD_VALUE;
use crate::context::{Context, given, text};
use crate::field::{self, Field, set};
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::yaml::{self, Entry, Kind, Node};
use serde_json::Value as Json;

/// The key of the other documents in the tree that [`stream`] returns.
pub const OTHER_DOCUMENTS: &str = "beside";

/// Returns the object of a kind in a file, with the other documents of the file below the key [`OTHER_DOCUMENTS`].
pub fn stream(body: &str, span: Span, kind: &str, problems: &mut Vec<Problem>) -> Option<Node> {
    let (mut job, mut others) = (None, Vec::new());
    let before = problems.len();
    for piece in yaml::pieces(body) {
        let (start, end) = (piece.body.start, piece.body.end);
        let Ok(Some(node)) = yaml::parse(&body[start..end], Span { start, end, ..span }, problems) else { continue };
        for node in listed(node) {
            let found = node.get("kind").and_then(text).unwrap_or_default();
            if found != kind {
                let name = node.get("metadata").and_then(|node| node.get("name")).and_then(text).unwrap_or_default();
                others.push(Entry { key: format!("{found}/{name}"), key_span: node.span, value: node });
            } else if job.is_none() {
                job = Some(node);
            } else {
                let problem = Problem::new(&BAD_VALUE, node.span, format!("there are several {kind}s"));
                problems.push(problem.hint("import them one at a time"));
            }
        }
    }
    if job.is_none() && problems.len() > before {
        return None;
    }
    let Some(mut job) = job else {
        let first = Span { end: span.start, ..span };
        let problem = Problem::new(&BAD_VALUE, first, format!("there is no {kind} in it"));
        let name = kind.to_ascii_lowercase();
        let hint = format!("import the file with `kind: {kind}`, or the output of `kubectl get {name} NAME -o yaml`");
        problems.push(problem.hint(hint));
        return None;
    };
    if let (Kind::Map(fields), false) = (&mut job.kind, others.is_empty()) {
        let value = Node { span: others[0].value.span, kind: Kind::Map(others) };
        fields.push(Entry { key: OTHER_DOCUMENTS.to_owned(), key_span: value.span, value });
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

/// Records the outcomes of `apiVersion` and `kind`.
pub fn kind(job: &Node, context: &mut Context<'_>) {
    for key in ["apiVersion", "kind"] {
        if let Some(node) = job.get(key) {
            context.changed(node, "apiVersion kind", "those of a TrainingJob");
        }
    }
}

/// Records the outcomes of the status of a job, and of the other documents in its file.
pub fn rest(job: &Node, context: &mut Context<'_>) {
    if let Some(node) = job.get(OTHER_DOCUMENTS) {
        let name = job.get("kind").and_then(text).unwrap_or_default();
        context.lose(node, &format!("it is not part of the {name}; apply it as before"));
    }
    if let Some(node) = job.get("status") {
        context.needless(node, "the operator wrote it");
    }
}

/// Imports the metadata of an object. `default` is the name of a job without one.
pub fn metadata(node: Option<&Node>, default: &str, context: &mut Context<'_>) {
    let get = |key: &str| node.and_then(|node| node.get(key));
    let name = given(get("name")).or(given(get("generateName"))).map(|(node, _)| node);
    let wanted = name.and_then(text).unwrap_or_else(|| default.to_owned());
    let (verdict, how) = context.rename(wanted.trim_end_matches('-'), "metadata.name");
    if let Some(name) = name {
        context.outcomes.settle(name, verdict, field::METADATA_NAME, how);
    }
    if let Some((node, value)) = given(get("namespace")) {
        match &context.options.namespace {
            Some(_) => context.changed(node, field::METADATA_NAMESPACE, "`--namespace` replaces it"),
            None => context.keep(node, set::METADATA_NAMESPACE, value),
        }
    }
    for entry in get("labels").map_or(&[][..], Node::entries) {
        let Some(value) = context.text(&entry.value) else { continue };
        if entry.key == "kueue.x-k8s.io/queue-name" {
            context.keep(&entry.value, set::SCHEDULING_LOCAL_QUEUE, value);
        } else if entry.key == "kueue.x-k8s.io/priority-class" {
            context.keep(&entry.value, set::SCHEDULING_WORKLOAD_PRIORITY_CLASS_NAME, value);
        } else {
            own_key(context, entry, set::METADATA_LABELS, value);
        }
    }
    for entry in get("annotations").map_or(&[][..], Node::entries) {
        let Some(value) = context.text(&entry.value) else { continue };
        match entry.key.as_str() {
            "kubectl.kubernetes.io/last-applied-configuration" => context.needless(&entry.value, "kubectl wrote it"),
            _ => own_key(context, entry, set::METADATA_ANNOTATIONS, value),
        }
    }
    if let Some(node) = node {
        context.needless(node, "Kubernetes wrote it");
    }
}

/// The note for a label that khorovod writes itself.
pub const OWN: &str = "khorovod writes this key itself";

/// Whether khorovod writes a label or an annotation with this key.
pub fn is_own(key: &str) -> bool {
    let own = ["app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/managed-by"];
    own.contains(&key) || key.starts_with("khorovod.dev/")
}

/// Imports a label or an annotation, unless khorovod writes that key itself.
fn own_key(context: &mut Context<'_>, entry: &Entry, to: Field<Json>, value: String) {
    if is_own(&entry.key) {
        return context.lose(&entry.value, OWN);
    }
    context.spec.put_key(to, &entry.key, value, "");
    context.kept(&entry.value, to.path);
}
