//! `khorovod plan`: what a spec would run, for a person.

use std::path::PathBuf;

use khorovod::import::with_import_hint;
use khorovod::problem::Problems;
use khorovod::{Keys, show};

use super::show::Screen;
use super::{Failure, Outcome, input, output, seed};

/// Show what specs would run, and what a change would do
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod plan job.yaml\n  \
    git show main:job.yaml | khorovod plan --against - job.yaml\n  \
    khorovod plan --against deployed.yaml job.yaml   # OLD may be objects,\n  \
    khorovod plan --against rendered/ job.yaml       # or a folder of them\n  \
    khorovod plan --format json job.yaml | jq '.jobs[].ranks'\n\n\
    OLD is taken as it was applied: -f and --set go over the new spec alone. Where\n\
    OLD had some too, render it first:\n  \
    khorovod render --no-keys -f old/prod.yaml old/job.yaml >/tmp/old.yaml\n  \
    khorovod plan --against /tmp/old.yaml -f prod.yaml job.yaml")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    /// Compare with OLD, an earlier spec or rendered output: what restarts, and why
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,
    /// How to show it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let dash = |path: &PathBuf| path.as_os_str() == "-";
    let old_is_stdin = args.against.as_ref().is_some_and(dash);
    if old_is_stdin
        && (args.input.files.is_empty() || args.input.files.iter().chain(&args.input.settings.overlays).any(dash))
    {
        return Err(Failure::Usage("--against - reads standard input, so name the new spec's file".to_owned()));
    }
    args.input.keep_from(args.output.as_deref())?;
    input::keep(&args.against, args.output.as_deref())?;
    let texts = args.input.texts(screen)?;
    let mut inputs = args.input.settings.inputs(screen)?;
    // A seed that was named must be one, though no key is shown here.
    seed::given(args.input.settings.ssh_seed.as_deref())?;
    inputs.keys = if args.input.settings.no_keys { Keys::LeftOut } else { Keys::Masked };

    let (mut jobs, mut changes) = (Vec::new(), None);
    let (mut warnings, mut problems): (Vec<Problems>, Vec<Problems>) = (Vec::new(), Vec::new());
    for text in &texts {
        match khorovod::reports(text, &inputs) {
            Ok(reports) => {
                jobs.extend(reports.jobs);
                warnings.push(reports.warnings);
            }
            Err(found) => problems.push(with_import_hint(found, text)),
        }
    }
    if let Some(old) = args.against.filter(|_| problems.is_empty()) {
        let [new] = texts.as_slice() else {
            return Err(Failure::Usage("--against compares with one new file; name one FILE".to_owned()));
        };
        let old = input::read_all(&old, screen)?;
        let laid_over = !(inputs.overlays.is_empty() && inputs.sets.is_empty());
        if laid_over && !khorovod::is_rendered(&old) {
            screen.notice("-f and --set go over the new spec alone; the old one is taken as it is");
        }
        match khorovod::changes(&old, new, &inputs) {
            Ok(found) => changes = Some(found),
            Err(found) => problems.push(found),
        }
    }
    screen.problems(warnings.iter().chain(&problems));
    if !problems.is_empty() {
        return Err(Failure::Problems);
    }
    let text = match args.format {
        Format::Text => show::plan(&jobs, changes.as_deref()),
        Format::Json => {
            let mut value = serde_json::json!({ "jobs": jobs });
            if let Some(changes) = changes {
                value["changes"] = serde_json::json!(changes);
            }
            format!("{value:#}\n")
        }
    };
    match args.output.filter(|path| !dash(path)) {
        Some(path) => output::file(&path, &text, false),
        None => output::stdout(&text),
    }
}
