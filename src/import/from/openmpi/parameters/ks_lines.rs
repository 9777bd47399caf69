//! Reads shell lines that call `ks`: the parameters they set, and the commands between them.

use std::ops::Range;

use super::COMMAND;
use crate::codes::{BAD_VALUE, TEMPLATE};
use crate::placeholders::hole;
use crate::secrets::masked;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::shell::{self, Plain as Word, Token, TokenKind, is_name, name_length, words};
use khorovod_compiler::yaml::{Entry, Kind, Node};

/// Returns the arguments of `ks`, if a line calls it.
pub fn ks(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("$ ").unwrap_or(line).strip_prefix("ks ").map(str::trim_start)
}

/// Reads shell lines. The values of assignments replace their variables in the arguments of `ks`.
pub fn lines(text: &str, span: Span, problems: &mut Vec<Problem>) -> Node {
    let mut shell = Lines { span, variables: Vec::new(), entries: Vec::new(), component: None };
    let (mut at, tokens) = (0, shell::tokenize(text));
    while at < text.len() {
        let (end, next) = command_end(text, at, &tokens);
        match blank_behind(&text[at..end]).filter(|_| text[end..].starts_with('\n')) {
            Some(place) => {
                let place = Span { start: at + place.start, end: at + place.end, ..span };
                let message = "a blank follows this `\\`, so the command ends here, before the next line";
                problems.push(
                    Problem::new(&BAD_VALUE, place, message)
                        .hint("remove the blank, so that `\\` is the last character of the line"),
                );
            }
            None => shell.line(&text[at..end], at, problems),
        }
        at = next;
    }
    Node { span, kind: Kind::Map(shell.entries) }
}

/// Returns the end of a command and the start of the next. A line end, `;`, `&&` or a comment separates commands.
fn command_end(text: &str, from: usize, tokens: &[Token]) -> (usize, usize) {
    let first = tokens.partition_point(|token| token.span.start < from);
    for token in &tokens[first..] {
        let ends = match token.kind {
            TokenKind::Newline => true,
            TokenKind::Operator => [";", "&&"].contains(&&text[token.span.clone()]),
            // The next command begins on the line after the comment.
            TokenKind::Comment => {
                let next = text[token.span.end..].find('\n').map_or(text.len(), |end| token.span.end + end + 1);
                return (token.span.start, next);
            }
            _ => false,
        };
        if ends {
            return (token.span.start, token.span.end);
        }
    }
    (text.len(), text.len())
}

/// If a command ends with a backslash and blanks, returns their range. This is a mistake: because of the blanks, the
/// backslash does not join the lines.
fn blank_behind(command: &str) -> Option<Range<usize>> {
    let bare = command.trim_end();
    let slashes = bare.len() - bare.trim_end_matches('\\').len();
    (slashes % 2 == 1 && bare.len() < command.len()).then(|| bare.len() - 1..command.len())
}

struct Lines {
    span: Span,
    variables: Vec<(String, String)>,
    entries: Vec<Entry>,
    /// The component that the lines configure.
    component: Option<String>,
}

impl Lines {
    fn line(&mut self, line: &str, start: usize, problems: &mut Vec<Problem>) {
        let indent = line.len() - line.trim_start().len();
        let (line, start) = (line.trim_start(), start + indent);
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some(words) = words(line.trim_start().strip_prefix("$ ").unwrap_or(line.trim_start())) else {
            return self.odd(line, start);
        };
        let start = start + (line.len() - line.trim_start().len());
        let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
        if let ([_], Some((name, value))) = (words.as_slice(), word(0).split_once('=')) {
            let value = self.filled(value);
            self.variables.push((name.to_owned(), value));
            return;
        }
        match (word(0), word(1), word(2)) {
            ("ks", "generate", "openmpi") => self.generate(&words[3..], start, problems),
            ("ks", "prototype", "use") if word(3).ends_with("openmpi") => self.generate(&words[4..], start, problems),
            ("ks", "param", "set") => {
                let rest: Vec<&Word> = words[3..].iter().filter(|word| !word.text.starts_with("--")).collect();
                match rest.as_slice() {
                    [component, name, value] => {
                        self.is_of(component, start, problems);
                        self.set(&name.text.clone(), value, start, problems);
                    }
                    _ => self.add_other_command(line, start),
                }
            }
            ("ks", "env", "set") => {
                let flag = words.iter().position(|word| word.text == "--namespace");
                match flag.and_then(|at| words.get(at + 1)) {
                    Some(value) => self.set("namespace", value, start, problems),
                    None => self.add_other_command(line, start),
                }
            }
            (flag, ..) if flag.starts_with('-') => {
                let place = Span { start, end: start + flag.len(), ..self.span };
                let message = format!("`{flag}` is in a line that does not belong to a command");
                problems.push(Problem::new(&BAD_VALUE, place, message).hint("end the line above it with ` \\`"));
            }
            ("", ..) => {}
            _ => self.add_other_command(line, start),
        }
    }

    /// Adds a command that sets no parameter, for the report.
    fn add_other_command(&mut self, line: &str, start: usize) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let span = Span { start, end: start + line.len(), ..self.span };
        let shown = masked(line);
        let mut short: String = shown.chars().filter(|c| !c.is_control()).take(60).collect();
        if short.len() < shown.len() {
            short.push_str(" …");
        }
        let value = Node { span, kind: Kind::Scalar { text: String::new(), plain: false } };
        self.entries.push(Entry { key: format!("{COMMAND}{short}"), key_span: span, value });
    }

    /// Refuses a second component, because its values would override those of the first component.
    fn is_of(&mut self, word: &Word, start: usize, problems: &mut Vec<Problem>) {
        let name = self.filled(&word.text);
        match &self.component {
            Some(other) if *other != name => {
                let span = Span { start: start + word.place.start, end: start + word.place.end, ..self.span };
                let message =
                    format!("there are several components: this line is for `{name}`, earlier lines are for `{other}`");
                problems.push(Problem::new(&BAD_VALUE, span, message).hint("import them one at a time"));
            }
            Some(_) => {}
            None => self.component = Some(name),
        }
    }

    /// Reads a line that cannot be split into words. It may be an assignment with arithmetic or with a placeholder. A
    /// placeholder is reported where the variable is used.
    fn odd(&mut self, line: &str, start: usize) {
        let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_name(name)) else {
            return self.add_other_command(line, start);
        };
        let value = value.trim().trim_matches('"');
        let known = self.filled(value);
        let set =
            |name: &str| self.variables.iter().rev().find(|(other, _)| other == name).map(|(_, text)| text.clone());
        let reckoned = shell::calculate(&known, set);
        if value.contains("$((") && !reckoned.contains("$(") || hole(value).is_some() {
            self.variables.push((name.to_owned(), reckoned));
        }
    }

    /// Reads `ks generate openmpi NAME --image X --workers=3`.
    fn generate(&mut self, words: &[Word], start: usize, problems: &mut Vec<Problem>) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.text.strip_prefix("--").map(|flag| flag.split_once('=')) {
                None => {
                    self.is_of(word, start, problems);
                    self.set("name", word, start, problems);
                }
                Some(Some((flag, value))) => {
                    let value = Word { text: value.to_owned(), ..word.clone() };
                    self.set(flag, &value, start, problems);
                }
                Some(None) => {
                    if let Some(value) = words.next() {
                        self.set(&word.text[2..], value, start, problems);
                    } else {
                        let span = Span { start: start + word.place.start, end: start + word.place.end, ..self.span };
                        let problem = Problem::new(&BAD_VALUE, span, format!("`{}` has no value", word.text));
                        problems.push(problem.hint("add a value, or remove the option"));
                    }
                }
            }
        }
    }

    fn set(&mut self, name: &str, word: &Word, start: usize, problems: &mut Vec<Problem>) {
        let span = Span { start: start + word.place.start, end: start + word.place.end, ..self.span };
        let text = self.filled(&word.text);
        // The launch line may contain variables, which a shell expands. The value of `secret` is not used. Other values
        // may not contain variables.
        if word.expands && !matches!(name, "exec" | "secret") && text.contains('$') {
            let unset = variable(&text).unwrap_or("NAME");
            let problem = Problem::new(&TEMPLATE, span, format!("`{name}` uses a variable that the file does not set"));
            return problems.push(problem.hint(format!("add the assignment `{unset}=value` at the top of the file")));
        }
        let key: String = camel(name);
        self.entries.retain(|entry| entry.key != key);
        let value = Node { span, kind: Kind::Scalar { text, plain: false } };
        self.entries.push(Entry { key, key_span: span, value });
    }

    /// Replaces variables that earlier lines set by their values, whatever quotes are around the variables.
    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in self.variables.iter().rev() {
            text = text.replace(&format!("${{{name}}}"), value);
            text = bare(&text, name, value);
        }
        text
    }
}

/// Returns the first variable in a text: `NAME` for `${NAME}` and `$NAME`.
fn variable(text: &str) -> Option<&str> {
    let name = text.split_once('$')?.1.trim_start_matches('{');
    Some(&name[..name_length(name)]).filter(|name| is_name(name))
}

/// Replaces `$NAME` in a text, but not the beginning of a longer name such as `$NAME2`.
fn bare(text: &str, name: &str, value: &str) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&format!("${name}")) {
        let behind = &rest[at + 1 + name.len()..];
        let ends = !behind.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        filled.push_str(&rest[..at]);
        filled.push_str(if ends { value } else { &rest[at..=at + name.len()] });
        rest = behind;
    }
    filled + rest
}

/// Converts a flag such as `image-pull-policy` to the parameter's name, `imagePullPolicy`.
fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let mut chars = part.chars();
        let head: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{name}{head}{}", chars.as_str())
    })
}
