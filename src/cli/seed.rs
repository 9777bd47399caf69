//! Where ssh keys come from: a seed that was given, or outside CI one of the person's own, made
//! once.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use khorovod::Keys;

use super::show::Screen;
use super::{Failure, mode, output};

/// The variable that carries a seed where a file is inconvenient.
const VARIABLE: &str = "KHOROVOD_SSH_SEED";

/// The seed of a render, and whether it still has to be kept.
#[derive(Clone, PartialEq, Eq)]
pub enum Seed {
    /// No keys wanted.
    LeftOut,
    /// No seed, and nobody to make one for.
    Missing,
    Known([u8; 32]),
    /// Made now; to be kept at this path.
    New([u8; 32], PathBuf),
}

impl Seed {
    /// The seed a file, the environment or the person's own state folder holds.
    pub fn find(file: Option<&Path>, no_keys: bool) -> Result<Self, Failure> {
        if no_keys {
            return Ok(Self::LeftOut);
        }
        if let Some(seed) = given(file)? {
            return Ok(Self::Known(seed));
        }
        let Some(path) = state("seed") else { return Ok(Self::Missing) };
        if path.exists() {
            return Ok(Self::Known(read(&path)?));
        }
        if in_ci() { Ok(Self::Missing) } else { Ok(Self::New(fresh()?, path)) }
    }

    /// Only a seed that somebody else can be told of: none is made where nobody sees it being made.
    #[must_use]
    pub fn unless_new(self) -> Self {
        if self.is_new() { Self::Missing } else { self }
    }

    /// What the library is told.
    pub fn keys(&self) -> Keys {
        match self {
            Self::LeftOut => Keys::LeftOut,
            Self::Missing => Keys::Missing,
            Self::Known(seed) | Self::New(seed, _) => Keys::Seed(*seed),
        }
    }

    /// Whether [`Seed::keep`] has something to do.
    pub fn is_new(&self) -> bool {
        matches!(self, Self::New(..))
    }

    /// Keeps a new seed where the next render finds it. Answers with the seed that is kept there
    /// now, which is another's where that one was first, or none where there is no place for it.
    pub fn keep(&self, screen: &Screen) -> Option<Self> {
        let Self::New(seed, path) = self else { return Some(self.clone()) };
        match create(path, seed) {
            Ok(()) => {
                screen.notice(&format!(
                    "made an ssh seed in {}: the keys of your jobs derive from it, so that a render gives the same \
                     bytes each time; a team shares one with --ssh-seed or {VARIABLE}",
                    path.display()
                ));
                Some(self.clone())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path).ok().map(Self::Known),
            Err(_) => None,
        }
    }
}

/// The seed named on the command line or in the environment.
pub fn given(file: Option<&Path>) -> Result<Option<[u8; 32]>, Failure> {
    if let Some(path) = file {
        return read(path).map(Some);
    }
    match std::env::var(VARIABLE) {
        Ok(text) if !text.trim().is_empty() => {
            decode(text.trim()).map(Some).map_err(|why| Failure::Usage(format!("{VARIABLE} {why}")))
        }
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::Usage(format!("{VARIABLE} must be 64 hex digits or base64 of 32 bytes")))
        }
    }
}

/// 32 bytes from the operating system.
pub fn fresh() -> Result<[u8; 32], Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| Failure::File(format!("the operating system gives no random bytes: {error}")))?;
    Ok(seed)
}

/// A file in `$XDG_STATE_HOME/khorovod/`, else in `~/.local/state/khorovod/`.
pub fn state(name: &str) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("khorovod").join(name))
}

/// Whether a pipeline runs this: its home is gone with it, and the next run would make new keys.
fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// What to say of a seed file that others can read. It may be meant so: a secret that a pipeline
/// mounts, or a test's.
pub fn exposed(file: Option<&Path>) -> Option<String> {
    let path = file?;
    let meta = fs::metadata(path).ok()?;
    (meta.is_file() && mode::others_can_read(&meta)).then(|| {
        let name = path.display();
        format!("the ssh seed {name} can be read by others, and every key derives from it; close it: chmod 600 {name}")
    })
}

/// Makes the seed file as a whole, for its owner alone, and never over another.
fn create(path: &Path, seed: &[u8; 32]) -> io::Result<()> {
    let folder = output::parent(path);
    fs::create_dir_all(&folder)?;
    let mut file = tempfile::NamedTempFile::new_in(&folder)?;
    for byte in seed {
        write!(file, "{byte:02x}")?;
    }
    writeln!(file)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// A seed file: 32 raw bytes, 64 hex digits, or base64.
fn read(path: &Path) -> Result<[u8; 32], Failure> {
    let name = path.display();
    let cannot =
        |error: io::Error| Failure::File(format!("cannot read the ssh seed {name}: {}", output::reason(&error)));
    let bytes = fs::read(path).map_err(cannot)?;
    seed(&bytes).map_err(|why| Failure::File(format!("the ssh seed {name} {why}")))
}

/// What the bytes of a seed file stand for.
fn seed(bytes: &[u8]) -> Result<[u8; 32], String> {
    if let Ok(raw) = <[u8; 32]>::try_from(bytes) {
        if raw.iter().all(u8::is_ascii_graphic) || raw.iter().all(|byte| *byte == raw[0]) {
            return Err(format!("is not random: 32 plain characters; make one with {MAKE}"));
        }
        return Ok(raw);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| format!("is {} bytes, not 32; {EXPECTED}", bytes.len()))?;
    decode(text.trim())
}

const MAKE: &str = "`openssl rand -hex 32`";
const EXPECTED: &str = "it must be 32 raw bytes, 64 hex digits or base64, as `openssl rand -hex 32` prints";

/// 64 hex digits, or base64 of 32 bytes in either alphabet.
fn decode(text: &str) -> Result<[u8; 32], String> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let mut seed = [0; 32];
        for (byte, digits) in seed.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digits.iter().fold(0, |value, digit| {
                value << 4 | u8::try_from(char::from(*digit).to_digit(16).unwrap_or_default()).unwrap_or_default()
            });
        }
        return Ok(seed);
    }
    base64(text).ok_or_else(|| format!("has {} characters that are no seed; {EXPECTED}", text.chars().count()))
}

/// Base64 of exactly 32 bytes.
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
        assert_eq!(seed(&BYTES), Ok(BYTES));
        assert_eq!(seed(format!("{hex}\n").as_bytes()), Ok(BYTES));
        assert_eq!(seed(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd/v8=\n"), Ok(BYTES));
        assert_eq!(seed(b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd_v8"), Ok(BYTES));
    }

    #[test]
    fn what_is_no_seed_is_refused() {
        for bytes in [&b""[..], b"secret", &[7; 32], b"correct-horse-battery-staple-0042", &BYTES[..31], &[0xff; 40]] {
            assert!(seed(bytes).is_err(), "{bytes:?}");
        }
        assert!(seed(b"abcdefghijklmnopqrstuvwxyz012345").unwrap_err().contains("not random"));
    }

    #[test]
    fn a_kept_seed_is_private_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/khorovod/seed");
        create(&path, &BYTES).unwrap();
        assert_eq!(read(&path).ok(), Some(BYTES));
        assert_eq!(create(&path, &[1; 32]).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path).ok(), Some(BYTES));
        assert_eq!(exposed(Some(&path)), None);
        mode::set(&path, 0o644).unwrap();
        assert!(exposed(Some(&path)).is_some_and(|note| note.contains("chmod 600")));
    }
}
