//! Reads the parameters of a ksonnet component from `components/params.libsonnet`, from a list of `ks generate` and `ks
//! param set` lines, or from YAML or JSON.

mod ks_lines;

use crate::context::text;
use crate::from::openmpi::jsonnet::{COMPUTED, Jsonnet};
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::yaml::{self, Entry, Kind, Node};

use crate::codes::{BAD_VALUE, NOTHING, TEMPLATE};

/// The prefix of the keys for commands between the `ks` lines, which set no parameter.
pub const COMMAND: &str = "$ ";

/// Returns the parameters of the component as a map.
pub fn read(text: &str, span: Span, problems: &mut Vec<Problem>) -> Option<Node> {
    if text.lines().any(|line| ks_lines::ks(line).is_some()) {
        return Some(ks_lines::lines(text, span, problems));
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
        yaml::parse(text, span, problems).ok()??
    };
    component(listed(tree), problems)
}

/// Reads the output of `ks param list`: rows of a component, a name, and a value as Jsonnet writes it.
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

/// Adds a parameter to its component.
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

/// Reads the output of `ks param list --output json`.
fn listed(tree: Node) -> Node {
    let is_list = tree.get("kind").and_then(text).is_some_and(|kind| kind.eq_ignore_ascii_case("paramList"));
    let Some(rows) = tree.get("data").filter(|_| is_list) else { return tree };
    let mut components = Vec::new();
    for row in rows.items() {
        let get = |key: &str| row.get(key).and_then(text);
        if let (Some(component), Some(key)) = (get("component"), get("param")) {
            place(&mut components, &component, &key, &get("value").unwrap_or_default(), row.span);
        }
    }
    of_components(components, tree.span)
}

/// Chooses the component with an image, if a file has several.
fn component(mut tree: Node, problems: &mut Vec<Problem>) -> Option<Node> {
    let Kind::Map(entries) = &mut tree.kind else {
        let problem = Problem::new(&BAD_VALUE, tree.span, format!("parameters must be a map, not {}", tree.describe()));
        problems.push(problem.hint("import the component's parameters"));
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
            let message = format!("there is more than one openmpi component: {}", names.join(", "));
            problems.push(Problem::new(&NOTHING, span, message).hint("keep only the one with an `image` in the file"));
            None
        }
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
        let expected = r#"{"image":"a:1","workers":3,"exec":"mpiexec -n 3 sh -c 'x \"y\"'"}"#;
        let libsonnet = "{\n  global: {},\n  components: { // ours\n    job: {\n      image: 'a:1',\n      \"workers\": 3,\n      \
                         exec: \"mpiexec -n 3 sh -c 'x \\\"y\\\"'\",\n    },\n  },\n}\n";
        assert_eq!(params(libsonnet).as_deref(), Ok(expected));
        assert_eq!(params("image: a:1\nworkers: 3\nexec: mpiexec -n 3 sh -c 'x \"y\"'").as_deref(), Ok(expected));
        let lines = "COMPONENT=job\nIMAGE=a:1\nEXEC=\"mpiexec -n 3 sh -c 'x \\\"y\\\"'\"\n\
                     ks generate openmpi ${COMPONENT} --image ${IMAGE} \\\n  --exec \"${EXEC}\"\n\
                     ks param set ${COMPONENT} workers 3\n";
        let expected = r#"{"name":"job","image":"a:1","exec":"mpiexec -n 3 sh -c 'x \"y\"'","workers":"3"}"#;
        assert_eq!(params(lines).as_deref(), Ok(expected));
    }

    #[test]
    fn parameters_as_ks_lists_them() {
        let expected = r#"{"exec":"mpiexec -n 6 python a.py","workers":3,"image":"a:1"}"#;
        let table = "COMPONENT PARAM   VALUE\n========= =====   =====\njob       exec    'mpiexec -n 6 python a.py'\n\
                     job       workers 3\njob       image   'a:1'\n";
        assert_eq!(params(table).as_deref(), Ok(expected));
        let json = r#"{"kind": "paramList", "data": [
            {"component": "job", "index": "0", "param": "exec", "value": "'mpiexec -n 6 python a.py'"},
            {"component": "job", "param": "workers", "value": "3"},
            {"component": "job", "param": "image", "value": "\"a:1\""}]}"#;
        assert_eq!(params(json).as_deref(), Ok(expected));
    }

    #[test]
    fn incomplete_lines_are_refused() {
        let rest = "--secret s \\";
        for (text, expected) in [
            (format!("ks generate openmpi a --image x:1 {rest} \n  --workers 2 --exec 'sleep 1'\n"), "a blank follows"),
            ("ks generate openmpi a --image x:1\n  --workers 2\n".to_owned(), "`--workers` is in a line"),
            ("ks generate openmpi a --image x:1\nks generate openmpi b --image y:1\n".to_owned(), "several components"),
            ("ks generate openmpi a --image x:1\nks param set b workers 3\n".to_owned(), "several components"),
            ("ks generate openmpi a --image x:1 --workers\n".to_owned(), "has no value"),
        ] {
            let mut problems = Vec::new();
            read(&text, Span { source: 0, start: 0, end: text.len() }, &mut problems);
            assert!(problems.iter().any(|problem| problem.message.contains(expected)), "{text}: {problems:#?}");
        }
        let beside = r#"{"name":"a","image":"x:1","$ kubectl get pods | less":""}"#;
        let params = params("ks generate openmpi a --image x:1\nkubectl get pods | less\n");
        assert_eq!(params.as_deref(), Ok(beside));
    }

    #[test]
    fn computed_parameters_are_refused() {
        for text in
            ["{a: b}", "{a: 1 + 2}", "{a: std.extVar('x')}", "{a+: 1}", "{a: 1", "{a: 'x}", "{a 1}", "{a: [1 2]}"]
        {
            assert!(params(text).is_err(), "{text}");
        }
        assert!(params(&"{a:".repeat(100)).is_err());
    }
}
