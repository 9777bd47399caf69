//! Overlays and settings, separated by NUL bytes: `spec NUL overlay NUL setting NUL setting ...`. The result of an overlay
//! must equal that of an independent merge-patch implementation. A setting of one value at a path of plain keys must equal
//! an overlay with that value.

use khorovod::Inputs;
use serde_json::{Map, Value as Json};

use super::{documents, inputs, render, text};

pub fn run(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else { return };
    let mut parts = input.split('\0');
    let (spec, overlay) = (parts.next().unwrap_or_default(), parts.next());
    let sets: Vec<String> = parts.take(4).map(str::to_owned).collect();
    let overlays: Vec<_> = overlay.filter(|overlay| !overlay.is_empty()).map(text).into_iter().collect();
    let rendered = render::agree(spec, &Inputs { overlays: overlays.clone(), sets: sets.clone(), ..inputs() });
    let Some(rendered) = rendered else { return };
    // YAML parsers differ in a `?` in brackets, which is a key or text; the other characters are line ends in YAML 1.1 only.
    if input.contains(['?', '\u{85}', '\u{2028}', '\u{2029}']) {
        return;
    }
    if let (Some([meant]), Some(overs)) = (documents(spec).as_deref(), overlays_of(overlay, &sets)) {
        let mut meant = meant.clone();
        for over in overs {
            merge(&mut meant, over);
        }
        let again =
            khorovod::render(&text(meant.to_string()), &inputs()).unwrap_or_else(|found| panic!("{:?}", found.list));
        let objects = |rendered: &khorovod::Rendered| -> Vec<String> {
            let ours = rendered.documents.iter().filter(|one| !one.kind.is_empty());
            let text = |one: &khorovod::Document| rendered.text[one.range.clone()].to_owned();
            // The template of a document is named in a comment, which JSON does not have.
            let alone = |text: String| match text.split_once('\n') {
                Some((head, rest)) if head.starts_with("# Source: ") => rest.to_owned(),
                _ => text,
            };
            ours.map(text).map(alone).collect()
        };
        assert_eq!(objects(&rendered), objects(&again));
    }
}

/// Converts all overlays and settings to overlays, if that is possible.
fn overlays_of(overlay: Option<&str>, sets: &[String]) -> Option<Vec<Json>> {
    let mut overs = match overlay.filter(|overlay| !overlay.is_empty()) {
        Some(overlay) => documents(overlay)?,
        None => Vec::new(),
    };
    if overs.len() > 1 || !overs.iter().all(Json::is_object) {
        return None;
    }
    for set in sets {
        let (path, value) = set.split_once('=')?;
        let plain = |key: &&str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let value = match &documents(value)?[..] {
            // A setting replaces a map, while an overlay would merge it.
            [Json::Object(_)] => return None,
            [value] => value.clone(),
            _ => return None,
        };
        let mut keys: Vec<&str> = path.split('.').collect();
        if !keys.iter().all(plain) {
            return None;
        }
        if !matches!(keys[0], "spec" | "metadata" | "apiVersion" | "kind") {
            keys.insert(0, "spec");
        }
        let nested = |value: Json, key: &&str| Json::Object([((*key).to_owned(), value)].into_iter().collect());
        overs.push(keys.iter().rev().fold(value, nested));
    }
    Some(overs)
}

/// A merge patch: maps are merged, null removes a key, other values replace.
fn merge(base: &mut Json, over: Json) {
    match (base, over) {
        (Json::Object(base), Json::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(&key) {
                    Some(_) if value.is_null() => drop(base.shift_remove(&key)),
                    Some(known) => merge(known, value),
                    None if value.is_null() => {}
                    // A nested null also removes its key.
                    None => {
                        let mut new = Json::Object(Map::new());
                        merge(&mut new, value);
                        base.insert(key, new);
                    }
                }
            }
        }
        (base, over) => *base = over,
    }
}
