//! Finds the lines of the setup (the lines before the ranks start) that the launch (the line that starts the ranks)
//! needs. Lines that only compute values for options that khorovod sets itself are dropped. Variables that the launch
//! names are exported to the ranks.

use crate::field;
use std::collections::{BTreeSet, HashSet};

use super::commands::PUT_IN;
use super::launch_pieces::{self, Held};
use super::rendezvous::{MEETING, NUMBERS};
use super::{Script, Setup};
use crate::shell_text;
use khorovod_compiler::shell::{self, CommandKind};

/// If a line writes the nodes of the job into a file, returns the variable that holds the name of the file.
fn writes_hosts(line: &str) -> Option<String> {
    let asks = ["scontrol show host", "SLURM_JOB_NODELIST", "SLURM_NODELIST", "hostname"];
    if !asks.iter().any(|asked| line.contains(asked)) {
        return None;
    }
    let script = shell::parse(line);
    let [statement] = script.statements.as_slice() else { return None };
    let mut written = statement
        .commands
        .iter()
        .flat_map(|command| &command.redirections)
        .filter(|redirection| line[redirection.operator.clone()].trim_start_matches('1').starts_with('>'));
    let file = written.next().filter(|_| written.next().is_none())?;
    let (name, _) = shell::reference(line[file.target.span.clone()].trim_matches('"'))?;
    Some(name.to_owned())
}

/// Returns the name of the function that a line defines, if the line does nothing else.
fn function(line: &str) -> Option<String> {
    let script = shell::parse(line);
    match script.statements.as_slice() {
        [statement] => match &statement.only()?.kind {
            CommandKind::Function { name, .. } => Some(line[name.span.clone()].to_owned()),
            _ => None,
        },
        _ => None,
    }
}

impl Script<'_, '_, '_> {
    /// Returns the reason if the launch cannot be separated from its script, for example because it needs a variable
    /// that cannot be exported. `uses` is the text of the launch without the options that were imported, and `line` is
    /// its line in the script.
    pub fn needs(&self, uses: &str, line: &str) -> Option<String> {
        let is_computed = |name: &str| {
            let mut parts = self.parts.iter();
            parts.any(|part| part.effects.may_set(name) && !self.text[part.place.clone()].contains(line))
        };
        if shell_text::names_positional(&shell_text::without_quoted(uses))
            && self.parts.iter().any(|part| part.effects.sets_positional)
        {
            return Some("the launch needs positional parameters that the script sets".to_owned());
        }
        if self.parts.iter().any(|part| part.effects.may_set("IFS")) {
            return Some("the script sets IFS, and so how words are split".to_owned());
        }
        let known: HashSet<&str> = self.env.iter().map(|(name, ..)| name.as_str()).collect();
        let prepared = |name: &str| known.contains(name) || self.setup.iter().any(|line| line.sets(name));
        // bash cannot export an array.
        let list = |name: &str| self.parts.iter().any(|part| part.effects.arrays.contains(name));
        let of_launch = shell_text::named(uses).into_iter().filter(|name| !prepared(name) || list(name));
        // A line of the setup may use an array of an earlier line, because all these lines run in one shell.
        let of_setup: BTreeSet<String> = self.setup.iter().flat_map(|line| shell_text::names(&line.text)).collect();
        let of_setup = of_setup.into_iter().filter(|name| !prepared(name));
        let name = of_launch.chain(of_setup).find(|name| is_computed(name))?;
        Some(format!("the launch needs `{name}`, which only the script can compute"))
    }

    /// Makes the variables that a launch names available to its ranks: plain values become variables of the job, and
    /// others are exported at the end of the setup.
    pub fn hand_on(&mut self, uses: &str) {
        for name in shell_text::named(uses) {
            let sets = |line: &Setup| line.sets(&name);
            let plain = self.setup.iter().rposition(|line| sets(line) && line.value.is_some());
            if let Some(at) = plain.filter(|_| self.setup.iter().filter(|line| sets(line)).count() == 1) {
                let Setup { value, row, .. } = self.setup.remove(at);
                self.env.push((name, value.unwrap_or_default(), row));
            } else if let Some(row) = self.setup.iter().rfind(|line| sets(line)).map(|line| line.row)
                && !self.setup.iter().any(|line| line.text.starts_with("export") && sets(line))
            {
                self.setup.push(Setup::new(format!("export {name}"), row));
            } else if let Some(row) = self.setup.iter().rfind(|line| line.effects.anything).map(|line| line.row)
                && self.is_set_by_sourced_files(&name)
            {
                self.setup.push(Setup::new(format!("export {name}"), row));
            }
        }
    }

    /// Whether a variable can be set only by a file that the setup sources.
    fn is_set_by_sourced_files(&self, name: &str) -> bool {
        shell::is_name(name)
            && !name.starts_with("SLURM")
            && !MEETING.contains(&name)
            && !NUMBERS.iter().any(|(_, ours)| *ours == name)
            && !shell_text::anywhere(name)
            && !shell_text::by_launcher(name)
            && !self.env.iter().any(|(known, ..)| known == name)
            && !self.setup.iter().any(|line| line.sets(name))
    }

    /// Drops lines that compute values only for options that khorovod sets itself. `uses` is the text of the launch
    /// without these options.
    pub fn drop_unused(&mut self, uses: &str) {
        let mut needed = shell_text::named(uses);
        let (inserted, named) = self.names_of_launch();
        // A file that the setup sources may use any variable.
        let mut sources = false;
        for at in (0..self.setup.len()).rev() {
            let line = &self.setup[at];
            sources |= line.effects.anything;
            if !sources && writes_hosts(&line.text).is_some_and(|file| !needed.contains(&file) && named.contains(&file))
            {
                let line = self.setup.remove(at);
                self.dropped(line.row, "only the launch needed it, and khorovod writes the launch itself");
                continue;
            }
            let Some(name) = line.name.clone().filter(|name| !needed.contains(name) && !sources) else {
                needed.extend(shell_text::named(&line.text));
                continue;
            };
            let line = self.setup.remove(at);
            let is_text = line.value.is_some() || self.texts.iter().any(|(known, _)| *known == name);
            match (is_text && inserted.contains(&name), named.contains(&name)) {
                _ if line.value.as_deref() == Some("") => self.dropped(line.row, "it is empty, as without the line"),
                (true, _) => self.changed(line.row, field::COMMAND, PUT_IN),
                (false, true) => {
                    self.dropped(line.row, "only the launch needed it, and khorovod writes the launch itself");
                }
                (false, false) => self.dropped(line.row, "no command of the job uses it"),
            }
        }
    }

    /// Drops functions that are called only by traps for signals, because the job does not have these traps.
    pub fn drop_functions_of_traps(&mut self, command: &str) {
        let calls = |text: &str, name: &str| {
            text.split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c)).any(|word| word == name)
        };
        for at in (0..self.setup.len()).rev() {
            let Some(name) = function(&self.setup[at].text) else { continue };
            let others =
                self.setup.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, line)| line.text.as_str());
            let is_called = others.chain([command]).any(|text| calls(text, &name));
            if !is_called && self.traps.iter().any(|trap| calls(trap, &name)) {
                let line = self.setup.remove(at);
                self.dropped(line.row, "only a trap for a signal calls it");
            }
        }
    }

    /// Returns two sets of variables that the launch needs in the script. The second set has all of them. The first set
    /// leaves out the variables that are needed only for options that khorovod sets itself.
    fn names_of_launch(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let all = self.names_behind(shell_text::named(&self.launch_text), &BTreeSet::new());
        // If the value of a variable of the launch contains further variables, their values are inserted too.
        let mut pieces = BTreeSet::new();
        let mut rest: Vec<String> = shell_text::named(&self.launch_text).into_iter().collect();
        while let Some(name) = rest.pop() {
            if let Some((_, Held::Text(value) | Held::List(value))) =
                self.written.iter().find(|(known, _)| *known == name)
                && pieces.insert(name)
            {
                rest.extend(shell_text::named(value));
            }
        }
        let spliced = launch_pieces::spliced(&self.launch_text, &self.written);
        let kept = shell_text::named(&launch_pieces::without_own_options(&spliced));
        (self.names_behind(kept.union(&pieces).cloned().collect(), &pieces), all)
    }

    /// Adds to `names` the variables from which the script computes the variables in `names`. Also adds exported
    /// variables, and the variables in lines that export or call `cd`. Lines that only set variables in `pieces` are
    /// skipped, because the values of these variables are known.
    fn names_behind(&self, mut names: BTreeSet<String>, pieces: &BTreeSet<String>) -> BTreeSet<String> {
        for part in self.parts.iter().rev() {
            let text = &self.text[part.place.clone()];
            let sets = &part.effects.sets;
            let exports = part.effects.exports.iter().filter(|name| !MEETING.contains(&name.as_str()));
            let exports: Vec<String> = exports.filter(|name| !pieces.contains(*name)).cloned().collect();
            let is_needed = sets.iter().any(|name| names.contains(name) && !pieces.contains(name));
            if is_needed || !exports.is_empty() || text.starts_with("cd ") {
                names.extend(shell_text::named(text));
                names.extend(exports);
            }
        }
        names
    }
}
