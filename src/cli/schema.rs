//! `khorovod schema`: prints the JSON Schema of a kind of document, for editors.

use super::{Outcome, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "For completion and hover in an editor:\n  \
    khorovod schema > training-job.schema.json\n\n\
    and in the first line of a spec:\n  \
    # yaml-language-server: $schema=training-job.schema.json")]
pub struct Args {
    /// The kind of document
    #[arg(value_enum, value_name = "KIND", default_value = "training-job")]
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// A spec, of kind TrainingJob
    TrainingJob,
    /// A file for --expect, of kind Expectations
    Expectations,
}

pub fn run(args: &Args) -> Outcome {
    let schema = match args.kind {
        Kind::TrainingJob => khorovod::schema(),
        Kind::Expectations => khorovod::expectations_schema(),
    };
    output::stdout(&format!("{schema:#}\n"))
}
