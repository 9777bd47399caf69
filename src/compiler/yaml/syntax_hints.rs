//! Hints for YAML syntax errors. The parser often stops some lines after the actual mistake, so [`locate_mistake`] searches
//! the text before that place. The main type is [`Mistake`].

use std::ops::Range;

use granit_parser::ErrorKind;

use super::pasted;
use crate::problem::line_start;

/// The likely cause of a syntax error.
pub struct Mistake {
    /// The byte range of the mistake in the document.
    pub at: Range<usize>,
    /// A description of the text in that range.
    pub label: String,
    /// How to fix it.
    pub hint: String,
    /// The edit that does what the hint describes, if there is one.
    pub fix: Option<Edit>,
}

/// The bytes to replace in the document, and their replacement.
pub type Edit = (Range<usize>, String);

/// The hint for a line whose indentation matches no line above.
pub const UNEVEN: &str = "start this line in the same column as the other keys or items of its map or list";

/// The edits that give the line that contains the byte `at` the indentation of a map or a list above it. Each edit moves this line
/// only, or also the lines below it that are indented as far. The text may still have errors after an edit.
pub fn reindented(text: &str, at: usize) -> Vec<Edit> {
    let start = text.get(..at).map_or(0, |before| line_start(before, at));
    let line = text[start..].split_inclusive('\n').next().unwrap_or_default();
    let own = indent(line);
    let below = || text[start + line.len()..].split_inclusive('\n');
    let with_block: usize = below().take_while(|line| !has_content(line) || indent(line) >= own).map(str::len).sum();
    let mut columns = Vec::new();
    let mut least = usize::MAX;
    for above in text[..start].lines().rev().filter(|line| has_content(line)) {
        let column = indent(above);
        if column >= least {
            continue;
        }
        // A line that begins a map or a list, and an item that is a map, have a deeper line below.
        if above.trim_start().starts_with("- ") || least == usize::MAX && above.trim_end().ends_with(':') {
            columns.push(column + 2);
        }
        columns.push(column);
        least = column;
        if least == 0 {
            break;
        }
    }
    columns.sort_unstable();
    columns.dedup();
    let mut edits: Vec<Edit> = Vec::new();
    for column in columns.into_iter().filter(|column| *column != own) {
        for end in [start + line.len(), start + line.len() + with_block] {
            let moved = |line: &str| match has_content(line) {
                true => format!(
                    "{}{}",
                    " ".repeat((indent(line) + column).saturating_sub(own)),
                    line.trim_start_matches(' ')
                ),
                false => line.to_owned(),
            };
            let edit = (start..end, text[start..end].split_inclusive('\n').map(moved).collect());
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    edits
}

/// Searches a document for the mistake that causes a syntax error. `before` is the part of `text` before the byte at
/// which the parser stopped. Returns `None` if none of the known mistakes is found.
pub fn locate_mistake(text: &str, before: &str, kind: &ErrorKind) -> Option<Mistake> {
    let start = line_start(before, before.len());
    let line = text[start..].lines().next().unwrap_or_default();
    let found =
        |at: Range<usize>, label: String, hint: &str| Some(Mistake { at, label, hint: hint.to_owned(), fix: None });
    if let Some(sign) = pasted::find_sign(text) {
        return found(sign.at, format!("this seems to be {}", sign.what), sign.hint);
    }
    let own = pasted::slashes_in(line).map(|at| start + at.start..start + at.end);
    let last = text[..start].lines().rfind(|line| !line.trim().is_empty()).and_then(|last| {
        let at = text[..start].rfind(last)?;
        pasted::slashes_in(last).map(|range| at + range.start..at + range.end)
    });
    if let Some(at) = own.or(last) {
        return found(
            at,
            "not a comment in YAML".to_owned(),
            "a comment begins with `#`: replace `//`, and remove `/*` and `*/`",
        );
    }
    if line.trim().len() > 1 && line.trim().bytes().all(|byte| byte == b'-') {
        return found(
            start..start + line.len(),
            "not a separator of documents".to_owned(),
            "write `---`, in the first column",
        );
    }
    if line.trim() == "..." {
        return found(
            start..start + line.len(),
            "lines seem to be left out here".to_owned(),
            "write the lines that belong here",
        );
    }
    if line.starts_with("```") {
        return found(start..start + 3, "Markdown".to_owned(), "remove the lines with backticks around the spec");
    }
    if let Some(marker) = ["<<<<<<<", "=======", ">>>>>>>"].iter().find(|marker| line.starts_with(**marker)) {
        let hint = "keep one of the two versions, and remove the lines that Git has inserted";
        return found(start..start + marker.len(), "a merge conflict of Git".to_owned(), hint);
    }
    if let Some((at, open)) = find_template(line) {
        let hint = "render the template first: `helm template CHART | khorovod render -`, or the command of your tool";
        return found(start + at..start + at + open.len(), "a template that has not been rendered".to_owned(), hint);
    }
    if let Some(at) = find_wide_colon(line) {
        let label = "not an ASCII colon and space".to_owned();
        return found(start + at.start..start + at.end, label, "replace it with `: `");
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
        let label = format!("this `{open}` is not closed");
        let rest = text[at..].lines().next().unwrap_or_default();
        // The bracket is closed, but in a comment.
        if let Some((_, comment)) = rest.split_once(" #").filter(|(_, comment)| comment.contains(close)) {
            let word: String = comment.chars().take_while(|c| !c.is_whitespace() && !",]}".contains(*c)).collect();
            return found(at..at + 1, label, &format!("` #{word}` begins a comment: put the value in quotes"));
        }
        // Only if the next line begins another key, so that nothing behind the bracket belongs to it.
        let end = at + rest.trim_end().len();
        let is_last = !rest.contains(" #") && text.get(end..start).is_some_and(|between| between.trim().is_empty());
        let fix = is_last.then(|| (end..end, close.to_string()));
        return Some(Mistake { at: at..at + 1, label, hint: format!("add `{close}` at its end"), fix });
    }
    if matches!(kind, ErrorKind::MappingValueNotAllowed | ErrorKind::SimpleKeyExpected)
        && let Some(colon) = find_missing_space(text, start)
    {
        let line = text[line_start(text, colon)..].lines().next().unwrap_or_default().trim();
        return Some(Mistake {
            at: colon..colon + 1,
            label: "the space after this colon is missing".to_owned(),
            hint: format!("write `{}`", line.replacen(':', ": ", 1)),
            fix: Some((colon + 1..colon + 1, " ".to_owned())),
        });
    }
    if !matches!(kind, ErrorKind::MappingValueNotAllowed) {
        return None;
    }
    let last = text[..start].lines().rfind(|line| has_content(line))?;
    let at = text[..start].rfind(last)? + indent(last);
    let at = at..at + last.trim().len();
    match last.split_once(": ") {
        Some((_, value)) if has_content(value) && indent(line) > indent(last) => {
            // Only if no further line is as far to the right.
            let next = text[start + line.len()..].lines().find(|line| has_content(line)).unwrap_or_default();
            let fix = (indent(next) <= indent(last)).then(|| (start..start + indent(line), " ".repeat(indent(last))));
            let label = "this key already has a value".to_owned();
            let key =
                |line: &str| line.split(':').next().unwrap_or_default().trim().trim_start_matches("- ").to_owned();
            let hint = format!("start `{}` in the same column as `{}` above", key(line), key(last));
            Some(Mistake { at, label, hint, fix })
        }
        None if !last.trim_end().ends_with(':') && line.matches(": ").count() == 1 => {
            found(at, "there is no `: ` after this key".to_owned(), "put `: ` between the key and its value")
        }
        _ => None,
    }
}

/// The byte offset of the colon of `gpus:8`, in the line that starts at `start` or in the one before it.
fn find_missing_space(text: &str, start: usize) -> Option<usize> {
    let last = text[..start].lines().rfind(|line| has_content(line)).and_then(|last| text[..start].rfind(last));
    [Some(start), last].into_iter().flatten().find_map(|start| {
        let line = text[start..].lines().next().unwrap_or_default();
        let key = line.trim_start_matches([' ', '-']);
        let (name, value) = key.split_once(':')?;
        let is_name =
            name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(|b| b.is_ascii_alphanumeric());
        // `s3://bucket` is a URL.
        let is_value =
            !value.starts_with(' ') && !value.starts_with("//") && !value.is_empty() && !value.contains(": ");
        (is_name && is_value).then_some(start + line.len() - value.len() - 1)
    })
}

fn has_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim().starts_with('#')
}

/// The number of spaces that a line begins with.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The edit that replaces the indentation around a tab by spaces: as many as the line before has, or two more if that line
/// begins a map or a list.
pub fn without_tab(text: &str, tab: usize) -> Edit {
    let start = line_start(text, tab);
    let width = text[start..].len() - text[start..].trim_start_matches([' ', '\t']).len();
    let last = text[..start].lines().rfind(|line| has_content(line)).unwrap_or_default();
    let more = if last.trim_end().ends_with([':', ',', '[', '{']) { 2 } else { 0 };
    (start..start + width, " ".repeat(indent(last) + more))
}

/// The byte offset and the text of an opening bracket of a template in a line: `{{- if`, `{%`, `<%`.
fn find_template(line: &str) -> Option<(usize, &'static str)> {
    let closed = [("{{", "}}"), ("{%", "%}"), ("<%", "%>")];
    closed.into_iter().find_map(|(open, close)| {
        let at = line.find(open)?;
        // `{{` also begins a map whose key is a map. In a template, a space, a dash or a dot follows.
        let is_template = line[at + 2..].starts_with([' ', '-', '.', '%']) && line[at..].contains(close);
        is_template.then_some((at, open))
    })
}

/// The byte range of a full-width colon, or of a colon and a space that is not ASCII, which were probably meant to end a key.
fn find_wide_colon(line: &str) -> Option<Range<usize>> {
    let at = line.find([':', '：'])?;
    let key = line[..at].trim_start_matches([' ', '-']);
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut chars = line[at..].chars();
    let (colon, next) = (chars.next()?, chars.next().unwrap_or(' '));
    let is_wide_space = next.is_whitespace() && !next.is_ascii();
    let end = at + colon.len_utf8() + if is_wide_space { next.len_utf8() } else { 0 };
    (is_key && (colon != ':' || is_wide_space)).then_some(at..end)
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
    let mut start = line_start(text, at);
    text[start..].split_inclusive('\n').take(2).find_map(|line| {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let tab = line[..indent].find('\t').map(|tab| start + tab);
        start += line.len();
        tab
    })
}

/// The hint for a kind of syntax error whose mistake was not located: its most frequent cause.
pub fn hint_for(kind: &ErrorKind) -> Option<String> {
    if let ErrorKind::UnexpectedCharacter { character } = kind
        && (character.is_control() || *character > '\u{fff0}')
    {
        return Some(match character {
            '\0' => "remove it: no text can contain it".to_owned(),
            other => format!(
                "remove it, or write it as an escape sequence in double quotes: `\"\\u{:04x}\"`",
                u32::from(*other)
            ),
        });
    }
    frequent_cause(kind).map(str::to_owned)
}

fn frequent_cause(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        kind if is_about_tab(kind) => "YAML does not allow tabs in the indentation; use spaces",
        ErrorKind::SimpleKeyExpected => "put `: ` between the key and its value",
        ErrorKind::MappingValueNotAllowed => {
            "put a value that contains `: ` in quotes; otherwise check the indentation"
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => UNEVEN,
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnclosedFlowCollection { .. } => "close the `{` or `[` before this, or add the missing comma",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => "close the quote before this",
        ErrorKind::UnknownQuotedScalarEscape => "in double quotes `\\` starts an escape sequence; use single quotes",
        ErrorKind::UnexpectedCharacter { .. } => "put the value in quotes",
        ErrorKind::UnknownAnchor => {
            "put a string that starts with `*` in quotes; if you mean an alias, define its anchor with `&` earlier in the same document"
        }
        _ => return None,
    })
}
