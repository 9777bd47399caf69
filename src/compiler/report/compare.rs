//! Compares two JSON values and lists their differences by path: [`Compare`]. The order of fields and the notation of values
//! do not matter.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::change::Difference;
use crate::yaml::flow::flow;

/// The maximum number of differences that are listed for a text of several lines, such as a script.
const LINES: usize = 12;
/// The fields that identify an item of a list. Kubernetes uses the same fields as merge keys.
const MERGE_KEYS: &[&str] = &["name", "mountPath", "containerPort", "key"];

/// Compares two values.
pub struct Compare {
    /// Whether the old value may contain defaults that the cluster added. If so, fields that only the old value has, and the
    /// order of list items, are not differences.
    has_cluster_defaults: bool,
    found: Vec<Difference>,
}

impl Compare {
    /// The differences between two values. The field [`Compare::has_cluster_defaults`] explains the first argument.
    pub fn values(has_cluster_defaults: bool, old: &Json, new: &Json) -> Vec<Difference> {
        let mut compare = Self { has_cluster_defaults, found: Vec::new() };
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
                None if self.has_cluster_defaults => {}
                None => self.push(&below(path, key), Some(shown(value)), None),
            }
        }
        for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
            self.push(&below(path, key), None, Some(shown(value)));
        }
    }

    fn lists(&mut self, path: &str, old: &[Json], new: &[Json]) {
        let Some((before, after)) = MERGE_KEYS.iter().find_map(|name| Some((named(old, name)?, named(new, name)?)))
        else {
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
        if self.found.len() == count && !self.has_cluster_defaults {
            self.push(&format!("{path}, in order"), Some(names(&before)), Some(names(&after)));
        }
    }

    /// Lists the lines that only one of the texts has. An old and a new line form a pair if they are equal up to the first `:`
    /// or `=`.
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
            self.push(path, None, Some(format!("{more} more lines differ")));
        }
    }

    fn push(&mut self, path: &str, old: Option<String>, new: Option<String>) {
        self.found.push(Difference { path: path.to_owned(), old, new });
    }
}

/// The items of a list by the value of their field `name`. `None` if an item does not have the field, or two items have the
/// same value.
fn named(items: &[Json], name: &str) -> Option<Map<String, Json>> {
    let pairs = items.iter().map(|item| {
        let name = &item[name];
        Some((name.as_str().map_or_else(|| name.to_string(), str::to_owned), item.clone())).filter(|_| !name.is_null())
    });
    let map: Map<String, Json> = pairs.collect::<Option<_>>()?;
    (map.len() == items.len()).then_some(map)
}

/// Appends a key to a path.
fn below(path: &str, key: &str) -> String {
    // The key is the name of a label or a file.
    let key = if key.contains(['.', '/']) { format!("[{key}]") } else { key.to_owned() };
    match path {
        "" => key,
        _ if key.starts_with('[') => format!("{path}{key}"),
        _ => format!("{path}.{key}"),
    }
}

/// A value on one line. Strings are quoted if they are empty or have spaces at their ends, which would not be visible.
fn shown(value: &Json) -> String {
    match value.as_str() {
        Some(text) if text.trim().len() == text.len() && !text.contains('\n') && !text.is_empty() => text.to_owned(),
        _ => flow(value),
    }
}
