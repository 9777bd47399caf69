//! Writes scalars: decides whether a string becomes plain, quoted or a literal block. The entry point is [`write_value`].
//!
//! A string is written plain only if every YAML 1.1 and 1.2 parser reads it back as the same string, and as a block
//! only if all parsers agree on its lines. Any other string is quoted. Speed matters here: most of the output is
//! strings.

/// Spaces, `:` and `#`, whose meaning depends on the characters beside them.
const NEIGHBOURS: u8 = 1;
/// Bytes of non-ASCII characters, nearly all of which need no escape.
const NON_ASCII: u8 = 2;
/// Double quotes and backslashes, which need an escape in double quotes.
const QUOTE: u8 = 4;
const NEWLINE: u8 = 8;
const TAB: u8 = 16;
/// Characters that YAML allows only as an escape sequence.
const CONTROL: u8 = 32;

/// The class of a byte. This function has no branches, so that the compiler can vectorise loops that call it.
#[allow(clippy::needless_bitwise_bool)]
const fn class(byte: u8) -> u8 {
    const fn bits(there: bool, bits: u8) -> u8 {
        if there { bits } else { 0 }
    }
    let newline = byte == b'\n';
    let tab = byte == b'\t';
    bits((byte == b' ') | (byte == b':') | (byte == b'#'), NEIGHBOURS)
        | bits((byte == b'"') | (byte == b'\\'), QUOTE)
        | bits(newline, NEWLINE)
        | bits(tab, TAB)
        | bits((byte < b' ') & !newline & !tab | (byte == 0x7f), CONTROL)
        | bits(byte >= 0x80, NON_ASCII)
}

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = class(byte);
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

/// The union of the classes of all bytes of a text.
fn classes(text: &str) -> u8 {
    let (chunks, rest) = text.as_bytes().as_chunks::<32>();
    let mut unions = [0; 32];
    for chunk in chunks {
        for (union, byte) in unions.iter_mut().zip(chunk) {
            *union |= class(*byte);
        }
    }
    let rest = rest.iter().fold(0, |all, byte| all | CLASSES[usize::from(*byte)]);
    let classes = if chunks.is_empty() { rest } else { unions.iter().fold(rest, |all, union| all | union) };
    if classes & NON_ASCII != 0 && has_escape_only(text) { classes | CONTROL } else { classes }
}

/// Whether a text has a non-ASCII character that [must be escaped](is_escape_only). The UTF-8 bytes of these characters
/// start with one of three bytes, which this test looks for first.
fn has_escape_only(text: &str) -> bool {
    memchr::memchr3_iter(0xc2, 0xe2, 0xef, text.as_bytes()).any(|at| text[at..].starts_with(is_escape_only))
}

/// Whether a non-ASCII character has to be escaped, because YAML forbids it, treats it as a line break, or drops it.
fn is_escape_only(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Writes a string value. If it becomes a block, its lines are indented to `column`.
pub fn write_value(text: &str, column: usize, out: &mut String) {
    if text.len() > 256 && is_printable_ascii(text) && text.contains('\n') && write_block(text, column, out) {
        return;
    }
    let classes = classes(text);
    if classes & (NEWLINE | CONTROL) == NEWLINE && write_block(text, column, out) {
        return;
    }
    write_inline(text, classes, out);
}

/// Whether a text has only printable ASCII characters, tabs and line breaks. This fast test of two comparisons per byte is for
/// scripts, which are most of the output.
#[allow(clippy::needless_bitwise_bool)]
fn is_printable_ascii(text: &str) -> bool {
    let is_other = |byte: u8| (byte.wrapping_sub(0x20) > 0x5e) & (byte != b'\n') & (byte != b'\t');
    text.as_bytes().chunks(64).all(|chunk| !chunk.iter().fold(false, |any, byte| any | is_other(*byte)))
}

/// Writes a string on one line.
pub fn write_line(text: &str, out: &mut String) {
    write_inline(text, classes(text), out);
}

/// Writes a string of the given classes on one line: plain, in single quotes or in double quotes.
fn write_inline(text: &str, classes: u8, out: &mut String) {
    if is_plain(text, classes) {
        out.push_str(text);
    } else if classes & !(NEIGHBOURS | NON_ASCII) == QUOTE {
        write_single_quoted(text, out);
    } else {
        write_double_quoted(text, out);
    }
}

/// Writes a literal block and returns true. Returns false and writes nothing if parsers might disagree on the block.
fn write_block(text: &str, column: usize, out: &mut String) -> bool {
    let body = text.trim_start_matches('\n');
    // If the text has only line breaks, no line shows the indent. libyaml rejects a first line that starts with a tab.
    let indent = match body.as_bytes().first() {
        None | Some(b'\t') => return false,
        Some(b' ') => "2",
        Some(_) => "",
    };
    let chomp = match text.len() - text.trim_end_matches('\n').len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    out.reserve(text.len() + text.len() / 4);
    out.push('|');
    out.push_str(indent);
    out.push_str(chomp);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        if start < end {
            super::line_at(out, column);
            out.push_str(&text[start..end]);
        } else {
            out.push('\n');
        }
        start = end + 1;
    }
    true
}

/// Whether every parser reads a text back unchanged if it is written without quotes, as a key or as a value.
fn is_plain(text: &str, classes: u8) -> bool {
    if classes & !(NEIGHBOURS | NON_ASCII | QUOTE) != 0 {
        return false;
    }
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    let second = bytes.get(1).copied().unwrap_or(b' ');
    let starts = match first {
        b'a'..=b'z' | b'A'..=b'Z' => !is_reserved_word(bytes),
        b'0'..=b'9' | b'_' => !may_be_number(bytes),
        b'/' | b'$' | b'(' | b'\\' | 0x80.. => true,
        // Plain: `--flag` and `-f`. Quoted: `-1`, `---` and `- x`.
        b'-' => second.is_ascii_alphabetic() || second == b'-' && bytes.get(2).is_some_and(u8::is_ascii_alphabetic),
        b'.' => second == b'/',
        _ => false,
    };
    starts && *last != b' ' && *last != b':' && (classes & NEIGHBOURS == 0 || !has_separator(bytes))
}

/// Whether the text contains `: ` or ` #`, which end a plain scalar.
fn has_separator(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b": " || pair == b" #")
}

/// Whether some parser reads the text as a boolean, a null or a float.
fn is_reserved_word(bytes: &[u8]) -> bool {
    const WORDS: [&str; 12] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];
    // The first letter is enough to rule out most texts.
    let may_be = matches!(
        bytes.first(),
        Some(b'f' | b'F' | b'i' | b'I' | b'n' | b'N' | b'o' | b'O' | b't' | b'T' | b'y' | b'Y')
    );
    may_be && bytes.len() <= 8 && WORDS.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(bytes))
}

/// Whether a text that starts with a digit or `_` has only characters that occur in numbers, times and dates of any notation.
fn may_be_number(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| {
        matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b'_' | b'.' | b',' | b':' | b'+' | b'-' | b' ')
            || matches!(byte, b'x' | b'X' | b'o' | b'O' | b'p' | b'P' | b't' | b'T' | b'z' | b'Z')
    })
}

fn write_single_quoted(text: &str, out: &mut String) {
    out.push('\'');
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            out.push_str("''");
        }
        out.push_str(part);
    }
    out.push('\'');
}

fn write_double_quoted(text: &str, out: &mut String) {
    out.push('"');
    let mut done = 0;
    for (at, c) in text.char_indices() {
        let escape = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\t' => "\\t",
            '\r' => "\\r",
            _ if c.is_ascii_control() || is_escape_only(c) => "",
            _ => continue,
        };
        out.push_str(&text[done..at]);
        out.push_str(escape);
        if escape.is_empty() {
            let hex = |shift: u32| char::from(b"0123456789ABCDEF"[(u32::from(c) >> shift & 0xf) as usize]);
            out.push_str("\\u");
            out.extend([12, 8, 4, 0].map(hex));
        }
        done = at + c.len_utf8();
    }
    out.push_str(&text[done..]);
    out.push('"');
}

/// Writes the digits of a number. The formatting of the standard library takes five times as long.
pub fn write_digits(number: u64, out: &mut String) {
    if number >= 10 {
        write_digits(number / 10, out);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// Writes a float so that every parser reads it as a float: with a decimal point, and with a sign in its exponent.
pub fn write_float(float: f64, out: &mut String) {
    if float.is_nan() {
        return out.push_str(".nan");
    }
    if float.is_infinite() {
        return out.push_str(if float > 0.0 { ".inf" } else { "-.inf" });
    }
    // `serde_json` contains a formatter of floats. With the one of the standard library, the binary would contain two.
    let text = serde_json::Value::from(float).to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else { return out.push_str(&text) };
    out.push_str(mantissa);
    out.push_str(if mantissa.contains('.') { "e" } else { ".0e" });
    out.push_str(if exponent.starts_with(['-', '+']) { "" } else { "+" });
    out.push_str(exponent);
}
