//! Replaces expansions of a text and keeps every other byte.

use std::ops::Range;

use super::lexer::name_length;
use super::parser::tokenize;
use super::token::{Command, CommandKind, Part, PartKind, Statement, TokenKind, Word};

/// The surroundings of an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// Outside of quotes: a shell splits the result of the expansion into words.
    Bare,
    /// Within `"…"`.
    Quoted,
    /// Within `$((…))` or `$[…]`.
    Sum,
}

/// An expansion, or a text in double quotes, that may be replaced.
#[derive(Debug)]
pub struct Place<'t> {
    pub kind: &'t PartKind,
    /// The text in the form in which it is written.
    pub written: &'t str,
    pub context: Context,
}

/// The replacement of an expansion.
pub enum Change {
    /// This text replaces the expansion.
    To(String),
    /// The expansion is kept, with everything in it.
    Keep,
    /// The expansion is kept, but expansions inside it may be replaced.
    Within,
}

/// Replaces expansions of a text.
pub fn rewrite(text: &str, mut change: impl FnMut(&Place<'_>) -> Change) -> String {
    let mut changes = Vec::new();
    for token in tokenize(text) {
        if let TokenKind::Word(word) = &token.kind {
            parts(text, &word.parts, Context::Bare, &mut change, &mut changes);
        }
    }
    let (mut made, mut at) = (String::with_capacity(text.len()), 0);
    for (span, with) in changes {
        made.push_str(&text[at..span.start]);
        made.push_str(&with);
        at = span.end;
    }
    made + &text[at..]
}

fn parts(
    text: &str,
    all: &[Part],
    context: Context,
    change: &mut dyn FnMut(&Place<'_>) -> Change,
    changes: &mut Vec<(Range<usize>, String)>,
) {
    for part in all {
        match part.kind {
            PartKind::Literal | PartKind::Escaped | PartKind::Joined | PartKind::Single | PartKind::Ansi => continue,
            _ => {}
        }
        match change(&Place { kind: &part.kind, written: &text[part.span.clone()], context }) {
            Change::To(with) => changes.push((part.span.clone(), with)),
            Change::Keep => {}
            Change::Within => match &part.kind {
                PartKind::Double(inner) => parts(text, inner, Context::Quoted, change, changes),
                PartKind::Braced(inner) => parts(text, inner, context, change, changes),
                PartKind::Arithmetic(inner) => parts(text, inner, Context::Sum, change, changes),
                PartKind::Command(inner) | PartKind::Process(inner) => {
                    for word in words(inner) {
                        parts(text, &word.parts, Context::Bare, change, changes);
                    }
                }
                PartKind::List(words) => {
                    for word in words {
                        parts(text, &word.parts, Context::Bare, change, changes);
                    }
                }
                _ => {}
            },
        }
    }
}

/// Returns all words of statements, in their order.
fn words(statements: &[Statement]) -> Vec<&Word> {
    let mut words: Vec<&Word> = Vec::new();
    statements.iter().flat_map(|statement| &statement.commands).for_each(|command| add(command, &mut words));
    words.sort_by_key(|word| word.span.start);
    words
}

fn add<'s>(command: &'s Command, words: &mut Vec<&'s Word>) {
    words.extend(command.redirections.iter().map(|redirection| &redirection.target));
    match &command.kind {
        CommandKind::Simple { assignments, words: all } => {
            words.extend(assignments.iter().map(|assignment| &assignment.word));
            words.extend(all);
        }
        CommandKind::Compound { words: all, body, .. } => {
            words.extend(all);
            body.iter().flat_map(|statement| &statement.commands).for_each(|command| add(command, words));
        }
        CommandKind::Test { words: all } => words.extend(all),
        CommandKind::Function { body, .. } => {
            body.iter().flat_map(|statement| &statement.commands).for_each(|command| add(command, words));
        }
        CommandKind::Arithmetic { .. } | CommandKind::Unknown => {}
    }
}

/// Returns the variable of `$NAME`, `${NAME}`, `${NAME[@]}` or `${NAME[*]}`, and whether the expansion has all elements
/// of an array.
pub fn reference(written: &str) -> Option<(&str, bool)> {
    let behind = written.strip_prefix('$')?;
    let Some(inner) = behind.strip_prefix('{') else {
        return (name_length(behind) == behind.len() && !behind.is_empty()).then_some((behind, false));
    };
    let name = &inner[..name_length(inner)];
    match &inner[name.len()..] {
        _ if name.is_empty() => None,
        "}" => Some((name, false)),
        "[@]}" | "[*]}" => Some((name, true)),
        _ => None,
    }
}

/// Reads `${NAME:-…}` or `${NAME-…}`, an expansion with a default. Returns the name of the variable.
pub fn with_default(written: &str) -> Option<&str> {
    let inner = written.strip_prefix("${")?;
    let name = &inner[..name_length(inner)];
    let rest = &inner[name.len()..];
    (!name.is_empty() && rest.trim_start_matches(':').starts_with('-') && rest.ends_with('}')).then_some(name)
}

/// Converts a word of a shell to a text for the inside of double quotes. There, the text has the same value as the
/// word. None if the text is more than one word, or if it depends on files or on a command between backquotes.
pub fn within_quotes(text: &str) -> Option<String> {
    let tokens = tokenize(text);
    let mut words = Vec::new();
    for token in &tokens {
        match &token.kind {
            TokenKind::Word(word) => words.push(word),
            TokenKind::Continuation | TokenKind::Blank if words.is_empty() => {}
            _ => return None,
        }
    }
    let [word] = words.as_slice() else { return Some(String::new()).filter(|_| words.is_empty() && text.is_empty()) };
    if text[word.span.clone()].starts_with('~') {
        return None;
    }
    let mut made = String::new();
    quoted(text, &word.parts, false, &mut made)?;
    Some(made)
}

fn quoted(text: &str, all: &[Part], inside: bool, made: &mut String) -> Option<()> {
    let mut joined = false;
    for part in all {
        let written = &text[part.span.clone()];
        match &part.kind {
            PartKind::Literal => {
                // The line after the backslash is usually indented: remove the indentation.
                let written = if joined { written.trim_start_matches([' ', '\t']) } else { written };
                written.chars().for_each(|c| literal(c, made));
            }
            PartKind::Escaped => written.chars().skip(1).for_each(|c| literal(c, made)),
            PartKind::Joined => {}
            PartKind::Single => written[1..written.len() - 1].chars().for_each(|c| literal(c, made)),
            PartKind::Ansi => super::unquoted(text, std::slice::from_ref(part)).chars().for_each(|c| literal(c, made)),
            PartKind::Double(inner) => quoted(text, inner, true, made)?,
            PartKind::Variable | PartKind::Braced(_) => match reference(written) {
                // Write braces, because the text after the variable may look like a part of its name.
                Some((name, false)) => made.extend(["${", name, "}"]),
                _ => made.push_str(written),
            },
            PartKind::Command(_) | PartKind::Arithmetic(_) => made.push_str(written),
            PartKind::Backquoted | PartKind::Process(_) | PartKind::List(_) => return None,
        }
        joined = part.kind == PartKind::Joined && made.ends_with(' ') && inside;
    }
    Some(())
}

/// Appends a character as it is written within double quotes.
fn literal(c: char, made: &mut String) {
    if "\"\\$`".contains(c) {
        made.push('\\');
    }
    made.push(c);
}

/// Converts the text within double quotes to shell text without these quotes. The shell splits the result into the same
/// words as an unquoted `$NAME`, if the value of `NAME` is the text.
pub fn without_quotes(inner: &str) -> String {
    let text = format!("\"{inner}\"");
    let tokens = tokenize(&text);
    let Some(TokenKind::Word(word)) = tokens.first().map(|token| &token.kind) else { return inner.to_owned() };
    let [Part { kind: PartKind::Double(parts), .. }] = word.parts.as_slice() else { return inner.to_owned() };
    let mut made = String::new();
    for part in parts {
        let written = &text[part.span.clone()];
        match part.kind {
            PartKind::Literal => {
                for c in written.chars() {
                    match c {
                        '\n' => made.push(' '),
                        '\'' | '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '{' | '#' | '~' => {
                            made.extend(['\\', c]);
                        }
                        c => made.push(c),
                    }
                }
            }
            PartKind::Joined => {}
            _ => made.push_str(written),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansions_are_replaced_where_they_expand() {
        let text = "a $N '$N' \"$N\" \\$N $NN ${N}x $(b $N) $((N + $N)) # $N";
        let made = rewrite(text, |place| match reference(place.written) {
            Some(("N", false)) => Change::To("4".to_owned()),
            _ => Change::Within,
        });
        assert_eq!(made, "a 4 '$N' \"4\" \\$N $NN 4x $(b 4) $((N + 4)) # $N");
    }

    #[test]
    fn a_word_is_written_for_double_quotes() {
        for (word, expected) in [
            ("a", Some("a")),
            ("'it'\"'\"'s $5'", Some("it's \\$5")),
            ("\"$A-b\"", Some("${A}-b")),
            ("\"a \\\n    b\"", Some("a b")),
            ("a\\ b", Some("a b")),
            ("$(date)", Some("$(date)")),
            ("`date`", None),
            ("a b", None),
            ("~/x", None),
        ] {
            assert_eq!(within_quotes(word).as_deref(), expected, "{word}");
        }
        assert_eq!(without_quotes("a * it's $B"), "a \\* it\\'s $B");
    }
}
