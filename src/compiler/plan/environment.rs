//! The environment that khorovod sets for every process: variables of MPI, torchrun, JAX, NCCL and Horovod. See [`environment`]. Variables
//! that the user sets in `env` are left out, so that the values of the user apply.

use std::borrow::Cow;

use super::{EnvPair, GENERATED, Plan, RENDEZVOUS_PORT, Shape};
use crate::job::valid::{Collective, LauncherKind, Mpi};

/// The variables, in the order in which they are written.
pub fn environment(plan: &Plan) -> Vec<EnvPair> {
    let mut env = Vec::with_capacity(32);
    match plan.shape {
        Shape::Agents => match plan.spec.launcher.kind {
            LauncherKind::Jax => jax(plan, &mut env),
            // TensorFlow needs only TF_CONFIG, which differs between ranks. `processes.sh` sets it.
            LauncherKind::Tensorflow => {}
            _ => torchrun(plan, &mut env),
        },
        // In a Slurm job, MPI gets its hosts and binding policy from Slurm.
        _ if !plan.spec.target.has_pods => {
            if plan.spec.launcher.mpi == Mpi::OpenMpi && plan.spec.slurm.srun.is_none() {
                disable_fork_threads(&mut env);
            }
        }
        Shape::StatefulSet | Shape::IndexedJob => mpi(plan, &mut env),
    }
    collective(&plan.spec.collective, &mut env);
    if plan.spec.disables_stall_check() {
        set(&mut env, "HOROVOD_STALL_CHECK_DISABLE", "1");
    }
    if let Some(logdir) = &plan.spec.observability.tensorboard_logdir {
        set(&mut env, "TENSORBOARD_LOGDIR", logdir.clone());
    }
    env.retain(|(name, _)| !plan.spec.env.iter().any(|own| own.name == *name));
    env
}

/// Appends a variable.
fn set(env: &mut Vec<EnvPair>, name: &'static str, value: impl Into<Cow<'static, str>>) {
    env.push((name.into(), value.into()));
}

/// The variables of the MPI implementation.
fn mpi(plan: &Plan, env: &mut Vec<EnvPair>) {
    let hostfile = format!("{GENERATED}/hostfile");
    // The script that starts ssh. Workers have it too, because Open MPI searches for it on every host.
    let ssh = "/etc/khorovod/scripts/ssh";
    match plan.spec.launcher.mpi {
        // Set the names of Open MPI 4 (ORTE) and of Open MPI 5 (PRRTE). Open MPI ignores unknown names.
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
            // Do not bind ranks to cores. A rank is a training process with its own threads, for which one core is too few. In
            // addition, all pods of a node would bind to the same first cores.
            set(env, "OMPI_MCA_hwloc_base_binding_policy", "none");
            set(env, "PRTE_MCA_hwloc_default_binding_policy", "none");
            // Without this timeout, mpirun waits forever if its daemons cannot connect to the launcher.
            let startup = (120 + plan.np / 50).to_string();
            set(env, "OMPI_MCA_orte_startup_timeout", startup.clone());
            set(env, "PRTE_MCA_prte_startup_timeout", startup.clone());
            // Open MPI aborts the job if a connection between its daemons fails. These connections must survive a short
            // loss of the network, such as a switch that restarts or a node under load. khorovod's launcher detects a
            // lost host within seconds, so MPI's own check is only the last resort. With these values, MPI's check
            // takes five minutes: 60 seconds without data, then 12 probes at intervals of 20 seconds. With MPI's
            // defaults it takes eight minutes.
            set(env, "OMPI_MCA_oob_tcp_keepalive_time", "60");
            set(env, "PRTE_MCA_oob_tcp_keepalive_time", "60");
            set(env, "OMPI_MCA_oob_tcp_keepalive_intvl", "20");
            set(env, "PRTE_MCA_oob_tcp_keepalive_intvl", "20");
            set(env, "OMPI_MCA_oob_tcp_keepalive_probes", "12");
            set(env, "PRTE_MCA_oob_tcp_keepalive_probes", "12");
            disable_fork_threads(env);
            if plan.spec.security.run_as_user == Some(0) {
                set(env, "OMPI_ALLOW_RUN_AS_ROOT", "1");
                set(env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                set(env, "PRTE_ALLOW_RUN_AS_ROOT", "1");
                set(env, "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
        }
        Mpi::IntelMpi => {
            set(env, "I_MPI_HYDRA_HOST_FILE", hostfile.clone());
            // A host file of Hydra has no slots. Without this variable, Hydra starts as many ranks on each host as the
            // host has cores.
            let slots = plan.teams[0].slots;
            if plan.teams.iter().all(|team| team.slots == slots) {
                set(env, "I_MPI_PERHOST", slots.to_string());
            }
            set(env, "I_MPI_HYDRA_BOOTSTRAP", "ssh");
            set(env, "I_MPI_HYDRA_BOOTSTRAP_EXEC", ssh);
            // Only the launcher has the ssh key. By default Hydra logs in to 16 hosts from the launcher, and to all further
            // hosts from these 16. A higher branch count avoids the second step.
            set(env, "I_MPI_HYDRA_BRANCH_COUNT", plan.workers.max(16).to_string());
        }
        Mpi::Mpich => {
            set(env, "HYDRA_HOST_FILE", hostfile.clone());
            set(env, "HYDRA_LAUNCHER", "ssh");
            set(env, "HYDRA_LAUNCHER_EXEC", ssh);
        }
    }
}

/// Makes Open MPI fork ranks without threads. Open MPI 5, and Open MPI 4 with 32 ranks or more per host, fork ranks in threads,
/// while another thread receives their exits. If a rank exits immediately, its exit is processed before its start; the rank then
/// counts as running and mpirun waits forever. Without threads the events are in order.
fn disable_fork_threads(env: &mut Vec<EnvPair>) {
    set(env, "OMPI_MCA_odls_base_max_threads", "0");
    set(env, "PRTE_MCA_odls_base_max_threads", "0");
}

/// The variables of torchrun (`PET_*`).
fn torchrun(plan: &Plan, env: &mut Vec<EnvPair>) {
    let spec = &plan.spec;
    let first = plan.first_host();
    let slots = spec.groups.first().map_or(1, |group| group.slots);
    set(env, "PET_NPROC_PER_NODE", slots.to_string());
    // How often torchrun itself restarts its ranks after one of them has failed:
    // - in a Slurm job never, because the batch script starts all agents again;
    // - in an elastic job `lifecycle.retries` times;
    // - in other jobs once. With 0, the torchrun of the failed rank would wait five minutes for the agents of the other
    //   pods. With 1, torchrun restarts the ranks of its pod immediately; `agents.py` notices the restart, and restarts
    //   the ranks of all pods.
    let restarts = match &spec.elastic {
        _ if !spec.target.has_pods => 0,
        Some(_) => spec.lifecycle.retries,
        None => 1,
    };
    set(env, "PET_MAX_RESTARTS", restarts.to_string());
    if spec.observability.rank_prefix {
        // 3: prefix each line of standard output and standard error with its rank.
        set(env, "PET_TEE", "3");
    }
    match &spec.elastic {
        Some(elastic) => {
            set(env, "PET_NNODES", format!("{}:{}", elastic.min_replicas, elastic.max_replicas));
            set(env, "PET_RDZV_BACKEND", "c10d");
            set(env, "PET_RDZV_ENDPOINT", format!("{first}:{RENDEZVOUS_PORT}"));
            set(env, "PET_RDZV_ID", plan.stem());
            set(env, "PET_RDZV_CONF", format!("join_timeout={}", elastic.timeout));
        }
        None => {
            set(env, "PET_NNODES", plan.workers.to_string());
            // In a Slurm job the script sets the address, because the nodes are known only then.
            if spec.target.has_pods {
                set(env, "PET_MASTER_ADDR", first);
                set(env, "PET_MASTER_PORT", RENDEZVOUS_PORT.to_string());
            }
        }
    }
    debug_assert_eq!(spec.launcher.kind, LauncherKind::Torchrun);
}

/// The variables of JAX that are the same for all ranks. `processes.sh` sets those that differ.
fn jax(plan: &Plan, env: &mut Vec<EnvPair>) {
    set(env, "JAX_COORDINATOR_ADDRESS", format!("{}:{RENDEZVOUS_PORT}", plan.first_host()));
    set(env, "JAX_NUM_PROCESSES", plan.np.to_string());
    if plan.spec.groups.iter().all(|group| group.gpus == 0) {
        // This is the default since JAX 0.5. In older versions, JAX processes on CPUs cannot exchange data
        // without it.
        set(env, "JAX_CPU_COLLECTIVES_IMPLEMENTATION", "gloo");
    }
}

/// The variables of NCCL, Gloo and Horovod from `spec.collective`.
fn collective(options: &Collective, env: &mut Vec<EnvPair>) {
    let flag = |on: bool| if on { "1" } else { "0" };
    if let Some(level) = options.debug {
        set(env, "NCCL_DEBUG", level);
    }
    if let Some(interface) = &options.interface {
        set(env, "NCCL_SOCKET_IFNAME", interface.clone());
        match interface.strip_prefix('^') {
            Some(excluded) => set(env, "OMPI_MCA_btl_tcp_if_exclude", excluded.to_owned()),
            None => {
                let names = interface.trim_start_matches('=');
                set(env, "OMPI_MCA_btl_tcp_if_include", names.to_owned());
                set(env, "GLOO_SOCKET_IFNAME", names.to_owned());
                set(env, "HOROVOD_GLOO_IFACE", names.split(',').next().unwrap_or_default().to_owned());
            }
        }
    }
    if let Some(on) = options.infiniband {
        set(env, "NCCL_IB_DISABLE", flag(!on));
    }
    if let Some(threshold) = &options.fusion_threshold {
        set(env, "HOROVOD_FUSION_THRESHOLD", threshold.value().to_string());
    }
    if let Some(milliseconds) = options.cycle_time {
        set(env, "HOROVOD_CYCLE_TIME", milliseconds.to_string());
    }
    if let Some(on) = options.autotune {
        set(env, "HOROVOD_AUTOTUNE", flag(on));
    }
    if let Some(on) = options.hierarchical_allreduce {
        set(env, "HOROVOD_HIERARCHICAL_ALLREDUCE", flag(on));
    }
    if let Some(path) = &options.timeline {
        set(env, "HOROVOD_TIMELINE", path.clone());
    }
}
