//! `khorovod krm`: a KRM function for Kustomize, kpt and others. It reads a ResourceList from standard input and writes one
//! to standard output.

use std::io::{self, IsTerminal};
use std::path::Path;

use khorovod::Inputs;

use super::seed::Seed;
use super::show::Screen;
use super::{Failure, Outcome, input, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Kustomize runs it for a TrainingJob, or another configuration, with this\n\
    annotation:\n  \
    config.kubernetes.io/function: |\n    \
    exec: {path: /usr/local/bin/khorovod, args: [krm]}\n\n  \
    kustomize build --enable-alpha-plugins --enable-exec .\n\n\
    The objects of a TrainingJob in the functionConfig are added to the items; those\n\
    of a TrainingJob among the items replace it. All other items stay unchanged,\n\
    byte for byte; a list in JSON becomes YAML. Problems are also in the results.\n\n\
    This command creates no ssh seed: give one, or name a Secret in ssh.secretName.")]
pub struct Args {
    #[command(flatten)]
    settings: input::Settings,
}

pub fn run(args: &Args, screen: &Screen) -> Outcome {
    if io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "krm reads a ResourceList from standard input, as Kustomize and kpt write it; for a spec, use `khorovod render`"
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
    // The output includes the problems as `results`, so it is written even after a failure.
    output::stdout(&list)?;
    if found.any_error() { Err(Failure::Problems) } else { Ok(()) }
}
