//! Texts in pictures: numbers with nouns, texts cut to a width, and escaping.

use std::fmt::{self, Display, Write};

/// A number for people to read: `1,000`.
pub fn number(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 worker`, `1,000 workers`.
pub fn count(amount: impl Into<u64>, noun: &str) -> String {
    let amount = amount.into();
    let plural = if amount == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number(amount))
}

/// The spares of a group of workers, as the end of a phrase.
pub fn and_spares(spares: u32) -> String {
    if spares > 0 { format!(" and {}", count(spares, "spare")) } else { String::new() }
}

/// The number of characters that fit a width. `average` is the mean width of a character, in hundredths of the font
/// size.
fn capacity(width: u32, size: u32, average: u32) -> usize {
    (width * 100 / (size * average)) as usize
}

/// The mean width of a character in hundredths of the font size: `WORDS` in a text, `HOST` in a monospaced host name.
const WORDS: u32 = 56;
const HOST: u32 = 62;

/// Cuts a text at its end to fit a width.
pub fn fit(text: &str, width: u32, size: u32) -> String {
    let capacity = capacity(width, size, WORDS);
    if text.chars().count() <= capacity {
        return text.to_owned();
    }
    text.chars().take(capacity.saturating_sub(1).max(1)).chain(['…']).collect()
}

/// Cuts a text in its middle to fit a width. This keeps both ends of a host name, which identify the pod.
pub fn fit_middle(text: &str, width: u32, size: u32) -> String {
    let (length, capacity) = (text.chars().count(), capacity(width, size, HOST));
    if length <= capacity {
        return text.to_owned();
    }
    let half = (capacity.saturating_sub(1) / 2).max(1);
    text.chars().take(half).chain(['…']).chain(text.chars().skip(length - half)).collect()
}

/// Breaks a text into at most `max_lines` lines, and cuts the last one if there are more.
pub fn wrap(text: &str, width: u32, size: u32, max_lines: usize) -> Vec<String> {
    let capacity = capacity(width, size, WORDS).max(8);
    let mut lines = vec![String::new()];
    // The number of characters in the last line.
    let mut length = 0;
    for word in text.split(' ') {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > capacity {
            if lines.len() == max_lines {
                lines[max_lines - 1].push_str(" …");
                break;
            }
            lines.push(String::new());
            length = 0;
        }
        let line = lines.len() - 1;
        if length > 0 {
            lines[line].push(' ');
            length += 1;
        }
        lines[line].push_str(word);
        length += word_length;
    }
    lines.iter().map(|line| fit(line, width + size, size)).collect()
}

/// Formats a text as content of an element or of an attribute in double quotes. Characters that XML forbids, and those
/// that reorder the text around them, become U+FFFD.
pub struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\n' | '\t' => out.write_char(' ')?,
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => {
                    out.write_char('\u{fffd}')?;
                }
                c if c.is_control() => out.write_char('\u{fffd}')?,
                c => out.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        let texts = [0_u32, 999, 1_000, 12_345, 1_234_567].map(number);
        assert_eq!(texts, ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!((count(1_u32, "GPU"), count(0_u32, "rank")), ("1 GPU".to_owned(), "0 ranks".to_owned()));
    }

    #[test]
    fn texts_are_cut_to_their_width() {
        assert_eq!(fit("äöü", 100, 12), "äöü");
        assert_eq!(fit("a long text that has no room", 60, 12), "a long …");
        assert_eq!(fit_middle("mnist-bcdfgh-worker-0.mnist", 100, 11), "mnist-….mnist");
        assert_eq!(fit("abc", 0, 12), "a…");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three four", 60, 12, 3), ["one two", "three", "four"]);
        assert_eq!(wrap("one two three four", 60, 12, 2), ["one two", "three …"]);
        assert_eq!(wrap("", 60, 12, 2), [""]);
    }

    #[test]
    fn markup_and_forbidden_characters_are_escaped() {
        let text = Escaped("<a b=\"&\">\u{0}\u{1b}\u{202e}\u{ffff}\n").to_string();
        assert_eq!(text, "&lt;a b=&quot;&amp;&quot;&gt;\u{fffd}\u{fffd}\u{fffd}\u{fffd} ");
    }
}
