//! Reads a seed, the 32 bytes from which a job's keys are derived, in each form that a user may give it.

/// Reads a seed file. The error text completes a sentence whose subject is the file.
pub fn from_bytes(bytes: &[u8]) -> Result<[u8; 32], String> {
    if let Ok(raw) = <[u8; 32]>::try_from(bytes) {
        if raw.iter().all(u8::is_ascii_graphic) || raw.iter().all(|byte| *byte == raw[0]) {
            return Err(format!("is not random: 32 plain characters; make one with {MAKE}"));
        }
        return Ok(raw);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| format!("is {} bytes, not 32; {EXPECTED}", bytes.len()))?;
    from_text(text)
}

const MAKE: &str = "`openssl rand -hex 32`";
const EXPECTED: &str = "it must be 32 raw bytes, 64 hex digits or base64, as `openssl rand -hex 32` prints";

/// Reads 64 hex digits, or base64 of 32 bytes in the standard or the URL-safe alphabet.
pub fn from_text(text: &str) -> Result<[u8; 32], String> {
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
    base64(text).ok_or_else(|| format!("has {} characters, which do not form a seed; {EXPECTED}", text.chars().count()))
}

/// Decodes base64 of exactly 32 bytes.
fn base64(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_suffix('=').unwrap_or(text).as_bytes();
    if digits.len() != 43 {
        return None;
    }
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(32), 0_u32, 0_u32);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
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
    fn every_form_is_the_same_seed() {
        let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1Dfeff";
        assert_eq!(from_bytes(&BYTES), Ok(BYTES));
        assert_eq!(from_bytes(format!("{hex}\n").as_bytes()), Ok(BYTES));
        assert_eq!(from_bytes(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/v8=\n"), Ok(BYTES));
        assert_eq!(from_bytes(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd_v8"), Ok(BYTES));
    }

    #[test]
    fn what_is_no_seed_is_refused() {
        for bytes in [&b""[..], b"secret", &[7; 32], b"correct-horse-battery-staple-0042", &BYTES[..31], &[0xff; 40]] {
            assert!(from_bytes(bytes).is_err(), "{bytes:?}");
        }
        assert!(from_bytes(b"abcdefghijklmnopqrstuvwxyz012345").unwrap_err().contains("not random"));
    }
}
