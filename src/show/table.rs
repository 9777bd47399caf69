//! Lines and columns that a terminal of 80 takes as they are.

use std::fmt::Write as _;

/// How wide a page is.
pub const WIDTH: usize = 80;

/// A text in lines of no more than `width`, broken between words; those behind the first begin with `indent`.
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

/// Paragraphs, folded: a line end within one is a space.
pub fn paragraphs(text: &str) -> String {
    let folded = |part: &str| folded(&part.split_whitespace().collect::<Vec<_>>().join(" "), WIDTH, "").join("\n");
    text.trim().split("\n\n").map(folded).collect::<Vec<_>>().join("\n\n")
}

/// Names, set in and as wide as the widest or `least`, each with what is said of it beside it.
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
