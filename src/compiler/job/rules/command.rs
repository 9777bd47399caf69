//! Rules about the command and the arguments of the launcher.

use serde_json::json;

use super::{Case, key};
use crate::job::declare::Body;
use crate::job::read::suggestions::nearest;
use crate::job::read::{Shape, edits};
use crate::job::types::spec::{LauncherKind, Mpi};
use crate::problem::{Problem, Span, codes};
use crate::yaml::{Kind, Node};

codes! {
    /// The command is missing
    ///
    /// Only an interactive shell (`launcher: {kind: shell, interactive: true}`) needs no command.
    Error MISSING_COMMAND = "missing-command";

    /// The command starts another launcher
    ///
    /// khorovod adds `mpirun -np …`, `horovodrun`, `torchrun` or `deepspeed`, with the ranks and hosts of the spec. A
    /// launcher in `command` would run in every rank, and each would start all ranks again. Write only the training
    /// program in `command` and choose the launcher with `launcher`, or write the complete launch command with
    /// `launcher: shell`.
    Error LAUNCHER_TWICE = "launcher-twice";

    /// An image of PyTorch without a launcher
    ///
    /// Without `launcher`, mpirun starts the ranks, so the image needs MPI, and a program for `torch.distributed` gets
    /// its variables from khorovod instead of torchrun. Write `launcher: torchrun`, or `launcher: mpirun` if you want it.
    Warning LAUNCHER_UNSET = "launcher-unset";

    /// `launcher.args` sets the number of ranks
    ///
    /// khorovod passes the number of ranks, which is the sum of the slots of all workers. With another number, GPUs would
    /// be idle or ranks would have no GPU.
    Error RANKS_IN_ARGS = "ranks-in-args";

    /// A launcher option that khorovod sets itself
    ///
    /// The hostfile, ssh settings, discovery script and elastic bounds follow from the spec. Remove the option.
    Error OWN_OPTION = "own-option";

    /// `launcher.args` contains a program
    ///
    /// khorovod writes the program of `command` after these arguments. A launcher takes its first argument that is not an
    /// option for the program, ends its options at `--`, and mpirun starts another program after `:`. Write options only.
    Error PROGRAM_IN_ARGS = "program-in-args";
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    command(case, problems);
    launcher_twice(case, problems);
    launcher_args(case, problems);
    launcher_unset(case, problems);
}

fn launcher_unset(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if case.body.launcher.is_some() || !case.could_read(&["launcher", "image"]) {
        return;
    }
    let Some(at) = &case.body.image else { return };
    let name = case.spec.image.reference.to_lowercase();
    if name.contains("torch") && !name.contains("horovod") && !name.contains("mpi") {
        let message = "mpirun starts the ranks because `launcher` is not set, and this is an image of PyTorch";
        let hint = "write `launcher: torchrun`, or `launcher: mpirun` if the program uses MPI or Horovod";
        problems.push(Problem::new(&LAUNCHER_UNSET, at.span, message).hint(hint));
    }
}

fn command(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if !case.could_read(&["command", "launcher.kind", "launcher.interactive"]) {
        return;
    }
    let launcher = &case.spec.launcher;
    // If `spec` itself is wrong, or `command` is misspelt, the reader has reported it.
    let entries = case.document.get("spec").map_or(&[][..], Node::entries);
    let lacking = entries.iter().all(|entry| nearest(&entry.key, ["command"].into_iter()).is_none());
    if let (Some(first), true, false) = (entries.first(), lacking, launcher.interactive) {
        let span = key(field!(case.image)).unwrap_or(first.key_span);
        let problem = Problem::new(&MISSING_COMMAND, span, "`spec` needs `command`: the ranks have nothing to run");
        let example = json!(["python", "train.py"]);
        let body = case.document.get("spec");
        let fix = body.and_then(|body| edits::field(case.texts, body, Body::KEYS, "command", &example));
        let problem = problem.here("`command` belongs beside this").hint("add `command: [python, train.py]`");
        problems.push(Problem { fix, ..problem });
    }
}

/// The launcher that is meant by each program that starts ranks.
fn launcher_of(program: &str) -> Option<&'static str> {
    Some(match program {
        "mpirun" | "mpiexec" | "mpiexec.hydra" | "orterun" | "prterun" | "srun" => "mpirun",
        "horovodrun" => "horovodrun",
        "torchrun" | "torch.distributed.run" | "torch.distributed.launch" => "torchrun",
        "deepspeed" => "deepspeed",
        _ => return None,
    })
}

fn launcher_twice(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if case.spec.launcher.kind == LauncherKind::Shell {
        return;
    }
    let Some(command) = case.document.get("spec").and_then(|body| body.get("command")) else { return };
    let Some((span, word)) = program(command) else { return };
    let name = word.rsplit('/').next().unwrap_or(word);
    let Some(kind) = launcher_of(name) else { return };
    // A single rank may start processes on its own worker.
    if kind == "torchrun" && ranks(case) == 1 {
        return;
    }
    let message = format!("`{word}` in `command` would run in every rank: khorovod already starts the ranks");
    let hint = format!(
        "write only the program, such as `[python, train.py]`, with `launcher: {kind}`; or use `launcher: shell` to run the launcher yourself"
    );
    problems.push(Problem::new(&LAUNCHER_TWICE, span, message).hint(hint));
}

fn ranks(case: &Case<'_>) -> u64 {
    case.spec.groups.iter().map(|group| u64::from(group.replicas) * u64::from(group.slots)).sum()
}

/// The program that a command runs, and the place of its name: the first word, or the module of `python -m`.
fn program(command: &Node) -> Option<(Span, &str)> {
    match &command.kind {
        Kind::Scalar { text, .. } => {
            let mut words = text.split_whitespace();
            Some((command.span, behind_python(words.next()?, words.next(), words.next())))
        }
        Kind::List(items) => {
            let word = |index: usize| items.get(index).and_then(Node::text);
            let program = behind_python(word(0)?, word(1), word(2));
            let place = items.iter().find(|item| item.text() == Some(program)).unwrap_or(command);
            Some((place.span, program))
        }
        Kind::Map(_) => None,
    }
}

fn behind_python<'w>(first: &'w str, second: Option<&'w str>, third: Option<&'w str>) -> &'w str {
    let python = first.rsplit('/').next().is_some_and(|name| name.starts_with("python"));
    match (second, third) {
        (Some("-m"), Some(module)) if python => module,
        _ => first,
    }
}

/// Options of a launcher that khorovod sets: those for the number of ranks, and others.
fn own_options(kind: LauncherKind, mpi: Mpi) -> (&'static [&'static str], &'static [&'static str]) {
    match (kind, mpi) {
        (LauncherKind::Mpirun, Mpi::OpenMpi) => (
            &["-np", "-n", "--np", "-c", "-npernode", "--npernode", "-N"],
            &[
                "--hostfile",
                "-hostfile",
                "--machinefile",
                "-machinefile",
                "-H",
                "--host",
                "-host",
                "--default-hostfile",
                "-default-hostfile",
            ],
        ),
        (LauncherKind::Mpirun, _) => (
            &["-np", "-n", "-ppn", "-perhost"],
            &[
                "-f",
                "-hostfile",
                "-machinefile",
                "-machine",
                "-hosts",
                "-host",
                "-launcher",
                "-bootstrap",
                "-bootstrap-exec",
                "-launcher-exec",
            ],
        ),
        (LauncherKind::Horovodrun, _) => (
            &["-np", "--num-proc", "--min-np", "--min-num-proc", "--max-np", "--max-num-proc", "--slots-per-host"],
            &[
                "-H",
                "--hosts",
                "-hostfile",
                "--hostfile",
                "-p",
                "--ssh-port",
                "-i",
                "--ssh-identity-file",
                "--host-discovery-script",
                "--elastic-timeout",
                "--reset-limit",
                "--blacklist-cooldown-range",
            ],
        ),
        (LauncherKind::Torchrun, _) => (
            &["--nproc-per-node", "--nproc_per_node", "--nnodes"],
            &[
                "--node-rank",
                "--node_rank",
                "--rdzv-backend",
                "--rdzv_backend",
                "--rdzv-endpoint",
                "--rdzv_endpoint",
                "--rdzv-id",
                "--rdzv_id",
                "--master-addr",
                "--master_addr",
                "--master-port",
                "--master_port",
                "--max-restarts",
                "--max_restarts",
                "--standalone",
            ],
        ),
        (LauncherKind::Deepspeed, _) => (
            &["--num_nodes", "--num_gpus", "-i", "--include", "-e", "--exclude"],
            &["-H", "--hostfile", "--launcher", "--no_python"],
        ),
        (LauncherKind::Shell, _) => (&[], &[]),
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
    if launcher.kind != LauncherKind::Shell
        && let Some((index, word)) = words.clone().find(is_program)
    {
        let message = format!("`{word}` in `launcher.args` makes the launcher start another program than `command`");
        let hint = "write only options of the launcher here, and the program in `command`";
        problems.push(Problem::new(&PROGRAM_IN_ARGS, args[index].span, message).hint(hint));
    }
    for (index, word) in args.iter().enumerate() {
        let (name, value) = word.0.split_once('=').map_or((word.0.as_str(), None), |(name, value)| (name, Some(value)));
        let ranks = counts.contains(&name);
        if !ranks && !others.contains(&name) {
            continue;
        }
        let value = value.or_else(|| args.get(index + 1).map(|next| next.0.as_str())).unwrap_or_default();
        let problem = match ranks {
            true => {
                let message = match value.parse() == Ok(np) {
                    true => format!("khorovod passes `{name} {np}` itself"),
                    false => format!("`{name} {value}` in `launcher.args`, but the workers have {np} ranks"),
                };
                let problem = Problem::new(&RANKS_IN_ARGS, word.span, message);
                let workers = case.body.workers.as_ref().map_or(case.top, |at| at.key);
                problem
                    .and(workers, format!("{np} ranks: replicas × slotsPerWorker"))
                    .hint("remove it; to change the number, change `workers.replicas` or `workers.slotsPerWorker`")
            }
            false => Problem::new(&OWN_OPTION, word.span, format!("khorovod passes `{name}` itself"))
                .hint("remove it; it follows from other fields of the spec"),
        };
        problems.push(problem);
    }
}
