//! The fields that a patch must leave as khorovod wrote them, because other objects or the scripts of the pods depend on
//! them. See [`find_change`].

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::BROKEN_PATCH;
use crate::kubernetes::{meta::COMPONENT, runs_scripts};
use crate::problem::Problem;
use crate::yaml::Node;

/// The start of the labels by which the objects of a job select each other.
const OWN_LABELS: &str = "khorovod.dev/";
/// The start of the names of the volumes that khorovod's scripts need.
pub const OWN_VOLUMES: &str = "khorovod-";
/// Fields of a workload that follow from the number of workers, and from the Service.
const OF_WORKLOAD: &[&str] = &["replicas", "parallelism", "completions", "completionMode", "serviceName"];

/// A fixed field that a patch changed.
struct Change {
    path: Vec<String>,
    message: String,
    hint: Cow<'static, str>,
}

/// The problem for the first fixed field that a patch changed, if there is one. `before` is the object without the
/// patch, and `after` is the object with the patch. If `kind` is `Pod`, they are pod templates. `patch` is the patch as
/// it is written.
pub fn find_change(patch: &Node, before: &Json, after: &Json, kind: &str) -> Option<Problem> {
    let change = Search { kind }.within(before, after, &mut Vec::new())?;
    let mut place = patch;
    for step in &change.path {
        let item =
            |item: &&Node| ["name", "mountPath"].iter().any(|key| item.get(key).and_then(Node::text) == Some(step));
        let Some(below) = place.get(step).or_else(|| place.items().iter().find(item)) else { break };
        place = below;
    }
    Some(Problem::new(&BROKEN_PATCH, place.span, change.message).hint(change.hint))
}

struct Search<'k> {
    kind: &'k str,
}

impl Search<'_> {
    /// Searches a value, and all values below it, for a fixed field that changed. `after` is null if the patch removed
    /// the value.
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

    /// Searches one map for a fixed field that changed.
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

    /// Searches a pod for a fixed field that changed: its containers with their commands and mounts, and its volumes.
    fn pod_spec(&self, fields: &Map<String, Json>, after: &Json, path: &[String]) -> Option<Change> {
        let dns =
            ["hostname", "subdomain"].into_iter().find(|key| fields.get(*key).unwrap_or(&Json::Null) != &after[*key]);
        if let Some(key) = dns {
            return Some(self.change(path, key, "by which the other pods find it", "remove it"));
        }
        let others = [
            (
                "hostNetwork",
                "on which the DNS policy and the ports of the job depend",
                "remove it, and set `placement.hostNetwork: true`, which applies to all pods of the job",
            ),
            (
                "restartPolicy",
                "on which the retries of the job depend",
                "remove it; `lifecycle.retries` sets the attempts",
            ),
        ];
        let other = others.into_iter().find(|(key, ..)| fields.get(*key).unwrap_or(&Json::Null) != &after[*key]);
        if let Some((key, why, hint)) = other {
            return Some(self.change(path, key, why, hint));
        }
        let own = ["containers", "initContainers"].into_iter().flat_map(|list| {
            items(fields.get(list)).filter(|container| runs_scripts(container)).map(move |container| (list, container))
        });
        for (list, container) in own {
            let name = text(container, "name");
            let path = with(path, list);
            let Some(now) = items(after.get(list)).find(|other| text(other, "name") == name) else {
                return Some(self.removed(
                    &path,
                    name,
                    &format!("the container `{name}`, which runs khorovod's scripts"),
                ));
            };
            let script = &container["command"][1];
            if !["command", "args"].iter().any(|field| items(now.get(field)).any(|word| word == script)) {
                let path = with(&with(&path, name), "command");
                let message = format!(
                    "the patch replaces `{}` of a {}, which runs khorovod's scripts",
                    path.join("."),
                    self.kind
                );
                return Some(Change {
                    path,
                    message,
                    hint: "remove it; the command of the training is `spec.command`".into(),
                });
            }
            let missing = |field: &str, key: &str| {
                let is_there = |item: &&Json| items(now.get(field)).any(|other| other[key] == item[key]);
                let (there, gone): (Vec<_>, Vec<_>) = items(container.get(field)).partition(is_there);
                (there.len(), gone.into_iter().map(|item| text(item, key)).collect::<Vec<_>>())
            };
            if let Some(mount) = items(container.get("volumeMounts"))
                .filter(|mount| text(mount, "name").starts_with(OWN_VOLUMES))
                .map(|mount| text(mount, "mountPath"))
                .find(|mount| missing("volumeMounts", "mountPath").1.contains(mount))
            {
                let path = with(&with(&path, name), "volumeMounts");
                return Some(self.removed(&path, mount, &format!("the mount `{mount}` of the container `{name}`")));
            }
            // A patch may remove a single variable on purpose, so only the removal of all variables is reported.
            if let (0, [first, ..]) = (missing("env", "name").0, missing("env", "name").1.as_slice()) {
                let path = with(&with(&path, name), "env");
                return Some(self.removed(&path, first, &format!("all variables of the container `{name}`")));
            }
        }
        let volumes = with(path, "volumes");
        let mounted = |name: &str| {
            let containers = ["containers", "initContainers"].into_iter().flat_map(|list| items(after.get(list)));
            containers
                .flat_map(|container| items(container.get("volumeMounts")))
                .any(|mount| text(mount, "name") == name)
        };
        let is_there = |name: &str| items(after.get("volumes")).any(|volume| text(volume, "name") == name);
        let mut before = items(fields.get("volumes")).map(|volume| text(volume, "name"));
        if let Some(name) = before.find(|name| !is_there(name) && mounted(name)) {
            return Some(self.removed(&volumes, name, &format!("the volume `{name}`, which a container mounts")));
        }
        self.two_sources(after, path)
    }

    /// Searches for volumes and variables to which a patch gives a second source.
    fn two_sources(&self, pod: &Json, path: &[String]) -> Option<Change> {
        let volume = items(pod.get("volumes")).find(|volume| volume.as_object().is_some_and(|fields| fields.len() > 2));
        if let Some(volume) = volume {
            let sources: Vec<_> = volume.as_object()?.keys().map(String::as_str).filter(|key| *key != "name").collect();
            let name = text(volume, "name");
            let message =
                format!("the volume `{name}` of a {} gets two sources, `{}`", self.kind, sources.join("` and `"));
            let hint = format!(
                "use another name for a new volume; to replace this one, add `$retainKeys: [name, {}]`",
                sources.last()?
            );
            return Some(Change { path: with(&with(path, "volumes"), name), message, hint: hint.into() });
        }
        ["containers", "initContainers"].into_iter().find_map(|list| {
            items(pod.get(list)).find_map(|container| {
                let both = |var: &&Json| !var["value"].is_null() && !var["valueFrom"].is_null();
                let name = text(items(container.get("env")).find(both)?, "name");
                let path = [list, text(container, "name"), "env", name]
                    .iter()
                    .fold(path.to_vec(), |path, step| with(&path, step));
                let message = format!("the variable `{name}` of a {} gets both `value` and `valueFrom`", self.kind);
                Some(Change { path, message, hint: "add `$retainKeys: [name, valueFrom]`, or `[name, value]`".into() })
            })
        })
    }

    fn change(&self, path: &[String], key: &str, why: &str, hint: &'static str) -> Change {
        let path = with(path, key);
        let message = format!("the patch changes `{}` of a {}, {why}", path.join("."), self.kind);
        Change { path, message, hint: hint.into() }
    }

    /// The change of a list from which a patch removes an item that must remain.
    fn removed(&self, list: &[String], item: &str, what: &str) -> Change {
        let message = format!("the patch removes {what}, from `{}` of a {}", list.join("."), self.kind);
        let hint = "write only the items that you add or change: the others remain";
        Change { path: with(list, item), message, hint: hint.into() }
    }
}

const SHOWS: &str = "`khorovod render` shows the object";

fn with(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}

pub fn items(list: Option<&Json>) -> impl Iterator<Item = &Json> {
    list.and_then(Json::as_array).into_iter().flatten()
}

pub fn text<'j>(item: &'j Json, key: &str) -> &'j str {
    item[key].as_str().unwrap_or_default()
}
