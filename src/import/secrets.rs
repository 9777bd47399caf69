//! Finds secrets in shell text and masks them. [`looks_secret`] decides which names and values look like a secret.

use std::ops::Range;

use crate::shell::is_name;
use khorovod_compiler::job::looks_secret;

/// Whether a text sets a variable to a value that looks like a secret, or passes a key to `wandb login`.
pub fn assigns_secret(text: &str) -> bool {
    let words = text.split(|c: char| c.is_whitespace() || c == ';');
    let pairs = words.filter_map(|word| word.split_once('=')).filter(|(name, _)| is_name(name));
    let mut pairs = pairs.map(|(name, value)| (name, value.trim_matches(['"', '\''])));
    let key = |rest: &str| rest.len() == 40 && rest.chars().all(|c| c.is_ascii_hexdigit());
    let login = text.split_once("wandb login").is_some_and(|(_, rest)| rest.split_whitespace().any(key));
    login || pairs.any(|(name, value)| !value.starts_with('$') && looks_secret(name, value))
}

/// Returns a text with `…` for each value that looks like a secret, for the report.
pub fn masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        match word.split_once('=') {
            Some((name, value)) if looks_secret(name, value.trim_matches(['"', '\''])) => {
                masked.extend([name, "=…"]);
            }
            None if looks_secret("", word) => masked.push('…'),
            _ => masked.push_str(word),
        }
        masked.push_str(&piece[word.len()..]);
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
    let mut behind = "";
    for word in text.split(|c: char| c.is_whitespace() || "'\";".contains(c)).filter(|word| !word.is_empty()) {
        let (name, value) = word.split_once('=').unwrap_or(("", word));
        let name = name.trim_start_matches('-').replace('-', "_");
        let flag =
            behind.starts_with("--") && !behind.contains('=') && !word.starts_with('-') && !word.starts_with('$');
        let flagged = flag && looks_secret(&behind.trim_start_matches('-').replace('-', "_"), value);
        let login = behind == "login" && word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
        if login || flagged || !value.starts_with('$') && looks_secret(&name, value) {
            return Some(if name.is_empty() { behind.to_owned() } else { format!("{name}=…") });
        }
        behind = word;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_commands_are_found() {
        let key = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(secret_word(&format!("wandb login {key} && python a.py")).as_deref(), Some("login"));
        assert_eq!(secret_word("python a.py --password hunter2secret").as_deref(), Some("--password"));
        assert_eq!(secret_word(&format!("git checkout {key}; python a.py --token $TOKEN")), None);
    }

    #[test]
    fn values_that_look_like_secrets_are_masked() {
        assert_eq!(masked("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345 srun ./a"), "HF_TOKEN=… srun ./a");
        assert_eq!(masked("a\tb  c\n"), "a\tb  c\n");
    }
}
