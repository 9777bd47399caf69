//! All places for a text in the schema, with a job that accepts a text there, and the insertion of a text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use khorovod::{Target, targets};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::render;

/// One step of the path from the root of a document to a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Field(String),
    /// The first entry of a list.
    Item,
    /// A value of a map with arbitrary keys.
    Value,
    /// A key of such a map.
    Key,
}

/// A place for a text: the path to it, with the schema of each step and of the text.
#[derive(Clone)]
pub struct Place {
    pub way: Vec<(Step, Json)>,
    pub text: Json,
}

impl Place {
    pub fn name(&self) -> String {
        let word = |(step, _): &(Step, Json)| match step {
            Step::Field(name) => format!(".{name}"),
            Step::Item => "[]".to_owned(),
            Step::Value => ".*".to_owned(),
            Step::Key => ".(key)".to_owned(),
        };
        self.way.iter().map(word).collect::<String>().trim_start_matches('.').to_owned()
    }
}

/// The key of a map with arbitrary keys, if only its value is tested.
const KEY: &str = "KEY";

fn part<'a>(root: &'a Json, mut part: &'a Json) -> &'a Json {
    while let Some(path) = part["$ref"].as_str() {
        part = root.pointer(&path[1..]).unwrap();
    }
    part
}

/// All places for a text in a part of the schema. Values of any type are nested two levels deep.
fn places(root: &Json, schema: &Json, way: &[(Step, Json)], found: &mut Vec<Place>) {
    let schema = part(root, schema);
    let below = |step: Step, schema: &Json| [way, &[(step, part(root, schema).clone())]].concat();
    if way.len() > 9 {
        return;
    }
    for one in schema["anyOf"].as_array().into_iter().flatten() {
        places(root, one, way, found);
    }
    let is = |name: &str| {
        schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
    };
    if is("string") && schema.get("enum").is_none() {
        found.push(Place { way: way.to_vec(), text: schema.clone() });
    }
    if is("array") {
        places(root, &schema["items"], &below(Step::Item, &schema["items"]), found);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        places(root, field, &below(Step::Field(name.clone()), field), found);
    }
    if schema["additionalProperties"].is_object() {
        let value = &schema["additionalProperties"];
        found.push(Place { way: below(Step::Key, value), text: schema["propertyNames"].clone() });
        places(root, value, &below(Step::Value, value), found);
    }
}

pub fn all_places(root: &Json) -> Vec<Place> {
    let mut found = Vec::new();
    places(root, root, &[], &mut found);
    let mut seen = BTreeSet::new();
    found.retain(|place| seen.insert(place.name()));
    found
}

/// The minimal value for a part of the schema: the required fields, with their examples.
fn least(root: &Json, schema: &Json) -> Json {
    if let Some(example) = schema["examples"].as_array().and_then(|all| all.first()).or_else(|| schema.get("default")) {
        return example.clone();
    }
    let schema = part(root, schema);
    if let Some(one) = schema["anyOf"].as_array().and_then(|all| all.first()) {
        return least(root, one);
    }
    match schema["type"].as_str() {
        Some("object") => {
            let one = schema["oneOf"].as_array().and_then(|all| all.first()).map(|one| &one["required"]);
            let keys = schema["required"].as_array().into_iter().chain(one.and_then(Json::as_array)).flatten();
            let keys = keys.filter_map(|key| key.as_str());
            Json::Object(
                keys.map(|key| (key.to_owned(), least(root, &schema["properties"][key]))).collect::<Map<_, _>>(),
            )
        }
        Some("array") => json!([least(root, &schema["items"])]),
        Some("integer") => schema["minimum"].clone(),
        Some("boolean") => json!(true),
        _ => json!("a"),
    }
}

/// Puts a text at a place, and adds the required fields.
pub fn put(root: &Json, job: &mut Json, way: &[(Step, Json)], text: &str) {
    let Some(((step, schema), rest)) = way.split_first() else {
        *job = json!(text);
        return;
    };
    let (key, list) = match step {
        Step::Field(name) => (name.as_str(), false),
        Step::Value => (KEY, false),
        Step::Key => (text, false),
        Step::Item => ("", true),
    };
    if list {
        if job.as_array().is_none_or(Vec::is_empty) {
            *job = json!([least(root, schema)]);
        }
        return put(root, &mut job[0], rest, text);
    }
    if !job.is_object() {
        *job = json!({});
    }
    let next = job.as_object_mut().unwrap().entry(key).or_insert_with(|| least(root, schema));
    if *step != Step::Key {
        put(root, next, rest, text);
    }
}

/// The jobs for the texts: the examples, which have all fields together.
pub fn bases() -> Vec<Json> {
    let mut paths: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("job.yaml"))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let first = serde_yaml::Deserializer::from_str(&text).next().unwrap();
        Json::deserialize(first).unwrap()
    };
    let mut bases: Vec<Json> = paths.iter().map(read).collect();
    let job = |spec: Json| json!({"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "a"}, "spec": spec});
    let (image, command, workers) = ("a/b:1", json!(["python"]), json!({"replicas": 2, "slotsPerWorker": 2}));
    bases.insert(0, job(json!({"image": image, "command": command, "workers": workers})));
    bases.push(job(json!({"image": image, "command": command, "workers": workers, "slurm": {"srun": {}}})));
    let download = json!({"url": "https://a/b", "sha256": DIGEST});
    let storage = json!([{"name": "data", "mountPath": "/data", "download": download}]);
    bases.push(job(json!({"image": image, "command": command, "workers": workers, "storage": storage})));
    let workers = json!({"replicas": 2, "elastic": {"minReplicas": 2, "maxReplicas": 2}});
    let launcher = json!({"kind": "torchrun", "program": "a"});
    bases.push(job(json!({"image": image, "command": command, "workers": workers, "launcher": launcher})));
    bases
}

const DIGEST: &str = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9";

/// Texts that many places accept.
const HARMLESS: &[&str] = &[
    "a",
    "A",
    "/a",
    "1",
    "1Gi",
    "1h",
    "https://a",
    "a=b",
    "a/b:1",
    "--a=b",
    "--a",
    "metadata.name",
    "a.py",
    "true",
    "10.0.0.1",
    DIGEST,
];

/// A target and a job that accept a harmless text at a place, and that text.
pub fn home(root: &Json, place: &Place, bases: &[Json]) -> Option<(&'static dyn Target, Json, String)> {
    let examples = place.way.last().map(|(_, schema)| schema).into_iter().chain([&place.text]);
    let examples =
        examples.flat_map(|schema| schema["examples"].as_array().into_iter().flatten().chain(schema.get("default")));
    let texts: Vec<String> = examples
        .filter_map(|text| text.as_str().map(str::to_owned))
        .chain(HARMLESS.iter().map(|text| (*text).to_owned()))
        .collect();
    // A job that already has the path is more likely to be valid.
    let mut bases: Vec<&Json> = bases.iter().collect();
    bases.sort_by_key(|job| std::cmp::Reverse(depth(job, &place.way)));
    let slurm = place.name().starts_with("spec.slurm");
    let target = if slurm { targets::SLURM } else { targets::PLAIN };
    bases.into_iter().take(8).find_map(|base| {
        texts.iter().find_map(|text| {
            let mut job = base.clone();
            put(root, &mut job, &place.way, text);
            render(&job, target).is_ok().then(|| (target, base.clone(), text.clone()))
        })
    })
}

fn depth(job: &Json, way: &[(Step, Json)]) -> usize {
    let mut here = job;
    let deeper = way.iter().take_while(|(step, _)| {
        let next = match step {
            Step::Field(name) => here.get(name),
            Step::Item => here.get(0),
            Step::Value | Step::Key => here.as_object().and_then(|map| map.values().next()),
        };
        next.inspect(|next| here = next).is_some()
    });
    deeper.count()
}
