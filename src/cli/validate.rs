//! `khorovod validate`: prints every problem, and no objects.

use std::path::PathBuf;

use khorovod::import::with_import_hint;
use khorovod::problem::Problems;
use khorovod::{Keys, show};

use super::show::Screen;
use super::{Failure, Outcome, input, output, render, seed};

/// Report every problem in specs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod validate jobs/*.yaml\n  \
    khorovod validate --strict --format github job.yaml   # marks lines on GitHub\n  \
    khorovod validate --format sarif -o khorovod.sarif job.yaml")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    /// The format of the problems
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Write to FILE (formats other than human)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Source lines with the wrong parts marked, on standard error
    Human,
    /// One JSON document
    Json,
    /// GitHub workflow commands
    Github,
    /// SARIF 2.1.0
    Sarif,
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    if args.output.is_some() && args.format == Format::Human {
        return Err(Failure::Usage(
            "--output needs --format json, github or sarif; human is for standard error".to_owned(),
        ));
    }
    args.input.refuse_overwrite(args.output.as_deref())?;
    let texts = args.input.texts(screen)?;
    let mut inputs = args.input.settings.inputs(screen)?;
    // A seed that is given must be valid, but a spec is also valid without one.
    seed::given(args.input.settings.ssh_seed.as_deref())?;
    inputs.keys = if args.input.settings.no_keys { Keys::LeftOut } else { Keys::Masked };
    let all: Vec<Problems> = texts.iter().map(|text| with_import_hint(khorovod::check(text, &inputs), text)).collect();
    let text = match args.format {
        Format::Human => None,
        Format::Json => Some(show::json(&all)),
        Format::Github => Some(show::github(&all)),
        Format::Sarif => Some(show::sarif(&all)),
    };
    match (text, args.output) {
        (None, _) => {
            screen.problems(&all);
            if all.iter().all(|problems| problems.list.is_empty()) {
                screen.notice("no problems");
            }
            // This is only a notice: each file may be for its own namespace.
            let rendered: Vec<_> = texts.iter().map_while(|text| khorovod::render(text, &inputs).ok()).collect();
            if let Some(both) = render::duplicate(&texts, &rendered) {
                screen.notice(&format!("{both}: in one namespace, one would overwrite the other"));
            }
        }
        (Some(text), Some(path)) if path.as_os_str() != "-" => output::file(&path, &text, false)?,
        (Some(text), _) => output::stdout(&text)?,
    }
    if all.iter().any(Problems::any_error) { Err(Failure::Problems) } else { Ok(()) }
}
