//! The command line: the options that all commands share, and the dispatch to one file per command in `cli/`.

mod agent;
mod cluster;
mod completions;
mod destination;
mod doctor;
mod edit;
mod environment;
mod explain;
mod fix;
mod fmt;
mod folder;
mod import;
mod init;
mod input;
mod keygen;
mod krm;
mod local;
mod man;
mod mode;
mod output;
mod pipe;
mod plan;
mod post_render;
mod program;
mod render;
mod schema;
mod seed;
mod show;
mod stdin_buffer;
mod template;
mod tips;
mod validate;
mod version;

use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, Parser, Subcommand};

use self::show::Screen;

const START: &str = "Start here:\n  \
    khorovod init mnist --gpu                    # writes a commented job.yaml\n  \
    khorovod plan                                # shows what it would run\n  \
    khorovod run                                 # runs it, with your kubectl\n  \
    khorovod render | kubectl apply -f -         # the same, without following it\n\n\
    Exit codes: 0 success, 1 problems in the input, a failed check or training,\n\
    2 wrong usage, 3 a file, a stream or the cluster cannot be read or written.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "khorovod",
    version,
    about = "Compile a short training spec into plain Kubernetes objects",
    after_help = format!("{START}\n\n{}", environment::HELP),
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// When to use colour: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    color: ColorChoice,
    /// Print no warnings, notes and reports of lost fields, only errors and the result
    #[arg(short, long, global = true, help_heading = "Global options")]
    quiet: bool,
}

/// The commands. clap declares the options of a command only if the command line names that command (`defer`), because
/// declaring the options of all commands takes time.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Write a commented spec to start from
    Init(init::Args),
    /// Report every problem in specs
    Validate(validate::Args),
    /// Show what specs would run, and what a change would do
    Plan(plan::Args),
    /// Turn specs into Kubernetes objects
    Render(render::Args),
    /// Run a job in the cluster: render, show what changes, apply, and follow
    Run(cluster::run::Args),
    /// Show what a job in the cluster is doing, and what it waits for
    Status(cluster::status::Args),
    /// Print the output of a job's launcher and ranks
    Logs(cluster::logs::Args),
    /// Show what a spec would change in the cluster
    Diff(cluster::diff::Args),
    /// End a job, after its ranks could save a checkpoint
    Stop(cluster::stop::Args),
    /// List the jobs in the cluster
    List(cluster::list::Args),
    /// Wait until a job is trained, runs, or has released its resources
    Wait(cluster::wait::Args),
    /// Apply the automatic fixes of problems in the files of specs
    Fix(fix::Args),
    /// Put the fields of specs into the canonical order, in their files
    Fmt(fmt::Args),
    /// Convert a job of another system to a TrainingJob
    Import(import::Args),
    /// Explain a problem code, a field or an exit code of a launcher
    Explain(explain::Args),
    /// Print an ssh Secret with new keys, for spec.ssh.secretName
    Keygen(keygen::Args),
    /// Replace the TrainingJobs in Helm's manifests by their objects
    PostRender(post_render::Args),
    /// Replace the TrainingJobs in a ResourceList by their objects, as a KRM function
    Krm(krm::Args),
    /// Print the JSON Schema of a spec
    Schema(schema::Args),
    /// Print completions for a shell, which also complete the names of jobs
    Completions(completions::Args),
    /// Print the manual page, or write all of them
    Man(man::Args),
    /// Check this machine: keys, kubectl, the cluster, Helm and plugins
    Doctor(doctor::Args),
    /// Print the version
    Version(version::Args),
}

/// Why a command failed.
#[derive(Debug)]
enum Failure {
    /// The input has problems, which have been printed: exit code 1.
    Problems,
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// A file, a stream or the cluster could not be read or written: exit code 3.
    File(String),
    /// A job of `run --local` has ended with this exit code. The process exits with the same code.
    Ended(u8),
}

type Outcome = Result<(), Failure>;

/// Runs the command that the command line names.
pub fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        post_render::save_usage_error(&error);
        tips::with_tip(error).exit()
    });
    let screen = Screen::new(cli.color, cli.quiet);
    let outcome = match cli.command {
        Command::Render(args) => render::run(args, &screen),
        Command::Plan(args) => plan::run(args, &screen),
        Command::Run(args) => cluster::run::run(&args, &screen),
        Command::Status(args) => cluster::status::run(args, &screen),
        Command::Logs(args) => cluster::logs::run(&args, &screen),
        Command::Diff(args) => cluster::diff::run(&args, &screen),
        Command::Stop(args) => cluster::stop::run(&args, &screen),
        Command::List(args) => cluster::list::run(args, &screen),
        Command::Wait(args) => cluster::wait::run(&args, &screen),
        Command::PostRender(args) => return post_render::run(&args, &screen),
        Command::Krm(args) => krm::run(&args, &screen),
        Command::Validate(args) => validate::run(args, &screen),
        Command::Import(args) => import::run(args, &screen),
        Command::Init(args) => init::run(&args, &screen),
        Command::Explain(args) => explain::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Fix(args) => fix::run(&args, &screen),
        Command::Fmt(args) => fmt::run(&args, &screen),
        Command::Doctor(args) => doctor::run(args),
        Command::Version(args) => version::run(args),
    };
    exit_code(outcome, &screen)
}

/// Prints the message of a failure, if it has one, and returns the exit code of the process.
fn exit_code(outcome: Outcome, screen: &Screen) -> ExitCode {
    let (code, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Problems) => return ExitCode::from(1),
        Err(Failure::Ended(code)) => return ExitCode::from(code),
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::File(message)) => (3, message),
    };
    screen.error(&message);
    ExitCode::from(code)
}

/// The whole command tree, for completions and manual pages.
fn command() -> clap::Command {
    Cli::command()
}

#[cfg(test)]
mod tests {
    use super::command;

    /// The texts after the options have manual line breaks. clap would break a line of more than 80 columns at an
    /// arbitrary word.
    #[test]
    fn help_fits_80_columns() {
        let mut all = command();
        all.build();
        let texts = std::iter::once(&all).chain(all.get_subcommands()).filter_map(|one| {
            let text = one.get_after_help()?.to_string();
            Some((one.get_name().to_owned(), text))
        });
        let mut seen = 0;
        for (name, text) in texts {
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{name}: {line}");
                seen += 1;
            }
        }
        assert!(seen > 60, "{seen}");
    }
}
