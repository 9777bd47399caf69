//! Problems in SARIF 2.1.0, the format of code scanning services.

use std::fmt::Write as _;

use crate::problem::{Code, Explained, Fix, Problems, Span};
use serde_json::{Value, json};

use super::dedup::is_new;
use super::explain::explanation;
use super::places::Places;

/// Formats one run, with the rules that have problems and every place.
pub fn text(all: &[Problems]) -> String {
    let mut rules: Vec<&'static Code> = Vec::new();
    let (mut results, mut is_new) = (Vec::new(), is_new());
    for problems in all {
        let places = &Places::new(problems);
        for problem in problems.list.iter().filter(|problem| is_new(problems, problem)) {
            let rule = rules.iter().position(|code| code.name == problem.code.name).unwrap_or_else(|| {
                rules.push(problem.code);
                rules.len() - 1
            });
            let place = |span: Span, text: &str| {
                let mut location = json!({ "physicalLocation": {
                    "artifactLocation": artifact(places, span), "region": area(places, span),
                }});
                if !text.is_empty() {
                    location["message"] = json!({ "text": text });
                }
                location
            };
            let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!("\n{hint}"));
            let mut result = json!({
                "ruleId": problem.code.name,
                "ruleIndex": rule,
                "level": problem.severity.word(),
                "message": { "text": format!("{}{hint}", problem.message) },
                "locations": problem.labels.iter().take(1).map(|label| place(label.span, &label.text)).collect::<Vec<_>>(),
            });
            if problem.labels.len() > 1 {
                let others = problem.labels[1..].iter().map(|label| place(label.span, &label.text));
                result["relatedLocations"] = others.collect();
            }
            // In SARIF, several fixes are alternatives.
            let fixes: Vec<Value> =
                problem.fix.iter().chain(&problem.other_fix).map(|fix| change(places, fix)).collect();
            if !fixes.is_empty() {
                result["fixes"] = fixes.into();
            }
            results.push(result);
        }
    }
    let rules: Vec<Value> = rules
        .iter()
        .map(|code| {
            let explained = crate::codes().find(|explained| explained.code == *code);
            let help = explained.map(explanation).unwrap_or_default();
            json!({
                "id": code.name,
                "shortDescription": { "text": explained.map_or(code.name, Explained::title) },
                "help": { "text": help, "markdown": help },
                "defaultConfiguration": { "level": code.severity.word() },
            })
        })
        .collect();
    let driver = json!({ "name": "khorovod", "semanticVersion": env!("CARGO_PKG_VERSION"), "rules": rules });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "columnKind": "unicodeCodePoints", "results": results }],
    });
    format!("{log:#}\n")
}

/// A fix as a change of its file.
fn change(places: &Places, fix: &Fix) -> Value {
    json!({ "artifactChanges": [{
        "artifactLocation": artifact(places, fix.span),
        "replacements": [{
            "deletedRegion": area(places, fix.span), "insertedContent": { "text": fix.text },
        }],
    }]})
}

fn area(places: &Places, span: Span) -> Value {
    let [line, column, end_line, end_column] = places.region(span);
    json!({ "startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column })
}

/// The file as a URI, relative to the current folder and percent-encoded.
fn artifact(places: &Places, span: Span) -> Value {
    let name = places.file(span);
    let mut uri = String::from(if name.starts_with('/') { "file://" } else { "" });
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    json!({ "uri": uri })
}
