//! The user's patches: RFC 7386 merges into objects chosen by kind and name, or into their pods, wherever the target
//! puts those.

use serde_json::{Map, Value as Json};

use super::meta::{COMPONENT, GROUP, JOB, RUN};
use super::{Body, Object};
use crate::job::valid::Patch;

/// Whether a patch is meant for an object, or for pods, which the object may hold.
pub fn may_concern(patch: &Patch, object: &Object) -> bool {
    let holds_pods = matches!(object.body, Body::StatefulSet(_) | Body::Job(_) | Body::Custom(_) | Body::Patched(_));
    concerns(patch, object.kind, &object.metadata.name) || of_pods(patch) && holds_pods
}

/// Whether a patch is meant for the object of a kind and name.
pub fn concerns(patch: &Patch, kind: &str, name: &str) -> bool {
    patch.kind.as_deref().is_none_or(|wanted| wanted == kind) && patch.has_name(name)
}

/// No target renders pods as objects.
fn of_pods(patch: &Patch) -> bool {
    patch.kind.as_deref() == Some("Pod")
}

/// The parts of an object, which `whole` is, that a patch is laid over: all of it, or its pods.
pub fn reached<'o>(patch: &Patch, object: &Object, whole: &'o mut Json) -> Vec<&'o mut Json> {
    let mut found = Vec::new();
    if of_pods(patch) {
        pods(whole, patch, &mut found);
    } else if concerns(patch, object.kind, &object.metadata.name) {
        found.push(whole);
    }
    found
}

fn pods<'o>(object: &'o mut Json, patch: &Patch, found: &mut Vec<&'o mut Json>) {
    if object.pointer("/spec/containers").is_some() {
        if patch.has_name(&pod_name(object)) {
            found.push(object);
        }
        return;
    }
    match object {
        Json::Object(fields) => fields.values_mut().for_each(|value| pods(value, patch, found)),
        Json::Array(items) => items.iter_mut().for_each(|value| pods(value, patch, found)),
        _ => {}
    }
}

/// What pods are called under every target, but for what their makers put behind it: `mnist-<run>-worker`.
fn pod_name(pod: &Json) -> String {
    let label = |name: &str| pod.pointer("/metadata/labels").and_then(|labels| labels.get(name)).and_then(Json::as_str);
    let parts = [JOB, RUN, COMPONENT, GROUP].map(label);
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

/// RFC 7386: maps merge, null removes, all else replaces. Keys keep their order.
pub fn merge(target: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        patch.clone_into(target);
        return;
    };
    if !target.is_object() {
        *target = Json::Object(Map::new());
    }
    let Json::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.shift_remove(key);
        } else {
            merge(target.entry(key).or_insert(Json::Null), value);
        }
    }
}
