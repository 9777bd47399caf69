//! Excerpts of a source around the labels of a problem, safe to print and short enough to read.

use std::ops::Range;

use crate::problem::{Label, Position, Source, Sources, Span, line_start};

use super::clean::{clean, clean_line};

/// Labels that are further apart than this many bytes get separate excerpts.
const NEAR: usize = 4_000;
/// The maximum length of a line in bytes. A longer line is shortened around its mark.
const WIDTH: usize = 160;
/// The number of bytes before the mark in a shortened line.
const LEAD: usize = 50;

/// Consecutive lines of one source, with marks.
pub struct Excerpt<'a> {
    /// The name of the file.
    pub file: String,
    /// The position of its first label.
    pub at: Position,
    /// The number of its first line.
    pub first_line: usize,
    /// The lines.
    pub text: String,
    /// Byte ranges in `text`.
    pub marks: Vec<Mark<'a>>,
    /// Whether text before a mark was left out.
    pub is_cut: bool,
}

/// A place to underline.
pub struct Mark<'a> {
    pub span: Range<usize>,
    pub label: &'a str,
    /// Whether it is the main place of the problem.
    pub main: bool,
}

/// Returns excerpts that together contain every label. The excerpt with the main label comes first. Secrets are
/// replaced by dots.
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
        is_cut: false,
    };
    let mut start = line_start(text, first);
    while start <= last {
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let inside = |span: &Range<usize>| span.start >= start && span.start <= end;
        add_line(&mut excerpt, text, start..end, &spans, &secrets, inside);
        excerpt.text.push('\n');
        start = end + 1;
    }
    excerpt
}

/// Adds one line, shortened around its first mark, and sets the positions of the marks in the new text.
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
    // A mark may be in the line end, which is not printed. Then it is moved to the end of the line.
    let mark = first.map_or(line.start, |first| first.min(line.end));
    let window = if line.len() <= WIDTH {
        line.clone()
    } else {
        let from = boundary(text, mark.saturating_sub(LEAD).max(line.start));
        from..boundary(text, (from + WIDTH).min(line.end))
    };
    if window.start > line.start {
        excerpt.text.push('…');
        excerpt.is_cut = true;
    }
    let base = excerpt.text.len();
    // Tabs are kept, because the renderer expands them.
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

/// The part of a span that is in its first line; only this part is marked.
fn first_line_of(text: &str, span: Span) -> Range<usize> {
    let start = boundary(text, span.start.min(text.len()));
    let end = boundary(text, span.end.clamp(start, text.len()));
    let end = text[start..end].find('\n').map_or(end, |at| start + at);
    start..end
}

/// The nearest character boundary at or before a byte offset.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
