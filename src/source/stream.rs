//! A stream cut at its document markers, without reading what stands between them.

use std::ops::Range;

use memchr::memmem;

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
    let mut found = Vec::new();
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut body = start;
    let mut marked = false;
    for marker in markers(text, start) {
        let dashes = text[marker..].starts_with("---");
        found.push(Piece { body: body..marker, marked });
        // Content may stand on the marker's own line (`--- {a: 1}`); a bare marker ends with its line.
        let rest = &text[marker + 3..];
        let line = rest.find('\n').map_or(rest, |end| &rest[..=end]);
        let bare = line.trim().is_empty() || line.trim_start().starts_with('#');
        body = marker + 3 + if bare || !dashes { line.len() } else { 0 };
        marked = dashes;
    }
    found.push(Piece { body: body..text.len(), marked });
    found
}

/// Where the lines start that are document markers.
fn markers(text: &str, start: usize) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let is_marker = move |at: usize| {
        let rest = &bytes[at..];
        (rest.starts_with(b"---") || rest.starts_with(b"..."))
            && matches!(rest.get(3), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
    };
    let first = is_marker(start).then_some(start);
    let dashes = memmem::find_iter(bytes, b"\n---").map(|at| at + 1).filter(move |at| is_marker(*at));
    let dots = memmem::find_iter(bytes, b"\n...").map(|at| at + 1).filter(move |at| is_marker(*at));
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
}
