//! What khorovod sets for every process: MPI's, NCCL's and Horovod's knobs. What the user's `env`
//! sets is left out: it wins.

use std::borrow::Cow;

use super::{EnvPair, GENERATED, Plan, RENDEZVOUS_PORT, Shape};
use crate::job::valid::{Collective, LauncherKind, Mpi};

/// Names and values, in the order they are written.
pub fn environment(plan: &Plan) -> Vec<EnvPair> {
    let mut env = Vec::with_capacity(32);
    match plan.shape {
        Shape::Torchrun => torchrun(plan, &mut env),
        // Its MPIs know it, and who binds whom.
        _ if !plan.spec.target.has_pods => {
            if plan.spec.launcher.mpi == Mpi::OpenMpi && plan.spec.slurm.srun.is_none() {
                forks(&mut env);
            }
        }
        Shape::StatefulSet | Shape::IndexedJob => mpi(plan, &mut env),
    }
    collective(&plan.spec.collective, &mut env);
    if let Some(logdir) = &plan.spec.observability.tensorboard {
        set(&mut env, "TENSORBOARD_LOGDIR", logdir.clone());
    }
    env.retain(|(name, _)| !plan.spec.env.iter().any(|own| own.name == *name));
    env
}

fn set(env: &mut Vec<EnvPair>, name: &'static str, value: impl Into<Cow<'static, str>>) {
    env.push((name.into(), value.into()));
}

fn mpi(plan: &Plan, env: &mut Vec<EnvPair>) {
    let hostfile = format!("{GENERATED}/hostfile");
    // On a worker as well: Open MPI looks for its agent there, too.
    let ssh = "/etc/khorovod/scripts/ssh";
    match plan.spec.launcher.mpi {
        // Open MPI ignores names it does not know, so both generations' names are set.
        Mpi::OpenMpi => {
            let parallel = plan.workers.clamp(1, 256).to_string();
            set(env, "OMPI_MCA_orte_default_hostfile", hostfile.clone());
            set(env, "PRTE_MCA_prte_default_hostfile", hostfile.clone());
            set(env, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
            set(env, "PRTE_MCA_prte_keep_fqdn_hostnames", "false");
            set(env, "OMPI_MCA_plm_rsh_agent", ssh);
            set(env, "PRTE_MCA_plm_ssh_agent", ssh);
            set(env, "OMPI_MCA_plm_rsh_no_tree_spawn", "1");
            set(env, "PRTE_MCA_plm_ssh_no_tree_spawn", "1");
            set(env, "OMPI_MCA_plm_rsh_num_concurrent", parallel.clone());
            set(env, "PRTE_MCA_plm_ssh_num_concurrent", parallel.clone());
            // A rank is a whole training process with threads of its own: one core would starve it. And each pod would
            // bind to the node's first cores, as its neighbours do.
            set(env, "OMPI_MCA_hwloc_base_binding_policy", "none");
            set(env, "PRTE_MCA_hwloc_default_binding_policy", "none");
            // Where daemons cannot reach the launcher, it would wait for ever.
            let startup = (120 + plan.np / 50).to_string();
            set(env, "OMPI_MCA_orte_startup_timeout", startup.clone());
            set(env, "PRTE_MCA_prte_startup_timeout", startup.clone());
            // It gives a node that falls silent eight minutes.
            set(env, "OMPI_MCA_oob_tcp_keepalive_time", "4");
            set(env, "PRTE_MCA_oob_tcp_keepalive_time", "4");
            set(env, "OMPI_MCA_oob_tcp_keepalive_intvl", "2");
            set(env, "PRTE_MCA_oob_tcp_keepalive_intvl", "2");
            set(env, "OMPI_MCA_oob_tcp_keepalive_probes", "2");
            set(env, "PRTE_MCA_oob_tcp_keepalive_probes", "2");
            forks(env);
            if plan.spec.security.run_as_user == Some(0) {
                set(env, "OMPI_ALLOW_RUN_AS_ROOT", "1");
                set(env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                set(env, "PRTE_ALLOW_RUN_AS_ROOT", "1");
                set(env, "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
        }
        Mpi::IntelMpi => {
            set(env, "I_MPI_HYDRA_HOST_FILE", hostfile.clone());
            // A host file names hosts only; without this each gets as many ranks as it has cores.
            let slots = plan.teams[0].slots;
            if plan.teams.iter().all(|team| team.slots == slots) {
                set(env, "I_MPI_PERHOST", slots.to_string());
            }
            set(env, "I_MPI_HYDRA_BOOTSTRAP", "ssh");
            set(env, "I_MPI_HYDRA_BOOTSTRAP_EXEC", ssh);
            // Else it starts the 17th host's ranks by way of the first, which has no key.
            set(env, "I_MPI_HYDRA_BRANCH_COUNT", plan.workers.max(16).to_string());
        }
        Mpi::Mpich => {
            set(env, "HYDRA_HOST_FILE", hostfile.clone());
            set(env, "HYDRA_LAUNCHER", "ssh");
            set(env, "HYDRA_LAUNCHER_EXEC", ssh);
        }
    }
}

/// Open MPI 5, and 4 from 32 ranks on a host, fork ranks in threads beside the one that hears of their ends. Of a rank that
/// ends at once the end comes first then, "it runs" is what stays, and mpirun waits for ever. Without threads they come in
/// order.
fn forks(env: &mut Vec<EnvPair>) {
    set(env, "OMPI_MCA_odls_base_max_threads", "0");
    set(env, "PRTE_MCA_odls_base_max_threads", "0");
}

fn torchrun(plan: &Plan, env: &mut Vec<EnvPair>) {
    let spec = &plan.spec;
    let first = plan.first_host();
    let slots = spec.groups.first().map_or(1, |group| group.slots);
    set(env, "PET_NPROC_PER_NODE", slots.to_string());
    // In a Slurm job whoever starts the agents starts them again.
    let restarts = if spec.target.has_pods { spec.launcher.retries } else { 0 };
    set(env, "PET_MAX_RESTARTS", restarts.to_string());
    if spec.observability.rank_prefix {
        // Standard output and errors both, each line behind its rank.
        set(env, "PET_TEE", "3");
    }
    match &spec.elastic {
        Some(elastic) => {
            set(env, "PET_NNODES", format!("{}:{}", elastic.min_workers, elastic.max_workers));
            set(env, "PET_RDZV_BACKEND", "c10d");
            set(env, "PET_RDZV_ENDPOINT", format!("{first}:{RENDEZVOUS_PORT}"));
            set(env, "PET_RDZV_ID", plan.stem());
            set(env, "PET_RDZV_CONF", format!("join_timeout={}", elastic.timeout));
        }
        None => {
            set(env, "PET_NNODES", plan.workers.to_string());
            // Known when the job has its nodes.
            if spec.target.has_pods {
                set(env, "PET_MASTER_ADDR", first);
                set(env, "PET_MASTER_PORT", RENDEZVOUS_PORT.to_string());
            }
        }
    }
    debug_assert_eq!(spec.launcher.kind, LauncherKind::Torchrun);
}

fn collective(knobs: &Collective, env: &mut Vec<EnvPair>) {
    let flag = |on: bool| if on { "1" } else { "0" };
    if let Some(level) = knobs.debug {
        set(env, "NCCL_DEBUG", level);
    }
    if let Some(interface) = &knobs.interface {
        set(env, "NCCL_SOCKET_IFNAME", interface.clone());
        match interface.strip_prefix('^') {
            Some(excluded) => set(env, "OMPI_MCA_btl_tcp_if_exclude", excluded.to_owned()),
            None => {
                let plain = interface.trim_start_matches('=');
                set(env, "OMPI_MCA_btl_tcp_if_include", plain.to_owned());
                set(env, "GLOO_SOCKET_IFNAME", plain.to_owned());
                set(env, "HOROVOD_GLOO_IFACE", plain.split(',').next().unwrap_or_default().to_owned());
            }
        }
    }
    if let Some(on) = knobs.infiniband {
        set(env, "NCCL_IB_DISABLE", flag(!on));
    }
    if let Some(threshold) = &knobs.fusion_threshold {
        set(env, "HOROVOD_FUSION_THRESHOLD", threshold.value().to_string());
    }
    if let Some(milliseconds) = knobs.cycle_time {
        set(env, "HOROVOD_CYCLE_TIME", milliseconds.to_string());
    }
    if let Some(on) = knobs.autotune {
        set(env, "HOROVOD_AUTOTUNE", flag(on));
    }
    if let Some(on) = knobs.hierarchical_allreduce {
        set(env, "HOROVOD_HIERARCHICAL_ALLREDUCE", flag(on));
    }
    if let Some(path) = &knobs.timeline {
        set(env, "HOROVOD_TIMELINE", path.clone());
    }
}
