//! Decides whether the rendered objects contain the document of their job in an annotation. If the document contains a
//! secret or is too large, the annotation is left out.

use serde_json::{Map, Value as Json};

use crate::job::{Spec, looks_secret};
use crate::pipeline::recognise::FILE_NAME;
use crate::plan::Document;
use crate::yaml::{Kind, Node};

/// The largest document that is kept. Kubernetes allows 256 KiB for all annotations of an object, and `kubectl apply` stores
/// a copy of the object in a further annotation.
const LARGEST: usize = 64 << 10;

/// Returns the document of a job, after overlays and settings, as the rendered objects keep it. `spec` is the result of
/// reading the document. Annotations with which tools track a resource are left out.
pub fn stored_document(document: &Node, spec: &Spec) -> Document {
    if has_secret("", document) {
        return Document::Omitted("a value of the spec looks like a secret");
    }
    let mut json = document.to_exact_json();
    // Put the keys into a fixed order, so that the same job always has the same annotation.
    let mut in_order = Map::new();
    for key in ["apiVersion", "kind", "metadata", "spec"] {
        in_order.extend(json.get_mut(key).map(|value| (key.to_owned(), value.take())));
    }
    if let Some(Json::Object(metadata)) = in_order.get_mut("metadata")
        && let Some(Json::Object(annotations)) = metadata.get_mut("annotations")
    {
        annotations.retain(|key, _| !is_tracking(key) && spec.annotations.iter().any(|(known, _)| known == key));
        if annotations.is_empty() {
            metadata.shift_remove("annotations");
        }
    }
    let json = Json::Object(in_order).to_string();
    if json.len() > LARGEST { Document::Omitted("the spec is larger than 64 KiB") } else { Document::Kept(json) }
}

/// Prefixes of annotations with which Kustomize and kpt track a resource.
const TOOLS: &[&str] =
    &["config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/", "kustomize.config.k8s.io/"];

/// Whether Helm 4, Kustomize or kpt adds this annotation to track a resource, and later removes the annotation.
pub fn is_tracking(annotation: &str) -> bool {
    annotation == FILE_NAME || TOOLS.iter().any(|tool| annotation.starts_with(tool))
}

/// Whether a value, or a word in it, looks like a secret. A value also counts as a secret if `variable`, the name of
/// its variable, is a usual name for a secret.
fn has_secret(variable: &str, node: &Node) -> bool {
    match &node.kind {
        Kind::List(items) => items.iter().any(|item| has_secret("", item)),
        Kind::Map(entries) => entries.iter().any(|entry| match (entry.key.as_str(), &entry.value.kind) {
            ("env", Kind::Map(variables)) => variables.iter().any(|one| has_secret(&one.key, &one.value)),
            // The value of a variable may be a map that refers to a Secret. The texts in this map are names of objects and keys,
            // so they are checked without the name of the variable.
            _ => has_secret("", &entry.value),
        }),
        Kind::Scalar { text, .. } => {
            let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\''));
            looks_secret(variable, text) || words.any(|word| looks_secret("", word))
        }
    }
}
