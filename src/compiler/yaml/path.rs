//! Paths of fields, such as `spec.storage[0].mountPath`.

use super::{Kind, Node};

/// The path of the value at `key` in the map at the path `parent`.
pub fn of_key(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") }
}

/// The path of the field at a byte offset, which is the last field that starts at or before it. Empty before the first
/// field.
pub fn at(document: &Node, offset: usize) -> String {
    let mut path = String::new();
    let mut here = document;
    loop {
        let next = match &here.kind {
            Kind::Map(entries) => {
                let entry = entries.iter().rfind(|entry| entry.key_span.start <= offset);
                entry.map(|entry| (of_key(&path, &entry.key), &entry.value))
            }
            Kind::List(items) => {
                let item = items.iter().enumerate().rfind(|(_, item)| item.span.start <= offset);
                item.map(|(index, item)| (format!("{path}[{index}]"), item))
            }
            Kind::Scalar { .. } => None,
        };
        let Some((longer, below)) = next else { return path };
        (path, here) = (longer, below);
    }
}

/// Calls `each` with every field at most `depth` levels below a node: its path, where it starts, and its value. A field
/// comes before those below it.
pub fn walk<'n>(node: &'n Node, path: &str, depth: usize, each: &mut dyn FnMut(&str, usize, &'n Node)) {
    let mut field = |path: String, start: usize, value: &'n Node| {
        each(&path, start, value);
        if depth > 1 {
            walk(value, &path, depth - 1, each);
        }
    };
    match &node.kind {
        Kind::Map(entries) => {
            for entry in entries {
                field(of_key(path, &entry.key), entry.key_span.start, &entry.value);
            }
        }
        Kind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                field(format!("{path}[{index}]"), item.span.start, item);
            }
        }
        Kind::Scalar { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Span;
    use crate::yaml::parse;

    #[test]
    fn the_path_at_an_offset_is_that_of_the_deepest_field() {
        let text = "a: {b: [1, {c: 2}]}\nd: 3\n";
        let document = parse(text, Span { source: 0, start: 0, end: text.len() }, &mut Vec::new()).unwrap().unwrap();
        let at = |what: &str| at(&document, text.find(what).unwrap());
        assert_eq!(
            [at("a"), at("b"), at("1"), at("c"), at("2"), at("3")],
            ["a", "a.b", "a.b[0]", "a.b[1].c", "a.b[1].c", "d"]
        );
        let mut paths = Vec::new();
        walk(&document, "", 2, &mut |path, _, _| paths.push(path.to_owned()));
        assert_eq!(paths, ["a", "a.b", "d"]);
    }
}
