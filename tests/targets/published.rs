//! Validates rendered objects with the published custom resources of each project.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use khorovod::targets;

use super::{examples, job, objects, operators, render};

/// The published schema of each kind, which rejects unknown fields; empty without a folder.
fn published() -> Vec<(String, String, Json)> {
    let Some(folder) = std::env::var_os("KHOROVOD_CORPUS").map(PathBuf::from) else { return Vec::new() };
    let folder = folder.join("crds");
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut types = Vec::new();
    for file in
        files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "yaml"))
    {
        for document in serde_yaml::Deserializer::from_str(&fs::read_to_string(file).unwrap()) {
            let crd: Json = serde::Deserialize::deserialize(document).unwrap();
            let names = (&crd["spec"]["group"], &crd["spec"]["names"]["kind"]);
            let (Some(group), Some(kind)) = (names.0.as_str(), names.1.as_str()) else { continue };
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let mut schema = version["schema"]["openAPIV3Schema"].clone();
                close(&mut schema);
                types.push((format!("{group}/{}", version["name"].as_str().unwrap()), kind.to_owned(), schema));
            }
        }
    }
    types
}

/// Converts a schema to that of a strict API server: unknown fields are errors, and int-or-string fields accept both types.
fn close(schema: &mut Json) {
    let Json::Object(map) = schema else { return };
    if map.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        map.remove("type");
        map.remove("anyOf");
        map.insert("type".to_owned(), json!(["integer", "string"]));
    }
    let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true))
        || map.contains_key("additionalProperties");
    if let Some(properties) = map.get_mut("properties").and_then(Json::as_object_mut) {
        properties.values_mut().for_each(close);
        if !open {
            map.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            close(inner);
        }
    }
}

/// Jobs with fields that no example has for its target.
const UNUSUAL: &[(&str, &str)] = &[
    (
        "slices",
        "  workers: {replicas: 8}\n  placement: {topology: {required: block, slices: {size: 4, required: rack}}}\n",
    ),
    ("near", "  workers: {replicas: 8}\n  placement: {topology: {preferred: rack}}\n"),
    (
        "gang-near",
        "  workers: {replicas: 8}\n  scheduling: {gang: volcano}\n  placement: {topology: {required: rack}}\n",
    ),
];

#[test]
fn published_types_take_every_example() {
    let types = published();
    if types.is_empty() {
        eprintln!("skipped: KHOROVOD_CORPUS names no folder with published custom resources");
        return;
    }
    let mut judged = 0;
    // The plain objects have kinds of others too.
    for target in operators().into_iter().chain([targets::PLAIN]) {
        for (name, text) in
            examples().into_iter().chain(UNUSUAL.iter().map(|(name, spec)| ((*name).to_owned(), job(name, spec))))
        {
            let Ok(rendered) = render(&text, target) else { continue };
            for object in objects(&rendered) {
                let of = |(version, kind, _): &&(String, String, Json)| {
                    object["apiVersion"] == version.as_str() && object["kind"] == kind.as_str()
                };
                let Some((_, kind, schema)) = types.iter().find(of) else { continue };
                let mut schema = schema.clone();
                schema["properties"]["metadata"] = json!({"type": "object"});
                let judge = jsonschema::validator_for(&schema).unwrap();
                let wrong: Vec<_> =
                    judge.iter_errors(&object).map(|error| format!("{}: {error}", error.instance_path())).collect();
                assert!(wrong.is_empty(), "{name} for {}, {kind}: {wrong:#?}", target.name());
                let mut bogus = object;
                bogus["spec"]["bogus"] = json!(1);
                assert!(!judge.is_valid(&bogus), "{kind}: the judge takes anything");
                judged += 1;
            }
        }
    }
    assert!(judged > 100, "only {judged} objects were of a published type");
}
