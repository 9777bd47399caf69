//! `khorovod explain`: what a problem code or a field means, offline.

use khorovod::show;

use super::{Failure, Outcome, output};

/// Say what a problem code or a field means
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod explain slots-above-gpus\n  \
    khorovod explain workers.shm\n  \
    khorovod explain spec")]
pub struct Args {
    /// A problem's code, or a field's path
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
