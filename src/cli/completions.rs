//! `khorovod completions`: scripts with which a shell completes the command line.

use clap_complete::Shell;

use super::{Outcome, command, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod completions bash >~/.local/share/bash-completion/completions/khorovod\n  \
    khorovod completions zsh >\"${fpath[1]}/_khorovod\"\n  \
    khorovod completions fish >~/.config/fish/completions/khorovod.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "khorovod", &mut script);
    output::stdout(&String::from_utf8_lossy(&script))
}
