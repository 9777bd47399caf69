//! `khorovod completions`: scripts with which a shell completes the command line. To complete names of jobs, namespaces
//! and contexts, the scripts call khorovod with the words of the command line.

use std::fs;
use std::path::Path;
use std::time::Duration;

use clap::ArgAction;
use clap_complete::Shell;

use super::program::{Answer, output_within};
use super::{Outcome, command, environment, output};

/// The longest time that a shell waits for names from the cluster.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    khorovod completions bash >~/.local/share/bash-completion/completions/khorovod\n  \
    khorovod completions zsh >\"${fpath[1]}/_khorovod\"\n  \
    khorovod completions fish >~/.config/fish/completions/khorovod.fish\n\n\
    In bash, zsh and fish, the names of jobs, namespaces and contexts are completed\n\
    too, with your kubectl, if the cluster answers within two seconds.")]
pub struct Args {
    /// The shell
    shell: Shell,
    /// The words of a command line, of which the last one is completed. Prints the names that fit
    #[arg(last = true, hide = true)]
    words: Option<Vec<String>>,
}

/// The functions that are added to clap's scripts. Each function first asks khorovod for names. If khorovod returns no
/// names, clap's function completes options, commands and files.
const BASH: &str = r#"
_khorovod_names() {
    local IFS=$'\n' cur=${COMP_WORDS[COMP_CWORD]} names
    [[ $cur != "=" ]] || cur=
    names=$(khorovod completions bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ -n $names ]]; then
        COMPREPLY=($(compgen -W "$names" -- "$cur"))
    else
        unset IFS
        _khorovod "$@"
    fi
}
complete -F _khorovod_names -o nosort -o bashdefault -o default khorovod 2>/dev/null ||
    complete -F _khorovod_names -o bashdefault -o default khorovod
"#;
const ZSH: &str = r#"
_khorovod_names() {
    local -a names
    names=(${(f)"$(khorovod completions zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#names )); then
        compset -P '--*='
        compadd -a names
    else
        _khorovod "$@"
    fi
}
compdef _khorovod_names khorovod
[ "$funcstack[1]" != "_khorovod" ] || _khorovod_names "$@"
"#;
/// The beginning of the last statement of clap's script for zsh. We leave this statement out, because it would complete
/// without the names of jobs.
const ZSH_END: &str = "\nif [ \"$funcstack[1]\" = \"_khorovod\" ]";
const FISH: &str = r"
function __khorovod_names
    khorovod completions fish -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c khorovod -a '(__khorovod_names)'
";

pub fn run(args: &Args) -> Outcome {
    if let Some(words) = &args.words {
        let lines: String = names(words).into_iter().map(|name| name + "\n").collect();
        return output::stdout(&lines);
    }
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "khorovod", &mut script);
    let own = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        _ => "",
    };
    let script = String::from_utf8_lossy(&script);
    let mut script = script.split_once(ZSH_END).map_or(&*script, |(start, _)| start).to_owned();
    if args.shell == Shell::Fish {
        let is_named = |line: &&str| line.contains(" -l namespace ") || line.contains(" -l context ");
        let line =
            |line| if is_named(&line) { format!("{line} -f -a '(__khorovod_names)'\n") } else { format!("{line}\n") };
        script = script.lines().map(line).collect();
    }
    output::stdout(&format!("{script}{own}"))
}

/// The part of the command line that the user completes.
#[derive(Debug, PartialEq, Eq)]
enum CompletionKind {
    Jobs,
    Namespaces,
    Contexts,
}

/// Reads the words of a command line after the name of the program. If the user completes the name of a job, a namespace or
/// a context, returns which of the three it is. Also returns the options for kubectl among the words, such as `--context`.
fn completion_kind(words: &[String]) -> Option<(CompletionKind, Vec<String>)> {
    // Bash splits words at `=`.
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "=").collect();
    let (current, before) = match words.split_last()? {
        (last, before) if last.starts_with("--") && last.contains('=') => (last.split_once('=')?, before),
        (last, before) => (("", *last), before),
    };
    let (name, rest) = before.split_first()?;
    let mut all = command();
    all.build();
    let subcommand = all.find_subcommand(name)?;
    let find = |word: &str| {
        let word = word.split('=').next().unwrap_or_default();
        subcommand.get_arguments().find(|arg| {
            let is_long = word.strip_prefix("--").is_some_and(|long| arg.get_long() == Some(long));
            is_long
                || word.len() == 2
                    && word.strip_prefix('-').is_some_and(|short| arg.get_short() == short.chars().next())
        })
    };
    let (mut options, mut positionals, mut open) = (Vec::new(), 0, None);
    for word in rest {
        if let Some(arg) = open.take() {
            add_kubectl_option(arg, word, &mut options);
        } else if let Some(arg) = find(word) {
            match word.split_once('=') {
                Some((_, value)) => add_kubectl_option(arg, value, &mut options),
                None if matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) => open = Some(arg),
                None => {}
            }
        } else if !word.starts_with('-') {
            positionals += 1;
        }
    }
    let arg = match (open, current) {
        (None, ("", word)) if word.starts_with('-') => return None,
        (None, ("", _)) if positionals > 0 => return None,
        (None, ("", _)) => subcommand.get_positionals().next()?,
        (Some(arg), _) => arg,
        (None, (option, _)) => find(option)?,
    };
    let completion_kind = match arg.get_id().as_str() {
        "job" => CompletionKind::Jobs,
        "namespace" => CompletionKind::Namespaces,
        "context" => CompletionKind::Contexts,
        _ => return None,
    };
    Some((completion_kind, options))
}

/// Adds an option that kubectl needs too.
fn add_kubectl_option(arg: &clap::Arg, value: &str, options: &mut Vec<String>) {
    if let id @ ("namespace" | "context" | "kubeconfig") = arg.get_id().as_str() {
        options.push(format!("--{id}={value}"));
    }
}

/// The names that complete a command line, or an empty list if kubectl fails.
fn names(words: &[String]) -> Vec<String> {
    let Some((completion_kind, options)) = completion_kind(words) else { return Vec::new() };
    let call: &[&str] = match completion_kind {
        CompletionKind::Jobs => &[
            "get",
            "configmaps",
            "--selector=khorovod.dev/job,!khorovod.dev/run",
            r"--output=jsonpath={range .items[*]}{.metadata.labels.khorovod\.dev/job}{'\n'}{end}",
        ],
        CompletionKind::Namespaces => {
            &["get", "namespaces", "--output=jsonpath={range .items[*]}{.metadata.name}{'\\n'}{end}"]
        }
        CompletionKind::Contexts => &["config", "get-contexts", "--output=name"],
    };
    let args: Vec<&str> = options.iter().map(String::as_str).chain(call.iter().copied()).collect();
    let answer = output_within(&environment::kubectl().to_string_lossy(), &args, PATIENCE);
    let mut names: Vec<String> = match answer {
        Answer::Output(text) => text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    // Instead of the name of a job, commands also take the file of its spec. If there are no names, the shell completes files.
    if completion_kind == CompletionKind::Jobs && !names.is_empty() {
        let files = fs::read_dir(".").into_iter().flatten().flatten();
        let files = files.filter_map(|entry| entry.file_name().into_string().ok());
        names.extend(
            files.filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "yaml" || ending == "yml")),
        );
    }
    let current = words.last().map_or("", String::as_str);
    let current = current.rsplit('=').next().unwrap_or_default();
    names.retain(|name| name.starts_with(current));
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(CompletionKind, Vec<String>)> {
        completion_kind(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_last_word_of_a_command_line() {
        for (line, expected) in [
            ("status ", Some(CompletionKind::Jobs)),
            ("status mn", Some(CompletionKind::Jobs)),
            ("logs --rank 3 -f ", Some(CompletionKind::Jobs)),
            ("logs --rank ", None),
            ("status mnist ", None),
            ("status --wat", None),
            ("status mnist -n ", Some(CompletionKind::Namespaces)),
            ("render --namespace=te", Some(CompletionKind::Namespaces)),
            ("render --namespace = te", Some(CompletionKind::Namespaces)),
            ("list --context ", Some(CompletionKind::Contexts)),
            ("render jo", None),
            ("st", None),
            ("unknown ", None),
        ] {
            assert_eq!(of(line).map(|(completion_kind, _)| completion_kind), expected, "{line}");
        }
        let (_, options) = of("stop -n team-a --context=c --now ").unwrap();
        assert_eq!(options, ["--namespace=team-a", "--context=c"]);
    }
}
