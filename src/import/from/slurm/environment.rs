//! Imports the environment of the line that starts the ranks: variables, modules and the setup. The setup consists of the
//! lines before this line (`spec.slurm.setup`).

use crate::field::{self, set};
use serde_json::Value as Json;

use super::options_apply::SEES_ALL;
use super::rendezvous::MEETING;
use super::{Script, Setup, preparation};
use crate::field_outcomes::Verdict;
use khorovod_compiler::problem::count;

/// The note for a script that leaves it to the cluster whether a job starts again.
const REQUEUE: &str = "0, because Slurm does not repeat a program that fails. After the loss of a node, Slurm starts a job again unless the \
                       cluster sets JobRequeue=0. In pods, a lost worker is replaced even with 0. A script that is rendered for Slurm has \
                       `--no-requeue` with 0: for a new start there, write 1 or more";

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
            self.context.spec.put(set::LAUNCHER_MPI, mpi, "from the name of the module");
        }
    }

    /// Whether a row of the report belongs to the line that starts the ranks, which may begin with assignments.
    fn launches(&self, row: usize) -> bool {
        self.outcomes.iter().any(|(other, _, to, _)| *other == row && to.starts_with(field::COMMAND))
    }

    pub fn surroundings(&mut self) {
        let command = match self.context.spec.get(field::COMMAND) {
            Some(Json::String(command)) => command.clone(),
            Some(Json::Array(words)) => words.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" "),
            _ => String::new(),
        };
        self.drop_unused(&command);
        self.hand_on(&command);
        self.drop_functions_of_traps(&command);
        self.array_job(&command);
        self.settle_folders();
        self.flags_of_setup();
        for at in 0..self.setup.len() {
            if self.setup[at].value.is_some() {
                self.kept(self.setup[at].row, field::SLURM_SETUP, "lines below use it");
            }
        }
        self.nodes_of_launch();
        self.report_visible_gpus();
        self.report_container();
        let kind = self.context.spec.get(field::LAUNCHER_KIND).and_then(Json::as_str);
        let torchrun = kind == Some("torchrun");
        let counts = torchrun || kind == Some("deepspeed");
        if torchrun && self.context.spec.get(field::WORKERS_GPUS).is_none() {
            let row = self.context.outcomes.add("no --gres=gpu", self.span);
            let how = "if the nodes have GPUs, set the number: pods get only GPUs that they request";
            self.changed(row, field::WORKERS_GPUS, how);
        }
        for row in std::mem::take(&mut self.tasks) {
            if counts && !self.by_agents && self.resources.one_a_node() {
                self.dropped(row, "the launcher starts the ranks of a node itself");
                continue;
            }
            let slots = self.slots();
            let (verdict, how) = match self.resources.shares() {
                true => (Verdict::Changed, "one rank per GPU, because ranks do not share GPUs".to_owned()),
                false if slots != u64::from(self.resources.tasks()) => {
                    (Verdict::Changed, format!("{} per worker, as the launch line has", count(slots, "rank")))
                }
                false => self.resources.how_many(),
            };
            self.settle(row, verdict, field::WORKERS_SLOTS_PER_WORKER, &how);
        }
        for (name, value, row) in std::mem::take(&mut self.env) {
            if torchrun && MEETING.contains(&name.as_str()) {
                self.meeting(&name, value.parse::<u16>().is_ok(), row);
                continue;
            }
            let later = |line: &Setup| line.row != row && line.value.is_none() && line.sets(&name);
            if self.setup.iter().any(later) {
                let row = self.named(&name);
                let how = "under Slurm, spec.slurm.setup sets it again; in pods it has the value of spec.env";
                self.changed(row, field::ENV_AND_SETUP, how);
            }
            let how = match self.setup.iter().any(|line| line.row == row) {
                true => "under Slurm, spec.slurm.setup sets it again after lines that may change it",
                false => "",
            };
            let to = if self.launches(row) { field::ENV_AND_COMMAND } else { field::ENV };
            match self.context.env(&name, &value, "") {
                true => {
                    let how = format!("moved to a Secret; under Slurm, run `export {name}=…` before `sbatch`");
                    self.changed(row, to, &how);
                }
                false if self.launches(row) => {}
                false => self.kept(row, to, how),
            }
        }
        for (_, row) in std::mem::take(&mut self.steps) {
            self.lost(row, "srun does not start the ranks of this job: pass it to sbatch on the command line");
        }
        self.implementation();
        if !self.modules.is_empty() {
            self.context.spec.put(set::SLURM_MODULES, self.modules.clone(), "");
        }
        if let Some(last) = self.setup.last() {
            let unknown = !preparation::fails_only_if_unready(&last.text);
            let lines = self.setup.iter().map(|line| line.text.as_str());
            let lines: Vec<&str> = lines.chain(unknown.then_some("true")).collect();
            self.context.spec.put(set::SLURM_SETUP, lines.join("\n"), "what prepares the environment under Slurm");
        }
        if !self.args.is_empty() {
            let args: Vec<String> = self.args.iter().map(|(option, _)| option.clone()).collect();
            self.context.spec.put(set::SLURM_ARGS, args, "");
        }
        if self.context.spec.get(field::LIFECYCLE_RETRIES).is_none() {
            match self.resources.requeue {
                Some(true) => {}
                Some(false) => self.context.default(set::LIFECYCLE_RETRIES, 0_u32, "--no-requeue"),
                None => {
                    self.context.default(set::LIFECYCLE_RETRIES, 0_u32, "Slurm does not repeat a program that fails");
                    let row = self.context.outcomes.add("no --requeue", self.span);
                    self.changed(row, field::LIFECYCLE_RETRIES, REQUEUE);
                }
            }
        }
    }

    /// If the launch line has another number of nodes than the options of the script, records this for the options.
    fn nodes_of_launch(&mut self) {
        let replicas = self.context.spec.get(field::WORKERS_REPLICAS).and_then(Json::as_u64).unwrap_or(1);
        if replicas == u64::from(self.resources.nodes()) {
            return;
        }
        for row in std::mem::take(&mut self.nodes) {
            let how = format!("{}, as the launch line has", count(replicas, "worker"));
            self.changed(row, field::WORKERS_REPLICAS, &how);
        }
    }

    /// If the ranks run in a container, reports that torchrun itself runs outside of the container.
    fn report_container(&mut self) {
        let is_torchrun = self.context.spec.get(field::LAUNCHER_KIND).and_then(Json::as_str) == Some("torchrun");
        let wrap = self.context.spec.get(field::SLURM_WRAP).and_then(|words| words.get(0)?.as_str());
        if let Some(container) = wrap.map(str::to_owned).filter(|_| is_torchrun) {
            let place = self.place(&container);
            let row = self.context.outcomes.add("torchrun outside of the container", place);
            let how = "under Slurm, torchrun starts on the nodes, and each rank in the container: load torchrun there in \
                       spec.slurm.setup or spec.slurm.modules";
            self.lost(row, how);
        }
    }

    /// If Slurm showed each rank only its own GPUs, reports that a rank now sees all GPUs of its worker.
    fn report_visible_gpus(&mut self) {
        let bound = std::mem::take(&mut self.bound);
        let is_replaced =
            |row: usize| self.outcomes.iter().any(|(other, verdict, ..)| *other == row && *verdict == Verdict::Dropped);
        let last = bound.into_iter().rfind(|(.., row)| !is_replaced(*row));
        if let Some((option, span, _)) = last.filter(|_| !self.is_verbatim && self.slots() > 1) {
            let row = self.context.outcomes.add(format!("{option}: the GPUs of each rank"), span);
            self.lost(row, SEES_ALL);
        }
    }

    /// Returns the number of ranks per worker.
    fn slots(&self) -> u64 {
        let number = |path| self.context.spec.get(path).and_then(Json::as_u64);
        number(field::WORKERS_SLOTS_PER_WORKER).or(number(field::WORKERS_GPUS)).unwrap_or(1)
    }

    /// Drops flags of the shell if the setup has no other line.
    fn flags_of_setup(&mut self) {
        if self.setup.iter().all(|line| preparation::is_flags(&line.text)) {
            for line in std::mem::take(&mut self.setup) {
                self.dropped(line.row, "the job has no line that it applies to");
            }
        }
    }
}
