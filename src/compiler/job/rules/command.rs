//! Rules about the command and the arguments of the launcher.

use serde_json::json;

use super::{Case, key};
use crate::job::declare::Body;
use crate::job::read::edits;
use crate::job::read::suggestions::{field_of_spec, is_pytorch, nearest};
use crate::job::types::spec::{LauncherKind, LauncherPod, Mpi};
use crate::problem::{Problem, Span, codes};
use crate::shell;
use crate::yaml::{Entry, Kind, Node};

codes! {
    /// The command is missing
    ///
    /// Only an interactive shell (`launcher: {kind: shell, interactive: true}`) needs no command.
    Error MISSING_COMMAND = "missing-command";

    /// The command starts another launcher
    ///
    /// khorovod adds `mpirun -np …`, `horovodrun`, `torchrun` or `deepspeed`, with the ranks and hosts of the spec. A
    /// launcher in `command` would run in every rank, and each would start all ranks again. Write only the training
    /// program in `command` and choose the launcher with `launcher`. With `launcher: shell` the command runs once, in the
    /// launcher pod, which has no GPUs; it must start the ranks itself, with the host file and ssh.
    Error LAUNCHER_TWICE = "launcher-twice";

    /// The first word of the command is not a program
    ///
    /// The first word of `command` is a program in the image. `[-m, pkg.train]` and `[train.py]` are arguments of Python, as
    /// torchrun takes them; khorovod starts torchrun with `--no_python`, so that a command can be any program. Write the
    /// interpreter first: `[python, train.py]` or `[python, -m, pkg.train]`.
    Error NOT_A_PROGRAM = "not-a-program";

    /// torchrun with `launcher: shell`
    ///
    /// With `launcher: shell` the command runs once, in the launcher pod, which has no GPUs. torchrun would start ranks only
    /// there, and the workers would be idle. Write `launcher: torchrun`, and only the program in `command`.
    Warning TORCHRUN_IN_SHELL = "torchrun-in-shell";

    /// An image of PyTorch without a launcher
    ///
    /// Without `launcher`, mpirun starts the ranks, so the image needs MPI, and a program for `torch.distributed` gets
    /// its variables from khorovod instead of torchrun. Write `launcher: torchrun`, or `launcher: mpirun` if you want to use
    /// mpirun.
    Warning LAUNCHER_UNSET = "launcher-unset";

    /// `launcher.args` sets the number of ranks
    ///
    /// khorovod passes the number of ranks itself, in total and per worker, from `workers.replicas` and
    /// `workers.slotsPerWorker`. With another number, GPUs would be idle or ranks would have no GPU.
    Error RANKS_IN_ARGS = "ranks-in-args";

    /// A launcher option that khorovod sets itself
    ///
    /// The hostfile, ssh settings, discovery script and elastic bounds follow from the spec. Remove the option.
    Error OWN_OPTION = "launcher-option";

    /// `launcher.args` contains a program
    ///
    /// khorovod writes the program of `command` after these arguments. A launcher treats the first argument that is not an
    /// option as the program, so it would not start `command`. The same is true for the first argument after `--`. After `:`,
    /// mpirun starts another program. Write options only.
    Error PROGRAM_IN_ARGS = "program-in-args";

    /// A command that does not work in pods
    ///
    /// `sudo` fails, because a process in a pod cannot get more privileges. Install programs when you build the image. `docker`
    /// needs a daemon, which pods do not have. `conda activate` is a function of interactive shells.
    ///
    /// Environment modules (`module load`, `ml`) and the commands of Slurm, such as `srun` and `sbatch`, exist on the nodes of a
    /// Slurm cluster, and rarely in an image. In a pod such a line fails. Put the software into the image. For
    /// `--target slurm`, name the modules in `slurm.modules`, and write lines that only Slurm needs in `slurm.setup`.
    Warning FOREIGN_COMMAND = "foreign-command";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    command(case, problems);
    not_a_program(case, problems);
    launcher_twice(case, problems);
    foreign_command(case, problems);
    launcher_args(case, problems);
    launcher_unset(case, problems);
}

fn launcher_unset(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let is_given = case.document.get("spec").is_some_and(|body| body.entry("launcher").is_some());
    if is_given || !case.could_read(&["image"]) {
        return;
    }
    let Some(at) = &case.body.image else { return };
    if is_pytorch(&case.spec.image.reference) {
        let message = "mpirun starts the ranks because `launcher` is not set, and this is an image of PyTorch";
        let hint = "write `launcher: torchrun`, or `launcher: mpirun` if the program uses MPI or Horovod";
        let add = |launcher: &str| {
            let body = case.document.get("spec")?;
            edits::field(case.texts, body, Body::SHAPE.keys, "launcher", &json!(launcher))
        };
        let problem = Problem::new(&LAUNCHER_UNSET, at.span, message).hint(hint).by_choice();
        problems.push(Problem { fix: add("torchrun"), other_fix: add("mpirun"), ..problem });
    }
}

fn command(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["command", "launcher.kind", "launcher.interactive"]) {
        return;
    }
    let launcher = &case.spec.launcher;
    // If `spec` itself is wrong, or `command` is misspelt or outside of `spec`, the reader has reported it.
    let entries = case.document.get("spec").map_or(&[][..], Node::entries);
    if entries.iter().any(|entry| entry.key == "command") {
        return;
    }
    let is_misplaced = |entry: &Entry| field_of_spec(&entry.key, Body::SHAPE.keys) == Some("command");
    let lacking = entries.iter().all(|entry| nearest(&entry.key, ["command"].into_iter()).is_none())
        && !case.document.entries().iter().any(is_misplaced);
    if let (Some(first), true, false) = (entries.first(), lacking, launcher.interactive) {
        let span = key(field!(case.image)).unwrap_or(first.key_span);
        let problem = Problem::new(&MISSING_COMMAND, span, "`spec` needs `command`: the ranks have nothing to run");
        let example = json!(["python", "train.py"]);
        let body = case.document.get("spec");
        let fix = body.and_then(|body| edits::field(case.texts, body, Body::SHAPE.keys, "command", &example));
        let problem = problem.here("`command` belongs beside this").hint("add `command: [python, train.py]`");
        problems.push(Problem { fix, ..problem.by_choice() });
    }
}

/// Commands that a shell runs itself.
const BUILTINS: &[&str] = &[".", "alias", "cd", "eval", "exec", "export", "set", "source", "ulimit", "unset"];

/// Reports a command whose first word is an option, a Python script, or a command of the shell.
fn not_a_program(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(command) = case.document.get("spec").and_then(|body| body.get("command")) else { return };
    let (span, word, more) = match &command.kind {
        Kind::List(items) => {
            let Some(first) = items.first() else { return };
            (first.span, first.text().unwrap_or_default(), items.get(1).and_then(Node::text))
        }
        Kind::Scalar { text, .. } => {
            let mut words = text.split_whitespace();
            (command.span, words.next().unwrap_or_default(), words.next())
        }
        Kind::Map(_) => return,
    };
    if BUILTINS.contains(&word) && matches!(command.kind, Kind::List(_)) {
        // `literal_words` reports words such as `&&`, with the whole command as a hint.
        if !command.items().iter().any(|item| matches!(item.text(), Some("&&" | "||" | ";" | "|"))) {
            let message = format!("`{word}` is a command of the shell, and a list starts a program without a shell");
            let hint = "write the command as a string, which runs under bash";
            problems.push(Problem::new(&NOT_A_PROGRAM, span, message).hint(hint));
        }
        return;
    }
    let python = match (word, more) {
        ("-m", Some(module)) => format!("[python, -m, {module}]"),
        _ if word.starts_with('-') => "[python, train.py]".to_owned(),
        // If one item of the list contains several words, `literal_words` reports it.
        _ if word.contains(char::is_whitespace) => return,
        _ if word.strip_suffix(".py").is_some_and(|name| !name.contains('/')) => format!("[python, {word}]"),
        _ => return,
    };
    let message = format!("`{word}` is the first word of `command`, but not a program");
    let hint = format!("write the interpreter first: `{python}`");
    problems.push(Problem::new(&NOT_A_PROGRAM, span, message).hint(hint));
}

fn launcher_twice(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(command) = case.document.get("spec").and_then(|body| body.get("command")) else { return };
    let Some((span, name, kind)) = started(command) else { return };
    let groups = &case.spec.groups;
    if case.spec.launcher.kind == LauncherKind::Shell {
        let one_worker = groups.iter().map(|group| u64::from(group.replicas)).sum::<u64>() == 1;
        let is_worker = case.spec.launcher.runs_in == LauncherPod::FirstWorker && one_worker;
        if kind == "torchrun" && !is_worker && case.spec.target.has_pods {
            let message = format!("`{name}` would start ranks only in the launcher pod");
            let hint = "write only the program, such as `[python, train.py]`, with `launcher: torchrun`";
            problems.push(Problem::new(&TORCHRUN_IN_SHELL, span, message).hint(hint));
        }
        return;
    }
    // A single rank may start processes on its own worker. `accelerate launch` starts one process per GPU.
    let may_start = match kind {
        "torchrun" => ranks(case) == 1,
        "accelerate" => groups.iter().all(|group| group.slots <= 1),
        _ => false,
    };
    if may_start {
        return;
    }
    let message = format!("`{name}` in `command` would run in every rank: khorovod already starts the ranks");
    let launcher = match kind {
        "srun" => "`launcher: torchrun` for PyTorch, or `launcher: mpirun` for MPI".to_owned(),
        "accelerate" => "`launcher: torchrun`".to_owned(),
        _ => format!("`launcher: {kind}`"),
    };
    let other = match kind {
        "accelerate" => "write `slotsPerWorker: 1`, so that it runs once per worker",
        _ => "use `launcher: shell`, which runs the command once, in a launcher pod without GPUs",
    };
    let hint = format!("write only the program, such as `[python, train.py]`, with {launcher}; or {other}");
    problems.push(Problem::new(&LAUNCHER_TWICE, span, message).hint(hint));
}

/// Reports the first command in a script that cannot work in pods, such as `sbatch`, `sudo` or `docker`.
fn foreign_command(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(command) = case.document.get("spec").and_then(|body| body.get("command")) else { return };
    let script = match &command.kind {
        Kind::Scalar { text, .. } => Some((command, text.as_str())),
        Kind::List(items) => items.iter().zip(items.iter().skip(1)).find_map(|(option, script)| {
            let is_option = option.text().is_some_and(|text| text.starts_with('-') && text.ends_with('c'));
            Some((script, script.text()?)).filter(|_| is_option)
        }),
        Kind::Map(_) => None,
    };
    // A script that loads the function `module` brings its own environment modules.
    let brings_modules = |text: &str| ["modules.sh", "lmod", "/etc/profile"].iter().any(|part| text.contains(part));
    let Some((node, script)) = script.filter(|(_, text)| case.spec.target.has_pods && !brings_modules(text)) else {
        return;
    };
    let is_shell = case.spec.launcher.kind == LauncherKind::Shell;
    // `. conda.sh` and `eval "$(conda shell.bash hook)"` define the function.
    let brings_conda =
        ["conda.sh", "mamba.sh", " hook", "bashrc", "bash_profile"].iter().any(|part| script.contains(part));
    let is_root = case.spec.security.run_as_user == Some(0);
    let found = shell::commands(script).into_iter().find_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = words.get(shell::words_before_program(&words)..)?;
        let is_foreign = match (shell::base(words.first()?), words.get(1)) {
            ("module", Some(verb)) => ["add", "load", "purge", "restore", "swap", "unload", "use"].contains(verb),
            ("ml", Some(_)) | ("sbatch" | "salloc" | "scontrol" | "squeue" | "scancel" | "sacct", _) => true,
            // With other launchers, `launcher_twice` reports it.
            ("srun", _) => is_shell,
            ("sudo", _) => !is_root,
            ("docker" | "podman", Some(verb)) => ["run", "exec", "compose"].contains(verb),
            ("conda" | "mamba", Some(verb)) => *verb == "activate" && !brings_conda,
            _ => false,
        };
        is_foreign.then(|| words[..words.len().min(2)].join(" "))
    });
    let Some(found) = found else { return };
    let written = case.texts.around(node.span).get(node.span.start..node.span.end).unwrap_or_default();
    let span = written.find(&found).map_or(node.span, |at| {
        let start = node.span.start + at;
        Span { start, end: start + found.len(), ..node.span }
    });
    let in_pods = match found.split(' ').next().unwrap_or_default() {
        "sudo" => Some((
            "`sudo` fails in pods, whose processes cannot get more privileges".to_owned(),
            "remove `sudo`; install programs when you build the image",
        )),
        "docker" | "podman" => Some((
            format!("`{found}` fails in pods, which have no daemon of containers"),
            "write the command that the container runs, and its image in `image`",
        )),
        "conda" | "mamba" => Some((
            format!("`{found}` fails in a script, because only interactive shells define it"),
            "write `conda run --no-capture-output -n ENV` before the program, or load `conda.sh` first",
        )),
        _ => None,
    };
    if let Some((message, hint)) = in_pods {
        return problems.push(Problem::new(&FOREIGN_COMMAND, span, message).hint(hint));
    }
    let hint = match found.starts_with('m') {
        true => "remove it, and put the software into the image; for Slurm, write `slurm: {modules: [NAME]}`",
        false => "remove it; lines that only Slurm needs belong in `slurm.setup`",
    };
    let message = format!("`{found}` is a command of Slurm clusters, which images rarely have");
    problems.push(Problem::new(&FOREIGN_COMMAND, span, message).hint(hint));
}

fn ranks(case: &Case<'_>) -> u64 {
    case.spec.groups.iter().map(|group| u64::from(group.replicas) * u64::from(group.slots)).sum()
}

/// Returns the first launcher that a command starts: its place, its name and its kind.
fn started(command: &Node) -> Option<(Span, String, &'static str)> {
    match &command.kind {
        Kind::Scalar { text, .. } => in_script(text).map(|(name, kind)| (command.span, name, kind)),
        Kind::List(items) => {
            let words: Vec<&str> = items.iter().map(|item| item.text().unwrap_or_default()).collect();
            in_words(&words).map(|(at, name, kind)| (items[at].span, name, kind))
        }
        Kind::Map(_) => None,
    }
}

/// Returns the name and the kind of the first launcher that a script starts.
fn in_script(script: &str) -> Option<(String, &'static str)> {
    shell::commands(script).into_iter().find_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        in_words(&words).map(|(_, name, kind)| (name, kind))
    })
}

/// Returns the launcher that a simple command starts: the index of the word that names it, its name and its kind.
fn in_words(words: &[&str]) -> Option<(usize, String, &'static str)> {
    let before = shell::words_before_program(words);
    let words = &words[before..];
    if let [program, option, script, ..] = words
        && matches!(shell::base(program), "bash" | "sh")
        && option.starts_with('-')
        && option.ends_with('c')
    {
        return in_script(script).map(|(name, kind)| (before + 2, name, kind));
    }
    let is_srun = words.first().is_some_and(|program| shell::base(program) == "srun");
    let (kind, place) = shell::launcher(words).or(is_srun.then_some(("srun", 0..1)))?;
    let only_prints = matches!(words.get(place.end), Some(&("--version" | "-V" | "--help")));
    (!only_prints).then(|| (before + place.start, words[place].join(" "), kind))
}

/// Options of a launcher that khorovod sets: those for the number of ranks, and others.
fn own_options(kind: LauncherKind, mpi: Mpi) -> (&'static str, &'static str) {
    match (kind, mpi) {
        (LauncherKind::Mpirun, Mpi::OpenMpi) => (
            "-np -n --np -c -npernode --npernode -N",
            "--hostfile -hostfile --machinefile -machinefile -H --host -host --default-hostfile -default-hostfile",
        ),
        (LauncherKind::Mpirun, _) => (
            "-np -n -ppn -perhost -ranks-per-proc",
            "-f -hostfile -machinefile -machine -hosts -host -launcher -bootstrap -bootstrap-exec -launcher-exec",
        ),
        (LauncherKind::Horovodrun, _) => (
            "-np -n --num-proc --min-np --min-num-proc --max-np --max-num-proc --slots-per-host --slots",
            "-H --hosts -hostfile --hostfile -p --ssh-port -i --ssh-identity-file --host-discovery-script \
             --elastic-timeout --reset-limit --blacklist-cooldown-range",
        ),
        (LauncherKind::Torchrun, _) => (
            "--nproc-per-node --nproc_per_node --nnodes --nnode",
            "--node-rank --node_rank --rdzv-backend --rdzv_backend --rdzv-endpoint --rdzv_endpoint --rdzv-id \
             --rdzv_id --master-addr --master_addr --master-port --master_port --max-restarts --max_restarts \
             --standalone",
        ),
        (LauncherKind::Deepspeed, _) => {
            ("--num_nodes --num_gpus -i --include -e --exclude", "-H --hostfile --launcher --no_python")
        }
        (LauncherKind::Jax | LauncherKind::Tensorflow | LauncherKind::Shell, _) => ("", ""),
    }
}

/// The value that khorovod passes for an option of a launcher, and the sentence that explains it, such as "the job has
/// 4 workers".
fn own_count(option: &str, case: &Case<'_>, np: u64) -> (u64, String) {
    let groups = &case.spec.groups;
    match option {
        "--nnodes" | "--nnode" | "--num_nodes" => {
            let workers = groups.iter().map(|group| u64::from(group.replicas)).sum();
            (workers, format!("the job has {workers} workers"))
        }
        "--nproc-per-node" | "--nproc_per_node" | "--num_gpus" | "--slots-per-host" | "--slots" | "-ppn"
        | "-perhost" | "-ranks-per-proc" | "-N" | "-npernode" | "--npernode" => {
            let slots = groups.first().map_or(0, |group| u64::from(group.slots));
            (slots, format!("each worker has {slots} ranks"))
        }
        _ => (np, format!("the workers have {np} ranks")),
    }
}

fn launcher_args(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["launcher.kind", "launcher.mpi", "launcher.args", "workers"]) {
        return;
    }
    let Some(args) = field!(case.launcher.args) else { return };
    let launcher = &case.spec.launcher;
    let np = ranks(case);
    let (counts, others) = own_options(launcher.kind, launcher.mpi);
    let is_program =
        |(index, word): &(usize, &str)| matches!(*word, "--" | ":") || *index == 0 && !word.starts_with('-');
    let words = args.iter().map(|word| word.0.as_str()).enumerate();
    if launcher.kind.takes_args()
        && let Some((index, word)) = words.clone().find(is_program)
    {
        let message = format!("`{word}` in `launcher.args` makes the launcher start another program than `command`");
        let hint = "write only options of the launcher here, and the program in `command`";
        problems.push(Problem::new(&PROGRAM_IN_ARGS, args[index].span, message).hint(hint));
    }
    for (index, word) in args.iter().enumerate() {
        // An option and its value may be one word, as in `--nproc_per_node 4`.
        let (name, value) = word
            .0
            .split_once(|c: char| c == '=' || c.is_whitespace())
            .map_or((word.0.as_str(), None), |(name, value)| (name, Some(value.trim())));
        let is_in = |options: &str| options.split_whitespace().any(|option| option == name);
        let ranks = is_in(counts);
        if !ranks && !is_in(others) {
            continue;
        }
        let value = value.or_else(|| args.get(index + 1).map(|next| next.0.as_str())).unwrap_or_default();
        let problem = match ranks {
            true => {
                let (own, fact) = own_count(name, case, np);
                let message = match value.parse() == Ok(own) {
                    true => format!("khorovod passes `{name} {own}` itself"),
                    false => format!("`{name} {value}` in `launcher.args`, but {fact}"),
                };
                let problem = Problem::new(&RANKS_IN_ARGS, word.span, message);
                let workers = case.body.workers.as_ref().map_or(case.top, |at| at.key);
                problem
                    .and(workers, format!("{np} ranks: replicas × slotsPerWorker"))
                    .hint("remove it; to change the number, change `workers.replicas` or `workers.slotsPerWorker`")
            }
            false => {
                Problem::new(&OWN_OPTION, word.span, format!("khorovod passes `{name}` itself")).hint(match name {
                    "--max-restarts" | "--max_restarts" => "remove it, and set `lifecycle.retries`",
                    _ => "remove it; it follows from other fields of the spec",
                })
            }
        };
        problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use super::in_script;

    #[test]
    fn launchers_are_found_wherever_a_script_starts_them() {
        for line in [
            "mpirun python a.py",
            "cd /data && /opt/bin/mpirun python a.py",
            "if mpirun python a.py; then echo done; fi",
            "if test -f a; then mpirun python a.py; fi",
            "( mpirun python a.py )",
            "{ mpirun python a.py; }",
            "! mpirun python a.py",
            "x=$(mpirun python a.py)",
            "echo \"$(mpirun python a.py)\"",
            "while mpirun python a.py; do sleep 1; done",
            "for i in 1 2; do mpirun python a.py; done",
            "case $1 in train) mpirun python a.py;; esac",
            "train() { mpirun python a.py; }; train",
            "A=\"x y\" mpirun python a.py",
            "time -p mpirun python a.py",
            "exec -a x mpirun python a.py",
            "function train { mpirun python a.py; }",
            "(cd a && x=$(mpirun python a.py > b) || echo)",
            "case $1 in (a|b) ls;; c) mpirun python a.py;; esac",
            "2> log mpirun python a.py",
            "A=1 \\\n  mpirun \\\n  python a.py",
            "env -u B A=1 mpirun python a.py",
            "bash -c 'mpirun python a.py'",
            "cat <<END\nmpirun\nEND\nmpirun python a.py",
        ] {
            let found = in_script(line).map(|(name, kind)| (name.rsplit('/').next() == Some("mpirun"), kind));
            assert_eq!(found, Some((true, "mpirun")), "{line}");
        }
        for (line, expected) in [
            ("python3 -u -m torch.distributed.run a.py", ("torch.distributed.run", "torchrun")),
            ("accelerate launch a.py", ("accelerate launch", "accelerate")),
            ("srun python a.py", ("srun", "srun")),
        ] {
            assert_eq!(in_script(line), Some((expected.0.to_owned(), expected.1)), "{line}");
        }
        for line in [
            "python mpirun.py",
            "echo mpirun",
            "echo 'a; mpirun b'",
            "# mpirun a",
            "case $1 in mpirun) echo;; esac",
            "cat <<END\nmpirun python a.py\nEND",
            "command -v mpirun",
            "mpirun --version",
            "x='mpirun'",
            "case $1 in a) ls;;\n mpirun) ls;; esac",
            "ls > mpirun",
            "cat <<-A <<'B' && ls\n\tmpirun\n\tA\nmpirun\nB",
        ] {
            assert_eq!(in_script(line), None, "{line}");
        }
    }
}
