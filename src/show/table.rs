//! Wraps text for a terminal of 80 columns.

use std::fmt::Write as _;

/// The width of a page.
pub const WIDTH: usize = 80;

/// Wraps a text between words to lines of at most `width`. Lines after the first begin with `indent`.
pub fn folded(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Wraps paragraphs. A line end within a paragraph counts as a space.
pub fn paragraphs(text: &str) -> String {
    let folded = |part: &str| folded(&part.split_whitespace().collect::<Vec<_>>().join(" "), WIDTH, "").join("\n");
    text.trim().split("\n\n").map(folded).collect::<Vec<_>>().join("\n\n")
}

/// Formats two columns: names and their descriptions. The names are indented by `inset`. They are padded to the width of the
/// longest name, but at least to the width `least`.
pub fn columns(rows: &[(String, String)], inset: usize, least: usize) -> String {
    let names = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().max(least);
    let left = inset + names + 2;
    let mut text = String::new();
    for (name, about) in rows {
        let lines = folded(about, WIDTH.saturating_sub(left), "");
        for (number, line) in lines.iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            let line = format!("{:inset$}{name:<names$}  {line}", "");
            // Writing to a string never fails.
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}
