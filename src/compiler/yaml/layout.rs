//! What lies behind a text that is no YAML: where a parser gives up is seldom where the mistake stands.

use std::ops::Range;

use granit_parser::ErrorKind;

/// Why a text cannot be read.
pub struct Cause {
    /// Where the mistake stands.
    pub at: Range<usize>,
    /// What is there.
    pub label: String,
    /// The way out.
    pub hint: String,
}

/// What the lines above a mistake show; `before` is the text up to where the parser gave up.
pub fn cause(text: &str, before: &str, kind: &ErrorKind) -> Option<Cause> {
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let found = |at: Range<usize>, label: String, hint: &str| Some(Cause { at, label, hint: hint.to_owned() });
    if line.starts_with("```") {
        return found(start..start + 3, "Markdown".to_owned(), "remove such lines around the spec");
    }
    if let Some(at) = wide_space(&text[..start + line.len()]) {
        let what = "no plain space, as web pages have them";
        let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
        return found(at..end, what.to_owned(), "type the spaces anew");
    }
    if let Some((at, open)) = unclosed(before).filter(|(at, _)| *at < start) {
        let close = if open == '[' { ']' } else { '}' };
        return found(at..at + 1, format!("this `{open}` is not closed"), &format!("put `{close}` where it ends"));
    }
    if !matches!(kind, ErrorKind::MappingValueNotAllowed) {
        return None;
    }
    let says = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let last = text[..start].lines().rfind(|line| says(line))?;
    let at = text[..start].rfind(last)? + indent(last);
    let at = at..at + last.trim().len();
    match last.split_once(": ") {
        Some((_, value)) if says(value) && indent(line) > indent(last) => {
            found(at, "has a value already".to_owned(), "begin this line in the same column as the one above")
        }
        None if !last.trim_end().ends_with(':') && line.matches(": ").count() == 1 => {
            found(at, "a key and no `: `".to_owned(), "put `: ` between the key and its value")
        }
        _ => None,
    }
}

/// A space in an indentation that YAML takes for a letter.
fn wide_space(text: &str) -> Option<usize> {
    let mut start = 0;
    text.split_inclusive('\n').find_map(|line| {
        let at = start + line.len() - line.trim_start_matches(' ').len();
        start += line.len();
        text[at..].starts_with(|c: char| c.is_whitespace() && !c.is_ascii()).then_some(at)
    })
}

/// The last bracket that is open at the end of a text, and where; strings and comments aside.
fn unclosed(text: &str) -> Option<(usize, char)> {
    let (mut open, mut quote, mut last) = (Vec::new(), None, ' ');
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') => drop(chars.next()),
            (Some(begun), _) if begun == c => quote = None,
            // An apostrophe is none.
            (None, '"' | '\'') if " [{,:\n".contains(last) => quote = Some(c),
            (None, '#') if last.is_whitespace() => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            (None, '[' | '{') if !open.is_empty() || " [{\n".contains(last) => open.push((at, c)),
            (None, ']' | '}') => drop(open.pop()),
            _ => {}
        }
        last = c;
    }
    open.pop()
}

/// What most often lies behind a mistake.
pub fn usual(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInPlainScalar => "YAML allows no tabs in the indentation; use spaces",
        ErrorKind::MappingValueNotAllowed => "a value with `: ` in it needs quotes; else look at the indentation",
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => {
            "begin this line in the same column as the keys or items it belongs to"
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnclosedFlowCollection { .. } => "a `{` or `[` before this is not closed, or a comma is missing",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => "a quote before this is not closed",
        ErrorKind::UnknownQuotedScalarEscape => "in double quotes `\\` begins an escape; use single quotes",
        ErrorKind::UnexpectedCharacter { character } if character.is_control() || *character > '\u{fff0}' => {
            "remove it, or write it as an escape in double quotes: `\"\\u007f\"`"
        }
        ErrorKind::UnexpectedCharacter { .. } => "put the value in quotes",
        ErrorKind::UnknownAnchor => {
            "put a text that begins with `*` in quotes; else name it with `&` before this, in the same document"
        }
        _ => return None,
    })
}
