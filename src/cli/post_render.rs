//! `khorovod post-render`: between Helm and the cluster. A stream of anybody's documents comes on stdin and goes to stdout
//! with ours replaced by objects.
//!
//! All of it is held until ours are checked, as a failure must leave stdout empty. Helm 4 shows nobody what a
//! post-renderer says on stderr, so that is kept in a file as well.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use khorovod::Inputs;
use khorovod::show::clean_line;

use super::held::Held;
use super::output;
use super::seed::{self, Seed};
use super::show::Screen;
use super::{Failure, Outcome, environment, exit_code, input};

/// Replace the TrainingJobs among Helm's manifests by their objects
#[derive(Debug, clap::Args)]
#[command(after_help = "Helm 3 runs it as it is:\n  \
    helm install mnist ./chart \\\n    \
    --post-renderer khorovod --post-renderer-args post-render\n\
    Helm 4 wants the plugin in plugin/helm4-post-renderer first:\n  \
    helm install mnist ./chart --post-renderer khorovod-post-render\n\
    Options follow as further `--post-renderer-args`, such as\n\
    `--post-renderer-args --strict`.\n\n\
    Everything but TrainingJobs passes byte for byte: comments, order, separators,\n\
    line ends. On any error nothing is printed. Where Helm says no more than `exited\n\
    with error`, as Helm 4 does, read the file of --errors, or do it by hand:\n  \
    helm template mnist ./chart | khorovod post-render\n\n\
    No ssh seed is made here, as nobody would see it being made: give one, or name a\n\
    Secret in spec.ssh.secret.")]
pub struct Args {
    #[command(flatten)]
    settings: input::Settings,
    /// Refuse a stream of more than MIB mebibytes
    #[arg(long, value_name = "MIB", default_value = "512", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Keep what is said in FILE too [default: ~/.local/state/khorovod/post-render.txt]
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
}

pub fn run(args: &Args, screen: &Screen) -> ExitCode {
    if let Some(file) = args.errors.as_ref().filter(|file| file.is_file() && !is_ours(file)) {
        let message = format!(
            "{} is there already and was not written by --errors, which would replace it; name another file",
            file.display()
        );
        return exit_code(Err(Failure::Usage(message)), screen);
    }
    let file = args.errors.clone().or_else(default_file);
    // What an earlier run said is no longer true, however this one ends.
    if let Some(file) = file.as_ref().filter(|file| file.is_file()) {
        let _ = fs::remove_file(file);
    }
    let outcome = replace(args, screen);
    let failed = outcome.is_err();
    let code = exit_code(outcome, screen);
    let said = screen.said();
    if let Some(file) = file.filter(|_| !said.is_empty()) {
        match keep(&file, &said) {
            Ok(()) if failed => point_to(&file, screen),
            Err(Failure::File(message)) if args.errors.is_some() => screen.error(&message),
            _ => {}
        }
    }
    code
}

fn replace(args: &Args, screen: &Screen) -> Outcome {
    if io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "post-render reads manifests from standard input: helm template CHART | khorovod post-render".to_owned(),
        ));
    }
    if args.settings.overlays.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage(
            "standard input is the stream of manifests, so an overlay cannot be `-`".to_owned(),
        ));
    }
    let seed = Seed::of(&args.settings, screen)?.unless_new();
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX).saturating_mul(1 << 20);
    let inputs = Inputs { keys: seed.keys(), limit, ..args.settings.inputs(screen)? };
    let stream = Held::read(io::stdin().lock(), limit)?;
    output::lend(stream.bytes(), screen, |write| khorovod::expand("<stdin>", stream.bytes(), &inputs, write))
}

/// Where what was said is kept unless another place is named.
fn default_file() -> Option<PathBuf> {
    seed::state("post-render.txt")
}

/// The first line of a file of ours, so that no other is ever replaced.
const HEAD: &str = "khorovod post-render said:\n\n";

fn is_ours(file: &Path) -> bool {
    fs::read(file).is_ok_and(|bytes| bytes.is_empty() || bytes.starts_with(HEAD.as_bytes()))
}

/// Keeps what was said, for its owner alone: lines of the stream stand in it.
fn keep(file: &Path, said: &str) -> Outcome {
    let parent = output::parent(file);
    fs::create_dir_all(&parent).map_err(|error| output::cannot_write(file, &error))?;
    output::file(file, &format!("{HEAD}{said}"), true)
}

/// Tells of the file, where Helm 4 runs this: on the terminal too, as it swallows stderr.
fn point_to(file: &Path, screen: &Screen) {
    if std::env::var_os(environment::HELM_PLUGIN).is_none() {
        return;
    }
    let message = format!("what is wrong stands in {}", file.display());
    screen.notice(&message);
    if !io::stderr().is_terminal()
        && let Ok(mut terminal) = fs::OpenOptions::new().write(true).open("/dev/tty")
    {
        let _ = writeln!(terminal, "khorovod: {}", clean_line(&message));
    }
}

/// Keeps what is wrong with the command line itself, which nobody would see under Helm 4 either.
pub fn keep_usage(error: &clap::Error) {
    if error.use_stderr()
        && std::env::args_os().nth(1).is_some_and(|command| command == "post-render")
        && let Some(file) = default_file()
    {
        let _ = keep(&file, &error.to_string());
    }
}
