//! Puts what surrounds the launch into the new spec: environment variables, modules and the lines of the setup.

use crate::field;
use serde_json::{Value as Json, json};

use super::rendezvous::MEETING;
use super::{Script, Setup};
use crate::field_outcomes::Verdict;

impl Script<'_, '_, '_> {
    /// Sets the MPI implementation from the names of the modules.
    fn implementation(&mut self) {
        const NAMES: &[(&str, &str)] = &[
            ("impi", "intelmpi"),
            ("intelmpi", "intelmpi"),
            ("intel-mpi", "intelmpi"),
            ("intel-oneapi-mpi", "intelmpi"),
            ("mpich", "mpich"),
            ("mvapich", "mpich"),
            ("cray-mpich", "mpich"),
        ];
        let loads = self.setup.iter().filter(|line| line.text.starts_with("module") || line.text.starts_with("ml "));
        let loaded = loads.flat_map(|line| line.text.split_whitespace());
        let all = self.modules.iter().map(String::as_str).chain(loaded).map(str::to_ascii_lowercase);
        let named = |module: String| NAMES.iter().find(|(name, _)| module.starts_with(name)).map(|(_, mpi)| *mpi);
        let kind = self.context.spec.get(field::LAUNCHER_KIND).and_then(Json::as_str).unwrap_or("mpirun");
        let takes = matches!(kind, "mpirun" | "deepspeed" | "horovodrun" | "shell");
        if let (true, None, Some(mpi)) = (takes, self.context.spec.get(field::LAUNCHER_MPI), { all }.find_map(named)) {
            self.context.spec.put(field::LAUNCHER_MPI, mpi, "the module's");
        }
    }

    /// Whether a row is that of the launch, which may begin with assignments.
    fn launches(&self, row: usize) -> bool {
        self.said.iter().any(|(other, _, to, _)| *other == row && to.starts_with(field::COMMAND))
    }

    pub fn surroundings(&mut self) {
        let command = match self.context.spec.get(field::COMMAND) {
            Some(Json::String(command)) => command.clone(),
            Some(Json::Array(words)) => words.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" "),
            _ => String::new(),
        };
        self.drop_unused(&command);
        self.hand_on(&command);
        for at in 0..self.setup.len() {
            if self.setup[at].value.is_some() {
                self.kept(self.setup[at].row, field::SLURM_SETUP, "lines below use it");
            }
        }
        let kind = self.context.spec.get(field::LAUNCHER_KIND).and_then(Json::as_str);
        let torchrun = kind == Some("torchrun");
        let counts = torchrun || kind == Some("deepspeed");
        if torchrun && self.context.spec.get(field::WORKERS_GPUS).is_none() {
            let row = self.context.outcomes.add("no --gres=gpu", self.span);
            let how = "if the nodes have GPUs, set the number: pods get only GPUs that they request";
            self.changed(row, field::WORKERS_GPUS, how);
        }
        for row in std::mem::take(&mut self.tasks) {
            let (verdict, how) = match self.resources.shares() {
                _ if counts && self.resources.one_a_node() => {
                    (Verdict::Kept, "the launcher starts a rank for each GPU".to_owned())
                }
                true => (Verdict::Changed, "one rank per GPU: here ranks do not share GPUs".to_owned()),
                false => self.resources.how_many(),
            };
            self.settle(row, verdict, field::WORKERS_SLOTS_PER_WORKER, &how);
        }
        for (name, value, row) in std::mem::take(&mut self.env) {
            if torchrun && MEETING.contains(&name.as_str()) {
                self.kept(row, "", "khorovod sets up the rendezvous");
                continue;
            }
            let later = |line: &Setup| line.row != row && line.value.is_none() && line.sets(&name);
            if self.setup.iter().any(later) {
                let row = self.named(&name);
                let how = "under Slurm, spec.slurm.setup sets it again; in pods it has the value of spec.env";
                self.changed(row, "spec.env spec.slurm.setup", how);
            }
            let how = match self.setup.iter().any(|line| line.row == row) {
                true => "under Slurm again behind the lines that may set it",
                false => "",
            };
            let to = if self.launches(row) { "spec.env spec.command" } else { field::ENV };
            match self.context.env(&name, &value, "") {
                true => self.changed(row, to, "moved to a Secret"),
                false if self.launches(row) => {}
                false => self.kept(row, to, how),
            }
        }
        for (_, row) in std::mem::take(&mut self.steps) {
            self.lost(row, "srun does not start the ranks here; give it to sbatch by hand");
        }
        self.implementation();
        if !self.modules.is_empty() {
            self.context.spec.put(field::SLURM_MODULES, json!(self.modules), "");
        }
        if !self.setup.is_empty() {
            let lines: Vec<&str> = self.setup.iter().map(|line| line.text.as_str()).collect();
            self.context.spec.put(field::SLURM_SETUP, lines.join("\n"), "what prepares the environment under Slurm");
        }
        if !self.args.is_empty() {
            self.context.spec.put(field::SLURM_ARGS, json!(self.args), "");
        }
        match self.resources.requeue {
            Some(true) => {}
            _ => self.context.default(field::LIFECYCLE_RETRIES, 0, "sbatch ran it once"),
        }
    }
}
