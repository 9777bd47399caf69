//! The form in which the serializer writes values for [`to_json`](super::to_json). A string is written as `"`, its length,
//! `:` and its bytes. A map or a list is written as its children in brackets. Any other scalar is written as a line.

use serde_json::{Map, Value as Json};

use super::scalar;
use crate::yaml::float;

/// Appends a string.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    scalar::write_digits(text.len() as u64, out);
    out.push(':');
    out.push_str(text);
}

/// Reads the next value, and removes it from the tokens. Returns `None` if a key is not a string.
pub fn read(tokens: &mut &str) -> Option<Json> {
    if take(tokens, '{') {
        let mut map = Map::new();
        while !take(tokens, '}') {
            map.insert(read_string(tokens)?, read(tokens)?);
        }
        return Some(Json::Object(map));
    }
    if take(tokens, '[') {
        let mut list = Vec::new();
        while !take(tokens, ']') {
            list.push(read(tokens)?);
        }
        return Some(Json::Array(list));
    }
    if tokens.starts_with('"') {
        return read_string(tokens).map(Json::String);
    }
    let (line, rest) = tokens.split_once('\n')?;
    *tokens = rest;
    Some(match line {
        "true" | "false" => Json::Bool(line == "true"),
        _ => {
            let integer = line.parse::<i64>().map(Json::from).or_else(|_| line.parse::<u64>().map(Json::from));
            integer.ok().or_else(|| float::parse(line).map(Json::from)).unwrap_or(Json::Null)
        }
    })
}

fn read_string(tokens: &mut &str) -> Option<String> {
    let (length, rest) = tokens.strip_prefix('"')?.split_once(':')?;
    let (text, rest) = rest.split_at_checked(length.parse().ok()?)?;
    *tokens = rest;
    Some(text.to_owned())
}

/// Removes a character from the beginning of the tokens. Returns whether it was there.
fn take(tokens: &mut &str, character: char) -> bool {
    let rest = tokens.strip_prefix(character);
    *tokens = rest.unwrap_or(tokens);
    rest.is_some()
}
