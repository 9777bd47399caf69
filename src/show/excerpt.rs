//! The few lines of a source around a problem's labels, safe to show and short enough to read.

use std::ops::Range;

use crate::problem::{Label, Position, Source, Sources, Span};

use super::clean::{clean, clean_line};

/// Labels further apart than this get an excerpt each.
const NEAR: usize = 4_000;
/// Longer lines are cut around what is marked.
const WIDTH: usize = 160;
/// Shown before the mark in a cut line.
const LEAD: usize = 50;

/// Consecutive lines of one source, with what to mark in them.
pub struct Excerpt<'a> {
    /// The file's name.
    pub file: String,
    /// Where its first label stands.
    pub at: Position,
    /// The number of its first line.
    pub first_line: usize,
    /// The lines.
    pub text: String,
    /// Byte ranges in `text`.
    pub marks: Vec<Mark<'a>>,
    /// Whether what stands before a mark was cut off.
    pub cut: bool,
}

/// A place to underline.
pub struct Mark<'a> {
    pub span: Range<usize>,
    pub label: &'a str,
    /// The problem's main place.
    pub main: bool,
}

/// Excerpts that show every label, the main one's first; secrets are dots in them.
pub fn of<'a>(sources: &Sources, labels: &'a [Label], secrets: &[Span]) -> Vec<Excerpt<'a>> {
    let mut groups: Vec<Vec<(&'a Label, bool)>> = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let near = |group: &&mut Vec<(&Label, bool)>| {
            group.iter().all(|(other, _)| {
                other.span.source == label.span.source && other.span.start.abs_diff(label.span.start) < NEAR
            })
        };
        match groups.iter_mut().find(near) {
            Some(group) => group.push((label, index == 0)),
            None => groups.push(vec![(label, index == 0)]),
        }
    }
    groups
        .iter()
        .filter_map(|group| sources.get(group[0].0.span.source).map(|source| excerpt(sources, source, group, secrets)))
        .collect()
}

fn excerpt<'a>(sources: &Sources, source: &Source, group: &[(&'a Label, bool)], secrets: &[Span]) -> Excerpt<'a> {
    let text = source.text.as_str();
    let id = group[0].0.span.source;
    let secrets: Vec<Range<usize>> =
        secrets.iter().filter(|span| span.source == id).map(|span| span.start..span.end).collect();
    let spans: Vec<Range<usize>> = group.iter().map(|(label, _)| first_line_of(text, label.span)).collect();
    let first = spans.iter().map(|span| span.start).min().unwrap_or_default();
    let last = spans.iter().map(|span| span.end).max().unwrap_or_default();
    let mut excerpt = Excerpt {
        file: clean_line(&source.name).into_owned(),
        at: sources.position(group[0].0.span),
        first_line: sources.position(Span { source: group[0].0.span.source, start: first, end: first }).line,
        text: String::new(),
        marks: group.iter().map(|(label, main)| Mark { span: 0..0, label: &label.text, main: *main }).collect(),
        cut: false,
    };
    let mut start = text[..first].rfind('\n').map_or(0, |at| at + 1);
    while start <= last {
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let inside = |span: &Range<usize>| span.start >= start && span.start <= end;
        add_line(&mut excerpt, text, start..end, &spans, &secrets, inside);
        excerpt.text.push('\n');
        start = end + 1;
    }
    excerpt
}

/// Adds one line, cut around the first mark in it, and moves the marks to where they stand now.
fn add_line(
    excerpt: &mut Excerpt<'_>,
    text: &str,
    line: Range<usize>,
    spans: &[Range<usize>],
    secrets: &[Range<usize>],
    inside: impl Fn(&Range<usize>) -> bool,
) {
    let line = line.start..line.start + text[line.clone()].trim_end_matches('\r').len();
    let first = spans.iter().filter(|span| inside(span)).map(|span| span.start).min();
    // A mark may stand in the line's end, which is not shown.
    let mark = first.map_or(line.start, |first| first.min(line.end));
    let window = if line.len() <= WIDTH {
        line.clone()
    } else {
        let from = boundary(text, mark.saturating_sub(LEAD).max(line.start));
        from..boundary(text, (from + WIDTH).min(line.end))
    };
    if window.start > line.start {
        excerpt.text.push('…');
        excerpt.cut = true;
    }
    let base = excerpt.text.len();
    // Tabs stay: the renderer, which knows where its columns are, widens them.
    let visible = |to: usize| -> String {
        let end = boundary(text, to.clamp(window.start, window.end));
        let chars = text[window.start..end].char_indices();
        let hidden = |at: usize| secrets.iter().any(|secret| secret.contains(&(window.start + at)));
        clean(&chars.map(|(at, c)| if hidden(at) { '•' } else { c }).collect::<String>()).into_owned()
    };
    for (index, span) in spans.iter().enumerate().filter(|(_, span)| inside(span)) {
        excerpt.marks[index].span = base + visible(span.start).len()..base + visible(span.end).len();
    }
    excerpt.text.push_str(&visible(window.end));
    if window.end < line.end {
        excerpt.text.push('…');
    }
}

/// A place on one line: what goes on below is left unmarked.
fn first_line_of(text: &str, span: Span) -> Range<usize> {
    let start = boundary(text, span.start.min(text.len()));
    let end = boundary(text, span.end.clamp(start, text.len()));
    let end = text[start..end].find('\n').map_or(end, |at| start + at);
    start..end
}

/// The nearest character boundary at or before.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
