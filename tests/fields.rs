//! `docs/fields.md`: every field of the spec and of expectations, from the same declarations as the schema and `explain`.
//!
//! `make bless` writes the page.

#[path = "common/values.rs"]
mod values;

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value as Json};

use values::code;

/// The fields that change while a run continues.
mod in_place {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use khorovod::report::Effect;
    use khorovod::{Inputs, Keys, Text, changes};

    /// A new value for each field that can be changed in place in some job.
    const EDITS: &[(&str, &str)] = &[
        ("metadata.labels", "{x: z}"),
        ("metadata.annotations", "{x: z}"),
        ("launcher.args", "[-x]"),
        ("launcher.idleTimeout", "7h"),
        ("launcher.interactive", "true"),
        ("launcher.lostTimeout", "7m"),
        ("lifecycle.checkpoint.gracePeriod", "77s"),
        ("lifecycle.checkpoint.signal", "SIGUSR2"),
        ("lifecycle.deadline", "77h"),
        ("lifecycle.finalExitCodes", "[77]"),
        ("lifecycle.keepWorkers", "true"),
        ("lifecycle.retries", "7"),
        ("lifecycle.retriesResetAfter", "77m"),
        ("lifecycle.retriesWithoutProgress", "7"),
        ("lifecycle.startTimeout", "77m"),
        ("lifecycle.stall", "{timeout: 77m}"),
        ("lifecycle.ttlAfterFinished", "77m"),
        ("observability.logs.rankPrefix", "false"),
        ("observability.metrics", "{port: 77}"),
        ("scheduling.localQueue", "other"),
        ("scheduling.partialAdmission", "true"),
        ("scheduling.suspend", "true"),
        ("security.apiAccess", "false"),
        ("security.egress", "private"),
        ("security.networkPolicy", "false"),
        ("workers.elastic.cooldown.max", "77s"),
        ("workers.replicas", "3"),
    ];

    /// The fields of which a change never starts a new run in the examples.
    pub fn fields() -> Vec<&'static str> {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let mut in_place = BTreeMap::new();
        for folder in fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()) {
            let Ok(text) = fs::read_to_string(folder.join("job.yaml")) else { continue };
            let text = Text { name: "job.yaml".into(), text };
            for (path, value) in EDITS {
                let inputs = Inputs { keys: Keys::LeftOut, sets: vec![format!("{path}={value}")], ..Inputs::default() };
                for change in changes(&text, &text, &inputs).into_iter().flatten() {
                    let is_in_place = in_place.entry(*path).or_insert(None::<bool>);
                    match change.effect {
                        Effect::InPlace => *is_in_place = Some(is_in_place.unwrap_or(true)),
                        Effect::Restarts => *is_in_place = Some(false),
                        _ => {}
                    }
                }
            }
        }
        assert!(in_place.len() > EDITS.len() - 3, "{in_place:?}");
        in_place.into_iter().filter(|(_, is_in_place)| *is_in_place == Some(true)).map(|(path, _)| path).collect()
    }
}

struct Page<'a> {
    root: &'a Json,
    text: String,
    /// The shapes that already have a heading, with their path.
    seen: Vec<(String, String)>,
}

impl Page<'_> {
    /// The shapes of a field by name, and whether the field is a list of them.
    fn shapes(field: &Json) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        for part in [field].into_iter().chain(field["anyOf"].as_array().into_iter().flatten()) {
            for (part, list) in [(part, false), (&part["items"], true)] {
                let name = part["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
                found.extend(name.map(|name| (name.to_owned(), list)));
            }
            if let Some(name) =
                part["additionalProperties"]["anyOf"].as_array().and_then(|parts| parts.last()?["$ref"].as_str())
            {
                found.push((name.trim_start_matches("#/$defs/").to_owned(), false));
            }
        }
        found
    }

    /// Writes a heading, a table and the nested shapes.
    fn shape(&mut self, name: &str, path: &str) {
        if let Some((_, first)) = self.seen.iter().find(|(seen, _)| seen == name) {
            // The shape has one table; other places refer to it.
            let _ = write!(self.text, "\n## {path}\n\nAs `{first}`.\n");
            return;
        }
        self.seen.push((name.to_owned(), path.to_owned()));
        let shape = &self.root["$defs"][name];
        let _ = write!(self.text, "\n## {path}\n\n{}\n", shape["description"].as_str().unwrap());
        if let Some(one_of) = shape["oneOf"].as_array() {
            let keys: Vec<String> =
                one_of.iter().map(|one| format!("`{}`", one["required"][0].as_str().unwrap())).collect();
            let _ = write!(self.text, "\nExactly one of {} must be given.\n", keys.join(", "));
        }
        self.text += "\n| Field | Takes | Default | Meaning |\n|---|---|---|---|\n";
        let prefix = if path.contains(' ') { String::new() } else { format!("{path}.") };
        let mut below = Vec::new();
        for (key, field) in shape["properties"].as_object().unwrap() {
            let named = if field.get("additionalProperties").is_some() { ".NAME" } else { "" };
            let shapes = Self::shapes(field).into_iter().filter(|(shape, _)| shape != "Free");
            let parts: Vec<(String, String)> = shapes
                .map(|(shape, list)| (shape, format!("{prefix}{key}{}", if list { "[]" } else { named })))
                .collect();
            self.row(shape, &prefix, key, field, parts.first().map(|(_, path)| path.as_str()));
            below.extend(parts);
        }
        for (shape, path) in below {
            self.shape(&shape, &path);
        }
    }

    /// Writes one field; `below` is the heading of its nested map.
    fn row(&mut self, shape: &Json, prefix: &str, key: &str, field: &Json, below: Option<&str>) {
        let required = shape["required"].as_array().is_some_and(|keys| keys.iter().any(|other| other == key));
        let (mut meaning, rule) = khorovod::show::derived_default(field["description"].as_str().unwrap());
        let default = match (field.get("default"), rule) {
            _ if required => "**required**".to_owned(),
            (Some(value), _) => code(value),
            (None, rule) => rule.unwrap_or("–").replace('|', "\\|"),
        };
        if let (Some(words), Some(texts)) = (field["enum"].as_array(), field["markdownEnumDescriptions"].as_array()) {
            for (word, text) in words.iter().zip(texts) {
                let _ = write!(meaning, "<br>{}: {}", code(word), text.as_str().unwrap());
            }
        }
        // A text that YAML would read as another type without quotes.
        let quoted = |value: &Json| match value {
            Json::String(text)
                if field["type"] == "string" && (text.parse::<f64>().is_ok() || text.parse::<bool>().is_ok()) =>
            {
                format!("`{value}`")
            }
            other => code(other),
        };
        let examples: Vec<String> = field["examples"].as_array().into_iter().flatten().map(quoted).collect();
        if !examples.is_empty() {
            let _ = write!(meaning, "<br>Example: {}", examples.join(" or "));
        }
        for (label, targets) in khorovod::show::targets_without(&format!("{prefix}{key}")) {
            let word = if label == "refused" { "Refused" } else { "No effect" };
            let _ = write!(meaning, "<br>{word} {}.", targets.replace("--target", "`--target`"));
        }
        let mut takes = takes(field);
        if let (Some(path), Some(at)) = (below, takes.rfind("map")) {
            takes.replace_range(at..at + 3, &format!("[map](#{})", anchor(path)));
        }
        let _ = writeln!(self.text, "| `{key}` | {takes} | {default} | {} |", meaning.replace('|', "\\|"));
    }
}

/// The anchor that GitHub creates for a heading.
fn anchor(path: &str) -> String {
    path.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

/// The type of a field, in words.
fn takes(field: &Json) -> String {
    if let Some(parts) = field["anyOf"].as_array() {
        let mut words: Vec<String> = Vec::new();
        for word in parts.iter().map(takes) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        return words.join(" or ");
    }
    if field["enum"].is_array() {
        return "string".to_owned();
    }
    if field["$ref"].is_string() {
        return "map".to_owned();
    }
    // As in `khorovod explain`.
    let pattern = field["pattern"].as_str().unwrap_or_default();
    match field["type"].as_str() {
        Some("string") if pattern.contains("d)?([0-9]") => "[duration](#types)".to_owned(),
        Some("string") if pattern.contains("Ki|Mi|Gi") => "[quantity](#types)".to_owned(),
        Some("string") => "string".to_owned(),
        Some("boolean") => "boolean".to_owned(),
        Some("integer") => format!("integer, {} to {}", field["minimum"], field["maximum"]),
        Some("number") => "number".to_owned(),
        Some("array") => format!("list: {}", takes(&field["items"])),
        Some("object") => match &field["additionalProperties"] {
            Json::Object(values) if !values.contains_key("$ref") => {
                format!("map: {}", takes(&field["additionalProperties"]))
            }
            _ => "map".to_owned(),
        },
        other => panic!("no words for {other:?}"),
    }
}

/// The keys of all fields, at any level.
fn keys(schema: &Json) -> impl Iterator<Item = (&String, &Map<String, Json>)> {
    let shapes = schema["$defs"].as_object().unwrap().iter();
    shapes.filter_map(|(name, shape)| Some((name, shape["properties"].as_object()?)))
}

/// The table of the fields that a target refuses, or that have no effect with it.
fn targets_table() -> String {
    use khorovod::targets::{ALL, exceptions};

    let others: Vec<&str> = ALL.iter().map(|target| target.name()).collect();
    let names: Vec<String> = others.iter().map(|name| format!("`{name}`")).collect();
    let mut text = format!(
        "## Fields that a target refuses\n\n✗ means that khorovod reports [target-cannot](problems.md#target-cannot), and – that the field \
         has no effect.\nAn empty cell means that the target supports the field, as it supports every field that is not in this \
         table.\n[Targets](targets.md#supported-fields) describes what becomes of each field.\n\n| Field | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    let mut fields: Vec<&str> =
        ALL.iter().flat_map(|target| target.facts().exceptions).map(|exception| exception.field).collect();
    fields.sort_unstable();
    fields.dedup();
    for field in fields {
        let found = exceptions(field);
        let cell = |name: &&str| {
            let own = found.iter().find(|(target, exception)| target == name && exception.field == field);
            own.map_or(String::new(), |(_, exception)| match (exception.is_refused, exception.condition) {
                (false, _) => "–".to_owned(),
                (true, "") => "✗".to_owned(),
                (true, condition) => format!("✗ {condition}"),
            })
        };
        let cells: Vec<String> = others.iter().map(cell).collect();
        let _ = writeln!(text, "| `{field}` | {} |", cells.join(" | "));
    }
    text + "\n"
}

/// Appends the tables of a kind of document to a page.
fn tables(text: String, root: &Json, kind: &str, heading: &str) -> String {
    let mut page = Page { root, text, seen: Vec::new() };
    page.shape(kind, heading);
    for (name, properties) in keys(root) {
        assert!(page.seen.iter().any(|(seen, _)| seen == name), "{name} has no heading");
        for key in properties.keys() {
            assert!(page.text.contains(&format!("\n| `{key}` |")), "{name}.{key} is missing");
        }
    }
    page.text
}

#[test]
fn the_page_has_every_field() {
    let start = "# Fields\n\n<!-- Generated from the code by `make bless`. -->\n\n\
                 Every field of a TrainingJob, and of a file of [expectations](#the-file-of-expectations). `khorovod explain\n\
                 workers.shm` prints the same text, and `khorovod schema` prints a JSON Schema for editors. [spec.md](spec.md)\n\
                 describes the fields by task. If the default of a field is `–`, khorovod sets nothing without the field.\n\
                 \n\
                 ## Words\n\n\
                 | Word | Meaning | In Slurm |\n|---|---|---|\n\
                 | job | what one spec describes | |\n\
                 | run | one execution of a job; a changed spec starts another one | job |\n\
                 | attempt | one start of the launcher program in a run | job step |\n\
                 | worker | a pod that runs ranks | node |\n\
                 | rank | one process of the training | task |\n\
                 | slot | the room for one rank on a worker | |\n\
                 \n\
                 ## Types\n\n\
                 - A duration is a number with its unit, or several in this order: `7d`, `12h`, `1h30m`, `90s`. The units are `d`,\n  \
                 `h`, `m` and `s`; a number without a unit is an error.\n\
                 - A quantity is a number as Kubernetes writes it: `32` or `500m` (thousandths) for CPUs, `64Gi` or `500Mi` for\n  \
                 sizes. `Gi` counts in powers of 1024 and `G` in powers of 1000. A size without a unit is in bytes.\n\
                 \n";
    let changes = "## Changes\n\n\
                 If you change a field and apply the job again, a new run starts and ends the one before, except for the fields in\n\
                 this list, which change while the run continues; a claim may also get a larger `size`. The list is for the target\n\
                 `plain`. Some jobs allow more, such as `lifecycle.retries`, which starts a new run only with an elastic torchrun:\n\
                 `khorovod plan --against OLD` and `khorovod diff` print what a change does to your job.\n\n";
    let start = start.to_owned() + &targets_table();
    let in_place = in_place::fields().into_iter().map(|path| format!("- `{path}`\n"));
    let start = start + changes + &in_place.collect::<String>();
    let text = tables(start, &khorovod::schema(), "TrainingJob", "The document");
    let text = tables(text, &khorovod::expectations_schema(), "Expectations", "The file of expectations");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fields.md");
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let is = std::fs::read_to_string(path).unwrap_or_default();
    assert!(is == text, "docs/fields.md is not what the code says: `make bless`");
}
