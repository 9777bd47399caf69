//! Implements a KRM function: replaces the TrainingJobs in a ResourceList, as Kustomize and kpt pass it. See [`krm`].
//!
//! The list is split into items at its lines, as a stream is split into documents at `---`. Items that are not
//! TrainingJobs are not parsed, so they stay unchanged. A TrainingJob among the items is replaced by its objects. The
//! objects of a TrainingJob in `functionConfig` are added after the items.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value as Json, json};

use super::document::is_tracking;
use super::expand::title;
use super::recognise::{self, Expected, Found};
use super::stream::{Part, Stream};
use super::{Built, build};
use crate::api::{Inputs, Text};
use crate::problem::{Problem, Problems, Severity, Span, codes};
use crate::yaml::writer::to_yaml;
use crate::yaml::{self, Entry, Kind, Node};

codes! {
    /// The input is not a ResourceList
    ///
    /// `khorovod krm` is a KRM function: Kustomize, kpt and other tools pass it a ResourceList and read one back. The items
    /// must be a YAML list in block style, or the whole input must be JSON. To render a plain spec, use `khorovod render`.
    Error NOT_LIST = "not-a-resource-list";
}

const PATH: &str = "config.kubernetes.io/path";
const INDEX: &str = "config.kubernetes.io/index";
/// Marks a resource that is only for tools and not for the cluster, such as a copy of `functionConfig` among the items.
const LOCAL: &str = "config.kubernetes.io/local-config";

/// Like [`expand`](crate::expand()), for a KRM function. Takes a ResourceList, and returns it with the TrainingJobs replaced by
/// their objects. The objects of a TrainingJob in `functionConfig` are added to the items.
///
/// The problems are returned, and are also in the `results` of the list. If one of them is an error, the items are unchanged. If
/// the input is not a ResourceList, the returned text is empty.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// use khorovod::{Inputs, Keys, Text, krm};
///
/// let text = "kind: ResourceList
/// items:
/// - {kind: Service, metadata: {name: theirs}}
/// functionConfig:
///   apiVersion: khorovod.dev/v1alpha1
///   kind: TrainingJob
///   metadata: {name: mnist}
///   spec: {image: 'ghcr.io/acme/mnist:1.4', command: [python], workers: {replicas: 2}}
/// ";
/// let list = Text { name: "<stdin>".into(), text: text.into() };
/// let (out, problems) = krm(&list, &Inputs { keys: Keys::Seed([7; 32]), ..Inputs::default() });
/// assert!(!problems.any_error());
/// assert!(out.contains("items:\n- {kind: Service, metadata: {name: theirs}}\n- apiVersion: networking.k8s.io/v1\n"));
/// ```
pub fn krm(text: &Text, inputs: &Inputs) -> (String, Problems) {
    let mut stream = Stream::new(inputs);
    let list = match as_yaml(&text.text) {
        Some(list) if keys(&list).any(|(key, _)| key == "items" || key == "functionConfig") => list,
        _ => {
            let line = text.text.lines().next().unwrap_or_default().len();
            let source = stream.add(Part { name: text.name.clone(), text: Cow::Borrowed(&text.text), first_line: 1 });
            let (message, hint) = match has_flow_items(&text.text) {
                true => (
                    "the items of this ResourceList are in flow style",
                    "write them as a list in block style, or the whole ResourceList as JSON",
                ),
                false => ("this is not a ResourceList", "to render a plain spec, run `khorovod render`"),
            };
            stream.push(Problem::new(&NOT_LIST, Span { source, start: 0, end: line }, message).hint(hint));
            return (String::new(), stream.finish());
        }
    };
    let overlays = stream.read_overlays();
    let mut jobs = Vec::new();
    for piece in pieces(&list) {
        let body = piece.body(&list);
        let source = stream.next_source();
        let span = Span { source, start: 0, end: body.len() };
        let mut found = Vec::new();
        let document = match recognise::find(&body, span, Expected::Any, &mut found, &mut 0) {
            Found::Other => continue,
            Found::Invalid => None,
            Found::Job(document) if !piece.is_config && annotation(&document, LOCAL) == Some("true") => continue,
            Found::Job(document) => Some(document),
        };
        let name = title(&text.name, document.as_ref().and_then(path));
        let first_line = list[..piece.range.start].matches('\n').count() + 1;
        stream.add(Part { name, text: Cow::Owned(body.clone()), first_line });
        stream.append(found);
        let place = if piece.is_config { end_of(&list, "items") } else { piece.range };
        jobs.extend(document.and_then(|mut document| {
            drop_annotations(&mut document);
            stream.job(document, &body, place, &overlays)
        }));
    }
    stream.refuse_duplicates(&jobs);
    let mut edits = Vec::new();
    let dash = pieces(&list).find(|piece| !piece.is_config).map(|piece| piece.dash);
    let (is_empty, indent) = (dash.is_none(), dash.unwrap_or_default());
    let outcome = build(stream, jobs, inputs, |place, built| edits.push((place, as_items(&built, indent))));
    let (Ok(problems) | Err(problems)) = outcome;
    if !problems.any_error() && !edits.is_empty() {
        // `functionConfig` may come before `items` in the list.
        edits.sort_by_key(|(place, _)| (place.start, place.end));
        if !keys(&list).any(|(key, _)| key == "items") {
            edits[0].1.insert_str(0, "items:\n");
        }
    } else {
        edits.clear();
    }
    let mut out = String::with_capacity(list.len());
    let mut done = 0;
    for (place, objects) in edits {
        let before = &list[done..place.start];
        // Remove the `[]` of an empty list, which now has items.
        out.push_str(before.strip_suffix(" []\n").filter(|_| is_empty).unwrap_or(before));
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&objects);
        done = place.end;
    }
    out.push_str(&list[done..]);
    add_results(&mut out, &problems);
    (out, problems)
}

/// The list in block style. JSON is converted. `None` if the text is not a ResourceList.
fn as_yaml(text: &str) -> Option<Cow<'_, str>> {
    let list = if text.trim_start().starts_with('{') {
        let json: Json = serde_json::from_str(text).ok()?;
        let mut list = String::new();
        to_yaml(&json, &mut list);
        Cow::Owned(list)
    } else {
        Cow::Borrowed(text)
    };
    is_list(&list).then_some(list)
}

/// Whether a text in block style is a ResourceList whose items are in flow style, such as `items: [{…}]`.
fn has_flow_items(list: &str) -> bool {
    keys(list).any(|(key, lines)| key == "kind" && list[lines].contains("ResourceList"))
        && keys(list).any(|(key, lines)| key == "items" && list[lines].contains(['[', '{']))
}

/// Whether a text in block style is a ResourceList.
fn is_list(list: &str) -> bool {
    // The text after a key on the same line.
    let value = |key: &str| {
        let (_, lines) = keys(list).find(|(name, _)| *name == key)?;
        Some(list[lines].lines().next()?.split_once(':')?.1.trim())
    };
    value("kind").is_some_and(|kind| kind.trim_matches(['"', '\'']) == "ResourceList")
        && matches!(value("items"), None | Some("" | "[]"))
}

/// The top-level keys of a map in block style, and the range of the lines of each.
fn keys(list: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    let starts: Vec<usize> = lines(list, 0..list.len())
        .filter(|line| !list[line.clone()].starts_with([' ', '#', '-', '\n', '\r', '.', '%']))
        .map(|line| line.start)
        .collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([list.len()]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|(start, end)| (list[start..end].split(':').next().unwrap_or_default(), start..end))
}

/// The empty range at the end of the lines of a key, or at the end of the list if it has no such key.
fn end_of(list: &str, key: &str) -> Range<usize> {
    let end = keys(list).find(|(name, _)| *name == key).map_or(list.len(), |(_, lines)| lines.end);
    end..end
}

/// The ranges of the lines in a part of a text, including their line breaks.
fn lines(text: &str, part: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    text[part.clone()].split_inclusive('\n').scan(part.start, |at, line| {
        let start = *at;
        *at += line.len();
        Some(start..*at)
    })
}

/// One item of the list, or the function's configuration.
struct Piece {
    range: Range<usize>,
    is_config: bool,
    /// The column of the dash before it.
    dash: usize,
    /// The column of its text.
    column: usize,
}

impl Piece {
    /// Its text as a separate document, without indentation.
    fn body(&self, list: &str) -> String {
        let mut body = String::with_capacity(self.range.len());
        for (index, line) in lines(list, self.range.clone()).enumerate() {
            let line = &list[line];
            let skipped = match index {
                0 => self.column.min(line.len()),
                _ => line.bytes().take(self.column).take_while(|byte| *byte == b' ').count(),
            };
            body.push_str(&line[skipped..]);
        }
        body
    }
}

/// The items and the configuration, in the order of the text.
fn pieces(list: &str) -> impl Iterator<Item = Piece> {
    keys(list).flat_map(|(key, range)| match key {
        "items" => items(list, range),
        "functionConfig" => config(list, range).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// The number of spaces at the start of a line.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The items in the lines of `items`.
fn items(list: &str, range: Range<usize>) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    for line in lines(list, range.clone()).skip(1) {
        let text = &list[line.clone()];
        let dash = indent_of(text);
        let is_item = text[dash..].starts_with("- ") && found.first().is_none_or(|first| first.dash == dash);
        if is_item {
            if let Some(last) = found.last_mut() {
                last.range.end = line.start;
            }
            let column = dash + 1 + indent_of(&text[dash + 1..]);
            found.push(Piece { range: line.start..range.end, is_config: false, dash, column });
        }
    }
    found
}

/// The configuration in the lines of `functionConfig`.
fn config(list: &str, range: Range<usize>) -> Option<Piece> {
    let first = lines(list, range.clone()).next()?;
    let value = list[first.clone()].split_once(':')?.1;
    if !value.trim().is_empty() {
        // The value starts on the line of the key: `functionConfig: {…}`.
        return Some(Piece { range: first.end - value.len()..range.end, is_config: true, dash: 0, column: 0 });
    }
    let text = lines(list, first.end..range.end).map(|line| &list[line]).find(|line| !line.trim().is_empty())?;
    Some(Piece { range: first.end..range.end, is_config: true, dash: 0, column: indent_of(text) })
}

/// Formats objects as items of a list.
fn as_items(built: &Built, indent: usize) -> String {
    let mut items = String::with_capacity(built.text.len() * 5 / 4);
    for document in &built.documents {
        for (index, line) in built.text[document.range.clone()].split_inclusive('\n').enumerate() {
            // Do not indent the empty lines of scripts.
            if line != "\n" {
                let _ = write!(items, "{:indent$}{}", "", if index == 0 { "- " } else { "  " });
            }
            items.push_str(line);
        }
    }
    items
}

/// The annotations of a document.
fn annotations(document: &mut Node) -> Option<&mut Vec<Entry>> {
    let Kind::Map(entries) = &mut document.kind else { return None };
    let metadata = entries.iter_mut().find(|entry| entry.key == "metadata")?;
    let Kind::Map(entries) = &mut metadata.value.kind else { return None };
    let annotations = entries.iter_mut().find(|entry| entry.key == "annotations")?;
    let Kind::Map(entries) = &mut annotations.value.kind else { return None };
    Some(entries)
}

/// Removes the annotations with which tools track a resource, because they describe the TrainingJob and do not apply to its
/// objects. Keeps the annotations with the path of the TrainingJob's file and with its index in the file.
fn drop_annotations(document: &mut Node) {
    if let Some(annotations) = annotations(document) {
        annotations.retain(|Entry { key, .. }| {
            let place = key.strip_prefix("internal.").unwrap_or(key);
            matches!(place, PATH | INDEX) || !is_tracking(key)
        });
    }
}

/// The value of an annotation.
fn annotation<'a>(document: &'a Node, key: &str) -> Option<&'a str> {
    document.get("metadata")?.get("annotations")?.get(key)?.written()
}

/// The file that a resource comes from.
fn path(document: &Node) -> Option<&str> {
    annotation(document, "internal.config.kubernetes.io/path").or_else(|| annotation(document, PATH))
}

/// Adds problems to the `results` of the list, which tools print.
fn add_results(list: &mut String, problems: &Problems) {
    let results: Vec<Json> = problems.list.iter().map(|problem| result(problems, problem)).collect();
    if results.is_empty() {
        return;
    }
    if !list.ends_with('\n') {
        list.push('\n');
    }
    // Tools have already printed the results of an earlier function, so they are replaced.
    let old_results = keys(list).find(|(key, _)| *key == "results").map(|(_, lines)| lines);
    if let Some(lines) = old_results {
        list.replace_range(lines, "");
    }
    let mut text = String::new();
    to_yaml(&json!({ "results": results }), &mut text);
    list.push_str(&text);
}

/// A problem as an entry of `results`.
fn result(problems: &Problems, problem: &Problem) -> Json {
    let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!("; {hint}"));
    let mut result = json!({
        "message": format!("{}{hint}", problem.message),
        "severity": if problem.severity == Severity::Note { "info" } else { problem.severity.word() },
    });
    let span = problem.labels.first().map(|label| label.span).unwrap_or_default();
    let text = problems.sources.get(span.source).map_or("", |source| source.text.as_str());
    let whole = Span { start: 0, end: text.len(), ..span };
    if let Ok(Some(document)) = yaml::parse(text, whole, &mut Vec::new()) {
        let text = |node: Option<&Node>| node.and_then(Node::text).map(str::to_owned);
        let metadata = document.get("metadata");
        let name = text(metadata.and_then(|metadata| metadata.get("name")));
        if let Some(name) = name {
            let mut reference = json!({
                "apiVersion": text(document.get("apiVersion")), "kind": text(document.get("kind")), "name": name,
            });
            if let Some(namespace) = text(metadata.and_then(|metadata| metadata.get("namespace"))) {
                reference["namespace"] = namespace.into();
            }
            result["resourceRef"] = reference;
        }
        let field = yaml::path::at(&document, span.start);
        if !field.is_empty() {
            result["field"] = json!({ "path": field });
        }
        if let Some(path) = path(&document) {
            result["file"] = json!({ "path": path });
            let index = annotation(&document, "internal.config.kubernetes.io/index");
            if let Some(index) =
                index.or_else(|| annotation(&document, INDEX)).and_then(|text| text.parse::<u32>().ok())
            {
                result["file"]["index"] = index.into();
            }
        }
    }
    result["tags"] = json!({ "code": problem.code.name });
    result
}
