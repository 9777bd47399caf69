//! The one command that starts the ranks, derived from the spec.

use super::{GENERATED, HOSTFILE, Plan};
use crate::job::valid::{Elastic, LauncherKind, Mpi};

/// The words the launcher runs.
pub fn launch(plan: &Plan) -> Vec<String> {
    let spec = &plan.spec;
    if spec.command.is_empty() {
        return Vec::new();
    }
    let args = spec.launcher.args.clone();
    let (own, args) = match spec.launcher.kind {
        LauncherKind::Mpirun => (mpirun(plan), args),
        LauncherKind::Horovodrun => (horovodrun(plan), args),
        LauncherKind::Torchrun => (vec!["torchrun".to_owned()], args),
        LauncherKind::Deepspeed => (deepspeed(plan), deepspeed_options(plan)),
        LauncherKind::Shell => return spec.command.clone(),
    };
    let python = match spec.launcher.kind {
        LauncherKind::Torchrun | LauncherKind::Deepspeed => Some("--no_python"),
        _ => None,
    };
    own.into_iter().chain(args).chain(python.map(str::to_owned)).chain(spec.command.iter().cloned()).collect()
}

fn hostfile(plan: &Plan) -> String {
    if plan.spec.target.has_pods { format!("{GENERATED}/hostfile") } else { HOSTFILE.to_owned() }
}

fn mpirun(plan: &Plan) -> Vec<String> {
    let hosts = match plan.spec.launcher.mpi {
        Mpi::OpenMpi => "--hostfile",
        // With -f it would start as many ranks on a host as that has cores.
        Mpi::IntelMpi => "-machinefile",
        Mpi::Mpich => "-f",
    };
    let mut words = ["mpirun", "-np", &plan.np.to_string()].map(str::to_owned).to_vec();
    // It asks Slurm.
    if plan.spec.target.has_pods {
        words.extend([hosts.to_owned(), hostfile(plan)]);
    }
    words.extend(placement(plan, &plan.spec.launcher.args));
    words
}

/// What every `mpirun` is given beside its number of ranks and its hosts, less what `given` says.
fn placement(plan: &Plan, given: &[String]) -> Vec<String> {
    let given = |flag: &str| given.iter().any(|arg| arg.trim_start_matches('-') == flag.trim_start_matches('-'));
    let mut words = Vec::new();
    let prefix = match plan.spec.launcher.mpi {
        Mpi::OpenMpi => {
            // A rank is a whole training process with threads of its own: one core would starve it.
            if !given("--bind-to") {
                words.extend(["--bind-to".to_owned(), "none".to_owned()]);
            }
            "--tag-output"
        }
        Mpi::IntelMpi | Mpi::Mpich => "-prepend-rank",
    };
    words.extend((plan.spec.observability.rank_prefix && !given(prefix)).then(|| prefix.to_owned()));
    words
}

fn horovodrun(plan: &Plan) -> Vec<String> {
    let mut words = vec!["horovodrun".to_owned(), "-np".to_owned(), plan.np.to_string()];
    match &plan.spec.elastic {
        Some(elastic) => words.extend(elastic_options(plan, elastic)),
        None => words.extend(["--hostfile".to_owned(), hostfile(plan)]),
    }
    if plan.spec.target.has_pods {
        words.extend(["-p".to_owned(), plan.spec.ssh.port.to_string()]);
    }
    // Its own 30 s are too few for many or busy hosts, all of which answered before.
    if !plan.spec.launcher.args.iter().any(|arg| arg.starts_with("--start-timeout")) {
        words.extend(["--start-timeout", "300"].map(str::to_owned));
    }
    if let Some(interface) = plan.spec.collective.interface.as_deref().filter(|name| !name.starts_with(['^', '='])) {
        words.extend(["--network-interfaces".to_owned(), interface.to_owned()]);
    }
    words
}

fn elastic_options(plan: &Plan, elastic: &Elastic) -> Vec<String> {
    let slots = plan.spec.groups.first().map_or(1, |group| group.slots);
    let mut words = vec![
        "--min-np".to_owned(),
        elastic.min_workers.saturating_mul(slots).to_string(),
        "--max-np".to_owned(),
        elastic.max_workers.saturating_mul(slots).to_string(),
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

fn deepspeed(plan: &Plan) -> Vec<String> {
    let launcher = match plan.spec.launcher.mpi {
        Mpi::OpenMpi => "openmpi",
        // What it calls `mpich` cannot start a program of one's own; this speaks to any Hydra.
        Mpi::IntelMpi | Mpi::Mpich => "impi",
    };
    // Without the last it runs the ranks of a single host where it stands, which may be no worker.
    ["deepspeed", "--hostfile", &hostfile(plan), "--launcher", launcher, "--force_multi"].map(str::to_owned).to_vec()
}

/// The user's options of `deepspeed`, and among them what the mpirun below it is given.
fn deepspeed_options(plan: &Plan) -> Vec<String> {
    const OPTION: &str = "--launcher_args";
    let mut rest = Vec::new();
    let mut theirs = String::new();
    let mut args = plan.spec.launcher.args.iter();
    while let Some(arg) = args.next() {
        match arg.strip_prefix(OPTION) {
            Some("") => theirs = args.next().cloned().unwrap_or_default(),
            Some(value) if value.starts_with('=') => value[1..].clone_into(&mut theirs),
            _ => rest.push(arg.clone()),
        }
    }
    let given: Vec<_> = theirs.split_whitespace().map(str::to_owned).collect();
    let mut ours = placement(plan, &given);
    // DeepSpeed ties Open MPI to eth0 otherwise.
    let interface = plan.spec.collective.interface.as_deref().map(|name| name.trim_start_matches('='));
    if plan.spec.launcher.mpi == Mpi::OpenMpi
        && let Some(name) = interface.filter(|name| !name.starts_with('^'))
        && !given.iter().any(|arg| arg == "btl_tcp_if_include")
    {
        ours.extend(["--mca", "btl_tcp_if_include", name].map(str::to_owned));
    }
    if !theirs.is_empty() {
        ours.push(theirs);
    }
    [vec![format!("{OPTION}={}", ours.join(" "))], rest].concat()
}
