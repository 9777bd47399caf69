//! A stream cut at its document markers, without reading what stands between them.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

const BOM: &[u8] = "\u{feff}".as_bytes();

/// Whether a character may end a line to some reader of YAML, or cannot stand in one: YAML 1.1 has two more line breaks
/// than are control characters.
pub fn ends_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// One document of a stream, by its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The document's own text: behind its `---`, up to the next marker.
    pub body: Range<usize>,
    /// Whether a `---` stood before it.
    pub marked: bool,
}

/// Cuts at lines that start with `---` or `...`. Every byte outside the bodies is a marker.
pub fn pieces(text: &str) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut body = first(bytes);
    let mut marked = false;
    for marker in markers(bytes) {
        found.push(Piece { body: body..marker, marked });
        body = behind(bytes, marker);
        marked = bytes[marker] == b'-';
    }
    found.push(Piece { body: body..text.len(), marked });
    found
}

/// The body of the document that holds the byte `at`, found from there: a stream in which few documents matter need
/// not be cut as a whole. None where the byte belongs to a marker.
pub fn document_at(stream: &[u8], at: usize) -> Option<Range<usize>> {
    let start_of_line = |at: usize| memrchr(b'\n', &stream[..at]).map_or_else(|| first(stream), |end| end + 1);
    let mut line = start_of_line(at);
    let start = loop {
        if is_marker(stream, line) {
            break behind(stream, line);
        }
        match line.checked_sub(1) {
            Some(end) if line > first(stream) => line = start_of_line(end),
            _ => break line,
        }
    };
    let mut rest = at;
    let end = loop {
        match memchr(b'\n', &stream[rest..]) {
            Some(end) if is_marker(stream, rest + end + 1) => break rest + end + 1,
            Some(end) => rest += end + 1,
            None => break stream.len(),
        }
    };
    (start <= at).then_some(start..end)
}

/// Where the text begins: behind a byte order mark.
fn first(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

/// Where a body starts behind its marker. Content may stand on the marker's own line (`--- {a: 1}`); a bare marker ends
/// with its line.
fn behind(bytes: &[u8], marker: usize) -> usize {
    let rest = &bytes[marker + 3..];
    let line = memchr(b'\n', rest).map_or(rest, |end| &rest[..=end]);
    let content = line.trim_ascii_start();
    let bare = content.is_empty() || content[0] == b'#';
    marker + 3 + if bare || bytes[marker] == b'.' { line.len() } else { 0 }
}

/// Whether the line that starts at `at` is a document marker.
fn is_marker(bytes: &[u8], at: usize) -> bool {
    let line = &bytes[at..];
    (line.starts_with(b"---") || line.starts_with(b"..."))
        && matches!(line.get(3), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// Where the lines start that are document markers.
fn markers(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let start = first(bytes);
    let first = is_marker(bytes, start).then_some(start);
    let dashes = memmem::find_iter(bytes, b"\n---").map(|at| at + 1).filter(move |at| is_marker(bytes, *at));
    let dots = memmem::find_iter(bytes, b"\n...").map(|at| at + 1).filter(move |at| is_marker(bytes, *at));
    let mut rest: Vec<usize> = dashes.chain(dots).collect();
    rest.sort_unstable();
    first.into_iter().chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(text: &str) -> Vec<&str> {
        pieces(text).into_iter().map(|piece| &text[piece.body]).collect()
    }

    #[test]
    fn cuts_at_markers_only() {
        assert_eq!(bodies("a: 1\n---\nb: 2\n"), ["a: 1\n", "b: 2\n"]);
        assert_eq!(bodies("---\na: 1\n--- # two\nb: 2"), ["", "a: 1\n", "b: 2"]);
        assert_eq!(bodies("--- {a: 1}\n"), ["", " {a: 1}\n"]);
        assert_eq!(bodies("a: |\n  ---\n---x: 1\n...\n---\nb: 2"), ["a: |\n  ---\n---x: 1\n", "", "b: 2"]);
        assert_eq!(bodies("a: 1\r\n---\r\nb: 2\r\n"), ["a: 1\r\n", "b: 2\r\n"]);
        assert_eq!(bodies("\u{feff}a: 1"), ["a: 1"]);
        assert_eq!(bodies(""), [""]);
    }

    #[test]
    fn a_document_is_found_from_any_byte_in_it() {
        for text in [
            "a: 1\n---\nb: 2\n",
            "---\na: 1\n--- # two\nb: 2",
            "--- {a: 1}\n--- |\n x\n",
            "a: |\n  ---\n---x: 1\n...\n---\nb: 2",
            "%YAML 1.2\r\n---\r\na: 1\r\n... # end\r\n",
            "\u{feff}a: 1\n---\n",
            "\u{feff}---\na: 1\n\n",
            "\n---",
        ] {
            for at in 0..text.len() {
                let whole = pieces(text).into_iter().map(|piece| piece.body).find(|body| body.contains(&at));
                let found = document_at(text.as_bytes(), at).filter(|body| body.contains(&at));
                assert_eq!(found, whole, "{text:?} at {at}");
            }
        }
    }
}
