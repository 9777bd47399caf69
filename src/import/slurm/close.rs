//! The end of reading a script: what was found in it goes into the draft.

use serde_json::{Value as Json, json};

use super::lines::{self, Kind, Srun};
use super::{IMAGE, Script};
use super::{prepare, started};
use super::{text, texts};
use crate::command::{self, Line};
use crate::launch::{self, Place};
use crate::ledger::Verdict;
use crate::shell::{self, words};
use crate::{BAD_VALUE, program};
use khorovod_compiler::problem::{Problem, Span};

/// What to say of a program that may not be MPI's.
const ASKS: &str = "in pods mpirun starts it. If it finds the others by SLURM_PROCID or RANK, as Lightning does, \
                    import with `--command \"torchrun PROGRAM\"`";

impl Script<'_, '_, '_> {
    pub fn close(mut self) {
        if self.desk.draft.get("metadata.name").is_none() {
            self.desk.name("slurm", "the script has no --job-name");
        }
        if let Err(why) = self.asked.fits() {
            let problem = Problem::new(&BAD_VALUE, self.span, why);
            self.desk.problems.push(problem.hint("say on how many nodes: `#SBATCH --nodes=4`"));
        }
        let launch = self.launch.take();
        match (self.desk.typed.clone(), launch, self.whole.clone()) {
            (Some((line, span)), launch, _) => {
                if let Some((launch, span, row)) = launch {
                    self.given(&launch.options, "srun ", span);
                    self.settle(row, Verdict::Changed, "", "another command was given");
                }
                self.typed(&line, span);
            }
            (None, _, Some(why)) => self.as_it_stands(&why),
            (None, Some((launch, span, row)), None) => self.launched(launch, span, row),
            (None, None, None) if self.setup.iter().any(|line| !prepare::prepares(&line.text)) => {
                self.as_it_stands("no line in it is known to start ranks");
            }
            (None, None, None) => {
                let world = self.asked.world();
                self.asked.put(self.desk, 1);
                launch::by_hand(self.desk, "nothing in the script starts ranks; `--command LINE` puts it here", &world);
            }
        }
        if !self.stands {
            self.flags(false);
        }
        self.surroundings();
        self.tell_of_own();
        if let Some(image) = &self.image {
            self.desk.image(image, "the container's");
        }
        if self.desk.draft.get("spec.image.name").is_none() {
            self.desk.image(IMAGE, "Slurm needs none and uses none; for Kubernetes name the one to run in");
        }
        for (row, verdict, to, how) in std::mem::take(&mut self.said).into_iter().rev() {
            self.desk.ledger.settle_row(row, verdict, &to, &how);
        }
    }

    /// Refuses a line that a secret stands in.
    pub fn refuse_secret(&mut self, span: Span) {
        let problem = Problem::new(&BAD_VALUE, span, "this looks like a secret, and would stand in the spec");
        let hint = "write `export TOKEN=…` in a line of its own above it: of that variable a Secret is made";
        self.desk.problems.push(problem.hint(hint));
    }

    /// A line that was given beside the script.
    fn typed(&mut self, line: &str, span: Span) {
        let world = self.asked.world();
        let launch = match lines::kind(line) {
            Kind::Launch(launch) => *launch,
            _ => Srun { line: line.to_owned(), ..Srun::default() },
        };
        let mut launch = launch;
        if let (Some(wrap), line) = started::unwrapped(&launch.line) {
            launch.line = line;
            self.wrapped(wrap, span);
        }
        let row = self.desk.ledger.add("--command", span);
        match command::read(&launch.line) {
            Line::Launch(_) => {
                self.asked.put(self.desk, 0);
                launch::line(self.desk, &launch.line, &Place { path: "--command".to_owned(), span }, &world);
                self.settle(
                    row,
                    Verdict::Changed,
                    "spec.command spec.launcher",
                    "taken apart; khorovod writes the launch itself",
                );
            }
            Line::Script(_) => self.program(launch, row),
        }
    }

    /// The one line that starts the ranks.
    fn launched(&mut self, launch: Srun, span: Span, row: usize) {
        let line = launch.line.clone();
        self.start(launch, span, row);
        self.tell_of_moments(&line, span);
    }

    fn start(&mut self, launch: Srun, span: Span, row: usize) {
        self.given(&launch.options.clone(), "srun ", span);
        for (name, value) in &launch.env {
            self.env.push((name.clone(), value.clone(), row));
        }
        for option in &launch.unknown {
            let row = self.desk.ledger.add(format!("srun {option}"), span);
            let how = "only the script can make it: say it, with its value, in spec.slurm.srun.args";
            let data = if option.contains("mounts") { "; in pods spec.storage mounts what it did" } else { "" };
            self.settle(row, Verdict::Lost, "", &format!("{how}{data}"));
        }
        if let Some(why) = &launch.lost {
            let row = self.desk.ledger.add(why.clone(), span);
            self.settle(
                row,
                Verdict::Lost,
                "",
                "Slurm writes what ranks say into its own file, and `kubectl logs` has it",
            );
        }
        if launch.program.is_some() {
            return self.program(launch, row);
        }
        let mut launch = launch;
        if let (Some(wrap), line) = started::unwrapped(&launch.line)
            && launch.srun
        {
            launch.line = line;
            self.wrapped(wrap, span);
        }
        let inner = self.inner(&launch.line).filter(|_| launch.srun);
        if let Some(inner) = inner.map(|inner| self.filled(&inner)).filter(|inner| lines::launches_plainly(inner)) {
            match lines::launch(&inner).1 {
                Line::Launch(read) if read.kind == "torchrun" => {}
                Line::Script(_) if started::launches_more(&inner) => {}
                _ => return self.as_it_stands("a shell starts the launcher"),
            }
            launch.line = inner;
        }
        let (line, read) = lines::launch(&launch.line);
        let needs = self.needs(&launch.line, &launch.line);
        match read {
            Line::Script(_) if needs.is_some() => self.as_it_stands(&needs.unwrap_or_default()),
            Line::Launch(mut read) => {
                let words = read.program.as_array().into_iter().flatten().filter_map(Json::as_str);
                let words = words.map(lines::quoted).collect::<Vec<_>>().join(" ");
                if let (Some(wrap), line) = started::unwrapped(read.program.as_str().unwrap_or(&words)) {
                    read.program = program::program(&line);
                    self.wrapped(wrap, span);
                }
                let path = if launch.srun { "srun" } else { "the launch" }.to_owned();
                let agents = read.kind == "torchrun";
                let uses = format!("{} {}", read.program, read.args.join(" "));
                if agents {
                    self.drop_meeting(&uses);
                } else if line != launch.line {
                    self.drop_unused(&uses);
                }
                if let Some(why) = self.needs(&uses, &launch.line) {
                    return self.as_it_stands(&why);
                }
                self.asked.put(self.desk, u32::from(agents));
                let world = self.asked.world();
                // Both start a rank for each GPU, whatever tasks there are.
                let counts = agents || read.kind == "deepspeed" && world.gpus > 0;
                let by_tasks = read.np.is_none() && read.per_host.is_none() && !counts;
                let finds_hosts = read.finds_hosts();
                launch::launched(self.desk, &line, *read, &Place { path, span }, &world);
                if by_tasks {
                    self.asked.put_slots(self.desk);
                }
                self.srun(launch.srun && agents);
                let how = match !launch.srun && self.asked.nodes() > 1 && !finds_hosts {
                    true => "it ran on the first node alone, as nothing told it of others; here on every one",
                    false => "taken apart; khorovod writes the launch itself",
                };
                self.settle(row, Verdict::Changed, "spec.command spec.launcher", how);
            }
            Line::Script(_)
                if launch.srun && (!lines::launches(&launch.line) || started::launches_more(&launch.line)) =>
            {
                self.program(launch, row);
            }
            Line::Script(_) if launch.alone && self.asked.one_rank() && words(&launch.line).is_some() => {
                self.program(launch, row);
            }
            Line::Script(_) if launch.line.split_whitespace().any(|word| word == "srun") => {
                self.as_it_stands("an option of srun needs a shell, or srun itself");
            }
            Line::Script(why) => self.as_it_stands(&why),
        }
    }

    /// A container that the program ran in.
    fn wrapped(&mut self, wrap: started::Wrap, span: Span) {
        let row = self.desk.ledger.add("the container before the program", span);
        match wrap.words {
            Some(words) => {
                self.desk.draft.put("spec.slurm.wrap", json!(words), "the container's own words, which pods need not");
                let how = "before each rank; a launcher such as torchrun starts outside of it. In pods it is the image";
                self.settle(row, Verdict::Changed, "spec.slurm.wrap", how);
            }
            None => {
                let how = "only the script can make its words: say them, with their values, in spec.slurm.wrap";
                self.settle(row, Verdict::Lost, "", how);
            }
        }
        if let Some(image) = wrap.image {
            self.desk.image(&image, "the container's");
        }
    }

    /// The lines that a shell runs, where a line is that and no more.
    fn inner(&self, line: &str) -> Option<String> {
        let hidden = text::Hidden::of(line);
        let line = &hidden.text;
        let words = words(line)?;
        let (script, before) = words.split_last()?;
        let shell = before.first().is_some_and(|word| program::is_shell(&word.text));
        if !shell || before.last()?.text != "-c" || before[1..].iter().any(|word| !word.text.starts_with('-')) {
            return None;
        }
        let inner = texts::lines(&shell::within_quotes(&hidden.shown(&line[script.place.clone()]))?);
        Some(texts::spliced(&inner, &self.texts).trim().to_owned())
    }

    /// A program that each rank runs.
    fn program(&mut self, launch: Srun, row: usize) {
        let may_meet = launch.srun && started::container(&launch.line).is_none();
        if may_meet && self.meets(&launch.line) && !started::launches_more(&launch.line) && self.counts_processes() {
            return self.as_it_stands("only the script knows what it makes of WORLD_SIZE");
        }
        self.asked.put(self.desk, 0);
        self.asked.put_workers(self.desk);
        let line = launch.line.as_str();
        let program = launch.program.or_else(|| self.inner(line).map(Json::from));
        let program = program.unwrap_or_else(|| program::program(line));
        let contained = started::container(line);
        if let Some(name) = contained {
            let row = self.desk.ledger.add(format!("{name} before the program"), self.place(name));
            let how = "there under Slurm alone: the image of a pod is its container. Import with `--command PROGRAM`";
            self.settle(row, Verdict::Changed, "spec.command", how);
        }
        if launch.srun && contained.is_none() && self.meets(line) && !started::launches_more(line) {
            self.agents(program, row);
            return self.srun(true);
        }
        if launch.srun && self.mpi.is_none() && self.meets(line) {
            self.mpi = Some("none".to_owned());
        }
        self.desk.draft.put("spec.command", program, "what each rank ran");
        if started::launches_more(line) {
            let how = "once on each worker, where it starts the ranks itself; what its own config says is not read";
            return self.settle_program(launch.srun, row, how);
        }
        match launch.srun && self.mpi.as_deref().is_none_or(|mpi| mpi == "none") && started::may_ask_slurm(line) {
            true => self.settle_program(launch.srun, row, ASKS),
            false => self.settle_program(launch.srun, row, ""),
        }
    }

    fn settle_program(&mut self, srun: bool, row: usize, how: &str) {
        let verdict = if how.is_empty() { Verdict::Kept } else { Verdict::Changed };
        self.settle(row, verdict, "spec.command", how);
        self.srun(srun);
    }

    /// Whether srun starts the ranks under Slurm, and how.
    fn srun(&mut self, starts: bool) {
        if !starts {
            return;
        }
        let kind = self.desk.draft.get("spec.launcher.kind").and_then(Json::as_str).unwrap_or("mpirun");
        if kind == "mpirun" || kind == "torchrun" && (self.mpi.is_some() || !self.steps.is_empty()) {
            let mut srun = serde_json::Map::new();
            srun.extend(self.mpi.take().map(|mpi| ("mpi".to_owned(), mpi.into())));
            let steps: Vec<String> = std::mem::take(&mut self.steps).into_iter().map(|(option, _)| option).collect();
            if !steps.is_empty() {
                srun.insert("args".to_owned(), json!(steps));
            }
            self.desk.draft.put("spec.slurm.srun", Json::Object(srun), "under Slurm srun starts the ranks");
        }
    }
}
