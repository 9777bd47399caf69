//! Problems as one JSON document, for programs.

use khorovod::problem::{Problems, Severity, Span};
use serde_json::{Value, json};

use super::{file, region};

/// Every problem, and how many of each kind.
pub fn text(all: &[Problems]) -> String {
    let list = || all.iter().flat_map(|problems| problems.list.iter().map(move |problem| (problems, problem)));
    let errors = list().filter(|(_, problem)| problem.severity == Severity::Error).count();
    let found: Vec<Value> = list()
        .map(|(problems, problem)| {
            let labels: Vec<Value> =
                problem.labels.iter().map(|label| place(problems, label.span, &label.text)).collect();
            json!({
                "code": problem.code.name,
                "severity": if problem.severity == Severity::Error { "error" } else { "warning" },
                "message": problem.message,
                "labels": labels,
                "hint": problem.hint,
                "fix": problem.fix.as_ref().map(|fix| place(problems, fix.span, &fix.text)),
            })
        })
        .collect();
    let value = json!({ "errors": errors, "warnings": found.len() - errors, "problems": found });
    format!("{value:#}\n")
}

fn place(problems: &Problems, span: Span, text: &str) -> Value {
    let [line, column, end_line, end_column] = region(problems, span);
    json!({
        "file": file(problems, span),
        "line": line, "column": column, "endLine": end_line, "endColumn": end_column,
        "text": text,
    })
}
