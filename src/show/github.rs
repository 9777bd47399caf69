//! GitHub workflow commands: `::error file=…,line=…::message` marks a line in a pull request.

use std::fmt::Write as _;

use crate::problem::{Problems, Severity};

use super::clean::clean;
use super::dedup::is_new;
use super::places::Places;

/// Formats one command per problem.
pub fn text(all: &[Problems]) -> String {
    let (mut text, mut is_new) = (String::new(), is_new());
    for problems in all {
        let places = Places::new(problems);
        for problem in problems.list.iter().filter(|problem| is_new(problems, problem)) {
            let level = if problem.severity == Severity::Note { "notice" } else { problem.severity.word() };
            let _ = write!(text, "::{level} ");
            if let Some(label) = problem.labels.first() {
                let [line, column, end_line, end_column] = places.region(label.span);
                // GitHub accepts columns only if the mark is within one line, and its `endColumn` is inclusive.
                let _ = write!(text, "file={},line={line},endLine={end_line},", property(places.file(label.span)));
                if line == end_line {
                    let _ = write!(text, "col={column},endColumn={},", end_column.saturating_sub(1).max(column));
                }
            }
            let hint = problem.hint.as_ref().map_or(String::new(), |hint| format!("\n{hint}"));
            let message = data(&format!("{}{hint}", problem.message));
            let _ = writeln!(text, "title={}::{message}", property(problem.code.name));
        }
    }
    text
}

/// Escapes a message: its line ends and `%`, so that it cannot contain another command, and escape sequences for a terminal
/// that prints the log.
fn data(text: &str) -> String {
    clean(text).replace('%', "%25").replace('\n', "%0A")
}

/// Escapes a property: like [`data`], and also the separators `:` and `,`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
