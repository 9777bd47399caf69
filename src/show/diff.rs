//! The difference of two texts as a unified diff, which `git apply` and `patch` read.

use std::fmt::Write as _;

/// How many unchanged lines surround a change.
const CONTEXT: usize = 3;
/// The largest size of a comparison: the number of changed old lines times the number of changed new lines. If the
/// product is larger, the diff removes all these old lines and adds all new ones.
const LARGEST: usize = 4_000_000;

/// A line of a diff.
#[derive(Clone, Copy, PartialEq)]
enum Line<'t> {
    Same(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// The unified diff of a file; empty if the texts are equal.
pub fn text(name: &str, old: &str, new: &str) -> String {
    let lines = compare(&split(old), &split(new));
    let changed: Vec<usize> = (0..lines.len()).filter(|index| !matches!(lines[*index], Line::Same(_))).collect();
    let mut text = String::new();
    let mut rest = changed.as_slice();
    while let Some(first) = rest.first() {
        // Changes that are near each other share a hunk.
        let near = rest.windows(2).take_while(|pair| pair[1] - pair[0] <= 2 * CONTEXT + 1).count();
        let range = first.saturating_sub(CONTEXT)..(rest[near] + CONTEXT + 1).min(lines.len());
        if text.is_empty() {
            let _ = writeln!(text, "--- {name}\n+++ {name}");
        }
        hunk(&mut text, &lines, range);
        rest = &rest[near + 1..];
    }
    text
}

/// Splits a text into lines, which keep their line ends.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn hunk(text: &mut String, lines: &[Line<'_>], range: std::ops::Range<usize>) {
    let count = |part: &[Line<'_>], other: fn(&Line<'_>) -> bool| part.iter().filter(|line| !other(line)).count();
    let is_new = |line: &Line<'_>| matches!(line, Line::New(_));
    let is_old = |line: &Line<'_>| matches!(line, Line::Old(_));
    let (before, part) = (&lines[..range.start], &lines[range]);
    let header = |start: usize, length: usize| format!("{},{length}", if length == 0 { start } else { start + 1 });
    let old = header(count(before, is_new), count(part, is_new));
    let new = header(count(before, is_old), count(part, is_old));
    let _ = writeln!(text, "@@ -{old} +{new} @@");
    for line in part {
        let (mark, line) = match line {
            Line::Same(line) => (' ', line),
            Line::Old(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        let _ = write!(text, "{mark}{line}{end}");
    }
}

/// The lines of both texts in order. As many lines as possible are [`Line::Same`].
fn compare<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let (changed_old, changed_new) = (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let same = |lines: &[&'t str]| lines.iter().map(|line| Line::Same(line)).collect::<Vec<_>>();
    let mut lines = same(&old[..start]);
    if changed_old.len().saturating_mul(changed_new.len()) > LARGEST {
        lines.extend(changed_old.iter().map(|line| Line::Old(line)));
        lines.extend(changed_new.iter().map(|line| Line::New(line)));
    } else {
        lines.extend(longest_common(changed_old, changed_new));
    }
    lines.extend(same(&old_rest[old_rest.len() - end..]));
    lines
}

/// Compares by the longest common subsequence, in quadratic time.
fn longest_common<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Line<'t>> {
    let width = new.len() + 1;
    // For each pair of positions: the length of the longest common subsequence of the lines from there to the end.
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = match old[i] == new[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
            lines.push(Line::Old(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_three_lines_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        assert_eq!(text("x", old, old), "");
        let diff = text("x", old, &old.replace("e\n", "E\n"));
        assert_eq!(diff, "--- x\n+++ x\n@@ -2,6 +2,6 @@\n b\n c\n d\n-e\n+E\n f\n g\n");
    }

    #[test]
    fn distant_changes_have_hunks_of_their_own() {
        let old: String = (0..20).map(|n| n.to_string() + "\n").collect();
        let new = old.replace("\n2\n", "\n2\nnew\n").replace("\n17\n", "\n");
        let diff = text("x", &old, &new);
        assert_eq!(diff.matches("@@ -").count(), 2, "{diff}");
        assert!(diff.contains("@@ -1,6 +1,7 @@\n") && diff.contains("@@ -15,6 +16,5 @@\n"), "{diff}");
    }

    #[test]
    fn a_last_line_without_an_end_is_marked() {
        let diff = text("x", "a\nb", "a\nb\n");
        assert_eq!(diff, "--- x\n+++ x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
        assert_eq!(text("x", "", "a\n"), "--- x\n+++ x\n@@ -0,0 +1,1 @@\n+a\n");
    }

    #[test]
    fn a_moved_line_is_one_removal_and_one_addition() {
        let diff = text("x", "a\nb\nc\n", "b\nc\na\n");
        assert_eq!(diff.matches("\n-").count() + diff.matches("\n+").count(), 3, "{diff}");
    }
}
