//! What became of every field of an imported file.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::json;

use super::clean_line;
use crate::import::{Field, Imported};

/// Wider columns are not padded.
const WIDEST: usize = 44;

/// So many fields in a row of which the same is said have one line.
const FEW: usize = 3;

/// A line a field, and one that counts them. Many fields below one, such as the words of a list, share theirs.
pub fn text(imported: &Imported) -> String {
    let rows: Vec<(&Field, String)> = rows(&imported.fields);
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
    let count = |verdict| imported.fields.iter().filter(|field| field.verdict == verdict).count();
    let _ = writeln!(page, "{} kept, {} changed, {} lost", count("kept"), count("changed"), count("lost"));
    page
}

/// The fields that have lines, and where each stands.
fn rows<'f>(fields: &'f [Field]) -> Vec<(&'f Field, String)> {
    let said = |field: &Field| (field.verdict, field.to.clone(), field.note.clone());
    // How many fields are below each, and whether the same is said of all of them.
    let mut below: HashMap<(&str, &str), (usize, bool, &Field)> = HashMap::new();
    for field in fields {
        for head in heads(&field.path) {
            let (count, alike, first) = below.entry((&field.file, head)).or_insert((0, true, field));
            *count += 1;
            *alike &= said(first) == said(field);
        }
    }
    let row = |field: &'f Field| {
        let shared = heads(&field.path).find_map(|head| {
            let (count, alike, first) = below.get(&(field.file.as_str(), head))?;
            (*count >= FEW && *alike).then_some((head, *count, *first))
        });
        match shared {
            None => Some((field, place(field))),
            Some((head, count, first)) if std::ptr::eq(first, field) => {
                Some((field, format!("{} ({count} fields)", place(field).replacen(&field.path, head, 1))))
            }
            Some(_) => None,
        }
    };
    fields.iter().filter_map(row).collect()
}

/// What a field is below: `a.b` and `a.b[0]` of `a.b[0].c`. The words of a line are below none.
fn heads(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices(['.', '[']).skip(1).map(|(at, _)| &path[..at]);
    ends.filter(|_| !path.contains(' '))
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
