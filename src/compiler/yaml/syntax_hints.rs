//! Hints for YAML syntax errors. The parser often stops some lines after the actual mistake, so [`locate_mistake`] searches
//! the text before that place. The main type is [`Mistake`].

use std::ops::Range;

use granit_parser::ErrorKind;

/// The likely cause of a syntax error.
pub struct Mistake {
    /// The byte range of the mistake in the document.
    pub at: Range<usize>,
    /// A description of the text in that range.
    pub label: String,
    /// How to fix it.
    pub hint: String,
}

/// Searches a document for the mistake that causes a syntax error. `before` is the part of `text` before the byte at
/// which the parser stopped. Returns `None` if none of the known mistakes is found.
pub fn locate_mistake(text: &str, before: &str, kind: &ErrorKind) -> Option<Mistake> {
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let found = |at: Range<usize>, label: String, hint: &str| Some(Mistake { at, label, hint: hint.to_owned() });
    if line.starts_with("```") {
        return found(start..start + 3, "Markdown".to_owned(), "remove the lines with backticks around the spec");
    }
    if let Some(at) = find_wide_space(&text[..start + line.len()]) {
        let label = "not an ASCII space, probably copied from a web page";
        let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
        return found(at..end, label.to_owned(), "replace it with ASCII spaces");
    }
    if is_about_tab(kind) {
        return None;
    }
    if let Some((at, open)) = find_unclosed_bracket(before).filter(|(at, _)| *at < start) {
        let close = if open == '[' { ']' } else { '}' };
        return found(at..at + 1, format!("this `{open}` is not closed"), &format!("add `{close}` at its end"));
    }
    if !matches!(kind, ErrorKind::MappingValueNotAllowed) {
        return None;
    }
    let has_content = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let last = text[..start].lines().rfind(|line| has_content(line))?;
    let at = text[..start].rfind(last)? + indent(last);
    let at = at..at + last.trim().len();
    match last.split_once(": ") {
        Some((_, value)) if has_content(value) && indent(line) > indent(last) => {
            found(at, "this key already has a value".to_owned(), "start the next line in the same column as this one")
        }
        None if !last.trim_end().ends_with(':') && line.matches(": ").count() == 1 => {
            found(at, "there is no `: ` after this key".to_owned(), "put `: ` between the key and its value")
        }
        _ => None,
    }
}

/// The byte offset of the first non-ASCII space in an indentation. YAML treats such a character as part of the text.
fn find_wide_space(text: &str) -> Option<usize> {
    let mut start = 0;
    text.split_inclusive('\n').find_map(|line| {
        let at = start + line.len() - line.trim_start_matches(' ').len();
        start += line.len();
        text[at..].starts_with(|c: char| c.is_whitespace() && !c.is_ascii()).then_some(at)
    })
}

/// The byte offset and the character of the last bracket that is still open at the end of `text`. Brackets in quoted scalars
/// and in comments are ignored.
fn find_unclosed_bracket(text: &str) -> Option<(usize, char)> {
    let (mut open, mut quote, mut last) = (Vec::new(), None, ' ');
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') => drop(chars.next()),
            (Some(opening), _) if opening == c => quote = None,
            // An apostrophe inside a word does not open a quote.
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

fn is_about_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar
    )
}

/// The byte offset of the tab that causes an error at `at`. The tab is in the indentation of the same line, or of the
/// next line, because the parser reports some tabs at the end of the line above.
pub fn find_tab(text: &str, at: usize, kind: &ErrorKind) -> Option<usize> {
    if !is_about_tab(kind) {
        return None;
    }
    let mut start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    text[start..].split_inclusive('\n').take(2).find_map(|line| {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let tab = line[..indent].find('\t').map(|tab| start + tab);
        start += line.len();
        tab
    })
}

/// The hint for a kind of syntax error whose mistake was not located: its most frequent cause.
pub fn hint_for(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        kind if is_about_tab(kind) => "YAML does not allow tabs in the indentation; use spaces",
        ErrorKind::SimpleKeyExpected => "put `: ` between the key and its value",
        ErrorKind::MappingValueNotAllowed => {
            "put a value that contains `: ` in quotes; otherwise check the indentation"
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => {
            "start this line in the same column as the other keys or items of its map or list"
        }
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnclosedFlowCollection { .. } => "close the `{` or `[` before this, or add the missing comma",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => "close the quote before this",
        ErrorKind::UnknownQuotedScalarEscape => "in double quotes `\\` starts an escape sequence; use single quotes",
        ErrorKind::UnexpectedCharacter { character } if character.is_control() || *character > '\u{fff0}' => {
            "remove it, or write it as an escape sequence in double quotes: `\"\\u007f\"`"
        }
        ErrorKind::UnexpectedCharacter { .. } => "put the value in quotes",
        ErrorKind::UnknownAnchor => {
            "put a string that starts with `*` in quotes; if you mean an alias, define its anchor with `&` earlier in the same document"
        }
        _ => return None,
    })
}
