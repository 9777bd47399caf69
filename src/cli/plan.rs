//! `khorovod plan`: prints what a spec would run, and what a change would do to running jobs.

use std::path::PathBuf;

use khorovod::import::with_import_hint;
use khorovod::problem::Problems;
use khorovod::report::{Change, Effect};
use khorovod::{Keys, Text, picture, show};

use super::destination::{Destination, Format};
use super::show::Screen;
use super::{Failure, Outcome, input, output, seed, template};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod plan job.yaml\n  \
    git show main:job.yaml | khorovod plan --against - job.yaml\n  \
    khorovod plan --against deployed.yaml job.yaml   # OLD may be objects,\n  \
    khorovod plan --against rendered/ job.yaml       # or a folder of them\n  \
    khorovod plan --against old-jobs/ jobs/*.yaml    # all jobs of two folders\n  \
    khorovod plan --against old.yaml --fail-on restarts,refused job.yaml\n  \
    khorovod plan -o json job.yaml | jq '.jobs[].ranks'\n  \
    khorovod plan -o job.svg job.yaml                # a picture of the job\n  \
    khorovod plan --template review.md.hbs --against old.yaml job.yaml\n  \
    khorovod plan --template-text '{{#each jobs}}{{job}}: {{ranks}} {{/each}}'\n\n\
    A template is in the language Handlebars; docs/ci.md lists fields and helpers.\n\n\
    With --against, only the change is printed, and -o json prints both. -n and\n\
    --target also apply to an OLD that is a spec. If it is objects, their kinds show\n\
    the target that rendered them, and a notice is printed if it is another one.\n\n\
    --overlay and --set change only the new spec. If OLD used them as well, first\n\
    render OLD, and compare with the rendered objects:\n  \
    khorovod render --no-keys --overlay old/prod.yaml old/job.yaml >/tmp/old.yaml\n  \
    khorovod plan --against /tmp/old.yaml --overlay prod.yaml job.yaml\n\n\
    An empty OLD has no jobs, so all jobs are new.")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    /// Compare with OLD, an earlier spec or rendered objects: which jobs restart, and why
    #[arg(long, value_name = "OLD")]
    against: Option<PathBuf>,
    /// With --against: exit with 1 if a job has one of these effects, for example restarts,refused
    #[arg(long, value_name = "EFFECTS", value_enum, value_delimiter = ',', requires = "against")]
    fail_on: Vec<FailOn>,
    /// Print the plan with the Handlebars template in FILE
    #[arg(long, value_name = "FILE", conflicts_with = "template_text")]
    template: Option<PathBuf>,
    /// Print the plan with the Handlebars template TEXT
    #[arg(long, value_name = "TEXT")]
    template_text: Option<String>,
    /// Also print the objects, the host names and the defaults
    #[arg(long)]
    all: bool,
    /// Print text (the default), json or svg (a picture), or write to a file that ends in .txt, .json or
    /// .svg
    #[arg(short, long, value_name = "FORMAT|FILE", value_parser = Destination::<Form>::parser())]
    output: Option<Destination<Form>>,
}

/// An effect of a change, for `--fail-on`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// A new run replaces the current one
    Restarts,
    /// Kubernetes rejects a part of the change
    Refused,
    /// The job is no longer rendered
    Gone,
    /// The job is new
    New,
    /// Objects change and the run continues
    #[value(alias = "inPlace")]
    InPlace,
}

impl FailOn {
    fn applies_to(self, change: &Change) -> bool {
        match self {
            Self::Restarts => change.effect == Effect::Restarts,
            Self::Refused => !change.refused.is_empty(),
            Self::Gone => change.effect == Effect::Gone,
            Self::New => change.effect == Effect::New,
            Self::InPlace => change.effect == Effect::InPlace,
        }
    }
}

/// The format of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Svg,
}

impl Format for Form {
    const ALL: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json), ("svg", Self::Svg)];
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let dash = |path: &PathBuf| path.as_os_str() == "-";
    let old_is_stdin = args.against.as_ref().is_some_and(dash);
    if old_is_stdin
        && (args.input.files().is_empty() || args.input.files().iter().chain(&args.input.settings.overlays).any(dash))
    {
        return Err(Failure::Usage("--against - reads standard input, so name the file of the new spec".to_owned()));
    }
    let Destination { format, path } = args.output.unwrap_or_else(Destination::stdout);
    if args.against.is_some() && format == Form::Svg {
        return Err(Failure::Usage("svg shows one state of a job, not a change; leave out --against".to_owned()));
    }
    let has_template = args.template.is_some() || args.template_text.is_some();
    if has_template && path.is_none() && format != Form::Text {
        return Err(Failure::Usage("a template prints its own text; leave out the format, or name a file".to_owned()));
    }
    args.input.refuse_overwrite(path.as_deref())?;
    input::refuse_overwrite(args.against.iter().chain(&args.template), path.as_deref())?;
    let template = read_template(args.template, args.template_text, screen)?;
    let texts = args.input.texts(screen)?;
    let mut inputs = args.input.settings.inputs(screen)?;
    // A seed that is given must be valid, although no key is printed.
    seed::read_given_seed(args.input.settings.ssh_seed.as_deref())?;
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
        let new = &input::joined(&texts);
        let old = input::read_all(&old, screen)?;
        let target = inputs.target.name();
        if old.text.starts_with("#!") {
            return Err(Failure::Usage(format!(
                "{} is a batch script, and --against compares with a spec or with objects; name the spec that it was rendered from",
                old.name
            )));
        }
        if let Some(theirs) = khorovod::rendered_target(&old).filter(|theirs| theirs.name() != target) {
            screen.notice(&format!(
                "{} has objects of the target {theirs}, and is compared with the target {target}; to compare the same target, add --target {theirs}",
                old.name
            ));
        }
        let is_changed = !(inputs.overlays.is_empty() && inputs.sets.is_empty());
        if is_changed && !khorovod::is_rendered(&old) {
            screen.notice("--overlay and --set change only the new spec, not OLD");
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
    let text = match (template, format) {
        (Some(Text { name, text }), _) => template::render(&name, &text, value()).map_err(|message| {
            screen.error(&message);
            Failure::Problems
        })?,
        (None, Form::Text) => match &changes {
            Some(changes) => show::changes(changes),
            None => show::plan(&jobs, &args.input.render_command(), args.all),
        },
        (None, Form::Json) => format!("{:#}\n", value()),
        (None, Form::Svg) => picture::svg(&jobs),
    };
    output::text(&text, path.as_deref())?;
    let fails = |change: &Change| args.fail_on.iter().any(|effect| effect.applies_to(change));
    if changes.iter().flatten().any(fails) {
        return Err(Failure::Problems);
    }
    Ok(())
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
