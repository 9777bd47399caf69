//! Commands of a script, one by one: which of them starts the ranks, and what the others prepare for it.

use serde_json::json;

use super::lines::{self, Kind, Srun};
use super::meeting::MEETING;
use super::script::Part;
use super::{Script, Setup, text, texts};
use crate::ledger::Verdict;
use khorovod_compiler::job::looks_secret;
use khorovod_compiler::problem::Span;

/// What to say of a variable that programs may read.
const MADE: &str = "its value is made where the job starts; pods have it from spec.env, if at all";

/// They bring data or make folders, which an image does not have.
const COPIES: &[&str] =
    &["rsync", "cp", "scp", "mv", "ln", "tar", "unzip", "sbcast", "rclone", "aws", "gsutil", "mkdir"];

/// What to say of a variable that is not needed any more.
pub const PUT_IN: &str = "what it names is put in where it is used";

impl Script<'_, '_, '_> {
    /// Deals with a command; whether it opens a session of Python.
    pub fn command(&mut self, text: &str, span: Span, simple: bool) -> bool {
        let whole = text;
        let text = text::unrestricted(text);
        let filled = self.filled(text);
        let kind = match lines::kind(&filled) {
            kind @ (Kind::Launch(_) | Kind::Program | Kind::Other) => self.put_together(&filled).unwrap_or(kind),
            kind => kind,
        };
        if let Kind::Options(words) = kind {
            let from = if text.trim_start().starts_with("sbatch") { "sbatch " } else { "srun " };
            self.given(&words, from, span);
            return false;
        }
        let row = self.row(whole, span);
        self.rows.push((span.start, row));
        match kind {
            Kind::Module(Some(names)) if simple && self.launch.is_none() && !self.prepares() => {
                self.modules.extend(names);
                self.settle(row, Verdict::Kept, "spec.slurm.modules", "on Kubernetes the image has them");
            }
            Kind::Assign(pairs) if self.launch.is_none() => {
                texts::learn(&filled, &mut self.texts);
                // A condition may add to what it holds.
                self.texts.retain(|(name, _)| !self.changing.contains(name));
                self.assign(text, pairs, row);
            }
            Kind::Export(names) if self.launch.is_none() => self.export(text, &names, row),
            Kind::Assign(_) if self.launch.is_some() && !lines::names_launcher(text) => {
                self.settle(row, Verdict::Lost, "", "nothing comes behind the ranks that could use it");
            }
            Kind::Folder(folder) if self.launch.is_none() => self.folder(&folder, row),
            Kind::Start => self.settle(row, Verdict::Kept, "", "a job starts where sbatch is called"),
            Kind::Installs => self.settle(
                row,
                Verdict::Lost,
                "",
                "it would install at every start: do it once by hand, and for Kubernetes in the image",
            ),
            Kind::Shows => self.settle(
                row,
                Verdict::Lost,
                "",
                "it only says something, or ends the script; khorovod's does that itself",
            ),
            Kind::Python => {
                self.settle(row, Verdict::Kept, "spec.command", "what is typed into it below");
                return self.launch.is_none();
            }
            Kind::Other if self.launch.is_none() && self.unset(text) => self.rest(text, row, false),
            // Another line starts the ranks.
            Kind::Launch(srun) if srun.alone && self.starts && self.launch.is_none() => self.before(text, row),
            Kind::Program if self.starts && self.launch.is_none() => self.before(text, row),
            Kind::Launch(launch) => match self.launch {
                None => {
                    self.pieces(&filled);
                    self.launch = Some((*launch, span, row));
                }
                Some(_) => self.whole("it starts ranks more than once"),
            },
            Kind::Program if self.launch.is_none() && lines::starts_ranks(text) => {
                self.launch = Some((Srun { line: filled, alone: true, ..Srun::default() }, span, row));
            }
            _ => {
                if text::hides(text) && self.whole.is_none() {
                    self.refuse_secret(span);
                }
                self.rest(text, row, lines::names_launcher(text));
            }
        }
        false
    }

    /// Whether a line was met that does more than give a variable a plain value.
    fn prepares(&self) -> bool {
        self.setup.iter().any(|line| line.value.is_none())
    }

    /// A launch whose pieces variables hold.
    fn put_together(&self, line: &str) -> Option<Kind> {
        let whole = texts::spliced(line, &self.texts);
        let kind = lines::kind(&self.filled(&whole));
        (whole != line && matches!(kind, Kind::Launch(_) | Kind::Program)).then_some(kind)
    }

    /// Nothing but the launch needs the variables that hold its pieces.
    fn pieces(&mut self, launch: &str) {
        let mut uses = text::named(launch);
        for line in self.setup.iter_mut().rev() {
            if let Some(name) = text::first_assigned(&line.text)
                && uses.contains(&name)
                && self.texts.iter().any(|(known, _)| *known == name)
            {
                line.name = Some(name);
                uses.extend(text::named(&line.text));
            }
        }
    }

    /// What is none of ours: it prepares, or it makes the script more than a launch.
    pub fn rest(&mut self, text: &str, row: usize, starts_ranks: bool) {
        if starts_ranks {
            return self.whole("ranks are started in a line that a shell alone, or srun, can run");
        }
        if self.launch.is_some() {
            return self.whole("it goes on after the ranks have ended");
        }
        self.setup.push(Setup::new(text.to_owned(), row));
        let first = text.split_whitespace().next().unwrap_or_default();
        let (verdict, how) = match COPIES.contains(&first) {
            true => (Verdict::Changed, "under Slurm alone: in pods data and folders come by spec.storage"),
            false => (Verdict::Kept, "on Kubernetes the image has what this prepares"),
        };
        self.settle(row, verdict, "spec.slurm.setup", how);
    }

    /// A program that runs once, before the ranks.
    fn before(&mut self, text: &str, row: usize) {
        self.setup.push(Setup::new(text.to_owned(), row));
        let how = "before the ranks, under Slurm; for Kubernetes run it once by hand, where its results stay";
        self.settle(row, Verdict::Changed, "spec.slurm.setup", how);
    }

    pub fn whole(&mut self, why: &str) {
        self.whole.get_or_insert_with(|| why.to_owned());
    }

    /// `export A=b`, `A=b`: values that are plain text are variables of the job, others are made where it starts.
    fn assign(&mut self, text: &str, pairs: Vec<(String, Option<String>)>, row: usize) {
        if pairs.iter().all(|(_, value)| value.is_some()) {
            for (name, value) in pairs {
                let value = value.unwrap_or_default();
                self.variables.push((name.clone(), value.clone()));
                let exported = text.trim_start().starts_with("export");
                if !exported && !looks_secret(&name, &value) {
                    let text = format!("export {name}={}", lines::quoted(&value));
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
            return match text.trim_start().starts_with("export") {
                true => {}
                false => self.settle(row, Verdict::Changed, "spec.command", PUT_IN),
            };
        }
        self.variables.retain(|(known, _)| !pairs.iter().any(|(name, _)| name == known));
        let text = text.trim();
        // What was exported may be used by any program.
        let made = pairs.first().map(|(name, _)| name.clone()).filter(|_| !text.starts_with("export"));
        // An array is no variable of the environment.
        let as_it_is = text.starts_with("export") || text.starts_with(':') || pairs.is_empty() || text.contains("=(");
        // Programs may read it; an image has paths of its own.
        let read = text.starts_with("export") && !text.contains("PATH=");
        let text = if as_it_is { text.to_owned() } else { format!("export {text}") };
        self.setup.push(Setup { name: made, ..Setup::new(text, row) });
        let (verdict, how) = match read {
            true => (Verdict::Changed, MADE),
            false => (Verdict::Kept, "its value is made where the job starts"),
        };
        self.settle(row, verdict, "spec.slurm.setup", how);
    }

    /// `export A`: of what was given its value before.
    fn export(&mut self, text: &str, names: &[String], row: usize) {
        for name in names {
            let known = self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            if let Some(value) = known {
                self.again(name, &value, row);
                self.env.push((name.clone(), value, row));
            }
        }
        if !names.iter().all(|name| self.env.iter().any(|(known, ..)| known == name)) {
            // Any program may use it now.
            self.setup
                .iter_mut()
                .filter(|line| line.name.as_ref().is_some_and(|name| names.contains(name)))
                .for_each(|line| line.name = None);
            self.setup.push(Setup::new(text.trim().to_owned(), row));
            self.settle(row, Verdict::Changed, "spec.slurm.setup", MADE);
        }
    }

    /// `unset A B` in a line of its own: whether it is that. What the variables held is not put in behind it.
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
            self.setup.insert(at, Setup::new(format!("export {name}={}", lines::quoted(&value)), row));
            self.settle(row, Verdict::Kept, "spec.slurm.setup", "a line below it unsets the variable");
        }
        for line in self.setup.iter_mut().filter(|line| effects.unsets.iter().any(|name| line.sets(name))) {
            (line.name, line.value) = (None, None);
        }
        true
    }

    /// Under Slurm variables of the job come before `slurm.setup`: one that stood behind what may set it stands there, too.
    fn again(&mut self, name: &str, value: &str, row: usize) {
        if self.setup.iter().any(|line| line.effects.anything) && !looks_secret(name, value) {
            let text = format!("export {name}={}", lines::quoted(value));
            self.setup.push(Setup::new(text, row));
        }
    }

    /// A text with the variables that are known in their places.
    pub fn filled(&self, text: &str) -> String {
        // Where ranks meet is for torchrun to say, if it comes to that.
        let named = text::named(text);
        let fixed = |name: &str| named.contains(name) && !MEETING.contains(&name) && !self.changing.contains(name);
        let slurm = self.asked.variables().map(|(name, value)| (name.to_owned(), value));
        let all: Vec<(String, String)> =
            self.variables.iter().rev().filter(|(name, _)| fixed(name)).cloned().chain(slurm).collect();
        let filled = text::fill(text, &all, !text::assigns_first(text));
        texts::reckoned(&filled, |name| all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
    }

    /// `python` alone: what follows is typed into it.
    pub fn python<'p>(&mut self, rest: impl Iterator<Item = &'p Part>) {
        let (mut lines, mut last) = (Vec::new(), None);
        for part in rest {
            let text = self.text[part.place.clone()].trim_end().to_owned();
            let span = self.at(part);
            let row = self.row(&text, span);
            self.settle(row, Verdict::Kept, "spec.command", "typed into Python");
            lines.push(text);
            last = Some((span, row));
        }
        if let Some((span, row)) = last {
            let program = Some(json!(["python", "-c", lines.join("\n")]));
            self.launch = Some((Srun { program, ..Srun::default() }, span, row));
        }
    }
}
