//! Imports a whole script unchanged. If the script requests one task on one node, the single rank runs it. Otherwise
//! the launcher runs it.

use super::classify::{self, Kind};
use super::script;
use super::{Script, preparation};
use crate::field::{self, set};
use crate::launch::options::names_launcher;
use crate::secrets;

impl Script<'_, '_, '_> {
    /// Makes the whole script the command, which runs once on the first node. `why` is the reason, for the report.
    pub fn run_verbatim(&mut self, why: &str) {
        let parts = self.parts;
        self.forget_step();
        // The launcher's pod has no GPU, so a script that needs no other node runs in a worker.
        let wrap = self.wrap.take();
        let reaches = match &wrap {
            Some((text, _)) => reaches(text),
            None => parts.iter().any(|part| part.runs() && reaches(&self.text[part.place.clone()])),
        };
        let ranks = self.resources.one_rank() && !reaches;
        let how = match ranks {
            true => "the single rank runs the whole script, because Slurm gave it one task on one node".to_owned(),
            false => format!("the launcher runs the whole script once, because {why}"),
        };
        let to = if ranks { field::COMMAND } else { field::COMMAND_AND_LAUNCHER };
        let (mut body, mut kept, mut first, mut is_reported) = (Vec::new(), Vec::new(), true, false);
        self.is_verbatim = true;
        body.extend(self.flags(true));
        self.env.retain(|(.., row)| self.exported.contains(row));
        if let Some((text, row)) = &wrap {
            let lines: Vec<usize> = self.rows.iter().map(|(_, row)| *row).collect();
            for row in lines.into_iter().chain([*row]) {
                self.changed(row, to, &how);
            }
            body.push(text.clone());
        }
        let parts = if wrap.is_some() { &[] } else { parts };
        for part in parts.iter().filter(|part| part.runs()) {
            let text = &self.text[part.place.clone()];
            let start = part.place.start;
            let rows: Vec<usize> = self.rows.iter().filter(|(at, _)| *at == start).map(|(_, row)| *row).collect();
            let Some(&row) = rows.first() else { continue };
            let kind = classify::kind(text);
            first &= part.kind == script::Kind::Command && !matches!(kind, Kind::Program | Kind::Launch(_));
            match kind {
                Kind::Assign(pairs)
                    if secrets::assigns_secret(text) && pairs.iter().all(|(_, value)| value.is_some()) =>
                {
                    self.env.extend(pairs.into_iter().map(|(name, value)| (name, value.unwrap_or_default(), row)));
                    continue;
                }
                // This line loads software, which in pods is in the image. Under Slurm, the line runs in the setup,
                // before the script.
                _ if ranks && first && preparation::loads(text) => {
                    kept.push(row);
                    continue;
                }
                _ => body.push(self.text[part.line.clone()].to_owned()),
            }
            if secrets::assigns_secret(text) {
                self.refuse_secret(self.at(part));
            }
            // Only the first line of the script gets the reason.
            for row in rows {
                self.changed(row, to, if is_reported { "a part of the whole script" } else { &how });
            }
            is_reported = true;
        }
        let body = body.join("\n");
        // Lines of the setup that come from options such as `--chdir` are kept, because the commands of the script do
        // not include them.
        let of_script = |row: usize| self.rows.iter().any(|(_, of_line)| *of_line == row);
        self.setup.retain(|line| line.folder.is_none() && (kept.contains(&line.row) || !of_script(line.row)));
        if !ranks {
            self.modules.clear();
            self.context.spec.put(set::LAUNCHER_KIND, "shell", &how);
        }
        self.resources.put(self.context, 0);
        self.resources.put_workers(self.context);
        self.context.spec.put(
            set::COMMAND,
            body,
            if ranks { "the script, which one rank runs" } else { "the script, which the launcher runs" },
        );
    }
}

impl Script<'_, '_, '_> {
    /// Undoes the import of the options of the srun that starts the ranks, because these options stay in the script.
    fn forget_step(&mut self) {
        let Some(before) = self.before_step.take() else { return };
        (self.resources, self.nodes, self.tasks) = (before.resources, before.nodes, before.tasks);
        self.steps.clear();
        self.mpi = None;
        self.context.spec.take(set::SLURM_WRAP);
        self.outcomes.truncate(before.outcomes);
        for row in before.rows..self.context.outcomes.next_row() {
            self.changed(row, field::COMMAND, "it is in the script");
        }
    }
}

/// Whether a text starts programs on other nodes or with a launcher. If so, a single MPI rank cannot run the text.
fn reaches(text: &str) -> bool {
    let others = ["ssh", "pdsh", "clush", "sbatch", "salloc"];
    let mut words = text.split(|c: char| c.is_whitespace() || ";&|()`\"'".contains(c));
    names_launcher(&text.replace("torchrun", "")) || words.any(|word| others.contains(&word))
}
