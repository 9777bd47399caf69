//! `khorovod validate`: prints every problem, and no objects.

use khorovod::import::with_import_hint;
use khorovod::problem::Problems;
use khorovod::{Keys, Text, show};

use super::destination::{Destination, Format};
use super::show::Screen;
use super::{Failure, Outcome, input, output, render, seed};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod validate jobs/*.yaml\n  \
    khorovod validate --strict -o github job.yaml    # marks lines on GitHub\n  \
    khorovod validate -o khorovod.sarif job.yaml\n\n\
    A spec is also valid without a seed for the ssh keys, which `render` needs in\n\
    CI: `khorovod explain no-ssh-keys`.")]
pub struct Args {
    #[command(flatten)]
    input: input::Args,
    /// Print problems as text (the default; on standard error), json, github (workflow commands) or
    /// sarif (2.1.0), or write them to a file that ends in .json or .sarif
    #[arg(short, long, value_name = "FORMAT|FILE", value_parser = Destination::<Report>::parser())]
    output: Option<Destination<Report>>,
}

/// The format of the problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Report {
    Text,
    Json,
    Github,
    Sarif,
}

impl Format for Report {
    const ALL: &'static [(&'static str, Self)] =
        &[("text", Self::Text), ("json", Self::Json), ("github", Self::Github), ("sarif", Self::Sarif)];
}

pub fn run(args: Args, screen: &Screen) -> Outcome {
    let Destination { format, path } = args.output.unwrap_or_else(Destination::stdout);
    if path.is_some() && format == Report::Text {
        return Err(Failure::Usage(
            "the text of problems goes to standard error; for a file, use an ending such as .json or .sarif".to_owned(),
        ));
    }
    args.input.refuse_overwrite(path.as_deref())?;
    let texts = args.input.texts(screen)?;
    let mut inputs = args.input.settings.inputs(screen)?;
    // A seed that is given must be valid, but a spec is also valid without one.
    seed::read_given_seed(args.input.settings.ssh_seed.as_deref())?;
    inputs.keys = if args.input.settings.no_keys { Keys::LeftOut } else { Keys::Masked };
    let all: Vec<Problems> = texts.iter().map(|text| with_import_hint(khorovod::check(text, &inputs), text)).collect();
    let text = match format {
        Report::Text => None,
        Report::Json => Some(show::json(&all)),
        Report::Github => Some(show::github(&all)),
        Report::Sarif => Some(show::sarif(&all)),
    };
    match (text, path) {
        (None, _) => {
            screen.problems(&all);
            if all.iter().all(|problems| problems.list.is_empty()) {
                screen.success(&valid(&texts));
            }
            // Two files with the same object get a notice and not an error, because each file may be for its own
            // namespace.
            let rendered: Vec<_> = texts.iter().map_while(|text| khorovod::render(text, &inputs).ok()).collect();
            if let Some(both) = render::duplicate(&texts, &rendered) {
                screen.notice(&format!("{both}: in one namespace, one would overwrite the other"));
            }
        }
        (Some(text), Some(path)) => {
            // A program reads the file, so the user needs the problems on standard error, too.
            screen.problems(&all);
            output::file(&path, &text, false)?;
        }
        (Some(text), None) => output::stdout(&text)?,
    }
    if all.iter().any(Problems::any_error) { Err(Failure::Problems) } else { Ok(()) }
}

/// `job.yaml is valid`, or the number of valid files.
fn valid(texts: &[Text]) -> String {
    match texts {
        [one] => format!("{} is valid", one.name),
        all => format!("{} files are valid", all.len()),
    }
}
