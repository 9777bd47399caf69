//! Splits one simple command into words, if that is possible without a shell.

use std::ops::Range;

use super::lexer::{is_name, unquoted};
use super::parser::tokenize;
use super::token::{Part, PartKind, TokenKind};

/// One word of a simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// The text of the word, without its quotes.
    pub text: String,
    /// Its place in the text.
    pub place: Range<usize>,
    /// Whether a shell would replace the word, such as `$LR`, `*.py` or `~`, by another text.
    pub expands: bool,
}

impl Plain {
    /// The name and the value, if the word is `NAME=value`.
    pub fn assignment(&self) -> Option<(&str, &str)> {
        self.text.split_once('=').filter(|(name, _)| is_name(name))
    }
}

/// Returns the words of one simple command, including assignments before it. None for anything else: a pipe, a list, a
/// redirection, a comment, `$(…)`, a quote that is not closed.
pub fn words(text: &str) -> Option<Vec<Plain>> {
    let tokens = tokenize(text);
    let mut words = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match &token.kind {
            TokenKind::Word(word) => words.push(plain(text, token.span.clone(), &word.parts)?),
            TokenKind::Blank | TokenKind::Continuation => {}
            // After a line end, only blanks may follow: a shell would run any other text as another command.
            TokenKind::Newline if tokens[index..].iter().all(|token| token.kind.is_space()) => {}
            _ => return None,
        }
    }
    Some(words)
}

fn plain(text: &str, place: Range<usize>, parts: &[Part]) -> Option<Plain> {
    let written = &text[place.clone()];
    let ends_in_backslash =
        parts.last().is_some_and(|part| part.kind == PartKind::Literal && text[part.span.clone()].ends_with('\\'));
    if runs(text, parts) || ends_in_backslash || written.contains(['\0', '\r']) {
        return None;
    }
    let expands = expands(text, parts, false) || written.starts_with('~');
    Some(Plain { text: unquoted(text, parts), place, expands })
}

/// Whether a word contains a command, arithmetic or a list, so that only a shell can compute it.
fn runs(text: &str, parts: &[Part]) -> bool {
    parts.iter().any(|part| match &part.kind {
        PartKind::Command(_) | PartKind::Backquoted | PartKind::Process(_) | PartKind::List(_) => true,
        PartKind::Arithmetic(parts) => text[part.span.clone()].starts_with("$((") || runs(text, parts),
        PartKind::Double(parts) | PartKind::Braced(parts) => runs(text, parts),
        _ => false,
    })
}

fn expands(text: &str, parts: &[Part], quoted: bool) -> bool {
    parts.iter().any(|part| match &part.kind {
        PartKind::Variable | PartKind::Braced(_) | PartKind::Arithmetic(_) => true,
        PartKind::Double(parts) => expands(text, parts, true),
        PartKind::Literal => !quoted && text[part.span.clone()].contains(['*', '?', '[', '{']),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Option<Vec<String>> {
        Some(words(line)?.into_iter().map(|word| word.text).collect())
    }

    #[test]
    fn a_line_is_cut_into_words() {
        let cases: &[(&str, &[&str])] = &[
            ("python train.py --lr 0.1", &["python", "train.py", "--lr", "0.1"]),
            ("sh -c 'python a.py --x \"y z\"'", &["sh", "-c", "python a.py --x \"y z\""]),
            ("a\\ b \"c d\"e 'f'\"g\"", &["a b", "c de", "fg"]),
            ("a \\\n  b\n", &["a", "b"]),
            ("x '' \"\"", &["x", "", ""]),
            ("x#y \"a\\n\\\"b\"", &["x#y", "a\\n\"b"]),
            ("x $'a\\tb\\'c'", &["x", "a\tb'c"]),
            ("A=${A:-\"x y\"}", &["A=${A:-x y}"]),
            ("  ", &[]),
        ];
        for (line, expected) in cases {
            let expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(texts(line), Some(expected), "{line:?}");
        }
    }

    #[test]
    fn a_line_that_needs_a_shell_has_no_words() {
        for line in
            ["a; b", "a && b", "a | b", "a > b", "$(a)", "`a`", "a \"$(b)\"", "'a", "\"a", "a\nb", "a # b", "a\\"]
        {
            assert_eq!(texts(line), None, "{line:?}");
        }
    }

    #[test]
    fn words_that_expand_are_marked() {
        let expands = |line| words(line).unwrap().iter().map(|word| word.expands).collect::<Vec<_>>();
        assert_eq!(
            expands("a $LR '$LR' \"$LR\" *.py ~/x a~ \"*\" ^lo $[1]"),
            [false, true, false, true, true, true, false, false, false, true]
        );
    }
}
