//! Follows the working directory of a script through `--chdir` and the lines with `cd`. The setup is the lines before
//! the ranks start (`spec.slurm.setup`).

use super::classify::{self, Kind};
use super::{Script, Setup};
use crate::field::{self, set};
use crate::option_table::has_word;
use crate::shell_text::first_words;
use khorovod_compiler::pods::word;
use khorovod_compiler::shell::{self, CommandKind, Keyword, Statement};

/// The note for a folder that only a shell on the nodes can find.
const UNKNOWN: &str = "under Slurm, spec.slurm.setup changes to it; in pods, the command starts in the folder of the image: set \
                       spec.workingDir";

/// Returns the argument of a line that only changes to a folder.
fn argument(line: &str) -> Option<String> {
    match shell::words(line)?.as_slice() {
        [first, folder] if first.text == "cd" && !folder.expands => Some(folder.text.clone()),
        _ => None,
    }
}

/// Whether a line may change the folder of the lines below it.
pub fn changes(line: &str) -> bool {
    changed_by(line, &shell::parse(line).statements)
}

fn changed_by(text: &str, statements: &[Statement]) -> bool {
    statements.iter().flat_map(|statement| &statement.commands).any(|command| match &command.kind {
        CommandKind::Simple { words, .. } => {
            matches!(words.first().and_then(|word| word.literal(text)), Some("cd" | "pushd" | "popd"))
        }
        CommandKind::Compound { keyword, body, .. } => *keyword != Keyword::Subshell && changed_by(text, body),
        _ => false,
    })
}

/// Returns a relative folder below another one. None if only a shell can find it.
fn below(here: &str, folder: &str) -> Option<String> {
    let unknown = folder.starts_with(['/', '-', '~']) || folder.contains(['*', '?', '[', '{']);
    let mut parts: Vec<&str> = here.split('/').filter(|part| !part.is_empty()).collect();
    for part in folder.split('/').filter(|part| !["", "."].contains(part)) {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = format!("/{}", parts.join("/"));
    (!unknown && classify::is_folder(&path)).then_some(path)
}

/// Whether the result of a line may depend on the folder in which it runs.
fn needs_folder(line: &str) -> bool {
    const WITHOUT_FOLDER: &str = "conda mamba micromamba spack ulimit umask unset trap shopt eval alias true";
    let words = first_words(line);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    match classify::kind(line) {
        Kind::Assign(pairs) => pairs.iter().any(|(_, value)| value.is_none()) && line.contains(['`', '(']),
        Kind::Export(_) | Kind::Flags | Kind::Module(_) => false,
        _ if ["source", "."].contains(&word(0)) => !word(1).starts_with(['/', '~', '$']),
        _ => !has_word(WITHOUT_FOLDER, word(0)),
    }
}

impl Script<'_, '_, '_> {
    /// Imports a folder to which an option or a line changes.
    pub fn folder(&mut self, value: &str, row: usize) {
        let text = format!("cd {}", word(value));
        if classify::is_folder(value) {
            self.context.spec.put(set::WORKING_DIR, value, "the working directory of the script");
            self.setup.push(Setup { folder: Some(value.to_owned()), ..Setup::new(text, row) });
            self.kept(row, field::WORKING_DIR, "");
        } else {
            self.unknown_folder(&text, row);
        }
    }

    /// Imports a line that changes to a folder that only a shell can find.
    pub fn unknown_folder(&mut self, text: &str, row: usize) {
        self.setup.push(Setup::new(text.to_owned(), row));
        match self.image.is_some() || self.context.options.image.is_some() {
            true => self.changed(row, field::SLURM_SETUP, UNKNOWN),
            false => self.lost(row, UNKNOWN),
        }
    }

    /// Sets the folder in which the ranks start. khorovod's script changes to this folder after the setup. So if a line
    /// of the setup may need a folder, a `cd` is kept above this line.
    pub fn settle_folders(&mut self) {
        if self.is_verbatim {
            return;
        }
        let Some(last) = self.setup.iter().rposition(|line| line.folder.is_some() || changes(&line.text)) else {
            return;
        };
        let (mut here, mut pending): (Option<String>, Option<Setup>) = (None, None);
        for (at, mut line) in std::mem::take(&mut self.setup).into_iter().enumerate() {
            if let Some(folder) = here.as_ref().and_then(|here| below(here, &argument(&line.text)?)) {
                line = Setup { folder: Some(folder.clone()), ..Setup::new(format!("cd {}", word(&folder)), line.row) };
            }
            if line.folder.is_some() {
                here.clone_from(&line.folder);
                if let Some(earlier) = pending.replace(line) {
                    self.dropped(earlier.row, "a later line changes to another folder before a command needs this one");
                }
                continue;
            }
            if needs_folder(&line.text)
                && let Some(folder) = pending.take()
            {
                if at < last {
                    self.kept(folder.row, field::SLURM_SETUP, "for the lines below it");
                } else {
                    self.kept(folder.row, field::WORKING_DIR_AND_SETUP, "");
                }
                self.setup.push(folder);
            }
            if changes(&line.text) {
                here = None;
            }
            self.setup.push(line);
        }
        match here {
            Some(folder) => {
                if let Some(line) = pending {
                    self.kept(line.row, field::WORKING_DIR, "");
                }
                self.context.spec.put(set::WORKING_DIR, folder, "the working directory of the script");
            }
            None => drop(self.context.spec.take(set::WORKING_DIR)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_followed() {
        assert_eq!(below("/work/x", "../y/./z").as_deref(), Some("/work/y/z"));
        for folder in ["-", "~/x", "/y", "a*"] {
            assert_eq!(below("/work/x", folder), None, "{folder}");
        }
        assert_eq!(argument("cd 'a b'").as_deref(), Some("a b"));
        assert!(argument("cd $X").is_none() && argument("cd a b").is_none() && argument("ls a").is_none());
    }

    #[test]
    fn lines_that_change_the_folder() {
        for line in ["cd a", "if [ -d a ]; then cd a; fi", "[ -d a ] && pushd a", "{ cd a; }"] {
            assert!(changes(line), "{line}");
        }
        for line in ["( cd a; make )", "x=$(cd a; pwd)", "echo cd", "f() { cd a; }", "ls # cd a"] {
            assert!(!changes(line), "{line}");
        }
    }

    #[test]
    fn lines_that_need_a_folder() {
        for line in ["source venv/bin/activate", ". env.sh", "mkdir -p logs", "export A=$(cat a)", "cd sub"] {
            assert!(needs_folder(line), "{line}");
        }
        for line in ["source /opt/env.sh", ". ~/env.sh", "export A=$B", "ulimit -n 1", "module purge", "set -e"] {
            assert!(!needs_folder(line), "{line}");
        }
    }
}
