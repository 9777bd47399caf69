//! Imports the claims that a JobSet creates for its pods.

use serde_json::{Map, Value as Json, json};

use crate::context::{Context, text};
use crate::field::{self, set};
use khorovod_compiler::yaml::Node;

/// Imports `volumeClaimPolicies`: each claim that the container mounts becomes storage. Runs before the other mounts are
/// imported.
pub fn read(context: &mut Context<'_>, spec: Option<&Node>, container: Option<&Node>) {
    let policies = spec.and_then(|spec| spec.get("volumeClaimPolicies")).map_or(&[][..], Node::items);
    let mounts = container.and_then(|container| container.get("volumeMounts")).map_or(&[][..], Node::items);
    for policy in policies {
        for template in policy.get("templates").map_or(&[][..], Node::items) {
            let metadata = template.get("metadata");
            let name = metadata.and_then(|node| node.get("name")).and_then(text).unwrap_or_default();
            let is_here = |mount: &&Node| mount.get("name").and_then(text).as_ref() == Some(&name);
            let mut mounted = mounts.iter().filter(is_here).peekable();
            if mounted.peek().is_none() {
                context.lose(template, "the container that trains does not mount it");
            }
            for mount in mounted {
                claim(context, template, mount, &name);
            }
        }
        if let Some(node) = policy.get("retentionPolicy") {
            let retained = node.get("whenDeleted").and_then(text).is_some_and(|when| when == "Retain");
            match retained {
                true => context.kept(node, field::STORAGE),
                false => context.changed(node, field::STORAGE, "a claim stays when the job is deleted"),
            }
        }
    }
}

fn claim(context: &mut Context<'_>, template: &Node, mount: &Node, name: &str) {
    let spec = template.get("spec");
    let get = |key: &str| spec.and_then(|spec| spec.get(key));
    let size = get("resources").and_then(|node| node.get("requests")).and_then(|node| node.get("storage"));
    let Some((size, path)) = size.and_then(text).zip(mount.get("mountPath").and_then(text)) else {
        context.lose(template, "it has no size");
        return context.lose(mount, "its claim is lost");
    };
    let mut claim = Map::from_iter([("size".to_owned(), Json::from(size))]);
    claim.extend(get("storageClassName").and_then(text).map(|class| ("storageClassName".to_owned(), class.into())));
    claim.extend(get("accessModes").map(|modes| ("accessModes".to_owned(), modes.to_json())));
    let mut item = json!({"name": name, "mountPath": path, "claim": claim});
    if let Some(below) = mount.get("subPath").and_then(text) {
        item["subPath"] = below.into();
    }
    if mount.get("readOnly").is_some_and(|node| context.yes(node)) {
        item["readOnly"] = true.into();
    }
    let from = context.outcomes.path(template).to_owned();
    context.spec.push(set::STORAGE, item, &from);
    let name = template.get("metadata").and_then(|node| node.get("name"));
    let held = [name, size_of(template), get("storageClassName"), get("accessModes")];
    for node in held.into_iter().flatten() {
        context.kept(node, field::STORAGE);
    }
    context.lose(
        template,
        "a claim of spec.storage has no such field: create the claim yourself, and name it in `existingClaim`",
    );
    for entry in mount.entries() {
        match entry.key.as_str() {
            "name" | "mountPath" | "readOnly" | "subPath" => context.kept(&entry.value, field::STORAGE),
            _ => context.lose(&entry.value, "spec.storage has no such field: set it with spec.patches"),
        }
    }
}

fn size_of(template: &Node) -> Option<&Node> {
    template.get("spec")?.get("resources")?.get("requests")?.get("storage")
}
