//! What differs between two values as YAML has them, place by place: the order of fields and the way a value is written
//! are no difference.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::change::Difference;
use crate::yaml::flow::flow;

/// Of a text of several lines, such as a script, no more are named.
const LINES: usize = 12;
/// By which of its fields an item of a list is known, as Kubernetes knows it.
const NAMES: &[&str] = &["name", "mountPath", "containerPort", "key"];

/// Compares two values.
pub struct Compare {
    /// The old one may have what nobody wrote: a cluster fills in defaults.
    filled_in: bool,
    found: Vec<Difference>,
}

impl Compare {
    pub fn values(filled_in: bool, old: &Json, new: &Json) -> Vec<Difference> {
        let mut compare = Self { filled_in, found: Vec::new() };
        compare.value("", old, new);
        compare.found
    }

    fn value(&mut self, path: &str, old: &Json, new: &Json) {
        match (old, new) {
            _ if old == new => {}
            (Json::Object(old), Json::Object(new)) => self.maps(path, old, new),
            (Json::Array(old), Json::Array(new)) => self.lists(path, old, new),
            (Json::String(old), Json::String(new)) if old.contains('\n') || new.contains('\n') => {
                self.lines(path, old, new);
            }
            _ => self.push(path, Some(shown(old)), Some(shown(new))),
        }
    }

    fn maps(&mut self, path: &str, old: &Map<String, Json>, new: &Map<String, Json>) {
        for (key, value) in old {
            match new.get(key) {
                Some(other) => self.value(&below(path, key), value, other),
                None if self.filled_in => {}
                None => self.push(&below(path, key), Some(shown(value)), None),
            }
        }
        for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
            self.push(&below(path, key), None, Some(shown(value)));
        }
    }

    fn lists(&mut self, path: &str, old: &[Json], new: &[Json]) {
        let Some((before, after)) = NAMES.iter().find_map(|name| Some((named(old, name)?, named(new, name)?))) else {
            if old.len() != new.len() || !old.iter().chain(new).all(Json::is_object) {
                let whole = |items: &[Json]| Some(flow(&Json::Array(items.to_vec())));
                return self.push(path, whole(old), whole(new));
            }
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                self.value(&format!("{path}[{index}]"), old, new);
            }
            return;
        };
        let count = self.found.len();
        self.maps(path, &before, &after);
        let names = |map: &Map<String, Json>| map.keys().cloned().collect::<Vec<_>>().join(", ");
        if self.found.len() == count && !self.filled_in {
            self.push(&format!("{path}, in order"), Some(names(&before)), Some(names(&after)));
        }
    }

    /// The lines that stand in one text alone, paired by what stands before their first `:` or `=`.
    fn lines(&mut self, path: &str, old: &str, new: &str) {
        let only = |of: &str, not: &str| -> Vec<String> {
            let other: HashSet<&str> = not.lines().collect();
            of.lines().filter(|line| !other.contains(line)).map(|line| line.trim().to_owned()).collect()
        };
        let (before, mut after) = (only(old, new), only(new, old));
        let key = |line: &str| line.split_once([':', '=']).map_or(line, |(key, _)| key).to_owned();
        let mut pairs: Vec<_> = before
            .into_iter()
            .map(|line| {
                let partner = after.iter().position(|other| key(other) == key(&line)).map(|at| after.remove(at));
                (Some(line), partner)
            })
            .collect();
        pairs.extend(after.into_iter().map(|line| (None, Some(line))));
        let more = pairs.len().saturating_sub(LINES);
        for (old, new) in pairs.into_iter().take(LINES) {
            self.push(path, old, new);
        }
        if more > 0 {
            self.push(path, None, Some(format!("{more} more lines that differ")));
        }
    }

    fn push(&mut self, path: &str, old: Option<String>, new: Option<String>) {
        self.found.push(Difference { path: path.to_owned(), old, new });
    }
}

/// The items by their names; none where they have none, or one twice.
fn named(items: &[Json], name: &str) -> Option<Map<String, Json>> {
    let pairs = items.iter().map(|item| {
        let name = &item[name];
        Some((name.as_str().map_or_else(|| name.to_string(), str::to_owned), item.clone())).filter(|_| !name.is_null())
    });
    let map: Map<String, Json> = pairs.collect::<Option<_>>()?;
    (map.len() == items.len()).then_some(map)
}

fn below(path: &str, key: &str) -> String {
    // A label's name, or a file's.
    let key = if key.contains(['.', '/']) { format!("[{key}]") } else { key.to_owned() };
    match path {
        "" => key,
        _ if key.starts_with('[') => format!("{path}{key}"),
        _ => format!("{path}.{key}"),
    }
}

/// A value on one line. Blanks at its ends would not be seen.
fn shown(value: &Json) -> String {
    match value.as_str() {
        Some(text) if text.trim().len() == text.len() && !text.contains('\n') && !text.is_empty() => text.to_owned(),
        _ => flow(value),
    }
}
