//! The JSON Schema accepts the same documents as the reader: compares the file that an editor loads, and checks thousands of
//! documents with the `jsonschema` crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use khorovod::{Inputs, Text};
use serde_json::{Map, Value as Json, json};

/// The codes of problems of single fields; other problems are not in the schema.
const SHAPE: &[&str] = &[
    "unknown-field",
    "missing-field",
    "wrong-type",
    "empty-value",
    "unknown-value",
    "out-of-range",
    "invalid-value",
    "choose-one",
    "yaml-ambiguous",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files with an extension in a folder and its subfolders, in order.
fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Compares a text with a file, or writes the file if `KHOROVOD_BLESS` is set.
fn hold(path: &str, text: &str) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(root().join(path), text).unwrap();
    }
    let is = fs::read_to_string(root().join(path)).unwrap_or_default();
    assert!(is == text, "{path} is not what the code says; `make bless`, then look at the difference");
}

fn codes(text: &str) -> BTreeSet<&'static str> {
    let text = Text { name: "job.yaml".to_owned(), text: text.to_owned() };
    khorovod::check(&text, &Inputs::default()).list.iter().map(|problem| problem.code.name).collect()
}

fn is_misshapen(codes: &BTreeSet<&str>) -> bool {
    codes.iter().any(|code| SHAPE.contains(code))
}

fn judge() -> Validator {
    jsonschema::draft202012::new(&khorovod::schema()).unwrap()
}

#[test]
fn the_file_is_the_schema_and_the_schema_is_one() {
    let schema = khorovod::schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    fs::create_dir_all(root().join("schema")).unwrap();
    hold("schema/training-job.v1alpha1.schema.json", &format!("{schema:#}\n"));
    let expectations = khorovod::expectations_schema();
    jsonschema::draft202012::meta::validate(&expectations).unwrap();
    hold("schema/expectations.v1alpha1.schema.json", &format!("{expectations:#}\n"));
    let known: BTreeSet<&str> = khorovod::codes().map(|code| code.name).collect();
    assert!(SHAPE.iter().all(|code| known.contains(code)));
}

#[test]
fn every_example_and_fixture_is_judged_alike() {
    let judge = judge();
    let examples = files("examples", "job.yaml");
    let (mut sound, mut misshapen) = (0, 0);
    for path in examples.iter().chain(&files("tests/problems", ".yaml")) {
        let text = fs::read_to_string(path).unwrap();
        let codes = codes(&text);
        // The schema does not apply to invalid YAML, to documents that are not jobs, and to ambiguous YAML.
        if codes.iter().any(|code| code.starts_with("yaml-") || ["no-training-job", "job-in-list"].contains(code)) {
            continue;
        }
        for document in serde_yaml::Deserializer::from_str(&text) {
            let value: Json = serde::Deserialize::deserialize(document).unwrap();
            // Other documents of a stream pass through.
            if value.is_null() || !value["apiVersion"].as_str().is_none_or(|group| group.starts_with("khorovod.dev/")) {
                continue;
            }
            assert_eq!(judge.is_valid(&value), !is_misshapen(&codes), "{}: {codes:?}", path.display());
            *(if is_misshapen(&codes) { &mut misshapen } else { &mut sound }) += 1;
        }
    }
    assert!(sound > 100 && misshapen > 15, "{sound} sound, {misshapen} misshapen");
}

#[test]
fn every_default_and_example_in_the_schema_fits_its_field() {
    let mut tried = 0;
    for schema in [khorovod::schema(), khorovod::expectations_schema()] {
        for (name, shape) in schema["$defs"].as_object().unwrap() {
            for (key, field) in shape["properties"].as_object().into_iter().flatten() {
                let mut alone = field.clone();
                alone["$defs"] = schema["$defs"].clone();
                let judge = jsonschema::draft202012::new(&alone).unwrap();
                for value in field["examples"].as_array().into_iter().flatten().chain(field.get("default")) {
                    assert!(judge.is_valid(value), "{name}.{key}: {value}");
                    tried += 1;
                }
                assert!(field["title"].is_string() && field["description"].is_string(), "{name}.{key} says nothing");
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn schema_and_reader_of_expectations_agree() {
    let judge = jsonschema::draft202012::new(&khorovod::expectations_schema()).unwrap();
    let job = Text {
        name: "job.yaml".to_owned(),
        text: fs::read_to_string(root().join("examples/smallest/job.yaml")).unwrap(),
    };
    let texts = [
        "expect: {gpus: 8}",
        "expect: {gpus: {max: 8, min: 1}, ranks: {exactly: 4}}",
        "expect: {gpus: eight}",
        "expect: {gpu: 8}",
        "expect: {maxDeadline: 48h, maxGpuHours: 2000}",
        "expect: {maxDeadline: two days}",
        "expect: {podSecurityLevel: strict}",
        "expect: {images: [\"a/*\"], namespaces: [\"ml-*\"], requiredFields: [lifecycle.deadline]}",
        "expect: {images: a}",
        "expects: {gpus: 8}",
        "expect: {workers: {max: -1}}",
    ];
    let mut accepted = 0;
    for text in texts {
        let text = format!("apiVersion: khorovod.dev/v1alpha1\nkind: Expectations\n{text}\n");
        let value: Json = serde_yaml::from_str(&text).unwrap();
        let inputs = Inputs {
            expectations: vec![Text { name: "policy.yaml".to_owned(), text: text.clone() }],
            ..Inputs::default()
        };
        let codes: BTreeSet<_> = khorovod::check(&job, &inputs).list.iter().map(|problem| problem.code.name).collect();
        assert_eq!(judge.is_valid(&value), !is_misshapen(&codes), "{text}: {codes:?}");
        accepted += usize::from(judge.is_valid(&value));
    }
    assert!(accepted > 2 && accepted < texts.len(), "{accepted}");
}

/// A reproducible random generator (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A valid value for a part of the schema, from its examples or its pattern.
fn written(root: &Json, part: &Json, random: &mut Random) -> Option<Json> {
    let formed = if random.chance(50) { formed(root, part, random) } else { None };
    formed
        .or_else(|| part["examples"].as_array().map(|examples| random.pick(examples).clone()))
        .or_else(|| self::formed(root, part, random))
}

fn formed(root: &Json, part: &Json, random: &mut Random) -> Option<Json> {
    if let Some(path) = part["$ref"].as_str() {
        return written(root, root.pointer(&path[1..]).unwrap(), random);
    }
    if let Some(properties) = part["properties"].as_object() {
        return Some(map(root, part, properties, random));
    }
    if let Some(words) = part["enum"].as_array() {
        return Some(random.pick(words).clone());
    }
    if let Some(parts) = part["anyOf"].as_array() {
        let part = random.pick(parts).clone();
        return written(root, &part, random);
    }
    match part["type"].as_str() {
        Some("boolean") => Some(Json::from(random.chance(50))),
        Some("integer") => {
            let (low, high) = (part["minimum"].as_u64()?, part["maximum"].as_u64()?);
            Some(Json::from(low + random.next() % (high - low + 1)))
        }
        Some("array") => Some(json!([written(root, &part["items"], random)?])),
        _ => None,
    }
}

fn map(root: &Json, part: &Json, properties: &Map<String, Json>, random: &mut Random) -> Json {
    let keys = |value: &Json| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|key| key.as_str().unwrap().to_owned()).collect()
    };
    let required = keys(&part["required"]);
    let one_of: Vec<String> =
        part["oneOf"].as_array().into_iter().flatten().flat_map(|one| keys(&one["required"])).collect();
    let one = (!one_of.is_empty()).then(|| random.pick(&one_of).clone());
    let mut expected: BTreeSet<String> = properties
        .keys()
        .filter(|key| required.contains(key) || one.as_ref() == Some(key) || !one_of.contains(key) && random.chance(20))
        .cloned()
        .collect();
    for (key, others) in part["dependentRequired"].as_object().into_iter().flatten() {
        let others = keys(others);
        if expected.contains(key) && !others.iter().all(|other| one_of.contains(other)) {
            expected.extend(others);
        } else if !others.iter().all(|other| expected.contains(other)) {
            expected.remove(key);
        }
    }
    let values = properties.iter().filter(|(key, _)| expected.contains(*key));
    Json::Object(values.filter_map(|(key, field)| Some((key.clone(), written(root, field, random)?))).collect())
}

/// Texts at the limits of formats.
const ODD: &[&str] = &[
    "",
    " ",
    "a",
    "A",
    "-",
    ".",
    "..",
    "/",
    "//",
    "/a/../b",
    "/a//b",
    "a/",
    "/a/",
    "/.../a",
    "/..a",
    "a/./b",
    "~",
    "null",
    "true",
    "yes",
    "0",
    "-1",
    "1e3",
    "0x1f",
    "8",
    "08",
    "1.",
    ".5",
    "1.5Gi",
    "64 Gi",
    "64gi",
    "1h30m",
    "30m1h",
    "0s",
    "0d0h",
    "1.5h",
    "d",
    "1000000s",
    "a\0b",
    "a\nb",
    "a\n",
    "\t",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{e9}",
    "\u{1f600}",
    "a-",
    "-a",
    "a.b",
    "a..b",
    "a_b",
    "a b",
    "a:b",
    "a,b",
    "a@b",
    "^a",
    "=a,b",
    "^",
    "a,,b",
    "http://a",
    "https://a:1",
    "https://a:",
    "https://a/",
    "ftp://a",
    "https://-a",
    "sha256:",
    "a@sha256:0",
    "a:latest",
    "A/b:c",
    "metadata.name",
    "metadata.labels['a']",
    "metadata.labels['']",
    "metadata.labels['a b']",
    "status.podIP",
    "spec.nodeNames",
    "x/y",
    "X/y",
    "x/",
    "/y",
    "x/y/z",
    "a*",
    "*",
    "nvidia.com/gpu",
    "999999999999",
    "9999999999999",
    "0.000000000001",
    "0.0000000000001",
    "\u{1b}[31m",
    "{}",
    "[]",
    "<<",
    "*a",
    "&a",
    "!a",
];

fn odd_text(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = random.below(chars.len() + 1);
    match random.below(8) {
        0 => return (*random.pick(ODD)).to_owned(),
        1 => {
            let length = *random.pick(&[
                31, 32, 33, 61, 62, 63, 64, 71, 252, 253, 254, 255, 256, 317, 318, 320, 321, 1024, 1025, 4096, 4097,
            ]);
            return random.pick(&["a", "0", "/a", "a.", "a,", "A"]).repeat(length).chars().take(length).collect();
        }
        2 if !chars.is_empty() => {
            chars.remove(at.min(text.chars().count() - 1));
        }
        3 => return text.to_uppercase(),
        4 => chars.splice(at..at, random.pick(ODD).chars()).for_each(drop),
        5 if at + 1 < chars.len() => chars.swap(at, at + 1),
        _ => chars.insert(
            at,
            *random.pick(&['-', '.', '/', ':', ' ', '_', 'a', 'Z', '9', ',', '@', '*', '\0', '\n', '\u{7f}', 'é']),
        ),
    }
    chars.into_iter().collect()
}

fn other_value(random: &mut Random) -> Json {
    let list = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(8),
        json!(8.0),
        json!(0.5),
        json!(-0.0),
        json!(1e3),
        json!(1e15),
        json!(1e300),
        json!(1e-9),
        json!(1e-15),
        json!(65_536),
        json!(100_001),
        json!(4_294_967_296_u64),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(999_999_999_999_u64),
        json!(999_999_999_999.5),
        json!(1_000_000_000_000_u64),
        json!([]),
        json!({}),
        json!([null]),
        json!([""]),
        json!(["a"]),
        json!([1]),
        json!({"a": "b"}),
        json!({"a": null}),
        json!({"a": {"b": [u64::MAX]}}),
        json!({"name": "a"}),
        json!("Job"),
        json!("none"),
        json!("1Gi"),
        json!("30m"),
    ];
    if random.chance(30) { Json::from(*random.pick(ODD)) } else { random.pick(&list).clone() }
}

/// All places in a document, as JSON pointers.
fn places(value: &Json, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Json::Object(map) => map.iter().for_each(|(key, value)| {
            places(value, &format!("{here}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| places(value, &format!("{here}/{index}"), found));
        }
        _ => {}
    }
}

/// Makes one change that may be a mistake.
fn mutate(document: &mut Json, words: &[Json], random: &mut Random) {
    let mut all = Vec::new();
    places(document, "", &mut all);
    let place = random.pick(&all).clone();
    let here = document.pointer_mut(&place).unwrap();
    match (here, random.below(10)) {
        (Json::Object(map), 0..=2) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).unwrap().clone();
            map.shift_remove(&key);
        }
        (Json::Object(map), 3..=5) if !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).unwrap().clone();
            let value = map.shift_remove(&key).unwrap();
            // In YAML, a key without a `?` has at most 1024 characters.
            map.insert(odd_text(&key, random).chars().take(1_000).collect(), value);
        }
        (Json::Object(map), 6..=8) => {
            let keys = [
                "name", "size", "extra", "gpus", "claim", "nfs", "secret", "key", "replicas", "groups", "a b", "x",
                "pack", "metadata",
            ];
            map.insert((*random.pick(&keys)).to_owned(), other_value(random));
        }
        (Json::Array(items), 0..=2) if !items.is_empty() => items.truncate(random.below(items.len())),
        (Json::Array(items), 3..=5) if !items.is_empty() => items.push(items[0].clone()),
        (Json::Array(items), 6..=8) => items.push(other_value(random)),
        (Json::String(text), 0..=5) => *text = odd_text(text, random),
        (Json::Number(number), 0..=4) => {
            let value = number.as_i64().unwrap_or_default();
            *number = (*random.pick(&[
                value.saturating_neg(),
                value.saturating_add(1),
                value.saturating_sub(1),
                value.saturating_mul(1000),
                0,
            ]))
            .into();
        }
        (here, 6) => *here = random.pick(words).clone(),
        (here, _) => *here = other_value(random),
    }
}

/// The words of all enumerations.
fn all_words(schema: &Json) -> Vec<Json> {
    match schema {
        Json::Object(map) => {
            let own = map.get("enum").and_then(Json::as_array).cloned().unwrap_or_default();
            own.into_iter().chain(map.values().flat_map(all_words)).collect()
        }
        Json::Array(items) => items.iter().flat_map(all_words).collect(),
        _ => Vec::new(),
    }
}

/// JSON with escapes for characters that YAML does not allow.
fn printable(text: &str) -> String {
    let escaped = |c: char| format!("\\u{:04x}", u32::from(c));
    text.chars().map(|c| if c.is_control() { escaped(c) } else { c.to_string() }).collect()
}

#[test]
fn reader_and_schema_agree_on_every_mutation() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256_usize);
    let (sound, mutated) = (cases * 8, cases * 40);
    let schema = khorovod::schema();
    let judge = judge();
    let words = all_words(&schema);
    let mut random = Random(20_261_121);
    let mut documents: Vec<Json> = files("examples", "job.yaml")
        .iter()
        .map(|path| serde_yaml::from_str(&fs::read_to_string(path).unwrap()).unwrap())
        .collect();
    assert!(documents.len() >= 16);
    documents.extend((0..sound).map(|_| written(&schema, &schema, &mut random).unwrap()));
    let mut wrong = Vec::new();
    let mut agree = |document: &Json| {
        let text = printable(&document.to_string());
        let codes = codes(&text);
        let yaml = codes.iter().any(|code| code.starts_with("yaml-") && *code != "yaml-ambiguous");
        assert!(!yaml, "JSON is YAML, but: {codes:?}\n{text}");
        let reads = !is_misshapen(&codes) && !codes.contains("no-training-job");
        let valid = judge.is_valid(document);
        if reads != valid {
            let why: Vec<String> =
                judge.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
            wrong.push(format!("the reader says {codes:?}, the schema {why:?}\n{text}"));
            assert!(wrong.len() < 10, "{}", wrong.join("\n\n"));
        }
        valid
    };
    for document in &documents {
        assert!(agree(document), "{document}");
    }
    let mut valid = 0;
    for _ in 0..mutated {
        let mut document = random.pick(&documents).clone();
        for _ in 0..=random.below(3) {
            mutate(&mut document, &words, &mut random);
        }
        valid += usize::from(agree(&document));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // Some documents must be valid and some invalid, or the test would prove nothing.
    assert!((mutated / 10..mutated / 2).contains(&valid), "{valid} of {mutated} are valid");
}
