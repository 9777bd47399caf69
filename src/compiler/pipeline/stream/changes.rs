//! What is laid over each of our documents before it is read: overlays, and what `--set` and `--namespace` say.

use super::Stream;
use crate::job;
use crate::job::{alternatives, nearest};
use crate::pipeline::absent::first_line;
use crate::problem::{Problem, Span, codes};
use crate::yaml::{self, Entry, Kind, Node, Scalar};

codes! {
    /// A setting of `--set` that cannot be placed
    ///
    /// `--set PATH=VALUE` takes a path such as `workers.gpus` or `storage[0].mountPath` and a value
    /// in YAML.
    Error BAD_SET = "bad-set";

    /// An overlay that is not one map
    ///
    /// An overlay holds the part of a TrainingJob that differs: maps merge, lists and values replace,
    /// `null` removes.
    Error BAD_OVERLAY = "bad-overlay";
}

/// What is laid over each of our documents.
pub struct Changes {
    overlays: Vec<Node>,
    /// Path, place and value.
    settings: Vec<(String, Span, Node)>,
}

impl Changes {
    /// Lays them over a document.
    pub fn lay(&self, document: &mut Node, problems: &mut Vec<Problem>) {
        for overlay in &self.overlays {
            if overlay.get("spec").and_then(|spec| spec.get("image")).is_some_and(|image| image.scalar().is_none()) {
                image_in_full(document);
            }
            removes_nothing(overlay, "", problems);
            yaml::merge(document, overlay.clone());
        }
        for (path, span, value) in &self.settings {
            if value.scalar() == Some(Scalar::Null)
                && let Some((parent, key)) = path.rsplit_once('.')
                && let Some(wrong) = no_such(parent, key)
            {
                problems.push(Problem::new(&BAD_SET, *span, format!("`--set {path}=null`: {}", wrong.0)).hint(wrong.1));
            }
            if path.starts_with("spec.image.") {
                image_in_full(document);
            }
            if let Err(wrong) = yaml::set(document, path, *span, value.clone()) {
                let problem = Problem::new(&BAD_SET, *span, format!("`--set {path}`: {wrong}"));
                problems.push(problem.hint("a path is such as `workers.gpus` or `storage[0].mountPath`"));
            }
        }
    }
}

impl Stream<'_> {
    /// What is laid over each of our documents.
    pub fn changes(&mut self) -> Changes {
        Changes { overlays: self.overlays(), settings: self.settings() }
    }

    /// A shell takes the quotes off `--set env.LR="0.1"`: where quotes mend a setting, the hint is one it leaves alone.
    pub(super) fn quote_for_shells(&mut self, from: usize, changes: &Changes) {
        for problem in &mut self.problems[from..] {
            let Some(fix) = problem.fix.as_ref().filter(|fix| fix.text.starts_with('"')) else { continue };
            if changes.settings.iter().any(|(_, span, _)| span.source == fix.span.source) {
                let set = &self.parts[fix.span.source as usize].text;
                let quoted = [&set[..fix.span.start], &fix.text, &set[fix.span.end..]].concat();
                problem.hint = Some(format!("put it in quotes, and these in others: `--set '{quoted}'`"));
            }
        }
    }

    fn overlays(&mut self) -> Vec<Node> {
        let mut overlays = Vec::new();
        for overlay in &self.inputs.overlays {
            let source = self.add_text(&overlay.name, &overlay.text);
            let mut bodies = yaml::pieces(&overlay.text)
                .into_iter()
                .filter(|piece| !overlay.text[piece.body.clone()].trim().is_empty());
            let (first, more) = (bodies.next(), bodies.next().is_some());
            let Some(piece) = first.filter(|_| !more) else {
                let whole = Span { source, start: 0, end: overlay.text.len() };
                let (holds, hint) = match more {
                    true => ("more than one document", "put each into a file of its own: `-f one.yaml -f two.yaml`"),
                    false => ("nothing", DIFFERS),
                };
                let message = format!("the overlay {} holds {holds}", overlay.name);
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
                    self.problems.push(problem.hint(DIFFERS));
                }
                Err(yaml::Unreadable) => {}
            }
        }
        overlays
    }

    /// Path, place and value of every `--set`, and of `--namespace` behind them.
    fn settings(&mut self) -> Vec<(String, Span, Node)> {
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
            if let Some(escaped) = one_name(path) {
                let message =
                    format!("`--set {path}`: a point leads one field deeper, and here it stands within a name");
                let problem = Problem::new(&BAD_SET, Span { end: path.len(), ..whole }, message);
                self.problems.push(problem.hint(format!("write `--set '{escaped}={value}'`")));
                continue;
            }
            let span = Span { start: path.len() + 1, ..whole };
            match yaml::parse(value, span, &mut self.problems) {
                Ok(Some(node)) => settings.push((rooted(path), Span { end: path.len(), ..whole }, node)),
                Ok(None) => {
                    let problem = Problem::new(&BAD_SET, whole, format!("`--set {set}` has no value"));
                    let hint = format!("`{path}=null` takes the field away, `{path}=\"\"` is an empty text");
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

/// Says of every `null` of an overlay that takes away what no spec has.
fn removes_nothing(overlay: &Node, path: &str, problems: &mut Vec<Problem>) {
    let Kind::Map(entries) = &overlay.kind else { return };
    for entry in entries {
        if entry.value.scalar() != Some(Scalar::Null) {
            let below = if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            removes_nothing(&entry.value, &below, problems);
        } else if let Some((wrong, hint)) = no_such(path, &entry.key) {
            problems.push(Problem::new(&BAD_OVERLAY, entry.key_span, wrong).hint(hint));
        }
    }
}

/// That there is no field of this name to take away, where the spec knows which there are; and a way out.
fn no_such(parent: &str, key: &str) -> Option<(String, String)> {
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
        None => format!("it has {}", alternatives(&known)),
    };
    Some((format!("`{parent}` has no field `{key}` to take away"), hint))
}

/// A path into a map of names with domains, such as `workers.resources.limits.nvidia.com/gpu`, with its points escaped.
fn one_name(path: &str) -> Option<String> {
    let maps = ["limits", "requests", "labels", "annotations", "nodeSelector"];
    let (at, map) = maps.iter().find_map(|map| Some((path.find(&format!("{map}."))?, map)))?;
    let (before, name) = path.split_at(at + map.len() + 1);
    let bare = name.replace('"', "");
    let (domain, _) = bare.split_once('/')?;
    let split = domain.contains('.') && !domain.contains('\\');
    split.then(|| format!("{before}{}", bare.replace('.', "\\.")))
}

/// What stands in an overlay.
const DIFFERS: &str = "write the part that differs, such as `spec: {workers: {replicas: 8}}`";

/// Where a value such as `3,workers.gpus=2` goes on with another setting, as Helm's may.
fn next_setting(value: &str) -> Option<usize> {
    let plain = !value.starts_with(['"', '\'', '[', '{']);
    let sets = |rest: &str| {
        let path = rest.split_once('=').map_or("", |(path, _)| path);
        let word = |c: char| c.is_ascii_alphanumeric() || ".[]_-".contains(c);
        let key = path.strip_prefix("spec.").unwrap_or(path).split(['.', '[']).next().unwrap_or_default();
        let mut known = matches!(key, "metadata");
        job::fields(&mut |parent, field| known |= parent == "spec" && field == key);
        known && path.chars().all(word)
    };
    value.match_indices(',').map(|(at, _)| at).find(|at| plain && sets(&value[at + 1..]))
}

/// `image: NAME` stands for `image: {name: NAME}` where something is laid into it.
fn image_in_full(document: &mut Node) {
    let Some(image) = document.get_mut("spec").and_then(|spec| spec.get_mut("image")) else { return };
    if image.text().is_some() {
        let entry = Entry { key: "name".to_owned(), key_span: image.span, value: image.clone() };
        image.kind = Kind::Map(vec![entry]);
    }
}

/// `workers.gpus` → `spec.workers.gpus`; a full path stays.
fn rooted(path: &str) -> String {
    let first = path.split(['.', '[']).next().unwrap_or_default();
    match first {
        "" | "apiVersion" | "kind" | "metadata" | "spec" => path.to_owned(),
        _ => format!("spec.{path}"),
    }
}
