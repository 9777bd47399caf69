//! Builds the new spec. Each field has a comment that names the old field from which it was made.

use crate::field::{self, Field};
use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use khorovod_compiler::yaml::writer::to_yaml;
use khorovod_compiler::{job, yaml};

/// A TrainingJob that is being built.
#[derive(Debug, Default)]
pub struct SpecBuilder {
    root: Map<String, Json>,
    /// The comments: the path of a field, and the text. A field may have several.
    comments: Vec<(String, String)>,
}

/// The maximum length of a line with its comment. If a line would be longer, the comment is written above it.
const WIDTH: usize = 110;

impl SpecBuilder {
    /// Returns an empty job.
    pub fn new() -> Self {
        let mut spec = Self::default();
        spec.root.insert("apiVersion".to_owned(), "khorovod.dev/v1alpha1".into());
        spec.root.insert("kind".to_owned(), job::KIND.into());
        spec
    }

    /// Sets a field such as `spec.workers.replicas`. The comment is added to an existing one.
    pub fn put<T: Into<Json>>(&mut self, field: Field<T>, value: impl Into<T>, comment: &str) {
        let value: T = value.into();
        let (above, last) = field.path.rsplit_once('.').unwrap_or_default();
        self.map(above).insert(last.to_owned(), value.into());
        self.comment(field.path, comment);
    }

    /// Sets an entry of a map whose keys may contain dots: `spec.env`, `NAME`.
    pub fn put_key(&mut self, field: Field<Json>, key: &str, value: impl Into<Json>, comment: &str) {
        self.map(field.path).insert(key.to_owned(), value.into());
        self.comment(&format!("{}.{key}", field.path), comment);
    }

    /// Removes a field. Returns its value.
    pub fn take<T>(&mut self, field: Field<T>) -> Option<Json> {
        let (above, last) = field.path.rsplit_once('.')?;
        self.get(field.path)?;
        self.map(above).shift_remove(last)
    }

    /// Removes an entry of a map whose keys may contain dots, and the map if it is then empty.
    pub fn take_key(&mut self, field: Field<Json>, key: &str) -> Option<Json> {
        self.get(field.path)?;
        let map = self.map(field.path);
        let taken = map.shift_remove(key);
        if map.is_empty() {
            self.take(field);
        }
        taken
    }

    /// Appends an item to a list such as `spec.storage`.
    pub fn push(&mut self, field: Field<Json>, item: impl Into<Json>, comment: &str) {
        let (above, last) = field.path.rsplit_once('.').unwrap_or_default();
        let entries = self.map(above).entry(last).or_insert_with(|| Json::Array(Vec::new()));
        let Some(items) = entries.as_array_mut() else { return };
        items.push(item.into());
        let at = items.len() - 1;
        self.comment(&format!("{}[{at}]", field.path), comment);
    }

    /// Adds a patch that sets an entry of a map, at a path such as `/metadata/labels`, in the objects of a target.
    pub fn patch(&mut self, target: &Json, path: &str, key: &str, value: impl Into<Json>) {
        let entries = self.map("spec").entry("patches").or_insert_with(|| Json::Array(Vec::new()));
        let Some(patches) = entries.as_array_mut() else { return };
        let at = patches.iter().position(|patch| patch["target"] == *target).unwrap_or_else(|| {
            patches.push(json!({"target": target, "patch": {}}));
            patches.len() - 1
        });
        let mut here = &mut patches[at]["patch"];
        for step in path.split('/').skip(1) {
            here = &mut here[step];
        }
        here[key] = value.into();
    }

    /// Replaces the map `image` by its short form, a text, if `name` is its only field. Does the same with `launcher`
    /// and `kind`.
    pub fn shorten_maps(&mut self) {
        for (path, main) in [(field::IMAGE, field::IMAGE_NAME), (field::LAUNCHER, field::LAUNCHER_KIND)] {
            let key = path.trim_start_matches("spec.");
            let Some(Json::Object(spec)) = self.root.get_mut("spec") else { return };
            let Some(Json::Object(map)) = spec.get_mut(key) else { continue };
            if path == field::LAUNCHER && !map.contains_key("kind") {
                map.shift_insert(0, "kind".to_owned(), "mpirun".into());
            }
            if let (1, Some(text)) = (map.len(), main.rsplit('.').next().and_then(|field| map.get(field)).cloned()) {
                spec.insert(key.to_owned(), text);
                self.comments.iter_mut().filter(|(at, _)| at == main).for_each(|(at, _)| *at = path.into());
            }
        }
    }

    /// Adds a comment to a field, once.
    pub fn comment(&mut self, path: &str, comment: &str) {
        let known = self.comments.iter().any(|(at, text)| at == path && text == comment);
        if !comment.is_empty() && !known {
            self.comments.push((path.to_owned(), comment.to_owned()));
        }
    }

    /// Removes parts of paths from the comments.
    pub fn shorten(&mut self, left_out: &[&str]) {
        for (_, comment) in &mut self.comments {
            *comment = left_out.iter().fold(std::mem::take(comment), |comment, part| comment.replace(part, ""));
        }
    }

    /// Returns the value of a field.
    pub fn get(&self, path: &str) -> Option<&Json> {
        let mut steps = path.split('.');
        let first = self.root.get(steps.next()?)?;
        steps.try_fold(first, |here, step| here.get(step))
    }

    /// Returns the map at a path, which is created if there is none.
    fn map(&mut self, path: &str) -> &mut Map<String, Json> {
        let mut here = &mut self.root;
        for step in path.split('.') {
            let next = here.entry(step).or_insert_with(|| Json::Object(Map::new()));
            if !next.is_object() {
                *next = Json::Object(Map::new());
            }
            here = match next {
                Json::Object(map) => map,
                _ => unreachable!("made one just now"),
            };
        }
        here
    }

    /// Returns the document, with its fields in the order of their declaration.
    pub fn text(&self, head: &[String]) -> String {
        let mut out = String::new();
        for line in head {
            out.extend(["# ", line, "\n"]);
        }
        let mut order = HashMap::new();
        job::fields(&mut |path, key| {
            let place = order.len();
            order.entry(if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }).or_insert(place);
        });
        self.write(&self.root, "", &order, 0, &mut out);
        out
    }

    /// Writes the entries of a map.
    fn write(
        &self,
        map: &Map<String, Json>,
        path: &str,
        order: &HashMap<String, usize>,
        column: usize,
        out: &mut String,
    ) {
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let mut entries: Vec<_> = map.iter().map(|(key, value)| (below(key), key, value)).collect();
        entries.sort_by_key(|(path, ..)| order.get(path).copied().unwrap_or(usize::MAX));
        for (path, key, value) in entries {
            match value {
                Json::Object(map) if !map.is_empty() && order.contains_key(&path) => {
                    chunk(&format!("{key}:\n"), &self.comments_at(&path), column, out);
                    self.write(map, &path, order, column + 2, out);
                }
                Json::Array(items) if items.iter().any(Json::is_object) => {
                    chunk(&format!("{key}:\n"), &self.comments_at(&path), column, out);
                    for (index, item) in items.iter().enumerate() {
                        let text = yaml(&Json::Array(vec![item.clone()]));
                        chunk(&text, &self.comments_at(&format!("{path}[{index}]")), column + 2, out);
                    }
                }
                _ => chunk(&entry(key, value), &self.comments_at(&path), column, out),
            }
        }
    }

    fn comments_at(&self, path: &str) -> String {
        let texts: Vec<&str> =
            self.comments.iter().filter(|(at, _)| at == path).map(|(_, text)| text.as_str()).collect();
        texts.join("; ")
    }
}

fn yaml(value: &Json) -> String {
    let mut text = String::new();
    to_yaml(value, &mut text);
    text
}

/// Writes a key and its value. A list of words is written on one line if it fits.
fn entry(key: &str, value: &Json) -> String {
    if let Json::Array(items) = value
        && items.iter().all(Json::is_string)
    {
        let flow = format!("{key}: {}", khorovod_compiler::yaml::flow::flow(value));
        if flow.len() <= WIDTH && flow.chars().all(|c| (' '..='~').contains(&c)) {
            return flow + "\n";
        }
    }
    yaml(&Json::Object(Map::from_iter([(key.to_owned(), value.clone())])))
}

/// Writes lines. The comment is written at the end of the first line, or above it if the line would be too long.
fn chunk(text: &str, comment: &str, column: usize, out: &mut String) {
    // A line break would end the comment, and the text after it would be parsed as YAML.
    let comment: String = comment.chars().map(|c| if yaml::ends_line(c) { ' ' } else { c }).collect();
    let indent = " ".repeat(column);
    let first = text.lines().next().unwrap_or_default();
    let above = !comment.is_empty() && column + first.len() + comment.len() + 3 > WIDTH;
    if above {
        out.extend([&indent, "# ", &comment, "\n"]);
    }
    for (index, line) in text.split_terminator('\n').enumerate() {
        if !line.is_empty() {
            out.extend([indent.as_str(), line]);
        }
        if index == 0 && !above && !comment.is_empty() {
            out.extend(["  # ", &comment]);
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::field::set;

    #[test]
    fn fields_have_the_declared_order_and_their_comments() {
        let mut spec = SpecBuilder::new();
        spec.put(set::WORKERS_GPUS, 8_u32, "resources");
        spec.put(set::WORKERS_REPLICAS, 4_u32, "worker.number");
        spec.put(set::COMMAND, json!(["python", "a b", "x,y"]), "");
        spec.put_key(set::ENV, "a.b", "1\n2", "master.env.a.b\nkind: Evil");
        spec.push(set::STORAGE, json!({"name": "data", "mountPath": "/data"}), "volumes[0]");
        spec.put(set::METADATA_NAME, "mnist", "");
        assert_eq!(
            spec.text(&["From a file.".to_owned()]),
            "# From a file.\n\
             apiVersion: khorovod.dev/v1alpha1\n\
             kind: TrainingJob\n\
             metadata:\n  \
               name: mnist\n\
             spec:\n  \
               command: [python, \"a b\", \"x,y\"]\n  \
               env:\n    \
                 a.b: |-  # master.env.a.b kind: Evil\n      \
                   1\n      \
                   2\n  \
               workers:\n    \
                 replicas: 4  # worker.number\n    \
                 gpus: 8  # resources\n  \
               storage:\n    \
                 - name: data  # volumes[0]\n      \
                   mountPath: /data\n"
        );
    }
}
