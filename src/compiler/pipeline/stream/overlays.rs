//! Overlays each TrainingJob before it is read: merges overlays (`--overlay`), then applies `--set` and `--namespace`. The main type is
//! [`Overlays`].

use super::Stream;
use crate::job;
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
}

/// The overlays and settings of a call.
pub struct Overlays {
    documents: Vec<Node>,
    /// The path, its span, and the value of each setting.
    settings: Vec<(String, Span, Node)>,
}

impl Overlays {
    /// Applies the overlays and settings to a document.
    pub fn apply(&self, document: &mut Node, problems: &mut Vec<Problem>) {
        for overlay in &self.documents {
            if overlay.get("spec").and_then(|spec| spec.get("image")).is_some_and(|image| image.scalar().is_none()) {
                expand_image(document);
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
            if path.starts_with("spec.image.") {
                expand_image(document);
            }
            if let Err(wrong) = yaml::set(document, path, *span, value.clone()) {
                let problem = Problem::new(&BAD_SET, *span, format!("`--set {path}`: {wrong}"));
                problems.push(problem.hint("use a path such as `workers.gpus` or `storage[0].mountPath`"));
            }
        }
    }
}

impl Stream<'_> {
    /// Reads the overlays and settings of the inputs.
    pub fn read_overlays(&mut self) -> Overlays {
        Overlays { documents: self.parse_overlays(), settings: self.parse_settings() }
    }

    /// Adds shell quotes to hints for `--set`. A shell removes the quotes in `--set env.LR="0.1"`, so if the fix of a problem is to
    /// quote the value, the hint needs another pair. `first` is the index of the first problem to check.
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
            let source = self.add_text("--namespace", namespace);
            let span = Span { source, start: 0, end: namespace.len() };
            let kind = Kind::Scalar { text: namespace.clone(), plain: false };
            settings.push(("metadata.namespace".to_owned(), span, Node { span, kind }));
        }
        settings
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

/// Replaces `image: NAME` by `image: {name: NAME}`, so that fields of `image` can be merged into it.
fn expand_image(document: &mut Node) {
    let Some(image) = document.get_mut("spec").and_then(|spec| spec.get_mut("image")) else { return };
    if image.text().is_some() {
        let entry = Entry { key: "name".to_owned(), key_span: image.span, value: image.clone() };
        image.kind = Kind::Map(vec![entry]);
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
