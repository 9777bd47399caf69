//! The fields that a patch must leave as khorovod wrote them, because other objects or the scripts of the pods depend on
//! them. See [`find_change`].

use serde_json::{Map, Value as Json};

use crate::kubernetes::meta::COMPONENT;
use crate::problem::Span;
use crate::yaml::Node;

/// The start of the labels by which the objects of a job select each other.
const OWN_LABELS: &str = "khorovod.dev/";
/// The start of the names of the volumes that khorovod's scripts need.
const OWN_VOLUMES: &str = "khorovod-";
/// Fields of a workload that follow from the number of workers, and from the Service.
const OF_WORKLOAD: &[&str] = &["replicas", "parallelism", "completions", "completionMode", "serviceName"];

/// A fixed field that a patch changed.
struct Change {
    path: Vec<String>,
    message: String,
    hint: &'static str,
}

/// Returns the first fixed field that a patch changed: its place in the patch, a message, and a hint. `before` and `after` are
/// the object, or the pod template if `kind` is `Pod`, without and with the patch. `patch` is the patch as it is written.
pub fn find_change(patch: &Node, before: &Json, after: &Json, kind: &str) -> Option<(Span, String, &'static str)> {
    let change = Search { kind }.within(before, after, &mut Vec::new())?;
    let mut place = patch;
    for key in &change.path {
        let Some(below) = place.get(key) else { break };
        place = below;
    }
    Some((place.span, change.message, change.hint))
}

struct Search<'k> {
    kind: &'k str,
}

impl Search<'_> {
    /// Searches a value and all values below it. `after` is null if the patch removed the value.
    fn within(&self, before: &Json, after: &Json, path: &mut Vec<String>) -> Option<Change> {
        match before {
            Json::Object(fields) => self.fields(fields, after, path).or_else(|| {
                fields.iter().find_map(|(key, value)| self.below(key.clone(), value, &after[key.as_str()], path))
            }),
            Json::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(index, value)| self.below(index.to_string(), value, &after[index], path))
            }
            _ => None,
        }
    }

    fn below(&self, key: String, before: &Json, after: &Json, path: &mut Vec<String>) -> Option<Change> {
        path.push(key);
        let found = self.within(before, after, path);
        path.pop();
        found
    }

    /// Searches the fixed fields of one map.
    fn fields(&self, fields: &Map<String, Json>, after: &Json, path: &[String]) -> Option<Change> {
        let steps: Vec<&str> = path.iter().map(String::as_str).collect();
        let differs = |key: &str| fields.get(key).unwrap_or(&Json::Null) != &after[key];
        let removed = |key: &&&str| fields.contains_key(**key) && after[**key].is_null();
        match steps.as_slice() {
            [] => {
                let gone = ["spec", "data", "stringData", "roleRef", "subjects"].iter().find(removed);
                return gone.map(|key| self.change(path, key, "without which it has no effect", SHOWS));
            }
            ["data" | "stringData"] => {
                let gone = fields.keys().find(|key| after[key.as_str()].is_null());
                return gone.map(|key| self.change(path, key, "which the pods read", SHOWS));
            }
            [.., "metadata", "labels"] => {
                let is_own = |key: &&String| key.starts_with(OWN_LABELS) || *key == COMPONENT;
                let changed = fields.keys().filter(is_own).find(|key| differs(key));
                let hint = "remove it: khorovod sets this label";
                return changed.map(|key| self.change(path, key, "a label by which other objects select it", hint));
            }
            ["spec"] if self.kind != "PersistentVolumeClaim" => {
                if let Some(key) = ["selector", "podSelector"].into_iter().find(|key| differs(key)) {
                    let hint = "remove it: the selector must match the labels of the job's pods";
                    return Some(self.change(path, key, "which selects the pods of the job", hint));
                }
            }
            _ => {}
        }
        if fields.contains_key("template") {
            if removed(&&"template") {
                return Some(self.change(path, "template", "from which it creates pods", SHOWS));
            }
            let hint = "remove it; the number of workers is `workers.replicas`";
            let changed = OF_WORKLOAD.iter().find(|key| differs(key));
            return changed.map(|key| self.change(path, key, "on which the other objects of the job depend", hint));
        }
        if fields.contains_key("containers") { self.pod_spec(fields, after, path) } else { None }
    }

    /// Searches a pod: its containers with their commands and mounts, and its volumes.
    fn pod_spec(&self, fields: &Map<String, Json>, after: &Json, path: &[String]) -> Option<Change> {
        let dns =
            ["hostname", "subdomain"].into_iter().find(|key| fields.get(*key).unwrap_or(&Json::Null) != &after[*key]);
        if let Some(key) = dns {
            return Some(self.change(path, key, "by which the other pods find it", "remove it"));
        }
        for (list, container) in ["containers", "initContainers"]
            .iter()
            .flat_map(|list| items(fields.get(*list)).map(move |item| (*list, item)))
        {
            let name = text(container, "name");
            let Some(now) = items(after.get(list)).find(|other| text(other, "name") == name) else {
                let what = format!("leaves no container `{name}`, which runs khorovod's scripts");
                return Some(self.lists(path, list, &what));
            };
            if !container["command"].is_null() && now["command"].is_null() {
                let what =
                    format!("leaves the container `{name}` without its `command`, which runs khorovod's scripts");
                return Some(self.lists(path, list, &what));
            }
            let own = items(container.get("volumeMounts")).filter(|mount| text(mount, "name").starts_with(OWN_VOLUMES));
            for mount in own.map(|mount| text(mount, "mountPath")) {
                if !items(now.get("volumeMounts")).any(|other| text(other, "mountPath") == mount) {
                    let what = format!("leaves the container `{name}` without the mount `{mount}`");
                    return Some(self.lists(path, list, &what));
                }
            }
        }
        let names: Vec<&str> = items(after.get("volumes")).map(|volume| text(volume, "name")).collect();
        let gone =
            items(fields.get("volumes")).map(|volume| text(volume, "name")).find(|name| !names.contains(name))?;
        Some(self.lists(path, "volumes", &format!("leaves no volume `{gone}`, which a container mounts")))
    }

    fn change(&self, path: &[String], key: &str, why: &str, hint: &'static str) -> Change {
        let path = with(path, key);
        Change { message: format!("the patch changes `{}` of a {}, {why}", path.join("."), self.kind), path, hint }
    }

    /// The change of a list, which a patch replaces as a whole.
    fn lists(&self, path: &[String], key: &str, what: &str) -> Change {
        let path = with(path, key);
        let message = format!("the patch replaces the whole list `{}` of a {}, and {what}", path.join("."), self.kind);
        Change {
            message,
            path,
            hint: "write all items with all their fields, as `khorovod render` prints them, and add yours",
        }
    }
}

const SHOWS: &str = "`khorovod render` shows the object";

fn with(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}

fn items(list: Option<&Json>) -> impl Iterator<Item = &Json> {
    list.and_then(Json::as_array).into_iter().flatten()
}

fn text<'j>(item: &'j Json, key: &str) -> &'j str {
    item[key].as_str().unwrap_or_default()
}
