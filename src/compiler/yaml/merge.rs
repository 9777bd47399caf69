//! Overlays (`--overlay`) and `--set`: changes a document's [`Node`] tree before the document is validated. [`merge`] merges one
//! tree into another, and [`set`] sets the value at one path.

use super::node::{Entry, Kind, Node};
use super::reader::MAX_DEPTH;
use super::scalar::Scalar;
use crate::problem::{Span, count};

/// Merges `over` into `base`. Maps are merged key by key, and a `null` in `over` removes the key. Any other value of `over`
/// replaces the value in `base`; in particular, lists are replaced as a whole.
pub fn merge(base: &mut Node, over: Node) {
    match (&mut base.kind, over.kind) {
        (Kind::Map(entries), Kind::Map(overs)) => {
            for entry in overs {
                merge_entry(entries, entry);
            }
        }
        (_, kind) => *base = Node { span: over.span, kind },
    }
}

/// Merges one entry of an overlay into the entries of a map.
fn merge_entry(entries: &mut Vec<Entry>, over: Entry) {
    let is_null = matches!(over.value.scalar(), Some(Scalar::Null));
    match entries.iter().position(|entry| entry.key == over.key) {
        Some(at) if is_null => {
            entries.remove(at);
        }
        Some(at) => {
            entries[at].key_span = over.key_span;
            merge(&mut entries[at].value, over.value);
        }
        None if is_null => {}
        None => entries.push(over),
    }
}

/// Sets the value at a path of keys and list indices, such as `spec.storage[0].mountPath`. In a key, write a dot as `\.`.
///
/// Missing maps on the path are created with the span `path_span`. A `null` value removes the key. A list item must exist
/// already. The error describes what is wrong with the path.
pub fn set(base: &mut Node, path: &str, path_span: Span, value: Node) -> Result<(), String> {
    set_at(base, &parse_path(path)?, path_span, value)
}

/// Sets the value at `steps` below `here`.
fn set_at(here: &mut Node, steps: &[Step], span: Span, value: Node) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *here = value;
        return Ok(());
    };
    let kind = here.describe();
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
                return Err(format!("there is no list `{key}`, so item {index} cannot be set"));
            }
            let at = at.unwrap_or_else(|| {
                entries.push(Entry { key: key.clone(), key_span: span, value: empty_map(span) });
                entries.len() - 1
            });
            set_at(&mut entries[at].value, rest, span, value)
        }
        (Step::Key(key), _) => Err(format!("`{key}` is a key, but its parent is {kind}, not a map")),
        (Step::Index(index), Kind::List(items)) => {
            let count = count(items.len() as u64, "item");
            let item = items.get_mut(*index).ok_or(format!("there is no item {index}: the list has {count}"))?;
            set_at(item, rest, span, value)
        }
        (Step::Index(index), _) => Err(format!("`[{index}]` is a list index, but its parent is {kind}, not a list")),
    }
}

fn empty_map(span: Span) -> Node {
    Node { span, kind: Kind::Map(Vec::new()) }
}

/// One step of a path.
enum Step {
    Key(String),
    Index(usize),
}

/// Parses a path such as `storage[0].mountPath` into its steps.
fn parse_path(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut key = String::new();
    // After a dot a key is required. After an index only a dot, another index or the end is allowed.
    let (mut needs_key, mut after_index) = (true, false);
    let mut chars = path.chars();
    while let Some(char) = chars.next() {
        if after_index && !matches!(char, '.' | '[') {
            return Err("add a dot after `]`".to_owned());
        }
        match char {
            '.' | '[' if needs_key => return Err("a key is missing before a dot or `[`".to_owned()),
            '.' => {
                steps.extend((!after_index).then(|| Step::Key(std::mem::take(&mut key))));
                (needs_key, after_index) = (true, false);
            }
            '[' => {
                steps.extend((!after_index).then(|| Step::Key(std::mem::take(&mut key))));
                let (index, rest) = chars.as_str().split_once(']').ok_or("a `]` is missing after `[`")?;
                steps.push(Step::Index(index.parse().map_err(|_| format!("`[{index}]` is not a list index"))?));
                chars = rest.chars();
                after_index = true;
            }
            '\\' => {
                key.extend(chars.next());
                needs_key = false;
            }
            other => {
                key.push(other);
                needs_key = false;
            }
        }
    }
    match (path, needs_key) {
        ("", _) => return Err("the path is empty".to_owned()),
        (_, true) => return Err("a key is missing at the end".to_owned()),
        _ => steps.extend((!after_index).then_some(Step::Key(key))),
    }
    if steps.len() > MAX_DEPTH {
        return Err(format!("the path has more than {MAX_DEPTH} steps"));
    }
    Ok(steps)
}
