//! How a string looks: plain, quoted, or a literal block.
//!
//! Plain only where no reader of YAML 1.1 or 1.2 could take it for anything but that string, and
//! a block only where every reader agrees on its lines; quotes are never wrong.

/// Spaces, `:` and `#`: what they do depends on their neighbours.
const NEIGHBOURS: u8 = 1;
/// Past ASCII: nearly all of it is text.
const WIDE: u8 = 2;
/// Quotes and backslashes, ugly between double quotes.
const QUOTE: u8 = 4;
const NEWLINE: u8 = 8;
const TAB: u8 = 16;
/// Cannot stand in YAML unescaped.
const CONTROL: u8 = 32;

/// Without branches, so that the compiler looks at many bytes at once.
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
        | bits(byte >= 0x80, WIDE)
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

/// All classes that occur in a text.
fn classes(text: &str) -> u8 {
    let (chunks, rest) = text.as_bytes().as_chunks::<32>();
    let mut lanes = [0; 32];
    for chunk in chunks {
        for (lane, byte) in lanes.iter_mut().zip(chunk) {
            *lane |= class(*byte);
        }
    }
    let rest = rest.iter().fold(0, |all, byte| all | CLASSES[usize::from(*byte)]);
    let classes = if chunks.is_empty() { rest } else { lanes.iter().fold(rest, |all, lane| all | lane) };
    if classes & WIDE != 0 && any_odd(text) { classes | CONTROL } else { classes }
}

/// Whether any character past ASCII is one of the [`odd`], which start with one of three bytes.
fn any_odd(text: &str) -> bool {
    memchr::memchr3_iter(0xc2, 0xe2, 0xef, text.as_bytes()).any(|at| text[at..].starts_with(odd))
}

/// Characters past ASCII that YAML forbids, takes for a line break, or drops.
fn odd(c: char) -> bool {
    matches!(c, '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Writes a value whose lines, where it has several, stand at `column`.
pub fn value(text: &str, column: usize, out: &mut String) {
    if text.len() > 256 && simple(text) && text.contains('\n') && block(text, column, out) {
        return;
    }
    let classes = classes(text);
    if classes & (NEWLINE | CONTROL) == NEWLINE && block(text, column, out) {
        return;
    }
    short(text, classes, out);
}

/// Whether a text is of printable ASCII, tabs and line breaks alone. Two comparisons a byte, for
/// scripts, which are most of what is written.
#[allow(clippy::needless_bitwise_bool)]
fn simple(text: &str) -> bool {
    let odd = |byte: u8| (byte.wrapping_sub(0x20) > 0x5e) & (byte != b'\n') & (byte != b'\t');
    text.as_bytes().chunks(64).all(|chunk| !chunk.iter().fold(false, |any, byte| any | odd(*byte)))
}

/// Writes a text on one line.
pub fn line(text: &str, out: &mut String) {
    short(text, classes(text), out);
}

fn short(text: &str, classes: u8, out: &mut String) {
    if plain(text, classes) {
        out.push_str(text);
    } else if classes & !(NEIGHBOURS | WIDE) == QUOTE {
        single(text, out);
    } else {
        double(text, out);
    }
}

/// Writes a literal block, or nothing where readers might not agree on it.
fn block(text: &str, column: usize, out: &mut String) -> bool {
    let body = text.trim_start_matches('\n');
    // A text of line breaks alone has no line to find the indent by; a first line that starts
    // with a tab is refused by libyaml.
    let hint = match body.as_bytes().first() {
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
    out.push_str(hint);
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

/// Whether a text is itself without quotes, to every reader and in any place.
fn plain(text: &str, classes: u8) -> bool {
    if classes & !(NEIGHBOURS | WIDE | QUOTE) != 0 {
        return false;
    }
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    let second = bytes.get(1).copied().unwrap_or(b' ');
    let starts = match first {
        b'a'..=b'z' | b'A'..=b'Z' => !word(bytes),
        b'0'..=b'9' | b'_' => !number(bytes),
        b'/' | b'$' | b'(' | b'\\' | 0x80.. => true,
        // `--flag` and `-f`, but neither `-1`, `---` nor `- x`.
        b'-' => second.is_ascii_alphabetic() || second == b'-' && bytes.get(2).is_some_and(u8::is_ascii_alphabetic),
        b'.' => second == b'/',
        _ => false,
    };
    starts && *last != b' ' && *last != b':' && (classes & NEIGHBOURS == 0 || !split(bytes))
}

/// Whether `: ` or ` #` would end the text early.
fn split(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b": " || pair == b" #")
}

/// Words that some reader takes for a boolean, a null or a float.
fn word(bytes: &[u8]) -> bool {
    const WORDS: [&str; 12] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];
    // Most texts are known by their first letter to be none.
    let may_be = matches!(
        bytes.first(),
        Some(b'f' | b'F' | b'i' | b'I' | b'n' | b'N' | b'o' | b'O' | b't' | b'T' | b'y' | b'Y')
    );
    may_be && bytes.len() <= 8 && WORDS.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(bytes))
}

/// Whether a text that starts like a number holds nothing but what numbers, times and dates of
/// any notation are made of.
fn number(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| {
        matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b'_' | b'.' | b',' | b':' | b'+' | b'-' | b' ')
            || matches!(byte, b'x' | b'X' | b'o' | b'O' | b'p' | b'P' | b't' | b'T' | b'z' | b'Z')
    })
}

fn single(text: &str, out: &mut String) {
    out.push('\'');
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            out.push_str("''");
        }
        out.push_str(part);
    }
    out.push('\'');
}

fn double(text: &str, out: &mut String) {
    out.push('"');
    let mut done = 0;
    for (at, c) in text.char_indices() {
        let escape = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\t' => "\\t",
            '\r' => "\\r",
            _ if c.is_ascii_control() || odd(c) => "",
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

/// Writes a number's digits; the formatting of the standard library takes five times as long.
pub fn digits(number: u64, out: &mut String) {
    if number >= 10 {
        digits(number / 10, out);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// Writes a float that every reader takes for one: with a point, and a sign in its exponent.
pub fn float(float: f64, out: &mut String) {
    if float.is_nan() {
        return out.push_str(".nan");
    }
    if float.is_infinite() {
        return out.push_str(if float > 0.0 { ".inf" } else { "-.inf" });
    }
    let text = format!("{float:?}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return out.push_str(&text) };
    out.push_str(mantissa);
    out.push_str(if mantissa.contains('.') { "e" } else { ".0e" });
    out.push_str(if exponent.starts_with('-') { "" } else { "+" });
    out.push_str(exponent);
}
