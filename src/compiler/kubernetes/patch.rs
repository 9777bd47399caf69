//! Applies `spec.patches`, which are [strategic merge patches](super::strategic). A patch selects objects by kind and
//! name. A patch with `kind: Pod` selects the pod templates in the objects. The target decides which objects contain
//! pod templates.

use serde_json::Value as Json;

use super::meta::{COMPONENT, GROUP, JOB, RUN};
use super::strategic::{Type, merge};
use super::{Body, Object};
use crate::job::valid::Patch;

/// Whether a patch selects an object, or selects pods and the object may contain pod templates.
pub fn may_select(patch: &Patch, object: &Object) -> bool {
    let may_have_pods =
        matches!(object.body, Body::StatefulSet { .. } | Body::Job { .. } | Body::Custom { .. } | Body::Patched(_));
    selects(patch, object.kind, &object.metadata.name) || selects_pods(patch) && may_have_pods
}

/// Whether a patch selects the object with this kind and name.
pub fn selects(patch: &Patch, kind: &str, name: &str) -> bool {
    patch.kind.as_deref().is_none_or(|wanted| wanted == kind) && patch.has_name(name)
}

/// Whether a patch selects pods. No target renders pods as objects of their own.
fn selects_pods(patch: &Patch) -> bool {
    patch.kind.as_deref() == Some("Pod")
}

/// The parts of an object to which a patch applies: the whole object, or its pod templates. `whole` is the object as JSON.
pub fn patched_parts<'o>(patch: &Patch, object: &Object, whole: &'o mut Json) -> Vec<&'o mut Json> {
    let mut found = Vec::new();
    if selects_pods(patch) {
        pods(whole, patch, &mut found);
    } else if selects(patch, object.kind, &object.metadata.name) {
        found.push(whole);
    }
    found
}

/// Collects the pod templates in a value, if their names match the patch.
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

/// The name of a pod without the suffix of its controller, such as `mnist-<run>-worker`. It is the same for every target.
fn pod_name(pod: &Json) -> String {
    let label = |name: &str| pod.pointer("/metadata/labels").and_then(|labels| labels.get(name)).and_then(Json::as_str);
    let parts = [JOB, RUN, COMPONENT, GROUP].map(label);
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

/// Applies a patch to one of the parts that it selects. `change` gets the part, the type of the part and the patch, and
/// merges the patch into the part. Some targets give khorovod's container in a pod another name. During the call, the
/// container has the name of its component, `worker` or `launcher`, so that one patch applies to every target.
pub fn apply_with<R>(
    patch: &Patch,
    kind: &str,
    part: &mut Json,
    change: impl FnOnce(&mut Json, Type, &Json) -> R,
) -> R {
    let of = Type::of_kind(if selects_pods(patch) { "Pod" } else { kind });
    let component = part.pointer("/metadata/labels").and_then(|labels| labels.get(COMPONENT)).cloned();
    let (Type::Pod, Some(component)) = (of, component) else { return change(part, of, &patch.patch) };
    let given = own_container(part).map(|container| std::mem::replace(&mut container["name"], component));
    let result = change(part, of, &patch.patch);
    if let (Some(container), Some(given)) = (own_container(part), given) {
        container["name"] = given;
    }
    result
}

/// khorovod's container in a pod.
fn own_container(pod: &mut Json) -> Option<&mut Json> {
    pod.pointer_mut("/spec/containers")?.as_array_mut()?.iter_mut().find(|container| runs_scripts(container))
}

/// Whether a container runs khorovod's scripts.
pub fn runs_scripts(container: &Json) -> bool {
    container["command"][1].as_str().is_some_and(|script| script.starts_with("/etc/khorovod/scripts/"))
}

/// Applies a patch to one of the parts that it selects.
pub fn apply(patch: &Patch, kind: &str, part: &mut Json) {
    apply_with(patch, kind, part, |part, of, patch| merge(part, patch, of));
}
