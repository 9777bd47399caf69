//! Expands the words of a container's command as the kubelet does: `$(NAME)` is a variable of the container, and `$$` a
//! dollar.

use crate::context::text;
use khorovod_compiler::pods::word;
use khorovod_compiler::shell::is_name;
use khorovod_compiler::yaml::Node;

#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    /// A variable whose value is not in the file.
    Variable(String),
}

/// A word of a command.
#[derive(Debug, PartialEq)]
pub struct Filled(Vec<Part>);

impl Filled {
    /// Expands the variables of a container.
    pub fn new(word: &str, container: Option<&Node>) -> Self {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), word);
        while let Some(at) = rest.find('$') {
            plain += &rest[..at];
            let behind = &rest[at + 1..];
            let name = behind.strip_prefix('(').and_then(|inner| inner.split_once(')'));
            if let Some(more) = behind.strip_prefix('$') {
                plain.push('$');
                rest = more;
            } else if let Some((name, variable)) = name.and_then(|(name, _)| Some((name, variable(name, container)?))) {
                match variable {
                    Part::Text(value) => plain += &value,
                    itself @ Part::Variable(_) => parts.extend([Part::Text(std::mem::take(&mut plain)), itself]),
                }
                rest = &behind[name.len() + 2..];
            } else {
                plain.push('$');
                rest = behind;
            }
        }
        parts.push(Part::Text(plain + rest));
        Self(parts)
    }

    /// Returns the expanded word as shell text, for the script of `sh -c`.
    pub fn text(&self) -> String {
        self.0.iter().map(Part::text).collect()
    }

    /// Returns the expanded word as one word of a shell.
    pub fn word(&self) -> String {
        match self.0.as_slice() {
            [Part::Text(text)] => word(text),
            parts => {
                let quoted = |part: &Part| match part {
                    Part::Text(text) => text.chars().fold(String::new(), |mut quoted, c| {
                        quoted.extend("\\\"$`".contains(c).then_some('\\'));
                        quoted.push(c);
                        quoted
                    }),
                    variable @ Part::Variable(_) => variable.text(),
                };
                format!("\"{}\"", parts.iter().map(quoted).collect::<String>())
            }
        }
    }
}

/// The note for a value that contains another variable.
pub const REFERS: &str = "Kubernetes inserts another variable here, but a value of spec.env is literal: compute it in the command, as in `export A=$B/c`";

/// Expands the value of an environment variable as the kubelet does: `$$` becomes `$`, and `$(NAME)` stays if no
/// variable NAME exists. Returns None if a variable NAME exists, because a value of `spec.env` cannot refer to another
/// variable.
pub fn literal(value: &str, exists: impl Fn(&str) -> bool) -> Option<String> {
    let (mut made, mut rest) = (String::new(), value);
    while let Some(at) = rest.find('$') {
        made += &rest[..=at];
        let behind = &rest[at + 1..];
        rest = behind.strip_prefix('$').unwrap_or(behind);
        let refers = rest.len() == behind.len()
            && behind.strip_prefix('(').and_then(|inner| inner.split_once(')')).is_some_and(|(name, _)| exists(name));
        if refers {
            return None;
        }
    }
    Some(made + rest)
}

impl Part {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Variable(name) => format!("${{{name}}}"),
        }
    }
}

/// Returns the value of a variable of the container if the file contains it, and otherwise the variable itself. None if
/// the container has no such variable.
fn variable(name: &str, container: Option<&Node>) -> Option<Part> {
    let get = |key: &str| container.and_then(|container| container.get(key));
    let named = |item: &&Node| item.get("name").and_then(text).as_deref() == Some(name);
    let itself = || Part::Variable(name.to_owned());
    match get("env").map_or(&[][..], Node::items).iter().find(named) {
        Some(entry) => {
            // If a value contains other variables, only the kubelet can compute it, so the variable itself is returned.
            let value = entry.get("value").and_then(text).filter(|value| !value.contains('$'));
            Some(value.map_or_else(itself, Part::Text))
        }
        // `envFrom` may define any variable: the keys of its Secrets and ConfigMaps are not in the file.
        None => get("envFrom").filter(|_| is_name(name)).map(|_| itself()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use khorovod_compiler::problem::Span;
    use khorovod_compiler::yaml;

    #[test]
    fn values_of_variables_as_the_kubelet_reads_them() {
        for (value, expected) in [
            ("a$$b", Some("a$b")),
            ("$$(A) $5 $", Some("$(A) $5 $")),
            ("$$$$(A)", Some("$$(A)")),
            ("$(A", Some("$(A")),
            ("$(B)", Some("$(B)")),
            ("x$(A)y", None),
            ("$$$(A)", None),
        ] {
            assert_eq!(literal(value, |name| name == "A").as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn words_as_the_kubelet_fills_them_in() {
        let list = "env: [{name: LR, value: '0.1'}, {name: TOKEN, valueFrom: {secretKeyRef: {name: a, key: b}}}]";
        let container = yaml::parse(list, Span { source: 0, start: 0, end: list.len() }, &mut Vec::new()).unwrap();
        let word = |text: &str| Filled::new(text, container.as_ref()).word();
        assert_eq!(word("--lr=$(LR)"), "--lr=0.1");
        assert_eq!(word("$(TOKEN)-\"x\""), "\"${TOKEN}-\\\"x\\\"\"");
        assert_eq!(word("$$(LR)"), "'$(LR)'");
        assert_eq!(word("$(NOT_THERE) $LR"), "'$(NOT_THERE) $LR'");
        assert_eq!(Filled::new("a $(LR) $(TOKEN)", container.as_ref()).text(), "a 0.1 ${TOKEN}");
    }
}
