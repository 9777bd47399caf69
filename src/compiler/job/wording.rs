//! Words of messages and of YAML: lists of names, similar names, values in flow style.

use serde_json::Value as Json;

use crate::yaml::Scalar;

/// The known word nearest to one that may be misspelt.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let wanted = plain(word);
    let (length, far) = (wanted.chars().count(), |candidate: &str| 1 + candidate.len().min(word.len()) / 4);
    known
        // A word may be of any length, and each distance takes as much time and memory.
        .filter(|candidate| plain(candidate).len().abs_diff(length) <= far(candidate))
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= far(candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The word of a few that was meant: a similar one, or the only one with this beginning.
pub fn nearest_word<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    nearest(word, known.iter().copied()).or_else(|| {
        let mut begun = known.iter().filter(|known| word.len() > 3 && known.starts_with(word));
        begun.next().filter(|_| begun.next().is_none()).copied()
    })
}

/// The first of a shell's variables in a word.
pub fn variable(word: &str) -> Option<&str> {
    let at = word.find('$')?;
    let rest = &word[at + 1..];
    let name = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let end = match rest.chars().next()? {
        '{' => rest.find('}').filter(|end| *end > 1 && name(&rest[1..]) + 1 == *end)? + 1,
        '(' => rest.find(')').filter(|end| *end > 1)? + 1,
        first if first.is_ascii_alphabetic() || first == '_' => name(rest),
        _ => return None,
    };
    Some(&word[at..at + 1 + end])
}

/// `a`, `b` or `c`.
pub fn words(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., final_one] => format!("{} or {final_one}", others.join(", ")),
    }
}

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

/// A text as an item of a YAML flow list.
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
