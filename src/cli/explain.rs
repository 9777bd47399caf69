//! `khorovod explain`: the meaning of a problem code, a field, a value of a field or an exit code, without a network.

use khorovod::show;

use super::{Failure, Outcome, output};

#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  \
    khorovod explain slots-above-gpus\n  \
    khorovod explain workers.shm\n  \
    khorovod explain spec\n  \
    khorovod explain 42"
)]
pub struct Args {
    /// A problem code, the path of a field of a spec or of expectations (`expect.gpus`), or an exit code; `--codes`
    /// lists the problem codes
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
