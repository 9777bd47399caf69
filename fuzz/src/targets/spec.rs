//! Valid jobs and similar ones: an example with some edits that the schema allows. The rendered objects must contain every
//! value unchanged.

use std::sync::LazyLock;

use khorovod::{Inputs, targets};
use serde_json::{Map, Value as Json, json};

use super::choices::Choices;
use super::seeds::root;
use super::{documents, inputs, read, render};

pub fn run(input: &[u8]) {
    let mut choices = Choices::new(input);
    let target = *choices.pick(targets::ALL);
    let mut job = choices.pick(&EXAMPLES).clone();
    while !choices.is_empty() {
        edit(&SCHEMA, &mut job, &mut choices, 0);
    }
    // JSON is YAML.
    let Some(rendered) = render::agree(&job.to_string(), &Inputs { target, ..inputs() }) else { return };
    if target == targets::PLAIN && job["spec"].get("patches").is_none() {
        let objects: Vec<Json> = read(&rendered.text);
        environment(&job, &objects);
    }
}

/// Asserts that every literal of `env` is in a container, unchanged.
fn environment(job: &Json, objects: &[Json]) {
    let mut there = Vec::new();
    for object in objects {
        variables(object, &mut there);
    }
    for (name, value) in job["spec"]["env"].as_object().into_iter().flatten() {
        if let Some(value) = value.as_str() {
            let escaped = value.replace("$(", "$$(");
            let found = there.iter().any(|(other, is)| other == name && (*is == value || *is == escaped));
            assert!(found, "{name}={value:?} is lost: {there:?}");
        }
    }
}

/// Every pair of `name` and `value` below a value.
fn variables<'a>(value: &'a Json, into: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Json::Object(map) => {
            // An empty value is omitted, because it is the default in Kubernetes.
            let value = map.get("value").map_or(Some(""), Json::as_str);
            if let (Some(Json::String(name)), Some(value)) = (map.get("name"), value) {
                into.push((name, value));
            }
            map.values().for_each(|value| variables(value, into));
        }
        Json::Array(list) => list.iter().for_each(|value| variables(value, into)),
        _ => {}
    }
}

static SCHEMA: LazyLock<Json> = LazyLock::new(khorovod::schema);

/// The first job of every example, in order.
static EXAMPLES: LazyLock<Vec<Json>> = LazyLock::new(|| {
    let entries = root().join("examples").read_dir().expect("the examples are there");
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path().join("job.yaml")).collect();
    folders.sort();
    let jobs = folders.iter().filter_map(|path| documents(&std::fs::read_to_string(path).ok()?));
    jobs.filter_map(|all| all.into_iter().find(|one| one["kind"] == "TrainingJob")).collect()
});

/// A part of the schema, with references resolved.
fn part(mut part: &Json) -> &Json {
    while let Some(path) = part["$ref"].as_str() {
        part = SCHEMA.pointer(&path[1..]).unwrap_or(&Json::Null);
    }
    part
}

/// Changes one nested value.
fn edit(schema: &Json, value: &mut Json, choices: &mut Choices<'_>, depth: usize) {
    let schema = part(schema);
    if let Some(parts) = schema["anyOf"].as_array() {
        return edit(choices.pick(parts), value, choices, depth);
    }
    if schema["type"] == "array" {
        if !value.is_array() {
            *value = json!([]);
        }
        let Json::Array(items) = value else { return };
        let at = choices.below(items.len() + 1);
        if at == items.len() {
            items.push(Json::Null);
        } else if choices.below(8) == 7 {
            items.remove(at);
            return;
        }
        return edit(&schema["items"], &mut items[at], choices, depth + 1);
    }
    if schema["type"] != "object" {
        *value = leaf(schema, choices);
        return;
    }
    if !value.is_object() {
        *value = json!({});
    }
    let Json::Object(map) = value else { return };
    let (key, schema) = entry(schema, map, choices);
    match choices.below(16) {
        15 => drop(map.shift_remove(&key)),
        14 => drop(map.insert(key, leaf(schema, choices))),
        13 => drop(map.insert(key, example(schema, choices))),
        _ if depth > 12 => {}
        _ => edit(schema, map.entry(key).or_insert(Json::Null), choices, depth + 1),
    }
}

/// A key that the schema allows in a map, and the schema of its value.
fn entry<'a>(schema: &'a Json, map: &Map<String, Json>, choices: &mut Choices<'_>) -> (String, &'a Json) {
    match schema["properties"].as_object().filter(|properties| !properties.is_empty()) {
        Some(properties) => {
            let at = choices.below(properties.len());
            let (key, schema) = properties.iter().nth(at).expect("it is below the count");
            (key.clone(), schema)
        }
        None => {
            let known: Vec<&String> = map.keys().collect();
            let key = match choices.below(3) {
                0 if !known.is_empty() => (*choices.pick(&known)).clone(),
                0 | 1 => (*choices.pick(&["A", "LR", "NCCL_DEBUG", "acme.com/team", "PATH", "a.b"])).to_owned(),
                _ => choices.text(),
            };
            (key, &schema["additionalProperties"])
        }
    }
}

fn example(schema: &Json, choices: &mut Choices<'_>) -> Json {
    let all = schema["examples"].as_array().or_else(|| part(schema)["examples"].as_array());
    all.map_or(Json::Null, |all| choices.pick(all).clone())
}

fn leaf(schema: &Json, choices: &mut Choices<'_>) -> Json {
    let schema = part(schema);
    if let Some(words) = schema["enum"].as_array() {
        return choices.pick(words).clone();
    }
    match (schema["type"].as_str(), choices.below(4)) {
        (Some("boolean"), _) => Json::from(choices.below(2) == 1),
        (Some("integer" | "number"), 0) => Json::from(choices.number().cast_signed()),
        (Some("integer" | "number"), kind) => {
            let [low, high] = ["minimum", "maximum"].map(|key| schema[key].as_i64().unwrap_or_default());
            let near = i64::try_from(choices.below(20)).unwrap_or_default();
            Json::from(if kind == 1 { high.saturating_sub(near) } else { low.saturating_add(near) })
        }
        (_, 0 | 1) => Json::from(choices.text()),
        (_, 2) => match example(schema, choices) {
            Json::String(text) => Json::from(text + &choices.text()),
            other => other,
        },
        _ => example(schema, choices),
    }
}
