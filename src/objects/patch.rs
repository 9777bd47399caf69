//! The user's patches: RFC 7386 merges into objects chosen by kind and name.

use serde_json::{Map, Value as Json};

use crate::spec::valid::Patch;

/// Whether a patch is meant for an object.
pub fn concerns(patch: &Patch, kind: &str, name: &str) -> bool {
    patch.kind.as_deref().is_none_or(|wanted| wanted == kind)
        && patch.name.as_deref().is_none_or(|pattern| fits(pattern, name))
}

/// Whether a name fits a pattern in which `*` stands for any run of characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut name) = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail)) else { return false };
    // The earliest place for each part leaves the most room for the next.
    for part in middle.split('*') {
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    true
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
