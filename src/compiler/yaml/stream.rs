//! Splits a stream into documents at its markers (`---` and `...`), without parsing the documents. The main type is [`Piece`].

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

const BOM: &[u8] = "\u{feff}".as_bytes();

/// Whether some YAML parser ends a line at a character or forbids it in a line. This is true for control characters and
/// for the two line separators of YAML 1.1.
pub fn ends_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// One document of a stream, as a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The text of the document: from after its `---` to the next marker.
    pub body: Range<usize>,
    /// Whether a `---` precedes the document.
    pub is_marked: bool,
}

/// Splits a stream at the lines that are document markers. The bytes outside the bodies are markers or a byte order mark.
pub fn pieces(text: &str) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut body = bom_len(bytes);
    let mut is_marked = false;
    for marker in markers(bytes) {
        found.push(Piece { body: body..marker, is_marked });
        body = body_start(bytes, marker);
        is_marked = bytes[marker] == b'-';
    }
    found.push(Piece { body: body..text.len(), is_marked });
    found
}

/// The body of the document that contains the byte `at`, or `None` if the byte belongs to a marker. The search starts at that
/// byte and does not read the rest of the stream, which saves time if only a few documents of a large stream matter.
pub fn document_at(stream: &[u8], at: usize) -> Option<Range<usize>> {
    let start_of_line = |at: usize| memrchr(b'\n', &stream[..at]).map_or_else(|| bom_len(stream), |end| end + 1);
    let mut line = start_of_line(at);
    let start = loop {
        if is_marker(stream, line) {
            break body_start(stream, line);
        }
        match line.checked_sub(1) {
            Some(end) if line > bom_len(stream) => line = start_of_line(end),
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

/// The length of the byte order mark at the start of the stream; 0 without one.
fn bom_len(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

/// The start of the body after the marker at `marker`. Content may follow on the line of the marker (`--- {a: 1}`). If only
/// spaces or a comment follow, the body starts with the next line.
fn body_start(bytes: &[u8], marker: usize) -> usize {
    let rest = &bytes[marker + 3..];
    let line = memchr(b'\n', rest).map_or(rest, |end| &rest[..=end]);
    let content = line.trim_ascii_start();
    let is_bare = content.is_empty() || content[0] == b'#';
    marker + 3 + if is_bare || bytes[marker] == b'.' { line.len() } else { 0 }
}

/// Whether the line that starts at `at` is a document marker.
fn is_marker(bytes: &[u8], at: usize) -> bool {
    let line = &bytes[at..];
    (line.starts_with(b"---") || line.starts_with(b"..."))
        && matches!(line.get(3), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// The start of each line that is a document marker.
fn markers(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let start = bom_len(bytes);
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
    fn splits_only_at_markers() {
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
