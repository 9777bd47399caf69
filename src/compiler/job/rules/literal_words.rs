//! Rules about words of the command that a shell would change, but that reach the program unchanged.

use super::Case;
use crate::job::declare::EnvValue;
use crate::job::declare::scalars::{latin, shell_variable};
use crate::job::types::spec::{LauncherKind, Mpi, Spec};
use crate::problem::{Problem, Span, codes};
use crate::shell::base;
use crate::yaml::flow::quoted;
use crate::yaml::{Kind, Node};

codes! {
    /// A word that only a shell would interpret
    ///
    /// The words of a list are passed to the program unchanged: `$DATA` is not expanded, and `&&`, `|` and `>` are ordinary
    /// words. To use a shell, write the command as a string, which runs under `bash -c`:
    /// `command: python train.py --data $DATA`. In a list, write an option and its value as two words. Replace dashes and quotes
    /// that a word processor inserted. All of this also applies to `args`, `launcher.args` and `slurm.srun.args`. Values of `env` are literal,
    /// too: neither `$NAME` nor Kubernetes' `$(NAME)` is expanded. The text of a file in `code.files` is its content; if the text
    /// is a path, khorovod does not read the file at this path.
    Warning LITERAL_WORD = "literal-word";

    /// A command that runs in the background
    ///
    /// With `&` at the end of the command, bash exits with 0 immediately, and the rank counts as successful before it has
    /// trained. Remove the `&`, or end the command with `wait`.
    Warning NOT_WAITED_FOR = "not-waited-for";

    /// Arguments that the command does not read
    ///
    /// A command that is a text is a script for bash, and so is the word after `bash -c`. The script gets `args` as `"$@"`. If it
    /// does not use `"$@"`, the arguments have no effect: with `command: python train.py` and `args: [--lr, "0.1"]`, the program
    /// gets no arguments. Write a list, `[python, train.py]`, or the arguments in the script.
    Warning IGNORED_ARGS = "ignored-args";

    /// A variable of another system, which pods do not have
    ///
    /// Slurm and SkyPilot set variables such as `SLURM_PROCID` and `SKYPILOT_NODE_RANK`, and many clusters set `SCRATCH`. In
    /// pods they are empty, so every rank would act as the first rank. Use the variables of the launcher instead:
    /// torchrun sets `RANK`, `LOCAL_RANK` and `WORLD_SIZE`; Open MPI sets `OMPI_COMM_WORLD_RANK`,
    /// `OMPI_COMM_WORLD_LOCAL_RANK` and `OMPI_COMM_WORLD_SIZE`. Or set the variable in `env`. The same is true for a variable that
    /// only `slurm.setup` sets, because these lines run only under Slurm.
    Warning UNSET_VARIABLE = "unset-variable";
}

/// Whether a script reads its arguments.
fn reads_arguments(script: &str) -> bool {
    ["$@", "$*", "${@", "${*", "$#", "$1", "${1", "$0", "${0"].iter().any(|name| script.contains(name))
}

/// Reports `args` if the command is a shell script, and the script does not use its arguments.
fn ignored_args(command: &Node, args: &Node) -> Option<Problem> {
    let script = match &command.kind {
        Kind::Scalar { text, .. } => text.as_ref(),
        Kind::List(items) => {
            let words = texts(items);
            let [(_, program), (_, option), (_, script), ..] = words.as_slice() else { return None };
            (is_shell(program) && option.starts_with('-') && option.ends_with('c')).then_some(*script)?
        }
        Kind::Map(_) => return None,
    };
    let is_ignored = !args.items().is_empty() && !reads_arguments(script);
    is_ignored.then(|| {
        Problem::new(&IGNORED_ARGS, args.span, "the script in `command` does not read these arguments")
            .hint("write `\"$@\"` in the script where they belong, or write them there instead")
    })
}

/// Words that join commands or redirect output in a shell.
const OPERATORS: &[&str] = &["&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1", "&>"];
/// Shells, which interpret the words that follow.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "ash"];

/// Whether a program is a shell.
fn is_shell(program: &str) -> bool {
    SHELLS.contains(&base(program))
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(spec) = case.document.get("spec") else { return };
    if let Some(words) = spec.get("command") {
        command(case, words, problems);
        unset_variable(case, words, problems);
    }
    let shell = spec.get("command").is_some_and(|command| matches!(command.kind, Kind::Scalar { .. }));
    if let (Some(command), Some(args)) = (spec.get("command"), spec.get("args")) {
        problems.extend(ignored_args(command, args));
    }
    if let Some(args) = spec.get("args").filter(|_| !shell) {
        arguments(args, "write it in `command` as a string, which runs under bash", problems);
    }
    if let Some(args) = spec.get("launcher").and_then(|launcher| launcher.get("args")) {
        arguments(args, "write its value", problems);
    }
    let srun = spec.get("slurm").and_then(|slurm| slurm.get("srun")).and_then(|srun| srun.get("args"));
    if let Some(args) = srun {
        srun_options(args, problems);
    }
    for (name, value) in case.env() {
        if let EnvValue::Literal(text) = &value.value {
            problems.extend(value_of(&name.0, text, value.span));
        }
    }
    for (name, text) in case.body.code.iter().filter_map(|at| at.files.as_ref()).flat_map(|at| &at.0) {
        problems.extend(path_for_text(&name.0, &text.0, text.span));
    }
}

fn command(case: &Case<'_>, command: &Node, problems: &mut Vec<Problem>) {
    match &command.kind {
        Kind::Scalar { text, plain } => problems.extend(
            typeset(command.span, text, None)
                .or_else(|| invisible(command.span, text))
                .or_else(|| list_in_quotes(command.span, text).filter(|_| !plain))
                .or_else(|| cut_off(case, command, *plain))
                .or_else(|| report_option_on_own_line(command.span, text))
                .or_else(|| not_waited_for(command.span, text)),
        ),
        Kind::List(items) => {
            let words = texts(items);
            let Some((_, program)) = words.first() else { return };
            // If not all items are texts, the list cannot be written as one text.
            let whole = words.len() == items.len();
            let python = base(program).starts_with("python");
            // The shell may be preceded by `env`, `numactl` or a container runtime.
            let shell = words.iter().any(|(_, word)| is_shell(word));
            problems.extend(
                report_split_script(&words)
                    .or_else(|| no_script(&words))
                    .or_else(|| without_c(&words))
                    .or_else(|| assignment(&words)),
            );
            for (index, (item, word)) in words.iter().enumerate() {
                let found = typeset(item.span, word, Some(word))
                    .or_else(|| invisible(item.span, word))
                    .or_else(|| home(item.span, word).filter(|_| !shell))
                    .or_else(|| joined(item.span, word, index == 0 || index == 1 && python && !word.starts_with('-')))
                    .or_else(|| {
                        let is_last = index + 1 == items.len();
                        for_a_shell(item.span, word, is_last, as_text(&words).filter(|_| whole)).filter(|_| !shell)
                    });
                problems.extend(found);
            }
        }
        Kind::Map(_) => {}
    }
}

/// Reports a variable of Slurm, SkyPilot, PBS or a login node in a command that a shell interprets. Pods do not have
/// it.
fn unset_variable(case: &Case<'_>, command: &Node, problems: &mut Vec<Problem>) {
    if !case.spec.target.has_pods || case.body.env_from.is_some() {
        return;
    }
    let items = match &command.kind {
        Kind::Scalar { .. } => std::slice::from_ref(command),
        Kind::List(items) if items.first().and_then(Node::text).is_some_and(|word| SHELLS.contains(&word)) => {
            items.as_slice()
        }
        _ => return,
    };
    let is_foreign = |name: &str| {
        ["SLURM_", "SLURMD_", "SKYPILOT_", "PBS_"].iter().any(|prefix| name.starts_with(prefix)) || name == "SCRATCH"
    };
    let setup = field!(case.slurm.setup).map(|at| at.0.as_str());
    for item in items {
        let text = item.text().unwrap_or_default();
        // `${A:-1}` has a value even if the variable `A` is not set.
        let names = text.split('$').skip(1).map(|rest| {
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (&rest[..end], rest[end..].starts_with(':') || rest[end..].starts_with('-'))
        });
        let is_set = |name: &str| text.contains(&format!("{name}=")) || case.env().any(|(own, _)| own.0 == name);
        let mut found: Vec<&str> = Vec::new();
        for (name, _) in names.filter(|(name, has_default)| !has_default && !is_set(name)) {
            let by_setup = setup.is_some_and(|setup| sets(setup, name)) && !has_pod_variable(name);
            if (is_foreign(name) || by_setup) && !found.contains(&name) {
                found.push(name);
            }
        }
        for name in found {
            // Mark only the variable, because the text may have several lines.
            let written = case.texts.around(item.span).get(item.span.start..item.span.end).unwrap_or_default();
            let at = [format!("${name}"), format!("${{{name}")]
                .iter()
                .find_map(|text| Some((written.find(text)?, text.len())));
            let span = at.map_or(item.span, |(at, length)| {
                let start = item.span.start + at;
                Span { start, end: start + length, ..item.span }
            });
            problems.push(match setup.filter(|setup| sets(setup, name) && !is_foreign(name)) {
                Some(_) => {
                    let message =
                        format!("`${name}` is empty in pods: only `slurm.setup` sets it, and it runs only under Slurm");
                    Problem::new(&UNSET_VARIABLE, span, message).hint(format!("set `env.{name}`"))
                }
                None => {
                    let message = format!("`${name}` is empty: pods do not have this variable");
                    Problem::new(&UNSET_VARIABLE, span, message).hint(instead_of(name, case.spec))
                }
            });
        }
    }
}

/// Whether a script sets or exports a variable.
fn sets(script: &str, name: &str) -> bool {
    let words: Vec<&str> = script.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c)).collect();
    let is_export = |at: usize| words[..at].iter().rev().find(|word| !word.is_empty()) == Some(&"export");
    let mut all = words.iter().enumerate();
    all.any(|(at, word)| match word.split_once('=') {
        Some((set, _)) => set == name,
        None => *word == name && is_export(at),
    })
}

/// Whether pods may have a variable although the spec does not set it: from the image, or from the launcher.
fn has_pod_variable(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "HOME",
        "HOSTNAME",
        "LD_LIBRARY_PATH",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "PATH",
        "PWD",
        "PYTHONPATH",
        "RANK",
        "USER",
        "WORLD_SIZE",
    ];
    NAMES.contains(&name) || ["OMPI_", "PMI_", "PMIX_", "HOROVOD_", "PET_"].iter().any(|start| name.starts_with(start))
}

/// The hint for a variable of another system. It names the variable with the same meaning that the launcher sets.
fn instead_of(name: &str, spec: &Spec) -> String {
    let ranks = match spec.launcher.kind {
        LauncherKind::Torchrun => ["RANK", "LOCAL_RANK", "WORLD_SIZE"],
        LauncherKind::Jax | LauncherKind::Tensorflow => ["KHOROVOD_RANK", "KHOROVOD_LOCAL_RANK", "KHOROVOD_RANKS"],
        LauncherKind::Horovodrun => ["HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE"],
        _ if spec.launcher.mpi == Mpi::OpenMpi => {
            ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"]
        }
        _ => ["PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"],
    };
    let index = match name {
        "SLURM_PROCID" => 0,
        "SLURM_LOCALID" => 1,
        "SLURM_NTASKS" | "SLURM_NPROCS" => 2,
        "SCRATCH" | "SLURM_TMPDIR" | "SLURM_SUBMIT_DIR" => {
            return "write the `mountPath` of a volume of `storage`, or set the variable in `env`".to_owned();
        }
        "SKYPILOT_NODE_RANK" | "SLURM_NODEID" if spec.launcher.kind == LauncherKind::Torchrun => {
            return "use `$GROUP_RANK`, which torchrun sets".to_owned();
        }
        _ => return "khorovod starts the ranks itself: remove it, or set it in `env`".to_owned(),
    };
    format!("use `${}`, which the launcher sets", ranks[index])
}

/// Reports typographic dashes and quotes, such as `–` and `“`, which word processors insert instead of `--` and `"`. If `text` is
/// one word of a list, `whole` is this word.
fn typeset(span: Span, text: &str, whole: Option<&str>) -> Option<Problem> {
    let quote = |c: char| matches!(c, '“' | '”' | '‘' | '’');
    // Inside a word a typographic quote may be correct, as in `it’s`.
    let typed = |word: &str| {
        let inner = word.trim_matches(quote);
        match inner.strip_prefix(['–', '—']) {
            Some(option) => format!("--{}", option.trim_start_matches('-')),
            None if inner.len() < word.len() => format!("\"{inner}\""),
            None => word.to_owned(),
        }
    };
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = code.flat_map(str::split_whitespace).filter(|word| word.chars().any(char::is_alphanumeric));
    let word = words.find(|word| typed(word) != *word)?;
    let message = format!("`{word}` has the dashes or quotes of a word processor");
    let problem = Problem::new(&LITERAL_WORD, span, message).hint(format!("write `{}`", typed(word)));
    // In a list, the fix also removes the quotes: a shell would remove them, but a list runs without a shell.
    Some(match whole.filter(|whole| *whole == word) {
        Some(whole) => problem.fix(span, quoted(typed(whole).trim_matches(['"', '\'']))),
        None => problem,
    })
}

/// Reports a list in quotes: `'[python, train.py]'`.
fn list_in_quotes(span: Span, text: &str) -> Option<Problem> {
    let list = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    // `[ -f x ]` is not a list, but a test of the shell.
    let message = "the quotes turn this list into a string, which bash would run";
    let is_list = !list.starts_with(' ') && list.contains(',');
    is_list.then(|| Problem::new(&LITERAL_WORD, span, message).hint("remove the quotes").fix(span, text.trim()))
}

/// Reports a command that YAML ends before a `#`, as in `python train.py --tag #1`.
fn cut_off(case: &Case<'_>, command: &Node, plain: bool) -> Option<Problem> {
    let behind = case.texts.around(command.span).get(command.span.end..)?.lines().next()?;
    let comment = behind.trim_start().strip_prefix('#')?;
    let word = comment.split_whitespace().next().filter(|word| comment.starts_with(word))?;
    let message = format!("`#{word}` is a comment in YAML: the command ends before it");
    let hint = "put the command in quotes; or write a space after the `#`, if it is a comment";
    plain.then(|| Problem::new(&LITERAL_WORD, command.span, message).hint(hint))
}

/// Reports a line that begins with an option. bash does not add the option to the command of the line above.
fn report_option_on_own_line(span: Span, text: &str) -> Option<Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let ends = |line: &str| !line.trim_end().ends_with(['\\', '|', '&', '(']);
    let option = |line: &str| line.trim_start().starts_with("--") && line.trim_start().len() > 2;
    let (_, line) = lines.iter().zip(&lines[1.min(lines.len())..]).find(|(above, line)| ends(above) && option(line))?;
    let message = format!("`{}` begins a line: bash runs it as a separate command", line.trim());
    let hint = "end the line above with ` \\`; under `>`, indent all lines equally";
    // Within quotes or a here document, such a line may be correct.
    (!text.contains("<<") && text.matches(['"', '\'']).count() == 0)
        .then(|| Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// Reports a script whose last command runs in the background: `python train.py &`.
fn not_waited_for(span: Span, text: &str) -> Option<Problem> {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let last = text.lines().rfind(code)?.trim_end();
    let alone = last.strip_suffix('&')?.trim_end();
    let message = "because of the `&` at the end, bash and the rank exit immediately";
    let hint = "remove the `&`, or end the command with `wait`";
    (!alone.is_empty() && !alone.ends_with('&')).then(|| Problem::new(&NOT_WAITED_FOR, span, message).hint(hint))
}

/// Reports a script for `bash -c` that is split into words: `[bash, -c, python, train.py]`.
fn report_split_script(words: &[(&Node, &str)]) -> Option<Problem> {
    let at = words.iter().position(|(_, word)| is_shell(word))?;
    let [(_, flag), (script, first), (_, more), ..] = words.get(at + 1..)? else { return None };
    let cut = ["-c", "-lc", "-ec"].contains(flag) && !first.contains(char::is_whitespace) && !first.contains('$');
    let message = format!("the shell runs only `{first}`: `{more}` is not part of its script");
    let hint = "write the command as a string, without the shell: it runs under `bash -c`";
    cut.then(|| Problem::new(&LITERAL_WORD, script.span, message).hint(hint))
}

/// Reports `[sh, -c]` without a script.
fn no_script(words: &[(&Node, &str)]) -> Option<Problem> {
    let [.., (_, shell), (item, option)] = words else { return None };
    let message = format!("`{shell} {option}` needs a script, and no word follows");
    (is_shell(shell) && ["-c", "-lc", "-ec"].contains(option)).then(|| {
        Problem::new(&LITERAL_WORD, item.span, message)
            .hint("write the command as a string, without the shell: it runs under `bash -c`")
    })
}

/// Reports a script for a shell without `-c`, which the shell takes as the name of a file: `[bash, "a.sh; exit 0"]`.
fn without_c(words: &[(&Node, &str)]) -> Option<Problem> {
    let [(_, shell), (item, script), ..] = words else { return None };
    let is_script = !script.starts_with('-') && script.contains([';', '|', '&', '\n']);
    let message = format!("`{shell}` takes `{script}` as the name of a file, because `-c` does not precede it");
    (is_shell(shell) && is_script).then(|| {
        Problem::new(&LITERAL_WORD, item.span, message)
            .hint("write the command as a string, without the shell: it runs under `bash -c`")
    })
}

/// Reports a variable before the program, which only a shell sets: `[A=1, python, train.py]`.
fn assignment(words: &[(&Node, &str)]) -> Option<Problem> {
    let (item, word) = words.first()?;
    let (name, value) = word.split_once('=')?;
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !name.is_empty();
    let message = format!("`{word}` sets no variable here: it would be the name of the program");
    let hint = format!("remove it, and write `env: {{{name}: {}}}`", quoted(value));
    is_name.then(|| Problem::new(&LITERAL_WORD, item.span, message).hint(hint))
}

/// Reports `~/train.py`, which only a shell expands.
fn home(span: Span, word: &str) -> Option<Problem> {
    let message = format!("`~` in `{word}` is not expanded here: the program gets it unchanged");
    word.starts_with("~/").then(|| Problem::new(&LITERAL_WORD, span, message).hint("write the absolute path"))
}

/// Reports an invisible character, or one that changes the direction of text. A word with such a character differs from the word
/// that readers see.
fn invisible(span: Span, text: &str) -> Option<Problem> {
    let hidden = |c: &char| matches!(c, '\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let Some(found) = text.chars().find(hidden) else { return other_alphabet(span, text) };
    let message = format!("the command contains the invisible character U+{:04X}", u32::from(found));
    Some(Problem::new(&LITERAL_WORD, span, message).hint("type the word again, instead of pasting it"))
}

/// Reports a word with letters of two alphabets that look alike, such as Latin and Cyrillic. A word in one alphabet is not a
/// mistake.
fn other_alphabet(span: Span, text: &str) -> Option<Problem> {
    let is_mixed =
        |word: &&str| word.contains(|c: char| c.is_ascii_alphabetic()) && word.contains(|c: char| latin(c).is_some());
    let words = text.split(|c: char| !c.is_alphanumeric());
    let word = words.into_iter().find(is_mixed)?;
    let (other, ours) = word.chars().find_map(|c| Some((c, latin(c)?)))?;
    let message = format!("`{word}` contains `{other}` (U+{:04X}), which only looks like `{ours}`", u32::from(other));
    Some(Problem::new(&LITERAL_WORD, span, message).hint("type the word again, instead of pasting it"))
}

/// Reports several words that are written as one item of a list.
fn joined(span: Span, word: &str, first: bool) -> Option<Problem> {
    let (option, rest) = word.split_once(char::is_whitespace)?;
    if first && word.starts_with(['/', '.']) && !rest.trim_start().starts_with('-') {
        return None;
    }
    let is_option = option == "-m" || option.len() > 3 && option.starts_with("--") && !option.contains('=');
    if !first && !is_option {
        return None;
    }
    let parts: Vec<String> = word.split_whitespace().map(|word| format!("`{}`", quoted(word))).collect();
    let message = match first {
        true => format!("`{word}` is one word: there is no program with this name"),
        false => format!("`{word}` is one word: the program does not recognise the option `{option}`"),
    };
    let hint = format!("write separate words: {}", parts.join(", "));
    Some(Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// Reports a word that only a shell interprets. `text` is the whole command as one text, for the hint.
fn for_a_shell(span: Span, word: &str, is_last: bool, text: Option<String>) -> Option<Problem> {
    if word == "&" && is_last {
        let message = "`&` has no effect here: the program gets it as a word";
        let hint = "remove it: the job runs in the cluster, and the launcher waits for its ranks";
        return Some(Problem::new(&LITERAL_WORD, span, message).hint(hint));
    }
    // bash would run `$(RANK)` as a command, so the hint names `$RANK`.
    if let Some(name) = shell_variable(word).and_then(|open| open.strip_prefix("$(")?.strip_suffix(')'))
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    {
        let message = format!("`$({name})` is not expanded here: the program gets it unchanged");
        let hint = format!("write the command as a string, which runs under bash, with `${name}` instead");
        return Some(Problem::new(&LITERAL_WORD, span, message).hint(hint));
    }
    let message = match (OPERATORS.contains(&word), shell_variable(word)) {
        (true, _) => format!("`{word}` has no effect here: the program gets it as a word"),
        (false, Some(variable)) => format!("`{variable}` is not expanded here: the program gets it unchanged"),
        (false, None) => return None,
    };
    let hint = match text {
        Some(text) => format!("write the command as a string, which runs under bash: `command: {}`", quoted(&text)),
        None => "write the command as a string, which runs under bash".to_owned(),
    };
    Some(Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// The words as one text for bash. None if a word would need quotes.
fn as_text(words: &[(&Node, &str)]) -> Option<String> {
    let read = |word: &str| {
        OPERATORS.contains(&word)
            || shell_variable(word).is_some_and(|variable| word.replacen(variable, "", 1).chars().all(plain_letter))
            || word.chars().all(plain_letter)
    };
    let line: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
    line.iter().all(|word| read(word)).then(|| line.join(" "))
}

/// Whether a character needs no quotes in bash. `~` counts as such a character, because bash should expand it.
fn plain_letter(c: char) -> bool {
    c.is_alphanumeric() || "-_./:=,+@%^~".contains(c)
}

/// The items that are texts, each with its node.
fn texts(items: &[Node]) -> Vec<(&Node, &str)> {
    items.iter().filter_map(|item| Some((item, item.text()?))).collect()
}

/// Reports words of a list of arguments that reach the program unchanged. `way_out` is the hint for a variable.
fn arguments(list: &Node, way_out: &str, problems: &mut Vec<Problem>) {
    let Kind::List(items) = &list.kind else { return };
    for (item, word) in texts(items) {
        let open = || {
            let message = format!("`{}` is not expanded here: the program gets it unchanged", shell_variable(word)?);
            Some(Problem::new(&LITERAL_WORD, item.span, message).hint(way_out))
        };
        problems.extend(typeset(item.span, word, Some(word)).or_else(|| joined(item.span, word, false)).or_else(open));
    }
}

/// Reports words of `slurm.srun.args` that reach srun unchanged: an option with its value, as in `--cpu-bind cores`, and what
/// [`arguments`] reports.
fn srun_options(list: &Node, problems: &mut Vec<Problem>) {
    let Kind::List(items) = &list.kind else { return };
    for (item, word) in texts(items) {
        match word.split_once(char::is_whitespace) {
            Some((option, value)) if option.starts_with("--") && !option.contains('=') => {
                let right = quoted(&format!("{option}={}", value.trim()));
                let message = format!("`{word}` is one word: srun does not recognise the option");
                let problem = Problem::new(&LITERAL_WORD, item.span, message);
                problems.push(problem.hint(format!("write `{right}`")).fix(item.span, right));
            }
            _ => problems.extend(typeset(item.span, word, Some(word))),
        }
    }
}

/// Reports a value of `env` with a variable that only a shell would expand.
fn value_of(name: &str, text: &str, span: Span) -> Option<Problem> {
    let quotes = text.starts_with(['“', '”', '‘']) && text.ends_with(['“', '”', '’']);
    if quotes {
        return typeset(span, text, Some(text));
    }
    let open = shell_variable(text)?;
    let known = open.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"$(){}_".contains(&b));
    let message = format!("`{open}` is not expanded here: `{name}` has it unchanged");
    let hint = match name {
        "PATH" | "LD_LIBRARY_PATH" | "PYTHONPATH" => {
            format!("set it in the image, or in a `command` that is a string: `export {name}=…`")
        }
        _ => "write its value, or use the variable in a `command` that is a string".to_owned(),
    };
    known.then(|| Problem::new(&LITERAL_WORD, span, message).hint(hint))
}

/// Reports a file of `code.files` whose text is only a path: `train.py: ./train.py`.
fn path_for_text(name: &str, text: &str, span: Span) -> Option<Problem> {
    let (_, ending) = name.rsplit_once('.')?;
    let path = text.trim();
    let is_path =
        !path.contains(char::is_whitespace) && path.strip_suffix(ending).is_some_and(|rest| rest.ends_with('.'));
    let message = format!("the file `{name}` would contain only the text `{path}`: khorovod reads no files");
    let hint = format!("write the text of the file as a block after `{name}: |`, or put the file into the image");
    is_path.then(|| Problem::new(&LITERAL_WORD, span, message).hint(hint))
}
