//! The stream in the form of a KRM function: a ResourceList, from which Kustomize and kpt take what comes back.
//!
//! The list is cut by its lines, as a stream is at its `---`: items that are not ours are never read, and stay byte for
//! byte. Ours give their place to their objects; one that is the function's configuration adds them behind the items.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use serde_json::{Value as Json, json};

use super::expand::title;
use super::ours::{self, Among, Found};
use super::stream::{Part, Stream};
use super::{Built, build};
use crate::api::{Inputs, Text};
use crate::problem::{Problem, Problems, Severity, Span, codes};
use crate::yaml::writer::to_yaml;
use crate::yaml::{self, Entry, Kind, Node};

codes! {
    /// The input is no ResourceList
    ///
    /// `khorovod krm` is a KRM function: Kustomize, kpt and others hand it a ResourceList, and take one back. Its items
    /// stand as a block list, one `- ` each, or all of it is JSON. To turn a plain spec into objects there is
    /// `khorovod render`.
    Error NOT_LIST = "not-a-resource-list";
}

/// Annotations by which tools of Kustomize and kpt follow a resource: what they say of a TrainingJob is not true of its
/// objects, but for the file it comes from.
const TOOLS: &[&str] =
    &["config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/", "kustomize.config.k8s.io/"];
const PATH: &str = "config.kubernetes.io/path";
const INDEX: &str = "config.kubernetes.io/index";
/// One that is there for tools alone, such as the function's own configuration among the items.
const LOCAL: &str = "config.kubernetes.io/local-config";

/// As [`expand`](crate::expand) for a KRM function: a ResourceList in, a ResourceList out, in which the TrainingJobs have become their
/// objects. One that is its `functionConfig` adds them to the items. Problems stand in its results too, and where one is
/// an error, the items are what they were; what is no ResourceList becomes no text at all.
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
            let problem = Problem::new(&NOT_LIST, Span { source, start: 0, end: line }, "this is no ResourceList");
            stream.push(problem.hint("to render a plain spec: `khorovod render`"));
            return (String::new(), stream.finish());
        }
    };
    let changes = stream.changes();
    let mut jobs = Vec::new();
    for piece in pieces(&list) {
        let body = piece.body(&list);
        let source = stream.next_source();
        let span = Span { source, start: 0, end: body.len() };
        let mut found = Vec::new();
        let document = match ours::find(&body, span, Among::Others, &mut found, &mut 0) {
            Found::Other => continue,
            Found::Wrong => None,
            Found::Ours(document) if !piece.is_config && annotation(&document, LOCAL) == Some("true") => continue,
            Found::Ours(document) => Some(document),
        };
        let name = title(&text.name, document.as_ref().and_then(path));
        let first_line = list[..piece.range.start].matches('\n').count() + 1;
        stream.add(Part { name, text: Cow::Owned(body.clone()), first_line });
        stream.append(found);
        let place = if piece.is_config { end_of(&list, "items") } else { piece.range };
        jobs.extend(document.and_then(|mut document| {
            drop_annotations(&mut document);
            stream.job(document, &body, place, &changes)
        }));
    }
    stream.duplicates(&jobs);
    let mut edits = Vec::new();
    let dash = pieces(&list).find(|piece| !piece.is_config).map(|piece| piece.dash);
    let (is_empty, indent) = (dash.is_none(), dash.unwrap_or_default());
    let outcome = build(stream, jobs, inputs, |place, built| edits.push((place, as_items(&built, indent))));
    let (Ok(problems) | Err(problems)) = outcome;
    if !problems.any_error() && !edits.is_empty() {
        // The configuration may stand before the items.
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
        // `items: []` is no empty list any more.
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

/// The list in block style, which is how it comes but for JSON. None where it is no ResourceList.
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

fn is_list(list: &str) -> bool {
    // What stands behind a key on its line.
    let value = |key: &str| {
        let (_, lines) = keys(list).find(|(name, _)| *name == key)?;
        Some(list[lines].lines().next()?.split_once(':')?.1.trim())
    };
    value("kind").is_some_and(|kind| kind.trim_matches(['"', '\'']) == "ResourceList")
        && matches!(value("items"), None | Some("" | "[]"))
}

/// The keys of a map in block style, each with its lines.
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

/// The end of a key's lines; of all, where there is no such key.
fn end_of(list: &str, key: &str) -> Range<usize> {
    let end = keys(list).find(|(name, _)| *name == key).map_or(list.len(), |(_, lines)| lines.end);
    end..end
}

/// The lines in a part of a text, with their ends.
fn lines(text: &str, part: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    text[part.clone()].split_inclusive('\n').scan(part.start, |at, line| {
        let start = *at;
        *at += line.len();
        Some(start..*at)
    })
}

/// An item, or the configuration.
struct Piece {
    range: Range<usize>,
    is_config: bool,
    /// The column of its dash.
    dash: usize,
    /// The column of its text.
    column: usize,
}

impl Piece {
    /// Its text as a document of its own.
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

/// The items and the configuration.
fn pieces(list: &str) -> impl Iterator<Item = Piece> {
    keys(list).flat_map(|(key, range)| match key {
        "items" => items(list, range),
        "functionConfig" => config(list, range).into_iter().collect(),
        _ => Vec::new(),
    })
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn items(list: &str, range: Range<usize>) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    for line in lines(list, range.clone()).skip(1) {
        let text = &list[line.clone()];
        let dash = indent_of(text);
        let begins = text[dash..].starts_with("- ") && found.first().is_none_or(|first| first.dash == dash);
        if begins {
            if let Some(last) = found.last_mut() {
                last.range.end = line.start;
            }
            let column = dash + 1 + indent_of(&text[dash + 1..]);
            found.push(Piece { range: line.start..range.end, is_config: false, dash, column });
        }
    }
    found
}

fn config(list: &str, range: Range<usize>) -> Option<Piece> {
    let first = lines(list, range.clone()).next()?;
    let value = list[first.clone()].split_once(':')?.1;
    if !value.trim().is_empty() {
        // `functionConfig: {…}`, on lines of its own in whatever style.
        return Some(Piece { range: first.end - value.len()..range.end, is_config: true, dash: 0, column: 0 });
    }
    let text = lines(list, first.end..range.end).map(|line| &list[line]).find(|line| !line.trim().is_empty())?;
    Some(Piece { range: first.end..range.end, is_config: true, dash: 0, column: indent_of(text) })
}

/// Objects as items of a list.
fn as_items(built: &Built, indent: usize) -> String {
    let mut items = String::with_capacity(built.text.len() * 5 / 4);
    for document in &built.documents {
        for (index, line) in built.text[document.range.clone()].split_inclusive('\n').enumerate() {
            // An empty line of a script stays empty.
            if line != "\n" {
                let _ = write!(items, "{:indent$}{}", "", if index == 0 { "- " } else { "  " });
            }
            items.push_str(line);
        }
    }
    items
}

fn annotations(document: &mut Node) -> Option<&mut Vec<Entry>> {
    let Kind::Map(entries) = &mut document.kind else { return None };
    let metadata = entries.iter_mut().find(|entry| entry.key == "metadata")?;
    let Kind::Map(entries) = &mut metadata.value.kind else { return None };
    let annotations = entries.iter_mut().find(|entry| entry.key == "annotations")?;
    let Kind::Map(entries) = &mut annotations.value.kind else { return None };
    Some(entries)
}

fn drop_annotations(document: &mut Node) {
    if let Some(annotations) = annotations(document) {
        annotations.retain(|Entry { key, .. }| {
            let place = key.strip_prefix("internal.").unwrap_or(key);
            matches!(place, PATH | INDEX) || !TOOLS.iter().any(|tool| key.starts_with(tool))
        });
    }
}

fn annotation<'a>(document: &'a Node, key: &str) -> Option<&'a str> {
    match &document.get("metadata")?.get("annotations")?.get(key)?.kind {
        Kind::Scalar { text, .. } => Some(text),
        _ => None,
    }
}

/// The file a resource comes from.
fn path(document: &Node) -> Option<&str> {
    annotation(document, "internal.config.kubernetes.io/path").or_else(|| annotation(document, PATH))
}

/// Puts problems into the list, in the form tools show.
fn add_results(list: &mut String, problems: &Problems) {
    let results: Vec<Json> = problems.list.iter().map(|problem| result(problems, problem)).collect();
    if results.is_empty() {
        return;
    }
    if !list.ends_with('\n') {
        list.push('\n');
    }
    // Those of a function before this one have been told.
    let told = keys(list).find(|(key, _)| *key == "results").map(|(_, lines)| lines);
    if let Some(lines) = told {
        list.replace_range(lines, "");
    }
    let mut text = String::new();
    to_yaml(&json!({ "results": results }), &mut text);
    list.push_str(&text);
}

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
