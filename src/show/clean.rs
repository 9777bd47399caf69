//! Makes text from an input safe to print. The cleaned text cannot move the cursor, change colours, or reorder or hide
//! other text.

use std::borrow::Cow;

/// Whether a terminal may interpret the character instead of printing it.
fn is_unsafe(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{61c}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A visible character that replaces an unsafe one: `␛` for escape.
fn picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ => '\u{fffd}',
    }
}

/// Replaces each unsafe character by one visible character, so that columns stay the same. Line ends and tabs are kept.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unsafe) {
        Cow::Owned(text.chars().map(|c| if is_unsafe(c) { picture(c) } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Like [`clean`], for a text on one line: line ends and tabs are replaced, too.
pub fn clean_line(text: &str) -> Cow<'_, str> {
    if text.chars().any(|c| c.is_control() || is_unsafe(c)) {
        Cow::Owned(text.chars().map(|c| if c.is_control() || is_unsafe(c) { picture(c) } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unsafe_character_becomes_one_visible_character() {
        assert_eq!(clean("a\u{1b}[31mb\r\n\tc\u{9b}0m\u{202e}"), "a␛[31mb␍\n\tc\u{fffd}0m\u{fffd}");
        assert_eq!(clean_line("a\nb\t\u{7f}"), "a␊b␉␡");
    }

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(clean("Grüße 日本\n\t"), Cow::Borrowed(_)));
    }

    #[test]
    fn no_control_character_is_left() {
        for c in (0..0x11_0000).filter_map(char::from_u32) {
            let shown = clean(&c.to_string()).into_owned();
            assert_eq!(shown.chars().count(), 1);
            assert!(!shown.chars().any(is_unsafe), "{c:?}");
        }
    }
}
