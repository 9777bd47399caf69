//! `khorovod krm`: a KRM function for Kustomize, kpt and others. A ResourceList comes on stdin and goes to stdout.

use std::io::{self, IsTerminal};
use std::path::Path;

use khorovod::Inputs;

use super::seed::Seed;
use super::show::Screen;
use super::{Failure, Outcome, input, output};

/// Replace the TrainingJobs of a ResourceList by their objects, as a KRM function
#[derive(Debug, clap::Args)]
#[command(after_help = "Kustomize runs it, where a TrainingJob or another configuration asks for it by\n\
    this annotation:\n  \
    config.kubernetes.io/function: |\n    \
    exec: {path: /usr/local/bin/khorovod, args: [krm]}\n\n  \
    kustomize build --enable-alpha-plugins --enable-exec .\n\n\
    A TrainingJob that is the functionConfig adds its objects to the items; one\n\
    among the items gives them its place. Every other item stays byte for byte. What\n\
    is wrong is in the results as well.\n\n\
    No ssh seed is made here: give one, or name a Secret in spec.ssh.secret.")]
pub struct Args {
    #[command(flatten)]
    settings: input::Settings,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    if io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "krm reads a ResourceList from standard input, as Kustomize and kpt write it; for a spec there is `khorovod render`"
                .to_owned(),
        ));
    }
    if args.settings.overlays.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage("standard input is the ResourceList, so an overlay cannot be `-`".to_owned()));
    }
    let seed = Seed::of(&args.settings, screen)?.unless_new();
    let inputs = Inputs { keys: seed.keys(), ..args.settings.inputs(screen)? };
    let (list, found) = khorovod::krm(&input::read(Path::new("-"), screen)?, &inputs);
    screen.problems([&found]);
    // The results are for the one who called, also of a failure.
    output::stdout(&list)?;
    if found.any_error() { Err(Failure::Problems) } else { Ok(()) }
}
