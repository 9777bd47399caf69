//! What every importer works at: the draft of the new spec, the ledger of the old file's fields, and the Secrets that
//! came out of it.

use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::ledger::{Ledger, Row, Verdict};
use super::{BAD_VALUE, Options, System};
use khorovod_compiler::Text;
use khorovod_compiler::job;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::yaml::writer::to_yaml;
use khorovod_compiler::yaml::{self, Kind, Node, Scalar, Trap};

/// What a field is said to be that nobody knew what to do with.
const UNKNOWN: &str = "not known here: if yours reads it, say it in the spec by hand";

pub struct Desk<'o> {
    pub draft: Draft,
    pub ledger: Ledger,
    pub options: &'o Options,
    pub problems: Vec<Problem>,
    /// All of the old file.
    pub whole: Span,
    /// The launch line that was given beside the file.
    pub typed: Option<(String, Span)>,
    /// Name, keys and values.
    secrets: Vec<(String, Map<String, Json>)>,
}

impl<'o> Desk<'o> {
    pub fn new(options: &'o Options) -> Self {
        let (draft, ledger) = (Draft::new(), Ledger::default());
        Self { draft, ledger, options, problems: Vec::new(), whole: Span::default(), typed: None, secrets: Vec::new() }
    }

    /// A value that goes into the new spec as it is.
    pub fn keep(&mut self, node: &Node, to: &str, value: impl Into<Json>) {
        let from = self.ledger.path(node).to_owned();
        self.draft.put(to, value, &from);
        self.ledger.settle(node, Verdict::Kept, to, "");
    }

    /// The first step of a value's path; of an object's spec all of it, as `spec` says nothing.
    pub fn head(&self, node: &Node) -> String {
        let path = self.ledger.path(node);
        if path.starts_with("spec.") { path } else { path.split(['.', '[']).next().unwrap_or_default() }.to_owned()
    }

    /// A value that khorovod has by default or does anyway.
    pub fn needless(&mut self, node: &Node, why: &str) {
        self.ledger.settle(node, Verdict::Kept, "", why);
    }

    /// A value whose purpose is served in another way.
    pub fn replaced(&mut self, node: &Node, how: &str) {
        self.ledger.settle(node, Verdict::Changed, "", how);
    }

    /// A value that has no place in the new spec: why, and what to do.
    pub fn lose(&mut self, node: &Node, why: &str) {
        self.ledger.settle(node, Verdict::Lost, "", why);
    }

    /// What the old system did by default and khorovod would not.
    pub fn default(&mut self, to: &str, value: impl Into<Json>, why: &str) {
        self.draft.put(to, value, why);
    }

    /// What a setting needs of the security profile.
    pub fn profile(&mut self, profile: &str, why: &str) {
        let before = self.draft.get("spec.security.profile").and_then(Json::as_str);
        if before != Some("privileged") {
            self.draft.put("spec.security.profile", profile, why);
        }
    }

    /// Refuses a value that the old system would not take.
    pub fn refuse(&mut self, node: &Node, wanted: &str) {
        let message = format!("`{}` should be {wanted}, not {}", self.ledger.path(node), node.describe());
        self.problems.push(Problem::new(&BAD_VALUE, node.span, message).hint(format!("give it {wanted}")));
    }

    /// Says that the old file lacks something that has no default.
    pub fn missing(&mut self, what: &str, why: &str) {
        let problem = Problem::new(&BAD_VALUE, self.whole, format!("there is no `{what}` in the file"));
        self.problems.push(problem.hint(why));
    }

    /// A whole number.
    pub fn count(&mut self, node: &Node) -> Option<u32> {
        let number = text(node).and_then(|text| text.trim().parse().ok());
        if number.is_none() {
            self.refuse(node, "a whole number");
        }
        number
    }

    /// The scalar under a key.
    pub fn text(&mut self, node: &Node) -> Option<String> {
        let text = text(node);
        if text.is_none() {
            self.refuse(node, "a single value");
        }
        text
    }

    /// Whether a value means yes.
    pub fn yes(&mut self, node: &Node) -> bool {
        match node.scalar() {
            Some(Scalar::Bool(yes) | Scalar::Trap(Trap::Word(yes))) => yes,
            Some(Scalar::Text(text)) => matches!(text.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1"),
            Some(Scalar::Int(number)) => number != 0,
            Some(Scalar::Null) => false,
            _ => {
                self.refuse(node, "true or false");
                false
            }
        }
    }

    /// A variable for every rank; one that looks like a secret moves to a Secret, and whether it did.
    pub fn env(&mut self, name: &str, value: &str, from: &str) -> bool {
        if !job::looks_secret(name, value) {
            self.draft.put_key("spec.env", name, value, from);
            return false;
        }
        let secret = format!("{}-env", self.job());
        self.secret(&secret, name, value);
        self.draft.put_key("spec.env", name, json!({"secret": secret, "key": name}), from);
        true
    }

    /// A value that belongs in a Secret.
    pub fn secret(&mut self, name: &str, key: &str, value: &str) {
        match self.secrets.iter_mut().find(|(other, _)| other == name) {
            Some((_, entries)) => {
                entries.insert(key.to_owned(), value.into());
            }
            None => self.secrets.push((name.to_owned(), Map::from_iter([(key.to_owned(), value.into())]))),
        }
    }

    /// Names the job, in the form Kubernetes takes; whether that is the name it was given.
    pub fn name(&mut self, name: &str, from: &str) -> bool {
        let given = self.options.name.as_deref().unwrap_or(name);
        let fitting = label(given);
        self.draft.put("metadata.name", &*fitting, if self.options.name.is_some() { "" } else { from });
        if let Some(namespace) = &self.options.namespace {
            self.draft.put("metadata.namespace", namespace.as_str(), "");
        }
        fitting == given
    }

    /// The same; what became of the name.
    pub fn rename(&mut self, given: &str, from: &str) -> (Verdict, &'static str) {
        match self.name(given, from) {
            true => (Verdict::Kept, ""),
            false => (Verdict::Changed, "in the form Kubernetes takes, or as asked"),
        }
    }

    /// Names the job by a field of the old file; `default` is for where there is none.
    pub fn named(&mut self, node: Option<&Node>, default: &str) {
        let given = node.and_then(text).unwrap_or_else(|| default.to_owned());
        let (verdict, how) = self.rename(&given, "name");
        if let Some(node) = node {
            self.ledger.settle(node, verdict, "metadata.name", how);
        }
    }

    /// The job's name.
    pub fn job(&self) -> String {
        self.draft.get("metadata.name").and_then(Json::as_str).unwrap_or("job").to_owned()
    }

    /// The image's name, unless another was asked for.
    pub fn image(&mut self, name: &str, from: &str) {
        match &self.options.image {
            Some(other) => self.draft.put("spec.image.name", other.as_str(), ""),
            None => self.draft.put("spec.image.name", name, from),
        }
    }

    /// The job, the Secrets, and what became of every field.
    pub fn close(mut self, system: System, texts: &[Text]) -> (String, String, Vec<Row>) {
        self.draft.shorten_image();
        let files: Vec<&str> = texts.iter().map(|text| text.name.as_str()).collect();
        let clean: String = files.join(", ").chars().filter(|c| !yaml::ends_line(*c)).collect();
        let head = [format!("From {} ({clean}), by khorovod import.", system.name())];
        let secrets = self.secrets.iter().map(|(name, data)| self.document(name, data)).collect();
        (self.draft.text(&head), secrets, self.ledger.close(UNKNOWN))
    }

    fn document(&self, name: &str, data: &Map<String, Json>) -> String {
        let mut metadata = json!({"name": name});
        if let Some(namespace) = self.draft.get("metadata.namespace") {
            metadata["namespace"] = namespace.clone();
        }
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": data});
        let mut text = "---\n# Written in plain in the old file: keep it out of version control.\n".to_owned();
        to_yaml(&secret, &mut text);
        text
    }
}

/// A scalar as it was written.
pub fn text(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Scalar { text, .. } if !matches!(node.scalar(), Some(Scalar::Null)) => Some(text.clone()),
        _ => None,
    }
}

/// The entries of a map; none where it is something else.
pub fn entries(node: &Node) -> &[khorovod_compiler::yaml::Entry] {
    match &node.kind {
        Kind::Map(entries) => entries,
        _ => &[],
    }
}

/// The items of a list; none where it is something else.
pub fn items(node: &Node) -> &[Node] {
    match &node.kind {
        Kind::List(items) => items,
        _ => &[],
    }
}

/// A name that Kubernetes takes for pods and volumes, as near as can be.
pub fn label(name: &str) -> String {
    let lower = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let mut label = String::new();
    for c in lower {
        // No dash twice, nor a digit first.
        let starts = !label.is_empty() || c.is_ascii_lowercase();
        if starts && !(c == '-' && label.ends_with('-')) && label.len() < 36 {
            label.push(c);
        }
    }
    let label = label.trim_end_matches('-');
    if label.is_empty() { "job".to_owned() } else { label.to_owned() }
}
