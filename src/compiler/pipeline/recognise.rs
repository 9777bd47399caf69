//! Recognises the TrainingJobs among the documents of a stream. See [`find`]. Other documents pass through unchanged.

use memchr::memmem;

use super::no_job::NO_JOB;
use crate::job;
use crate::problem::{Problem, Span, codes};
use crate::yaml::{self, Kind, Node};

codes! {
    /// A TrainingJob is inside a List
    ///
    /// khorovod replaces a TrainingJob by its objects, and does not change other documents. So a TrainingJob must be a
    /// separate document, after a line `---`. Helm 4 splits Lists before it calls a post-renderer; Helm 3 and kubectl do not.
    Error IN_LIST = "job-in-list";

    /// A TrainingJob is a Helm hook
    ///
    /// Helm 3 does not pass hooks to a post-renderer, so it would try to apply the TrainingJob itself. Helm 4 would turn each
    /// rendered object into a hook. Helm deletes a hook before it creates it again, so it would delete the storage claims
    /// with their data. Remove the annotation `helm.sh/hook`: the training then starts when you install the release, and
    /// after each upgrade that changes it.
    Error IS_HOOK = "job-is-hook";
}

/// The API group of a TrainingJob, with which its `apiVersion` starts.
const GROUP: &str = "khorovod.dev/";
/// The annotation that makes an object a hook.
const HOOK: &str = "helm.sh/hook";
/// The annotation in which Helm 4 stores the template of a document.
pub const FILE_NAME: &str = "postrenderer.helm.sh/postrender-filename";

/// The documents that a stream is expected to contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// TrainingJobs. A document that is similar to one is a TrainingJob with a mistake.
    Jobs,
    /// Any documents. Only the API group identifies a TrainingJob.
    Any,
}

/// The result of [`find`].
pub enum Found {
    /// A TrainingJob.
    Job(Node),
    /// A document that contains a TrainingJob but cannot be used. Problems were reported.
    Invalid,
    /// Another document.
    Other,
}

/// Recognises and parses one document. `seen` counts the documents that are or contain TrainingJobs, valid or not.
pub fn find(text: &str, span: Span, expected: Expected, problems: &mut Vec<Problem>, seen: &mut usize) -> Found {
    let has = |word: &str| memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    let other = match expected {
        Expected::Jobs => !has(GROUP) && !has(job::KIND),
        Expected::Any => is_clearly_other(text),
    };
    if other {
        return Found::Other;
    }
    let mut new = Vec::new();
    let found = match yaml::parse(text, span, &mut new) {
        Ok(Some(document)) if is_job(&document, expected) => match document.entry("kind") {
            Some(kind) if kind.value.text() == Some("Expectations") => {
                let message = "this is a file of expectations, not a TrainingJob";
                new.push(Problem::new(&NO_JOB, kind.value.span, message).hint("pass it with `--expect FILE`"));
                Found::Invalid
            }
            _ => Found::Job(document),
        },
        Ok(Some(document)) => {
            new.clear();
            refuse_in_list(&document, &mut new);
            if new.is_empty() { Found::Other } else { Found::Invalid }
        }
        Err(yaml::Unreadable) if claims_to_be_job(text, expected) => Found::Invalid,
        Ok(None) | Err(yaml::Unreadable) => Found::Other,
    };
    if !matches!(found, Found::Other) {
        *seen += 1;
        problems.append(&mut new);
    }
    found
}

/// Whether the top-level lines of a document in block style show that it is another object, such as a ConfigMap that
/// contains a TrainingJob as text. Parsing the document would take a hundred times as long.
fn is_clearly_other(text: &str) -> bool {
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    let (mut version, mut kind) = ("", "");
    for line in text.lines() {
        // Indented lines and list items belong to the key above them.
        if line.is_empty() || line.starts_with([' ', '#']) || line.starts_with("- ") {
            continue;
        }
        let (key, value) = line.split_once(':').unwrap_or_default();
        let value = value.trim();
        let known = match key {
            "apiVersion" => &mut version,
            "kind" => &mut kind,
            _ if !key.is_empty() && is_word(key) => continue,
            _ => return false,
        };
        if !known.is_empty() || value.is_empty() || !is_word(value) {
            return false;
        }
        *known = value;
    }
    !version.is_empty() && !version.starts_with(GROUP) && !kind.is_empty() && !kind.ends_with("List")
}

/// Whether a document is a TrainingJob: its API group is khorovod's. If TrainingJobs are expected, a document of the
/// kind `TrainingJob` also counts if it has no API group or a similar one.
fn is_job(document: &Node, expected: Expected) -> bool {
    let text = |key: &str| document.get(key).and_then(Node::text).unwrap_or_default();
    let version = text("apiVersion");
    let is_similar = || text("kind") == job::KIND && (version.is_empty() || is_similar_group(version));
    version.starts_with(GROUP) || expected == Expected::Jobs && is_similar()
}

/// Whether the API group of an `apiVersion` is probably a misspelling of khorovod's.
fn is_similar_group(version: &str) -> bool {
    let group = version.split('/').next().unwrap_or_default();
    // Long texts are not compared, because computing the edit distance takes quadratic time.
    group.len() <= 64 && (strsim::damerau_levenshtein(group, "khorovod.dev") <= 4 || group.contains("horovod"))
}

/// Whether a document that is not valid YAML is meant to be a TrainingJob, by its `apiVersion` or `kind`.
pub fn claims_to_be_job(text: &str, expected: Expected) -> bool {
    let is_flow = text.trim_start().starts_with('{');
    // In flow style a key may be anywhere. In block style it must be at the start of a line; indented lines may be text in
    // another object.
    let is_separator = |c: char| c == '\n' || is_flow && c == ',';
    text.split(is_separator).any(|entry| {
        let Some((key, value)) = entry.split_once(':') else { return false };
        let key = if is_flow { key.trim_start_matches(['{', ' ', '\t', '\r']) } else { key };
        let value = value.trim().trim_matches(['"', '\'', '}']);
        match key.trim_end().trim_matches(['"', '\'']) {
            "apiVersion" => value.starts_with(GROUP),
            "kind" => expected == Expected::Jobs && value == job::KIND,
            _ => false,
        }
    })
}

/// Reports each TrainingJob among the items of a List and of nested Lists.
fn refuse_in_list(document: &Node, problems: &mut Vec<Problem>) {
    if !document.get("kind").and_then(Node::text).is_some_and(|kind| kind.ends_with("List")) {
        return;
    }
    let Some(Kind::List(items)) = document.get("items").map(|items| &items.kind) else { return };
    for item in items {
        if is_job(item, Expected::Any) {
            let place = item.entry("apiVersion").map_or(item.span, |entry| entry.key_span);
            let problem = Problem::new(&IN_LIST, place, "this TrainingJob is inside a List");
            problems.push(problem.hint("move it to a separate document, after a line `---`"));
        }
        refuse_in_list(item, problems);
    }
}

/// Reports a TrainingJob that is a Helm hook.
pub fn refuse_hook(document: &Node, problems: &mut Vec<Problem>) {
    let annotations = document.get("metadata").and_then(|metadata| metadata.get("annotations"));
    if let Some(hook) = annotations.and_then(|annotations| annotations.entry(HOOK)) {
        let problem = Problem::new(&IS_HOOK, hook.key_span, "a TrainingJob cannot be a Helm hook");
        problems.push(problem.hint(format!("remove the annotation `{HOOK}`")));
    }
}

/// The template from which Helm 3 rendered a document. Helm writes it in a comment before the document.
pub fn helm_source(text: &str) -> Option<&str> {
    let comments = text.lines().take_while(|line| line.is_empty() || line.starts_with('#'));
    // The path is repeated in a comment before each object, so it must not contain a character that ends a line.
    let mut paths = comments.filter_map(|line| line.strip_prefix("# Source: ")).map(str::trim_end);
    paths.find(|path| !path.contains(yaml::ends_line))
}

/// The template from which Helm 4 rendered a document. Helm stores it in an annotation.
pub fn helm_file(document: &Node) -> Option<&str> {
    document.get("metadata")?.get("annotations")?.get(FILE_NAME)?.text()
}
