//! Values in the flow style of YAML, on one line.

use serde_json::Value as Json;

use super::Scalar;

/// A value on one line, in the flow style of YAML.
pub fn flow(value: &Json) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match value {
        Json::String(text) => quoted(text),
        Json::Array(items) => format!("[{}]", list(items.iter().map(flow).collect())),
        Json::Object(map) => {
            format!(
                "{{{}}}",
                list(map.iter().map(|(key, value)| format!("{}: {}", quoted(key), flow(value))).collect())
            )
        }
        other => other.to_string(),
    }
}

/// Writes a text as an item of a YAML flow list, in quotes if needed.
pub fn quoted(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-=:".contains(c)) && !text.ends_with(':');
    let start = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        || text.starts_with('-') && text.chars().any(|c| c.is_ascii_alphabetic());
    if plain && start && matches!(Scalar::plain(text), Scalar::Text(_)) {
        text.to_owned()
    } else {
        Json::from(text).to_string()
    }
}
