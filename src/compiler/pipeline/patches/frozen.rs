//! Finds values in a patch that were copied from rendered objects: names of one run, and fields that follow from the
//! spec. After a change of the spec, the patch would still set these old values.

use serde_json::Value as Json;

use super::fixed_fields::{OWN_VOLUMES, items, text};
use crate::kubernetes::meta::RUN;
use crate::kubernetes::runs_scripts;
use crate::kubernetes::strategic::Type;
use crate::plan::find_run_name;
use crate::problem::Span;
use crate::yaml::{Entry, Node};

/// The first name in a patch that contains the name of a run of this job, and the place of this name.
pub fn find_run<'n>(patch: &'n Node, job: &str) -> Option<(Span, &'n str)> {
    let of_entry = |entry: &'n Entry| {
        let value = entry.value.text().filter(|_| entry.key == RUN).map(|run| (entry.value.span, run));
        value.or_else(|| find_run(&entry.value, job))
    };
    let here = patch.text().and_then(|text| Some((patch.span, find_run_name(text, job)?)));
    here.or_else(|| patch.entries().iter().find_map(of_entry))
        .or_else(|| patch.items().iter().find_map(|item| find_run(item, job)))
}

/// Finds the first field in a patch that repeats a rendered field of khorovod's containers or volumes, or sets their
/// image. Returns its place, a message and a hint. `before` is the object without the patch.
pub fn find_copy(patch: &Node, before: &Json, of: Type) -> Option<(Span, String, &'static str)> {
    if of == Type::PodSpec {
        return ["containers", "initContainers", "volumes"].into_iter().find_map(|list| {
            patch.get(list)?.items().iter().find_map(|item| {
                let name = item.get("name")?.text()?;
                let object = items(before.get(list)).find(|other| text(other, "name") == name)?;
                if list == "volumes" { copied_volume(item, object, name) } else { copied_container(item, object, name) }
            })
        });
    }
    patch.entries().iter().find_map(|entry| find_copy(&entry.value, &before[&entry.key], of.field(&entry.key).0))
}

const REMOVE: &str =
    "remove it: a patch needs only the `name` of an item and the fields that it changes; all others remain";

fn copied_volume(item: &Node, object: &Json, name: &str) -> Option<(Span, String, &'static str)> {
    let is_copy = name.starts_with(OWN_VOLUMES) || item.to_json() == *object;
    is_copy.then(|| {
        (item.span, format!("the patch repeats the volume `{name}`, so it no longer follows from the spec"), REMOVE)
    })
}

fn copied_container(item: &Node, object: &Json, name: &str) -> Option<(Span, String, &'static str)> {
    if !runs_scripts(object) {
        return None;
    }
    if let Some(image) = item.get("image") {
        let message =
            format!("the patch sets the `image` of khorovod's container `{name}`, so `spec.image` no longer does");
        let hint = match name {
            "launcher" => "remove it; for another image of the launcher, use `spec.launcher.image`",
            _ => "remove it, and set `spec.image`",
        };
        return Some((image.span, message, hint));
    }
    let repeats = |field: &str, span, what: String| {
        Some((
            span,
            format!("the patch repeats {what} of the container `{name}`, so `{field}` no longer follows from the spec"),
            REMOVE,
        ))
    };
    for field in ["command", "args"] {
        if let Some(value) = item.get(field).filter(|value| value.to_json() == object[field]) {
            return repeats(field, value.span, format!("`{field}`"));
        }
    }
    for (field, key) in [("env", "name"), ("volumeMounts", "mountPath")] {
        let known = |one: &&Node| items(object.get(field)).any(|other| one.to_json() == *other);
        if let Some(one) = item.get(field).and_then(|list| list.items().iter().find(known)) {
            let which = one.get(key).and_then(Node::text).unwrap_or_default();
            return repeats(field, one.span, format!("`{which}` in `{field}`"));
        }
    }
    None
}
