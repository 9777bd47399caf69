//! Writes an edited file back, for `fix` and `fmt`.

use std::path::Path;

use khorovod::{Text, show};

use super::{Outcome, output};

/// Replaces the text of a file by the new one, or prints the difference. If the old text came from standard input,
/// prints the new one.
pub fn write(path: &Path, old: &Text, new: &str, as_diff: bool) -> Outcome {
    match (as_diff, path.as_os_str() == "-") {
        (true, _) => output::stdout(&show::diff(&old.name, &old.text, new)),
        (false, true) => output::stdout(new),
        (false, false) if old.text == new => Ok(()),
        (false, false) => output::file(path, new, false),
    }
}
