//! A batch script for Slurm, or `srun` lines as people type them.
//!
//! Options of sbatch and srun say what the job asks for. Of the commands, one starts the ranks; what stands before it
//! prepares the environment. A script that does more than that becomes the command of a `shell` launcher, whole.

mod asked;
mod lines;
mod options;
mod script;

use serde_json::{Value as Json, json};

use super::command::{self, Line};
use super::desk::Desk;
use super::launch::{self, Place};
use super::ledger::Verdict;
use super::words::words;
use super::{BAD_VALUE, NOTHING, OTHER_SYSTEM, TEMPLATE};
use crate::problem::{Problem, Span};
use asked::Asked;
use lines::{Kind, Srun};
use options::{Given, Meaning};
use script::Part;

/// What stands for an image where nothing names one.
const IMAGE: &str = "example.org/name-your-image:1";
/// Variables by which torch's processes meet; torchrun sets them.
const MEETING: &[&str] = &["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "NODE_RANK"];

/// Lines that prepare the environment.
struct Setup {
    text: String,
    /// The variable they set.
    name: Option<String>,
    row: usize,
}

/// What became of a line or an option: its row, the verdict, fields, how.
type Said = (usize, Verdict, String, String);

/// A script while it is read.
struct Script<'t, 'd, 'o> {
    text: &'t str,
    span: Span,
    desk: &'d mut Desk<'o>,
    asked: Asked,
    modules: Vec<String>,
    setup: Vec<Setup>,
    /// Name, value and row.
    env: Vec<(String, String, usize)>,
    /// What assignments say, for `$NAME` behind them.
    variables: Vec<(String, String)>,
    args: Vec<String>,
    image: Option<String>,
    /// The line that starts the ranks, and its row.
    launch: Option<(Srun, Span, usize)>,
    /// What stands in its way of being the one line that does.
    whole: Option<String>,
    /// Options of the srun that starts the ranks.
    steps: Vec<String>,
    mpi: Option<String>,
    /// Rows of the options that count tasks, and of those that set variables.
    tasks: Vec<usize>,
    exported: Vec<usize>,
    /// Where parts begin, and their rows.
    rows: Vec<(usize, usize)>,
    said: Vec<Said>,
}

/// Reads a script.
pub fn read(text: &str, span: Span, desk: &mut Desk<'_>) {
    let parts = script::parts(text);
    if !sound(text, span, &parts, desk) {
        return;
    }
    let plain = |part: &Part| matches!(part.kind, script::Kind::Command);
    // Where lines are told from blocks, the commands of a module come in order or not at all.
    let simple = parts
        .iter()
        .filter(|part| plain(part))
        .all(|part| !matches!(lines::kind(&text[part.place.clone()]), Kind::Module(None)));
    let mut script = Script {
        text,
        span,
        desk,
        asked: Asked::default(),
        modules: Vec::new(),
        setup: Vec::new(),
        env: Vec::new(),
        variables: Vec::new(),
        args: Vec::new(),
        image: None,
        launch: None,
        whole: None,
        steps: Vec::new(),
        mpi: None,
        tasks: Vec::new(),
        exported: Vec::new(),
        rows: Vec::new(),
        said: Vec::new(),
    };
    let mut rest = parts.iter();
    while let Some(part) = rest.next() {
        if script.part(part, simple) {
            script.python(rest.by_ref());
        }
    }
    script.close(&parts);
}

/// Whether it is a script of Slurm, all of it there.
fn sound(text: &str, whole: Span, parts: &[Part], desk: &mut Desk<'_>) -> bool {
    let at = |place: std::ops::Range<usize>| Span { start: place.start, end: place.end, ..whole };
    let first = at(parts.first().map_or(0..0, |part| part.place.clone()));
    for part in parts {
        let line = &text[part.place.clone()];
        if let Some(place) = lines::placeholder(line) {
            let place = part.place.start + place.start..part.place.start + place.end;
            let name = text[place.clone()].to_owned();
            let problem = Problem::new(&TEMPLATE, at(place), format!("`{name}` is a place to be filled in"));
            desk.problems.push(problem.hint("write what belongs there into the script"));
            return false;
        }
        if part.kind == script::Kind::Directive(None) {
            let problem = Problem::new(&BAD_VALUE, at(part.place.clone()), "a quote in this line does not end");
            desk.problems.push(problem.hint("sbatch would refuse it, too: close the quote"));
            return false;
        }
    }
    let foreign = text.lines().find(|line| ["#PBS ", "#BSUB ", "#$ "].iter().any(|mark| line.starts_with(mark)));
    let ours = parts.iter().any(|part| match &part.kind {
        script::Kind::Directive(_) => true,
        _ => lines::of_slurm(&text[part.place.clone()]),
    });
    let (code, message, hint) = match (ours, foreign) {
        (true, _) => return true,
        (false, Some(line)) => {
            let mark = line.split(' ').next().unwrap_or_default();
            (
                &OTHER_SYSTEM,
                format!("this is a script for another batch system: its options stand behind `{mark}`"),
                "write them as `#SBATCH` first",
            )
        }
        (false, None) => (
            &NOTHING,
            "there is no `#SBATCH` line in it and no `srun`".to_owned(),
            "give the script that goes to sbatch, or the srun line that was typed",
        ),
    };
    desk.problems.push(Problem::new(code, first, message).hint(hint));
    false
}

impl Script<'_, '_, '_> {
    fn at(&self, part: &Part) -> Span {
        Span { start: part.place.start, end: part.place.end, ..self.span }
    }

    /// A row for a line; its name is the beginning of it.
    fn row(&mut self, text: &str, span: Span) -> usize {
        let text = &lines::masked(text);
        let line = text.lines().next().unwrap_or_default().trim();
        let short: String = line.chars().filter(|c| !c.is_control()).take(60).collect();
        let more = short.len() < text.trim().len();
        self.desk.ledger.add(if more { format!("{short} …") } else { short }, span)
    }

    /// Says what became of a row; what is said last holds.
    fn settle(&mut self, row: usize, verdict: Verdict, to: &str, how: &str) {
        self.said.push((row, verdict, to.to_owned(), how.to_owned()));
    }

    /// Deals with a part; whether it opens a session of Python.
    fn part(&mut self, part: &Part, simple: bool) -> bool {
        let text = self.text[part.place.clone()].to_owned();
        let span = self.at(part);
        match &part.kind {
            script::Kind::Directive(words) => self.given(words.as_deref().unwrap_or_default(), "#SBATCH ", span),
            script::Kind::Late => {
                let row = self.row(&text, span);
                self.settle(
                    row,
                    Verdict::Lost,
                    "",
                    "sbatch does not see it behind the first command; move it up if it was meant",
                );
            }
            script::Kind::Block => {
                let row = self.row(&text, span);
                self.rows.push((span.start, row));
                self.rest(&text, row, lines::starts_ranks(&text));
            }
            script::Kind::Command => return self.command(&text, span, simple),
        }
        false
    }

    /// Options in their order; `from` says whose.
    fn given(&mut self, words: &[String], from: &str, span: Span) {
        let mut rest = words;
        while !rest.is_empty() {
            match options::read(rest) {
                Ok((given, count)) => {
                    for option in given {
                        let row = self.row(&format!("{from}{}", option.said), span);
                        self.option(&option, row, from, span);
                    }
                    rest = &rest[count..];
                }
                Err(why) => {
                    let problem = Problem::new(&BAD_VALUE, span, why);
                    self.desk.problems.push(problem.hint("sbatch would refuse it, too"));
                    return;
                }
            }
        }
    }

    fn option(&mut self, option: &Given, row: usize, from: &str, span: Span) {
        let value = option.value.clone().unwrap_or_default();
        let step = from.starts_with("srun");
        match option.meaning {
            Meaning::Name => {
                let kept = self.desk.name(&value, &option.said);
                let (verdict, how) = if kept {
                    (Verdict::Kept, "")
                } else {
                    (Verdict::Changed, "in the form Kubernetes takes, or as asked")
                };
                self.settle(row, verdict, "metadata.name", how);
            }
            Meaning::Folder => self.folder(&value, row),
            Meaning::Export => self.export_option(&value, row),
            Meaning::Requeue(again) => {
                self.asked.requeue = Some(again);
                self.settle(
                    row,
                    Verdict::Kept,
                    "spec.launcher.retries",
                    if again { "and training that fails is tried again, three times" } else { "" },
                );
            }
            Meaning::Hold => {
                self.desk.draft.put("spec.scheduling.suspend", true, &option.said);
                self.settle(row, Verdict::Kept, "spec.scheduling.suspend", "");
            }
            Meaning::Wrap => {
                self.settle(row, Verdict::Kept, "spec.command", "");
                self.command(&value, span, true);
            }
            Meaning::Mpi => {
                self.mpi = Some(value);
                self.settle(row, Verdict::Kept, "spec.slurm.srun.mpi", "on Kubernetes mpirun starts the ranks");
            }
            Meaning::Image => {
                self.image = Some(value.trim_start_matches("docker://").replacen('#', "/", 1));
                self.steps.push(format!("--container-image={value}"));
                self.settle(row, Verdict::Kept, "spec.image spec.slurm.srun.args", "");
            }
            Meaning::Field(name) => {
                self.desk.draft.put(&format!("spec.slurm.{name}"), value, &option.said);
                self.settle(row, Verdict::Kept, &format!("spec.slurm.{name}"), "");
            }
            Meaning::Stays(how) => {
                let written = option
                    .value
                    .as_ref()
                    .map_or(format!("--{}", option.name), |value| format!("--{}={value}", option.name));
                let (list, to) =
                    if step { (&mut self.steps, "spec.slurm.srun.args") } else { (&mut self.args, "spec.slurm.args") };
                list.push(written);
                self.settle(row, Verdict::Kept, to, how);
            }
            Meaning::Needless(why) => self.settle(row, Verdict::Kept, "", why),
            Meaning::Lost(why) => self.settle(row, Verdict::Lost, "", why),
            Meaning::Interactive => {
                self.settle(row, Verdict::Changed, "spec.command", "nobody types: the lines below it are the job")
            }
            _ => match self.asked.take(option) {
                Ok(_) if matches!(option.meaning, Meaning::Tasks | Meaning::TasksPerNode) => self.tasks.push(row),
                Ok((verdict, to, how)) => self.settle(row, verdict, to, how),
                Err(why) => {
                    let problem = Problem::new(&BAD_VALUE, span, format!("`{}`: {why}", option.said));
                    self.desk.problems.push(problem.hint("`man sbatch` says what it takes"));
                }
            },
        }
    }

    fn folder(&mut self, value: &str, row: usize) {
        if lines::is_folder(value) {
            self.desk.draft.put("spec.workdir", value, "the folder it ran in");
            self.settle(row, Verdict::Kept, "spec.workdir", "");
        } else {
            self.setup.push(Setup { text: format!("cd {}", lines::quoted(value)), name: None, row });
            self.settle(
                row,
                Verdict::Changed,
                "spec.slurm.setup",
                "no folder of an image; on Kubernetes say `workdir`",
            );
        }
    }

    /// `ALL,A=b` or `NONE`.
    fn export_option(&mut self, value: &str, row: usize) {
        self.exported.push(row);
        for part in value.split(',') {
            match part.split_once('=') {
                Some((name, value)) if lines::is_name(name) => self.env.push((name.to_owned(), value.to_owned(), row)),
                _ if part.eq_ignore_ascii_case("all") => {}
                _ => return self.settle(
                    row,
                    Verdict::Lost,
                    "",
                    "ranks get what is set where sbatch is called; give `--export` to sbatch by hand to keep that away",
                ),
            }
        }
        let to = if value.contains('=') { "spec.env" } else { "" };
        self.settle(row, Verdict::Kept, to, "ranks get what is set where sbatch is called");
    }

    /// Deals with a command; whether it opens a session of Python.
    fn command(&mut self, text: &str, span: Span, simple: bool) -> bool {
        let text = lines::without_comment(text);
        let filled = self.filled(text);
        let kind = lines::kind(&filled);
        if let Kind::Options(words) = kind {
            self.given(&words, "srun ", span);
            return false;
        }
        let row = self.row(text, span);
        self.rows.push((span.start, row));
        match kind {
            Kind::Module(Some(names)) if simple && self.launch.is_none() && self.setup.is_empty() => {
                self.modules.extend(names);
                self.settle(row, Verdict::Kept, "spec.slurm.modules", "on Kubernetes the image has them");
            }
            Kind::Assign(pairs) if self.launch.is_none() => self.assign(text, pairs, row),
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
            Kind::Launch(launch) => match self.launch {
                None => self.launch = Some((*launch, span, row)),
                Some(_) => self.whole("it starts ranks more than once"),
            },
            Kind::Program if self.launch.is_none() && lines::starts_ranks(text) => {
                self.launch = Some((Srun { line: filled, alone: true, ..Srun::default() }, span, row));
            }
            _ => self.rest(text, row, false),
        }
        false
    }

    /// What is none of ours: it prepares, or it makes the script more than a launch.
    fn rest(&mut self, text: &str, row: usize, starts_ranks: bool) {
        if starts_ranks {
            return self.whole("ranks are started in a loop or a condition");
        }
        if self.launch.is_some() {
            return self.whole("it goes on after the ranks have ended");
        }
        self.setup.push(Setup { text: text.trim_end().to_owned(), name: None, row });
        self.settle(row, Verdict::Kept, "spec.slurm.setup", "on Kubernetes the image has what this prepares");
    }

    fn whole(&mut self, why: &str) {
        self.whole.get_or_insert_with(|| why.to_owned());
    }

    /// `export A=b`, `A=b`: values that are plain text are variables of the job, others are made where it starts.
    fn assign(&mut self, text: &str, pairs: Vec<(String, Option<String>)>, row: usize) {
        if pairs.iter().all(|(_, value)| value.is_some()) {
            for (name, value) in pairs {
                let value = value.unwrap_or_default();
                self.variables.push((name.clone(), value.clone()));
                if text.trim_start().starts_with("export") {
                    self.env.push((name, value, row));
                }
            }
            let how = "what it names is put in where it is used";
            return match text.trim_start().starts_with("export") {
                true => {}
                false => self.settle(row, Verdict::Changed, "spec.command", how),
            };
        }
        let text = text.trim();
        // What was exported may be used by any program.
        let made = pairs.first().map(|(name, _)| name.clone()).filter(|_| !text.starts_with("export"));
        // An array is no variable of the environment.
        let as_it_is = text.starts_with("export") || pairs.is_empty() || text.contains("=(");
        let text = if as_it_is { text.to_owned() } else { format!("export {text}") };
        self.setup.push(Setup { text, name: made, row });
        self.settle(row, Verdict::Kept, "spec.slurm.setup", "its value is made where the job starts");
    }

    /// A text with the variables that are known in their places.
    fn filled(&self, text: &str) -> String {
        let slurm = self.asked.variables().map(|(name, value)| (name.to_owned(), value));
        let all: Vec<(String, String)> = self.variables.iter().rev().cloned().chain(slurm).collect();
        lines::fill(text, &all)
    }

    /// `python` alone: what follows is typed into it.
    fn python<'p>(&mut self, rest: impl Iterator<Item = &'p Part>) {
        let (mut lines, mut last) = (Vec::new(), None);
        for part in rest {
            let text = lines::without_comment(&self.text[part.place.clone()]).trim_end().to_owned();
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

    fn close(mut self, parts: &[Part]) {
        if self.desk.draft.get("metadata.name").is_none() {
            self.desk.name("slurm", "the script has no --job-name");
        }
        if let Some(image) = &self.image {
            self.desk.image(image, "--container-image");
        }
        let launch = self.launch.take();
        match (self.desk.typed.clone(), launch, self.whole.clone()) {
            (Some((line, span)), ..) => self.typed(&line, span),
            (None, _, Some(why)) => self.as_it_stands(&why, parts),
            (None, Some((launch, span, row)), None) => self.launched(launch, span, row, parts),
            (None, None, None) => {
                let world = self.asked.world();
                self.asked.put(self.desk, 1);
                launch::by_hand(self.desk, "nothing in the script starts ranks; `--command LINE` puts it here", &world);
            }
        }
        self.surroundings();
        if self.desk.draft.get("spec.image.name").is_none() {
            self.desk.image(IMAGE, "Slurm needs none and uses none; for Kubernetes name the one to run in");
        }
        for (row, verdict, to, how) in std::mem::take(&mut self.said).into_iter().rev() {
            self.desk.ledger.settle_row(row, verdict, &to, &how);
        }
    }

    /// Drops lines that make values only for options that khorovod sets itself; `uses` is what is left of the launch.
    fn drop_unused(&mut self, uses: &str) {
        for at in (0..self.setup.len()).rev() {
            let Some(name) = self.setup[at].name.clone() else { continue };
            let named = |text: &str| text.contains(&format!("${name}")) || text.contains(&format!("${{{name}"));
            let used = self.setup[at + 1..].iter().any(|line| named(&line.text)) || named(uses);
            if !used {
                let row = self.setup.remove(at).row;
                self.settle(row, Verdict::Kept, "", "it served the launch, which khorovod writes itself");
            }
        }
    }

    /// A line that was given beside the script.
    fn typed(&mut self, line: &str, span: Span) {
        let world = self.asked.world();
        let launch = match lines::kind(line) {
            Kind::Launch(launch) => *launch,
            _ => Srun { line: line.to_owned(), ..Srun::default() },
        };
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
    fn launched(&mut self, launch: Srun, span: Span, row: usize, parts: &[Part]) {
        self.given(&launch.options.clone(), "srun ", span);
        for (name, value) in &launch.env {
            self.env.push((name.clone(), value.clone(), row));
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
        let (line, read) = lines::launch(&launch.line);
        match read {
            Line::Launch(read) => {
                let path = if launch.srun { "srun" } else { "the launch" }.to_owned();
                let agents = read.kind == "torchrun";
                self.asked.put(self.desk, u32::from(agents));
                let world = self.asked.world();
                if line != launch.line {
                    self.drop_unused(&format!("{} {}", read.program, read.args.join(" ")));
                }
                launch::line(self.desk, &line, &Place { path, span }, &world);
                if read.np.is_none() && read.per_host.is_none() && !agents {
                    self.asked.put_slots(self.desk);
                }
                self.srun(launch.srun && agents);
                self.settle(
                    row,
                    Verdict::Changed,
                    "spec.command spec.launcher",
                    "taken apart; khorovod writes the launch itself",
                );
            }
            Line::Script(_) if launch.srun && !lines::launches(&launch.line) => self.program(launch, row),
            Line::Script(_) if launch.alone && self.asked.one_rank() && words(&launch.line).is_some() => {
                self.program(launch, row)
            }
            Line::Script(why) => self.as_it_stands(&why, parts),
        }
    }

    /// A program that each rank runs.
    fn program(&mut self, launch: Srun, row: usize) {
        self.asked.put(self.desk, 0);
        self.asked.put_workers(self.desk);
        let (wrap, line) = lines::unwrapped(&launch.line);
        let program = launch.program.unwrap_or_else(|| command::program(line));
        if let Some((wrap, image)) = wrap {
            self.desk.draft.put("spec.slurm.wrap", json!(wrap), "the container's own words, which pods need not");
            if let Some(image) = image {
                self.desk.image(&image, "the container's");
            }
        }
        self.desk.draft.put("spec.command", program, "what each rank ran");
        self.srun(launch.srun);
        self.settle(row, Verdict::Kept, "spec.command", "");
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
            if !self.steps.is_empty() {
                srun.insert("args".to_owned(), json!(self.steps));
            }
            self.desk.draft.put("spec.slurm.srun", Json::Object(srun), "under Slurm srun starts the ranks");
        }
    }

    /// All of it runs once, on the first node, as it did.
    fn as_it_stands(&mut self, why: &str, parts: &[Part]) {
        let how = format!("runs once, as it stands: {why}");
        let mut body = Vec::new();
        self.env.retain(|(.., row)| self.exported.contains(row));
        for part in parts.iter().filter(|part| matches!(part.kind, script::Kind::Command | script::Kind::Block)) {
            let text = &self.text[part.place.clone()];
            let start = part.place.start;
            let Some(row) = self.rows.iter().find(|(at, _)| *at == start).map(|(_, row)| *row) else { continue };
            match lines::kind(lines::without_comment(text)) {
                Kind::Module(_) if !self.modules.is_empty() => continue,
                Kind::Assign(pairs) if pairs.iter().all(|(_, value)| value.is_some()) && !pairs.is_empty() => {
                    self.env.extend(pairs.into_iter().map(|(name, value)| (name, value.unwrap_or_default(), row)));
                    continue;
                }
                _ => body.push(text.trim_end()),
            }
            self.settle(row, Verdict::Changed, "spec.command spec.launcher", &how);
        }
        let body = body.join("\n");
        self.setup.clear();
        self.asked.put(self.desk, 0);
        self.asked.put_workers(self.desk);
        self.desk.draft.put("spec.launcher.kind", "shell", &how);
        self.desk.draft.put("spec.command", body, "the script");
    }

    fn surroundings(&mut self) {
        let torchrun = self.desk.draft.get("spec.launcher.kind").and_then(Json::as_str) == Some("torchrun");
        for row in std::mem::take(&mut self.tasks) {
            let (verdict, how) = match self.asked.shares() {
                _ if torchrun => (Verdict::Kept, "torchrun on each node starts the ranks"),
                true => (Verdict::Changed, "one rank a GPU: here no two share one"),
                false => (Verdict::Kept, ""),
            };
            self.settle(row, verdict, "spec.workers.slots", how);
        }
        for (name, value, row) in std::mem::take(&mut self.env) {
            if torchrun && MEETING.contains(&name.as_str()) {
                self.settle(row, Verdict::Kept, "", "khorovod sets up the rendezvous");
                continue;
            }
            self.desk.env(&name, &value, "");
            self.settle(row, Verdict::Kept, "spec.env", "");
        }
        if !self.modules.is_empty() {
            self.desk.draft.put("spec.slurm.modules", json!(self.modules), "");
        }
        if !self.setup.is_empty() {
            let lines: Vec<&str> = self.setup.iter().map(|line| line.text.as_str()).collect();
            self.desk.draft.put("spec.slurm.setup", lines.join("\n"), "what prepares the environment under Slurm");
        }
        if !self.args.is_empty() {
            self.desk.draft.put("spec.slurm.args", json!(self.args), "");
        }
        match self.asked.requeue {
            Some(true) => {}
            _ => self.desk.default("spec.launcher.retries", 0, "sbatch ran it once"),
        }
    }
}
