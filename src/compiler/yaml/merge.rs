//! Overlays and `--set`: one tree laid over another, before anything is checked.

use super::node::{Entry, Kind, Node};
use super::reader::MAX_DEPTH;
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
            let at = entries.iter().position(|entry| entry.key == *key);
            if let (None, Some(Step::Index(index))) = (at, rest.first()) {
                return Err(format!("there is no `{key}` whose item {index} could be set"));
            }
            let at = at.unwrap_or_else(|| {
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

/// `storage[0].mountPath` → its steps.
fn steps(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut key = String::new();
    // A key must follow a point, and one of both, or the end, an index.
    let (mut wants_key, mut after_index) = (true, false);
    let mut chars = path.chars();
    while let Some(char) = chars.next() {
        if after_index && !matches!(char, '.' | '[') {
            return Err("a point is missing behind `]`".to_owned());
        }
        match char {
            '.' | '[' if wants_key => return Err("a key is missing before or between points".to_owned()),
            '.' => {
                steps.extend((!after_index).then(|| Step::Key(std::mem::take(&mut key))));
                (wants_key, after_index) = (true, false);
            }
            '[' => {
                steps.extend((!after_index).then(|| Step::Key(std::mem::take(&mut key))));
                let (index, rest) = chars.as_str().split_once(']').ok_or("`[` is not closed by `]`")?;
                steps.push(Step::Index(index.parse().map_err(|_| format!("`[{index}]` is no list index"))?));
                chars = rest.chars();
                after_index = true;
            }
            '\\' => {
                key.extend(chars.next());
                wants_key = false;
            }
            other => {
                key.push(other);
                wants_key = false;
            }
        }
    }
    match (path, wants_key) {
        ("", _) => return Err("the path is empty".to_owned()),
        (_, true) => return Err("a key is missing at the end".to_owned()),
        _ => steps.extend((!after_index).then_some(Step::Key(key))),
    }
    if steps.len() > MAX_DEPTH {
        return Err(format!("the path has more than {MAX_DEPTH} steps"));
    }
    Ok(steps)
}
