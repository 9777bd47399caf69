//! `khorovod explain`: what a problem code, a field, a word it takes or an exit code means, offline.

use khorovod::show;

use super::{Failure, Outcome, output};

/// Say what a problem code, a field or a launcher's exit code means
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod explain slots-above-gpus\n  \
    khorovod explain workers.shm\n  \
    khorovod explain spec\n  \
    khorovod explain 42")]
pub struct Args {
    /// A problem's code, a field's path, or what a launcher ended with
    #[arg(value_name = "CODE|FIELD", required_unless_present = "codes")]
    topic: Option<String>,
    /// List every problem code
    #[arg(long, conflicts_with = "topic")]
    codes: bool,
}

pub fn run(args: &Args) -> Outcome {
    match &args.topic {
        Some(topic) => output::stdout(&show::explain(topic).map_err(Failure::Usage)?),
        None => output::stdout(&show::codes()),
    }
}
