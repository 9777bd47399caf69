//! Changes each TrainingJob before it is read: merges overlays (`--overlay`), then applies `--set`, `--namespace` and
//! the default namespace. Also parses the expectations that each job must meet. The main type is [`Overlays`].

use super::Stream;
use crate::api::Inputs;
use crate::job;
use crate::job::expectations::{self, Expected};
use crate::job::{alternatives, nearest};
use crate::pipeline::no_job::first_line;
use crate::problem::{Problem, Span, codes};
use crate::yaml::{self, Entry, Kind, Node, Scalar};

codes! {
    /// A value of `--set` that cannot be applied
    ///
    /// The syntax is `--set PATH=VALUE`. PATH is a path such as `workers.gpus` or `storage[0].mountPath`, and VALUE is YAML.
    Error BAD_SET = "bad-set";

    /// An overlay that is not one map
    ///
    /// An overlay contains the fields of a TrainingJob that differ. Maps are merged, lists and other values are replaced, and
    /// `null` removes a field.
    Error BAD_OVERLAY = "bad-overlay";

    /// A file of expectations without a document
    ///
    /// The file that `--expect` names contains one document of kind `Expectations`.
    Error NO_EXPECTATIONS = "no-expectations";

    /// The spec has another namespace than Helm
    ///
    /// `helm khorovod` uses Helm's namespace for jobs that have no `metadata.namespace`. That is the value of `-n`, or else the
    /// namespace of the current context. A job that has a namespace stays there, as a template with a namespace does.
    /// To move it, use `--set metadata.namespace=NAME`.
    Note OTHER_NAMESPACE = "other-namespace";
}

/// The overlays and settings of a call, and its expectations.
#[derive(Default)]
pub struct Overlays {
    /// The contents of the files that `--expect` names.
    pub expectations: Vec<Expected>,
    documents: Vec<Node>,
    /// The path, its span, and the value of each setting.
    settings: Vec<(String, Span, Node)>,
    default_namespace: Option<Node>,
}

impl Overlays {
    /// Applies the overlays and settings to a document.
    pub fn apply(&self, document: &mut Node, problems: &mut Vec<Problem>) {
        for overlay in &self.documents {
            for (field, main, default) in SHORT_FORMS {
                if overlay.get("spec").and_then(|spec| spec.get(field)).is_some_and(|value| value.scalar().is_none()) {
                    expand(document, field, main, default);
                }
            }
            refuse_unknown_removals(overlay, "", problems);
            yaml::merge(document, overlay.clone());
        }
        for (path, span, value) in &self.settings {
            if value.scalar() == Some(Scalar::Null)
                && let Some((parent, key)) = path.rsplit_once('.')
                && let Some(wrong) = unknown_field(parent, key)
            {
                problems.push(Problem::new(&BAD_SET, *span, format!("`--set {path}=null`: {}", wrong.0)).hint(wrong.1));
            }
            for (field, main, default) in SHORT_FORMS {
                if path.starts_with(&format!("spec.{field}.")) {
                    expand(document, field, main, default);
                }
            }
            if let Err(wrong) = yaml::set(document, path, *span, value.clone()) {
                let problem = Problem::new(&BAD_SET, *span, format!("`--set {path}`: {wrong}"));
                problems.push(problem.hint("use a path such as `workers.gpus` or `storage[0].mountPath`"));
            }
        }
        if let Some(namespace) = &self.default_namespace {
            self.apply_default_namespace(namespace, document, problems);
        }
    }

    /// Sets the default namespace in a document that has no namespace. If the document has another namespace, adds a
    /// note, unless `--set` or `--namespace` chose that namespace.
    fn apply_default_namespace(&self, default: &Node, document: &mut Node, problems: &mut Vec<Problem>) {
        let given = document.get("metadata").and_then(|metadata| metadata.get("namespace"));
        let (Some(given), Some(name)) = (given, default.text()) else {
            // Fails only if `metadata` is not a map, which `job::read` reports.
            let _ = yaml::set(document, NAMESPACE, default.span, default.clone());
            return;
        };
        let is_chosen = self.settings.iter().any(|(path, ..)| path == NAMESPACE);
        if let Some(own) = given.text().filter(|own| *own != name && !is_chosen) {
            let message = format!("the job stays in the namespace `{own}` of its spec; Helm's namespace is `{name}`");
            let hint = format!("to move the job, use `--set {NAMESPACE}={name}`");
            problems.push(Problem::new(&OTHER_NAMESPACE, given.span, message).hint(hint));
        }
    }
}

/// Whether this crate was compiled with overlays. It is constant, so that a module for a browser does not contain their code.
pub const FEATURE: bool = cfg!(feature = "overlays");

/// The path of a job's namespace.
const NAMESPACE: &str = "metadata.namespace";

impl<'a> Stream<'a> {
    /// Reads the overlays and settings of the inputs.
    ///
    /// # Panics
    ///
    /// Without the feature `overlays`, if the inputs have any.
    pub fn read_overlays(&mut self) -> Overlays {
        if !FEATURE {
            let Inputs { overlays, sets, namespace, expectations, default_namespace, .. } = self.inputs;
            let is_used = !overlays.is_empty() || !sets.is_empty() || !expectations.is_empty();
            let is_used = is_used || namespace.is_some() || default_namespace.is_some();
            assert!(!is_used, "khorovod was compiled without the feature `overlays`");
            return Overlays::default();
        }
        let default_namespace =
            self.inputs.default_namespace.as_deref().map(|name| self.add_name("the default namespace", name));
        Overlays {
            documents: self.parse_overlays(),
            settings: self.parse_settings(),
            default_namespace,
            expectations: self.parse_expectations(),
        }
    }

    /// Adds shell quotes to hints for `--set`. A shell removes the quotes in `--set env.LR="0.1"`. So if the fix of a
    /// problem is to quote the value, the hint must put another pair of quotes around the whole setting. `first` is the
    /// index of the first problem to check.
    pub(super) fn add_shell_quotes(&mut self, first: usize, overlays: &Overlays) {
        for problem in &mut self.problems[first..] {
            let Some(fix) = problem.fix.as_ref().filter(|fix| fix.text.starts_with('"')) else { continue };
            if overlays.settings.iter().any(|(_, span, _)| span.source == fix.span.source) {
                let set = &self.parts[fix.span.source as usize].text;
                let quoted = [&set[..fix.span.start], &fix.text, &set[fix.span.end..]].concat();
                problem.hint = Some(format!(
                    "put the value in quotes, and the whole setting in single quotes: `--set '{quoted}'`"
                ));
            }
        }
    }

    /// Parses the expectations. Files that have problems are left out, so no job is checked against them.
    fn parse_expectations(&mut self) -> Vec<Expected> {
        let mut all = Vec::new();
        for file in &self.inputs.expectations {
            let source = self.add_text(&file.name, &file.text);
            let span = Span { source, start: 0, end: file.text.len() };
            let has_text = |piece: &yaml::Piece| !file.text[piece.body.clone()].trim().is_empty();
            if let Some(second) = yaml::pieces(&file.text).into_iter().filter(has_text).nth(1) {
                let at = Span { start: second.body.start, end: second.body.end, ..span };
                let message = format!("{} has more than one document", file.name);
                let problem = Problem::new(&NO_EXPECTATIONS, first_line(&file.text, at), message);
                self.problems.push(
                    problem.hint("put each document into a separate file: `--expect one.yaml --expect two.yaml`"),
                );
                continue;
            }
            match yaml::parse(&file.text, span, &mut self.problems) {
                Ok(Some(node)) => all.extend(expectations::read(&node, &self.parts, &mut self.problems)),
                Ok(None) => {
                    let problem = Problem::new(&NO_EXPECTATIONS, span, format!("{} is empty", file.name));
                    self.problems.push(problem.hint("write `kind: Expectations` with `expect`"));
                }
                Err(yaml::Unreadable) => {}
            }
        }
        all
    }

    /// Parses the overlays.
    fn parse_overlays(&mut self) -> Vec<Node> {
        let mut overlays = Vec::new();
        for overlay in &self.inputs.overlays {
            let source = self.add_text(&overlay.name, &overlay.text);
            let mut bodies = yaml::pieces(&overlay.text)
                .into_iter()
                .filter(|piece| !overlay.text[piece.body.clone()].trim().is_empty());
            let (first, more) = (bodies.next(), bodies.next().is_some());
            let Some(piece) = first.filter(|_| !more) else {
                let whole = Span { source, start: 0, end: overlay.text.len() };
                let (content, hint) = match more {
                    true => (
                        "more than one document",
                        "put each document into a separate file: `--overlay one.yaml --overlay two.yaml`",
                    ),
                    false => ("no document", EXAMPLE),
                };
                let message = format!("the overlay {} has {content}", overlay.name);
                let problem = Problem::new(&BAD_OVERLAY, first_line(&overlay.text, whole), message);
                self.problems.push(problem.hint(hint));
                continue;
            };
            let span = Span { source, start: piece.body.start, end: piece.body.end };
            match yaml::parse(&overlay.text[piece.body], span, &mut self.problems) {
                Ok(Some(node)) if matches!(node.kind, Kind::Map(_)) => overlays.push(node),
                Ok(_) => {
                    let place = first_line(&overlay.text, span);
                    let message = format!("the overlay {} is not a map", overlay.name);
                    let problem = Problem::new(&BAD_OVERLAY, place, message);
                    self.problems.push(problem.hint(EXAMPLE));
                }
                Err(yaml::Unreadable) => {}
            }
        }
        overlays
    }

    /// Parses each `--set`, and adds `--namespace` as the last setting.
    fn parse_settings(&mut self) -> Vec<(String, Span, Node)> {
        let mut settings = Vec::new();
        for set in &self.inputs.sets {
            let source = self.add_text("--set", set);
            let whole = Span { source, start: 0, end: set.len() };
            let Some((path, value)) = set.split_once('=') else {
                let problem = Problem::new(&BAD_SET, whole, format!("`--set {set}` has no `=`"));
                self.problems.push(problem.hint("write `--set PATH=VALUE`, such as `--set workers.gpus=8`"));
                continue;
            };
            if let Some(next) = next_setting(value) {
                let problem = Problem::new(&BAD_SET, whole, format!("`--set {set}` sets several fields at once"));
                let hint = format!(
                    "write `--set {path}={} --set {}`, or put a value with a comma in quotes: `--set '{path}=\"…\"'`",
                    &value[..next],
                    &value[next + 1..]
                );
                self.problems.push(problem.hint(hint));
                continue;
            }
            if let Some(escaped) = escape_domain(path) {
                let message = format!("`--set {path}`: a dot separates fields, but here it is part of a name");
                let problem = Problem::new(&BAD_SET, Span { end: path.len(), ..whole }, message);
                self.problems.push(problem.hint(format!("write `--set '{escaped}={value}'`")));
                continue;
            }
            let span = Span { start: path.len() + 1, ..whole };
            match yaml::parse(value, span, &mut self.problems) {
                Ok(Some(node)) => settings.push((full_path(path), Span { end: path.len(), ..whole }, node)),
                Ok(None) => {
                    let problem = Problem::new(&BAD_SET, whole, format!("`--set {set}` has no value"));
                    let hint = format!("`{path}=null` removes the field, `{path}=\"\"` sets an empty string");
                    self.problems.push(problem.hint(hint));
                }
                Err(yaml::Unreadable) => {}
            }
        }
        if let Some(namespace) = &self.inputs.namespace {
            let node = self.add_name("--namespace", namespace);
            settings.push((NAMESPACE.to_owned(), node.span, node));
        }
        settings
    }

    /// Adds a name that the caller passed, such as the value of `--namespace`, to the texts. Returns its node.
    fn add_name(&mut self, source: &str, name: &'a str) -> Node {
        let span = Span { source: self.add_text(source, name), start: 0, end: name.len() };
        Node { span, kind: Kind::Scalar { text: name.to_owned(), plain: false } }
    }
}

/// Reports each `null` of an overlay that removes a field which does not exist.
fn refuse_unknown_removals(overlay: &Node, path: &str, problems: &mut Vec<Problem>) {
    let Kind::Map(entries) = &overlay.kind else { return };
    for entry in entries {
        if entry.value.scalar() != Some(Scalar::Null) {
            let below = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            refuse_unknown_removals(&entry.value, &below, problems);
        } else if let Some((wrong, hint)) = unknown_field(path, &entry.key) {
            problems.push(Problem::new(&BAD_OVERLAY, entry.key_span, wrong).hint(hint));
        }
    }
}

/// The message and the hint for the removal of an unknown field. `None` if the field exists, or if any key is allowed there.
fn unknown_field(parent: &str, key: &str) -> Option<(String, String)> {
    let parent: String = parent
        .split('[')
        .enumerate()
        .map(|(n, part)| if n == 0 { part } else { part.split_once(']').map_or("", |(_, rest)| rest) })
        .collect();
    let mut known = Vec::new();
    job::fields(&mut |at, field| known.extend((at == parent).then_some(field)));
    if known.is_empty() || known.contains(&key) {
        return None;
    }
    let hint = match nearest(key, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its fields are {}", alternatives(&known)),
    };
    Some((format!("`{parent}` has no field `{key}` to remove"), hint))
}

/// Escapes the dots in a name with a domain: for a path such as `workers.resources.limits.nvidia.com/gpu`, returns the path with
/// `nvidia\.com/gpu`. `None` if the path needs no escapes.
fn escape_domain(path: &str) -> Option<String> {
    let maps = ["limits", "requests", "labels", "annotations", "nodeSelector"];
    let (at, map) = maps.iter().find_map(|map| Some((path.find(&format!("{map}."))?, map)))?;
    let (before, name) = path.split_at(at + map.len() + 1);
    let unquoted = name.replace('"', "");
    let (domain, _) = unquoted.split_once('/')?;
    let needs_escape = domain.contains('.') && !domain.contains('\\');
    needs_escape.then(|| format!("{before}{}", unquoted.replace('.', "\\.")))
}

/// The hint for an overlay without a map.
const EXAMPLE: &str = "write the fields that differ, such as `spec: {workers: {replicas: 8}}`";

/// The position of the comma before a second setting in a value such as `3,workers.gpus=2`, which is valid for Helm's `--set`.
fn next_setting(value: &str) -> Option<usize> {
    let is_unquoted = !value.starts_with(['"', '\'', '[', '{']);
    let is_setting = |rest: &str| {
        let path = rest.split_once('=').map_or("", |(path, _)| path);
        let is_path_char = |c: char| c.is_ascii_alphanumeric() || ".[]_-".contains(c);
        let key = path.strip_prefix("spec.").unwrap_or(path).split(['.', '[']).next().unwrap_or_default();
        let mut known = matches!(key, "metadata");
        job::fields(&mut |parent, field| known |= parent == "spec" && field == key);
        known && path.chars().all(is_path_char)
    };
    value.match_indices(',').map(|(at, _)| at).find(|at| is_unquoted && is_setting(&value[at + 1..]))
}

/// The fields of the spec that accept a text instead of a map: the field, the key of the map that the text sets, and
/// the default of this key.
const SHORT_FORMS: [(&str, &str, Option<&str>); 2] = [("image", "name", None), ("launcher", "kind", Some("mpirun"))];

/// Replaces `image: NAME` by `image: {name: NAME}`, so that other fields can be merged into the map. If the field is
/// not set and has a default, adds the map with the default.
fn expand(document: &mut Node, field: &str, main: &str, default: Option<&str>) {
    let Some(spec) = document.get_mut("spec") else { return };
    let span = spec.span;
    if let (Kind::Map(entries), Some(default)) = (&mut spec.kind, default)
        && entries.iter().all(|entry| entry.key != field)
    {
        let value = Node { span, kind: Kind::Scalar { text: default.to_owned(), plain: false } };
        entries.push(Entry { key: field.to_owned(), key_span: span, value });
    }
    let Some(value) = spec.get_mut(field) else { return };
    if value.text().is_some() {
        let entry = Entry { key: main.to_owned(), key_span: value.span, value: value.clone() };
        value.kind = Kind::Map(vec![entry]);
    }
}

/// The full path of a setting: `workers.gpus` becomes `spec.workers.gpus`, and a full path is unchanged.
fn full_path(path: &str) -> String {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    match first {
        "" | "apiVersion" | "kind" | "metadata" | "spec" => path.to_owned(),
        _ => format!("spec.{path}"),
    }
}
