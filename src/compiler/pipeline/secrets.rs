//! Finds the values of a text that look like secrets, for a program that is about to store or send the text. See
//! [`find_secrets`].

use std::ops::Range;

use crate::api::FoundSecret;
use crate::job::looks_secret;
use crate::problem::Span;
use crate::yaml::{self, Kind, Node};

/// Returns the values of a stream that look like secrets, in the order of the text. The text need not be valid.
///
/// The result contains private keys and access tokens anywhere in the text, also in comments; the values of variables that
/// have the name of a secret; and the values of Secrets.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// let text = "spec:\n  env: {DB_PASSWORD: rosebud, EPOCHS: 4}\n";
/// let [found] = &khorovod::find_secrets(text)[..] else { panic!() };
/// assert_eq!((found.what.as_str(), &text[found.range.clone()]), ("`DB_PASSWORD`", "rosebud"));
/// ```
pub fn find_secrets(text: &str) -> Vec<FoundSecret> {
    let mut found = Vec::new();
    for piece in yaml::pieces(text) {
        let Range { start, end } = piece.body;
        let body = &text[start..end];
        if may_name_secrets(body) {
            match yaml::parse(body, Span { source: 0, start, end }, &mut Vec::new()) {
                Ok(Some(document)) => find_in_document(&document, &mut found),
                Ok(None) => {}
                Err(yaml::Unreadable) => find_in_lines(body, start, &mut found),
            }
        }
        find_keys(body, start, &mut found);
        find_in_words(body, start, &mut found);
    }
    merged(text, found)
}

/// Whether a text contains a word that is usual in the names of secrets. Most texts contain no such word, so they need
/// not be parsed.
fn may_name_secrets(text: &str) -> bool {
    ["secret", "passw", "token", "key", "credential"].iter().any(|word| {
        let mut windows = text.as_bytes().windows(word.len());
        windows.any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
    })
}

fn find_in_document(document: &Node, found: &mut Vec<FoundSecret>) {
    let is_secret = document.get("kind").and_then(Node::text) == Some("Secret");
    for part in ["data", "stringData"].iter().filter_map(|key| document.get(key)) {
        let Kind::Map(entries) = &part.kind else { continue };
        for entry in entries {
            if is_secret || is_secret_value(&entry.key, &entry.value) {
                push_value(&entry.key, &entry.value, found);
            }
        }
    }
    find_variables(document, found);
}

/// Finds variables below a node: the entries of `env: {NAME: VALUE}`, and items of the form `{name: NAME, value: VALUE}`.
fn find_variables(node: &Node, found: &mut Vec<FoundSecret>) {
    match &node.kind {
        Kind::Scalar { .. } => {}
        Kind::List(items) => items.iter().for_each(|item| find_variables(item, found)),
        Kind::Map(entries) => {
            if let (Some(name), Some(value)) = (node.get("name").and_then(Node::text), node.get("value")) {
                push_variable(name, value, found);
            }
            for entry in entries {
                if let ("env", Kind::Map(variables)) = (entry.key.as_str(), &entry.value.kind) {
                    for one in variables {
                        push_variable(&one.key, &one.value, found);
                    }
                }
                find_variables(&entry.value, found);
            }
        }
    }
}

fn push_variable(name: &str, value: &Node, found: &mut Vec<FoundSecret>) {
    if is_secret_value(name, value) {
        push_value(name, value, found);
    }
}

fn is_secret_value(name: &str, value: &Node) -> bool {
    matches!(&value.kind, Kind::Scalar { text, .. } if looks_secret(name, text))
}

fn push_value(name: &str, value: &Node, found: &mut Vec<FoundSecret>) {
    if !matches!(&value.kind, Kind::Scalar { text, .. } if text.is_empty()) {
        found.push(FoundSecret { what: format!("`{name}`"), range: value.span.start..value.span.end });
    }
}

/// Finds lines `NAME: VALUE` in a document that cannot be parsed. Only names in capitals are variables.
fn find_in_lines(body: &str, start: usize, found: &mut Vec<FoundSecret>) {
    for line in body.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let (name, value) = (name.trim_matches([' ', '-', '"', '\'', '{']), value.trim());
        if is_variable(name) && !value.starts_with(['{', '[', '#']) && looks_secret(name, value) {
            let at = start + offset(body, value);
            found.push(FoundSecret { what: format!("`{name}`"), range: at..at + value.len() });
        }
    }
}

/// Finds private keys, from their first line to their last.
fn find_keys(body: &str, start: usize, found: &mut Vec<FoundSecret>) {
    const END: &str = "PRIVATE KEY-----";
    let mut from = 0;
    while let Some(head) = body[from..].find(END).map(|at| from + at) {
        let first = body[from..head].rfind("-----BEGIN").map_or(head, |at| from + at);
        let behind = head + END.len();
        let last = body[behind..].find(END).map_or(body.len(), |at| behind + at + END.len());
        found.push(FoundSecret { what: "a private key".to_owned(), range: start + first..start + last });
        from = last;
    }
}

/// Finds access tokens, and assignments `NAME=VALUE` as in scripts.
fn find_in_words(body: &str, start: usize, found: &mut Vec<FoundSecret>) {
    for word in body.split(|c: char| c.is_whitespace() || "\"',;()[]{}".contains(c)).filter(|word| !word.is_empty()) {
        let (name, value) = word.rsplit_once('=').unwrap_or(("", word));
        let (what, value) = if looks_secret("", value) {
            ("an access token".to_owned(), value)
        } else if is_variable(name) && !value.starts_with('$') && looks_secret(name, value) {
            (format!("`{name}`"), value)
        } else {
            continue;
        };
        let at = start + offset(body, value);
        found.push(FoundSecret { what, range: at..at + value.len() });
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The offset of a part of a text.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// Sorts the found values, removes white space at the ends of their ranges, and joins ranges that overlap.
fn merged(text: &str, mut found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    for FoundSecret { range, .. } in &mut found {
        range.end = range.start + text[range.clone()].trim_end().len();
    }
    // The sort is stable. If two ranges have the same start, the range that was found by the name of its variable was pushed
    // first. So it stays first.
    found.sort_by_key(|one| one.range.start);
    let mut all: Vec<FoundSecret> = Vec::new();
    for one in found {
        match all.last_mut() {
            Some(last) if one.range.start < last.range.end => last.range.end = last.range.end.max(one.range.end),
            _ => all.push(one),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, &str)> {
        find_secrets(text).into_iter().map(|one| (one.what, &text[one.range])).collect()
    }

    fn only(what: &str, value: &str) -> Vec<(String, String)> {
        vec![(what.to_owned(), value.to_owned())]
    }

    #[test]
    fn secrets_that_the_compiler_reports_are_found() {
        let key = "AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI/K7MDENG";
        assert_eq!(found(&format!("kind: TrainingJob\nspec:\n  env:\n    {key}\n")).len(), 1);
        // While a line is being written, the document cannot be parsed.
        assert_eq!(
            found(&format!("spec:\n  env:\n    {key}\n  command: [a\n")),
            [("`AWS_SECRET_ACCESS_KEY`".to_owned(), "wJalrXUtnFEMI/K7MDENG")]
        );
        assert_eq!(
            found("spec: {env: {db_password: 'ro se', LR: 1, MAX_TOKENS: 5, HF_TOKEN: ''}}"),
            [("`db_password`".to_owned(), "'ro se'")]
        );
        let reference = "spec: {env: {HF_TOKEN: {secretKeyRef: {name: hf, key: token}}}, ssh: {secretName: my-keys}}";
        assert_eq!(found(reference), []);
        assert_eq!(found("a: [{name: API_KEY, value: abc}, {name: LR, value: abc}]").len(), 1);
    }

    #[test]
    fn keys_and_tokens_are_found_anywhere() {
        let token = format!("hf_{}", "a".repeat(34));
        for text in [
            format!("# {token}\n"),
            format!("a: [--token={token}, b]\n"),
            format!("a: |\n  run --x '{token}'\n"),
            format!("a: [\nb: {token}\n"),
        ] {
            let [one] = &find_secrets(&text)[..] else { panic!("{text}") };
            assert_eq!((one.what.as_str(), &text[one.range.clone()]), ("an access token", token.as_str()));
        }
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\n    b3BlbnNzaC1rZXk\n    -----END OPENSSH PRIVATE KEY-----";
        let text = format!("files:\n  id: |\n    {key}\n  other: 1\n");
        let all: Vec<_> = found(&text).into_iter().map(|(what, value)| (what, value.to_owned())).collect();
        assert_eq!(all, only("a private key", key));
        assert_eq!(
            found("x: |\n  export DB_PASSWORD=rosebud\n  export HF_TOKEN=$TOKEN\n"),
            [("`DB_PASSWORD`".to_owned(), "rosebud")]
        );
    }

    #[test]
    fn values_of_secrets_are_found() {
        let text = "a: 1\n---\nkind: Secret\nstringData:\n  a: ä x\ndata: {b: eA==, c: ''}\n";
        assert_eq!(found(text), [("`a`".to_owned(), "ä x"), ("`b`".to_owned(), "eA==")]);
        assert_eq!(found("kind: ConfigMap\ndata: {lr: 1, password: x}\n"), [("`password`".to_owned(), "x")]);
        assert_eq!(found("kind: Secret\nstringData:\n  a: |\n    one\n    two\n\n# end\n")[0].1, "one\n    two");
    }

    #[test]
    fn a_variable_with_a_token_is_named_once() {
        let text = format!("env: {{HF_TOKEN: ghp_{}}}\n", "b".repeat(36));
        assert_eq!(find_secrets(&text).len(), 1);
        assert_eq!(find_secrets(&text)[0].what, "`HF_TOKEN`");
    }
}
