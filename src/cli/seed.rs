//! The seed from which ssh keys derive. If the user gives no seed, khorovod creates one in the user's state folder and
//! uses it again later, except in CI, where this folder is temporary.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use khorovod::Keys;

use super::environment::{self, SSH_SEED};
use super::input::Settings;
use super::show::Screen;
use super::{Failure, mode, output};

/// The seed of a render, and whether it still has to be saved.
#[derive(Clone, PartialEq, Eq)]
pub enum Seed {
    /// The user asked for no keys.
    LeftOut,
    /// There is no seed, and none may be created.
    Missing,
    /// A seed that is given or was saved before.
    Known([u8; 32]),
    /// A new seed, to be saved at this path.
    New([u8; 32], PathBuf),
}

impl Seed {
    /// Finds the seed for a command with these settings. Prints a notice if other users can read its file.
    pub fn of(settings: &Settings, screen: &Screen) -> Result<Self, Failure> {
        let file = settings.ssh_seed.as_deref();
        let seed = Self::find(file, settings.no_keys)?;
        if let Some(exposed) = exposed(file) {
            screen.notice(&exposed);
        }
        Ok(seed)
    }

    /// Finds the seed for a command without options.
    pub fn of_machine() -> Result<Self, Failure> {
        Self::find(None, false)
    }

    /// Finds the seed in a file, the environment or the user's state folder.
    fn find(file: Option<&Path>, no_keys: bool) -> Result<Self, Failure> {
        if no_keys {
            return Ok(Self::LeftOut);
        }
        if let Some(seed) = read_given_seed(file)? {
            return Ok(Self::Known(seed));
        }
        let Some(path) = state("seed") else { return Ok(Self::Missing) };
        if path.exists() {
            return Ok(Self::Known(read(&path)?));
        }
        if in_ci() { Ok(Self::Missing) } else { Ok(Self::New(fresh()?, path)) }
    }

    /// Replaces a new seed by [`Self::Missing`]. This is for commands whose messages the user may not see, because such a
    /// command must not create a seed.
    #[must_use]
    pub fn unless_new(self) -> Self {
        if self.is_new() { Self::Missing } else { self }
    }

    /// The keys for the library.
    pub fn keys(&self) -> Keys {
        match self {
            Self::LeftOut => Keys::LeftOut,
            Self::Missing => Keys::Missing,
            Self::Known(seed) | Self::New(seed, _) => Keys::Seed(*seed),
        }
    }

    /// Whether [`Seed::save`] has something to save.
    pub fn is_new(&self) -> bool {
        matches!(self, Self::New(..))
    }

    /// Saves a new seed where the next render finds it. Returns the seed that is then in the file. If another process
    /// saved a seed first, returns the seed of that process. Returns None if the seed cannot be saved.
    pub fn save(&self, screen: &Screen) -> Option<Self> {
        let Self::New(seed, path) = self else { return Some(self.clone()) };
        match create(path, seed) {
            Ok(()) => {
                screen.notice(&format!(
                    "created an ssh seed in {}: the keys of your jobs derive from it, so each render gives the same bytes; \
                     to share a seed in a team, use --ssh-seed or {SSH_SEED}",
                    path.display()
                ));
                Some(self.clone())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path).ok().map(Self::Known),
            Err(_) => None,
        }
    }
}

/// The seed from the command line or the environment.
pub fn read_given_seed(file: Option<&Path>) -> Result<Option<[u8; 32]>, Failure> {
    if let Some(path) = file {
        return read(path).map(Some);
    }
    match std::env::var(SSH_SEED) {
        Ok(text) if !text.trim().is_empty() => {
            khorovod::seed::from_text(&text).map(Some).map_err(|error| Failure::Usage(format!("{SSH_SEED} {error}")))
        }
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(Failure::Usage(format!(
            "{SSH_SEED} is not valid UTF-8; it must be 64 hex digits or base64 of 32 bytes"
        ))),
    }
}

/// Creates a seed: 32 random bytes from the operating system.
pub fn fresh() -> Result<[u8; 32], Failure> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)
        .map_err(|error| Failure::File(format!("cannot get random bytes from the operating system: {error}")))?;
    Ok(seed)
}

/// A file in `$XDG_STATE_HOME/khorovod/`, else in `~/.local/state/khorovod/`.
pub fn state(name: &str) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder(environment::STATE).or_else(|| Some(folder(environment::HOME)?.join(".local/state")))?;
    Some(state.join("khorovod").join(name))
}

/// Whether this runs in a CI pipeline. The home folder in a pipeline is temporary, so the next run would create other keys.
fn in_ci() -> bool {
    std::env::var(environment::CI).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// The seed in `examples/ssh.seed`.
const PUBLIC_SEED: &str = "6b686f726f766f64206578616d706c6520736565642c206e6f20736563726574";

/// The notice about a seed file that other users can read. This is not an error: a pipeline may mount a Secret like that.
fn exposed(file: Option<&Path>) -> Option<String> {
    let path = file?;
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || !mode::others_can_read(&meta) {
        return None;
    }
    let name = path.display();
    if fs::read_to_string(path).is_ok_and(|text| text.trim() == PUBLIC_SEED) {
        return Some(format!("{name} is public, so the keys are too: use it only to try khorovod"));
    }
    Some(format!("other users can read the ssh seed {name}, from which every key derives; run: chmod 600 {name}"))
}

/// Creates the seed file with its whole content, readable only by its owner. Never replaces a file.
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

/// Reads a seed file: 32 raw bytes, 64 hex digits, or base64.
fn read(path: &Path) -> Result<[u8; 32], Failure> {
    let name = path.display();
    let cannot =
        |error: io::Error| Failure::File(format!("cannot read the ssh seed {name}: {}", output::reason(&error)));
    let bytes = fs::read(path).map_err(cannot)?;
    khorovod::seed::from_bytes(&bytes).map_err(|error| Failure::File(format!("the ssh seed {name} {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_seed_is_private_and_never_replaced() {
        let mut bytes = [7; 32];
        bytes[0] = 0xff;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/khorovod/seed");
        create(&path, &bytes).unwrap();
        assert_eq!(read(&path).ok(), Some(bytes));
        assert_eq!(create(&path, &[1; 32]).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path).ok(), Some(bytes));
        assert_eq!(exposed(Some(&path)), None);
        mode::set(&path, 0o644).unwrap();
        assert!(exposed(Some(&path)).is_some_and(|note| note.contains("chmod 600")));
        fs::write(&path, include_str!("../../examples/ssh.seed")).unwrap();
        assert!(exposed(Some(&path)).is_some_and(|note| note.contains("is public")));
    }
}
