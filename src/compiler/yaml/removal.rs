//! The part of a text that must be deleted so that a map loses one entry. See [`removal`].

use super::node::Entry;
use crate::problem::{Span, line_start};

/// The place of an entry with the lines, or the comma, that belong to it. `text` begins at byte `base` of the source. Returns
/// nothing for the only entry of a map, and for an entry that shares its lines with other text in another way.
pub fn removal(text: &str, base: usize, entries: &[Entry], index: usize) -> Option<Span> {
    let entry = entries.get(index).filter(|_| entries.len() > 1)?;
    let source = entry.key_span.source;
    let is_here = |entry: &&Entry| entry.key_span.source == source && entry.value.span.source == source;
    let entry = Some(entry).filter(is_here)?;
    let end_of = |entry: &Entry| {
        let key_end = entry.key_span.end.checked_sub(base)?;
        // The span of a block also contains the line break at its end.
        let end = text.get(..entry.value.span.end.checked_sub(base)?)?.trim_end().len();
        Some(end.max(key_end))
    };
    let (start, end) = (entry.key_span.start.checked_sub(base)?, end_of(entry)?);
    let line = line_start(text.get(..start)?, start);
    let rest = text[end..].split_inclusive('\n').next().unwrap_or_default();
    let behind = rest.trim().trim_start_matches(':').trim_start();
    let is_alone = text[line..start].bytes().all(|byte| byte == b' ') && (behind.is_empty() || behind.starts_with('#'));
    let (from, to) = if is_alone {
        (line, end + rest.len())
    } else if let Some(next) = entries.get(index + 1).filter(is_here) {
        (start, next.key_span.start.checked_sub(base)?)
    } else {
        let before = end_of(entries.get(index.checked_sub(1)?).filter(is_here)?)?;
        (Some(before).filter(|at| text.get(*at..start).is_some_and(|between| between.trim() == ","))?, end)
    };
    (from < to).then(|| Span { start: base + from, end: base + to, ..entry.key_span })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    #[test]
    fn a_map_loses_one_entry() {
        let cases = [
            ("a: 1\nb: 2\nc: 3\n", 1, "a: 1\nc: 3\n"),
            ("a: 1 # first\nb: 2 # second", 1, "a: 1 # first\n"),
            ("a:\n  x: |\n    1\n\n# about b\nb: 2\n", 0, "\n# about b\nb: 2\n"),
            ("a:\nb: 2\n", 0, "b: 2\n"),
            ("{a: 1, b: 2, c: 3}", 0, "{b: 2, c: 3}"),
            ("{a: 1, b: 2, c: 3}", 2, "{a: 1, b: 2}"),
        ];
        for (text, index, expected) in cases {
            let whole = Span { source: 0, start: 7, end: 7 + text.len() };
            let map = parse(text, whole, &mut Vec::new()).unwrap().unwrap();
            let span = removal(text, 7, map.entries(), index).unwrap();
            assert_eq!(format!("{}{}", &text[..span.start - 7], &text[span.end - 7..]), expected, "{text}");
        }
        let whole = Span { source: 0, start: 0, end: 4 };
        let one = parse("a: 1", whole, &mut Vec::new()).unwrap().unwrap();
        assert_eq!(removal("a: 1", 0, one.entries(), 0), None, "the only entry");
    }
}
