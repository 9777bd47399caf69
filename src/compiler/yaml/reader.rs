//! One document's text → a [`Node`] tree, strictly: what readers of YAML disagree on, or what
//! hides a mistake, is a problem.

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StrInput};

use super::layout;
use super::node::{Entry, Kind, Node};
use super::scalar::{Scalar, Trap};
use crate::problem::{Problem, Span, codes};

/// Deeper than any spec; keeps the stack small.
pub const MAX_DEPTH: usize = 48;
/// Values in one document, aliases counted as often as they are used.
const MAX_NODES: usize = 100_000;

codes! {
    /// The text is not YAML
    ///
    /// Nothing can be read before this is mended. Frequent causes: a tab in the indentation (YAML
    /// allows spaces alone), a value with `: ` or ` #` in it that needs quotes, an indentation
    /// that fits no line above, an unclosed quote or bracket. The first place shown is where reading
    /// ended; where another is marked, the mistake stands there.
    Error SYNTAX = "yaml-syntax";

    /// A key stands twice in one map
    ///
    /// Most readers of YAML keep the last one and say nothing. Remove one of them. Two documents without a line
    /// `---` between them look so too.
    Error DUPLICATE_KEY = "yaml-duplicate-key";

    /// A merge key (`<<`)
    ///
    /// Merge keys left YAML with version 1.2, and its readers disagree on what they do. Write the
    /// keys out, or keep what several jobs share in an overlay: `khorovod render -f base.yaml job.yaml`.
    Error MERGE_KEY = "yaml-merge-key";

    /// A tag such as `!!str` or `!secret`
    ///
    /// The spec needs no tags, and its readers treat them differently. Quote the value to make it a text.
    Error TAG = "yaml-tag";

    /// A key that is no plain text
    ///
    /// `on:`, `yes:`, `1:` and `null:` are booleans, numbers or nothing to some readers of YAML,
    /// and a list or map as a key to none of ours. Put quotes around the key: `"on":`.
    Error KEY = "yaml-key";

    /// The document is nested too deeply or has too many values
    ///
    /// A spec has at most 48 levels and 100,000 values, aliases counted as often as they are used.
    /// What is larger is not a training spec, or an alias bomb.
    Error TOO_LARGE = "yaml-too-large";
}

/// The text is not one YAML document; the problems that were pushed give the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

/// Reads the one document in `text`, which starts at byte `span.start` of source `span.source`.
///
/// `Ok(None)` when it holds nothing but comments. Problems that do not hinder the reading are pushed.
pub fn parse(text: &str, span: Span, problems: &mut Vec<Problem>) -> Result<Option<Node>, Unreadable> {
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH + 1,
        block_nesting_limit: MAX_DEPTH + 1,
    };
    let mut tree = Tree {
        text,
        events: Parser::new_from_str_with_options(text, options),
        base: span,
        anchors: Vec::new(),
        nodes: 0,
        unreadable: false,
        problems,
    };
    tree.document()
}

struct Tree<'t, 'p> {
    text: &'t str,
    events: Parser<'t, StrInput<'t>>,
    base: Span,
    /// Anchor id and the value it names.
    anchors: Vec<(usize, Node)>,
    nodes: usize,
    /// A key was no scalar: what else would be said of this document only follows from that.
    unreadable: bool,
    problems: &'p mut Vec<Problem>,
}

impl<'t> Tree<'t, '_> {
    fn place(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        Span { start: self.base.start + range.start, end: self.base.start + range.end, ..self.base }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), Unreadable> {
        loop {
            match self.events.next_event() {
                Some(Ok((Event::DocumentStart(..) | Event::StreamStart, _))) => {}
                Some(Ok((event, span))) => return Ok((event, self.place(&span))),
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
        let span = Span { start, end: (start + 1).min(self.base.end), ..self.base };
        let what = error.info();
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return self.too_deep(span);
        }
        let mut problem = Problem::new(&SYNTAX, span, format!("this is not YAML: {what}"));
        let before = self.text.get(..start - self.base.start).unwrap_or_default();
        problem.hint = match layout::cause(self.text, before, error.kind()) {
            Some(layout::Cause { at, label, hint }) => {
                let place = Span { start: self.base.start + at.start, end: self.base.start + at.end, ..self.base };
                problem = if place.start == span.start { problem.here(label) } else { problem.and(place, label) };
                Some(hint)
            }
            None => layout::usual(error.kind()).map(str::to_owned),
        };
        self.problems.push(problem);
    }

    /// Where lines end with CR alone, YAML sees a `---` that nobody else who cuts streams does.
    fn second_document(&mut self, at: Span) -> Result<Option<Node>, Unreadable> {
        let problem = Problem::new(&SYNTAX, at, "a second document begins here");
        self.problems.push(problem.hint("put a line `---` before it; lines end with LF or CRLF, not with CR alone"));
        Err(Unreadable)
    }

    fn too_deep(&mut self, span: Span) {
        let message = format!("the document is nested more than {MAX_DEPTH} levels deep");
        self.problems.push(Problem::new(&TOO_LARGE, span, message).here("too deep from here on"));
    }

    fn too_many(&mut self, span: Span) {
        let message =
            format!("the document has more than {MAX_NODES} values, aliases counted as often as they are used");
        self.problems.push(Problem::new(&TOO_LARGE, span, message).here("too many from here on"));
    }

    fn document(&mut self) -> Result<Option<Node>, Unreadable> {
        match self.next()? {
            (Event::StreamEnd | Event::DocumentEnd, _) => Ok(None),
            (event, span) => {
                let node = self.node(event, span, 0)?;
                // What follows must be read too: a mistake there is one of this document.
                loop {
                    match self.next()? {
                        (Event::StreamEnd, _) => break,
                        (Event::DocumentEnd, _) => {}
                        (_, at) => return self.second_document(at),
                    }
                }
                if self.unreadable { Err(Unreadable) } else { Ok(Some(node)) }
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
                // What a tag was put on is not judged by its form as well.
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let mut text = text.into_owned();
                if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) && self.breaks_off(span) {
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
                self.problems.push(Problem::new(&SYNTAX, span, "this is not YAML: a value is missing here"));
                return Err(Unreadable);
            }
        };
        if anchor != 0 {
            self.anchors.push((anchor, node.clone()));
        }
        Ok(node)
    }

    /// Whether a block ends with the document, in the middle of a line: then its text has no line end, and the parser
    /// gives it one.
    fn breaks_off(&self, span: Span) -> bool {
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
                    let known = self.problems.len();
                    let key = self.node(event, at, depth + 1)?;
                    if !matches!(key.kind, Kind::Scalar { .. }) {
                        // What is wrong inside it does not matter.
                        self.problems.truncate(known);
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

    /// Keeps the first of each key. By order, so that a map of many keys costs little more than a sort.
    fn refuse_duplicates(&mut self, entries: &mut Vec<Entry>, depth: usize) {
        let mut order: Vec<&Entry> = entries.iter().collect();
        order.sort_by(|a, b| a.key.cmp(&b.key));
        let mut again = Vec::new();
        // Two jobs that nothing divides.
        let second = depth == 0 && order.chunk_by(|a, b| a.key == b.key).filter(|same| same.len() > 1).count() > 1;
        let hint = if second { "put a line `---` before the second document" } else { "remove one of the two" };
        for same in order.chunk_by(|a, b| a.key == b.key) {
            for entry in &same[1..] {
                let message = format!("the key `{}` stands twice", entry.key);
                self.problems.push(
                    Problem::new(&DUPLICATE_KEY, entry.key_span, message)
                        .here("again here")
                        .and(same[0].key_span, "first here")
                        .hint(hint),
                );
                again.push(entry.key_span);
            }
        }
        if !again.is_empty() {
            again.sort_unstable();
            entries.retain(|entry| again.binary_search(&entry.key_span).is_err());
        }
    }

    /// The text of a key, or a problem.
    fn key(&mut self, node: &Node) -> Option<String> {
        let Kind::Scalar { text, plain } = &node.kind else {
            self.unreadable = true;
            let (before, after) = self.text.split_at(node.span.start - self.base.start);
            let problem = match after.starts_with("{{") || before.ends_with('{') && after.starts_with('{') {
                true => Problem::new(&KEY, node.span, "a template stands here that nobody has filled in")
                    .hint("render it first: `helm template CHART | khorovod render -`"),
                false => Problem::new(&KEY, node.span, format!("{} stands where a key should", node.describe()))
                    .hint("a key is a text: put it in quotes"),
            };
            self.problems.push(problem);
            return None;
        };
        if *plain && text == "<<" {
            let problem = Problem::new(&MERGE_KEY, node.span, "merge keys (`<<`) are not read");
            self.problems.push(problem.hint("write the keys out"));
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
        let message = format!("the key `{text}` is {meaning} to readers of YAML, not a text");
        let problem = Problem::new(&KEY, node.span, message);
        self.problems.push(match node.span.start == node.span.end {
            true => problem.hint("write the key before the colon"),
            false => problem.hint(format!("put quotes around it: `\"{text}\"`")).fix(node.span, format!("\"{text}\"")),
        });
        None
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<Node, Unreadable> {
        let Some((_, node)) = self.anchors.iter().find(|(anchor, _)| *anchor == id) else {
            let problem = Problem::new(&SYNTAX, span, "this is not YAML: the alias stands inside what it names");
            self.problems.push(problem);
            return Err(Unreadable);
        };
        let node = Node { span, kind: node.kind.clone() };
        self.nodes += count(&node);
        if self.nodes > MAX_NODES {
            self.too_many(span);
            return Err(Unreadable);
        }
        Ok(node)
    }

    fn refuse_tag(&mut self, tagged: bool, span: Span) {
        if !tagged {
            return;
        }
        // The parser's place is the value's: the tag stands before it, perhaps with an anchor between.
        let before = self.text.get(..span.start - self.base.start).unwrap_or_default();
        let word = before.rfind('!').and_then(|at| {
            let start = at - before[..at].rsplit(char::is_whitespace).next().map_or(0, str::len);
            before[start..].find('!').map(|first| start + first)
        });
        let tag = word.and_then(|at| Some((at, before[at..].split_whitespace().next()?)));
        let (place, tag) = tag.map_or((span, "!"), |(at, tag)| {
            let start = self.base.start + at;
            (Span { start, end: start + tag.len(), ..span }, tag)
        });
        let problem = Problem::new(&TAG, place, format!("tags are not read, and `{tag}` is one"));
        self.problems.push(problem.hint("remove it; quotes around the value make it a text"));
    }
}

/// Where a flow collection ends; a block collection ends with its last value instead.
fn flow_end(start: Span, last: Span) -> usize {
    if start.end > start.start { last.end } else { start.end }
}

fn count(node: &Node) -> usize {
    match &node.kind {
        Kind::Scalar { .. } => 1,
        Kind::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Kind::Map(entries) => 1 + entries.iter().map(|entry| 1 + count(&entry.value)).sum::<usize>(),
    }
}
