//! Tips for wrong usage. If a user types a command or an option of another program, the tip names the command of
//! khorovod or kubectl that does the same.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use khorovod::report::KINDS;

/// The commands that read specs and take their options.
const ON_SPECS: &[&str] = &["render", "plan", "validate", "post-render", "krm"];

/// Adds a tip to an error of the command line.
pub fn with_tip(mut error: clap::Error) -> clap::Error {
    let command = std::env::args().nth(1).unwrap_or_default();
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let tip = match (error.kind(), text(ContextKind::InvalidSubcommand), text(ContextKind::InvalidArg)) {
        (_, Some(word), _) => for_command(word),
        (ErrorKind::UnknownArgument, _, Some(option)) => {
            let has_suggestion = error.get(ContextKind::SuggestedArg).is_some();
            for_option(option, &command, has_suggestion)
        }
        (ErrorKind::ArgumentConflict, _, _) if error.to_string().contains("--file <FILE>") => Some(
            "name each spec once, with or without -f; to merge a file over the specs, use `--overlay FILE`".to_owned(),
        ),
        (_, _, Some("<SYSTEM>")) if error.get(ContextKind::SuggestedValue).is_none() => {
            Some("for other YAML, start with `khorovod init`; the page \"Frequently asked questions\" of the documentation lists which fields you can copy".to_owned())
        }
        _ => None,
    };
    if let Some(tip) = tip {
        // `schema` is similar to `scale`, but has another purpose.
        error.remove(ContextKind::SuggestedSubcommand);
        // The tip replaces clap's advice to write `--` before the option. With `--`, the option would become a file name.
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The tip for an option that `command` does not have.
fn for_option(option: &str, command: &str, has_suggestion: bool) -> Option<String> {
    let reads_specs = ON_SPECS.contains(&command);
    let tip = match option.split('=').next().unwrap_or_default() {
        "--format" | "--output-format" => "to choose a format, use `-o`, for example `-o json`",
        "-f" | "--filename" | "--values" if reads_specs => {
            "to merge a file over the specs, use `--overlay FILE`; `render`, `plan` and `validate` read specs with `-f FILE`"
        }
        "-R" | "-r" | "--recursive" if reads_specs || ["run", "diff", "fix", "fmt"].contains(&command) => {
            "name the files of a folder: `khorovod render jobs/*.yaml`; `-R` is an option of kubectl, for `kubectl apply -R -f DIR/`"
        }
        "--dry-run" => {
            "this command changes nothing in a cluster; `khorovod run --dry-run` prints what `run` would do, and \
             `khorovod diff --objects` asks the API server"
        }
        "-v" | "--verbose" | "--debug" if command == "plan" => "to print everything, use `khorovod plan --all`",
        "-v" | "--verbose" | "--debug" => {
            "there is no more output; `khorovod plan --all` describes the job, and `khorovod explain CODE` a problem"
        }
        "--image" | "--command" | "--args" | "--env" if reads_specs => {
            return Some(format!("to set a field of the spec, use for example `--set {}=VALUE`", &option[2..]));
        }
        _ if has_suggestion || !option.starts_with("--") => return None,
        _ if command == "init" => {
            "`khorovod init --help` lists the examples, such as `--gpu`, `--torchrun` and `--elastic`"
        }
        _ if reads_specs => "to set a field of the spec, use for example `--set workers.gpus=4`",
        _ => return None,
    };
    Some(tip.to_owned())
}

/// The tip for a word that is not a command.
fn for_command(word: &str) -> Option<String> {
    let ours = |line: &str| Some(format!("use `khorovod {line}`"));
    match word {
        "apply" | "submit" | "start" | "create" | "train" | "deploy" | "install" => ours("run job.yaml"),
        "upgrade" | "update" | "scale" | "edit" | "restart" | "rollout" => Some(
            "change the spec, see the effect with `khorovod diff job.yaml`, and apply it with `khorovod run job.yaml`".to_owned(),
        ),
        "cancel" | "kill" | "end" => ours("stop JOB"),
        "delete" | "uninstall" | "destroy" | "rm" => Some(format!(
            "end it with `khorovod stop JOB`, and delete its objects, but no claim, with: kubectl delete -l khorovod.dev/job=JOB {KINDS}"
        )),
        "log" | "attach" | "tail" => ours("logs JOB -f"),
        "ls" | "ps" | "get" | "top" | "jobs" => ours("list"),
        "watch" => ours("status JOB --watch"),
        "describe" | "show" | "events" => Some(
            "`khorovod status JOB` describes a job in the cluster, `khorovod plan` a spec, and `khorovod explain FIELD` a field"
                .to_owned(),
        ),
        "exec" | "ssh" | "shell" => Some("use kubectl: kubectl exec -it POD -- bash; `khorovod status JOB` names pods".to_owned()),
        "compare" => Some(
            "`khorovod diff job.yaml` compares with the cluster, and `khorovod plan --against OLD job.yaml` with an earlier spec"
                .to_owned(),
        ),
        "preflight" | "bench" | "benchmark" => Some(
            "the example examples/preflight checks and measures the hosts before a job: see the page \"Preflight and benchmark\" of the documentation".to_owned(),
        ),
        "lint" | "check" | "test" | "verify" => ours("validate job.yaml"),
        "format" | "tidy" => ours("fmt job.yaml"),
        "template" | "build" | "generate" | "compile" => ours("render job.yaml"),
        "convert" | "migrate" => ours("import SYSTEM FILE"),
        "new" => ours("init NAME"),
        "env" | "config" | "info" => ours("doctor"),
        _ if std::path::Path::new(word).is_file() => ours(&format!("plan {word}`, or `khorovod render {word}")),
        _ => None,
    }
}
