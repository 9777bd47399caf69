//! Writes the types of this crate as TypeScript, with the checks by which the page reads the JSON.
//!
//! The test fails if `web/src/wire/types.ts` is not up to date; `KHOROVOD_BLESS=1` writes it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use khorovod_web_wire::{Changes, Codes, DrawnTimeline, Files, FoundSecret, Import, Preview, System};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

const HEAD: &str = "\
// The JSON that the WebAssembly modules return, and the checks of it. Written by the test web/wire/tests/typescript.rs from
// the types of web/wire; do not edit it.
import * as c from \"./check\";
";

#[test]
fn the_page_has_the_types_of_the_modules() {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let roots = [
        ("Preview", generator.subschema_for::<Preview>()),
        ("Files", generator.subschema_for::<Files>()),
        ("Changes", generator.subschema_for::<Changes>()),
        ("Codes", generator.subschema_for::<Codes>()),
        ("Secrets", generator.subschema_for::<Vec<FoundSecret>>()),
        ("Systems", generator.subschema_for::<Vec<System>>()),
        ("Import", generator.subschema_for::<Import>()),
        ("DrawnTimeline", generator.subschema_for::<DrawnTimeline>()),
    ];
    let mut writer =
        Writer { known: generator.take_definitions(true), written: BTreeSet::new(), text: HEAD.to_owned() };
    for (name, schema) in roots {
        let schema = schema.to_value();
        if schema.get("$ref").is_none() {
            writer.known.insert(name.to_owned(), schema);
        }
        writer.write(name);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/wire/types.ts");
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        std::fs::write(&path, &writer.text).unwrap();
    }
    let file = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(file == writer.text, "web/src/wire/types.ts is stale: KHOROVOD_BLESS=1 cargo test -p khorovod-web-wire");
}

/// Writes each type after those that it names.
struct Writer {
    known: Map<String, Value>,
    written: BTreeSet<String>,
    text: String,
}

impl Writer {
    fn write(&mut self, name: &str) {
        if !self.written.insert(name.to_owned()) {
            return;
        }
        let schema = self.known.get(name).unwrap_or_else(|| panic!("no type {name}")).clone();
        for other in references(&schema) {
            self.write(&other);
        }
        let doc = doc(&schema, "");
        let declaration = match schema.get("properties") {
            Some(Value::Object(properties)) => interface(name, properties, &required(&schema)),
            _ => format!("type {name} = {};", type_of(&schema)),
        };
        let check = check_of(&schema);
        write!(self.text, "\n{doc}export {declaration}\nexport const check{name}: c.Check<{name}> = {check};\n")
            .unwrap();
    }
}

fn interface(name: &str, properties: &Map<String, Value>, required: &[&str]) -> String {
    let lines = properties.iter().map(|(key, schema)| {
        if required.contains(&key.as_str()) {
            format!("{}  {key}: {};\n", doc(schema, "  "), type_of(schema))
        } else {
            format!("{}  {key}?: {};\n", doc(schema, "  "), type_of(present(schema).as_ref()))
        }
    });
    format!("interface {name} {{\n{}}}", lines.collect::<String>())
}

/// The type as TypeScript.
fn type_of(schema: &Value) -> String {
    match shape(schema) {
        Shape::Named(name) | Shape::Plain(name) => name.to_owned(),
        Shape::Nullable(inner) => format!("{} | null", type_of(&inner)),
        Shape::Words(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | "),
        Shape::Array(items) => match type_of(items) {
            items if items.contains('|') => format!("({items})[]"),
            items => format!("{items}[]"),
        },
        Shape::Pair(item) => format!("[{0}, {0}]", type_of(item)),
        Shape::Record(values) => format!("Record<string, {}>", type_of(values)),
        Shape::Object(_) => panic!("an object without a name: {schema}"),
    }
}

/// The check of the type.
fn check_of(schema: &Value) -> String {
    match shape(schema) {
        Shape::Named(name) => format!("check{name}"),
        Shape::Nullable(inner) => format!("c.nullable({})", check_of(&inner)),
        Shape::Words(words) => {
            let words: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            format!("c.oneOf({})", words.join(", "))
        }
        Shape::Plain(name) => format!("c.{name}"),
        Shape::Array(items) => format!("c.array({})", check_of(items)),
        Shape::Pair(item) => format!("c.pair({})", check_of(item)),
        Shape::Record(values) => format!("c.record({})", check_of(values)),
        Shape::Object(properties) => {
            let required = required(schema);
            let lines = properties.iter().map(|(key, schema)| {
                if required.contains(&key.as_str()) {
                    format!("  {key}: {},\n", check_of(schema))
                } else {
                    format!("  {key}: c.optional({}),\n", check_of(present(schema).as_ref()))
                }
            });
            format!("c.object({{\n{}}})", lines.collect::<String>())
        }
    }
}

/// The schemas that serde's types lead to.
enum Shape<'a> {
    Named(&'a str),
    Nullable(Value),
    Words(Vec<&'a str>),
    Plain(&'a str),
    Array(&'a Value),
    Pair(&'a Value),
    Record(&'a Value),
    Object(&'a Map<String, Value>),
}

fn shape(schema: &Value) -> Shape<'_> {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return Shape::Named(name.trim_start_matches("#/$defs/"));
    }
    if is_nullable(schema) {
        return Shape::Nullable(present(schema).into_owned());
    }
    if let Some(words) = list("enum") {
        return Shape::Words(words.iter().filter_map(Value::as_str).collect());
    }
    if let Some(words) = list("oneOf") {
        return Shape::Words(
            words.iter().map(|word| word["const"].as_str().expect("an enum without fields")).collect(),
        );
    }
    match schema["type"].as_str() {
        Some("string") => Shape::Plain("string"),
        Some("integer" | "number") => Shape::Plain("number"),
        Some("boolean") => Shape::Plain("boolean"),
        Some("array") if schema["maxItems"] == 2 => {
            let item = list("prefixItems").map_or(&schema["items"], |items| {
                assert_eq!(items[0], items[1], "a tuple of different types");
                &items[0]
            });
            Shape::Pair(item)
        }
        Some("array") => Shape::Array(&schema["items"]),
        Some("object") => match &schema["properties"] {
            Value::Object(properties) => Shape::Object(properties),
            _ => Shape::Record(&schema["additionalProperties"]),
        },
        _ => panic!("a schema that this test cannot write: {schema}"),
    }
}

fn is_nullable(schema: &Value) -> bool {
    let null = |value: &Value| *value == "null" || value["type"] == "null";
    ["type", "anyOf"].iter().any(|key| schema[key].as_array().is_some_and(|list| list.iter().any(null)))
}

/// The schema without null. An `Option` that is skipped if it is `None` is never written as null.
fn present(schema: &Value) -> std::borrow::Cow<'_, Value> {
    if !is_nullable(schema) {
        return std::borrow::Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    match schema.get("anyOf").cloned() {
        Some(all) => {
            schema =
                all.as_array().into_iter().flatten().find(|one| one["type"] != "null").cloned().unwrap_or_default();
        }
        None => schema["type"] = schema["type"][0].clone(),
    }
    std::borrow::Cow::Owned(schema)
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The names of the types that a schema refers to.
fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(name) if key == "$ref" => vec![name.trim_start_matches("#/$defs/").to_owned()],
                _ => references(value),
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn doc(schema: &Value, indent: &str) -> String {
    match schema["description"].as_str().map(|text| text.replace('\n', " ")) {
        Some(text) => format!("{indent}/** {text} */\n"),
        None => String::new(),
    }
}
