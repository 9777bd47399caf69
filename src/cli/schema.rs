//! `khorovod schema`: prints the JSON Schema of a spec, for editors.

use super::{Outcome, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "For completion and hover in an editor:\n  \
    khorovod schema > training-job.schema.json\n\n\
    and in the first line of a spec:\n  \
    # yaml-language-server: $schema=training-job.schema.json")]
pub struct Args {}

pub fn run(_: &Args) -> Outcome {
    output::stdout(&format!("{:#}\n", khorovod::schema()))
}
