//! The Python classes of a spec, `dist/python/khorovod/spec.py`, are generated here from the JSON Schema. `make bless` rewrites the
//! file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value as Json};

const FILE: &str = "dist/python/khorovod/spec.py";

/// The fields of these two maps are fields of `TrainingJob` itself. The paths of khorovod leave out `spec.` too.
const PARTS: [(&str, &str); 2] = [("metadata", "Metadata"), ("spec", "Body")];

/// The fields that the decorator `khorovod.job` sets itself.
const FROM_FUNCTION: [&str; 6] = ["name", "image", "workers", "command", "args", "code"];

/// Python's keywords among the names that a field can have.
const KEYWORDS: [&str; 16] = [
    "and", "as", "class", "def", "del", "except", "for", "from", "global", "import", "in", "is", "lambda", "not", "or",
    "with",
];

const HEAD: &str = r#""""The fields of a TrainingJob. Generated from the JSON Schema by `make bless`: do not edit.

A field has the name of the spec in snake_case. The fields of `metadata` and of `spec` are fields of `TrainingJob`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

from ._base import Spec
"#;

/// A field of a class.
struct Field<'s> {
    /// Its name in Python.
    name: String,
    /// Its name in the spec; a path for the fields of `TrainingJob`.
    path: String,
    schema: &'s Json,
    is_required: bool,
}

/// The fields of a map of the schema.
fn fields<'s>(schema: &'s Json, name: &str, prefix: &str) -> Vec<Field<'s>> {
    let class = &schema["$defs"][name];
    let required = class["required"].as_array();
    let field = |(key, schema): (&String, &'s Json)| Field {
        name: snake_case(key),
        path: format!("{prefix}{key}"),
        schema,
        is_required: required.is_some_and(|all| all.iter().any(|one| one == key)),
    };
    class["properties"].as_object().unwrap().iter().map(field).collect()
}

fn snake_case(key: &str) -> String {
    let mut name = String::new();
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
    }
    if KEYWORDS.contains(&name.as_str()) { name + "_" } else { name }
}

/// The class of a reference: `#/$defs/Workers` → `Workers`. A value of any type has no class.
fn class(schema: &Json) -> Option<&str> {
    schema["$ref"].as_str().map(|path| path.rsplit('/').next().unwrap()).filter(|name| *name != "Free")
}

/// The type of a field in Python.
fn python_type(schema: &Json) -> String {
    if let Some(name) = class(schema) {
        return name.to_owned();
    }
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().map(python_type).collect::<Vec<_>>().join(" | ");
    }
    if let Some(values) = schema["enum"].as_array() {
        return format!("Literal[{}]", values.iter().map(literal).collect::<Vec<_>>().join(", "));
    }
    match schema["type"].as_str() {
        Some("string") => "str".to_owned(),
        Some("integer") => "int".to_owned(),
        Some("number") => "float".to_owned(),
        Some("boolean") => "bool".to_owned(),
        Some("array") => format!("list[{}]", python_type(&schema["items"])),
        // Not `dict`, which does not accept a dictionary whose values have one type of several.
        Some("object") => format!("Mapping[str, {}]", python_type(&schema["additionalProperties"])),
        _ => "Any".to_owned(),
    }
}

/// A value in Python.
fn literal(value: &Json) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Json::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let entry = |(key, value): (&String, &Json)| format!("\"{key}\": {}", literal(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        // The strings of JSON are strings of Python.
        Json::String(_) | Json::Number(_) => value.to_string(),
    }
}

/// A value of a field in Python: maps with declared fields are objects of their class.
fn expression(value: &Json, field: &Json, schema: &Json) -> String {
    let options = field["anyOf"].as_array().map_or_else(|| vec![field], |options| options.iter().collect());
    for option in options {
        match value {
            Json::Object(entries) => {
                if let Some(name) = class(option) {
                    let properties = &schema["$defs"][name]["properties"];
                    let argument = |(key, value): (&String, &Json)| {
                        format!("{}={}", snake_case(key), expression(value, &properties[key], schema))
                    };
                    return format!("{name}({})", entries.iter().map(argument).collect::<Vec<_>>().join(", "));
                }
                if option["type"] == "object" {
                    let entry = |(key, value): (&String, &Json)| {
                        format!("\"{key}\": {}", expression(value, &option["additionalProperties"], schema))
                    };
                    return format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "));
                }
            }
            Json::Array(items) if option["type"] == "array" => {
                let items = items.iter().map(|item| expression(item, &option["items"], schema));
                return format!("[{}]", items.collect::<Vec<_>>().join(", "));
            }
            _ => {}
        }
    }
    literal(value)
}

/// A docstring, in lines of at most 110 characters.
fn docstring(paragraphs: &[String], out: &mut String) {
    let escaped: Vec<String> =
        paragraphs.iter().map(|text| text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\"\"")).collect();
    let mut text = String::new();
    for (index, paragraph) in escaped.iter().enumerate() {
        if index > 0 {
            // The items of a list are not paragraphs of their own.
            text +=
                if paragraph.starts_with("- ") && escaped[index - 1].starts_with("- ") { "\n    " } else { "\n\n    " };
        }
        let mut width = 4;
        for (index, word) in paragraph.split(' ').enumerate() {
            let length = word.chars().count();
            if index > 0 && width + 1 + length > 110 {
                text += "\n    ";
                width = 4;
            } else if index > 0 {
                text.push(' ');
                width += 1;
            }
            text += word;
            width += length;
        }
    }
    // A quote before the end needs a space.
    let end = if text.ends_with('"') { " " } else { "" };
    let break_before_end = if text.contains('\n') { "\n    " } else { end };
    writeln!(out, "    \"\"\"{text}{break_before_end}\"\"\"").unwrap();
}

/// The docstring of a field: its description, the meaning of its values, its default and examples.
fn description(field: &Json, schema: &Json) -> Vec<String> {
    let mut first = field["description"].as_str().unwrap().to_owned();
    if let Some(default) = field.get("default").filter(|default| **default != "") {
        write!(first, " Default: `{}`.", literal(default)).unwrap();
    }
    let mut paragraphs = vec![first];
    let choices = field["anyOf"].as_array().into_iter().flatten().chain([field]);
    for choice in choices {
        let values = choice["enum"].as_array().into_iter().flatten();
        let meanings = choice["markdownEnumDescriptions"].as_array().into_iter().flatten();
        paragraphs.extend(
            values
                .zip(meanings)
                .map(|(value, meaning)| format!("- `{}`: {}", literal(value), meaning.as_str().unwrap())),
        );
    }
    let examples: Vec<String> = field["examples"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|example| format!("`{}`", expression(example, field, schema)))
        .collect();
    if !examples.is_empty() {
        paragraphs.push(format!("Example: {}", examples.join(" or ")));
    }
    paragraphs
}

/// A class and its fields.
fn write_class(name: &str, text: &[String], fields: &[Field<'_>], schema: &Json, out: &mut String) {
    writeln!(out, "\n\n@dataclass(kw_only=True, slots=True, repr=False)\nclass {name}(Spec):").unwrap();
    docstring(text, out);
    let renamed: Vec<String> = fields
        .iter()
        .filter(|field| field.name != field.path)
        .map(|field| format!("        \"{}\": \"{}\",\n", field.name, field.path))
        .collect();
    if !renamed.is_empty() {
        writeln!(out, "\n    _names: ClassVar[Mapping[str, str]] = {{\n{}    }}", renamed.concat()).unwrap();
    }
    for field in fields {
        let kind = python_type(field.schema);
        let kind = if field.is_required { kind } else { format!("{kind} | None = None") };
        writeln!(out, "\n    {}: {kind}", field.name).unwrap();
        docstring(&description(field.schema, schema), out);
    }
}

/// `Exactly one of a, b must be given.`, if a map requires that.
fn choice(class: &Json) -> Option<String> {
    let options = class["oneOf"].as_array()?;
    let names: Vec<String> =
        options.iter().map(|option| format!("`{}`", snake_case(option["required"][0].as_str().unwrap()))).collect();
    Some(format!("Exactly one of {} must be given.", names.join(", ")))
}

fn module(schema: &Json) -> String {
    let mut out = HEAD.to_owned();
    let classes: &Map<String, Json> = schema["$defs"].as_object().unwrap();
    let is_own_class = |name: &&String| !["TrainingJob", "Metadata", "Body", "Free"].contains(&name.as_str());
    for name in classes.keys().filter(is_own_class) {
        let class = &classes[name];
        let text: Vec<String> =
            [class["description"].as_str().map(str::to_owned), choice(class)].into_iter().flatten().collect();
        write_class(name, &text, &fields(schema, name, ""), schema, &mut out);
    }
    let all: Vec<Field<'_>> = PARTS.iter().flat_map(|(part, name)| fields(schema, name, &format!("{part}."))).collect();
    let mut names: Vec<&str> = all.iter().map(|field| field.name.as_str()).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two fields of `metadata` and `spec` have one name");
    write_class("TrainingJobFields", &["The fields of a `TrainingJob`.".to_owned()], &all, schema, &mut out);
    out += "\n\nclass JobOptions(TypedDict, total=False):\n    \"\"\"The fields of a `TrainingJob` that the decorator `job` accepts beside its own parameters.\"\"\"\n\n";
    for field in all.iter().filter(|field| !FROM_FUNCTION.contains(&field.name.as_str())) {
        writeln!(out, "    {}: {}", field.name, python_type(field.schema)).unwrap();
    }
    let classes = classes.keys().filter(is_own_class).map(|name| format!("    \"{name}\",\n"));
    let mut classes: Vec<String> = classes.collect();
    classes.sort_unstable();
    writeln!(out, "\n\n__all__ = [\n{}]", classes.concat()).unwrap();
    out
}

#[test]
fn the_python_classes_have_the_fields_of_the_schema() {
    let text = module(&khorovod::schema());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let is = fs::read_to_string(&path).unwrap_or_default();
    assert!(is == text, "{FILE} differs from the schema: run `make bless`, then read the difference");
}

#[test]
fn names_and_values_are_those_of_python() {
    assert_eq!(snake_case("readOnlyRootFilesystem"), "read_only_root_filesystem");
    assert_eq!(snake_case("from"), "from_");
    assert_eq!(literal(&serde_json::json!({ "a": [null, true, "x\n", 1] })), r#"{"a": [None, True, "x\n", 1]}"#);
    let schema = khorovod::schema();
    let workers = &schema["$defs"]["Body"]["properties"]["workers"];
    let value = serde_json::json!({ "groups": [{ "name": "a", "replicas": 2, "slotsPerWorker": 1 }] });
    let expected = r#"Workers(groups=[Group(name="a", replicas=2, slots_per_worker=1)])"#;
    assert_eq!(expression(&value, workers, &schema), expected);
}
