//! Writes results to standard output or to a file. A file is written completely or not at all.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr;

use khorovod::problem::Problems;
use khorovod::show::{clean, clean_line};

use super::show::Screen;
use super::{Failure, Outcome, mode, pipe};

/// Writes a text to standard output.
pub fn stdout(text: &str) -> Outcome {
    Stdout::new().write(text.as_bytes())
}

/// Calls `render` with a function that writes to standard output, and prints the problems that `render` returns.
pub fn stream(screen: &Screen, render: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<Problems, Problems>) -> Outcome {
    lend(&[], screen, render)
}

/// Like [`stream`], for output that consists mostly of slices of `lasting`. These slices may be passed to a pipe
/// without a copy, because `lasting` does not change until this process exits.
pub fn lend(
    lasting: &[u8],
    screen: &Screen,
    render: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<Problems, Problems>,
) -> Outcome {
    let (mut outcome, mut stdout) = (Ok(()), Stdout { lasting: lasting.as_ptr_range(), ..Stdout::new() });
    pipe::widen(&stdout.stdout);
    let found = render(&mut |part| {
        if outcome.is_ok() {
            outcome = stdout.write(part);
        }
    });
    let (Ok(shown) | Err(shown)) = &found;
    screen.problems([shown]);
    found.map_err(|_| Failure::Problems)?;
    outcome
}

/// Standard output. A closed pipe is not an error.
struct Stdout {
    stdout: io::StdoutLock<'static>,
    /// Bytes that may be passed to a pipe without a copy.
    lasting: Range<*const u8>,
    terminal: bool,
    is_closed: bool,
}

impl Stdout {
    fn new() -> Self {
        let stdout = io::stdout().lock();
        let lasting = ptr::null()..ptr::null();
        Self { terminal: stdout.is_terminal(), stdout, lasting, is_closed: false }
    }

    /// Writes a part, which consists of whole lines and may contain bytes that are not UTF-8.
    fn write(&mut self, part: &[u8]) -> Outcome {
        if self.terminal { self.raw(clean(&String::from_utf8_lossy(part)).as_bytes()) } else { self.raw(part) }
    }

    fn raw(&mut self, bytes: &[u8]) -> Outcome {
        if self.is_closed || bytes.is_empty() {
            return Ok(());
        }
        match self.pass(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.is_closed = true,
            Err(error) => {
                return Err(Failure::File(format!("cannot write to standard output: {}", reason(&error))));
            }
            Ok(()) => {}
        }
        Ok(())
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Copying a short part is faster than passing its pages to the pipe.
        let lent = match bytes.len() >= 1 << 16 && self.lasting.contains(&bytes.as_ptr()) {
            true => pipe::lend(&self.stdout, bytes)?,
            false => 0,
        };
        self.stdout.write_all(&bytes[lent..])?;
        self.stdout.flush()
    }
}

/// Prints a line of a log, after the name of its pod if it is not empty. Returns false if standard output is closed.
pub fn line(name: &str, line: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    // A file gets the bytes that the training printed. For a terminal, control characters are removed.
    let line = if stdout.is_terminal() { clean_line(line) } else { line.into() };
    let written = match name {
        "" => writeln!(stdout, "{line}"),
        name => writeln!(stdout, "[{name}] {line}"),
    };
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::File(format!("cannot write to standard output: {}", reason(&error)))),
    }
}

/// Writes a text to a file, or to standard output if there is none.
pub fn text(text: &str, path: Option<&Path>) -> Outcome {
    path.map_or_else(|| stdout(text), |path| file(path, text, false))
}

/// Writes a file completely or not at all: to a temporary file in the same folder, which is then renamed. If `private`, only
/// the owner can read the file.
pub fn file(path: &Path, text: &str, private: bool) -> Outcome {
    // A pipe or a device cannot be replaced by a file, so the text is written to it.
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return fs::write(path, text).map_err(|error| cannot_write(path, &error));
    }
    // If the path is a symbolic link, the link is kept and the file that it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let write = || -> io::Result<()> {
        let mut temporary = mode::temporary(&parent(&target), private)?;
        temporary.write_all(text.as_bytes())?;
        if let Some(before) = fs::metadata(&target).ok().filter(|_| !private) {
            mode::copy(&before, temporary.path())?;
        }
        temporary.as_file().sync_all()?;
        temporary.persist(&target).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| cannot_write(path, &error))
}

/// The folder of a path.
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The failure for a path that cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    let hint = if error.kind() == io::ErrorKind::NotFound && !parent(path).is_dir() {
        format!("; its folder does not exist: mkdir -p {}", parent(path).display())
    } else {
        String::new()
    };
    Failure::File(format!("cannot write {}: {}{hint}", path.display(), reason(error)))
}

/// The message of an error in lower case, without Rust's `(os error 2)`.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    // tempfile appends the name of its temporary file.
    let text = text.split(" at path ").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
