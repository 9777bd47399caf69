//! The last step of the import: adds the line that starts the ranks, the resources and the environment to the new spec.

use crate::field::{self, set};
use serde_json::{Value as Json, json};

use super::classify::{self, Kind, Srun};
use super::{BeforeStep, IMAGE, Script};
use super::{preparation, srun_program};
use crate::codes::BAD_VALUE;
use crate::field_outcomes::Verdict;
use crate::launch::command_line::{self, Line};
use crate::launch::program;
use crate::launch::{self, Place};
use crate::shell_text;
use khorovod_compiler::problem::{Problem, Span};
use khorovod_compiler::shell::words;

/// The note for a program that may not use MPI.
const RANKS_WITHOUT_MPI: &str = "in pods mpirun starts the ranks. If they find each other by SLURM_PROCID or RANK, as with Lightning, \
                    import with `--command \"torchrun PROGRAM\"`";
/// The note for ranks that deepspeed started without MPI.
const DEEPSPEED: &str = "deepspeed started the ranks itself. Now it starts them with mpirun, which must be in the image and, under \
                         Slurm, on PATH. It also passed `--local_rank` to the program: if the program needs it, add \
                         `--local_rank $OMPI_COMM_WORLD_LOCAL_RANK` to spec.command";
/// The note for a program that is the only rank.
const ONE: &str = "under Slurm it starts as in the script; in pods mpirun starts it, so the image needs MPI and sshd";
/// The note about Slurm for such a program, if no option selects a PMI.
const RANKS_WITHOUT_PMI: &str = ". Under Slurm, srun must offer a PMI by default, or the job ends with code 42: then set spec.slurm.srun.mpi, to \
                          `none` if the ranks do not use MPI";

impl Script<'_, '_, '_> {
    /// Sets the name of a job without `--job-name`. sbatch uses the name of the script, too.
    fn default_name(&mut self) {
        let file = self.context.file.rsplit('/').next().unwrap_or_default();
        let stem = match file.rsplit_once('.') {
            Some((stem, _)) if !stem.is_empty() => stem,
            _ => file,
        };
        match stem.chars().any(|c| c.is_ascii_alphabetic()) {
            true => self.context.name(stem, "the script has no --job-name: the name of its file"),
            false => self.context.name("slurm", "the script has no --job-name"),
        };
    }

    /// Reports that the number of nodes is a guess, if Slurm chooses this number and the script uses it.
    fn report_guessed_nodes(&mut self) {
        let Some(option) = self.resources.unknown_nodes() else { return };
        let named = shell_text::named(self.text);
        if ["SLURM_NNODES", "SLURM_JOB_NUM_NODES"].iter().any(|name| named.contains(*name)) {
            let row = self.context.outcomes.add("no --nodes", self.span);
            let how = format!(
                "Slurm chooses the number of nodes for {option}, and the script uses it: one node is assumed. If it had more, set the number"
            );
            self.changed(row, field::WORKERS_REPLICAS, &how);
        }
    }

    pub fn close(mut self) {
        if self.context.spec.get(field::METADATA_NAME).is_none() {
            self.default_name();
        }
        if let Err(why) = self.resources.fits() {
            self.context.refuse_at(self.span, why, "write the number of nodes: `#SBATCH --nodes=4`");
        }
        self.report_guessed_nodes();
        let launch = self.launch.take();
        match (self.context.typed.clone(), launch, self.verbatim_reason.clone()) {
            (Some((line, span)), launch, _) => {
                if let Some((launch, span, row)) = launch {
                    self.apply_options(&launch.options, "srun ", span);
                    self.changed(row, "", "`--command` replaces it");
                }
                self.typed(&line, span);
            }
            (None, _, Some(why)) => self.run_verbatim(&why),
            (None, Some((launch, span, row)), None) => self.launched(launch, span, row),
            (None, None, None) if self.setup.iter().any(|line| !preparation::prepares(&line.text)) => {
                self.run_verbatim("no line of it is known to start ranks");
            }
            (None, None, None) => {
                let world = self.resources.world();
                self.resources.put(self.context, 1);
                launch::by_hand(
                    self.context,
                    "no line of the script starts ranks; pass the launch command with `--command LINE`",
                    &world,
                );
                self.resources.put_slots(self.context);
            }
        }
        if !self.is_verbatim {
            self.flags(false);
        }
        self.surroundings();
        self.report_numbers_of_srun();
        self.check_imported_command();
        self.report_array();
        if let Some(image) = &self.image {
            self.context.image(image, "the container's");
        }
        if self.context.spec.get(field::IMAGE_NAME).is_none() && self.context.options.image.is_none() {
            let row = self.context.outcomes.add("no image", self.span);
            let how = "check: it is a placeholder, because the script names no image. Slurm does not use it; for Kubernetes, write the name \
                       of your image, or import with `--image NAME`";
            self.changed(row, field::IMAGE, how);
        }
        if self.context.spec.get(field::IMAGE_NAME).is_none() {
            self.context.image(IMAGE, "Slurm does not use it; for Kubernetes, write the name of your image");
        }
        self.report_files();
        for (row, verdict, to, how) in std::mem::take(&mut self.outcomes).into_iter().rev() {
            self.context.outcomes.settle_row(row, verdict, &to, &how);
        }
    }

    /// Refuses a line that contains a secret.
    pub fn refuse_secret(&mut self, span: Span) {
        let problem = Problem::new(&BAD_VALUE, span, "this looks like a secret, and would be readable in the spec");
        let hint = "write `export TOKEN=…` on its own line above it: that variable becomes a Secret";
        self.context.problems.push(problem.hint(hint));
    }

    /// Imports the launch line that the user passed with `--command`.
    fn typed(&mut self, line: &str, span: Span) {
        let world = self.resources.world();
        line.clone_into(&mut self.launch_text);
        let launch = match classify::kind(line) {
            Kind::Launch(launch) => *launch,
            _ => Srun { line: line.to_owned(), ..Srun::default() },
        };
        let mut launch = launch;
        if let (Some(wrap), line) = srun_program::unwrapped(&launch.line) {
            launch.line = line;
            self.wrapped(wrap, span);
        }
        let row = self.context.outcomes.add("--command", span);
        match command_line::read(&launch.line) {
            Line::Launch(_) => {
                self.resources.put(self.context, 0);
                launch::line(self.context, &launch.line, &Place { path: "--command".to_owned(), span }, &world);
                self.changed(row, field::COMMAND_AND_LAUNCHER, "khorovod writes the launch itself");
            }
            Line::Script(_) => self.program(launch, row),
        }
    }

    /// Imports the line that starts the ranks.
    fn launched(&mut self, launch: Srun, span: Span, row: usize) {
        let line = launch.line.clone();
        self.start(launch, span, row);
        self.report_repeated_expansions(&line, span);
    }

    fn start(&mut self, launch: Srun, span: Span, row: usize) {
        self.before_step = Some(BeforeStep {
            resources: self.resources.clone(),
            nodes: self.nodes.clone(),
            tasks: self.tasks.clone(),
            outcomes: self.outcomes.len(),
            rows: self.context.outcomes.next_row(),
        });
        self.apply_options(&launch.options.clone(), "srun ", span);
        for (name, value) in &launch.env {
            self.env.push((name.clone(), value.clone(), row));
        }
        for option in &launch.unknown {
            self.launch_text = self.launch_text.replacen(option.as_str(), "", 1);
            let row = self.context.outcomes.add(format!("srun {option}"), span);
            let how = "only the script can compute it: write it, with its value, into spec.slurm.srun.args";
            let data = if option.contains("mounts") { "; in pods, spec.storage mounts the data" } else { "" };
            self.lost(row, &format!("{how}{data}"));
        }
        if let Some(why) = &launch.lost {
            let row = self.context.outcomes.add(why.clone(), span);
            self.lost(row, "Slurm writes the output of the ranks to its own file; on Kubernetes, see `khorovod logs`");
        }
        if let Some(ends) = &launch.ends {
            let row = self.context.outcomes.add(ends.clone(), span);
            self.dropped(row, "khorovod exits with the code of the training");
        }
        if launch.program.is_some() {
            return self.program(launch, row);
        }
        let mut launch = launch;
        if let (Some(wrap), line) = srun_program::unwrapped(&launch.line)
            && launch.srun
        {
            launch.line = line;
            self.wrapped(wrap, span);
        }
        let inner = self.inner(&launch.line).filter(|_| launch.srun);
        let inner = inner.map(|inner| self.filled(&inner));
        if let Some(inner) = inner.and_then(|inner| self.launch_of_inner(&inner, span)) {
            match classify::launch(&inner).1 {
                Line::Launch(read) if read.kind == "torchrun" => {}
                Line::Script(_) if srun_program::launches_more(&inner) => {}
                _ => return self.run_verbatim("a shell starts the launcher"),
            }
            launch.line = inner;
        }
        if let Some(why) = self.verbatim_reason.take() {
            return self.run_verbatim(&why);
        }
        let (line, read) = classify::launch(&launch.line);
        let needs = self.needs(&launch.line, &launch.line);
        match read {
            Line::Script(_) if needs.is_some() => self.run_verbatim(&needs.unwrap_or_default()),
            Line::Launch(mut read) => {
                let text = program::as_text(&read.program).unwrap_or_default();
                if let (Some(wrap), line) = srun_program::unwrapped(&text) {
                    read.program = program::program(&line);
                    self.wrapped(wrap, span);
                }
                let path = if launch.srun { "the srun line" } else { "the launch line" }.to_owned();
                let agents = read.kind == "torchrun";
                let uses = format!("{} {}", read.program, read.args.join(" "));
                if agents {
                    self.drop_meeting(&uses);
                } else if line != launch.line {
                    self.drop_unused(&uses);
                }
                if let Some(why) = self.needs(&uses, &launch.line) {
                    return self.run_verbatim(&why);
                }
                self.resources.put(self.context, u32::from(agents));
                let world = self.resources.world();
                // torchrun and deepspeed start one rank per GPU, whatever the number of tasks is.
                let counts = agents || read.kind == "deepspeed" && world.gpus > 0;
                let by_tasks = read.np.is_none() && read.per_host.is_none() && !counts;
                let finds_hosts = read.finds_hosts();
                let passes_rank =
                    read.kind == "deepspeed" && !line.contains("--launcher") && !line.contains("no_local_rank");
                launch::launched(self.context, &line, *read, &Place { path, span }, &world);
                if by_tasks {
                    self.resources.put_slots(self.context);
                }
                self.srun(launch.srun && agents);
                if passes_rank {
                    let row = self.context.outcomes.add("deepspeed without --launcher", span);
                    self.changed(row, field::LAUNCHER_KIND, DEEPSPEED);
                }
                let spreads = self.context.spec.get(field::WORKERS_REPLICAS).and_then(Json::as_u64) > Some(1);
                let how = match !launch.srun && self.resources.nodes() > 1 && !finds_hosts && spreads {
                    true => {
                        "it ran on the first node only, because it has no list of hosts; here it runs on every worker"
                    }
                    false => "khorovod writes the launch itself",
                };
                self.changed(row, field::COMMAND_AND_LAUNCHER, how);
            }
            Line::Script(_)
                if launch.srun && (!classify::launches(&launch.line) || srun_program::launches_more(&launch.line)) =>
            {
                self.program(launch, row);
            }
            Line::Script(_)
                if launch.is_without_launcher && self.resources.one_rank() && words(&launch.line).is_some() =>
            {
                self.program(launch, row);
            }
            Line::Script(_) if launch.line.split_whitespace().any(|word| word == "srun") => {
                self.run_verbatim("it uses srun in a way that only srun can run");
            }
            Line::Script(why) => self.run_verbatim(&why),
        }
    }

    /// Imports the container that the program runs in.
    fn wrapped(&mut self, wrap: srun_program::Wrap, span: Span) {
        let row = self.context.outcomes.add("the container before the program", span);
        match wrap.words {
            Some(words) => {
                self.context.spec.put(set::SLURM_WRAP, words, "the container of the script; pods do not use it");
                let how = "it starts each rank; a launcher such as torchrun starts outside of it. In pods, the image replaces it";
                self.changed(row, field::SLURM_WRAP, how);
            }
            None => {
                let how = "only the script can compute it: write it, with its values, into spec.slurm.wrap";
                self.lost(row, how);
                self.launch_text = srun_program::without_container(&self.launch_text);
            }
        }
        if let Some(image) = wrap.image {
            self.context.image(&image, "the container's");
        }
    }

    /// Imports a program that each rank runs.
    fn program(&mut self, launch: Srun, row: usize) {
        let may_meet = launch.srun && srun_program::container(&launch.line).is_none();
        if may_meet
            && self.uses_master_addr(&launch.line)
            && !srun_program::launches_more(&launch.line)
            && self.counts_processes()
        {
            return self.run_verbatim("the script computes WORLD_SIZE");
        }
        self.resources.put(self.context, 0);
        self.resources.put_workers(self.context);
        let line = launch.line.as_str();
        let program = launch.program.or_else(|| Some(self.filled_by_slurm(&self.inner(line)?).into()));
        let program = program.unwrap_or_else(|| program::program(line));
        let contained = srun_program::container(line);
        if let Some(name) = contained {
            let row = self.context.outcomes.add(format!("{name} before the program"), self.place(name));
            let how =
                "it exists only under Slurm; in pods, the image is the container. Import with `--command PROGRAM`";
            self.lost(row, how);
        }
        if launch.srun && contained.is_none() && self.uses_master_addr(line) && !srun_program::launches_more(line) {
            self.agents(&program, row);
            return self.srun(true);
        }
        // Ranks of `accelerate launch` connect with torch.distributed.
        if launch.srun && self.mpi.is_none() && (self.uses_master_addr(line) || srun_program::launches_more(line)) {
            self.mpi = Some("none".to_owned());
        }
        self.context.spec.put(set::COMMAND, program, "what each rank runs");
        if srun_program::launches_more(line) {
            let how = "it runs once on each worker and starts the ranks there; its configuration file is not imported";
            return self.settle_program(launch.srun, row, how);
        }
        match launch.srun
            && self.mpi.as_deref().is_none_or(|mpi| mpi == "none")
            && srun_program::may_use_slurm_variables(line)
        {
            true => {
                let comment = "the default, for MPI; if the ranks use torch.distributed without MPI, write torchrun";
                self.context.spec.put(set::LAUNCHER_KIND, "mpirun", comment);
                let how = if self.mpi.is_none() {
                    format!("{RANKS_WITHOUT_MPI}{RANKS_WITHOUT_PMI}")
                } else {
                    RANKS_WITHOUT_MPI.to_owned()
                };
                self.settle_program(launch.srun, row, &how);
            }
            false if !launch.srun && self.resources.one_rank() => self.settle_program(false, row, ONE),
            false => self.settle_program(launch.srun, row, ""),
        }
    }

    fn settle_program(&mut self, srun: bool, row: usize, how: &str) {
        let verdict = if how.is_empty() { Verdict::Kept } else { Verdict::Changed };
        self.settle(row, verdict, field::COMMAND, how);
        self.srun(srun);
    }

    /// If srun starts the ranks in the script, sets `slurm.srun` with its options. With this field, srun also starts
    /// the ranks if the new job is rendered for Slurm.
    fn srun(&mut self, starts: bool) {
        if !starts {
            return;
        }
        let kind = self.context.spec.get(field::LAUNCHER_KIND).and_then(Json::as_str).unwrap_or("mpirun");
        if kind == "mpirun" || kind == "torchrun" && (self.mpi.is_some() || !self.steps.is_empty()) {
            let mut srun = serde_json::Map::new();
            srun.extend(self.mpi.take().map(|mpi| ("mpi".to_owned(), mpi.into())));
            let steps: Vec<String> = std::mem::take(&mut self.steps).into_iter().map(|(option, _)| option).collect();
            if !steps.is_empty() {
                srun.insert("args".to_owned(), json!(steps));
            }
            self.context.spec.put(set::SLURM_SRUN, Json::Object(srun), "under Slurm srun starts the ranks");
        }
    }
}
