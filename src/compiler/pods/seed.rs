//! The formats of a seed: 32 bytes from which ssh keys derive.

use std::fmt;

/// The reason why bytes or a text are not a seed. The message contains no part of the input, which may be key material.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSeed {
    /// 32 printable characters, or 32 equal bytes: a password, not random bytes.
    NotRandom,
    /// The input is not text, and it has this number of bytes instead of 32.
    Bytes(usize),
    /// The input is a text with this number of characters, but neither 64 hex digits nor base64 of 32 bytes.
    Characters(usize),
}

impl fmt::Display for InvalidSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EXPECTED: &str = "it must be 32 raw bytes, 64 hex digits or base64, as `openssl rand -hex 32` prints";
        match self {
            Self::NotRandom => {
                f.write_str("is not random: 32 printable or equal characters; create one with `openssl rand -hex 32`")
            }
            Self::Bytes(length) => write!(f, "has {length} bytes, not 32; {EXPECTED}"),
            Self::Characters(length) => write!(f, "has {length} characters that are not a seed; {EXPECTED}"),
        }
    }
}

impl std::error::Error for InvalidSeed {}

/// Reads the bytes of a seed file: 32 raw bytes, or one of the formats of [`from_text`].
pub fn from_bytes(bytes: &[u8]) -> Result<[u8; 32], InvalidSeed> {
    if let Ok(raw) = <[u8; 32]>::try_from(bytes) {
        if raw.iter().all(u8::is_ascii_graphic) || raw.iter().all(|byte| *byte == raw[0]) {
            return Err(InvalidSeed::NotRandom);
        }
        return Ok(raw);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| InvalidSeed::Bytes(bytes.len()))?;
    from_text(text)
}

/// Reads 64 hex digits, or base64 of 32 bytes in the standard or the URL alphabet.
///
/// ```
/// # use khorovod_compiler as khorovod;
/// assert_eq!(khorovod::seed::from_text(&"07".repeat(32)), Ok([7; 32]));
/// assert!(khorovod::seed::from_text("secret").is_err());
/// ```
pub fn from_text(text: &str) -> Result<[u8; 32], InvalidSeed> {
    let text = text.trim();
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let mut seed = [0; 32];
        for (byte, digits) in seed.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digits.iter().fold(0, |value, digit| {
                value << 4 | u8::try_from(char::from(*digit).to_digit(16).unwrap_or_default()).unwrap_or_default()
            });
        }
        return Ok(seed);
    }
    base64(text).ok_or_else(|| InvalidSeed::Characters(text.chars().count()))
}

/// Decodes base64 of exactly 32 bytes.
fn base64(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_suffix('=').unwrap_or(text).as_bytes();
    if digits.len() != 43 {
        return None;
    }
    let (mut bytes, mut bits, mut buffer) = (Vec::with_capacity(32), 0_u32, 0_u32);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        buffer = buffer << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xff).ok()?);
        }
    }
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 32] = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
        254, 255,
    ];

    #[test]
    fn every_format_gives_the_same_seed() {
        let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1Dfeff";
        assert_eq!(from_bytes(&BYTES), Ok(BYTES));
        assert_eq!(from_bytes(format!("{hex}\n").as_bytes()), Ok(BYTES));
        assert_eq!(from_bytes(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/v8=\n"), Ok(BYTES));
        assert_eq!(from_bytes(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd_v8"), Ok(BYTES));
    }

    #[test]
    fn other_texts_are_refused() {
        for bytes in [&b""[..], b"secret", &[7; 32], b"correct-horse-battery-staple-0042", &BYTES[..31], &[0xff; 40]] {
            assert!(from_bytes(bytes).is_err(), "{bytes:?}");
        }
        assert_eq!(from_bytes(b"abcdefghijklmnopqrstuvwxyz012345"), Err(InvalidSeed::NotRandom));
    }
}
