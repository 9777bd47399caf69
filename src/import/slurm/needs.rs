//! What of the lines before a launch the launch needs: the rest is dropped, and what it needs is handed on to its ranks.

use std::collections::{BTreeSet, HashSet};

use super::commands::PUT_IN;
use super::meeting::{MEETING, NUMBERS};
use super::{Script, Setup, text};
use crate::ledger::Verdict;
use crate::shell;

impl Script<'_, '_, '_> {
    /// Why a launch cannot stand alone: what it uses of variables is neither exported nor known to everybody.
    pub fn needs(&self, uses: &str, line: &str) -> Option<String> {
        let said = |name: &str| {
            let mut parts = self.parts.iter();
            parts.any(|part| part.effects.may_set(name) && !self.text[part.place.clone()].contains(line))
        };
        if text::names_positional(&text::without_quoted(uses)) && self.parts.iter().any(|part| part.effects.positional)
        {
            return Some("the launch needs words that `set` or `shift` gives the script itself".to_owned());
        }
        let known: HashSet<&str> = self.env.iter().map(|(name, ..)| name.as_str()).collect();
        let prepared = |name: &str| known.contains(name) || self.setup.iter().any(|line| line.sets(name));
        // A list cannot be exported.
        let list = |name: &str| self.parts.iter().any(|part| part.effects.arrays.contains(name));
        let of_launch = text::named(uses).into_iter().filter(|name| !prepared(name) || list(name));
        // What prepares the environment runs as one.
        let of_setup: BTreeSet<String> = self.setup.iter().flat_map(|line| text::names(&line.text)).collect();
        let of_setup = of_setup.into_iter().filter(|name| !prepared(name));
        let name = of_launch.chain(of_setup).find(|name| said(name))?;
        Some(format!("the launch needs `{name}`, which only the script itself can make"))
    }

    /// Hands what only blocks set on to programs, and plain values that a launch names to all of its ranks.
    pub fn hand_on(&mut self, uses: &str) {
        for name in text::named(uses) {
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
                && self.only_set_elsewhere(&name)
            {
                self.setup.push(Setup::new(format!("export {name}"), row));
            }
        }
    }

    /// Whether a variable that a launch names can only come of a file or a text that the setup reads.
    fn only_set_elsewhere(&self, name: &str) -> bool {
        shell::is_name(name)
            && !name.starts_with("SLURM")
            && !MEETING.contains(&name)
            && !NUMBERS.iter().any(|(_, ours)| *ours == name)
            && !text::anywhere(name)
            && !text::by_launcher(name)
            && !self.env.iter().any(|(known, ..)| known == name)
            && !self.setup.iter().any(|line| line.sets(name))
    }

    /// Drops lines that make values only for options that khorovod sets itself; `uses` is what is left of the launch.
    pub fn drop_unused(&mut self, uses: &str) {
        let mut needed = text::named(uses);
        for at in (0..self.setup.len()).rev() {
            let line = &self.setup[at];
            let Some(name) = line.name.clone().filter(|name| !needed.contains(name)) else {
                needed.extend(text::named(&line.text));
                continue;
            };
            let line = self.setup.remove(at);
            match line.value.is_some() || self.texts.iter().any(|(known, _)| *known == name) {
                true => self.settle(line.row, Verdict::Changed, "spec.command", PUT_IN),
                false => self.settle(line.row, Verdict::Kept, "", "it served the launch, which khorovod writes itself"),
            }
        }
    }
}
