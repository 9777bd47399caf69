//! Writing an edited file back, for `fix` and `fmt`.

use std::path::Path;

use khorovod::{Text, show};

use super::{Outcome, output};

/// Writes the new text of a file in place, or prints the difference. The new text of standard input is printed.
pub fn write(path: &Path, old: &Text, new: &str, as_diff: bool) -> Outcome {
    match (as_diff, path.as_os_str() == "-") {
        (true, _) => output::stdout(&show::diff(&old.name, &old.text, new)),
        (false, true) => output::stdout(new),
        (false, false) if old.text == new => Ok(()),
        (false, false) => output::file(path, new, false),
    }
}
