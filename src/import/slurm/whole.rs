//! A script that is more than a launch, and runs as it stands: as the one rank, where Slurm gave it one task on one node,
//! else in the launcher.

use super::lines::{self, Kind};
use super::script;
use super::{Script, prepare, text};
use crate::ledger::Verdict;

impl Script<'_, '_, '_> {
    /// All of it runs once, on the first node, as it did.
    pub fn as_it_stands(&mut self, why: &str) {
        let parts = self.parts;
        // The launcher's pod has no GPU, so what needs no other node runs where they are.
        let wrap = self.wrap.take();
        let reaches = match &wrap {
            Some((text, _)) => reaches(text),
            None => parts.iter().any(|part| part.runs() && reaches(&self.text[part.place.clone()])),
        };
        let ranks = self.asked.one_rank() && !reaches;
        let how = match ranks {
            true => "the one rank runs the script, as it stands: Slurm gave it one task on one node".to_owned(),
            false => format!("runs once, as it stands: {why}"),
        };
        let to = if ranks { "spec.command" } else { "spec.command spec.launcher" };
        let (mut body, mut kept, mut first) = (Vec::new(), Vec::new(), true);
        self.stands = true;
        body.extend(self.flags(true));
        self.env.retain(|(.., row)| self.exported.contains(row));
        if let Some((text, row)) = &wrap {
            let lines: Vec<usize> = self.rows.iter().map(|(_, row)| *row).collect();
            for row in lines.into_iter().chain([*row]) {
                self.settle(row, Verdict::Changed, to, &how);
            }
            body.push(text.clone());
        }
        let parts = if wrap.is_some() { &[] } else { parts };
        for part in parts.iter().filter(|part| part.runs()) {
            let text = &self.text[part.place.clone()];
            let start = part.place.start;
            let Some(row) = self.rows.iter().find(|(at, _)| *at == start).map(|(_, row)| *row) else { continue };
            let kind = lines::kind(text);
            first &= part.kind == script::Kind::Command && !matches!(kind, Kind::Program | Kind::Launch(_));
            match kind {
                Kind::Assign(pairs) if text::hides(text) && pairs.iter().all(|(_, value)| value.is_some()) => {
                    self.env.extend(pairs.into_iter().map(|(name, value)| (name, value.unwrap_or_default(), row)));
                    continue;
                }
                // An image has it; under Slurm it comes first anyway.
                _ if ranks && first && prepare::loads(text) => {
                    kept.push(row);
                    continue;
                }
                _ => body.push(self.text[part.line.clone()].to_owned()),
            }
            if text::hides(text) {
                self.refuse_secret(self.at(part));
            }
            self.settle(row, Verdict::Changed, to, &how);
        }
        for (_, row) in std::mem::take(&mut self.steps) {
            self.settle(row, Verdict::Changed, "spec.command", "stands in the script");
        }
        let body = body.join("\n");
        self.setup.retain(|line| kept.contains(&line.row));
        if !ranks {
            self.modules.clear();
            self.desk.draft.put("spec.launcher.kind", "shell", &how);
        }
        self.asked.put(self.desk, 0);
        self.asked.put_workers(self.desk);
        self.desk.draft.put(
            "spec.command",
            body,
            if ranks { "the script, of which there is one rank" } else { "the script" },
        );
    }
}

/// Whether a text starts something beyond its own node, or by what a rank of MPI cannot start again.
fn reaches(text: &str) -> bool {
    let others = ["ssh", "pdsh", "clush", "sbatch", "salloc"];
    let mut words = text.split(|c: char| c.is_whitespace() || ";&|()`\"'".contains(c));
    lines::names_launcher(&text.replace("torchrun", "")) || words.any(|word| others.contains(&word))
}
