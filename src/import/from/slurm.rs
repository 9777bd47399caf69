//! Imports a batch script for Slurm, or `srun` lines.
//!
//! The options of sbatch and srun become the resources of the job. One command of the script starts the ranks; the
//! lines before it prepare the environment and become `spec.slurm.setup`. If a script does more than that, or if a line
//! is not understood, the whole script becomes the command of a `shell` launcher, unchanged. The state of the import is
//! a [`Script`]; its methods are in the modules below, in the order of the import: [`precheck`], [`commands`],
//! [`assemble`].

mod amounts;
mod assemble;
pub mod classify;
mod commands;
mod dataflow;
mod environment;
mod files;
mod folders;
mod inner;
mod known_programs;
mod launch_pieces;
mod options;
mod options_apply;
mod precheck;
mod preparation;
mod rendezvous;
mod requested;
mod resources;
mod script;
mod shebang;
mod slurm_vars;
mod srun_program;
mod verbatim;

use std::collections::BTreeSet;

use crate::context::Context;
use crate::field_outcomes::Verdict;
use crate::secrets;
use crate::shell_text;
use classify::{Kind, Srun};
use khorovod_compiler::problem::Span;
use khorovod_compiler::shell::{self, Effects};
use requested::Resources;
use script::Part;

/// The image in the new spec if neither the script nor the command line names one.
const IMAGE: &str = "example.org/name-your-image:1";

/// A line that prepares the environment.
#[derive(Default)]
struct Setup {
    text: String,
    /// The variable that the line sets. None if the line has another effect too.
    name: Option<String>,
    /// The value of the variable, if that is plain text.
    value: Option<String>,
    row: usize,
    /// The folder to which the line changes, if the line does nothing else and the folder is plain text.
    folder: Option<String>,
    /// The changes that the line makes in its shell.
    effects: Effects,
}

impl Setup {
    fn new(text: String, row: usize) -> Self {
        let mut effects = shell::effects(&text, &shell::parse(&text).statements);
        effects.anything &= preparation::may_set(&text);
        Self { text, row, effects, ..Self::default() }
    }

    /// Whether the line may change a variable.
    fn sets(&self, name: &str) -> bool {
        self.effects.may_set(name)
    }
}

/// An outcome: the row of a line or an option in the report, the verdict, the fields of the spec, and a note.
type RowOutcome = (usize, Verdict, String, String);

/// The state of an import before the options of the srun that starts the ranks are read. See
/// [`Script::forget_step`](verbatim).
struct BeforeStep {
    resources: Resources,
    nodes: Vec<usize>,
    tasks: Vec<usize>,
    /// The number of outcomes that were recorded, and the number of rows.
    outcomes: usize,
    rows: usize,
}

/// The state of an import. A row is the index of a line or an option in the report of the import.
struct Script<'t, 'd, 'o> {
    text: &'t str,
    span: Span,
    context: &'d mut Context<'o>,
    resources: Resources,
    modules: Vec<String>,
    setup: Vec<Setup>,
    /// Environment variables of the job: the name, the value and the row.
    env: Vec<(String, String, usize)>,
    /// The variables that the lines so far have set, and their values.
    variables: Vec<(String, String)>,
    /// Variables that hold several words of the line that starts the ranks. In `texts`, other variables in a value are
    /// replaced by their values; in `written`, a value is as in the script.
    texts: launch_pieces::Variables,
    written: launch_pieces::Variables,
    /// Options of sbatch, and their rows.
    args: Vec<(String, usize)>,
    /// Options with which Slurm gave each task its own GPUs, their places and rows.
    bound: Vec<(String, Span, usize)>,
    image: Option<String>,
    /// The line that starts the ranks, its place and its row.
    launch: Option<(Srun, Span, usize)>,
    /// The line that starts the ranks, as in the script, but without the words that cannot be imported.
    launch_text: String,
    /// Whether any line of the script starts ranks with a launcher.
    has_launcher: bool,
    /// Whether the whole script is the command of the new job.
    is_verbatim: bool,
    /// Whether torchrun starts the ranks of the new job, although srun starts them in the script.
    by_agents: bool,
    /// Why the whole script has to be the command.
    verbatim_reason: Option<String>,
    /// The first value of the job array, the second one, and the row of the option.
    array: Option<(String, Option<String>, usize)>,
    /// How many jobs of the array may run at a time: the number after `%`.
    array_limit: Option<String>,
    /// The signals that the script traps. The new job does not have these traps.
    traps: Vec<String>,
    /// Options of the srun that starts the ranks, and their rows.
    steps: Vec<(String, usize)>,
    /// The state before these options were read.
    before_step: Option<BeforeStep>,
    mpi: Option<String>,
    /// The command of `--wrap`, and its row.
    wrap: Option<(String, usize)>,
    /// The rows of options that set the number of nodes (`nodes`), the number of tasks (`tasks`) and variables
    /// (`exported`).
    nodes: Vec<usize>,
    tasks: Vec<usize>,
    exported: Vec<usize>,
    /// Options that have one value: the name, the value and the row.
    single: Vec<(String, Option<String>, usize)>,
    /// Variables whose values are unknown, because conditions, loops or functions set them.
    changing: BTreeSet<String>,
    parts: &'t [Part],
    /// For each part of the script that has a row: the byte offset of the part, and the row.
    rows: Vec<(usize, usize)>,
    outcomes: Vec<RowOutcome>,
}

/// Imports a script.
pub fn read(text: &str, span: Span, context: &mut Context<'_>) {
    let parts = script::parts(text);
    if !precheck::check(text, span, &parts, context) {
        return;
    }
    let plain = |part: &Part| matches!(part.kind, script::Kind::Command);
    // The order of `module` commands matters. If one of them is not a plain `module load`, all of them stay in the
    // setup.
    let simple = parts
        .iter()
        .filter(|part| plain(part))
        .all(|part| !matches!(classify::kind(&text[part.place.clone()]), Kind::Module(None)));
    let mut script = Script {
        text,
        span,
        context,
        resources: Resources::default(),
        modules: Vec::new(),
        setup: Vec::new(),
        env: Vec::new(),
        variables: Vec::new(),
        texts: launch_pieces::Variables::new(),
        written: launch_pieces::Variables::new(),
        args: Vec::new(),
        bound: Vec::new(),
        image: None,
        launch: None,
        launch_text: String::new(),
        has_launcher: parts.iter().any(|part| {
            let kind = if plain(part) { classify::kind(&text[part.place.clone()]) } else { Kind::Other };
            matches!(kind, Kind::Launch(launch) if !launch.is_without_launcher)
        }),
        is_verbatim: false,
        by_agents: false,
        verbatim_reason: None,
        array: None,
        array_limit: None,
        traps: Vec::new(),
        steps: Vec::new(),
        before_step: None,
        mpi: None,
        wrap: None,
        nodes: Vec::new(),
        tasks: Vec::new(),
        exported: Vec::new(),
        single: Vec::new(),
        changing: changing(text, &parts),
        parts: &parts,
        rows: Vec::new(),
        outcomes: Vec::new(),
    };
    script.report_misspelt_directives();
    let mut rest = parts.iter();
    while let Some(part) = rest.next() {
        if script.part(part, simple) {
            script.python(rest.by_ref());
        }
    }
    script.close();
}

/// Returns the variables that are set by loops, conditions, functions and other lines that are not plain assignments.
/// Variables of a line that only unsets variables are not included, because [`Script::unset`](commands) handles such
/// lines.
fn changing(text: &str, parts: &[Part]) -> BTreeSet<String> {
    let changing = parts.iter().filter(|part| {
        let plain = || {
            let text = shell_text::unrestricted(&text[part.place.clone()]);
            matches!(classify::kind(text), Kind::Assign(_) | Kind::Export(_) | Kind::Launch(_) | Kind::Options(_))
                || part.effects.unsets == part.effects.sets
        };
        matches!(part.kind, script::Kind::Block | script::Kind::Unknown)
            || part.kind == script::Kind::Command && !part.effects.sets.is_empty() && !plain()
    });
    changing.flat_map(|part| part.effects.sets.iter().cloned()).collect()
}

impl Script<'_, '_, '_> {
    fn at(&self, part: &Part) -> Span {
        Span { start: part.place.start, end: part.place.end, ..self.span }
    }

    /// Returns the place where a text first occurs in the script.
    fn place(&self, text: &str) -> Span {
        let start = self.span.start + self.text.find(text).unwrap_or_default();
        Span { start, end: start + text.len(), ..self.span }
    }

    /// Adds a row for a line to the report. The row gets the beginning of the line as its name.
    fn row(&mut self, text: &str, span: Span) -> usize {
        let text = &secrets::masked(text);
        let line = text.lines().next().unwrap_or_default().trim();
        let plain = line.chars().map(|c| if c == '\t' { ' ' } else { c });
        let plain: String = plain.filter(|c| !c.is_control()).collect();
        // A line that is too long for the column is cut after a word.
        let end = plain.char_indices().nth(60).map_or(plain.len(), |(at, _)| plain[..at].rfind(' ').unwrap_or(at));
        let short = plain[..end].trim_end().to_owned();
        let more = short.len() < text.trim().len();
        self.context.outcomes.add(if more { format!("{short} …") } else { short }, span)
    }

    /// Records the outcome of a row. A later outcome replaces an earlier one.
    fn settle(&mut self, row: usize, verdict: Verdict, to: &str, how: &str) {
        self.outcomes.push((row, verdict, to.to_owned(), how.to_owned()));
    }

    /// Records that the new spec has the same meaning as a row.
    fn kept(&mut self, row: usize, to: &str, how: &str) {
        self.settle(row, Verdict::Kept, to, how);
    }

    /// Records that the new spec expresses a row in another way.
    fn changed(&mut self, row: usize, to: &str, how: &str) {
        self.settle(row, Verdict::Changed, to, how);
    }

    /// Records that the new spec does not need a row.
    fn dropped(&mut self, row: usize, why: &str) {
        self.settle(row, Verdict::Dropped, "", why);
    }

    /// Reports comments that were probably meant as options: `# SBATCH --nodes=2`, `#sbatch --nodes=2`. `##SBATCH` is the usual
    /// way to turn an option off.
    fn report_misspelt_directives(&mut self) {
        let mut start = self.span.start;
        for line in self.text.split_inclusive('\n') {
            let span = Span { start, end: start + line.trim_end().len(), ..self.span };
            start += line.len();
            let Some(rest) = line.strip_prefix('#').filter(|rest| !rest.starts_with("SBATCH")) else { continue };
            let mut words = rest.split_whitespace();
            let is_word = words.next().is_some_and(|word| word.eq_ignore_ascii_case("sbatch"));
            if is_word && words.next().is_some_and(|word| word.starts_with('-')) {
                let row = self.row(line.trim_end(), span);
                self.lost(
                    row,
                    "a comment for sbatch: if you need the option, write `#SBATCH` without a space and in capitals",
                );
            }
        }
    }

    /// Records that a row is not in the new spec.
    fn lost(&mut self, row: usize, how: &str) {
        self.settle(row, Verdict::Lost, "", how);
    }

    /// Imports a part. Returns whether the part starts an interactive Python. If it does, the following parts are the input
    /// of Python.
    fn part(&mut self, part: &Part, simple: bool) -> bool {
        let text = self.text[part.place.clone()].to_owned();
        let span = self.at(part);
        match &part.kind {
            script::Kind::Directive(words) => {
                self.apply_options(words.as_deref().unwrap_or_default(), "#SBATCH ", span);
            }
            script::Kind::Late => {
                let row = self.row(&text, span);
                self.lost(row, "sbatch ignores it after the first command; move it up if you need it");
            }
            script::Kind::Block => {
                let row = self.row(&text, span);
                self.rows.push((span.start, row));
                if secrets::assigns_secret(&text) {
                    self.refuse_secret(span);
                }
                match self.launch.is_some() && classify::only_checks_code(&text) {
                    true => self.dropped(row, "khorovod exits with the code of the training"),
                    false => self.rest(&text, row, classify::starts_ranks(&text)),
                }
            }
            script::Kind::Unknown => {
                let row = self.row(&text, span);
                self.rows.push((span.start, row));
                if secrets::assigns_secret(&text) {
                    self.refuse_secret(span);
                }
                self.require_verbatim(&format!("the importer does not understand line {}", self.line()));
            }
            script::Kind::Command => return self.command(&text, span, simple),
        }
        false
    }
}
