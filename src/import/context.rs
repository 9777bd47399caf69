//! The state of an import: the new spec, the outcome of each field of the old file, and the Secrets found in it.

use crate::field::{self, Field, set};
use serde_json::{Map, Value as Json, json};

use crate::api::{Options, System};
use crate::checks;
use crate::codes::BAD_VALUE;
use crate::field_outcomes::{FieldOutcomes, Row, Verdict};
use crate::spec_builder::SpecBuilder;
use khorovod_compiler::Text;
use khorovod_compiler::job;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::yaml::writer::to_yaml;
use khorovod_compiler::yaml::{self, Node, Scalar, Trap};

/// The note for an unknown field.
const UNKNOWN: &str = "unknown field: if your job needs it, write its effect into the spec";

/// Fields that importers leave out of the new spec if the value is khorovod's default.
const DEFAULTS: &[&str] = &[field::WORKERS_SLOTS_PER_WORKER, field::LIFECYCLE_RETRIES];

pub struct Context<'o> {
    pub spec: SpecBuilder,
    pub outcomes: FieldOutcomes,
    pub options: &'o Options,
    pub problems: Vec<Problem>,
    /// The span of the whole old file.
    pub whole: Span,
    /// The name of the old file. Empty if it is standard input.
    pub file: &'o str,
    /// The launch line that the user passed with `--command`, with its span.
    pub typed: Option<(String, Span)>,
    /// Secrets to create: the name, and the keys with their values.
    secrets: Vec<(String, Map<String, Json>)>,
}

impl<'o> Context<'o> {
    pub fn new(options: &'o Options, texts: &'o [Text]) -> Self {
        // The name of standard input is `<stdin>`.
        let file = texts.first().map_or("", |text| text.name.as_str());
        Self {
            spec: SpecBuilder::new(),
            outcomes: FieldOutcomes::default(),
            options,
            problems: Vec::new(),
            whole: Span::default(),
            file: if file.starts_with('<') { "" } else { file },
            typed: None,
            secrets: Vec::new(),
        }
    }

    /// Copies a value into the new spec unchanged.
    pub fn keep<T: Into<Json>>(&mut self, node: &Node, to: Field<T>, value: impl Into<T>) {
        let from = self.outcomes.path(node).to_owned();
        self.spec.put(to, value, &from);
        self.outcomes.settle(node, Verdict::Kept, to.path, "");
    }

    /// Returns the first step of a value's path. For a path in a manifest, returns the whole path.
    pub fn head(&self, node: &Node) -> String {
        let path = self.outcomes.path(node);
        if ["spec.", "beside."].iter().any(|start| path.starts_with(start)) {
            path
        } else {
            path.split(['.', '[']).next().unwrap_or_default()
        }
        .to_owned()
    }

    /// Records that the new spec has the same value in the field `to`.
    pub fn kept(&mut self, node: &Node, to: &str) {
        self.outcomes.settle(node, Verdict::Kept, to, "");
    }

    /// Records that the field `to` expresses a value in another way.
    pub fn changed(&mut self, node: &Node, to: &str, how: &str) {
        self.outcomes.settle(node, Verdict::Changed, to, how);
    }

    /// Adds an outcome to the report that does not belong to a single value of the file.
    pub fn report(&mut self, path: impl Into<String>, span: Span, verdict: Verdict, to: &str, how: &str) {
        let row = self.outcomes.add(path, span);
        self.outcomes.settle_row(row, verdict, to, how);
    }

    /// Records that a value is not needed, because it is what khorovod does by default.
    pub fn needless(&mut self, node: &Node, why: &str) {
        self.outcomes.settle(node, Verdict::Dropped, "", why);
    }

    /// Records that a value is not needed, because khorovod has another way to do the same.
    pub fn replaced(&mut self, node: &Node, how: &str) {
        self.outcomes.settle(node, Verdict::Dropped, "", how);
    }

    /// Records that a value cannot be expressed in the new spec. `why` gives the reason, and what to do.
    pub fn lose(&mut self, node: &Node, why: &str) {
        self.outcomes.settle(node, Verdict::Lost, "", why);
    }

    /// Sets a field to a default of the old system that differs from khorovod's.
    pub fn default<T: Into<Json>>(&mut self, to: Field<T>, value: impl Into<T>, why: &str) {
        self.spec.put(to, value, why);
    }

    /// Sets the Pod Security level of the job, unless it is already `privileged`. `why` is the reason, for the comment
    /// in the spec.
    pub fn pod_security_level(&mut self, level: &str, why: &str) {
        let before = self.spec.get(field::SECURITY_POD_SECURITY_LEVEL).and_then(Json::as_str);
        if before != Some("privileged") {
            self.spec.put(set::SECURITY_POD_SECURITY_LEVEL, level, why);
        }
    }

    /// Pushes a problem for a value that the old system would refuse.
    pub fn refuse(&mut self, node: &Node, expected: &str) {
        let message = format!("`{}` should be {expected}, not {}", self.outcomes.path(node), node.describe());
        self.refuse_at(node.span, message, format!("write {expected}"));
    }

    /// Pushes a problem for text at `span` that the old system would refuse.
    pub fn refuse_at(&mut self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem::new(&BAD_VALUE, span, message).hint(hint));
    }

    /// Pushes a problem for a missing value that has no default.
    pub fn missing(&mut self, what: &str, why: &str) {
        self.refuse_at(self.whole, format!("there is no `{what}` in the file"), why);
    }

    /// Reads a whole number, which may also be written as `2.0`.
    pub fn count(&mut self, node: &Node) -> Option<u32> {
        let number = text(node).and_then(|text| {
            let (whole, rest) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
            whole.parse().ok().filter(|_| !rest.is_empty() && rest.chars().all(|digit| digit == '0'))
        });
        if number.is_none() {
            self.refuse(node, "a whole number");
        }
        number
    }

    /// Reads the scalar of a key.
    pub fn text(&mut self, node: &Node) -> Option<String> {
        let text = text(node);
        if text.is_none() {
            self.refuse(node, "a single value");
        }
        text
    }

    /// Whether a value is true.
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

    /// Sets an environment variable of all ranks. If the value looks like a secret, puts it into a Secret and returns
    /// true.
    pub fn env(&mut self, name: &str, value: &str, from: &str) -> bool {
        if !job::looks_secret(name, value) {
            self.spec.put_key(set::ENV, name, value, from);
            return false;
        }
        let secret = format!("{}-env", self.job());
        self.secret(&secret, name, value);
        self.spec.put_key(set::ENV, name, json!({"secretKeyRef": {"name": secret, "key": name}}), from);
        true
    }

    /// Adds a value to a Secret.
    pub fn secret(&mut self, name: &str, key: &str, value: &str) {
        match self.secrets.iter_mut().find(|(other, _)| other == name) {
            Some((_, entries)) => {
                entries.insert(key.to_owned(), value.into());
            }
            None => self.secrets.push((name.to_owned(), Map::from_iter([(key.to_owned(), value.into())]))),
        }
    }

    /// Sets the job's name in a form that Kubernetes accepts. Returns whether the name is unchanged.
    pub fn name(&mut self, name: &str, from: &str) -> bool {
        let given = self.options.name.as_deref().unwrap_or(name);
        let fitting = label(given);
        self.spec.put(set::METADATA_NAME, &*fitting, if self.options.name.is_some() { "" } else { from });
        if let Some(namespace) = &self.options.namespace {
            self.spec.put(set::METADATA_NAMESPACE, namespace.as_str(), "");
        }
        fitting == given
    }

    /// Like [`Self::name()`], but returns the outcome for the report.
    pub fn rename(&mut self, given: &str, from: &str) -> (Verdict, &'static str) {
        match self.name(given, from) {
            true => (Verdict::Kept, ""),
            false => (Verdict::Changed, "changed to a name that Kubernetes accepts, or to that of `--name`"),
        }
    }

    /// Sets the job's name from a field of the old file, or to `default` if there is no such field.
    pub fn named(&mut self, node: Option<&Node>, default: &str) {
        let given = node.and_then(text).unwrap_or_else(|| default.to_owned());
        let (verdict, how) = self.rename(&given, "name");
        if let Some(node) = node {
            self.outcomes.settle(node, verdict, field::METADATA_NAME, how);
        }
    }

    /// The job's name.
    pub fn job(&self) -> String {
        self.spec.get(field::METADATA_NAME).and_then(Json::as_str).unwrap_or("job").to_owned()
    }

    /// Sets the image, unless the command line names another.
    pub fn image(&mut self, name: &str, from: &str) {
        match &self.options.image {
            Some(other) => self.spec.put(set::IMAGE_NAME, other.as_str(), ""),
            None => self.spec.put(set::IMAGE_NAME, name, from),
        }
    }

    /// Returns the text of the job, the text of the Secrets, and the outcomes of all fields.
    pub fn close(mut self, system: System, texts: &[Text]) -> (String, String, Vec<Row>) {
        if self.spec.get(field::LAUNCHER_KIND).is_none() {
            self.spec.put(set::LAUNCHER_KIND, "mpirun", "the default, for MPI");
        }
        self.spec.shorten_maps();
        if self.spec.get(field::METADATA_NAMESPACE).is_none()
            && let Some(namespace) = &self.options.default_namespace
        {
            self.spec.put(set::METADATA_NAMESPACE, namespace.as_str(), "");
        }
        let files: Vec<&str> = texts.iter().map(|text| text.name.as_str()).collect();
        let clean: String = files.join(", ").chars().filter(|c| !yaml::ends_line(*c)).collect();
        let head = [format!("From {} ({clean}), by khorovod import.", system.name())];
        let secrets = self.secrets.iter().map(|(name, data)| self.document(name, data)).collect();
        let mut rows = self.outcomes.close(UNKNOWN);
        for row in rows.iter_mut().filter(|row| row.verdict == Some(Verdict::Kept) && row.note.is_empty()) {
            let is_default = |to: &String| DEFAULTS.contains(&to.as_str()) && self.spec.get(to).is_none();
            if row.to.iter().any(is_default) {
                "the same as the default, which the job leaves out".clone_into(&mut row.note);
            }
        }
        for row in &mut rows {
            checks::correct(row, &self.spec);
        }
        (self.spec.text(&head), secrets, rows)
    }

    fn document(&self, name: &str, data: &Map<String, Json>) -> String {
        let mut metadata = json!({"name": name});
        if let Some(namespace) = self.spec.get(field::METADATA_NAMESPACE) {
            metadata["namespace"] = namespace.clone();
        }
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": data});
        let mut text = "---\n# The old file contained this as plain text: keep it out of version control.\n".to_owned();
        to_yaml(&secret, &mut text);
        text
    }
}

/// Returns the source text of a scalar. None for `null`, a list or a map.
pub fn text(node: &Node) -> Option<String> {
    node.written().filter(|_| !matches!(node.scalar(), Some(Scalar::Null))).map(str::to_owned)
}

/// Returns a value with its text, if it has one.
pub fn given(node: Option<&Node>) -> Option<(&Node, String)> {
    node.and_then(|node| Some((node, text(node)?)))
}

/// Returns the most similar name that Kubernetes accepts for pods and volumes.
pub fn label(name: &str) -> String {
    let lower = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let mut label = String::new();
    for c in lower {
        // Skip characters before the first letter, and write several dashes in a row as one.
        let starts = !label.is_empty() || c.is_ascii_lowercase();
        if starts && !(c == '-' && label.ends_with('-')) && label.len() < 36 {
            label.push(c);
        }
    }
    let label = label.trim_end_matches('-');
    if label.is_empty() { "job".to_owned() } else { label.to_owned() }
}
