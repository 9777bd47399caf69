//! The command line: the options that all commands share, and the dispatch to one file per command in `cli/`.

mod completions;
mod environment;
mod explain;
mod folder;
mod import;
mod init;
mod input;
mod keygen;
mod krm;
mod man;
mod mode;
mod output;
mod pipe;
mod plan;
mod post_render;
mod render;
mod schema;
mod seed;
mod show;
mod stdin_buffer;
mod template;
mod validate;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory, Parser, Subcommand};

use self::show::Screen;

const START: &str = "Start here:\n  \
    khorovod init mnist --gpu                    # writes a commented job.yaml\n  \
    khorovod plan                                # shows what it would run\n  \
    khorovod render | kubectl apply -f -         # runs it\n\n\
    Exit codes: 0 success, 1 problems in the input, 2 wrong usage, 3 file error.";

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
    /// Print errors only
    #[arg(short, long, global = true, help_heading = "Global options")]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Validate(validate::Args),
    Plan(plan::Args),
    Render(render::Args),
    Import(import::Args),
    Explain(explain::Args),
    Keygen(keygen::Args),
    PostRender(post_render::Args),
    Krm(krm::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Why a command failed.
#[derive(Debug)]
enum Failure {
    /// The input has problems, which have been printed: exit code 1.
    Problems,
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// A file or stream could not be read or written: exit code 3.
    File(String),
}

type Outcome = Result<(), Failure>;

/// Runs the command that the command line names.
pub fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| {
        post_render::save_usage_error(&error);
        with_tip(error).exit()
    });
    let screen = Screen::new(cli.color, cli.quiet);
    let outcome = match cli.command {
        Command::Render(args) => render::run(args, &screen),
        Command::Plan(args) => plan::run(args, &screen),
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
    };
    exit_code(outcome, &screen)
}

/// Adds a tip to an error: the command of khorovod or kubectl that does what an unknown command of another program does, or
/// how to set a field.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let tip = match (error.get(ContextKind::InvalidSubcommand), error.get(ContextKind::InvalidArg)) {
        (Some(ContextValue::String(word)), _) => subcommand_tip(word),
        (_, Some(ContextValue::String(arg)))
            if arg == "<SYSTEM>" && error.get(ContextKind::SuggestedValue).is_none() =>
        {
            Some("for other YAML, start with `khorovod init`; docs/faq.md lists which fields you can copy".to_owned())
        }
        // Clap would suggest `--` before it, which makes it a file name.
        (_, Some(ContextValue::String(option)))
            if error.kind() == ErrorKind::UnknownArgument
                && option.starts_with("--")
                && error.get(ContextKind::SuggestedArg).is_none() =>
        {
            match std::env::args().nth(1).as_deref() {
                Some("render" | "plan" | "validate" | "post-render" | "krm") => {
                    Some("to set a field of the spec, use for example `--set workers.gpus=4`".to_owned())
                }
                _ => None,
            }
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn subcommand_tip(word: &str) -> Option<String> {
    let kubectl = |line: &str| Some(format!("khorovod does not connect to a cluster; use kubectl: {line}"));
    let ours = |line: &str| Some(format!("use `khorovod {line}`"));
    match word {
        "run" | "apply" | "submit" | "start" | "create" | "train" | "deploy" | "install" | "upgrade" => {
            kubectl("khorovod render | kubectl apply -f -")
        }
        "stop" | "cancel" | "kill" => kubectl("kubectl delete job -l khorovod.dev/job=NAME"),
        "delete" | "uninstall" => kubectl(
            "kubectl delete -l khorovod.dev/job=NAME statefulset,job,service,configmap,secret,networkpolicy,\
             serviceaccount,role,rolebinding",
        ),
        "logs" | "log" => kubectl("kubectl logs -l khorovod.dev/job=NAME --tail=-1 --prefix -f --max-log-requests=100"),
        "status" | "get" | "list" | "ls" | "ps" => kubectl("kubectl get job,pod -l khorovod.dev/job"),
        "diff" | "compare" => ours("plan --against OLD job.yaml"),
        "lint" | "check" | "test" | "verify" => ours("validate job.yaml"),
        "template" | "build" | "generate" | "compile" => ours("render job.yaml"),
        "convert" | "migrate" => ours("import SYSTEM FILE"),
        "new" => ours("init NAME"),
        "version" => ours("--version"),
        _ if std::path::Path::new(word).is_file() => ours(&format!("plan {word}`, or `khorovod render {word}")),
        _ => None,
    }
}

/// Prints the message of a failure, if it has one, and returns the exit code of the process.
fn exit_code(outcome: Outcome, screen: &Screen) -> ExitCode {
    let (code, message) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Problems) => return ExitCode::from(1),
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

    /// The texts after the options have manual line breaks; clap would break longer lines anywhere.
    #[test]
    fn help_fits_80_columns() {
        let all = command();
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
