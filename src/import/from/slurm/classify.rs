//! Classifies the commands of a batch script by their purpose.

use serde_json::Value as Json;

use super::known_programs::{INSTALLS, SHOWS};
use super::{options, srun_program};
use crate::launch::command_line::{self, Line};
use crate::launch::options as launchers;
use crate::option_table::has_word;
use crate::shell_text::{self, Hidden, marked};
use khorovod_compiler::shell::{self, CommandKind, Joint, Plain as Word, Statement, is_name, words};

/// The purpose of a line.
#[derive(Debug, PartialEq)]
pub enum Kind {
    /// `module load` with the names of the modules. None for another command of `module`, whose order matters.
    Module(Option<Vec<String>>),
    /// Assignments. The value is None if a shell has to compute it.
    Assign(Vec<(String, Option<String>)>),
    /// `export` of variables without values.
    Export(Vec<String>),
    /// `cd` to an absolute path.
    Folder(String),
    /// `cd` to the folder in which the user called sbatch.
    Start,
    /// A command that builds or installs something.
    Installs,
    /// A command that only prints something.
    Shows,
    /// `exit` or `wait`.
    Ends,
    /// `set` with flags for errors and tracing.
    Flags,
    /// An interactive Python.
    Python,
    /// Options of an srun or salloc that opens a shell.
    Options(Vec<String>),
    /// A line that starts ranks.
    Launch(Box<Srun>),
    /// A program without a launcher.
    Program,
    Other,
}

/// A line that starts ranks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Srun {
    /// The launcher's line. If srun starts the program itself, the program's line.
    pub line: String,
    /// Whether srun starts the program of the line.
    pub srun: bool,
    pub options: Vec<String>,
    /// Options of srun that only the script can compute.
    pub unknown: Vec<String>,
    /// Whether the line is a program without a launcher, which runs once on the first node.
    pub is_without_launcher: bool,
    /// The variables that are assigned before the program, as in `A=1 srun …`.
    pub env: Vec<(String, String)>,
    /// The redirections or the pipe that receive the output of the line.
    pub lost: Option<String>,
    /// The commands that end the script with an error if the line fails.
    pub ends: Option<String>,
    /// The program, if it is not a part of `line`.
    pub program: Option<Json>,
}

impl Srun {
    /// A line that a shell or a launcher runs.
    fn of(line: &str) -> Self {
        Self { line: line.to_owned(), ..Self::default() }
    }

    /// A line with a program without a launcher.
    pub fn without_launcher(line: &str) -> Self {
        Self { is_without_launcher: true, ..Self::of(line) }
    }

    fn kind(self) -> Kind {
        Kind::Launch(Box::new(self))
    }
}

/// Classifies a line whose comments are already removed and whose variables are already replaced.
pub fn kind(text: &str) -> Kind {
    let text = text.trim();
    let text = text.strip_prefix("$ ").unwrap_or(text);
    let script = shell::parse(text);
    match script.statements.as_slice() {
        [] => Kind::Assign(Vec::new()),
        [statement] => of_statement(text, statement),
        _ => Kind::Other,
    }
}

/// Classifies a statement. If the rest of the statement only writes the output into a file, or ends the script after an
/// error, the first command decides.
fn of_statement(text: &str, statement: &Statement) -> Kind {
    let first = &statement.commands[0];
    let CommandKind::Simple { assignments, words } = &first.kind else { return Kind::Other };
    if first.redirections.is_empty() && statement.only().is_some() && !statement.is_background {
        return simple(&text[first.span.clone()]);
    }
    let given = shell_text::assignments(text, first);
    if !given.is_empty() && first.redirections.is_empty() && only_shows(text, statement, 1) {
        return Kind::Assign(given.into_iter().map(|assignment| (assignment.name, None)).collect());
    }
    let ends = assignments.iter().map(|assignment| &assignment.word).chain(words).map(|word| word.span.end);
    let all = ends.clone().max().unwrap_or(first.span.start);
    let start = first.redirections.iter().map(|redirection| redirection.span.start).fold(all, usize::min);
    // A redirection between the words of a command stays in the line.
    let head = text[first.span.start..start].trim_end();
    let tail = text[first.span.start + head.len()..].trim();
    let keeps_output = start == all && only_keeps_output(text, statement);
    match simple(head) {
        Kind::Launch(launch) if tail == "&" => Kind::Launch(launch),
        Kind::Launch(launch) if only_ends(text, statement) => Srun { ends: Some(tail.to_owned()), ..*launch }.kind(),
        Kind::Launch(launch) if keeps_output => Srun { lost: Some(tail.to_owned()), ..*launch }.kind(),
        Kind::Launch(launch) => Srun { line: text.to_owned(), srun: false, ..*launch }.kind(),
        Kind::Program if only_ends(text, statement) => {
            Srun { ends: Some(tail.to_owned()), ..Srun::without_launcher(head) }.kind()
        }
        Kind::Program if keeps_output => Srun { lost: Some(tail.to_owned()), ..Srun::without_launcher(head) }.kind(),
        Kind::Program => Srun::without_launcher(text).kind(),
        Kind::Shows | Kind::Ends if only_shows(text, statement, 0) => Kind::Shows,
        // `cd DIR || exit 1` counts as `cd DIR`, because the new job also ends if the folder does not exist.
        kind @ (Kind::Folder(_) | Kind::Start) if only_ends(text, statement) => kind,
        _ => Kind::Other,
    }
}

/// Whether the rest of a statement after its first command only writes the output into files or to `tee`.
fn only_keeps_output(text: &str, statement: &Statement) -> bool {
    let tee = statement.commands[1..].iter().all(|command| match &command.kind {
        CommandKind::Simple { assignments, words } => {
            assignments.is_empty() && words.first().and_then(|word| word.literal(text)) == Some("tee")
        }
        _ => false,
    });
    let written = statement.commands.iter().flat_map(|command| &command.redirections);
    let plain = |text: &str| !text.contains(['`', '(']);
    tee && statement.joints.iter().all(|joint| *joint == Joint::Pipe)
        && written.clone().all(|redirection| {
            let operator = &text[redirection.operator.clone()];
            operator.contains('>') && !operator.contains('<') && plain(&text[redirection.span.clone()])
        })
        && plain(&text[statement.commands[0].span.end..statement.span.end])
}

/// Whether a statement ends the script with an error if its first command fails, and does nothing more: `cd a || exit 1`.
fn only_ends(text: &str, statement: &Statement) -> bool {
    let last = statement.commands.last().map_or("", |command| &text[command.span.clone()]);
    let fails = last == "exit" || last.strip_prefix("exit ").is_some_and(|code| code.trim() != "0");
    !statement.is_background
        && fails
        && statement.joints.first() == Some(&Joint::Or)
        && statement.joints[1..].iter().all(|joint| *joint == Joint::And)
        && statement.commands[0].redirections.is_empty()
        && only_shows(text, statement, 1)
}

/// Whether the commands of a statement, from index `from` on, only print something and write no file.
fn only_shows(text: &str, statement: &Statement, from: usize) -> bool {
    statement.commands[from..].iter().all(|command| {
        let CommandKind::Simple { words, .. } = &command.kind else { return false };
        let ends = words.iter().map(|word| word.span.end).max().unwrap_or(command.span.start);
        let writes_none = command.redirections.iter().all(|redirection| {
            let target = &text[redirection.target.span.clone()];
            let operator = &text[redirection.operator.clone()];
            operator.ends_with('&') || target == "/dev/null" || operator.ends_with('<')
        });
        writes_none && matches!(simple(&text[command.span.start..ends]), Kind::Shows | Kind::Ends)
    })
}

/// Classifies a simple command without redirections.
fn simple(text: &str) -> Kind {
    let Some(all) = words(text) else { return of_shell(text) };
    let before = all.iter().take_while(|word| pair(word).is_some()).count();
    let (assigned, rest) = all.split_at(before);
    let Some(first) = rest.first() else {
        return Kind::Assign(assigned.iter().filter_map(pair).collect());
    };
    let name = |at: usize| rest.get(at).map_or("", |word| word.text.as_str());
    let program = shell::base(name(0));
    let from = |at: usize| rest.get(at).map_or("", |word| &text[word.place.start..]);
    match (program, name(1)) {
        ("export", flag) if flag.starts_with('-') => Kind::Other,
        ("export", _) if rest[1..].iter().all(|word| is_name(&word.text)) => {
            Kind::Export(rest[1..].iter().map(|word| word.text.clone()).collect())
        }
        ("export", _) => Kind::Assign(rest[1..].iter().filter_map(pair).collect()),
        // `: ${A:=b}` sets A to b if A has no value.
        (":", _) => Kind::Assign(rest[1..].iter().filter_map(fallback).collect()),
        ("module" | "ml", _) => module(rest),
        ("cd", folder) if rest.len() == 2 => match folder {
            "$SLURM_SUBMIT_DIR" | "${SLURM_SUBMIT_DIR}" => Kind::Start,
            folder if !rest[1].expands && is_folder(folder) => Kind::Folder(folder.to_owned()),
            _ => Kind::Other,
        },
        ("time" | "exec" | "nohup", _) if rest.len() > 1 && assigned.is_empty() => {
            let at = if (program, name(1)) == ("time", "-p") { 2 } else { 1 };
            match simple(from(at)) {
                Kind::Program => Srun::without_launcher(from(at)).kind(),
                other => other,
            }
        }
        ("!", _) => simple(from(1)),
        // `env A=1 program`.
        ("env", _) if rest.len() > 1 => match simple(from(1)) {
            Kind::Launch(launch) if !name(1).starts_with('-') => Kind::Launch(launch),
            Kind::Program => Kind::Program,
            _ => Kind::Other,
        },
        ("srun" | "salloc", _) => srun(text, assigned, rest),
        // Without `--wrap`, the job is in another file.
        ("sbatch", _) if rest.iter().any(|word| word.text.starts_with("--wrap")) => {
            Kind::Options(rest[1..].iter().map(|word| word.text.clone()).collect())
        }
        _ if launchers::launcher(rest).is_some() => Srun::of(text).kind(),
        (python, "") if python.starts_with("python") => Kind::Python,
        (python, "setup.py") if python.starts_with("python") => Kind::Installs,
        (python, "-m") if python.starts_with("python") && ["pip", "venv", "virtualenv"].contains(&name(2)) => {
            Kind::Installs
        }
        ("conda" | "mamba" | "micromamba", "create" | "install" | "update" | "env") => Kind::Installs,
        (name, _) if has_word(INSTALLS, name) => Kind::Installs,
        ("set", _) if rest.len() > 1 && rest[1..].iter().all(|word| is_harmless_flag(&word.text)) => Kind::Flags,
        ("exit" | "wait", _) => Kind::Ends,
        ("printf", "-v") => Kind::Other,
        (name, _) if has_word(SHOWS, name) => Kind::Shows,
        (name, _) if name.starts_with("python") || ["bash", "sh", "julia", "Rscript"].contains(&name) => Kind::Program,
        _ if first.text.starts_with("./") => Kind::Program,
        _ => Kind::Other,
    }
}

/// Classifies a command of `module`.
fn module(words: &[Word]) -> Kind {
    let rest: Vec<&str> = words[1..].iter().map(|word| word.text.as_str()).collect();
    let names = match rest.as_slice() {
        ["load" | "add", names @ ..] => names,
        ["list" | "avail" | "av" | "spider" | "show" | "display" | "whatis" | "help" | "keyword" | "overview", ..]
        | [] => return Kind::Shows,
        [first, ..]
            if words[0].text == "ml"
                && ![
                    "purge", "swap", "switch", "unload", "rm", "use", "unuse", "restore", "save", "reset", "update",
                    "refresh", "del", "try-load",
                ]
                .contains(first) =>
        {
            &rest
        }
        _ => return Kind::Module(None),
    };
    let plain = |name: &&str| {
        !name.is_empty()
            && !name.starts_with('-')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./+@:~=,%".contains(&b))
    };
    let fits = !names.is_empty() && names.iter().all(plain) && !words.iter().any(|word| word.expands);
    Kind::Module(fits.then(|| names.iter().map(|name| (*name).to_owned()).collect()))
}

/// Whether an argument of `set` changes only how the script handles errors and what it prints.
fn is_harmless_flag(word: &str) -> bool {
    let flags = word.strip_prefix(['-', '+']);
    flags.is_some_and(|flags| !flags.is_empty() && flags.chars().all(|flag| "eEuvxo".contains(flag)))
        || ["pipefail", "errexit", "nounset", "xtrace", "verbose", "errtrace"].contains(&word)
}

/// Classifies a simple command that contains `$(…)`. The output of that command does not affect the purpose.
fn of_shell(text: &str) -> Kind {
    let hidden = Hidden::of(text);
    if hidden.fits()
        && let Kind::Launch(srun) = simple(&hidden.text)
        && srun.srun
    {
        let unknown = srun.unknown.iter().map(|option| hidden.short(option)).collect();
        return Srun { line: hidden.shown(&srun.line), unknown, ..*srun }.kind();
    }
    let script = shell::parse(text);
    let command = script.statements.first().and_then(|statement| statement.commands.first());
    let Some(CommandKind::Simple { assignments, words: all }) = command.map(|command| &command.kind) else {
        return Kind::Other;
    };
    let first = all.first().map(|word| &text[word.span.clone()]);
    let declares = first.is_some_and(|name| ["export", "declare"].contains(&name));
    let Some(first) = first.filter(|_| !declares) else {
        let words = all.iter().filter_map(|word| shell::assignment(text, word));
        let given: Vec<_> = assignments.iter().cloned().chain(words).collect();
        return match given.is_empty() {
            true => Kind::Other,
            false => Kind::Assign(given.into_iter().map(|assignment| (assignment.name, None)).collect()),
        };
    };
    let marked = marked(text);
    let other = if text.contains("$(") { words(&marked) } else { None }.unwrap_or_default();
    let launches = launchers::launcher(other.get(assignments.len()..).unwrap_or_default()).is_some();
    match launches || first == "srun" {
        true => Srun::of(text).kind(),
        false if has_word(SHOWS, first) && !(first == "printf" && text.contains(" -v")) && first != "set" => {
            Kind::Shows
        }
        false => Kind::Other,
    }
}

/// Reads `NAME=value`. The value is None if a shell has to compute it.
fn pair(word: &Word) -> Option<(String, Option<String>)> {
    let (name, value) = word.text.split_once('=')?;
    if let Some(name) = name.strip_suffix('+').filter(|name| is_name(name)) {
        return Some((name.to_owned(), None));
    }
    if !is_name(name) {
        return None;
    }
    // `A=${A:-b}` is read as `A=b`. It has another value only if the shell that calls sbatch sets A.
    let default = value.strip_prefix(&format!("${{{name}:-")).and_then(|rest| rest.strip_suffix('}'));
    let plain = default.filter(|default| !default.contains(['$', '`', '*', '?']));
    Some((name.to_owned(), if word.expands { plain.map(str::to_owned) } else { Some(value.to_owned()) }))
}

/// Reads `${NAME:=value}`.
fn fallback(word: &Word) -> Option<(String, Option<String>)> {
    let (name, value) = word.text.strip_prefix("${")?.strip_suffix('}')?.split_once(":=")?;
    Some((name.to_owned(), (!value.contains(['$', '`'])).then(|| value.to_owned())))
}

/// Whether a path is valid as the working directory of a job.
pub fn is_folder(path: &str) -> bool {
    path.starts_with('/')
        && !path.contains("//")
        && !path.split('/').any(|part| part == "..")
        && !path.contains([':', '$', '*', '~', '%'])
        && !path.chars().any(|c| c.is_ascii_control())
}

/// Reads a line of srun: its options, and the program it starts.
fn srun(text: &str, assigned: &[Word], words: &[Word]) -> Kind {
    let whole = || Srun::of(text).kind();
    let plain: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    // One srun may start several programs: they are in a file, or separated by `:`.
    if plain.iter().any(|word| word == ":" || word == "--multi-prog") {
        return whole();
    }
    let (mut at, mut options, mut unknown) = (1, Vec::new(), Vec::new());
    while at < words.len() && plain[at] != "--" {
        if !plain[at].starts_with('-') {
            match options_only(&words[at..]) {
                Some(true) => unknown.push(plain[at].clone()),
                Some(false) => break,
                None => return whole(),
            }
            at += 1;
            continue;
        }
        // For an unknown option, it is not known whether a value follows.
        if !options::is_known_option(&plain[at]) && !plain[at].contains('=') {
            return Kind::Other;
        }
        let Ok((given, count)) = options::read(&plain[at..]) else { break };
        // `--jobid` may contain a variable, because the option is not needed: srun runs in the job of the script.
        let own = plain[at].starts_with("--jobid");
        match !own && words[at..at + count].iter().any(|word| word.expands) {
            true if !given.iter().all(options::ParsedOption::leaves_ranks_unchanged) => return whole(),
            true => unknown.push(plain[at..at + count].join(" ")),
            false => options.extend_from_slice(&plain[at..at + count]),
        }
        at += count;
    }
    let terminal = options.iter().any(|option| option.starts_with("--pty"));
    let at = at + usize::from(plain.get(at).is_some_and(|word| word == "--"));
    let Some(first) = words.get(at).filter(|_| !terminal && words[0].text != "salloc") else {
        return Kind::Options(options);
    };
    let env: Option<Vec<_>> = assigned.iter().filter_map(pair).map(|(name, value)| Some((name, value?))).collect();
    match env {
        Some(env) => Srun { srun: true, options, unknown, env, ..Srun::of(&text[first.place.start..]) }.kind(),
        None => whole(),
    }
}

/// Whether a variable before the program, as in `srun $OPTIONS python`, contains options. Some(false) if the variable
/// contains the program itself, None if this cannot be decided.
fn options_only(words: &[Word]) -> Option<bool> {
    let variable = |word: &Word| word.expands && word.text.starts_with('$');
    let (first, rest) = words.split_first()?;
    let option = |word: &Word| word.text.starts_with('-') || variable(word);
    if !variable(first) || rest.first().is_none_or(|word| !option(word) && !is_wrapper(word)) {
        return Some(false);
    }
    // The variable certainly holds options only if a known program follows it.
    rest.iter().find(|word| !option(word)).filter(|word| is_wrapper(word)).map(|_| true)
}

/// Whether a word is the name of a program that usually starts other programs.
fn is_wrapper(word: &Word) -> bool {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    launchers::launcher(std::slice::from_ref(word)).is_some()
        || name.starts_with("python")
        || srun_program::container(name).is_some()
        || ["bash", "sh", "accelerate", "numactl", "nsys"].contains(&name)
}

/// Whether a text has a command that starts ranks, or a program.
pub fn starts_ranks(text: &str) -> bool {
    let starts = |command: &str| match kind(command) {
        Kind::Launch(_) => true,
        // `python -c` and `python --version` usually only print something.
        Kind::Program => !words(command).is_some_and(|words| {
            words.get(1).is_some_and(|word| ["-c", "-V", "--version"].contains(&word.text.as_str()))
        }),
        _ => false,
    };
    let script = shell::parse(text);
    shell::simple_commands(&script.statements).iter().any(|command| starts(&text[command.span.clone()]))
}

/// Whether a condition only checks the exit code of the command above it, and then prints something or exits.
pub fn only_checks_code(text: &str) -> bool {
    let script = shell::parse(text);
    let [statement] = script.statements.as_slice() else { return false };
    let is_if = text.trim_start().starts_with("if ") && statement.only().is_some();
    let harmless = |command: &shell::Command| {
        let line = &text[command.span.clone()];
        let compares = line.starts_with("[ ") || line.starts_with("test ");
        command.redirections.is_empty() && (compares || matches!(kind(line), Kind::Shows | Kind::Ends))
    };
    let names = shell_text::names(text);
    let hides = text.contains("exit 0") && !text.contains("-eq 0");
    is_if
        && !hides
        && text.contains("$?")
        && names.is_empty()
        && !text.contains("$(")
        && shell::simple_commands(&script.statements).into_iter().all(harmless)
}

/// Whether a line uses Slurm.
pub fn of_slurm(line: &str) -> bool {
    line.split_whitespace().any(|word| ["srun", "sbatch", "salloc"].contains(&word)) || line.contains("SLURM_")
}

/// Takes a launch line apart. The line may contain `$(…)` in options that khorovod sets itself.
pub fn launch(line: &str) -> (String, Line) {
    let why = match command_line::read(line) {
        Line::Script(why) => why,
        read @ Line::Launch(_) => return (line.to_owned(), read),
    };
    let hidden = Hidden::of(line);
    match command_line::read(&hidden.text) {
        Line::Launch(mut launch) if hidden.fits() => {
            launch.program = match launch.program {
                Json::String(text) => hidden.shown(&text).into(),
                program => program,
            };
            launch.notes.iter_mut().for_each(|note| note.option = hidden.short(&note.option));
            (hidden.text, Line::Launch(launch))
        }
        _ => (line.to_owned(), Line::Script(why)),
    }
}

/// Whether a text is one simple command that starts with a launcher.
pub fn launches_plainly(text: &str) -> bool {
    words(&marked(text)).is_some_and(|words| launchers::launcher(&words).is_some())
}

/// Whether a line begins with a launcher, or cannot be split into words.
pub fn launches(line: &str) -> bool {
    words(&marked(line)).is_none_or(|words| launchers::launcher(&words).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell_text::{fill, without_comment, without_quoted};

    #[test]
    fn kinds_of_lines() {
        let text = |text: &str| text.to_owned();
        assert_eq!(kind("module load A/1 B"), Kind::Module(Some(vec![text("A/1"), text("B")])));
        assert_eq!(kind("ml A"), Kind::Module(Some(vec![text("A")])));
        assert_eq!(kind("ml av Horovod"), Kind::Shows);
        assert_eq!(kind("module purge"), Kind::Module(None));
        assert_eq!(kind("ml reset"), Kind::Module(None));
        assert_eq!(
            kind("export A=1 B='x y'"),
            Kind::Assign(vec![(text("A"), Some(text("1"))), (text("B"), Some(text("x y")))])
        );
        assert_eq!(kind("export A=$(hostname)"), Kind::Assign(vec![(text("A"), None)]));
        assert_eq!(kind("PATH=/x:$PATH"), Kind::Assign(vec![(text("PATH"), None)]));
        assert_eq!(kind("A=${A:-\"x y\"}"), Kind::Assign(vec![(text("A"), Some(text("x y")))]));
        let found = kind("PYTHONPATH=\"$(dirname $0)\":$PYTHONPATH srun -n 4 python a.py");
        assert!(matches!(found, Kind::Launch(launch) if !launch.srun));
        assert_eq!(kind("A=${B:-x}"), Kind::Assign(vec![(text("A"), None)]));
        for line in
            ["srun --multi-prog ./a.conf", "srun -n 1 ./server : -n 4 ./client", "srun -n 1 ./a : --het-group=1 ./b"]
        {
            let Kind::Launch(found) = kind(line) else { panic!("{line}") };
            assert_eq!((found.srun, found.line.as_str()), (false, line));
        }
        let Kind::Launch(found) = kind("srun -n 2 torchrun --role `hostname -s`: a.py") else { panic!() };
        assert_eq!((found.srun, found.line.as_str()), (true, "torchrun --role `hostname -s`: a.py"));
        assert_eq!(kind("echo \"took $(date)\""), Kind::Shows);
        assert_eq!(kind("cd $SLURM_SUBMIT_DIR"), Kind::Start);
        assert_eq!(kind("cd /work/x"), Kind::Folder(text("/work/x")));
        assert_eq!(kind("cd /work/x || exit 1"), Kind::Folder(text("/work/x")));
        assert_eq!(kind("cd /work/x || true"), Kind::Other);
        assert_eq!(kind("cd ../x"), Kind::Other);
        assert_eq!(kind("HOROVOD_WITH_PYTORCH=1 pip install horovod"), Kind::Installs);
        assert_eq!(kind("conda activate x"), Kind::Other);
        assert_eq!(kind("python"), Kind::Python);
        assert_eq!(kind("python train.py"), Kind::Program);
        assert_eq!(kind("srun -N1 --pty bash"), Kind::Options(vec![text("-N1"), text("--pty")]));
        let launch = |line: &str| match kind(line) {
            Kind::Launch(launch) => *launch,
            other => panic!("{line}: {other:?}"),
        };
        let found = launch("A=1 srun -n 4 --mpi=pmix python a.py -n 2");
        assert_eq!((found.line.as_str(), found.options.len(), found.srun), ("python a.py -n 2", 3, true));
        let found = launch("mpirun -np 4 ./a > log.txt 2>&1");
        assert_eq!((found.line.trim_end(), found.lost.as_deref()), ("mpirun -np 4 ./a", Some("> log.txt 2>&1")));
        assert_eq!(launch("srun ./a | tee log").line.trim_end(), "./a");
        assert_eq!(launch("time srun ./a").line, "./a");
        assert!(!launch("srun ./a && ./b").srun && !launch("srun ./a || ./b").srun && !launch("srun ./a || true").srun);
        assert_eq!(launch("srun ./a || exit 1").line, "./a");
        assert!(!launch("srun ./a || { echo failed; exit 1; }").srun);
        assert_eq!(launch("srun ./a &").lost, None);
    }

    #[test]
    fn checks_of_the_code() {
        assert!(only_checks_code("if [ $? -ne 0 ]; then echo failed; exit 1; fi"));
        assert!(only_checks_code("if [ $? -eq 0 ]; then\n  echo done\nelse\n  echo failed\n  exit 1\nfi"));
        for text in [
            "if [ $? -ne 0 ]; then exit 0; fi",
            "if [ $? -ne 0 ]; then touch failed; fi",
            "if [ -f a ]; then exit 1; fi",
            "if [ $? -ne 0 ]; then echo a > b; fi",
        ] {
            assert!(!only_checks_code(text), "{text}");
        }
    }

    #[test]
    fn variables_and_comments() {
        let variables = [("N", "4"), ("S", "a b")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let text = "-np $N ${N}x '$N' \\$N $NN $S \"$N\"";
        assert_eq!(fill(text, &variables, false), "-np 4 4x '$N' \\$N $NN $S \"4\"");
        assert_eq!(fill("$S", &variables, true), "a b");
        assert_eq!(fill("${N:-1} ${N-1} ${M:-$N} ${N:+1}", &variables, false), "4 4 ${M:-4} ${N:+1}");
        assert_eq!(without_quoted("a '$B' \"'$C'\" \\'$D"), "a  \"'$C'\" \\'$D");
        assert_eq!(without_comment("a 'b # c' d#e # f"), "a 'b # c' d#e");
    }

    #[test]
    fn expansions_in_dropped_options_are_allowed() {
        let kind = |line: &str| match launch(line).1 {
            Line::Launch(launch) => launch.kind,
            Line::Script(_) => "",
        };
        assert_eq!(kind("torchrun --nnodes 2 --rdzv_endpoint=$head:29500 train.py"), "torchrun");
        assert_eq!(kind("horovodrun -np 4 -H $(scontrol show hostnames | paste -sd,) python a.py"), "horovodrun");
        assert_eq!(kind("torchrun --nproc_per_node=$N train.py"), "");
    }
}
