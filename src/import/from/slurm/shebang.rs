//! Reads the first line of a script, which names its shell and the shell's flags.

use super::{Script, Setup};
use crate::context::Context;
use crate::field;
use khorovod_compiler::problem::Span;

/// Shells whose scripts bash can run.
const SHELLS: &[&str] = &["bash", "sh", "dash", "ash", "ksh", "ksh93", "mksh"];

/// Returns the first line, the name of the program in it, and its flags.
fn read(text: &str) -> Option<(&str, &str, Vec<&str>)> {
    let line = text.lines().next()?;
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let mut program = words.next()?;
    if program.ends_with("/env") {
        program = words.find(|word| *word != "-S" && !word.contains('='))?;
    }
    Some((line, khorovod_compiler::shell::base(program), words.collect()))
}

/// Refuses a script for another shell. Returns whether the script is accepted.
pub fn check(text: &str, whole: Span, context: &mut Context<'_>) -> bool {
    let Some((line, program, _)) = read(text).filter(|(_, program, _)| !SHELLS.contains(program)) else { return true };
    let span = Span { end: whole.start + line.len(), ..whole };
    let message = format!("this script is for {program}, but only scripts for bash can be imported");
    let hint =
        format!("import a bash script with the same `#SBATCH` lines that starts this one: `srun {program} FILE`");
    context.refuse_at(span, message, hint);
    false
}

impl Script<'_, '_, '_> {
    /// Converts the flags to a line with `set`, and records their outcome. Returns this line if the whole script is the
    /// command. Otherwise adds it to the beginning of the setup (`spec.slurm.setup`).
    pub fn flags(&mut self, whole: bool) -> Option<String> {
        let (line, _, flags) = read(self.text)?;
        if flags.is_empty() {
            return None;
        }
        // `-el` means `-e` and `-l`.
        let short = |flag: &&str| flag.starts_with('-') && !flag.starts_with("--");
        let of_login = flags.iter().any(|flag| *flag == "--login" || short(flag) && flag.contains('l'));
        let others = flags.iter().filter(|flag| **flag != "--login");
        let others = others.map(|flag| if short(flag) { flag.replace('l', "") } else { (*flag).to_owned() });
        let set = others.filter(|flag| flag != "-").collect::<Vec<_>>().join(" ");
        let span = Span { end: self.span.start + line.len(), ..self.span };
        if of_login {
            let row = self.row(&format!("{line} (login)"), span);
            let how = "the job's shell is not a login shell: if something is missing, such as `module`, source it in \
                       spec.slurm.setup; in pods, the image must contain it";
            self.lost(row, how);
        }
        if set.is_empty() {
            return None;
        }
        let row = self.row(line, span);
        let set = format!("set {set}");
        if whole {
            self.changed(row, field::COMMAND, "set by `set` in its first line");
            return Some(set);
        }
        self.changed(row, field::SLURM_SETUP, "set by `set` in its first line, for the other lines of the setup");
        self.setup.insert(0, Setup::new(set, row));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_first_line_names_the_interpreter() {
        assert_eq!(read("#!/bin/bash -e\nx"), Some(("#!/bin/bash -e", "bash", vec!["-e"])));
        assert_eq!(
            read("#! /usr/bin/env -S A=1 bash -eu\n").map(|(_, program, flags)| (program, flags)),
            Some(("bash", vec!["-eu"]))
        );
        assert_eq!(read("#!/usr/bin/env python3\n").map(|(_, program, _)| program), Some("python3"));
        assert_eq!(read("# a\n#!/bin/tcsh\n"), None);
    }
}
