//! The texts of a call ([`Sources`]) and places in them ([`Span`]).

use std::borrow::Cow;

/// The text that a span is in: an index into [`Sources`].
pub type SourceId = u32;

/// A byte range in one of the [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

impl Span {
    /// Whether it is inside another span, or equal to it.
    pub fn within(self, outer: Self) -> bool {
        self.source == outer.source && self.start >= outer.start && self.end <= outer.end
    }
}

/// The start of the line that contains the byte at `at`, or that ends there.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// A line and a column. The column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

/// One text that was read, and its name in messages.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Source {
    /// The name of a file, `<stdin>`, or `--set workers.gpus=8`.
    pub name: String,
    /// The text, or the part of it that was parsed.
    pub text: String,
    /// The number of its first line, which is above 1 if it is a part of a stream.
    pub first_line: usize,
}

/// The texts that one call reads.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text with a name.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Cow<'static, str>>) -> SourceId {
        self.add_part(name, text, 1)
    }

    /// Adds a part of a text that starts in line `first_line`.
    pub fn add_part(
        &mut self,
        name: impl Into<String>,
        text: impl Into<Cow<'static, str>>,
        first_line: usize,
    ) -> SourceId {
        self.0.push(Source { name: name.into(), text: text.into().into_owned(), first_line });
        SourceId::try_from(self.0.len() - 1).unwrap_or(SourceId::MAX)
    }

    /// The text that a span is in.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.0.get(id as usize)
    }

    /// The line and column at which a span starts.
    pub fn position(&self, span: Span) -> Position {
        let (text, first_line) = self.get(span.source).map_or(("", 1), |source| (&source.text, source.first_line));
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        Position {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + first_line,
            column: before[line_start(text, start)..].chars().count() + 1,
        }
    }

    /// The text that a span covers.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.source).and_then(|source| source.text.get(span.start..span.end)).unwrap_or_default()
    }
}
