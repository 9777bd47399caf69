//! Texts and places in them.

use std::borrow::Cow;

/// Which text a span is in: an index into [`Sources`].
pub type SourceId = u32;

/// A byte range in one of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// Which text.
    pub source: SourceId,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// Whether it lies inside another.
    pub fn within(self, outer: Self) -> bool {
        self.source == outer.source && self.start >= outer.start && self.end <= outer.end
    }
}

/// A line and a column, both from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// One text that was read, under the name a person knows it by.
#[derive(Debug, Clone)]
pub struct Source {
    /// A file's name, `<stdin>`, or `--set workers.gpus=8`.
    pub name: String,
    /// All of it that matters.
    pub text: String,
    /// The number of its first line, which is above 1 where it is a part of a stream.
    pub first_line: usize,
}

/// Every text of one call.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and names it.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Cow<'static, str>>) -> SourceId {
        self.add_part(name, text, 1)
    }

    /// Adds a part of a text, which starts in line `first_line`.
    pub fn add_part(
        &mut self,
        name: impl Into<String>,
        text: impl Into<Cow<'static, str>>,
        first_line: usize,
    ) -> SourceId {
        self.0.push(Source { name: name.into(), text: text.into().into_owned(), first_line });
        SourceId::try_from(self.0.len() - 1).unwrap_or(SourceId::MAX)
    }

    /// The text a span is in.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.0.get(id as usize)
    }

    /// The line and column a span starts at.
    pub fn position(&self, span: Span) -> Position {
        let (text, first_line) = self.get(span.source).map_or(("", 1), |source| (&source.text, source.first_line));
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + first_line,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// The text a span covers.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.source).and_then(|source| source.text.get(span.start..span.end)).unwrap_or_default()
    }
}
