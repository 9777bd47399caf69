//! Converts byte offsets into UTF-16 offsets, which JavaScript uses.

/// The distance of two marks in bytes.
const STEP: usize = 1 << 10;

/// Converts offsets of one text. Marks at regular distances save reading the text from its start each time.
pub struct Offsets<'a> {
    text: &'a str,
    /// The UTF-16 offset at each multiple of [`STEP`] bytes, or of the first character after it. `None` for ASCII text, where
    /// both offsets are equal.
    marks: Option<Vec<usize>>,
}

impl<'a> Offsets<'a> {
    pub fn new(text: &'a str) -> Self {
        if text.is_ascii() {
            return Self { text, marks: None };
        }
        let (mut marks, mut units) = (Vec::with_capacity(text.len() / STEP + 1), 0);
        for (at, c) in text.char_indices() {
            if at >= marks.len() * STEP {
                marks.push(units);
            }
            units += c.len_utf16();
        }
        Self { text, marks: Some(marks) }
    }

    /// The UTF-16 offset of a byte offset; inside a character, that of the next character.
    pub fn utf16(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        let Some(marks) = &self.marks else { return byte };
        let mark = (byte / STEP).min(marks.len().saturating_sub(1));
        let start = self.next_character(mark * STEP);
        let end = self.next_character(byte);
        marks.get(mark).copied().unwrap_or_default() + self.text[start..end].encode_utf16().count()
    }

    fn next_character(&self, byte: usize) -> usize {
        (byte..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_equals_that_of_javascript() {
        for text in ["", "plain", "ä𝄞x", &"aä𝄞€".repeat(700), &"𝄞".repeat(600)] {
            let offsets = Offsets::new(text);
            for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
                assert_eq!(offsets.utf16(at), text[..at].encode_utf16().count(), "{at}");
            }
            assert_eq!(offsets.utf16(text.len() + 9), text.encode_utf16().count());
        }
    }
}
