//! `khorovod fix`: applies the automatic fixes of problems, in place or as a diff.

use khorovod::problem::{Problems, count};
use khorovod::{Inputs, Keys, KubeVersion, Target};

use super::input::{self, Files};
use super::show::Screen;
use super::{Failure, Outcome, edit};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod fix --diff job.yaml   # shows the fixes and changes nothing\n  \
    khorovod fix job.yaml\n\n\
    A fix is the hint of a problem as an edit; the files are changed in place. It\n\
    never inserts an example for a value that is missing. Problems without a fix\n\
    are printed, and the exit code is then 1. With standard input, the fixed text is\n\
    printed.")]
pub struct Args {
    #[command(flatten)]
    files: Files,
    /// Print a unified diff, and change no file
    #[arg(long)]
    diff: bool,
    /// The Kubernetes version of the cluster, such as 1.34. An object that needs a newer one is an error: jobs need 1.26, and those with `runsIn: firstWorker` 1.31
    #[arg(long, value_name = "VERSION", default_value_t)]
    kube_version: KubeVersion,
    /// The target
    #[arg(long, value_name = "TARGET", default_value = "plain", value_parser = input::target())]
    target: &'static dyn Target,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    let inputs =
        Inputs { kube_version: args.kube_version, target: args.target, keys: Keys::Masked, ..Inputs::default() };
    let (mut problems, mut fixes): (Vec<Problems>, u64) = (Vec::new(), 0);
    for path in args.files.or_default()? {
        let text = input::read(&path, screen)?;
        let result = khorovod::fix(&text, &inputs);
        fixes += result.fixes as u64;
        edit::write(&path, &text, &result.text.text, args.diff)?;
        problems.push(result.problems);
    }
    screen.problems(&problems);
    let done = if args.diff { "can be fixed" } else { "fixed" };
    screen.notice(&format!("{} {done}", count(fixes, "problem")));
    if problems.iter().any(Problems::any_error) { Err(Failure::Problems) } else { Ok(()) }
}
