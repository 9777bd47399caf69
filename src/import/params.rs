//! Parameters of a ksonnet component, in each form people have them: `components/params.libsonnet`, a list of
//! `ks generate` and `ks param set` lines, or plain YAML or JSON.

use super::words::{Word, words};
use crate::problem::{Problem, Span};
use crate::source::{self, Entry, Kind, Node};

use super::{BAD_VALUE, NOTHING, TEMPLATE};

/// Deeper than any parameters.
const DEEPEST: usize = 32;

/// The parameters of the one component, as a map.
pub fn read(text: &str, span: Span, problems: &mut Vec<Problem>) -> Option<Node> {
    if text.lines().any(|line| ks(line).is_some()) {
        return Some(lines(text, span, problems));
    }
    let start = text.trim_start();
    let tree = if start.starts_with(['{', '/']) || start.starts_with("local ") {
        let mut reader = Jsonnet { text, at: 0, span, depth: 0 };
        match reader.document() {
            Ok(node) => node,
            Err(why) => {
                let at = Span { start: reader.at, end: (reader.at + 1).min(text.len()), ..span };
                let code = if why == COMPUTED { &TEMPLATE } else { &BAD_VALUE };
                problems.push(Problem::new(code, at, why).hint("`ks param list --output json` prints values alone"));
                return None;
            }
        }
    } else {
        source::parse(text, span, problems).ok()??
    };
    component(tree, problems)
}

/// A file may hold several components; the one with an image is meant.
fn component(mut tree: Node, problems: &mut Vec<Problem>) -> Option<Node> {
    let Kind::Map(entries) = &mut tree.kind else {
        let problem = Problem::new(&BAD_VALUE, tree.span, format!("parameters are a map, not {}", tree.describe()));
        problems.push(problem.hint("give the component's parameters"));
        return None;
    };
    let Some(at) = entries.iter().position(|entry| entry.key == "components") else { return Some(tree) };
    let (span, components) = (tree.span, entries.swap_remove(at).value);
    let Kind::Map(components) = components.kind else { return Some(Node { span, kind: Kind::Map(Vec::new()) }) };
    let names: Vec<String> = components.iter().map(|entry| entry.key.clone()).collect();
    let mut ours: Vec<Entry> =
        components.into_iter().filter(|entry| entry.value.get("image").is_some() || names.len() == 1).collect();
    match ours.len() {
        1 => Some(ours.remove(0).value),
        _ => {
            let message = format!("there is not one openmpi component but {}", names.join(", "));
            problems.push(Problem::new(&NOTHING, span, message).hint("leave one with an `image` in the file"));
            None
        }
    }
}

/// The words behind `ks`, where a line calls it.
fn ks(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("$ ").unwrap_or(line).strip_prefix("ks ").map(str::trim_start)
}

/// Reads shell lines: assignments, whose values stand for their variables, and what `ks` is told.
fn lines(text: &str, span: Span, problems: &mut Vec<Problem>) -> Node {
    let mut shell = Lines { span, variables: Vec::new(), entries: Vec::new() };
    let mut at = 0;
    while at < text.len() {
        let (end, next) = command_end(text, at);
        shell.line(&text[at..end], at, problems);
        at = next;
    }
    Node { span, kind: Kind::Map(shell.entries) }
}

/// Where a command ends, and where the next begins: at a line end, a `;`, a `&&` or a comment that stands in no quotes.
fn command_end(text: &str, from: usize) -> (usize, usize) {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text[from..].char_indices().map(|(at, c)| (from + at, c)) {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', None | Some('"')) => escaped = true,
            ('\n' | ';', None) => return (at, at + 1),
            ('&', None) if text[at..].starts_with("&&") => return (at, at + 2),
            ('#', None) if at == 0 || text[..at].ends_with(char::is_whitespace) => {
                return (at, text[at..].find('\n').map_or(text.len(), |end| at + end + 1));
            }
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    (text.len(), text.len())
}

struct Lines {
    span: Span,
    variables: Vec<(String, String)>,
    entries: Vec<Entry>,
}

impl Lines {
    fn line(&mut self, line: &str, start: usize, problems: &mut Vec<Problem>) {
        let indent = line.len() - line.trim_start().len();
        let (line, start) = (line.trim_start(), start + indent);
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some(words) = words(line.trim_start().strip_prefix("$ ").unwrap_or(line.trim_start())) else { return };
        let start = start + (line.len() - line.trim_start().len());
        let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
        if let ([_], Some((name, value))) = (words.as_slice(), word(0).split_once('=')) {
            let value = self.filled(value);
            self.variables.push((name.to_owned(), value));
            return;
        }
        match (word(0), word(1), word(2)) {
            ("ks", "generate", "openmpi") => self.generate(&words[3..], start, problems),
            ("ks", "param", "set") => {
                let rest: Vec<&Word> = words[3..].iter().filter(|word| !word.text.starts_with("--")).collect();
                if let [_, name, value] = rest.as_slice() {
                    self.set(&name.text.clone(), value, start, problems);
                }
            }
            ("ks", "env", "set") => {
                let flag = words.iter().position(|word| word.text == "--namespace");
                if let Some(value) = flag.and_then(|at| words.get(at + 1)) {
                    self.set("namespace", value, start, problems);
                }
            }
            _ => {}
        }
    }

    /// `ks generate openmpi NAME --image X --workers=3`.
    fn generate(&mut self, words: &[Word], start: usize, problems: &mut Vec<Problem>) {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.text.strip_prefix("--").map(|flag| flag.split_once('=')) {
                None => self.set("name", word, start, problems),
                Some(Some((flag, value))) => {
                    let value = Word { text: value.to_owned(), ..word.clone() };
                    self.set(flag, &value, start, problems);
                }
                Some(None) => {
                    if let Some(value) = words.next() {
                        self.set(&word.text[2..], value, start, problems);
                    }
                }
            }
        }
    }

    fn set(&mut self, name: &str, word: &Word, start: usize, problems: &mut Vec<Problem>) {
        let span = Span { start: start + word.place.start, end: start + word.place.end, ..self.span };
        let text = self.filled(&word.text);
        // A launch line may have variables of its own; a value may not.
        if word.expands && !matches!(name, "exec" | "secret") && text.contains('$') {
            let problem = Problem::new(&TEMPLATE, span, format!("`{name}` has a variable that is not set here"));
            return problems.push(problem.hint("put its assignment, NAME=value, into the file"));
        }
        let key: String = camel(name);
        self.entries.retain(|entry| entry.key != key);
        let value = Node { span, kind: Kind::Scalar { text, plain: false } };
        self.entries.push(Entry { key, key_span: span, value });
    }

    /// A text with the variables that were set before.
    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in self.variables.iter().rev() {
            text = text.replace(&format!("${{{name}}}"), value);
            text = bare(&text, name, value);
        }
        text
    }
}

/// A text with `$NAME` filled in, where the name ends there.
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

/// `image-pull-policy` as flags have it, `imagePullPolicy` as parameters do.
fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let mut chars = part.chars();
        let head: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{name}{head}{}", chars.as_str())
    })
}

/// What a value that is computed is told.
const COMPUTED: &str = "this is computed: only plain values are read here";

/// The part of jsonnet that parameters are written in: objects, lists, strings, numbers, `true`, `false`, `null`,
/// comments, and an object that is only named: `local params = {…}; params`.
struct Jsonnet<'a> {
    text: &'a str,
    at: usize,
    span: Span,
    depth: usize,
}

impl<'a> Jsonnet<'a> {
    fn document(&mut self) -> Result<Node, &'static str> {
        self.blank();
        let local = self.rest().starts_with("local ");
        if local {
            let Some(equals) = self.rest().find('=') else { return Err(COMPUTED) };
            self.at += equals + 1;
        }
        let node = self.value()?;
        self.blank();
        // What follows may only name it.
        let rest = self.rest().trim_start_matches(';').trim();
        if rest.contains(['{', '[', '(']) || !local && !rest.is_empty() { Err(COMPUTED) } else { Ok(node) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let comment = ["//", "#"].iter().any(|mark| trimmed.starts_with(mark));
            let skip = if comment {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += skip;
        }
    }

    fn take(&mut self, c: char) -> bool {
        self.blank();
        let there = self.rest().starts_with(c);
        self.at += if there { c.len_utf8() } else { 0 };
        there
    }

    fn value(&mut self) -> Result<Node, &'static str> {
        self.blank();
        let start = self.at;
        let kind = match self.rest().chars().next() {
            Some('{') => self.nested(Self::map)?,
            Some('[') => self.nested(Self::list)?,
            Some('"' | '\'' | '@') => Kind::Scalar { text: self.string()?, plain: false },
            Some(_) => {
                let word = self.word();
                let number = word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
                if !number && !matches!(word.as_str(), "true" | "false" | "null") {
                    return Err(COMPUTED);
                }
                Kind::Scalar { text: word, plain: true }
            }
            None => return Err("the text ends where a value should stand"),
        };
        let span = Span { start, end: self.at, ..self.span };
        self.blank();
        if self.rest().starts_with(['+', '-', '*', '/', '%', '(', '.']) {
            return Err(COMPUTED);
        }
        Ok(Node { span, kind })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Kind, &'static str>) -> Result<Kind, &'static str> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("this is nested too deeply for parameters");
        }
        let kind = read(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn map(&mut self) -> Result<Kind, &'static str> {
        let mut entries = Vec::new();
        self.take('{');
        while !self.take('}') {
            let start = self.at;
            let quoted = self.rest().starts_with(['"', '\'']);
            let key = if quoted { self.string()? } else { self.word() };
            let key_span = Span { start, end: self.at, ..self.span };
            if key.is_empty() || self.take('+') || !self.take(':') {
                return Err(COMPUTED);
            }
            while self.take(':') {}
            let value = self.value()?;
            entries.retain(|entry: &Entry| entry.key != key);
            entries.push(Entry { key, key_span, value });
            if !self.take(',') && !self.rest().starts_with('}') {
                return Err("a comma or `}` is missing here");
            }
        }
        Ok(Kind::Map(entries))
    }

    fn list(&mut self) -> Result<Kind, &'static str> {
        let mut items = Vec::new();
        self.take('[');
        while !self.take(']') {
            items.push(self.value()?);
            if !self.take(',') && !self.rest().starts_with(']') {
                return Err("a comma or `]` is missing here");
            }
        }
        Ok(Kind::List(items))
    }

    fn word(&mut self) -> String {
        let end = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '-'));
        let word = self.rest()[..end.unwrap_or(self.rest().len())].to_owned();
        self.at += word.len();
        word
    }

    /// A string in either quotes; with `@` before it, without escapes.
    fn string(&mut self) -> Result<String, &'static str> {
        const OPEN: &str = "this string does not end";
        let verbatim = self.take('@');
        let mut chars = self.text[self.at..].char_indices();
        let quote = chars.next().map(|(_, c)| c).ok_or(OPEN)?;
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at += at + c.len_utf8();
                return Ok(text);
            }
            if c != '\\' || verbatim {
                text.push(c);
                continue;
            }
            match chars.next().ok_or(OPEN)?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    text.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                }
                other => text.push(other),
            }
        }
        Err(OPEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Result<String, String> {
        let mut problems = Vec::new();
        let span = Span { source: 0, start: 0, end: text.len() };
        read(text, span, &mut problems)
            .map(|node| node.to_json().to_string())
            .ok_or_else(|| problems.first().map_or(String::new(), |problem| problem.message.clone()))
    }

    #[test]
    fn parameters_in_each_form() {
        let wanted = r#"{"image":"a:1","workers":3,"exec":"mpiexec -n 3 sh -c 'x \"y\"'"}"#;
        let libsonnet = "{\n  global: {},\n  components: { // ours\n    job: {\n      image: 'a:1',\n      \"workers\": 3,\n      \
                         exec: \"mpiexec -n 3 sh -c 'x \\\"y\\\"'\",\n    },\n  },\n}\n";
        assert_eq!(params(libsonnet).as_deref(), Ok(wanted));
        assert_eq!(params("image: a:1\nworkers: 3\nexec: mpiexec -n 3 sh -c 'x \"y\"'").as_deref(), Ok(wanted));
        let lines = "COMPONENT=job\nIMAGE=a:1\nEXEC=\"mpiexec -n 3 sh -c 'x \\\"y\\\"'\"\n\
                     ks generate openmpi ${COMPONENT} --image ${IMAGE} \\\n  --exec \"${EXEC}\"\n\
                     ks param set ${COMPONENT} workers 3\n";
        let wanted = r#"{"name":"job","image":"a:1","exec":"mpiexec -n 3 sh -c 'x \"y\"'","workers":"3"}"#;
        assert_eq!(params(lines).as_deref(), Ok(wanted));
    }

    #[test]
    fn what_is_computed_is_refused() {
        for text in
            ["{a: b}", "{a: 1 + 2}", "{a: std.extVar('x')}", "{a+: 1}", "{a: 1", "{a: 'x}", "{a 1}", "{a: [1 2]}"]
        {
            assert!(params(text).is_err(), "{text}");
        }
        assert!(params(&"{a:".repeat(100)).is_err());
    }
}
