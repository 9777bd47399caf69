//! Problems as one JSON document, for programs.

use crate::problem::{Problems, Severity, Span};
use serde_json::{Value, json};

use super::dedup::is_new;
use super::places::Places;

/// Formats every problem, and the numbers of errors and warnings.
pub fn text(all: &[Problems]) -> String {
    let (all, mut is_new): (Vec<Places>, _) = (all.iter().map(Places::new).collect(), is_new());
    let list: Vec<_> = all
        .iter()
        .flat_map(|places| places.problems.list.iter().map(move |problem| (places, problem)))
        .filter(|(places, problem)| is_new(places.problems, problem))
        .collect();
    let count = |severity| list.iter().filter(|(_, problem)| problem.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let found: Vec<Value> = list
        .iter()
        .map(|(places, problem)| {
            let labels: Vec<Value> =
                problem.labels.iter().map(|label| place(places, label.span, &label.text)).collect();
            json!({
                "code": problem.code.name,
                "severity": problem.severity.word(),
                "message": problem.message,
                "labels": labels,
                "hint": problem.hint,
                "fix": problem.fix.as_ref().map(|fix| {
                    let mut edit = place(places, fix.span, &fix.text);
                    edit["isChoice"] = problem.fix_is_choice.into();
                    edit
                }),
                "otherFix": problem.other_fix.as_ref().map(|fix| place(places, fix.span, &fix.text)),
            })
        })
        .collect();
    let value = json!({ "errors": errors, "warnings": warnings, "problems": found });
    format!("{value:#}\n")
}

fn place(places: &Places, span: Span, text: &str) -> Value {
    let [line, column, end_line, end_column] = places.region(span);
    json!({
        "file": places.file(span),
        "line": line, "column": column, "endLine": end_line, "endColumn": end_column,
        "text": text,
    })
}
