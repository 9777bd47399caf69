//! A reader for the subset of Jsonnet that parameter files use.

use khorovod_compiler::problem::Span;
use khorovod_compiler::yaml::{Entry, Kind, Node};

/// The limit for nested values.
const DEEPEST: usize = 32;

/// The message for a value that Jsonnet would have to compute.
pub const COMPUTED: &str = "this is computed: only plain values can be imported";

/// Reads objects, lists, strings, numbers, `true`, `false`, `null`, comments, and an object with a local name: `local
/// params = {…}; params`.
pub struct Jsonnet<'a> {
    text: &'a str,
    pub at: usize,
    span: Span,
    depth: usize,
}

impl<'a> Jsonnet<'a> {
    pub fn new(text: &'a str, span: Span) -> Self {
        Self { text, at: 0, span, depth: 0 }
    }

    pub fn document(&mut self) -> Result<Node, &'static str> {
        self.blank();
        let local = self.rest().starts_with("local ");
        if local {
            let Some(equals) = self.rest().find('=') else { return Err(COMPUTED) };
            self.at += equals + 1;
        }
        let node = self.value()?;
        self.blank();
        // After `local NAME = {…};`, only the name may follow.
        let rest = self.rest().trim_start_matches(';').trim();
        if rest.contains(['{', '[', '(']) || !local && !rest.is_empty() { Err(COMPUTED) } else { Ok(node) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let comment = ["//", "#"].iter().any(|mark| trimmed.starts_with(mark));
            let skip = if comment {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += skip;
        }
    }

    fn take(&mut self, c: char) -> bool {
        self.blank();
        let there = self.rest().starts_with(c);
        self.at += if there { c.len_utf8() } else { 0 };
        there
    }

    pub fn value(&mut self) -> Result<Node, &'static str> {
        self.blank();
        let start = self.at;
        let kind = match self.rest().chars().next() {
            Some('{') => self.nested(Self::map)?,
            Some('[') => self.nested(Self::list)?,
            Some('"' | '\'' | '@') => Kind::Scalar { text: self.string()?, plain: false },
            Some(_) => {
                let word = self.word();
                let number = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
                if !number && !matches!(word.as_str(), "true" | "false" | "null") {
                    return Err(COMPUTED);
                }
                Kind::Scalar { text: word, plain: true }
            }
            None => return Err("the text ends before a value"),
        };
        let span = Span { start, end: self.at, ..self.span };
        self.blank();
        if self.rest().starts_with(['+', '-', '*', '/', '%', '(', '.']) {
            return Err(COMPUTED);
        }
        Ok(Node { span, kind })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Kind, &'static str>) -> Result<Kind, &'static str> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("this is nested too deeply for parameters");
        }
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn map(&mut self) -> Result<Kind, &'static str> {
        let mut entries = Vec::new();
        self.take('{');
        while !self.take('}') {
            let start = self.at;
            let quoted = self.rest().starts_with(['"', '\'']);
            let key = if quoted { self.string()? } else { self.word() };
            let key_span = Span { start, end: self.at, ..self.span };
            if key.is_empty() || self.take('+') || !self.take(':') {
                return Err(COMPUTED);
            }
            while self.take(':') {}
            let value = self.value()?;
            entries.retain(|entry: &Entry| entry.key != key);
            entries.push(Entry { key, key_span, value });
            if !self.take(',') && !self.rest().starts_with('}') {
                return Err("a comma or `}` is missing here");
            }
        }
        Ok(Kind::Map(entries))
    }

    fn list(&mut self) -> Result<Kind, &'static str> {
        let mut items = Vec::new();
        self.take('[');
        while !self.take(']') {
            items.push(self.value()?);
            if !self.take(',') && !self.rest().starts_with(']') {
                return Err("a comma or `]` is missing here");
            }
        }
        Ok(Kind::List(items))
    }

    fn word(&mut self) -> String {
        let end = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '-'));
        let word = self.rest()[..end.unwrap_or(self.rest().len())].to_owned();
        self.at += word.len();
        word
    }

    /// Reads a string in single or double quotes. A string after `@` has no escapes.
    fn string(&mut self) -> Result<String, &'static str> {
        const OPEN: &str = "this string does not end";
        let verbatim = self.take('@');
        let mut chars = self.text[self.at..].char_indices();
        let quote = chars.next().map(|(_, c)| c).ok_or(OPEN)?;
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at += at + c.len_utf8();
                return Ok(text);
            }
            if c != '\\' || verbatim {
                text.push(c);
                continue;
            }
            match chars.next().ok_or(OPEN)?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    text.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                }
                other => text.push(other),
            }
        }
        Err(OPEN)
    }
}
