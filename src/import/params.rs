//! Parameters of a ksonnet component, in each form people have them: `components/params.libsonnet`, a list of
//! `ks generate` and `ks param set` lines, or plain YAML or JSON.

use super::desk::{items, text};
use super::holes::hole;
use super::jsonnet::{COMPUTED, Jsonnet};
use super::slurm::texts;
use super::words::{Word, is_name, words};
use crate::problem::{Problem, Span};
use crate::source::{self, Entry, Kind, Node};

use super::{BAD_VALUE, NOTHING, TEMPLATE};

/// The parameters of the one component, as a map.
pub fn read(text: &str, span: Span, problems: &mut Vec<Problem>) -> Option<Node> {
    if text.lines().any(|line| ks(line).is_some()) {
        return Some(lines(text, span, problems));
    }
    if let Some(table) = table(text, span) {
        return component(table, problems);
    }
    let start = text.trim_start();
    let tree = if start.starts_with(['{', '/']) || start.starts_with("local ") {
        let mut reader = Jsonnet::new(text, span);
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
    component(listed(tree), problems)
}

/// What `ks param list` prints: rows of a component, a name, and a value as jsonnet writes it.
fn table(text: &str, span: Span) -> Option<Node> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let heading: Vec<&str> = lines.next()?.split_whitespace().collect();
    if heading.first() != Some(&"COMPONENT") || heading.last() != Some(&"VALUE") {
        return None;
    }
    let mut components = Vec::new();
    for line in lines.filter(|line| !line.starts_with('=')) {
        let start = span.start + (line.as_ptr() as usize - text.as_ptr() as usize);
        let span = Span { start, end: start + line.len(), ..span };
        let mut rest = line;
        let mut words = Vec::new();
        for _ in 1..heading.len() {
            let (word, behind) = rest.split_once(char::is_whitespace)?;
            words.push(word);
            rest = behind.trim_start();
        }
        place(&mut components, words[0], words[words.len() - 1], rest, span);
    }
    Some(of_components(components, span))
}

/// Puts a parameter into its component.
fn place(components: &mut Vec<Entry>, component: &str, key: &str, text: &str, span: Span) {
    let mut reader = Jsonnet::new(text, span);
    let kind = reader.value().map_or(Kind::Scalar { text: text.to_owned(), plain: false }, |node| node.kind);
    let at = components.iter().position(|entry| entry.key == component).unwrap_or_else(|| {
        let value = Node { span, kind: Kind::Map(Vec::new()) };
        components.push(Entry { key: component.to_owned(), key_span: span, value });
        components.len() - 1
    });
    if let Kind::Map(entries) = &mut components[at].value.kind {
        entries.push(Entry { key: key.to_owned(), key_span: span, value: Node { span, kind } });
    }
}

fn of_components(components: Vec<Entry>, span: Span) -> Node {
    let value = Node { span, kind: Kind::Map(components) };
    Node { span, kind: Kind::Map(vec![Entry { key: "components".to_owned(), key_span: span, value }]) }
}

/// The same as `--output json` prints it.
fn listed(tree: Node) -> Node {
    let is_list = tree.get("kind").and_then(text).is_some_and(|kind| kind.eq_ignore_ascii_case("paramList"));
    let Some(rows) = tree.get("data").filter(|_| is_list) else { return tree };
    let mut components = Vec::new();
    for row in items(rows) {
        let get = |key: &str| row.get(key).and_then(text);
        if let (Some(component), Some(key)) = (get("component"), get("param")) {
            place(&mut components, &component, &key, &get("value").unwrap_or_default(), row.span);
        }
    }
    of_components(components, tree.span)
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
        let Some(words) = words(line.trim_start().strip_prefix("$ ").unwrap_or(line.trim_start())) else {
            return self.odd(line);
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

    /// An assignment that is no plain word: a sum of what was set before, or a place to be filled in, which is told where
    /// the variable is used.
    fn odd(&mut self, line: &str) {
        let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_name(name)) else { return };
        let value = value.trim().trim_matches('"');
        let known = self.filled(value);
        let set =
            |name: &str| self.variables.iter().rev().find(|(other, _)| other == name).map(|(_, text)| text.clone());
        let reckoned = texts::reckoned(&known, set);
        if value.contains("$((") && !reckoned.contains("$(") || hole(value).is_some() {
            self.variables.push((name.to_owned(), reckoned));
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
            let unset = variable(&text).unwrap_or("NAME");
            let problem = Problem::new(&TEMPLATE, span, format!("`{name}` has a variable that is not set here"));
            return problems.push(problem.hint(format!("put its assignment, `{unset}=value`, at the top of the file")));
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

/// The first variable in a text: `NAME` of `${NAME}` and `$NAME`.
fn variable(text: &str) -> Option<&str> {
    let name = text.split_once('$')?.1.trim_start_matches('{');
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| is_name(name))
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
    fn parameters_as_ks_lists_them() {
        let wanted = r#"{"exec":"mpiexec -n 6 python a.py","workers":3,"image":"a:1"}"#;
        let table = "COMPONENT PARAM   VALUE\n========= =====   =====\njob       exec    'mpiexec -n 6 python a.py'\n\
                     job       workers 3\njob       image   'a:1'\n";
        assert_eq!(params(table).as_deref(), Ok(wanted));
        let json = r#"{"kind": "paramList", "data": [
            {"component": "job", "index": "0", "param": "exec", "value": "'mpiexec -n 6 python a.py'"},
            {"component": "job", "param": "workers", "value": "3"},
            {"component": "job", "param": "image", "value": "\"a:1\""}]}"#;
        assert_eq!(params(json).as_deref(), Ok(wanted));
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
