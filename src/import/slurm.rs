//! A batch script for Slurm, or `srun` lines as people type them.
//!
//! Options of sbatch and srun say what the job asks for. Of the commands, one starts the ranks; what stands before it
//! prepares the environment. A script that does more than that becomes the command of a `shell` launcher, whole.

mod asked;
mod close;
mod lines;
mod options;
mod script;
mod text;

use serde_json::json;

use super::desk::Desk;
use super::ledger::Verdict;
use super::words::is_name;
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
    /// What may change a variable on its way.
    blocks: Vec<&'t str>,
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
        blocks: changing(text, &parts),
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

/// What may change a variable on its way: loops, conditions, functions, and lines that do more than set one.
fn changing<'t>(text: &'t str, parts: &[Part]) -> Vec<&'t str> {
    let texts = parts.iter().filter_map(|part| {
        let text = &text[part.place.clone()];
        let plain =
            matches!(lines::kind(text::without_comment(text)), Kind::Assign(_) | Kind::Launch(_) | Kind::Options(_));
        match part.kind {
            script::Kind::Block => Some(text),
            script::Kind::Command if !plain => Some(text),
            _ => None,
        }
    });
    texts.collect()
}

/// Whether it is a script of Slurm, all of it there.
fn sound(text: &str, whole: Span, parts: &[Part], desk: &mut Desk<'_>) -> bool {
    let at = |place: std::ops::Range<usize>| Span { start: place.start, end: place.end, ..whole };
    let first = at(parts.first().map_or(0..0, |part| part.place.clone()));
    for part in parts {
        let line = &text[part.place.clone()];
        // A directive is no comment.
        let skip = if matches!(part.kind, script::Kind::Directive(_)) { "#SBATCH".len() } else { 0 };
        if let Some(place) = text::placeholder(&line[skip..]) {
            let start = part.place.start + skip;
            let place = start + place.start..start + place.end;
            let name = text[place.clone()].to_owned();
            let problem = Problem::new(&TEMPLATE, at(place), format!("`{name}` is a place to be filled in"));
            desk.problems.push(problem.hint("write what belongs there into the script"));
            return false;
        }
        if let Some(place) = text::secret(line) {
            let place = part.place.start + place.start..part.place.start + place.end;
            let problem = Problem::new(&BAD_VALUE, at(place), "this looks like a secret, and would stand in the spec");
            desk.problems.push(
                problem.hint("write `export TOKEN=…` above it and `$TOKEN` here: of the variable a Secret is made"),
            );
            return false;
        }
        if part.kind == script::Kind::Directive(None) {
            let problem = Problem::new(&BAD_VALUE, at(part.place.clone()), "a quote in this line does not end");
            desk.problems.push(problem.hint("sbatch would refuse it, too: close the quote"));
            return false;
        }
    }
    let odd = [("\u{feff}", "a byte order mark"), ("\r\n", "line ends of Windows")];
    if let Some((mark, what)) = odd.iter().find(|(mark, _)| text.contains(mark)) {
        let at_mark = text.find(mark).unwrap_or_default();
        let problem = Problem::new(&BAD_VALUE, at(at_mark..at_mark + mark.len()), format!("the script has {what}"));
        desk.problems.push(problem.hint("sbatch would not run it, either: `dos2unix` mends it"));
        return false;
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
        let text = &text::masked(text);
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
                if text::hides(&text) {
                    self.refuse_secret(part);
                }
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
                self.settle(row, Verdict::Changed, "spec.command", "nobody types: the lines below it are the job");
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
                Some((name, value)) if is_name(name) => self.env.push((name.to_owned(), value.to_owned(), row)),
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
        let text = text::without_comment(text);
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
            _ => {
                if text::hides(text) && self.whole.is_none() {
                    self.refuse_secret(&Part { place: span.start..span.end, kind: script::Kind::Command });
                }
                self.rest(text, row, lines::names_launcher(text));
            }
        }
        false
    }

    /// What is none of ours: it prepares, or it makes the script more than a launch.
    fn rest(&mut self, text: &str, row: usize, starts_ranks: bool) {
        if starts_ranks {
            return self.whole("ranks are started in a line that takes a shell to run");
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
        let changed = |name: &str| self.blocks.iter().any(|block| text::sets(block, name));
        let slurm = self.asked.variables().map(|(name, value)| (name.to_owned(), value));
        let all: Vec<(String, String)> =
            self.variables.iter().rev().filter(|(name, _)| !changed(name)).cloned().chain(slurm).collect();
        text::fill(text, &all)
    }

    /// `python` alone: what follows is typed into it.
    fn python<'p>(&mut self, rest: impl Iterator<Item = &'p Part>) {
        let (mut lines, mut last) = (Vec::new(), None);
        for part in rest {
            let text = text::without_comment(&self.text[part.place.clone()]).trim_end().to_owned();
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
