//! Tips for wrong usage: the command of khorovod or kubectl that does what a command or an option of another program does.

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
            Some("for other YAML, start with `khorovod init`; docs/faq.md lists which fields you can copy".to_owned())
        }
        _ => None,
    };
    if let Some(tip) = tip {
        // It replaces clap's advice to write `--` before the option, which would make it a file name.
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
        "--dry-run" => {
            "khorovod changes nothing in a cluster; to ask the API server, use \
             `khorovod render | kubectl apply --dry-run=server -f -`"
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
    let kubectl = |line: &str| Some(format!("khorovod does not connect to a cluster; use kubectl: {line}"));
    let ours = |line: &str| Some(format!("use `khorovod {line}`"));
    match word {
        "run" | "apply" | "submit" | "start" | "create" | "train" | "deploy" | "install" => {
            kubectl("khorovod render | kubectl apply -f -")
        }
        "upgrade" | "update" | "scale" | "edit" | "restart" | "rollout" => Some(
            "change the spec, see the effect with `khorovod plan --against OLD job.yaml`, and apply it: khorovod render | \
             kubectl apply -f -"
                .to_owned(),
        ),
        "stop" | "cancel" | "kill" => kubectl("kubectl delete job -l khorovod.dev/job=NAME"),
        "delete" | "uninstall" | "destroy" | "rm" => kubectl(&format!("kubectl delete -l khorovod.dev/job=NAME {KINDS}")),
        "logs" | "log" | "attach" | "tail" => {
            Some("`khorovod plan job.yaml` prints the command that follows the output of the job".to_owned())
        }
        "list" | "ls" | "ps" | "get" | "top" => {
            kubectl("kubectl get pods -l khorovod.dev/job -L khorovod.dev/job,khorovod.dev/run")
        }
        "status" | "wait" => kubectl("kubectl get pods,job,statefulset -l khorovod.dev/job=NAME"),
        "watch" => kubectl("kubectl get pods -l khorovod.dev/job=NAME --watch"),
        "describe" | "show" | "events" => Some(
            "`khorovod plan` describes a job and `khorovod explain FIELD` a field; for its pods, use kubectl: kubectl \
             describe pod -l khorovod.dev/job=NAME"
                .to_owned(),
        ),
        "exec" | "ssh" | "shell" => kubectl("kubectl exec -it POD -- bash"),
        "diff" | "compare" => Some(
            "to compare with an earlier spec or its objects, use `khorovod plan --against OLD job.yaml`; with the cluster: \
             khorovod render | kubectl diff -f -"
                .to_owned(),
        ),
        "preflight" | "bench" | "benchmark" => Some(
            "the example examples/preflight checks and measures the hosts before a job: docs/preflight.md".to_owned(),
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
