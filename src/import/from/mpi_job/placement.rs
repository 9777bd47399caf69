//! Imports the fields that place the launcher's pod. `spec.placement` applies to all pods and has the values of the
//! workers. If the launcher's pod has other values, they become a patch of this pod.

use serde_json::{Map, Value as Json};

use super::{no_launcher_pod, over_pods};
use crate::context::Context;
use crate::field;
use crate::pod;
use khorovod_compiler::kubernetes::pod::DEAD_NODE_TOLERATIONS;
use khorovod_compiler::yaml::Node;

/// Imports these fields of the launcher's pod. The workers' fields are already in the spec.
pub fn launcher(context: &mut Context<'_>, pod: &Node) {
    for entry in pod.entries() {
        let Some(to) = pod::placement_field(&entry.key).map(|field| field.path) else { continue };
        let value = entry.value.to_json();
        let of_workers = context.spec.get(to).cloned();
        if pod::is_empty(&entry.value) {
            context.needless(&entry.value, "it is empty, which is the default");
        } else if pod::selects_operator_labels(&entry.key, &entry.value) {
            context.lose(&entry.value, pod::OPERATOR_LABELS);
        } else if of_workers.as_ref() == Some(&value) {
            context.kept(&entry.value, to);
        } else if let Some(why) = no_launcher_pod(context) {
            context.lose(&entry.value, why);
        } else {
            let patch = match (to, of_workers) {
                (field::PLACEMENT_TOLERATIONS, _) => with_own_tolerations(value),
                (_, of_workers) => difference(&of_workers.unwrap_or_default(), value),
            };
            over_pods(context, "/spec", entry, patch, true);
        }
    }
}

/// Adds khorovod's own tolerations of the launcher's pod, because a patch replaces the list of tolerations as a whole.
fn with_own_tolerations(list: Json) -> Json {
    match list {
        Json::Array(items) => items.into_iter().chain(DEAD_NODE_TOLERATIONS.iter().cloned()).collect(),
        other => other,
    }
}

/// Returns the patch that turns one value into another. Lists are replaced as a whole.
fn difference(before: &Json, after: Json) -> Json {
    let (Json::Object(old), Json::Object(new)) = (before, &after) else { return after };
    let mut patch: Map<String, Json> = old.keys().map(|key| (key.clone(), Json::Null)).collect();
    for (key, value) in new {
        match old.get(key) {
            Some(same) if same == value => patch.shift_remove(key),
            Some(other) => patch.insert(key.clone(), difference(other, value.clone())),
            None => patch.insert(key.clone(), value.clone()),
        };
    }
    Json::Object(patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_the_launcher_lacks_are_removed() {
        let workers = json!({"pool": "gpu", "zone": "a", "arch": "x"});
        let patch = difference(&workers, json!({"pool": "cpu", "zone": "a"}));
        assert_eq!(patch, json!({"pool": "cpu", "arch": null}));
        assert_eq!(difference(&Json::Null, json!({"pool": "cpu"})), json!({"pool": "cpu"}));
    }
}
