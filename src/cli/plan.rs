//! `khorovod plan`: prints what a spec would run, and what a change would do to running jobs.

use std::path::PathBuf;

use khorovod::import::with_import_hint;
use khorovod::problem::Problems;
use khorovod::{Keys, Text, picture, show};

use super::show::Screen;
use super::{Failure, Outcome, input, output, seed, template};

/// Show what specs would run, and what a change would do
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod plan job.yaml\n  \
    git show main:job.yaml | khorovod plan --against - job.yaml\n  \
    khorovod plan --against deployed.yaml job.yaml   # OLD may be objects,\n  \
    khorovod plan --against rendered/ job.yaml       # or a folder of them\n  \
    khorovod plan --format json job.yaml | jq '.jobs[].ranks'\n  \
    khorovod plan --format svg -o job.svg job.yaml   # a picture of the job\n  \
    khorovod plan --template review.md.hbs --against old.yaml job.yaml\n  \
    khorovod plan --template-text '{{#each jobs}}{{job}}: {{ranks}} {{/each}}'\n\n\
    A template is in the language Handlebars; docs/ci.md lists fields and helpers.\n\n\
    -f and --set change only the new spec. If OLD used them as well, first render\n\
    OLD, and compare with the rendered objects:\n  \
    khorovod render --no-keys -f old/prod.yaml old/job.yaml >/tmp/old.yaml\n  \
    khorovod plan --against /tmp/old.yaml -f prod.yaml job.yaml")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    /// Compare with OLD, an earlier spec or rendered objects: which jobs restart, and why
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,
    /// The format of the plan; svg is a picture
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Print the plan with the Handlebars template in FILE
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "template_text"])]
    template: Option<PathBuf>,
    /// Print the plan with the Handlebars template TEXT
    #[arg(long, value_name = "TEXT", conflicts_with = "format")]
    template_text: Option<String>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Svg,
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let dash = |path: &PathBuf| path.as_os_str() == "-";
    let old_is_stdin = args.against.as_ref().is_some_and(dash);
    if old_is_stdin
        && (args.input.files.is_empty() || args.input.files.iter().chain(&args.input.settings.overlays).any(dash))
    {
        return Err(Failure::Usage("--against - reads standard input, so name the file of the new spec".to_owned()));
    }
    if args.against.is_some() && matches!(args.format, Format::Svg) {
        return Err(Failure::Usage(
            "--format svg shows one state of a job, not a change; leave out --against".to_owned(),
        ));
    }
    args.input.refuse_overwrite(args.output.as_deref())?;
    input::refuse_overwrite(args.against.iter().chain(&args.template), args.output.as_deref())?;
    let template = read_template(args.template, args.template_text, screen)?;
    let texts = args.input.texts(screen)?;
    let mut inputs = args.input.settings.inputs(screen)?;
    // A seed that is given must be valid, although no key is printed.
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
            return Err(Failure::Usage("--against compares with one new spec; name one FILE".to_owned()));
        };
        let old = input::read_all(&old, screen)?;
        let is_changed = !(inputs.overlays.is_empty() && inputs.sets.is_empty());
        if is_changed && !khorovod::is_rendered(&old) {
            screen.notice("-f and --set change only the new spec, not OLD");
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
    let value = || {
        let mut value = serde_json::json!({ "jobs": jobs });
        if let Some(changes) = &changes {
            value["changes"] = serde_json::json!(changes);
        }
        value
    };
    let text = match (template, args.format) {
        (Some(Text { name, text }), _) => template::render(&name, &text, value()).map_err(|message| {
            screen.error(&message);
            Failure::Problems
        })?,
        (None, Format::Text) => show::plan(&jobs, changes.as_deref()),
        (None, Format::Json) => format!("{:#}\n", value()),
        (None, Format::Svg) => picture::svg(&jobs),
    };
    match args.output.filter(|path| !dash(path)) {
        Some(path) => output::file(&path, &text, false),
        None => output::stdout(&text),
    }
}

/// The template, if the command line has one.
fn read_template(file: Option<PathBuf>, text: Option<String>, screen: &Screen) -> Result<Option<Text>, Failure> {
    let Some(path) = file else {
        return Ok(text.map(|text| Text { name: "--template-text".to_owned(), text }));
    };
    if path.as_os_str() == "-" {
        return Err(Failure::Usage("--template reads a file, not standard input; name one".to_owned()));
    }
    if path.to_string_lossy().contains("{{") && !path.exists() {
        return Err(Failure::Usage(
            "--template needs a file; for a template on the command line, use --template-text".to_owned(),
        ));
    }
    input::read(&path, screen).map(Some)
}
