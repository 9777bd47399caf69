//! No text of a spec leaves its place. Hostile texts go into every place the schema has for one, so none is forgotten; what
//! is taken must come out as values of the same objects, scripts that a real bash reads as the same settings, lines of the
//! same form, and pages that a terminal and GitHub only show.

#[path = "../fuzz/src/targets/choices.rs"]
#[allow(dead_code)]
mod choices;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use choices::HOSTILE;
use khorovod::import::{Options, System, import};
use khorovod::problem::Problems;
use khorovod::{Inputs, Keys, Rendered, Target, Text, show};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// A way from the top of a document to a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Field(String),
    /// The first of a list.
    Item,
    /// A value of a map whose keys are the user's.
    Value,
    /// Such a key itself.
    Key,
}

/// A place for a text: the way to it, with what the schema says of each step, and of the text.
#[derive(Clone)]
struct Place {
    way: Vec<(Step, Json)>,
    text: Json,
}

impl Place {
    fn name(&self) -> String {
        let word = |(step, _): &(Step, Json)| match step {
            Step::Field(name) => format!(".{name}"),
            Step::Item => "[]".to_owned(),
            Step::Value => ".*".to_owned(),
            Step::Key => ".(key)".to_owned(),
        };
        self.way.iter().map(word).collect::<String>().trim_start_matches('.').to_owned()
    }
}

/// What stands for a key of the user's, where only its value matters.
const KEY: &str = "KEY";

fn part<'a>(root: &'a Json, mut part: &'a Json) -> &'a Json {
    while let Some(path) = part["$ref"].as_str() {
        part = root.pointer(&path[1..]).unwrap();
    }
    part
}

/// Every place for a text below a part of the schema. Values of any form go two levels deep.
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

fn all_places(root: &Json) -> Vec<Place> {
    let mut found = Vec::new();
    places(root, root, &[], &mut found);
    let mut seen = BTreeSet::new();
    found.retain(|place| seen.insert(place.name()));
    found
}

/// The least that a part of the schema takes: what it requires, from its examples.
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

/// Puts a text at a place, and what is required beside it.
fn put(root: &Json, job: &mut Json, way: &[(Step, Json)], text: &str) {
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

fn inputs(target: Target) -> Inputs {
    Inputs { keys: Keys::Masked, target, ..Inputs::default() }
}

fn render(job: &Json, target: Target) -> Result<Rendered, Problems> {
    khorovod::render(&Text { name: "job.yaml".to_owned(), text: job.to_string() }, &inputs(target))
}

/// Jobs to put texts into: the examples, which between them have every field.
fn bases() -> Vec<Json> {
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
    let (image, command, workers) = ("a/b:1", json!(["python"]), json!({"replicas": 2, "slots": 2}));
    bases.insert(0, job(json!({"image": image, "command": command, "workers": workers})));
    bases.push(job(json!({"image": image, "command": command, "workers": workers, "slurm": {"srun": {}}})));
    bases
}

/// Texts that many places take.
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
];

/// A target and a job in which a place takes a harmless text, and that text.
fn home(root: &Json, place: &Place, bases: &[Json]) -> Option<(Target, Json, String)> {
    let examples = place.way.last().map(|(_, schema)| schema).into_iter().chain([&place.text]);
    let examples =
        examples.flat_map(|schema| schema["examples"].as_array().into_iter().flatten().chain(schema.get("default")));
    let texts: Vec<String> = examples
        .filter_map(|text| text.as_str().map(str::to_owned))
        .chain(HARMLESS.iter().map(|text| (*text).to_owned()))
        .collect();
    // Where the way is there already, the rest is likely to fit.
    let mut bases: Vec<&Json> = bases.iter().collect();
    bases.sort_by_key(|job| std::cmp::Reverse(depth(job, &place.way)));
    let slurm = place.name().starts_with("spec.slurm");
    let target = if slurm { Target::Slurm } else { Target::Plain };
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

/// A page that a terminal, or GitHub, only shows.
fn only_shows(page: &str, of: &str) {
    let moves = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmless = |c: char| matches!(c, '\n' | '\t') || !moves(c);
    assert!(page.chars().all(harmless), "{of}: {page:?}");
}

fn said(found: &Problems, of: &str) {
    only_shows(&show::Style::default().problems([found]).concat(), of);
    let commands = show::github(std::slice::from_ref(found));
    only_shows(&commands, of);
    assert_eq!(
        commands.lines().filter(|line| line.starts_with("::error ") || line.starts_with("::warning ")).count(),
        found.list.len(),
        "{of}: {commands}"
    );
    assert_eq!(commands.lines().count(), found.list.len(), "{of}: {commands}");
}

/// Kinds of the objects, and the names under which a ConfigMap has files: what no text may add to or take from.
fn outline(rendered: &Rendered) -> Vec<(String, Vec<String>)> {
    let object = |document: Json| {
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        let data = document["data"].as_object().filter(|_| kind == "Secret");
        (kind, data.into_iter().flatten().map(|(key, _)| key.clone()).collect())
    };
    let documents = serde_yaml::Deserializer::from_str(&rendered.text).map(|one| Json::deserialize(one).unwrap());
    documents.map(object).collect()
}

/// Files of the run's ConfigMap.
fn files(rendered: &Rendered) -> BTreeMap<String, String> {
    let documents = serde_yaml::Deserializer::from_str(&rendered.text).map(|one| Json::deserialize(one).unwrap());
    let maps = documents.filter(|one| one["kind"] == "ConfigMap" && one["data"].get("job.sh").is_some());
    maps.flat_map(|map| map["data"].as_object().unwrap().clone())
        .map(|(name, text)| (name, text.as_str().unwrap().to_owned()))
        .collect()
}

/// Has one bash read many settings, each in its own shell and folder: the names each sets. Whatever they run shows.
fn names_set(texts: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (number, text) in texts.iter().enumerate() {
        fs::create_dir(folder.path().join(number.to_string())).unwrap();
        fs::write(folder.path().join(format!("{number}/job.sh")), text).unwrap();
    }
    let program = "for folder in *; do ( cd \"$folder\" || exit; bash -n job.sh || echo 'no bash' >wrong
        before=$(compgen -v); . ./job.sh 2>said; [[ ! -s said ]] || mv said wrong
        comm -13 <(sort <<<\"$before\") <(compgen -v | sort) | grep -vx 'before\\|_\\|PIPESTATUS' >names ); done";
    let done = Command::new("bash").args(["-c", program]).current_dir(folder.path()).output().expect("bash runs");
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    let read = |(number, text): (usize, &String)| {
        let mut there: Vec<_> = fs::read_dir(folder.path().join(number.to_string()))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        there.sort();
        there.retain(|name| name != "said");
        assert_eq!(there, ["job.sh", "names"], "what a text says was done:\n{text}");
        let names = fs::read_to_string(folder.path().join(format!("{number}/names"))).unwrap();
        (text.clone(), names.lines().map(str::to_owned).collect())
    };
    texts.iter().enumerate().map(read).collect()
}

/// Every line of the files that are not scripts has the form it should have.
fn well_formed(files: &BTreeMap<String, String>, of: &str) {
    let host = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
    };
    for line in files.get("hostfile").into_iter().flat_map(|text| text.lines()) {
        let (name, slots) = line.split_once(" slots=").or_else(|| line.split_once(':')).unwrap_or((line, "1"));
        assert!(host(name) && slots.parse::<u32>().is_ok(), "{of}: hostfile: {line:?}");
    }
    for line in files.get("passwd").into_iter().flat_map(|text| text.lines()) {
        assert_eq!(line.split(':').count(), 7, "{of}: passwd: {line:?}");
    }
    if let Some(transfers) = files.get("s3.json") {
        serde_json::from_str::<Json>(transfers).unwrap_or_else(|error| panic!("{of}: s3.json: {error}"));
    }
    let ssh = include_str!("../src/runtime/ssh_config");
    assert!(files.get("ssh_config").is_none_or(|text| text == ssh), "{of}: the ssh configuration is no job's own");
}

/// Lines that sbatch reads, up to the first that is no comment.
fn directives(script: &str) -> usize {
    script.lines().take_while(|line| line.starts_with('#')).filter(|line| line.starts_with("#SBATCH")).count()
}

/// Where several fields must fit each other, so that no text alone is taken. Their forms are those of places that are
/// tried.
const HOMELESS: &[&str] = &[
    "spec.placement.affinity.",
    "spec.placement.tolerations[].value",
    "spec.storage[].emptyDir.",
    "spec.storage[].hostPath",
    "spec.image.digest",
    "spec.image.pullSecrets[]",
    "spec.env.*.",
    "spec.workers.groups[].r",
    "spec.workers.resources.",
    "spec.storage[].persistentVolume.",
];

#[test]
fn no_text_leaves_its_place() {
    let root = khorovod::schema();
    let (places, bases) = (all_places(&root), bases());
    let (mut homeless, mut taken, mut refused) = (Vec::new(), 0, 0);
    let (mut settings, mut harmless) = (BTreeMap::new(), BTreeSet::new());
    // Each place takes some of the texts, another place others; with many cases all of them.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let step = match cases.unwrap_or(256) {
        0..100 => 20,
        100..1000 => 5,
        _ => 1,
    };
    for (number, place) in places.iter().enumerate() {
        let of = place.name();
        if HOMELESS.iter().any(|known| of.starts_with(known)) {
            continue;
        }
        let Some((target, base, text)) = home(&root, place, &bases) else {
            homeless.push(of);
            continue;
        };
        let with = |text: &str| {
            let mut job = base.clone();
            put(&root, &mut job, &place.way, text);
            job
        };
        let usual = render(&with(&text), target).unwrap();
        for hostile in HOSTILE.iter().skip(number % step).step_by(step) {
            let job = with(hostile);
            let of = format!("{of} = {hostile:?}");
            let rendered = match render(&job, target) {
                Ok(rendered) => rendered,
                Err(found) => {
                    said(&found, &of);
                    refused += 1;
                    continue;
                }
            };
            taken += 1;
            said(&rendered.warnings, &of);
            let reports =
                khorovod::reports(&Text { name: "job.yaml".to_owned(), text: job.to_string() }, &inputs(target))
                    .unwrap();
            only_shows(&show::plan(&reports.jobs, None), &of);
            if target == Target::Slurm {
                assert_eq!(directives(&rendered.text), directives(&usual.text), "{of}");
                continue;
            }
            // A patch may do as it likes with its own object.
            if !of.starts_with("spec.patches") && !of.starts_with("spec.code.files.(key)") {
                assert_eq!(outline(&rendered), outline(&usual), "{of}");
            }
            let [own, others] = [files(&rendered), files(&usual)];
            well_formed(&own, &of);
            if let (Some(own), Some(others)) = (own.get("job.sh"), others.get("job.sh")) {
                settings.insert(own.clone(), (of, others.clone()));
                harmless.insert(others.clone());
            }
        }
    }
    let names = names_set(&settings.keys().chain(&harmless).cloned().collect());
    for (own, (of, others)) in &settings {
        assert_eq!(names[own], names[others], "{of}:\n{own}");
    }
    println!(
        "{} places, {taken} texts taken, {refused} refused, {} settings read by bash",
        places.len(),
        settings.len()
    );
    assert_eq!(homeless, Vec::<String>::new(), "no job was found in which these take any text");
    assert!(
        places.len() > 150 && taken > 5_000 / step && refused > 5_000 / step && settings.len() > 500 / step,
        "{} {taken} {refused} {}",
        places.len(),
        settings.len()
    );
}

#[test]
fn a_comment_of_an_object_cannot_be_ended() {
    let job = bases()[0].to_string();
    let mut rendered = 0;
    for end in ["\r", "\u{85}", "\u{2028}", "\u{2029}"] {
        let text = format!("# Source: a{end}pwned: 1\n{job}");
        if let Ok(objects) = khorovod::render(&Text { name: "job.yaml".to_owned(), text }, &inputs(Target::Plain)) {
            assert!(!objects.text.contains("pwned"), "{end:?}");
            rendered += 1;
        }
    }
    assert!(rendered > 1, "{rendered}");
}

/// Every place of a value for a text, with another there.
fn each_changed(value: &Json, text: &str, each: &mut dyn FnMut(Json)) {
    match value {
        Json::Object(map) => {
            for (key, below) in map {
                each_changed(below, text, &mut |changed| {
                    let mut whole = map.clone();
                    whole[key] = changed;
                    each(Json::Object(whole));
                });
                let mut renamed = map.clone();
                let below = renamed.shift_remove(key).unwrap();
                renamed.insert(text.to_owned(), below);
                each(Json::Object(renamed));
            }
        }
        Json::Array(list) => {
            for at in 0..list.len() {
                each_changed(&list[at], text, &mut |changed| {
                    let mut whole = list.clone();
                    whole[at] = changed;
                    each(Json::Array(whole));
                });
            }
        }
        _ => each(json!(text)),
    }
}

#[test]
fn a_comment_of_a_draft_cannot_be_ended() {
    // Those of every YAML, and those of 1.1 alone.
    let texts = [["\n", "\r", "\r\n"], ["\u{85}", "\u{2028}", "\u{2029}"]];
    let texts = texts.map(|ends| ends.map(|end| format!("a{end}pwned: 1{end}# ")).concat());
    let (mut drafted, mut refused) = (0, 0);
    for system in System::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import").join(system.name());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let old = fs::read_to_string(&path).unwrap();
            if path.to_string_lossy().ends_with(".job.yaml") || path.extension().is_some_and(|end| end == "txt") {
                continue;
            }
            let mut tried = |old: String, of: &str| match import(
                *system,
                &[Text { name: format!("old\n{of}"), text: old }],
                &Options::default(),
            ) {
                Ok(imported) => {
                    drafted += 1;
                    let documents: Vec<Json> = serde_yaml::Deserializer::from_str(&imported.job)
                        .map(|one| Json::deserialize(one).unwrap())
                        .collect();
                    let keys: Vec<&String> = documents[0].as_object().unwrap().keys().collect();
                    assert_eq!(
                        (documents.len(), keys),
                        (
                            1,
                            vec!["apiVersion", "kind", "metadata", "spec"]
                                .into_iter()
                                .map(str::to_owned)
                                .collect::<Vec<_>>()
                                .iter()
                                .collect()
                        ),
                        "{of}:\n{}",
                        imported.job
                    );
                    only_shows(&show::import(&imported), of);
                }
                Err(found) => {
                    refused += 1;
                    said(&found, of);
                }
            };
            match serde_yaml::from_str::<Json>(&old) {
                // Whatever a map of values says is said again in comments and in the report.
                Ok(values @ Json::Object(_)) => {
                    for text in &texts {
                        each_changed(&values, text, &mut |changed| tried(changed.to_string(), text));
                    }
                }
                // Of a script each word.
                _ => {
                    for text in &texts {
                        for (at, word) in old.split_whitespace().enumerate() {
                            tried(old.replacen(word, text, 1), &format!("word {at}: {text}"));
                        }
                    }
                }
            }
        }
    }
    println!("{drafted} drafts, {refused} refused");
    assert!(drafted > 500 && refused > 200, "{drafted} {refused}");
}
