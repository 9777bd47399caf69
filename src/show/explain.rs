//! What a problem code or a field means.

use std::fmt::Write as _;

use serde_json::Value;

use super::table::{columns, paragraphs};
use crate::problem::Code;
use khorovod_compiler::yaml::flow::flow;

/// As wide as the widest of what is said of every field: `examples`.
const LABEL: usize = 8;

/// What is wrong and what is right, for every code: `== CODE`, the one, `--`, the other.
const EXAMPLES: &str = include_str!("examples.txt");

/// What the launcher of a job ends with; docs/runtime.md has the same.
const ENDS: &[(&str, &str)] = &[
    ("0", "The training succeeded; the GPUs are given back."),
    (
        "42",
        "It failed for good: attempts used up, or something no retry mends. The GPUs are given back. Its last line says \
         what it was; docs/debugging.md has each of them.",
    ),
    ("43", "A newer run of the job is current, so this one ended. The GPUs are given back."),
    ("44", "`lifecycle.deadline` passed. The GPUs are given back."),
    ("137", "It was killed: out of memory, or with its node. Kubernetes starts another, which goes on counting."),
    (
        "143",
        "The pod received SIGTERM: it was deleted, evicted or drained. Kubernetes starts another launcher if the Job still exists.",
    ),
];

/// What programs end with by custom; a launcher says `training ended with code N` of them.
const PROGRAM_ENDS: &[(&str, &str)] = &[
    ("1", "An error the program found itself; of Python an exception, which stands above in the log."),
    ("126", "The command was found and could not be run: `chmod +x`, or name its interpreter."),
    ("127", "The command was not found: it is not in the image, or not on its PATH."),
    ("134", "An assertion failed, or memory was spoilt: signal 6."),
    ("139", "A library crashed: signal 11."),
];

/// What is known of a topic: a problem's code, a field's path, a word that a field takes, or an exit code. An error names
/// its neighbours.
pub fn explain(topic: &str) -> Result<String, String> {
    if let Some(code) = crate::codes().find(|code| code.name == topic) {
        let severity = code.severity.word();
        let about = paragraphs(&explanation(code));
        return Ok(format!("{severity} {}\n\n{about}\n{}", code.name, example(code.name)));
    }
    if let Some((code, meaning)) = ENDS.iter().find(|(code, _)| *code == topic) {
        return Ok(format!("exit code {code} of a job's launcher\n\n{}\n", paragraphs(meaning)));
    }
    if let Some((code, meaning)) = PROGRAM_ENDS.iter().find(|(code, _)| *code == topic) {
        let about = paragraphs(meaning);
        return Ok(format!("exit code {code} of a program, and never of a job's launcher\n\n{about}\n"));
    }
    let schema = crate::schema();
    let path = topic.replace("[]", "").replace(['[', ']'], ".");
    let words: Vec<&str> = path.split('.').filter(|word| !word.is_empty() && word.parse::<usize>().is_err()).collect();
    // `workers.gpus` means `spec.workers.gpus`.
    let found = find(&schema, &schema, &words).map(|field| (field, words.join("."))).or_else(|| {
        Some((find(&schema, &schema, &[&["spec"], &words[..]].concat())?, format!("spec.{}", words.join("."))))
    });
    let found = found.filter(|_| !words.is_empty()).or_else(|| taking(&schema, topic));
    match found {
        Some((field, path)) => Ok(page(&schema, field, &path)),
        None => Err(format!("there is no problem code and no field {topic}{}", nearest(&schema, topic))),
    }
}

/// What a code means, without the space that a comment's lines begin with.
pub fn explanation(code: &Code) -> String {
    let lines = code.explanation.trim().lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// A mistake of that kind, and the same without it.
fn example(name: &str) -> String {
    let mut all = EXAMPLES.split("\n== ");
    let found = all.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n')?.split_once("\n--\n"));
    let Some((wrong, right)) = found else { return String::new() };
    let set_in = |text: &str| text.trim_end().replace('\n', "\n    ");
    format!("\nWrong:\n\n    {}\n\nRight:\n\n    {}\n", set_in(wrong), set_in(right))
}

/// Every problem code with its title.
pub fn codes() -> String {
    let mut all: Vec<_> = crate::codes().collect();
    all.sort_by_key(|code| code.name);
    let width = all.iter().map(|code| code.name.len()).max().unwrap_or_default();
    // One line each, for grep.
    all.iter().map(|code| format!("{:<width$}  {}\n", code.name, code.title())).collect::<Vec<_>>().concat()
}

/// The parts of a schema that may say something about a value: itself, what it refers to, its
/// alternatives and its items.
fn parts<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let mut all = vec![schema];
    let mut next = 0;
    while next < all.len() && all.len() < 200 {
        let part = all[next];
        next += 1;
        let referred = part["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
        all.extend(referred);
        for key in ["anyOf", "oneOf", "allOf"] {
            all.extend(part[key].as_array().into_iter().flatten());
        }
        all.extend(part.get("items").filter(|items| items.is_object()));
    }
    all
}

fn properties<'a>(root: &'a Value, schema: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    parts(root, schema).into_iter().filter_map(|part| part["properties"].as_object()).flatten()
}

fn find<'a>(root: &'a Value, schema: &'a Value, words: &[&str]) -> Option<&'a Value> {
    let Some((first, rest)) = words.split_first() else { return Some(schema) };
    properties(root, schema).filter(|(name, _)| name == first).find_map(|(_, field)| find(root, field, rest))
}

/// The field that takes this word, and its path.
fn taking<'a>(root: &'a Value, word: &str) -> Option<(&'a Value, String)> {
    let mut paths = Vec::new();
    fields(root, find(root, root, &["spec"])?, "spec", 4, &mut paths);
    let known = paths.into_iter().filter_map(|path| {
        let field = find(root, root, &path.split('.').collect::<Vec<_>>())?;
        let takes =
            |part: &&Value| part["enum"].as_array().is_some_and(|words| words.iter().any(|other| other == word));
        parts(root, field).iter().any(takes).then_some((field, path))
    });
    known.min_by_key(|(_, path)| path.len())
}

/// What a field is, takes and holds.
fn page(root: &Value, field: &Value, path: &str) -> String {
    let all = parts(root, field);
    let words = |key: &str| all.iter().find_map(|part| part[key].as_str());
    let mut text = format!("{path}\n");
    // A description begins with the title's words.
    if let Some(about) = words("description").or_else(|| words("title")) {
        let _ = write!(text, "\n{}\n", paragraphs(about));
    }
    let kinds = dedup(all.iter().filter_map(|part| part["type"].as_str()).collect());
    // The bounds of one alternative say nothing about the others.
    let bound = |key: &str| all.iter().find_map(|part| part.get(key)).filter(|_| kinds.len() == 1).map(plain);
    let takes = [
        ("type", (!kinds.is_empty()).then(|| kinds.join(" or "))),
        (
            "values",
            all.iter()
                .filter(|part| part["markdownEnumDescriptions"].is_null())
                .find_map(|part| part["enum"].as_array())
                .map(|values| list(values)),
        ),
        ("default", all.iter().find_map(|part| part.get("default")).map(plain)),
        ("least", bound("minimum")),
        ("most", bound("maximum")),
        ("examples", all.iter().find_map(|part| part["examples"].as_array()).map(|values| examples(values))),
    ];
    let takes = takes.into_iter().filter_map(|(label, value)| Some((label.to_owned(), value?))).collect();
    let choice = all.iter().find(|part| part["markdownEnumDescriptions"].is_array());
    let column = |key: &str| choice.and_then(|part| part[key].as_array()).into_iter().flatten().map(plain);
    let choices = column("enum").zip(column("markdownEnumDescriptions")).collect();
    let fields = properties(root, field).map(|(name, field)| {
        let about = parts(root, field).iter().find_map(|part| part["title"].as_str().or(part["description"].as_str()));
        (name.clone(), about.unwrap_or_default().lines().next().unwrap_or_default().to_owned())
    });
    for (rows, least) in [(takes, LABEL), (choices, 0), (fields.collect::<Vec<_>>(), 0)] {
        if !rows.is_empty() {
            let _ = write!(text, "\n{}", columns(&rows, 2, least));
        }
    }
    text
}

fn dedup(mut words: Vec<&str>) -> Vec<&str> {
    let mut seen = Vec::new();
    words.retain(|word| {
        !seen.contains(word) && {
            seen.push(word);
            true
        }
    });
    words
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| flow(value), str::to_owned)
}

fn list(values: &[Value]) -> String {
    values.iter().map(plain).collect::<Vec<_>>().join(", ")
}

/// Each as it may be written.
fn examples(values: &[Value]) -> String {
    values.iter().map(plain).collect::<Vec<_>>().join(" or ")
}

/// `; did you mean …?` with the nearest codes and fields.
fn nearest(root: &Value, topic: &str) -> String {
    let mut names: Vec<String> = crate::codes().map(|code| code.name.to_owned()).collect();
    if let Some(spec) = find(root, root, &["spec"]) {
        fields(root, spec, "", 4, &mut names);
    }
    let topic = topic.strip_prefix("spec.").unwrap_or(topic);
    let near = |name: &String| {
        let last = name.rsplit('.').next().unwrap_or(name);
        strsim::jaro_winkler(name, topic).max(strsim::jaro_winkler(last, topic) - 0.001)
    };
    let mut scored: Vec<(f64, &String)> =
        names.iter().map(|name| (near(name), name)).filter(|(score, _)| *score > 0.8).collect();
    // Of two that are as near, the shorter path is the likelier.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())));
    scored.dedup_by(|a, b| a.1 == b.1);
    let names: Vec<&str> = scored.iter().take(3).map(|(_, name)| name.as_str()).collect();
    if names.is_empty() {
        "; `khorovod explain --codes` lists codes, `khorovod explain spec` fields; what a running job shows is in \
         docs/debugging.md"
            .to_owned()
    } else {
        format!("; did you mean {}?", names.join(" or "))
    }
}

/// The paths of every field below one, as deep as people go.
fn fields(root: &Value, schema: &Value, prefix: &str, depth: usize, names: &mut Vec<String>) {
    for (name, field) in properties(root, schema).collect::<Vec<_>>() {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if depth > 0 {
            fields(root, field, &path, depth - 1, names);
        }
        names.push(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        serde_json::json!({
            "properties": { "spec": { "$ref": "#/$defs/Spec" } },
            "$defs": {
                "Spec": { "properties": { "workers": { "anyOf": [{ "$ref": "#/$defs/Workers" }], "title": "Who trains" } } },
                "Workers": { "type": "object", "properties": {
                    "gpus": { "type": "integer", "title": "GPUs a worker", "default": 0, "maximum": 64 },
                    "controller": { "enum": ["StatefulSet", "Job"] },
                    "groups": { "type": "array", "items": { "$ref": "#/$defs/Workers" } },
                } },
            },
        })
    }

    #[test]
    fn a_field_says_what_it_takes() {
        let schema = schema();
        let field = find(&schema, &schema, &["spec", "workers", "gpus"]).unwrap();
        insta::assert_snapshot!(page(&schema, field, "spec.workers.gpus"), @r"
        spec.workers.gpus

        GPUs a worker

          type      integer
          default   0
          most      64
        ");
        let groups = find(&schema, &schema, &["spec", "workers", "groups", "controller"]).unwrap();
        assert!(page(&schema, groups, "x").contains("StatefulSet, Job"));
    }

    #[test]
    fn a_misspelt_field_finds_its_neighbour() {
        assert!(nearest(&schema(), "workers.gpu").contains("did you mean workers.gpus"));
        assert!(nearest(&schema(), "gpsu").contains("workers.gpus"));
        assert!(nearest(&schema(), "zzzz").contains("explain spec"));
    }
}
