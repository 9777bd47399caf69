//! Parses one document into a [`Node`] tree: see [`parse`]. The parser is stricter than YAML. It reports constructs
//! that other YAML parsers treat differently (merge keys, tags, keys that are not strings), and constructs that hide
//! mistakes (duplicate keys).

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StrInput};

use super::node::{Entry, Kind, Node};
use super::removal::removal;
use super::scalar::{Scalar, Trap};
use super::syntax_hints::{self, Mistake};
use crate::problem::{Fix, Problem, Span, codes};

/// The maximum nesting depth. No spec is nested so deeply. The limit keeps the recursion from using up the stack.
pub const MAX_DEPTH: usize = 48;
/// The maximum number of values in one document. The values behind an alias count each time the alias is used.
const MAX_NODES: usize = 100_000;

codes! {
    /// The text is not YAML
    ///
    /// No further checks run until you fix this. Frequent causes are a tab in the indentation (YAML allows only spaces), a
    /// value that contains `: ` or ` #` and is not quoted, an indentation that matches no line above, and an unclosed quote
    /// or bracket. The first place shown is where the parser stopped. If a second place is shown, the mistake is there.
    Error SYNTAX = "yaml-syntax";

    /// A map has the same key twice
    ///
    /// Most YAML parsers silently keep the last value. Remove one of the two keys. If these are two documents, add the
    /// missing line `---` between them.
    Error DUPLICATE_KEY = "yaml-duplicate-key";

    /// A merge key (`<<`)
    ///
    /// YAML 1.2 removed merge keys, and parsers merge in different ways. Write the keys in each map. To share fields
    /// between jobs, put them into an overlay: `khorovod render --overlay common.yaml job.yaml`.
    Error MERGE_KEY = "yaml-merge-key";

    /// A tag such as `!!str` or `!secret`
    ///
    /// A spec needs no tags, and YAML parsers treat them differently. To write a string, put the value in quotes.
    Error TAG = "yaml-tag";

    /// A key that is not a string
    ///
    /// Some YAML parsers read the keys `on:`, `yes:`, `1:` and `null:` as booleans, numbers or null. Put the key in quotes:
    /// `"on":`. A list or a map cannot be a key.
    Error KEY = "yaml-key";

    /// The document is nested too deeply or has too many values
    ///
    /// A spec has at most 48 levels and 100,000 values. The values behind an alias count each time the alias is used, so
    /// that a small file cannot expand to a huge one.
    Error TOO_LARGE = "yaml-too-large";
}

/// The error of [`parse`]: the text is not one YAML document. The added problems describe the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Parses the document in `text`, which starts at byte `span.start` of the source `span.source`.
///
/// Returns `Ok(None)` if the document is empty or has only comments, and `Err` if it cannot be parsed. Problems are added to
/// `problems` in both cases. If the result is `Ok`, these problems do not prevent further checks.
pub fn parse(text: &str, span: Span, problems: &mut Vec<Problem>) -> Result<Option<Node>, Unreadable> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH + 1,
        block_nesting_limit: MAX_DEPTH + 1,
    };
    let mut builder = TreeBuilder {
        text,
        events: Parser::new_from_str_with_options(text, options),
        base: span,
        anchors: Vec::new(),
        nodes: 0,
        has_unreadable_key: false,
        problems,
    };
    builder.document()
}

/// Builds the tree from the events of the YAML parser.
struct TreeBuilder<'t, 'p> {
    text: &'t str,
    events: Parser<'t, StrInput<'t>>,
    /// The span of the document in its source.
    base: Span,
    /// The anchors so far: the id of each, and its value.
    anchors: Vec<(usize, Node)>,
    /// The number of values so far.
    nodes: usize,
    /// Whether a key was a list or a map. If so, the document counts as unreadable, because validation would report
    /// only consequences of this mistake.
    has_unreadable_key: bool,
    problems: &'p mut Vec<Problem>,
}

impl<'t> TreeBuilder<'t, '_> {
    /// Converts a span of the parser to a span in the source.
    fn source_span(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        Span { start: self.base.start + range.start, end: self.base.start + range.end, ..self.base }
    }

    /// The next event that is a value or an end.
    fn next(&mut self) -> Result<(Event<'t>, Span), Unreadable> {
        loop {
            match self.events.next_event() {
                Some(Ok((Event::DocumentStart(..) | Event::StreamStart, _))) => {}
                Some(Ok((event, span))) => return Ok((event, self.source_span(&span))),
                None => return Ok((Event::StreamEnd, self.base)),
                Some(Err(error)) => {
                    self.syntax_error(&error);
                    return Err(Unreadable);
                }
            }
        }
    }

    fn syntax_error(&mut self, error: &granit_parser::ScanError) {
        let start = self.base.start + error.marker().byte_offset().unwrap_or_default();
        let start = start.min(self.base.end);
        let tab = syntax_hints::find_tab(self.text, start - self.base.start, error.kind());
        let start = tab.map_or(start, |at| self.base.start + at);
        let span = Span { start, end: (start + 1).min(self.base.end), ..self.base };
        let info = error.info();
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return self.too_deep(span);
        }
        let mut problem = Problem::new(&SYNTAX, span, format!("YAML syntax error: {info}"));
        let before = self.text.get(..start - self.base.start).unwrap_or_default();
        let mut edit = tab.map(|at| syntax_hints::without_tab(self.text, at));
        problem.hint = match syntax_hints::locate_mistake(self.text, before, error.kind()) {
            Some(Mistake { at, label, hint, fix }) => {
                edit = fix;
                let marked = Span { start: self.base.start + at.start, end: self.base.start + at.end, ..self.base };
                problem = if marked.start == span.start { problem.here(label) } else { problem.and(marked, label) };
                Some(hint)
            }
            None => syntax_hints::hint_for(error.kind()),
        };
        if let Some((at, text)) = edit {
            let replaced = Span { start: self.base.start + at.start, end: self.base.start + at.end, ..self.base };
            problem = problem.fix(replaced, text);
        }
        self.problems.push(problem);
    }

    /// Reports a second document. This happens if lines end with CR only: YAML treats CR as a line break, so the parser finds
    /// a `---` that [`pieces`](super::pieces) does not.
    fn second_document(&mut self, at: Span) -> Result<Option<Node>, Unreadable> {
        let problem = Problem::new(&SYNTAX, at, "a second document starts here");
        self.problems.push(problem.hint("put a line `---` before it, and end lines with LF or CRLF instead of CR"));
        Err(Unreadable)
    }

    fn too_deep(&mut self, span: Span) {
        let message = format!("the document is nested more than {MAX_DEPTH} levels deep");
        self.problems.push(Problem::new(&TOO_LARGE, span, message).here("too deep from here on"));
    }

    fn too_many(&mut self, span: Span) {
        let message = format!("the document has more than {MAX_NODES} values, including the values of each alias");
        self.problems.push(Problem::new(&TOO_LARGE, span, message).here("too many from here on"));
    }

    fn document(&mut self) -> Result<Option<Node>, Unreadable> {
        match self.next()? {
            (Event::StreamEnd | Event::DocumentEnd, _) => Ok(None),
            (event, span) => {
                let node = self.node(event, span, 0)?;
                // Parse the rest of the text too, because it may contain a syntax error.
                loop {
                    match self.next()? {
                        (Event::StreamEnd, _) => break,
                        (Event::DocumentEnd, _) => {}
                        (_, at) => return self.second_document(at),
                    }
                }
                if self.has_unreadable_key { Err(Unreadable) } else { Ok(Some(node)) }
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Unreadable> {
        self.nodes += 1;
        if depth > MAX_DEPTH {
            self.too_deep(span);
            return Err(Unreadable);
        }
        if self.nodes > MAX_NODES {
            self.too_many(span);
            return Err(Unreadable);
        }
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                // A tagged scalar counts as quoted, so that only the tag is reported.
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let mut text = text.into_owned();
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) && self.ends_mid_line(span) {
                    text.truncate(text.trim_end_matches('\n').len());
                }
                let kind = Kind::Scalar { text, plain };
                (Node { span, kind }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                (self.list(span, depth)?, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                (self.map(span, depth)?, anchor)
            }
            Event::Alias(id) => (self.alias(id, span)?, 0),
            _ => {
                self.problems.push(Problem::new(&SYNTAX, span, "YAML syntax error: a value is missing here"));
                return Err(Unreadable);
            }
        };
        if anchor != 0 {
            self.anchors.push((anchor, node.clone()));
        }
        Ok(node)
    }

    /// Whether a block scalar is at the end of a document that has no final line break. The parser adds a line break to
    /// the value of such a scalar, and the caller must remove it.
    fn ends_mid_line(&self, span: Span) -> bool {
        let last = self.text.rsplit(['\n', '\r']).next().unwrap_or_default();
        span.end >= self.base.start + self.text.len() && !last.trim().is_empty()
    }

    fn list(&mut self, span: Span, depth: usize) -> Result<Node, Unreadable> {
        let mut items = Vec::new();
        let mut end = span.end;
        loop {
            match self.next()? {
                (Event::SequenceEnd, last) => {
                    end = end.max(flow_end(span, last));
                    return Ok(Node { span: Span { end, ..span }, kind: Kind::List(items) });
                }
                (event, at) => {
                    let item = self.node(event, at, depth + 1)?;
                    end = end.max(item.span.end);
                    items.push(item);
                }
            }
        }
    }

    fn map(&mut self, span: Span, depth: usize) -> Result<Node, Unreadable> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut end = span.end;
        loop {
            let (key, key_span) = match self.next()? {
                (Event::MappingEnd, last) => {
                    self.refuse_duplicates(&mut entries, depth);
                    end = end.max(flow_end(span, last));
                    return Ok(Node { span: Span { end, ..span }, kind: Kind::Map(entries) });
                }
                (event, at) => {
                    let problems_before = self.problems.len();
                    let key = self.node(event, at, depth + 1)?;
                    if !matches!(key.kind, Kind::Scalar { .. }) {
                        // Drop the problems inside the key, because the key itself is reported.
                        self.problems.truncate(problems_before);
                    }
                    (key, at)
                }
            };
            let (event, at) = self.next()?;
            let value = self.node(event, at, depth + 1)?;
            end = end.max(value.span.end).max(key_span.end);
            if let Some(key) = self.key(&key) {
                entries.push(Entry { key, key_span, value });
            }
        }
    }

    /// Reports duplicate keys and keeps the first entry of each. The entries are sorted to find duplicates, so that a map with
    /// many keys does not take quadratic time.
    fn refuse_duplicates(&mut self, entries: &mut Vec<Entry>, depth: usize) {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key));
        let is_same = |a: &usize, b: &usize| entries[*a].key == entries[*b].key;
        let repeated: Vec<&[usize]> = order.chunk_by(is_same).filter(|same| same.len() > 1).collect();
        let mut duplicates = Vec::new();
        // Two duplicate keys at the top level: probably two documents without a `---` between them.
        let second = depth == 0 && repeated.len() > 1;
        let first_again = repeated.iter().flat_map(|same| &same[1..]).min().copied();
        for same in repeated {
            for again in &same[1..] {
                let (entry, first) = (&entries[*again], &entries[same[0]]);
                let message = format!("the key `{}` is set twice", entry.key);
                let problem = Problem::new(&DUPLICATE_KEY, entry.key_span, message)
                    .here("set again here")
                    .and(first.key_span, "first set here");
                let remove = |at: usize| {
                    let span = removal(self.text, self.base.start, entries, at)?;
                    Some(Fix { span, text: String::new() })
                };
                let at = Span { end: entry.key_span.start, ..entry.key_span };
                self.problems.push(if second {
                    let problem = problem.hint("put a line `---` before the second document");
                    if Some(*again) == first_again { problem.fix(at, "---\n") } else { problem }
                } else if entry.value.to_exact_json() == first.value.to_exact_json() {
                    Problem { fix: remove(*again), ..problem.hint("remove one of the two, which have the same value") }
                } else {
                    let hint = "remove one of the two; most YAML parsers use the last one";
                    let (fix, other_fix) = (remove(*again), remove(same[0]));
                    Problem { fix, other_fix, ..problem.hint(hint).by_choice() }
                });
                duplicates.push(entry.key_span);
            }
        }
        if !duplicates.is_empty() {
            duplicates.sort_unstable();
            entries.retain(|entry| duplicates.binary_search(&entry.key_span).is_err());
        }
    }

    /// The text of a key. Reports a key that is not a string, and returns `None` for it.
    fn key(&mut self, node: &Node) -> Option<String> {
        let Kind::Scalar { text, plain } = &node.kind else {
            self.has_unreadable_key = true;
            let (before, after) = self.text.split_at(node.span.start - self.base.start);
            let problem = match after.starts_with("{{") || before.ends_with('{') && after.starts_with('{') {
                true => Problem::new(&KEY, node.span, "this is a template that has not been rendered")
                    .hint("render it first: `helm template CHART | khorovod render -`"),
                false => Problem::new(&KEY, node.span, format!("{} cannot be a key", node.describe()))
                    .hint("write the key as a string in quotes"),
            };
            self.problems.push(problem);
            return None;
        };
        if *plain && (text.starts_with("//") || text.starts_with("/*")) {
            self.has_unreadable_key = true;
            let end = node.span.start + text.split('"').next().unwrap_or_default().trim_end().len();
            let span = Span { end: end.min(node.span.end), ..node.span };
            let problem =
                Problem::new(&SYNTAX, span, "YAML syntax error: this is not a comment, but a part of the next key");
            self.problems.push(problem.hint("a comment begins with `#`: replace `//`, and remove `/*` and `*/`"));
            return None;
        }
        if *plain && text == "<<" {
            let problem = Problem::new(&MERGE_KEY, node.span, "merge keys (`<<`) are not supported");
            self.problems.push(problem.hint("write the keys in this map"));
            return None;
        }
        if !plain || matches!(Scalar::plain(text), Scalar::Text(_)) {
            return Some(text.clone());
        }
        let meaning = match Scalar::plain(text) {
            Scalar::Trap(Trap::Word(_)) | Scalar::Bool(_) => "a boolean",
            Scalar::Null => "nothing",
            _ => "a number",
        };
        let message = format!("YAML parsers read the key `{text}` as {meaning}, not as a string");
        let problem = Problem::new(&KEY, node.span, message);
        self.problems.push(match node.span.start == node.span.end {
            true => problem.hint("write the key before the colon"),
            false => problem.hint(format!("put quotes around it: `\"{text}\"`")).fix(node.span, format!("\"{text}\"")),
        });
        None
    }

    /// A copy of the value that an alias refers to, with the span of the alias.
    fn alias(&mut self, id: usize, span: Span) -> Result<Node, Unreadable> {
        let Some((_, node)) = self.anchors.iter().find(|(anchor, _)| *anchor == id) else {
            let problem =
                Problem::new(&SYNTAX, span, "YAML syntax error: the alias is inside the value of its own anchor");
            self.problems.push(problem);
            return Err(Unreadable);
        };
        let node = Node { span, kind: node.kind.clone() };
        self.nodes += count_nodes(&node);
        if self.nodes > MAX_NODES {
            self.too_many(span);
            return Err(Unreadable);
        }
        Ok(node)
    }

    /// Reports the tag of the value at `span`.
    fn refuse_tag(&mut self, tagged: bool, span: Span) {
        if !tagged {
            return;
        }
        // The span of the event is the span of the value. The tag is before it, and an anchor may be between them.
        let before = self.text.get(..span.start - self.base.start).unwrap_or_default();
        let tag_start = before.rfind('!').and_then(|at| {
            let start = at - before[..at].rsplit(char::is_whitespace).next().map_or(0, str::len);
            before[start..].find('!').map(|first| start + first)
        });
        let tag = tag_start.and_then(|at| Some((at, before[at..].split_whitespace().next()?)));
        let (place, tag) = tag.map_or((span, "!"), |(at, tag)| {
            let start = self.base.start + at;
            (Span { start, end: start + tag.len(), ..span }, tag)
        });
        let problem = Problem::new(&TAG, place, format!("the tag `{tag}` is not supported"));
        self.problems.push(problem.hint("remove it; to write a string, put the value in quotes"));
    }
}

/// The end of a list or map in brackets. In block style there are no brackets, and the caller uses the end of the last
/// value.
fn flow_end(start: Span, last: Span) -> usize {
    if start.end > start.start { last.end } else { start.end }
}

/// The number of values in a tree, including its root and the keys of maps.
fn count_nodes(node: &Node) -> usize {
    match &node.kind {
        Kind::Scalar { .. } => 1,
        Kind::List(items) => 1 + items.iter().map(count_nodes).sum::<usize>(),
        Kind::Map(entries) => 1 + entries.iter().map(|entry| 1 + count_nodes(&entry.value)).sum::<usize>(),
    }
}
