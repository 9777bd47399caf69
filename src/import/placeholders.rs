//! Finds placeholders such as `<your-account>` and `YOUR_IMAGE_HERE`, which examples contain and a job must not
//! contain.

use std::ops::Range;

use crate::api::Options;
use crate::codes::TEMPLATE;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::shell::{self, PartKind, TokenKind};
use khorovod_compiler::yaml::{Kind, Node};

/// Returns the range of a placeholder in shell text or in another value.
pub fn hole(line: &str) -> Option<Range<usize>> {
    let mut found = Vec::new();
    inputs(line, 0, &mut found);
    for start in found {
        let length = line[start + 1..].find('>')?;
        let name = &line[start + 1..start + 1 + length];
        let inner = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
        if name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(inner)
            && !name.ends_with(' ')
        {
            return Some(start..start + length + 2);
        }
    }
    None
}

/// Finds `<` as an operator, also in command substitutions.
fn inputs(text: &str, base: usize, found: &mut Vec<usize>) {
    for token in shell::parse(text).tokens {
        let written = &text[token.span.clone()];
        match &token.kind {
            TokenKind::Operator if written == "<" => found.push(base + token.span.start),
            TokenKind::Unknown if token.span.len() < text.len() => inputs(written, base + token.span.start, found),
            // This part is not valid shell text, so search its tokens.
            TokenKind::Unknown => {
                let tokens = shell::tokenize(text).into_iter();
                let inputs =
                    tokens.filter(|token| token.kind == TokenKind::Operator && &text[token.span.clone()] == "<");
                found.extend(inputs.map(|token| base + token.span.start));
            }
            TokenKind::Word(word) => {
                for part in word.parts.iter().filter(|part| matches!(part.kind, PartKind::Command(_))) {
                    inputs(&text[part.span.start + 2..part.span.end - 1], base + part.span.start + 2, found);
                }
            }
            _ => {}
        }
    }
}

/// Pushes a problem for each value with a placeholder, unless an option of the command line replaces the value.
pub fn check(values: &Node, options: &Options, problems: &mut Vec<Problem>) {
    below(values, "", options, problems);
}

fn below(node: &Node, path: &str, options: &Options, problems: &mut Vec<Problem>) {
    match &node.kind {
        Kind::Map(entries) => {
            for entry in entries {
                let given = match entry.key.as_str() {
                    "image" => options.image.is_some(),
                    "command" | "args" | "exec" => options.command.is_some(),
                    // The name of the Secret with the old ssh keys may be a placeholder, because the new job does not
                    // use this Secret.
                    "secret" => path.is_empty(),
                    _ => false,
                };
                if !given {
                    let dot = if path.is_empty() { "" } else { "." };
                    below(&entry.value, &format!("{path}{dot}{}", entry.key), options, problems);
                }
            }
        }
        Kind::List(items) => {
            let each = items.iter().enumerate();
            each.for_each(|(index, item)| below(item, &format!("{path}[{index}]"), options, problems));
        }
        Kind::Scalar { text, .. } => {
            if let Some(name) = named(text) {
                problems.push(problem(node.span, format!("`{path}` contains the placeholder `{name}`")));
            } else if let Some(name) = variable(path, text) {
                let message = format!("`{path}` contains `{name}`, which a program such as envsubst replaces");
                let hint = "fill it in first: `envsubst <FILE | khorovod import …`";
                problems.push(Problem::new(&TEMPLATE, node.span, message).hint(hint));
            }
        }
    }
}

/// Returns the placeholder in a value.
fn named(text: &str) -> Option<&str> {
    if text.starts_with("YOUR_") && text.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
        return Some(text);
    }
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    match inner {
        Some(name) if !name.is_empty() && !name.contains(['<', '>', '\n']) => Some(text),
        _ => text.lines().find_map(|line| hole(line).map(|place| &line[place])),
    }
}

/// Returns `${NAME}` in a place where neither a shell nor the kubelet would replace it: as a whole value, or in the
/// name of an image. Commands and values of variables are skipped, because a shell may read them.
fn variable<'t>(path: &str, text: &'t str) -> Option<&'t str> {
    let shells = ["command", "args", "exec", "env", "value"]
        .iter()
        .any(|key| path.split('.').any(|step| step.split('[').next() == Some(*key)));
    let start = text.find("${").filter(|_| !shells)?;
    let end = start + text[start..].find('}')? + 1;
    let is_all = start == 0 && end == text.len();
    let image = ["image", "repository", "tag"].contains(&path.rsplit('.').next().unwrap_or_default());
    (is_all || image).then(|| &text[start..end])
}

fn problem(span: Span, message: String) -> Problem {
    Problem::new(&TEMPLATE, span, message).hint("replace it with its value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_distinguished_from_redirections() {
        assert_eq!(hole("source <your venv>/bin/activate"), Some(7..18));
        for line in ["a <in >out", "echo '<b>'", "cat <<E >f"] {
            assert_eq!(hole(line), None, "{line}");
        }
        assert_eq!(named("<store's url>"), Some("<store's url>"));
        assert_eq!(named("YOUR_IMAGE_HERE"), Some("YOUR_IMAGE_HERE"));
        assert_eq!(named("YOUR_image"), None);
        assert_eq!(variable("a.containers[0].image", "${REGISTRY}${IMAGE}:1"), Some("${REGISTRY}"));
        assert_eq!(variable("a.replicas", "${WORKERS}"), Some("${WORKERS}"));
        for (path, text) in
            [("a.args[0]", "${A}"), ("a.env[0].value", "${A}"), ("framework.command", "${A}"), ("a.b", "x ${A}")]
        {
            assert_eq!(variable(path, text), None, "{path}");
        }
        assert_eq!(named("1.dkr.<region>.example.org/x"), Some("<region>"));
        for text in ["<>", "a < b", "python a.py <in >out", "<a> to <b>\n<c"] {
            assert!(named(text).is_none() || text.starts_with("<a>"), "{text}");
        }
    }
}
