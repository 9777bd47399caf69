//! Fields of the spec that Slurm cannot support (errors) and fields that have no effect under Slurm (notes). See [`check`].

use crate::job::declare::EnvValue;
use crate::job::target::Exception;
use crate::job::types::spec::{LauncherKind, LauncherPod, VolumeSource};
use crate::job::{Case, field, key, spares};
use crate::problem::{Problem, Span, codes};
use crate::targets::refusal::TARGET_CANNOT;

codes! {
    /// Fields that have no effect under Slurm
    ///
    /// The batch script has nothing that corresponds to these fields. Most are about pods: their network access, their
    /// user, their placement by Kubernetes. Others, such as `lifecycle.stall`, set what khorovod does in pods if a training fails
    /// or makes no progress; the batch script does not do this. You can leave the fields in the spec if you also render it for
    /// Kubernetes.
    Note SLURM_IGNORES = "slurm-ignores";

    /// Variables that you must set when you submit the job
    ///
    /// A Slurm cluster has no Secrets and ConfigMaps. The script reads these variables from the environment in which you call
    /// sbatch. If one of them is not set, the script exits immediately and prints its name.
    Note SLURM_ASKS = "slurm-asks";

    /// An option that the script sets itself
    ///
    /// khorovod sets the options for nodes, ranks, devices, memory and time from fields of the spec. If you set such an option
    /// again, it silently overrides the spec, and the job runs with another number of ranks or other resources.
    Error SLURM_OPTION = "slurm-option";
}

/// Paths that exist only in pods.
const POD_PATHS: &[&str] = &["/horovod/generated", "/kubeflow/openmpi/", "/etc/khorovod"];

/// The fields that Slurm does not support, and those that have no effect under Slurm.
pub const EXCEPTIONS: &[Exception] = &[
    Exception::refused("code", ""),
    Exception::refused("envFrom", ""),
    Exception::refused("env.NAME.fieldRef", ""),
    Exception::refused("storage", "except a `hostPath` that equals its `mountPath`"),
    Exception::refused("workers.elastic", ""),
    Exception::refused("workers.spares", "if above 0"),
    Exception::refused("workers.groups", "with more than one group"),
    Exception::refused("workers.gpuResource", "other than `nvidia.com/gpu` and `amd.com/gpu`, without `slurm.gres`"),
    Exception::refused("launcher.interactive", "if true"),
    Exception::refused("launcher.kind", "if `jax` or `tensorflow`"),
    Exception::refused("launcher.args", "with `slurm.srun` and the launcher mpirun"),
    Exception::refused("placement.nodeSelector", "without `slurm.partition`, `constraint` or `nodelist`"),
    Exception::refused("placement.affinity", "without `slurm.partition`, `constraint` or `nodelist`"),
    Exception::ignored("metadata.namespace"),
    Exception::ignored("metadata.labels"),
    Exception::ignored("metadata.annotations"),
    Exception::ignored("image.pullPolicy"),
    Exception::ignored("image.pullSecrets"),
    Exception::ignored("launcher.runsIn"),
    Exception::ignored("workers.shm"),
    Exception::ignored("workers.rdma"),
    Exception::ignored("workers.resourceClaims"),
    Exception::ignored("workers.gpuClaim"),
    Exception::ignored("workers.computeDomain"),
    Exception::ignored("workers.healthCheck"),
    Exception::ignored("workers.serviceAccountName"),
    Exception::ignored("launcher.cpu"),
    Exception::ignored("launcher.memory"),
    Exception::ignored("launcher.image"),
    Exception::ignored("lifecycle.startTimeout"),
    Exception::ignored("launcher.lostTimeout"),
    Exception::ignored("lifecycle.retriesResetAfter"),
    Exception::ignored("lifecycle.retriesWithoutProgress"),
    Exception::ignored("lifecycle.finalExitCodes"),
    Exception::ignored("placement.tolerations"),
    Exception::ignored("placement.priorityClassName"),
    Exception::ignored("placement.runtimeClassName"),
    Exception::ignored("placement.spread"),
    Exception::ignored("placement.pack"),
    Exception::ignored("placement.topology"),
    Exception::ignored("placement.hostNetwork"),
    Exception::ignored("scheduling.volcanoQueue"),
    Exception::ignored("scheduling.localQueue"),
    Exception::ignored("scheduling.workloadPriorityClassName"),
    Exception::ignored("scheduling.partialAdmission"),
    Exception::ignored("scheduling.schedulerName"),
    Exception::ignored("lifecycle.ttlAfterFinished"),
    Exception::ignored("lifecycle.keepWorkers"),
    Exception::ignored("lifecycle.stall"),
    Exception::ignored("runTag"),
    Exception::ignored("ssh"),
    Exception::ignored("security"),
    Exception::ignored("patches"),
    Exception::ignored("observability.metrics"),
    Exception::ignored("observability.launcherMetrics"),
    Exception::ignored("observability.events"),
    Exception::ignored("observability.progress"),
];

/// Reports a field that Slurm does not support.
fn refuse(span: Span, message: &str, hint: &str, problems: &mut Vec<Problem>) {
    problems.push(Problem::new(&TARGET_CANNOT, span, message).hint(hint));
}

/// Reports the fields of a spec that Slurm does not support, and those that have no effect.
pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    workers(case, problems);
    launcher(case, problems);
    environment(case, problems);
    data(case, problems);
    placement(case, problems);
    checkpoint(case, problems);
    pod_paths(case, problems);
    options(case, problems);
    ignored(case, problems);
}

fn workers(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(workers) = &case.body.workers else { return };
    if let Some(groups) = workers.groups.as_ref().filter(|groups| groups.len() > 1) {
        let message = "all nodes of a Slurm job are alike, so there cannot be several `workers.groups`";
        refuse(groups.key, message, "use one group: `workers: {replicas: …}`", problems);
    }
    let first = workers.groups.iter().flat_map(|groups| groups.iter()).next();
    let gpu_resource = first.and_then(|group| group.gpu_resource.as_ref()).or(workers.gpu_resource.as_ref());
    let has_gpus = case.spec.groups.iter().any(|group| group.gpus > 0);
    if let (Some(resource), true, None) = (gpu_resource, has_gpus, field!(case.slurm.gres))
        && !["nvidia.com/gpu", "amd.com/gpu"].contains(&resource.0.as_str())
    {
        let message = format!("Slurm has no resource `{}`", resource.0);
        refuse(
            resource.span,
            &message,
            "set the resource name of your Slurm cluster: `slurm: {gres: \"gpu:…\"}`; `sinfo -o %G` lists the names",
            problems,
        );
    }
    if let Some(spares) = spares(case).filter(|_| case.spec.launcher.runs_in == LauncherPod::Own) {
        let message = "all nodes of a Slurm job run ranks, so `workers.spares` is not supported";
        refuse(spares, message, "remove `spares`; if a node fails, Slurm restarts the job", problems);
    }
    if let Some(elastic) = field!(case.workers.elastic) {
        let message = "a Slurm job cannot change its number of nodes, so `workers.elastic` is not supported";
        refuse(elastic.key, message, "remove `elastic`; if a node fails, Slurm restarts the job", problems);
    }
}

fn launcher(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let raw = case.body.launcher.as_ref();
    if let Some(interactive) = raw.and_then(|at| at.interactive.as_ref()).filter(|at| at.value) {
        let message = "a batch job cannot be interactive, so `launcher.interactive` is not supported under Slurm";
        refuse(interactive.span, message, "allocate nodes with `salloc`, or set a `command`", problems);
    }
    let slurm = case.body.slurm.as_ref();
    let kind = case.spec.launcher.kind;
    if let (Some(at), true) = (field!(case.launcher.kind), kind.starts_processes()) {
        let message =
            format!("`launcher: {}` is not supported under Slurm, where srun starts the processes", kind.name());
        let reads = if kind == LauncherKind::Jax { "`jax.distributed.initialize()`" } else { "`SlurmClusterResolver`" };
        let hint = format!("write `launcher: mpirun` and `slurm: {{srun: {{}}}}`: {reads} reads the variables of srun");
        refuse(at.span, &message, &hint, problems);
        return;
    }
    let srun = slurm.and_then(|at| at.srun.as_ref());
    if let (Some(srun), Some(args)) = (srun, raw.and_then(|at| at.args.as_ref()))
        && kind == LauncherKind::Mpirun
    {
        let problem = Problem::new(
            &TARGET_CANNOT,
            args.key,
            "`launcher.args` are for mpirun, but `slurm.srun` starts the ranks with srun",
        );
        problems.push(
            problem
                .and(srun.key, "srun is selected here")
                .hint("remove one of the two; write options of srun in `slurm.srun.args`"),
        );
    }
    let is_started_by_srun = matches!(kind, LauncherKind::Mpirun | LauncherKind::Torchrun);
    if let (Some(srun), false) = (srun, is_started_by_srun) {
        let message = "`slurm.srun` is only for `launcher.kind` mpirun and torchrun";
        refuse(srun.key, message, "remove `srun`, or write `launcher: mpirun`", problems);
    }
    if let (Some(wrap), LauncherKind::Shell) = (slurm.and_then(|at| at.wrap.as_ref()), kind) {
        let message = "`slurm.wrap` is a prefix of the command of each rank, but with `launcher: shell` your command starts the ranks";
        refuse(wrap.key, message, "add the prefix in `command`", problems);
    }
}

fn environment(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if let Some(from) = &case.body.env_from {
        let message = "Slurm has no Secrets and ConfigMaps, and `envFrom` does not list the variables to set";
        refuse(from.key, message, "list each variable in `env`, or set them in `slurm.setup`", problems);
    }
    let mut required: Vec<(&str, Span)> = Vec::new();
    for (name, value) in case.env() {
        if SET_BY_SLURM.iter().any(|start| name.0.starts_with(start)) {
            let message = format!("Slurm sets `{}` itself, for the job or for each rank", name.0);
            refuse(name.span, &message, "remove it from `env`, or use another name", problems);
        }
        let EnvValue::From(from) = &value.value else { continue };
        if from.field_ref.is_some() {
            let message = format!("`env.{}` is a field of a pod, but a Slurm job has no pods", name.0);
            refuse(
                value.span,
                &message,
                "use a variable of Slurm in the command, such as `$SLURMD_NODENAME`",
                problems,
            );
        } else {
            required.push((&name.0, name.span));
        }
    }
    let Some(((_, span), rest)) = required.split_first() else { return };
    let names: Vec<String> = required.iter().map(|(name, _)| format!("`{name}`")).collect();
    let problem = Problem::new(
        &SLURM_ASKS,
        *span,
        format!(
            "Slurm has no Secrets and ConfigMaps: the script reads {} from the environment of sbatch",
            names.join(", ")
        ),
    );
    let exports: Vec<_> = required.iter().map(|(name, _)| format!("{name}=…")).collect();
    let problem = rest.iter().fold(problem, |problem, (_, span)| problem.and(*span, "and this variable"));
    problems.push(problem.hint(format!("run `export {}` before `sbatch`", exports.join(" "))));
}

fn data(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if let Some(code) = &case.body.code {
        let message = "`code` is mounted into pods, but a Slurm job has no pods";
        refuse(
            code.key,
            message,
            "put the files into a directory that all nodes share, and set `workingDir` to it",
            problems,
        );
    }
    for (at, volume) in case.storage().zip(&case.spec.storage) {
        match &volume.source {
            VolumeSource::HostPath(path) if *path == volume.mount_path && volume.sub_path.is_none() => {}
            _ => {
                let message = format!(
                    "`storage` {} is mounted into pods, but a Slurm job uses the file systems of its nodes",
                    volume.name
                );
                let hint = format!(
                    "if the nodes have the data at {0}, write `hostPath: {{path: {0}}}`, the same path as `mountPath`; otherwise remove the volume, and pass the path on the nodes to the program",
                    volume.mount_path
                );
                refuse(at.span, &message, &hint, problems);
            }
        }
    }
}

fn placement(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(placement) = &case.body.placement else { return };
    let slurm = &case.spec.slurm;
    if slurm.partition.is_some() || slurm.constraint.is_some() || slurm.nodelist.is_some() {
        return;
    }
    let spans =
        [("nodeSelector", key(placement.node_selector.as_ref())), ("affinity", key(placement.affinity.as_ref()))];
    for (name, span) in spans.into_iter().filter_map(|(name, span)| Some((name, span?))) {
        let message = format!("`placement.{name}` selects nodes by Kubernetes labels, which Slurm does not have");
        refuse(span, &message, "set the equivalent in `slurm`: `partition`, `constraint` or `nodelist`", problems);
    }
}

/// Refuses a grace period of `lifecycle.checkpoint` that is as long as the whole training.
fn checkpoint(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let spec = case.spec;
    let Some(at) = field!(case.lifecycle.checkpoint).filter(|_| super::has_checkpoint(spec)) else { return };
    if let Some(limit) = super::time_limit(spec).filter(|limit| super::signal_lead(spec) >= *limit) {
        let message =
            format!("the training has {limit} s under Slurm, and the grace period of `checkpoint` takes all of it");
        refuse(at.key, &message, "shorten `gracePeriod`, or raise `slurm.time` or `lifecycle.deadline`", problems);
    }
}

/// The beginnings of the names of variables that Slurm sets for a job or a rank, and that are not settings of srun.
const SET_BY_SLURM: &[&str] = &[
    "SLURMD_",
    "SLURM_CLUSTER_NAME",
    "SLURM_CPUS_ON_NODE",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GTIDS",
    "SLURM_JOB",
    "SLURM_LOCALID",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NODELIST",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_RESTART_COUNT",
    "SLURM_STEP",
    "SLURM_SUBMIT_",
    "SLURM_TASK",
];

/// Refuses commands and variables that contain paths of files that khorovod mounts into pods.
fn pod_paths(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let spec = &case.spec;
    let body = case.body;
    let texts = [
        (body.command.as_ref().map(|at| at.span), spec.command.join(" ")),
        (field!(case.launcher.args).map(|at| at.span), spec.launcher.args.join(" ")),
        (body.working_dir.as_ref().map(|at| at.span), spec.working_dir.clone().unwrap_or_default()),
    ];
    let env = case.env().filter_map(|(_, value)| match &value.value {
        EnvValue::Literal(text) => Some((Some(value.span), text.clone())),
        EnvValue::From(_) => None,
    });
    for (span, text) in texts.into_iter().chain(env) {
        let (Some(span), Some(path)) = (span, POD_PATHS.iter().find(|path| text.contains(**path))) else { continue };
        let message = format!("`{path}` exists only in pods");
        let hint = "remove the hostfile: under Slurm `mpirun` and `srun` get the hosts from Slurm";
        refuse(span, &message, hint, problems);
    }
}

/// The options of sbatch that khorovod sets, and the field that each is set from.
const SBATCH_OPTIONS: &[(&str, &str)] = &[
    ("nodes", "workers.replicas"),
    ("ntasks", "workers.slotsPerWorker"),
    ("ntasks-per-node", "workers.slotsPerWorker"),
    ("cpus-per-task", "workers.cpu"),
    ("mem", "workers.memory"),
    ("mem-per-cpu", "workers.memory"),
    ("mem-per-gpu", "workers.memory"),
    ("tmp", "workers.ephemeralStorage"),
    ("gres", "workers.gpus"),
    ("gpus", "workers.gpus"),
    ("gpus-per-node", "workers.gpus"),
    ("gpus-per-task", "workers.gpus"),
    ("time", "slurm.time"),
    ("partition", "slurm.partition"),
    ("account", "slurm.account"),
    ("qos", "slurm.qos"),
    ("constraint", "slurm.constraint"),
    ("nodelist", "slurm.nodelist"),
    ("exclude", "slurm.exclude"),
    ("reservation", "slurm.reservation"),
    ("job-name", "metadata.name"),
    ("chdir", "workingDir"),
    ("requeue", "lifecycle.retries"),
    ("no-requeue", "lifecycle.retries"),
    ("hold", "scheduling.suspend"),
    ("export", "env"),
    ("wrap", "command"),
    ("signal", "lifecycle.checkpoint"),
];
/// The options of srun that khorovod sets, and the field that each is set from.
const SRUN_OPTIONS: &[(&str, &str)] = &[
    ("nodes", "workers.replicas"),
    ("N", "workers.replicas"),
    ("ntasks", "workers.slotsPerWorker"),
    ("n", "workers.slotsPerWorker"),
    ("ntasks-per-node", "workers.slotsPerWorker"),
    ("cpus-per-task", "workers.cpu"),
    ("c", "workers.cpu"),
    ("mpi", "slurm.srun.mpi"),
    ("label", "observability.logs.rankPrefix"),
    ("l", "observability.logs.rankPrefix"),
    ("export", "env"),
    ("chdir", "workingDir"),
    ("D", "workingDir"),
    ("signal", "lifecycle.checkpoint"),
];

/// Refuses options that khorovod sets itself.
fn options(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(slurm) = &case.body.slurm else { return };
    let sbatch = slurm.args.iter().flat_map(|at| &at.value).map(|word| (word.span, &word.0, SBATCH_OPTIONS));
    let srun = slurm.srun.iter().filter_map(|at| at.args.as_ref()).flat_map(|at| &at.value);
    for (span, word, options) in sbatch.chain(srun.map(|word| (word.span, &word.0, SRUN_OPTIONS))) {
        let name = word.split('=').next().unwrap_or_default();
        let (dashes, name) = (name.len() - name.trim_start_matches('-').len(), name.trim_start_matches('-'));
        // sbatch and srun accept abbreviated long options, and a value directly after a short option.
        let is_same = |option: &str| match dashes {
            1 => option.len() == 1 && name.starts_with(option),
            _ => option == name || name.len() > 2 && option.starts_with(name),
        };
        let Some((option, field)) = options.iter().find(|(option, _)| is_same(option)) else { continue };
        let problem = Problem::new(
            &SLURM_OPTION,
            span,
            format!("khorovod sets `{}{option}` itself", if option.len() == 1 { "-" } else { "--" }),
        );
        problems.push(problem.hint(format!("remove it, and set `{field}` instead")));
    }
}

/// Reports the fields that are only about pods, in one note.
fn ignored(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let place = |path: &str| {
        let (top, below) = match path.strip_prefix("metadata.") {
            Some(below) => ("metadata", below),
            None => ("spec", path),
        };
        let (parents, key) = below.rsplit_once('.').unwrap_or(("", below));
        let parents = parents.split('.').filter(|parent| !parent.is_empty());
        let map = parents.fold(case.document.get(top), |map, parent| map?.get(parent));
        map.and_then(|map| map.entry(key)).map(|entry| entry.key_span)
    };
    let ignored = EXCEPTIONS.iter().filter(|exception| !exception.is_refused).map(|exception| exception.field);
    let node_labels = ["nodeSelector", "affinity"].map(|name| {
        let at = case.document.get("spec").and_then(|spec| spec.get("placement")).and_then(|at| at.entry(name));
        let slurm = &case.spec.slurm;
        let has_equivalent = slurm.partition.is_some() || slurm.constraint.is_some() || slurm.nodelist.is_some();
        (
            if name == "affinity" { "placement.affinity" } else { "placement.nodeSelector" },
            at.filter(|_| has_equivalent).map(|at| at.key_span),
        )
    });
    let found: Vec<(&str, Span)> = ignored
        .map(|path| (path, place(path)))
        .chain(node_labels)
        .filter_map(|(path, span)| Some((path, span?)))
        .collect();
    let Some(((_, span), rest)) = found.split_first() else { return };
    let paths: Vec<String> = found.iter().map(|(path, _)| format!("`{path}`")).collect();
    let verb = if rest.is_empty() { "has" } else { "have" };
    let problem = Problem::new(&SLURM_IGNORES, *span, format!("{} {verb} no effect under Slurm", paths.join(", ")));
    let problem = rest.iter().fold(problem, |problem, (_, span)| problem.and(*span, ""));
    let them = if rest.is_empty() { "it" } else { "them" };
    problems.push(problem.hint(format!("remove {them}, or leave {them} if you also render the spec for Kubernetes")));
}
