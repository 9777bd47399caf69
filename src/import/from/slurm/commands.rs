//! Imports the commands of a script, one by one: the command that starts the ranks (the launch), and the commands that
//! prepare the environment (the setup, in `spec.slurm.setup`).

use crate::field;
use serde_json::json;

use super::classify::{self, Kind, Srun};
use super::known_programs::COPIES;
use super::preparation;
use super::rendezvous::MEETING;
use super::script::Part;
use super::{Script, Setup, folders, launch_pieces};
use crate::field_outcomes::Verdict;
use crate::launch::options::names_launcher;
use crate::option_table::has_word;
use crate::{secrets, shell_text};
use khorovod_compiler::job::looks_secret;
use khorovod_compiler::pods::word;
use khorovod_compiler::problem::Span;
use khorovod_compiler::shell;

/// The note for a variable that is computed and that programs may read.
const MADE: &str = "its value is computed when the job starts; in pods, set it in spec.env";

/// Commands that load software.
const LOADS: &str = "source . conda mamba micromamba spack module ml";
/// The note for a command that loads software.
const LOADED: &str = "check: under Slurm only; for pods, the image must contain what this line loads";
/// The note for another command that prepares the environment.
const PREPARED: &str = "under Slurm only; in pods, the image must contain what this line prepares";

/// The note for `ulimit`.
const LIMITS: &str =
    "under Slurm only; pods do not get this limit: the container runtime of their node sets the limits";
/// The note for `ulimit -l`.
const LOCKED_MEMORY: &str = "under Slurm only; pods do not get this limit: the container runtime of their node sets the limits. RDMA needs \
                             locked memory: with spec.workers.rdma, a worker has the capability IPC_LOCK, and the limit does not apply";

/// The note for a variable whose value is inserted where it is used.
pub const PUT_IN: &str = "its value is inserted where it is used";

impl Script<'_, '_, '_> {
    /// Imports a command. Returns whether it starts an interactive Python.
    pub fn command(&mut self, text: &str, span: Span, simple: bool) -> bool {
        let whole = text;
        let text = shell_text::unrestricted(text);
        let filled = self.filled(text);
        let kind = match classify::kind(&filled) {
            kind @ (Kind::Launch(_) | Kind::Program | Kind::Other) => self.put_together(&filled).unwrap_or(kind),
            kind => kind,
        };
        if let Kind::Options(words) = kind {
            let from = if text.trim_start().starts_with("sbatch") { "sbatch " } else { "srun " };
            self.apply_options(&words, from, span);
            return false;
        }
        if kind == Kind::Other
            && self.launch.is_none()
            && let Some(lines) = preparation::before_program(text)
        {
            for line in lines {
                self.command(line, span, false);
            }
            return false;
        }
        let row = self.row(whole, span);
        self.rows.push((span.start, row));
        match kind {
            Kind::Module(Some(names)) if simple && self.launch.is_none() && !self.prepares() => {
                self.modules.extend(names);
                self.kept(
                    row,
                    field::SLURM_MODULES,
                    "check: under Slurm only; for pods, the image must contain the software",
                );
            }
            Kind::Assign(pairs) if self.launch.is_none() => {
                launch_pieces::learn(&filled, &mut self.texts);
                launch_pieces::learn(text, &mut self.written);
                // Forget variables that a condition, a loop or a function may also change.
                self.texts.retain(|(name, _)| !self.changing.contains(name));
                self.assign(text, pairs, row);
            }
            Kind::Export(names) if self.launch.is_none() => self.export(text, &names, row),
            Kind::Assign(_) if self.launch.is_some() && !names_launcher(text) => {
                self.dropped(row, "no command after the ranks uses it");
            }
            Kind::Folder(folder) if self.launch.is_none() => self.folder(&folder, row),
            Kind::Start => self.dropped(
                row,
                "under Slurm, a job starts in the folder in which sbatch is called; in pods, in that of the image",
            ),
            Kind::Installs => {
                self.lost(
                    row,
                    "it would run at every start: run it once by hand, and for Kubernetes when you build the image",
                );
            }
            Kind::Shows => self.dropped(row, "it only prints something"),
            Kind::Ends => self.dropped(row, "khorovod's script waits for the ranks and exits with their code"),
            Kind::Flags if self.launch.is_some() => self.dropped(row, "no line follows the ranks"),
            Kind::Flags => {
                self.setup.push(Setup::new(text.to_owned(), row));
                self.kept(row, field::SLURM_SETUP, "for the other lines of the setup");
            }
            Kind::Other if preparation::traps_signals(text) => {
                self.traps.push(text.to_owned());
                let how = "khorovod's script handles signals itself: the ranks get that of spec.lifecycle.checkpoint, so handle it in the program";
                self.lost(row, how);
            }
            Kind::Other if self.launch.is_none() && preparation::traps_exit_and_signals(text) => {
                self.setup.push(Setup::new(text.trim().to_owned(), row));
                let how =
                    "it runs when the script ends, also after a signal; khorovod's script handles the signals itself";
                self.changed(row, field::SLURM_SETUP, how);
            }
            Kind::Python => {
                self.kept(row, field::COMMAND, "the lines below are its program");
                return self.launch.is_none();
            }
            Kind::Other if self.launch.is_none() && self.unset(text) => self.rest(text, row, false),
            // Another line starts the ranks, so this program runs once, before the ranks.
            Kind::Launch(srun) if srun.is_without_launcher && self.has_launcher && self.launch.is_none() => {
                self.before(text, row);
            }
            Kind::Program if self.has_launcher && self.launch.is_none() => self.before(text, row),
            Kind::Launch(launch) => match self.launch {
                None => {
                    self.pieces(&filled);
                    text.clone_into(&mut self.launch_text);
                    self.launch = Some((*launch, span, row));
                }
                Some(_) => self.require_verbatim(&format!("line {} starts ranks again", self.line())),
            },
            Kind::Program if self.launch.is_none() && classify::starts_ranks(text) => {
                text.clone_into(&mut self.launch_text);
                self.launch = Some((Srun::without_launcher(&filled), span, row));
            }
            _ => {
                if secrets::assigns_secret(text) && self.verbatim_reason.is_none() {
                    self.refuse_secret(span);
                }
                // Without a launcher in the script, its programs are the training.
                let trains = !self.has_launcher && self.launch.is_none() && classify::starts_ranks(text);
                self.rest(text, row, trains || names_launcher(text));
            }
        }
        false
    }

    /// Whether a line that was imported into the setup does more than set a variable to plain text, change the folder,
    /// or set flags of the shell.
    fn prepares(&self) -> bool {
        let prepares =
            |line: &Setup| line.value.is_none() && line.folder.is_none() && !preparation::is_flags(&line.text);
        self.setup.iter().any(prepares)
    }

    /// Replaces variables that hold several words of a line by their values, and classifies the result. None if the
    /// line has no such variable, or if the result starts no program.
    fn put_together(&self, line: &str) -> Option<Kind> {
        let whole = launch_pieces::spliced(line, &self.texts);
        let kind = classify::kind(&self.filled(&whole));
        (whole != line && matches!(kind, Kind::Launch(_) | Kind::Program)).then_some(kind)
    }

    /// Finds the lines of the setup that only set variables with words of the launch line. Such a line can be dropped
    /// later, because its words are inserted into the launch line.
    fn pieces(&mut self, launch: &str) {
        let mut uses = shell_text::named(launch);
        for line in self.setup.iter_mut().rev() {
            if let Some(name) = shell_text::first_assigned(&line.text)
                && uses.contains(&name)
                && self.texts.iter().any(|(known, _)| *known == name)
            {
                line.name = Some(name);
                uses.extend(shell_text::named(&line.text));
            }
        }
    }

    /// Imports a line of unknown purpose. Either the line prepares the environment, or the whole script has to be the
    /// command.
    pub fn rest(&mut self, text: &str, row: usize, starts_ranks: bool) {
        if starts_ranks {
            return self
                .require_verbatim(&format!("line {} starts ranks in a way that needs a shell or srun", self.line()));
        }
        if self.launch.is_some() {
            return self.require_verbatim(&format!("line {} follows the launch", self.line()));
        }
        if folders::changes(text) {
            return self.unknown_folder(text.trim(), row);
        }
        self.setup.push(Setup::new(text.to_owned(), row));
        let first = shell_text::first_word(text);
        let (verdict, how) = match has_word(COPIES, &first) {
            _ if first == "ulimit" => {
                let is_locked = text.split_whitespace().any(|word| word.starts_with('-') && word.contains('l'));
                (Verdict::Changed, if is_locked { LOCKED_MEMORY } else { LIMITS })
            }
            true => {
                let how =
                    "check: under Slurm only; for pods, the image must contain the code, and spec.storage the data";
                (Verdict::Changed, how)
            }
            false => (Verdict::Kept, if has_word(LOADS, &first) { LOADED } else { PREPARED }),
        };
        self.settle(row, verdict, field::SLURM_SETUP, how);
    }

    /// Imports a program that runs once, before the ranks.
    fn before(&mut self, text: &str, row: usize) {
        self.setup.push(Setup::new(text.to_owned(), row));
        let how = "under Slurm it runs before the ranks; for Kubernetes, run it once by hand and keep its results";
        self.changed(row, field::SLURM_SETUP, how);
    }

    pub fn require_verbatim(&mut self, why: &str) {
        self.verbatim_reason.get_or_insert_with(|| why.to_owned());
    }

    /// Returns the number of the line that is being imported.
    pub fn line(&self) -> usize {
        let start = self.rows.last().map_or(0, |(start, _)| *start);
        self.text[..start.min(self.text.len())].matches('\n').count() + 1
    }

    /// Imports `export A=b` or `A=b`. Plain values become variables of the job; all other values are computed in the setup.
    fn assign(&mut self, text: &str, pairs: Vec<(String, Option<String>)>, row: usize) {
        if pairs.iter().all(|(_, value)| value.is_some()) {
            for (name, value) in pairs {
                let value = value.unwrap_or_default();
                self.variables.push((name.clone(), value.clone()));
                let exported = text.trim_start().starts_with("export") || self.is_exported_above(&name);
                if !exported {
                    self.changed(row, field::COMMAND, PUT_IN);
                }
                if !exported && !looks_secret(&name, &value) {
                    let text = format!("export {name}={}", word(&value));
                    let (name, value) = (Some(name.clone()), Some(value.clone()));
                    self.setup.push(Setup { name, value, ..Setup::new(text, row) });
                }
                if let Some(known) = self.env.iter_mut().find(|(known, ..)| *known == name) {
                    known.1.clone_from(&value);
                }
                if exported {
                    self.again(&name, &value, row);
                    self.env.push((name, value, row));
                }
            }
            return;
        }
        self.variables.retain(|(known, _)| !pairs.iter().any(|(name, _)| name == known));
        let text = text.trim();
        // Any program may read an exported variable, so the line stays.
        let made = pairs.first().map(|(name, _)| name.clone());
        let made = made.filter(|name| !text.starts_with("export") && !self.is_exported_above(name));
        // An array cannot be exported.
        let as_it_is = text.starts_with("export") || text.starts_with(':') || pairs.is_empty() || text.contains("=(");
        // Programs may read an exported variable, so its outcome is `Changed`. For a search path it is `Kept`, because
        // in pods the image sets its own search path.
        let read = text.starts_with("export") && !text.contains("PATH=");
        let text = if as_it_is { text.to_owned() } else { format!("export {text}") };
        self.setup.push(Setup { name: made, ..Setup::new(text, row) });
        let (verdict, how) = match read {
            true => (Verdict::Changed, MADE),
            false => (Verdict::Kept, "its value is computed when the job starts"),
        };
        self.settle(row, verdict, field::SLURM_SETUP, how);
    }

    /// Whether the script exports a variable above the current line, by its name or by `set -a`.
    fn is_exported_above(&self, name: &str) -> bool {
        let here = self.rows.last().map_or(0, |(start, _)| *start);
        let (mut all, mut named) = (false, false);
        for part in self.parts.iter().take_while(|part| part.place.start < here) {
            match &self.text[part.place.clone()] {
                "set -a" | "set -o allexport" => all = true,
                "set +a" | "set +o allexport" => all = false,
                _ if part.effects.unsets.contains(name) => named = false,
                _ => named |= part.effects.exports.contains(name),
            }
        }
        all || named
    }

    /// Imports `export A` for variables that were assigned before.
    fn export(&mut self, text: &str, names: &[String], row: usize) {
        for name in names {
            let known = self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            if let Some(value) = known {
                self.again(name, &value, row);
                self.env.push((name.clone(), value, row));
            }
        }
        if !names.iter().all(|name| self.env.iter().any(|(known, ..)| known == name)) {
            // Any program may read the variable from now on. Removing the name keeps the line from being dropped as
            // unused.
            self.setup
                .iter_mut()
                .filter(|line| line.name.as_ref().is_some_and(|name| names.contains(name)))
                .for_each(|line| line.name = None);
            self.setup.push(Setup::new(text.trim().to_owned(), row));
            self.changed(row, field::SLURM_SETUP, MADE);
        }
    }

    /// If a line only unsets variables, removes their values from the import, so that later lines do not get them.
    /// Returns whether it is such a line.
    fn unset(&mut self, text: &str) -> bool {
        let effects = Setup::new(text.to_owned(), 0).effects;
        if effects.unsets.is_empty() || effects.unsets != effects.sets {
            return false;
        }
        self.variables.retain(|(name, _)| !effects.unsets.contains(name));
        self.texts.retain(|(name, _)| !effects.unsets.contains(name));
        let (gone, kept) =
            std::mem::take(&mut self.env).into_iter().partition(|(name, ..)| effects.unsets.contains(name));
        self.env = kept;
        for (name, value, row) in gone {
            if self.setup.iter().any(|line| line.row == row && line.sets(&name)) || looks_secret(&name, &value) {
                continue;
            }
            let at = self.setup.iter().position(|line| line.row > row).unwrap_or(self.setup.len());
            self.setup.insert(at, Setup::new(format!("export {name}={}", word(&value)), row));
            self.kept(row, field::SLURM_SETUP, "a line below unsets the variable");
        }
        for line in self.setup.iter_mut().filter(|line| effects.unsets.iter().any(|name| line.sets(name))) {
            (line.name, line.value) = (None, None);
        }
        true
    }

    /// Repeats an assignment of the script in the setup, if an earlier line of the setup, such as `source env.sh`, may
    /// set the same variable. This is necessary because, under Slurm, variables of the job are set before `slurm.setup`
    /// runs.
    fn again(&mut self, name: &str, value: &str, row: usize) {
        if self.setup.iter().any(|line| line.effects.anything) && !looks_secret(name, value) {
            let text = format!("export {name}={}", word(value));
            self.setup.push(Setup::new(text, row));
        }
    }

    /// Returns a text with the values of known variables inserted.
    pub fn filled(&self, text: &str) -> String {
        // The variables of the rendezvous are not replaced, because torchrun sets them.
        let named = shell_text::named(text);
        let fixed = |name: &str| named.contains(name) && !MEETING.contains(&name) && !self.changing.contains(name);
        let slurm = self.resources.variables().map(|(name, value)| (name.to_owned(), value));
        let job = self.single.iter().rfind(|(name, ..)| name == "job-name").and_then(|(_, value, _)| value.clone());
        let slurm = slurm.chain(job.map(|job| ("SLURM_JOB_NAME".to_owned(), job)));
        let all: Vec<(String, String)> =
            self.variables.iter().rev().filter(|(name, _)| fixed(name)).cloned().chain(slurm).collect();
        let filled = shell_text::fill(text, &all, !shell_text::assigns_first(text));
        shell::calculate(&filled, |name| all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    }

    /// Returns a script that srun starts, in which Slurm's variables are replaced by their values if pods lack the
    /// variables.
    pub fn filled_by_slurm(&self, script: &str) -> String {
        let of_ranks = ["SLURM_NTASKS", "SLURM_NPROCS"];
        let known = self.resources.variables().filter(|(name, _)| !of_ranks.contains(name));
        let known: Vec<(String, String)> = known.map(|(name, value)| (name.to_owned(), value)).collect();
        shell_text::fill(script, &known, false)
    }

    /// Imports the input of an interactive Python: the lines that follow.
    pub fn python<'p>(&mut self, rest: impl Iterator<Item = &'p Part>) {
        let (mut lines, mut last) = (Vec::new(), None);
        for part in rest {
            let text = self.text[part.place.clone()].trim_end().to_owned();
            let span = self.at(part);
            let row = self.row(&text, span);
            self.kept(row, field::COMMAND, "a line of the Python program");
            lines.push(text);
            last = Some((span, row));
        }
        if let Some((span, row)) = last {
            let program = Some(json!(["python", "-c", lines.join("\n")]));
            self.launch = Some((Srun { program, ..Srun::default() }, span, row));
        }
    }
}
