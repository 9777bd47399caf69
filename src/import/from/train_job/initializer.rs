//! Imports the downloads before a training: `s3://` becomes storage of the new job.

use serde_json::json;

use crate::context::{Context, text};
use crate::field::{self, set};
use khorovod_compiler::yaml::Node;

/// Imports the dataset and the model, which Trainer writes to these folders.
pub fn read(context: &mut Context<'_>, node: &Node) {
    for (key, path) in [("dataset", "/workspace/dataset"), ("model", "/workspace/model")] {
        if let Some(node) = node.get(key) {
            download(context, node, key, path);
        }
    }
}

fn download(context: &mut Context<'_>, node: &Node, name: &str, path: &str) {
    let Some(place) = node.get("storageUri") else {
        return context.lose(node, "its place is in the runtime: download it from S3 with `s3` in spec.storage");
    };
    let uri = text(place).unwrap_or_default();
    let Some(rest) = uri.strip_prefix("s3://").filter(|rest| !rest.is_empty()) else {
        let why = format!(
            "spec.storage downloads from S3 only: let the program download it, or copy it once to a claim that is mounted at {path}"
        );
        return context.lose(node, &why);
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let mut s3 = json!({"bucket": bucket, "direction": "in"});
    if !prefix.is_empty() {
        s3["prefix"] = prefix.into();
    }
    for item in node.get("env").map_or(&[][..], Node::items) {
        let get = |key: &str| item.get(key).and_then(text);
        let to = match get("name").as_deref() {
            Some("ENDPOINT") => "endpoint",
            Some("REGION") => "region",
            _ => {
                context.lose(item, "`s3` in spec.storage has no such field");
                continue;
            }
        };
        match get("value") {
            Some(value) => {
                s3[to] = value.into();
                context.kept(item, field::STORAGE);
            }
            None => context.lose(item, "`s3` in spec.storage takes only values"),
        }
    }
    if let Some((node, secret)) = node.get("secretRef").and_then(|node| Some((node, node.get("name").and_then(text)?)))
    {
        s3["secretName"] = secret.into();
        let how = "the Secret needs the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with the values of ACCESS_KEY_ID and SECRET_ACCESS_KEY";
        context.changed(node, field::STORAGE, how);
    }
    let from = context.outcomes.path(place).to_owned();
    context.spec.push(set::STORAGE, json!({"name": name, "mountPath": path, "s3": s3}), &from);
    context.changed(place, field::STORAGE, "each worker downloads it before the training");
}
