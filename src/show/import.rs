//! The report of an import: what became of each field.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::json;

use super::clean_line;
use crate::import::{Field, Imported};

/// The maximum width to which columns are padded.
const WIDEST: usize = 44;

/// If a field has at least this many fields below it, and all of them have the same outcome, they share one line.
const MANY: usize = 3;

/// Formats one line per field, with lost fields at the end. The last line counts the lines per outcome. If many fields are
/// below one field and have the same outcome, they share a line. The same is true for the items of a list of words.
pub fn text(imported: &Imported) -> String {
    let mut rows: Vec<(&Field, String)> = rows(&imported.fields);
    // Lost fields come last, so that they are visible above the prompt. The user has to decide about them.
    rows.sort_by_key(|(field, _)| field.verdict == "lost");
    let lengths = rows.iter().map(|(_, place)| place.chars().count());
    let width = lengths.filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let mut page = String::new();
    for (field, place) in &rows {
        let to = field.to.join(", ");
        let arrow = if to.is_empty() { "" } else { "→ " };
        let dash = if to.is_empty() || field.note.is_empty() { "" } else { ": " };
        let line = format!("{:<8} {place:<width$}  {arrow}{to}{dash}{}", field.verdict, field.note);
        // Writing to a string never fails.
        let _ = writeln!(page, "{}", clean_line(line.trim_end()));
    }
    let of = |verdict| rows.iter().filter(move |(field, _)| field.verdict == verdict);
    let count = |verdict| {
        let to_check = of(verdict).filter(|(field, _)| field.note.starts_with("check: ")).count();
        let note = if to_check > 0 { format!(" ({to_check} to check)") } else { String::new() };
        format!("{} {verdict}{note}", of(verdict).count())
    };
    let _ = writeln!(page, "{}", ["kept", "changed", "dropped", "lost"].map(count).join(", "));
    page
}

/// Returns how many lines of the report have this verdict.
pub fn count(imported: &Imported, verdict: &str) -> usize {
    rows(&imported.fields).iter().filter(|(field, _)| field.verdict == verdict).count()
}

/// The fields that have their own line, each with its place.
fn rows<'f>(fields: &'f [Field]) -> Vec<(&'f Field, String)> {
    let outcome = |field: &Field| (field.verdict, field.to.clone(), field.note.clone());
    // For each field: how many fields are below it, and whether all of these have the same outcome.
    let mut below: HashMap<(&str, &str), (usize, bool, &Field)> = HashMap::new();
    for field in fields {
        for parent in parents(&field.path) {
            let (count, alike, first) = below.entry((&field.file, parent)).or_insert((0, true, field));
            *count += 1;
            *alike &= outcome(first) == outcome(field);
        }
    }
    let row = |field: &'f Field| {
        let shared = parents(&field.path).find_map(|parent| {
            let (count, alike, first) = below.get(&(field.file.as_str(), parent))?;
            let of_list = field
                .path
                .strip_prefix(parent)
                .is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']') && !rest.contains('.'));
            (*count >= if of_list { 2 } else { MANY } && *alike).then_some((parent, *count, *first))
        });
        match shared {
            None => Some((field, place(field))),
            Some((parent, count, first)) if std::ptr::eq(first, field) => {
                Some((field, format!("{} ({count} fields)", place(field).replacen(&field.path, parent, 1))))
            }
            Some(_) => None,
        }
    };
    fields.iter().filter_map(row).collect()
}

/// The fields above a field: `a.b` and `a.b[0]` for `a.b[0].c`. The result is empty for a path with a space, because
/// such a path is the text of a line and not the name of a field.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices(['.', '[']).skip(1).map(|(at, _)| &path[..at]);
    ends.filter(|_| !path.contains(' '))
}

/// Where a field is: its line and path, or the option of the command line that sets it.
fn place(field: &Field) -> String {
    match field.file.split_once(' ') {
        // A field that an option of the command line sets has no line.
        Some((option, _)) if option.starts_with("--") => format!("{option}:{}", field.path),
        _ if field.file.starts_with("--") => field.path.clone(),
        _ => format!("{}:{}", field.line, field.path),
    }
}

/// Formats the report as JSON.
pub fn document(imported: &Imported) -> String {
    let warnings = imported
        .warnings
        .list
        .iter()
        .map(|problem| json!({ "code": problem.code.name, "message": problem.message, "hint": problem.hint }));
    let value = json!({ "fields": imported.fields, "warnings": warnings.collect::<Vec<_>>() });
    format!("{value:#}\n")
}
