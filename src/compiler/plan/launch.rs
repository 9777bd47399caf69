//! The command that starts the ranks. See [`launch`].

use super::{GENERATED, HOSTFILE, Plan};
use crate::job::valid::{Elastic, LauncherKind, Mpi};

/// The launch command as a list of arguments. Empty if the spec has no command.
pub fn launch(plan: &Plan) -> Vec<String> {
    let spec = &plan.spec;
    if spec.command.is_empty() {
        return Vec::new();
    }
    let args = spec.launcher.args.clone();
    let (program, args) = match spec.launcher.kind {
        LauncherKind::Mpirun => (mpirun(plan), args),
        LauncherKind::Horovodrun => (horovodrun(plan), args),
        LauncherKind::Torchrun => (vec![spec.launcher.program.clone().unwrap_or_else(|| "torchrun".to_owned())], args),
        LauncherKind::Deepspeed => (deepspeed(plan), deepspeed_options(plan)),
        LauncherKind::Jax | LauncherKind::Tensorflow | LauncherKind::Shell => return spec.command.clone(),
    };
    let python = match spec.launcher.kind {
        LauncherKind::Torchrun | LauncherKind::Deepspeed => Some("--no_python"),
        _ => None,
    };
    program.into_iter().chain(args).chain(python.map(str::to_owned)).chain(spec.command.iter().cloned()).collect()
}

/// The path of the hostfile. A Slurm job has a placeholder, which the script replaces.
fn hostfile(plan: &Plan) -> String {
    if plan.spec.target.has_pods { format!("{GENERATED}/hostfile") } else { HOSTFILE.to_owned() }
}

/// mpirun and its options.
fn mpirun(plan: &Plan) -> Vec<String> {
    let hosts = match plan.spec.launcher.mpi {
        Mpi::OpenMpi => "--hostfile",
        // With `-f`, Intel MPI ignores the slots and starts as many ranks per host as it has cores.
        Mpi::IntelMpi => "-machinefile",
        Mpi::Mpich => "-f",
    };
    let mut words = ["mpirun", "-np", &plan.np.to_string()].map(str::to_owned).to_vec();
    // In a Slurm job mpirun gets the hosts from Slurm.
    if plan.spec.target.has_pods {
        words.extend([hosts.to_owned(), hostfile(plan)]);
    }
    words.extend(mpirun_options(plan, &plan.spec.launcher.args));
    words
}

/// The options for binding and output of every `mpirun`, without those that `user_args` already contains.
fn mpirun_options(plan: &Plan, user_args: &[String]) -> Vec<String> {
    let is_given = |flag: &str| user_args.iter().any(|arg| arg.trim_start_matches('-') == flag.trim_start_matches('-'));
    let mut words = Vec::new();
    let prefix = match plan.spec.launcher.mpi {
        Mpi::OpenMpi => {
            // A rank is a training process with its own threads, for which one core is too few.
            if !is_given("--bind-to") {
                words.extend(["--bind-to".to_owned(), "none".to_owned()]);
            }
            "--tag-output"
        }
        Mpi::IntelMpi | Mpi::Mpich => "-prepend-rank",
    };
    words.extend((plan.spec.observability.rank_prefix && !is_given(prefix)).then(|| prefix.to_owned()));
    words
}

/// horovodrun and its options.
fn horovodrun(plan: &Plan) -> Vec<String> {
    let mut words = vec!["horovodrun".to_owned(), "-np".to_owned(), plan.np.to_string()];
    match &plan.spec.elastic {
        Some(elastic) => words.extend(elastic_options(plan, elastic)),
        None => words.extend(["--hostfile".to_owned(), hostfile(plan)]),
    }
    if plan.spec.target.has_pods {
        words.extend(["-p".to_owned(), plan.spec.ssh.port.to_string()]);
    }
    // horovodrun's default of 30 s is too short for many or busy hosts. The launcher has already checked that all answer.
    if !plan.spec.launcher.args.iter().any(|arg| arg.starts_with("--start-timeout")) {
        words.extend(["--start-timeout", "300"].map(str::to_owned));
    }
    if let Some(interface) = plan.spec.collective.interface.as_deref().filter(|name| !name.starts_with(['^', '='])) {
        words.extend(["--network-interfaces".to_owned(), interface.to_owned()]);
    }
    words
}

/// The options of horovodrun for an elastic job.
fn elastic_options(plan: &Plan, elastic: &Elastic) -> Vec<String> {
    let slots = plan.spec.groups.first().map_or(1, |group| group.slots);
    let mut words = vec![
        "--min-np".to_owned(),
        elastic.min_replicas.saturating_mul(slots).to_string(),
        "--max-np".to_owned(),
        elastic.max_replicas.saturating_mul(slots).to_string(),
        "--host-discovery-script".to_owned(),
        format!("{GENERATED}/discoverHosts.sh"),
        "--elastic-timeout".to_owned(),
        elastic.timeout.to_string(),
    ];
    if let Some(limit) = elastic.reset_limit {
        words.extend(["--reset-limit".to_owned(), limit.to_string()]);
    }
    if let Some((low, high)) = elastic.cooldown {
        words.extend(["--blacklist-cooldown-range".to_owned(), low.to_string(), high.to_string()]);
    }
    words
}

/// The deepspeed launcher and its options.
fn deepspeed(plan: &Plan) -> Vec<String> {
    let launcher = match plan.spec.launcher.mpi {
        Mpi::OpenMpi => "openmpi",
        // DeepSpeed's launcher `mpich` can only start Python scripts. `impi` works with every MPI that uses Hydra.
        Mpi::IntelMpi | Mpi::Mpich => "impi",
    };
    // Without `--force_multi`, DeepSpeed runs the ranks of a single host locally, on the launcher, which may not be a worker.
    ["deepspeed", "--hostfile", &hostfile(plan), "--launcher", launcher, "--force_multi"].map(str::to_owned).to_vec()
}

/// The options of the user for deepspeed. The options for the mpirun that deepspeed starts are merged into `--launcher_args`.
fn deepspeed_options(plan: &Plan) -> Vec<String> {
    const OPTION: &str = "--launcher_args";
    let mut rest = Vec::new();
    let mut user_args = String::new();
    let mut args = plan.spec.launcher.args.iter();
    while let Some(arg) = args.next() {
        match arg.strip_prefix(OPTION) {
            Some("") => user_args = args.next().cloned().unwrap_or_default(),
            Some(value) if value.starts_with('=') => value[1..].clone_into(&mut user_args),
            _ => rest.push(arg.clone()),
        }
    }
    let given: Vec<_> = user_args.split_whitespace().map(str::to_owned).collect();
    let mut args_for_mpirun = mpirun_options(plan, &given);
    // Without this option, DeepSpeed restricts Open MPI to the interface eth0.
    let interface = plan.spec.collective.interface.as_deref().map(|name| name.trim_start_matches('='));
    if plan.spec.launcher.mpi == Mpi::OpenMpi
        && let Some(name) = interface.filter(|name| !name.starts_with('^'))
        && !given.iter().any(|arg| arg == "btl_tcp_if_include")
    {
        args_for_mpirun.extend(["--mca", "btl_tcp_if_include", name].map(str::to_owned));
    }
    if !user_args.is_empty() {
        args_for_mpirun.push(user_args);
    }
    [vec![format!("{OPTION}={}", args_for_mpirun.join(" "))], rest].concat()
}
