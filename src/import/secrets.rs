//! Finds secrets in shell text and masks them. [`looks_secret`] decides which names and values look like a secret.

use std::ops::Range;

use khorovod_compiler::job::looks_secret;
use khorovod_compiler::shell::{self, TokenKind, is_name, unquoted};

/// How many texts of commands may be nested in one another, as in `bash -c "bash -c '…'"`.
const DEEPEST: usize = 4;

/// Returns the words of a shell text without their quotes. If a word contains a command, as in `bash -c '…'` or `$(…)`, the
/// words of this command follow the word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    add_words(text, DEEPEST, &mut words);
    words
}

fn add_words(text: &str, depth: usize, words: &mut Vec<String>) {
    for token in shell::tokenize(text) {
        let written = &text[token.span.clone()];
        let inner = match &token.kind {
            TokenKind::Word(word) => {
                words.push(unquoted(text, &word.parts));
                words.last().map_or_else(String::new, |word| word.replace(['`', '(', ')'], " "))
            }
            TokenKind::Comment => written.trim_start_matches('#').to_owned(),
            TokenKind::HereDocument => written.to_owned(),
            // A quote that does not end, for example in one line of a longer command.
            TokenKind::Unknown => written.replace(['\'', '"'], " "),
            _ => continue,
        };
        if depth > 0 && inner.contains(|c: char| c.is_whitespace() || c == ';') {
            add_words(&inner, depth - 1, words);
        }
    }
}

/// Whether a text sets a variable to a value that looks like a secret, or passes a key to `wandb login`.
pub fn assigns_secret(text: &str) -> bool {
    let words = words(text);
    let is_key = |word: &String| word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let logs_in = words
        .windows(2)
        .position(|pair| pair[0] == "wandb" && pair[1] == "login")
        .is_some_and(|at| words[at..].iter().any(is_key));
    let assigned = |(name, value): (&str, &str)| is_name(name) && !value.starts_with('$') && looks_secret(name, value);
    logs_in || words.iter().filter_map(|word| word.split_once('=')).any(assigned)
}

/// Returns a text with `…` for each value that looks like a secret, for the report.
pub fn masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    for token in shell::tokenize(text) {
        let written = &text[token.span.clone()];
        let TokenKind::Word(word) = &token.kind else {
            masked.push_str(&masked_text(written));
            continue;
        };
        let plain = unquoted(text, &word.parts);
        match (plain.split_once('='), written.split_once('=')) {
            (Some((name, value)), Some((written, _))) if is_word(name) && looks_secret(name, value) => {
                masked.extend([written, "=…"]);
            }
            _ if looks_secret("", &plain) => masked.push('…'),
            _ => masked.push_str(&masked_text(written)),
        }
    }
    masked
}

/// Like [`masked`], for a text in which the quotes have no clear meaning: the text of a command in quotes, a comment, or a
/// quote that does not end. A secret in such a text may contain blanks, so everything up to the end of the command is
/// masked.
fn masked_text(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut is_in_secret = false;
    for piece in text.split_inclusive(|c: char| c.is_whitespace() || ";&|".contains(c)) {
        let word = piece.trim_end_matches(|c: char| c.is_whitespace() || ";&|".contains(c));
        let end = &piece[word.len()..];
        match word.split_once('=') {
            _ if is_in_secret => {}
            Some((name, value)) if looks_secret(name, value.trim_matches(['"', '\'', '\\'])) => {
                masked.extend([name, "=…"]);
                is_in_secret = true;
            }
            None if looks_secret("", word) => masked.push('…'),
            _ => masked.push_str(word),
        }
        is_in_secret &= !end.contains([';', '&', '|', '\n']);
        if !is_in_secret {
            masked.push_str(end);
        }
    }
    masked
}

/// Returns the range of the first word of a line that contains a secret. Assignments to variables are skipped.
pub fn find_secret(line: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        let start = at;
        at += word.len();
        let value = word.trim_end().rsplit(['=', '"', '\'', ':']).find(|part| !part.is_empty()).unwrap_or_default();
        if looks_secret("", value) && word.split_once('=').is_none_or(|(name, _)| !is_name(name)) {
            return Some(start..start + word.trim_end().len());
        }
    }
    None
}

/// Returns the first assignment or option of a command whose value is a secret, with the value masked.
pub fn secret_word(text: &str) -> Option<String> {
    let words = words(text);
    let mut behind = "";
    for word in &words {
        let (name, value) = word.split_once('=').unwrap_or(("", word));
        let name = name.trim_start_matches('-').replace('-', "_");
        let flag =
            behind.starts_with("--") && !behind.contains('=') && !word.starts_with('-') && !word.starts_with('$');
        let flagged = flag && looks_secret(&behind.trim_start_matches('-').replace('-', "_"), value);
        let login = behind == "login" && word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
        if login || flagged || is_word(&name) && !value.starts_with('$') && looks_secret(&name, value) {
            return Some(if name.is_empty() { behind.to_owned() } else { format!("{name}=…") });
        }
        behind = word;
    }
    None
}

/// Whether a text can be the name of a variable or of an option, or is empty.
fn is_word(name: &str) -> bool {
    !name.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_commands_are_found() {
        let key = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(secret_word(&format!("wandb login {key} && python a.py")).as_deref(), Some("login"));
        assert_eq!(secret_word("python a.py --password hunter2secret").as_deref(), Some("--password"));
        assert_eq!(secret_word("export DB_PASSWORD='correct horse'; ./a").as_deref(), Some("DB_PASSWORD=…"));
        assert_eq!(secret_word("bash -c \"export DB_PASSWORD='x y'\"").as_deref(), Some("DB_PASSWORD=…"));
        assert!(assigns_secret("export DB_PASSWORD='correct horse'"));
        assert!(assigns_secret("A=$(DB_PASSWORD='correct horse' ./a)"));
        assert!(!assigns_secret("export DB_PASSWORD=$(cat /run/password)"));
        assert_eq!(secret_word(&format!("git checkout {key}; python a.py --token $TOKEN")), None);
    }

    #[test]
    fn values_that_look_like_secrets_are_masked() {
        assert_eq!(masked("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 srun ./a"), "HF_TOKEN=… srun ./a");
        assert_eq!(masked("a\tb  c\n"), "a\tb  c\n");
        for (text, shown) in [
            ("export DB_PASSWORD='correct horse battery'", "export DB_PASSWORD=…"),
            ("export DB_PASSWORD=\"correct horse\" && ./a", "export DB_PASSWORD=… && ./a"),
            ("DB_PASSWORD=correct\\ horse ./a", "DB_PASSWORD=… ./a"),
            ("bash -c \"export DB_PASSWORD='correct horse'; ./a\"", "bash -c \"export DB_PASSWORD=…; ./a\""),
            ("# DB_PASSWORD=correct horse", "# DB_PASSWORD=…"),
            ("export DB_PASSWORD='correct horse", "export DB_PASSWORD=…"),
            ("echo \"a  b\"; ls", "echo \"a  b\"; ls"),
        ] {
            assert_eq!(masked(text), shown, "{text}");
        }
    }
}
