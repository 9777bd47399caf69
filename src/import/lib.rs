//! Another system's file → a TrainingJob that says the same, and what became of every field of that file.
//!
//! A second compiler beside the first: it ends where that begins, with the text of a spec. Each system is one file here;
//! it takes the old file's values from the ledger, where each must get its verdict, and puts fields into the
//! draft.

mod before;
mod chart;
mod command;
mod container;
mod desk;
mod draft;
mod ffdl;
mod filled;
mod guess;
mod holes;
mod jsonnet;
mod launch;
mod ledger;
mod mpi_job;
mod openmpi;
mod options;
mod origin;
mod params;
mod pod;
mod program;
mod rendered;
mod shell;
mod slurm;
mod volumes;

use desk::Desk;
use khorovod_compiler::problem::{Code, Problem, Problems, Severity, Sources, Span, codes};
use khorovod_compiler::yaml::{self, Kind, Node};
use khorovod_compiler::{Inputs, Keys, Text, pipeline};

pub use guess::system as guess;
pub use guess::with_import_hint;
pub use ledger::Verdict;

codes! {
    /// The file is of another system
    ///
    /// `khorovod import` is told which system a file is from, and this one looks like another's. The hint names the
    /// command for it.
    Error OTHER_SYSTEM = "import-other-system";

    /// The file is a template
    ///
    /// What stands in `{{ … }}` is known only to the program that fills it in. Import what it makes: `helm get values
    /// RELEASE`, `helm template`, `ks show`.
    Error TEMPLATE = "import-template";

    /// The file says nothing
    ///
    /// There is nothing in it that a job could be made of.
    Error NOTHING = "import-nothing";

    /// A value that the old system would not take
    ///
    /// A number of workers that is no number, a map where a list belongs. The job would be a guess; mend the old file.
    Error BAD_VALUE = "import-bad-value";
}

/// A system to come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The chart stable/horovod, and `docker/helm` in Horovod's repository after it.
    StableHorovod,
    /// The chart of the elastic tutorial, which descends from those.
    ElasticHorovod,
    /// Kubeflow's openmpi component for ksonnet.
    KubeflowOpenmpi,
    /// FfDL, the Fabric for Deep Learning.
    Ffdl,
    /// Kubeflow's MPI Operator, v1 and v2beta1; and what khorovod renders for it.
    MpiJob,
    /// Slurm's batch scripts, and srun lines.
    Slurm,
}

impl System {
    /// Every system.
    pub const ALL: &[Self] =
        &[Self::StableHorovod, Self::ElasticHorovod, Self::KubeflowOpenmpi, Self::Ffdl, Self::MpiJob, Self::Slurm];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::StableHorovod => "stable-horovod",
            Self::ElasticHorovod => "elastic-horovod",
            Self::KubeflowOpenmpi => "kubeflow-openmpi",
            Self::Ffdl => "ffdl",
            Self::MpiJob => "mpijob",
            Self::Slurm => "slurm",
        }
    }

    /// What its files are.
    pub fn about(self) -> &'static str {
        match self {
            Self::StableHorovod => "values of the chart stable/horovod, or of docker/helm in Horovod's repository",
            Self::ElasticHorovod => "values of the elastic Horovod chart",
            Self::KubeflowOpenmpi => "parameters of Kubeflow's openmpi component, or the `ks` lines that set them",
            Self::Ffdl => "an FfDL manifest",
            Self::MpiJob => "an MPIJob of Kubeflow's MPI Operator",
            Self::Slurm => "a batch script for Slurm, or srun lines",
        }
    }
}

/// What the old file does not say.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The job's name. Default: what the file calls it, or the system.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// The image, where the old system had none or another is wanted.
    pub image: Option<String>,
    /// The line that was typed by hand into the launcher's pod.
    pub command: Option<String>,
    /// Files of a folder of code that belongs to the old file, by name.
    pub code: Vec<(String, String)>,
    /// `PATH=VALUE` settings over the old values, as `helm --set` takes them.
    pub sets: Vec<String>,
}

/// A field of the old file, and what became of it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Field {
    /// `worker.image.tag`.
    pub path: String,
    /// The file it stands in, or the option: `--set worker.number=8`.
    pub file: String,
    /// Where it stands there.
    pub line: usize,
    /// `kept`, `changed` or `lost`.
    pub verdict: &'static str,
    /// Fields of the new spec.
    pub to: Vec<String>,
    /// How it changed, or why it is lost and what to do.
    pub note: String,
}

/// What an old file becomes.
#[derive(Debug)]
pub struct Imported {
    /// The TrainingJob, with comments.
    pub job: String,
    /// Secrets that were written in the old file, as documents of their own; empty where there were none.
    pub secrets: String,
    /// Every field of the old file, in its order.
    pub fields: Vec<Field>,
    /// What there is to say of the new job; no errors.
    pub warnings: Problems,
}

/// See [`crate`].
pub fn import(system: System, texts: &[Text], options: &Options) -> Result<Imported, Problems> {
    // An editor's byte order mark; a script with one is told.
    let bare = texts.iter().map(|text| match text.text.strip_prefix('\u{feff}') {
        Some(rest) if system != System::Slurm => Text { name: text.name.clone(), text: rest.to_owned() },
        _ => text.clone(),
    });
    let mut texts: Vec<Text> = bare.collect();
    if system == System::KubeflowOpenmpi {
        // A line's end of Windows joins and ends lines as another does.
        for text in &mut texts {
            text.text = text.text.replace("\r\n", "\n");
        }
    }
    let texts = &texts[..];
    let mut found = Problems::default();
    for text in texts {
        let source = found.sources.add(&text.name, text.text.clone());
        guess::check(system, text, Span { source, start: 0, end: text.text.len() }, &mut found.list);
    }
    one_file(system, texts, &mut found.list);
    let mut desk = Desk::new(options);
    if let Some(line) = &options.command {
        let source = found.sources.add("--command", line.clone());
        desk.typed = Some((line.clone(), Span { source, start: 0, end: line.len() }));
    }
    if !found.any_error() && system == System::Slurm {
        script(texts, options, &mut desk);
    } else if !found.any_error()
        && let Some(values) = values(system, texts, options, &mut found)
    {
        desk.ledger.enter(&values);
        desk.whole = values.span;
        match system {
            System::StableHorovod | System::ElasticHorovod => chart::read(system, &values, &mut desk),
            System::KubeflowOpenmpi => openmpi::read(&values, &mut desk),
            System::Ffdl => ffdl::read(&values, &mut desk),
            System::MpiJob => mpi_job::read(&values, &mut desk),
            System::Slurm => {}
        }
        launch::unset(&mut desk);
        if desk.ledger.is_foreign() && desk.problems.is_empty() && !only_headings(&values) {
            let hint = format!("it should hold {}", system.about());
            let message = "not one field of this file is known here";
            desk.problems.push(Problem::new(&NOTHING, desk.whole, message).hint(hint));
        }
    }
    // A job that khorovod rendered runs as it did before.
    if !texts.iter().any(|text| text.text.contains(pipeline::RENDERED)) {
        launch::without_gpu(&mut desk, texts.first().map_or("", |text| &text.text));
    }
    found.list.append(&mut desk.problems);
    if found.any_error() {
        return Err(found);
    }
    let (job, secrets, rows) = desk.close(system, texts);
    let warnings = match sound(&job) {
        Ok(warnings) => warnings,
        Err(refused) => return Err(origin::told(refused, &job, &rows, found)),
    };
    let fields = fields(rows, &found.sources);
    Ok(Imported { job, secrets, fields, warnings })
}

/// Values of a chart are laid over one another, as Helm does; a file of any other system is a job by itself.
fn one_file(system: System, texts: &[Text], problems: &mut Vec<Problem>) {
    if let (false, Some(second)) = (matches!(system, System::StableHorovod | System::ElasticHorovod), texts.get(1)) {
        let span = Span { source: 1, start: 0, end: second.text.lines().next().map_or(0, str::len) };
        let what = if system == System::Slurm { "script" } else { "file" };
        let message = format!("a job is one {what}, and these are {}", texts.len());
        problems.push(Problem::new(&BAD_VALUE, span, message).hint("import them one at a time"));
    }
}

/// A script has no values to set.
fn script(texts: &[Text], options: &Options, desk: &mut Desk<'_>) {
    let [text] = texts else { return };
    let span = Span { source: 0, start: 0, end: text.text.len() };
    if !options.sets.is_empty() {
        let problem = Problem::new(&BAD_VALUE, span, "a script has no values for `--set`");
        return desk.problems.push(problem.hint("edit the script, or the job that comes of it"));
    }
    desk.whole = span;
    slurm::read(&text.text, span, desk);
}

/// The texts as one tree, later ones laid over earlier ones as Helm does, settings last.
fn values(system: System, texts: &[Text], options: &Options, found: &mut Problems) -> Option<Node> {
    let mut whole: Option<Node> = None;
    let empty = || Node { span: Span::default(), kind: Kind::Map(Vec::new()) };
    let sets = options.sets.iter().flat_map(|sets| settings(sets));
    let sets: Vec<Text> = sets.map(|set| Text { name: format!("--set {set}"), text: set.to_owned() }).collect();
    for (index, text) in texts.iter().enumerate() {
        let source = u32::try_from(index).unwrap_or(u32::MAX);
        let span = Span { source, start: 0, end: text.text.len() };
        let read = match system {
            System::KubeflowOpenmpi => Ok(params::read(&text.text, span, &mut found.list)),
            System::MpiJob => Ok(mpi_job::stream(&text.text, span, &mut found.list)),
            // What `helm get values` prints of a release that has none of its own.
            System::StableHorovod | System::ElasticHorovod if no_values(&text.text) => Ok(Some(empty())),
            _ if several(&text.text, span, &mut found.list) => Err(yaml::Unreadable),
            _ => yaml::parse(&text.text, span, &mut found.list),
        };
        match read {
            Ok(Some(node)) if matches!(node.kind, Kind::Map(_)) => match &mut whole {
                Some(whole) => yaml::merge(whole, node),
                None => whole = Some(node),
            },
            Ok(Some(node)) => {
                let message = format!("{} is {}, not a map of values", text.name, node.describe());
                found
                    .list
                    .push(Problem::new(&BAD_VALUE, node.span, message).hint("give the file that holds the values"));
            }
            Ok(None) | Err(yaml::Unreadable) => {}
        }
    }
    let mut whole = whole.unwrap_or_else(empty);
    for set in sets {
        let source = found.sources.add(&set.name, set.text.clone());
        lay(&mut whole, &set.text, source, &mut found.list);
    }
    if !found.any_error() {
        holes::check(&whole, options, &mut found.list);
    }
    (!found.any_error()).then_some(whole)
}

/// Whether a text has more documents than the one that holds the values, which is told.
fn several(text: &str, span: Span, problems: &mut Vec<Problem>) -> bool {
    let bodies = yaml::pieces(text).into_iter().map(|piece| piece.body);
    let mut said = bodies.filter_map(|body| Some(body.start + guess::content(&text[body])?));
    let Some(second) = said.nth(1) else { return false };
    let at = Span { start: second, end: second + 1, ..span };
    let message = "a second document begins here, and a job is made of one";
    problems.push(Problem::new(&BAD_VALUE, at, message).hint("give each in a file of its own"));
    true
}

/// Whether there is nothing below any key, as in `worker: {}`.
fn only_headings(values: &Node) -> bool {
    let Kind::Map(entries) = &values.kind else { return false };
    entries.iter().all(|entry| matches!(&entry.value.kind, Kind::Map(below) if below.is_empty()))
}

/// Whether a text is `null` alone, maybe below its heading.
fn no_values(text: &str) -> bool {
    let said = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.ends_with("VALUES:"));
    said.eq(["null"])
}

/// The settings of one `--set`, which Helm lets stand behind commas. A comma that begins none is of the value.
fn settings(sets: &str) -> Vec<&str> {
    let begins = |rest: &str| {
        let path = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_-./\\[]".contains(c));
        path.is_some_and(|end| end > 0 && rest[end..].starts_with('='))
    };
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in sets.match_indices(',') {
        if !sets[..at].ends_with('\\') && begins(&sets[at + 1..]) {
            found.push(&sets[start..at]);
            start = at + 1;
        }
    }
    found.push(&sets[start..]);
    found
}

/// Lays one `PATH=VALUE` over the values.
fn lay(whole: &mut Node, set: &str, source: u32, problems: &mut Vec<Problem>) {
    let Some((path, value)) = set.split_once('=') else {
        let span = Span { source, start: 0, end: set.len() };
        return problems
            .push(Problem::new(&BAD_VALUE, span, "`--set` takes PATH=VALUE").hint("write `--set worker.number=8`"));
    };
    let at = Span { source, start: 0, end: path.len() };
    let behind = Span { source, start: path.len() + 1, end: set.len() };
    let node = match braced(value, behind) {
        Some(list) => Ok(Some(list)),
        None => yaml::parse(value, behind, problems),
    };
    let Ok(node) = node else { return };
    let node = node.unwrap_or(Node { span: behind, kind: Kind::Scalar { text: String::new(), plain: false } });
    if let Err(why) = yaml::set(whole, path, at, node) {
        problems.push(Problem::new(&BAD_VALUE, at, why).hint("write a path such as `worker.image.tag`"));
    }
}

/// `{a,b}`, which is a list to Helm.
fn braced(value: &str, span: Span) -> Option<Node> {
    let inner = value.trim().strip_prefix('{')?.strip_suffix('}')?;
    let items = inner.split(',').filter(|_| !inner.is_empty());
    let scalar = |text: &str| Node { span, kind: Kind::Scalar { text: text.trim().to_owned(), plain: true } };
    Some(Node { span, kind: Kind::List(items.map(scalar).collect()) })
}

/// The new job is read as any other; what is wrong with it stops the import, for nobody wrote it by hand.
fn sound(job: &str) -> Result<Problems, Problems> {
    let text = Text { name: "the imported job".to_owned(), text: job.to_owned() };
    let found = pipeline::check(&text, &Inputs { keys: Keys::Masked, ..Inputs::default() });
    if found.list.iter().any(|problem| problem.severity == Severity::Error) { Err(found) } else { Ok(found) }
}

/// Rows come in the order of the texts, so each line of those is counted once.
fn fields(rows: Vec<ledger::Row>, sources: &Sources) -> Vec<Field> {
    let (mut of, mut at, mut line) = (None, 0, 0);
    let field = |row: ledger::Row| {
        let source = sources.get(row.span.source);
        let text = source.map_or("", |source| source.text.as_str()).as_bytes();
        if of != Some(row.span.source) {
            (of, at, line) = (Some(row.span.source), 0, source.map_or(1, |source| source.first_line));
        }
        let start = row.span.start.min(text.len());
        line += memchr::memchr_iter(b'\n', &text[at..start]).count();
        at = start;
        let file = source.map_or_else(String::new, |source| source.name.clone());
        let verdict = row.verdict.unwrap_or(Verdict::Lost).word();
        Field { path: row.path, file, line, verdict, to: row.to, note: row.note }
    };
    rows.into_iter().map(field).collect()
}

/// Every problem code of the importers.
pub fn codes() -> impl Iterator<Item = &'static Code> {
    CODES.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn settings_stand_behind_commas_as_helm_takes_them() {
        assert_eq!(settings("worker.number=8,worker.image.tag=x"), ["worker.number=8", "worker.image.tag=x"]);
        assert_eq!(settings("a={x,y},b[0].c=1"), ["a={x,y}", "b[0].c=1"]);
        assert_eq!(settings("a=x\\,b=1"), ["a=x\\,b=1"]);
        assert_eq!(settings("worker.number"), ["worker.number"]);
    }
}
