//! Overlays and `--set`: one tree laid over another, before anything is checked.

use super::node::{Entry, Kind, Node};
use super::scalar::Scalar;
use crate::problem::Span;

/// Lays `over` over `base`: maps merge key by key, `null` takes a key away, anything else replaces.
pub fn merge(base: &mut Node, over: Node) {
    match (&mut base.kind, over.kind) {
        (Kind::Map(entries), Kind::Map(overs)) => {
            for entry in overs {
                lay(entries, entry);
            }
        }
        (_, kind) => *base = Node { span: over.span, kind },
    }
}

fn lay(entries: &mut Vec<Entry>, over: Entry) {
    let null = matches!(over.value.scalar(), Some(Scalar::Null));
    match entries.iter().position(|entry| entry.key == over.key) {
        Some(at) if null => {
            entries.remove(at);
        }
        Some(at) => {
            entries[at].key_span = over.key_span;
            merge(&mut entries[at].value, over.value);
        }
        None if null => {}
        None => entries.push(over),
    }
}

/// Puts `value` at a path of keys and list indices such as `spec.storage[0].mountPath`; `\.` is a
/// point inside a key. Maps on the way are made; `null` takes the key away. An error says what is
/// wrong with the path.
pub fn set(base: &mut Node, path: &str, path_span: Span, value: Node) -> Result<(), String> {
    put(base, &steps(path)?, path_span, value)
}

fn put(here: &mut Node, steps: &[Step], span: Span, value: Node) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *here = value;
        return Ok(());
    };
    let what = here.describe();
    if matches!(step, Step::Key(_)) && here.scalar() == Some(Scalar::Null) {
        *here = empty_map(span);
    }
    match (step, &mut here.kind) {
        (Step::Key(key), Kind::Map(entries)) => {
            if rest.is_empty() && matches!(value.scalar(), Some(Scalar::Null)) {
                entries.retain(|entry| entry.key != *key);
                return Ok(());
            }
            let at = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
                entries.push(Entry { key: key.clone(), key_span: span, value: empty_map(span) });
                entries.len() - 1
            });
            put(&mut entries[at].value, rest, span, value)
        }
        (Step::Key(key), _) => Err(format!("`{key}` is asked of {what}, which has no keys")),
        (Step::Index(index), Kind::List(items)) => {
            let count = items.len();
            let item = items.get_mut(*index).ok_or(format!("there is no item {index}: the list has {count}"))?;
            put(item, rest, span, value)
        }
        (Step::Index(index), _) => Err(format!("`[{index}]` is asked of {what}, not of a list")),
    }
}

fn empty_map(span: Span) -> Node {
    Node { span, kind: Kind::Map(Vec::new()) }
}

enum Step {
    Key(String),
    Index(usize),
}

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut key = String::new();
    let mut chars = path.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => key.extend(chars.next()),
            '.' if key.is_empty() && !matches!(steps.last(), Some(Step::Index(_))) => {
                return Err("a key is missing between two points".to_owned());
            }
            '.' => steps.extend((!key.is_empty()).then(|| Step::Key(std::mem::take(&mut key)))),
            '[' => {
                steps.extend((!key.is_empty()).then(|| Step::Key(std::mem::take(&mut key))));
                let index: String = chars.by_ref().take_while(|char| *char != ']').collect();
                steps.push(Step::Index(index.parse().map_err(|_| format!("`[{index}]` is no list index"))?));
            }
            other => key.push(other),
        }
    }
    steps.extend((!key.is_empty()).then_some(Step::Key(key)));
    if steps.is_empty() { Err("the path is empty".to_owned()) } else { Ok(steps) }
}
