//! Finds the variables that statements set, and what else they change for later commands.

use std::collections::BTreeSet;

use super::lexer::{assigned, is_name, name_length, unquoted};
use super::token::{Assignment, Command, CommandKind, Part, PartKind, Statement, Word};

/// The changes that statements make in the shell that runs them. The lists may contain too much: the commands of a
/// pipeline or a function count as if they ran in the shell itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    /// Variables that are set, read into, declared or unset.
    pub sets: BTreeSet<String>,
    /// The names in `sets` that are arrays, which no program can inherit.
    pub arrays: BTreeSet<String>,
    /// The names in `sets` that programs inherit from then on.
    pub exports: BTreeSet<String>,
    /// The names in `sets` that lose their value.
    pub unsets: BTreeSet<String>,
    /// Whether the positional parameters change: `set -- a b`, `shift`.
    pub sets_positional: bool,
    /// Whether the statements may set any variable: they run a file or a text that is not in the script (`source`,
    /// `eval`), or the parser cannot parse the statements.
    pub anything: bool,
}

/// Commands that set variables named by their arguments.
const DECLARE: &[&str] = &["export", "declare", "typeset", "local", "readonly"];
const READ: &[&str] = &["read", "mapfile", "readarray", "getopts"];

/// Returns the changes that the statements of a text make in the shell.
pub fn effects(text: &str, statements: &[Statement]) -> Effects {
    let mut effects = Effects::default();
    for statement in statements {
        statement.commands.iter().for_each(|command| effects.command(text, command));
    }
    effects
}

impl Effects {
    /// Adds the effects of later statements to these effects.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.sets.extend(other.sets);
        self.arrays.extend(other.arrays);
        self.exports.extend(other.exports);
        self.unsets.extend(other.unsets);
        self.sets_positional |= other.sets_positional;
        self.anything |= other.anything;
        self
    }

    /// Whether a variable may have another value afterwards.
    pub fn may_set(&self, name: &str) -> bool {
        self.sets.contains(name)
    }

    fn command(&mut self, text: &str, command: &Command) {
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                if words.is_empty() {
                    for assignment in assignments {
                        self.assignment(assignment);
                    }
                }
                for word in assignments.iter().map(|assignment| &assignment.word).chain(words) {
                    self.parts(text, &word.parts);
                }
                self.simple(text, words);
            }
            CommandKind::Compound { variable, words, body, .. } => {
                let name = variable.as_ref().and_then(|word| word.literal(text)).filter(|name| is_name(name));
                self.sets.extend(name.map(str::to_owned));
                for word in words {
                    self.parts(text, &word.parts);
                }
                body.iter().flat_map(|statement| &statement.commands).for_each(|command| self.command(text, command));
            }
            CommandKind::Test { words } => words.iter().for_each(|word| self.parts(text, &word.parts)),
            CommandKind::Arithmetic { expression } => self.sum(&text[expression.clone()]),
            CommandKind::Function { body, .. } => {
                body.iter().flat_map(|statement| &statement.commands).for_each(|command| self.command(text, command));
            }
            // Text that cannot be parsed may set any variable.
            CommandKind::Unknown => self.anything = true,
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.sets.insert(assignment.name.clone());
        if assignment.is_array {
            self.arrays.insert(assignment.name.clone());
        }
    }

    /// Records the variables that `${NAME:=value}` or arithmetic in a word sets.
    fn parts(&mut self, text: &str, parts: &[Part]) {
        for part in parts {
            let written = &text[part.span.clone()];
            match &part.kind {
                PartKind::Double(parts) => self.parts(text, parts),
                PartKind::Braced(parts) => {
                    let name = &written[2..2 + name_length(&written[2..])];
                    if [":=", "="].iter().any(|sign| written[2 + name.len()..].starts_with(sign)) && is_name(name) {
                        self.sets.insert(name.to_owned());
                    }
                    self.parts(text, parts);
                }
                PartKind::Arithmetic(_) => self.sum(written),
                PartKind::List(words) => words.iter().for_each(|word| self.parts(text, &word.parts)),
                _ => {}
            }
        }
    }

    fn simple(&mut self, text: &str, words: &[Word]) {
        let plain = |word: &Word| unquoted(text, &word.parts);
        // Skip `builtin` and `command`, as in `builtin export A`.
        let before = words.iter().take_while(|word| ["builtin", "command"].contains(&plain(word).as_str())).count();
        let Some((first, arguments)) = words[before..].split_first() else { return };
        let first = plain(first);
        match first.as_str() {
            name if DECLARE.contains(&name) => {
                let flags: Vec<String> = arguments.iter().map(plain).take_while(|word| word.starts_with('-')).collect();
                let has = |flag: char| flags.iter().any(|flags| flags.contains(flag));
                for word in &arguments[flags.len()..] {
                    let written = &text[word.span.clone()];
                    let name = assigned(written).map_or(written, |(name, ..)| name);
                    if !is_name(name) {
                        continue;
                    }
                    self.sets.insert(name.to_owned());
                    let list = word.parts.iter().any(|part| matches!(part.kind, PartKind::List(_)));
                    if list || has('a') || has('A') {
                        self.arrays.insert(name.to_owned());
                    }
                    if first == "export" && !has('n') || has('x') {
                        self.exports.insert(name.to_owned());
                    }
                }
            }
            name if READ.contains(&name) => {
                let names = arguments.iter().map(plain).filter(|word| is_name(word));
                let list = name == "mapfile"
                    || name == "readarray"
                    || arguments.iter().map(plain).any(|word| word.starts_with('-') && word.ends_with('a'));
                for name in names {
                    if list {
                        self.arrays.insert(name.clone());
                    }
                    self.sets.insert(name);
                }
                let default = if name == "read" { "REPLY" } else { "MAPFILE" };
                self.sets.insert(default.to_owned());
            }
            "printf" => {
                let flag = arguments.first().map(plain).unwrap_or_default();
                let name = match flag.strip_prefix("-v") {
                    Some("") => arguments.get(1).map(plain),
                    Some(name) => Some(name.to_owned()),
                    None => None,
                };
                self.sets.extend(name.filter(|name| is_name(name)));
            }
            "unset" => {
                for name in arguments.iter().map(plain).filter(|word| is_name(word)) {
                    self.unsets.insert(name.clone());
                    self.sets.insert(name);
                }
            }
            "let" => arguments.iter().for_each(|word| self.sum(&plain(word))),
            "source" | "." | "eval" => self.anything = true,
            "shift" => self.sets_positional = true,
            "set" => {
                let flags = ["-", "+"];
                self.sets_positional |= arguments
                    .iter()
                    .map(plain)
                    .any(|word| word == "--" || !flags.iter().any(|flag| word.starts_with(flag)) && word != "pipefail");
            }
            _ => {}
        }
    }

    /// Records the variables that an arithmetic expression sets: `x += 1`, `x++`, `--x`.
    fn sum(&mut self, expression: &str) {
        let mut at = 0;
        while let Some(c) = expression[at..].chars().next() {
            let name = &expression[at..at + name_length(&expression[at..])];
            if name.is_empty() {
                at += c.len_utf8();
                // A number such as `0x1f` is not a name.
                if c.is_ascii_digit() {
                    let behind = &expression[at..];
                    at += behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).len();
                }
                continue;
            }
            let before = expression[..at].trim_end();
            let behind = expression[at + name.len()..].trim_start();
            // Skip the index in `x[i] = 1`.
            let behind = match behind.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
                Some((_, rest)) => rest.trim_start(),
                None => behind,
            };
            let steps = ["++", "--"].iter().any(|sign| behind.starts_with(sign) || before.ends_with(sign));
            let sign = behind.trim_start_matches(['+', '-', '*', '/', '%', '&', '|', '^', '<', '>']);
            let length = behind.len() - sign.len();
            let gives = sign.starts_with('=') && !sign.starts_with("==")
                // `x <= 1` compares, `x <<= 1` sets.
                && !(length == 1 && behind.starts_with(['<', '>']));
            if steps || gives {
                self.sets.insert(name.to_owned());
            }
            at += name.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn found(text: &str) -> Effects {
        effects(text, &parse(text).statements)
    }

    #[test]
    fn every_way_to_set_a_variable_is_found() {
        let cases: &[(&str, &[&str])] = &[
            ("A=1 B=$(x)", &["A", "B"]),
            ("A=1 program", &[]),
            ("A+=1", &["A"]),
            ("A[2]=x", &["A"]),
            ("export A B=2", &["A", "B"]),
            ("declare -a A=(x y)", &["A"]),
            ("readonly A=1", &["A"]),
            ("printf -v A %s x", &["A"]),
            ("printf '%s=1' A", &[]),
            ("unset A", &["A"]),
            ("read -r A B < f", &["A", "B", "REPLY"]),
            ("mapfile -t A < f", &["A", "MAPFILE"]),
            ("(( x += 5, y++, --z )) && echo $((w = 2))", &["w", "x", "y", "z"]),
            ("((x == 1 || y <= 2 || z != 3))", &[]),
            ("let x=1 'y *= 2'", &["x", "y"]),
            ("for A in 1 2; do B=$A; done", &["A", "B"]),
            ("for ((i = 0; i < 3; i++)); do x; done", &["i"]),
            ("if true; then A+=(b); fi", &["A"]),
            ("case $x in a) A=1;; *) B=2;; esac", &["A", "B"]),
            ("f() { A=1; }", &["A"]),
            ("[[ $x == 1 ]] && A=1 || B=1", &["A", "B"]),
            (": ${A:=b} \"${B=c}\" ${C:-d}", &["A", "B"]),
            ("echo A=1 # B=2", &[]),
            ("x=$(A=1; echo $A)", &["x"]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text).sets.iter().map(String::as_str).collect::<Vec<_>>(), *expected, "{text}");
        }
    }

    #[test]
    fn arrays_exports_and_other_changes_are_found() {
        for text in ["A=(x)", "A+=(x)", "declare -A A", "mapfile A", "read -ra A", "A[1]=2", "if x; then A+=(c); fi"] {
            assert!(found(text).arrays.contains("A"), "{text}");
        }
        for text in ["export A", "declare -x A=1", "typeset -rx A"] {
            assert!(found(text).exports.contains("A"), "{text}");
        }
        assert!(found("export -n A").exports.is_empty());
        for text in ["set -- a b", "set a b", "shift 2", "set -eu a"] {
            assert!(found(text).sets_positional, "{text}");
        }
        for text in ["set -eu", "set +x", "set -euo pipefail", "set -a"] {
            assert!(!found(text).sets_positional, "{text}");
        }
        for text in [". ./env", "source a", "eval \"$x\"", "if x; then source a; fi", "x ) y"] {
            assert!(found(text).anything, "{text}");
        }
        assert!(found("unset A").unsets.contains("A"));
    }
}
