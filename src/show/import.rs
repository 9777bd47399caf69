//! What became of every field of an imported file.

use std::fmt::Write as _;

use serde_json::json;

use super::clean_line;
use crate::import::{Field, Imported};

/// Wider columns are not padded.
const WIDEST: usize = 44;

/// A line a field, and one that counts them.
pub fn text(imported: &Imported) -> String {
    let places: Vec<String> = imported.fields.iter().map(place).collect();
    let width = places.iter().map(|place| place.chars().count()).filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let mut page = String::new();
    for (field, place) in imported.fields.iter().zip(&places) {
        let to = field.to.join(", ");
        let arrow = if to.is_empty() { "" } else { "→ " };
        let dash = if to.is_empty() || field.note.is_empty() { "" } else { ": " };
        let line = format!("{:<8} {place:<width$}  {arrow}{to}{dash}{}", field.verdict, field.note);
        // Writing to a string never fails.
        let _ = writeln!(page, "{}", clean_line(line.trim_end()));
    }
    let count = |verdict| imported.fields.iter().filter(|field| field.verdict == verdict).count();
    let _ = writeln!(page, "{} kept, {} changed, {} lost", count("kept"), count("changed"), count("lost"));
    page
}

fn place(field: &Field) -> String {
    match field.file.split_once(' ') {
        // What an option of the command line set has no line.
        Some((option, _)) if option.starts_with("--") => format!("{option}:{}", field.path),
        _ if field.file.starts_with("--") => field.path.clone(),
        _ => format!("{}:{}", field.line, field.path),
    }
}

/// The same for programs.
pub fn document(imported: &Imported) -> String {
    let warnings = imported
        .warnings
        .list
        .iter()
        .map(|problem| json!({ "code": problem.code.name, "message": problem.message, "hint": problem.hint }));
    let value = json!({ "fields": imported.fields, "warnings": warnings.collect::<Vec<_>>() });
    format!("{value:#}\n")
}
