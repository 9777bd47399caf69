//! A batch script for Slurm, or `srun` lines as people type them.
//!
//! Options of sbatch and srun say what the job asks for. Of the commands, one starts the ranks; what stands before it
//! prepares the environment. A script that does more than that becomes the command of a `shell` launcher, whole.

mod amounts;
mod around;
mod asked;
mod close;
mod commands;
mod given;
pub mod lines;
mod meeting;
mod needs;
mod options;
mod own;
mod prepare;
mod script;
mod shebang;
mod sound;
mod started;
pub mod text;
pub mod texts;
mod whole;

use std::collections::BTreeSet;

use super::desk::Desk;
use super::ledger::Verdict;
use super::shell::{self, Effects};
use asked::Asked;
use khorovod_compiler::problem::Span;
use lines::{Kind, Srun};
use script::Part;

/// What stands for an image where nothing names one.
const IMAGE: &str = "example.org/name-your-image:1";

/// Lines that prepare the environment.
#[derive(Default)]
struct Setup {
    text: String,
    /// The variable they set, where nothing else uses what they do.
    name: Option<String>,
    /// What it holds, where that is plain text.
    value: Option<String>,
    row: usize,
    /// All that they change.
    effects: Effects,
}

impl Setup {
    fn new(text: String, row: usize) -> Self {
        let mut effects = shell::effects(&text, &shell::parse(&text).statements);
        effects.anything &= prepare::may_set(&text);
        Self { text, row, effects, ..Self::default() }
    }

    /// Whether it may give a variable another value.
    fn sets(&self, name: &str) -> bool {
        self.effects.may_set(name)
    }
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
    /// What they hold that is pieces of a launch.
    texts: texts::Known,
    args: Vec<String>,
    image: Option<String>,
    /// The line that starts the ranks, and its row.
    launch: Option<(Srun, Span, usize)>,
    /// Whether a line does that which is more than a program by itself.
    starts: bool,
    /// Whether all of the script is the command.
    stands: bool,
    /// What stands in its way of being the one line that does.
    whole: Option<String>,
    /// The first of an array.
    array: Option<String>,
    /// Options of the srun that starts the ranks, and their rows.
    steps: Vec<(String, usize)>,
    mpi: Option<String>,
    /// The command behind `--wrap`.
    wrap: Option<(String, usize)>,
    /// Rows of the options that count tasks, and of those that set variables.
    tasks: Vec<usize>,
    exported: Vec<usize>,
    /// Variables that statements set which do more than that: nobody knows their values behind these.
    changing: BTreeSet<String>,
    parts: &'t [Part],
    /// Where parts begin, and their rows.
    rows: Vec<(usize, usize)>,
    said: Vec<Said>,
}

/// Reads a script.
pub fn read(text: &str, span: Span, desk: &mut Desk<'_>) {
    let parts = script::parts(text);
    if !sound::check(text, span, &parts, desk) {
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
        texts: texts::Known::new(),
        args: Vec::new(),
        image: None,
        launch: None,
        starts: parts.iter().any(|part| {
            let kind = if plain(part) { lines::kind(&text[part.place.clone()]) } else { Kind::Other };
            matches!(kind, Kind::Launch(launch) if !launch.alone)
        }),
        stands: false,
        whole: None,
        array: None,
        steps: Vec::new(),
        mpi: None,
        wrap: None,
        tasks: Vec::new(),
        exported: Vec::new(),
        changing: changing(text, &parts),
        parts: &parts,
        rows: Vec::new(),
        said: Vec::new(),
    };
    let mut rest = parts.iter();
    while let Some(part) = rest.next() {
        if script.part(part, simple) {
            script.python(rest.by_ref());
        }
    }
    script.close();
}

/// The variables that loops, conditions, functions and lines set that do more than set a variable. `unset` in a line of
/// its own is followed when that line is read.
fn changing(text: &str, parts: &[Part]) -> BTreeSet<String> {
    let changing = parts.iter().filter(|part| {
        let plain = || {
            let text = text::unrestricted(&text[part.place.clone()]);
            matches!(lines::kind(text), Kind::Assign(_) | Kind::Export(_) | Kind::Launch(_) | Kind::Options(_))
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

    /// Where a text first stands in the script.
    fn place(&self, text: &str) -> Span {
        let start = self.span.start + self.text.find(text).unwrap_or_default();
        Span { start, end: start + text.len(), ..self.span }
    }

    /// A row for a line; its name is the beginning of it.
    fn row(&mut self, text: &str, span: Span) -> usize {
        let text = &text::masked(text);
        let line = text.lines().next().unwrap_or_default().trim();
        let plain = line.chars().map(|c| if c == '\t' { ' ' } else { c });
        let short: String = plain.filter(|c| !c.is_control()).take(60).collect();
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
                    self.refuse_secret(span);
                }
                self.rest(&text, row, lines::starts_ranks(&text));
            }
            script::Kind::Unknown => {
                let row = self.row(&text, span);
                self.rows.push((span.start, row));
                if text::hides(&text) {
                    self.refuse_secret(span);
                }
                self.whole("a line of the script is not understood");
            }
            script::Kind::Command => return self.command(&text, span, simple),
        }
        false
    }
}
