//! Where ssh keys come from: a seed that was given, or outside CI one of the person's own, made
//! once.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use khorovod::Keys;

use super::environment::{self, SSH_SEED};
use super::input::Settings;
use super::show::Screen;
use super::{Failure, mode, output};

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
    /// The seed for a command with these settings. Says so where others can read its file.
    pub fn of(settings: &Settings, screen: &Screen) -> Result<Self, Failure> {
        let file = settings.ssh_seed.as_deref();
        let seed = Self::find(file, settings.no_keys)?;
        if let Some(exposed) = exposed(file) {
            screen.notice(&exposed);
        }
        Ok(seed)
    }

    /// The seed a file, the environment or the person's own state folder holds.
    fn find(file: Option<&Path>, no_keys: bool) -> Result<Self, Failure> {
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
                     bytes each time; a team shares one with --ssh-seed or {SSH_SEED}",
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
    match std::env::var(SSH_SEED) {
        Ok(text) if !text.trim().is_empty() => {
            khorovod::seed::from_text(&text).map(Some).map_err(|why| Failure::Usage(format!("{SSH_SEED} {why}")))
        }
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::Usage(format!("{SSH_SEED} must be 64 hex digits or base64 of 32 bytes")))
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
    let state = folder(environment::STATE).or_else(|| Some(folder(environment::HOME)?.join(".local/state")))?;
    Some(state.join("khorovod").join(name))
}

/// Whether a pipeline runs this: its home is gone with it, and the next run would make new keys.
fn in_ci() -> bool {
    std::env::var(environment::CI).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// What to say of a seed file that others can read. It may be meant so: a secret that a pipeline
/// mounts, or a test's.
fn exposed(file: Option<&Path>) -> Option<String> {
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
    khorovod::seed::from_bytes(&bytes).map_err(|why| Failure::File(format!("the ssh seed {name} {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_seed_is_private_and_never_replaced() {
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
    }
}
