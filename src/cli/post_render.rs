//! `khorovod post-render`: replaces the TrainingJobs in the manifests that Helm passes through standard input.
//!
//! The whole stream is in memory until all TrainingJobs are checked, because a failure must leave standard output empty.
//! Helm 4 does not print what a post-renderer writes to standard error, so those messages are also saved to a file.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use khorovod::Inputs;
use khorovod::show::clean_line;

use super::output;
use super::seed::{self, Seed};
use super::show::Screen;
use super::stdin_buffer::StdinBuffer;
use super::{Failure, Outcome, environment, exit_code, input};

#[derive(Debug, clap::Args)]
#[command(after_help = "With Helm 3:\n  \
    helm install mnist ./chart \\\n    \
    --post-renderer khorovod --post-renderer-args post-render\n\
    With Helm 4, first install the plugin khorovod-post-render, a single file that\n\
    the page *With Helm* of the documentation contains:\n  \
    helm install mnist ./chart --post-renderer khorovod-post-render\n\
    To pass an option, add `--post-renderer-args`, for example\n\
    `--post-renderer-args --strict`.\n\n\
    Other manifests pass through unchanged, byte for byte. If there is an error,\n\
    nothing is printed to standard output. Helm 4 prints only `exited with error`:\n\
    read the file of --errors, or run it without Helm:\n  \
    helm template mnist ./chart | khorovod post-render\n\n\
    This command creates no ssh seed: give one, or name a Secret in ssh.secretName.")]
pub struct Args {
    #[command(flatten)]
    settings: input::Settings,
    /// Refuse a stream of more than MIB mebibytes
    #[arg(long, value_name = "MIB", default_value = "512", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Also write messages to FILE, if there are any [default: ~/.local/state/khorovod/post-render.txt]
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
}

pub fn run(args: &Args, screen: &Screen) -> ExitCode {
    if let Some(file) = args.errors.as_ref().filter(|file| file.is_file() && !is_error_file(file)) {
        let message = format!(
            "{} exists and was not written by --errors, which would replace it; name another file",
            file.display()
        );
        return exit_code(Err(Failure::Usage(message)), screen);
    }
    let file = args.errors.clone().or_else(default_file);
    // The messages of an earlier call are out of date, whether this call succeeds or fails.
    if let Some(file) = file.as_ref().filter(|file| file.is_file()) {
        let _ = fs::remove_file(file);
    }
    let outcome = replace(args, screen);
    let failed = outcome.is_err();
    let code = exit_code(outcome, screen);
    let messages = screen.messages();
    if let Some(file) = file.filter(|_| !messages.is_empty()) {
        match save(&file, &messages) {
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
    let stream = StdinBuffer::read(io::stdin().lock(), limit)?;
    output::lend(stream.bytes(), screen, |write| khorovod::expand("<stdin>", stream.bytes(), &inputs, write))
}

/// The file for messages, if `--errors` names no other.
fn default_file() -> Option<PathBuf> {
    seed::state("post-render.txt")
}

/// The first line of a file of messages. A file that begins differently is never replaced.
const HEAD: &str = "Messages of khorovod post-render:\n\n";

fn is_error_file(file: &Path) -> bool {
    fs::read(file).is_ok_and(|bytes| bytes.is_empty() || bytes.starts_with(HEAD.as_bytes()))
}

/// Saves messages to a file that only its owner can read, because they quote lines of the stream.
fn save(file: &Path, messages: &str) -> Outcome {
    let parent = output::parent(file);
    fs::create_dir_all(&parent).map_err(|error| output::cannot_write(file, &error))?;
    output::file(file, &format!("{HEAD}{messages}"), true)
}

/// If Helm runs this command as a plugin, prints the name of the file with the messages. Prints it to the terminal,
/// too, because Helm 4 does not print standard error.
fn point_to(file: &Path, screen: &Screen) {
    if std::env::var_os(environment::HELM_PLUGIN).is_none() {
        return;
    }
    let message = format!("the errors are in {}", file.display());
    screen.notice(&message);
    if !io::stderr().is_terminal()
        && let Ok(mut terminal) = fs::OpenOptions::new().write(true).open("/dev/tty")
    {
        let _ = writeln!(terminal, "khorovod: {}", clean_line(&message));
    }
}

/// Saves an error of the command line to the file for messages, because Helm 4 does not print it.
pub fn save_usage_error(error: &clap::Error) {
    if error.use_stderr()
        && std::env::args_os().nth(1).is_some_and(|command| command == "post-render")
        && let Some(file) = default_file()
    {
        let _ = save(&file, &error.to_string());
    }
}
