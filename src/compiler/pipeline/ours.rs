//! Tells our documents from others', which pass as they are.

use memchr::memmem;

use crate::job;
use crate::problem::{Problem, Span, codes};
use crate::yaml::{self, Kind, Node};

codes! {
    /// A TrainingJob stands inside a List
    ///
    /// A document is replaced by its objects as a whole, and nothing else in a stream is touched. So a TrainingJob must
    /// be a document of its own, after a line `---`. Helm 4 takes Lists apart before a post-renderer sees them; Helm 3
    /// and kubectl do not.
    Error IN_LIST = "job-in-list";

    /// A TrainingJob is a Helm hook
    ///
    /// Helm 3 sends no hook to a post-renderer, so it would try to apply the TrainingJob itself. Helm 4 would make a hook
    /// of each object, and a hook is deleted before it is made again, the storage claims with what is on them too. Take
    /// the annotation `helm.sh/hook` away: the training then starts with the release, and with each upgrade that changes
    /// it.
    Error IS_HOOK = "job-is-hook";
}

/// The API group of our documents, as it begins an `apiVersion`.
const GROUP: &str = "khorovod.dev/";
/// The annotation that makes an object a hook.
const HOOK: &str = "helm.sh/hook";
/// The annotation that says where Helm 4 has a document from.
const FILE_NAME: &str = "postrenderer.helm.sh/postrender-filename";

/// Whose documents are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// A person wrote them for us: what is nearly ours is ours with a mistake in it.
    Ours,
    /// Anybody's: only our API group is ours.
    Others,
}

/// What a document is.
pub enum Found {
    /// Ours, and readable.
    Ours(Node),
    /// Ours or about ours, but wrong; problems tell why.
    Wrong,
    /// Somebody else's.
    Other,
}

/// Looks at one document. `seen` counts those that are or want to be ours.
pub fn find(text: &str, span: Span, among: Among, problems: &mut Vec<Problem>, seen: &mut usize) -> Found {
    let has = |word: &str| memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    let other = match among {
        Among::Ours => !has(GROUP) && !has(job::KIND),
        Among::Others => plainly_other(text),
    };
    if other {
        return Found::Other;
    }
    let mut new = Vec::new();
    let found = match yaml::parse(text, span, &mut new) {
        Ok(Some(document)) if is_ours(&document, among) => Found::Ours(document),
        Ok(Some(document)) => {
            new.clear();
            refuse_in_list(&document, &mut new);
            if new.is_empty() { Found::Other } else { Found::Wrong }
        }
        Err(yaml::Unreadable) if claims_ours(text, among) => Found::Wrong,
        Ok(None) | Err(yaml::Unreadable) => Found::Other,
    };
    if !matches!(found, Found::Other) {
        *seen += 1;
        problems.append(&mut new);
    }
    found
}

/// Whether a document in the usual style says at first sight that it is another's, a ConfigMap with one of ours in it
/// for example. To read it as YAML would take a hundred times as long.
fn plainly_other(text: &str) -> bool {
    let word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    let (mut version, mut kind) = ("", "");
    for line in text.lines() {
        // What is indented, or an item, belongs to the key above it.
        if line.is_empty() || line.starts_with([' ', '#']) || line.starts_with("- ") {
            continue;
        }
        let (key, value) = line.split_once(':').unwrap_or_default();
        let value = value.trim();
        let known = match key {
            "apiVersion" => &mut version,
            "kind" => &mut kind,
            _ if !key.is_empty() && word(key) => continue,
            _ => return false,
        };
        if !known.is_empty() || value.is_empty() || !word(value) {
            return false;
        }
        *known = value;
    }
    !version.is_empty() && !version.starts_with(GROUP) && !kind.is_empty() && !kind.ends_with("List")
}

/// A document of our group; where our own are expected, also of our kind with no group, or with one that is nearly ours.
fn is_ours(document: &Node, among: Among) -> bool {
    let text = |key: &str| document.get(key).and_then(Node::text).unwrap_or_default();
    let version = text("apiVersion");
    let nearly = || text("kind") == job::KIND && (version.is_empty() || nearly_ours(version));
    version.starts_with(GROUP) || among == Among::Ours && nearly()
}

fn nearly_ours(version: &str) -> bool {
    let group = version.split('/').next().unwrap_or_default();
    // What is long is not near, and would take its time to find that out.
    group.len() <= 64 && (strsim::damerau_levenshtein(group, "khorovod.dev") <= 4 || group.contains("horovod"))
}

/// Whether a broken document says that it is ours.
pub fn claims_ours(text: &str, among: Among) -> bool {
    let flow = text.trim_start().starts_with('{');
    // In flow style the keys stand anywhere; else at the beginning of a line, or it is another's text.
    let divides = |c: char| c == '\n' || flow && c == ',';
    text.split(divides).any(|entry| {
        let Some((key, value)) = entry.split_once(':') else { return false };
        let key = if flow { key.trim_start_matches(['{', ' ', '\t', '\r']) } else { key };
        let value = value.trim().trim_matches(['"', '\'', '}']);
        match key.trim_end().trim_matches(['"', '\'']) {
            "apiVersion" => value.starts_with(GROUP),
            "kind" => among == Among::Ours && value == job::KIND,
            _ => false,
        }
    })
}

/// Reports every one of ours among the items of a List, and of Lists in it.
fn refuse_in_list(document: &Node, problems: &mut Vec<Problem>) {
    if !document.get("kind").and_then(Node::text).is_some_and(|kind| kind.ends_with("List")) {
        return;
    }
    let Some(Kind::List(items)) = document.get("items").map(|items| &items.kind) else { return };
    for item in items {
        if is_ours(item, Among::Others) {
            let place = item.entry("apiVersion").map_or(item.span, |entry| entry.key_span);
            let problem = Problem::new(&IN_LIST, place, "this TrainingJob stands inside a List");
            problems.push(problem.hint("make it a document of its own, after a line `---`"));
        }
        refuse_in_list(item, problems);
    }
}

/// Reports one of ours that is a Helm hook.
pub fn refuse_hook(document: &Node, problems: &mut Vec<Problem>) {
    let annotations = document.get("metadata").and_then(|metadata| metadata.get("annotations"));
    if let Some(hook) = annotations.and_then(|annotations| annotations.entry(HOOK)) {
        let problem = Problem::new(&IS_HOOK, hook.key_span, "a TrainingJob cannot be a Helm hook");
        problems.push(problem.hint(format!("remove the annotation `{HOOK}`")));
    }
}

/// The template Helm 3 has a document from: it says so in a comment before it.
pub fn helm_source(text: &str) -> Option<&str> {
    let comments = text.lines().take_while(|line| line.is_empty() || line.starts_with('#'));
    // It is said again of each object: what some reader of YAML takes for the end of a line is no part of a path.
    let mut paths = comments.filter_map(|line| line.strip_prefix("# Source: ")).map(str::trim_end);
    paths.find(|path| !path.contains(yaml::ends_line))
}

/// The template Helm 4 has a document from: it says so in an annotation.
pub fn helm_file(document: &Node) -> Option<&str> {
    document.get("metadata")?.get("annotations")?.get(FILE_NAME)?.text()
}
