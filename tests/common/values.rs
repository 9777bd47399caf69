//! Values of fields in the tables of generated pages.

use serde_json::Value as Json;

/// A value as code in a table.
pub fn code(value: &Json) -> String {
    let text = match value {
        Json::String(text) if text.is_empty() => "\"\"".to_owned(),
        Json::String(text) => text.clone(),
        other => flow(other),
    };
    format!("`{}`", text.replace('|', "\\|"))
}

/// A value in YAML's flow style, on one line.
fn flow(value: &Json) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Json::Object(map) => {
            format!("{{{}}}", list(map.iter().map(|(key, value)| format!("{key}: {}", flow(value))).collect()))
        }
        Json::Array(items) => format!("[{}]", list(items.iter().map(flow).collect())),
        Json::String(text) if text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains(['(', '*']) => {
            text.clone()
        }
        // A size or a duration with its unit.
        Json::String(text) if text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(char::is_alphabetic) => {
            text.clone()
        }
        other => other.to_string(),
    }
}
