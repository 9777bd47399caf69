//! The one command that starts the ranks, derived from the spec.

use super::{GENERATED, Plan};
use crate::spec::valid::{Elastic, LauncherKind, Mpi};

/// The words the launcher runs.
pub fn launch(plan: &Plan) -> Vec<String> {
    let spec = &plan.spec;
    if spec.command.is_empty() {
        return Vec::new();
    }
    let own = match spec.launcher.kind {
        LauncherKind::Mpirun => mpirun(plan),
        LauncherKind::Horovodrun => horovodrun(plan),
        LauncherKind::Torchrun => vec!["torchrun".to_owned()],
        LauncherKind::Deepspeed => deepspeed(plan),
        LauncherKind::Shell => return spec.command.clone(),
    };
    let python = match spec.launcher.kind {
        LauncherKind::Torchrun | LauncherKind::Deepspeed => Some("--no_python"),
        _ => None,
    };
    own.into_iter()
        .chain(spec.launcher.args.iter().cloned())
        .chain(python.map(str::to_owned))
        .chain(spec.command.iter().cloned())
        .collect()
}

fn mpirun(plan: &Plan) -> Vec<String> {
    let given = |flag: &str| plan.spec.launcher.args.iter().any(|arg| arg == flag);
    let hostfile = format!("{GENERATED}/hostfile");
    let mut words = vec!["mpirun".to_owned(), "-np".to_owned(), plan.np.to_string()];
    match plan.spec.launcher.mpi {
        Mpi::OpenMpi => {
            words.extend(["--hostfile".to_owned(), hostfile]);
            // A rank is a whole training process with threads of its own: one core would starve it.
            if !given("--bind-to") && !given("-bind-to") {
                words.extend(["--bind-to".to_owned(), "none".to_owned()]);
            }
        }
        // Workers call back to the launcher by this name; its own short one they cannot resolve.
        Mpi::IntelMpi | Mpi::Mpich => {
            words.extend(["-f".to_owned(), hostfile, "-localhost".to_owned(), plan.launcher_host()]);
        }
    }
    if plan.spec.observability.rank_prefix {
        let prefix = if plan.spec.launcher.mpi == Mpi::OpenMpi { "--tag-output" } else { "-prepend-rank" };
        words.extend((!given(prefix)).then(|| prefix.to_owned()));
    }
    words
}

fn horovodrun(plan: &Plan) -> Vec<String> {
    let mut words = vec!["horovodrun".to_owned(), "-np".to_owned(), plan.np.to_string()];
    match &plan.spec.elastic {
        Some(elastic) => words.extend(elastic_options(plan, elastic)),
        None => words.extend(["--hostfile".to_owned(), format!("{GENERATED}/hostfile")]),
    }
    words.extend(["-p".to_owned(), plan.spec.ssh.port.to_string()]);
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
        Mpi::IntelMpi => "impi",
        Mpi::Mpich => "mpich",
    };
    ["deepspeed", "--hostfile", &format!("{GENERATED}/hostfile"), "--launcher", launcher].map(str::to_owned).to_vec()
}
