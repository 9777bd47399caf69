//! What a Slurm job cannot be told, and what it has no use for.

use crate::job::declare::{EnvValue, Image};
use crate::job::types::spec::{LauncherKind, VolumeSource};
use crate::job::{Case, key};
use crate::problem::{Problem, Span, codes};
use crate::targets::refusal::TARGET_CANNOT;

codes! {
    /// Fields that mean nothing to Slurm
    ///
    /// They are about pods: who may reach them, as whom they run, how Kubernetes places them. The script is
    /// whole without them. The same spec may go to Kubernetes, where they count.
    Note SLURM_IGNORES = "slurm-ignores";

    /// Variables that are asked for when the job is submitted
    ///
    /// A Slurm cluster has no Secrets and ConfigMaps. The script takes such a variable from where sbatch is
    /// called, and ends at once, with its name, where it is not set.
    Note SLURM_ASKS = "slurm-asks";

    /// An option that the script sets itself
    ///
    /// Nodes, ranks, devices, memory, time and the like follow from the spec; a second word about them would
    /// win, in silence, and the world would not be the spec's.
    Error SLURM_OPTION = "slurm-option";
}

/// What stands in pods only.
const POD_PATHS: &[&str] = &["/horovod/generated", "/kubeflow/openmpi/", "/etc/khorovod"];

fn refuse(span: Span, message: &str, hint: &str, problems: &mut Vec<Problem>) {
    problems.push(Problem::new(&TARGET_CANNOT, span, message).hint(hint));
}

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    workers(case, problems);
    launcher(case, problems);
    environment(case, problems);
    data(case, problems);
    placement(case, problems);
    pod_paths(case, problems);
    options(case, problems);
    ignored(case, problems);
}

fn workers(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(workers) = &case.body.workers else { return };
    if let Some(groups) = workers.groups.as_ref().filter(|groups| groups.len() > 1) {
        let message = "`--target slurm` has one kind of node in a job, and these are several groups";
        refuse(groups.key, message, "make them alike: `workers: {replicas: …}`", problems);
    }
    let first = workers.groups.iter().flat_map(|groups| groups.iter()).next();
    let counted = first.and_then(|group| group.gpu_resource.as_ref()).or(workers.gpu_resource.as_ref());
    let gpus = case.spec.groups.iter().any(|group| group.gpus > 0);
    if let (Some(resource), true, None) = (counted, gpus, case.body.slurm.as_ref().and_then(|at| at.gres.as_ref()))
        && !["nvidia.com/gpu", "amd.com/gpu"].contains(&resource.0.as_str())
    {
        let message = format!("Slurm does not know `{}`", resource.0);
        refuse(
            resource.span,
            &message,
            "say what counts them there: `slurm: {gres: \"gpu:…\"}`; `sinfo -o %G` shows it",
            problems,
        );
    }
    if let Some(elastic) = &case.body.elastic {
        let message = "a Slurm job keeps the nodes it begins with: `elastic` has no meaning there";
        refuse(elastic.key, message, "remove `elastic`; where a node is lost, Slurm starts the job again", problems);
    }
}

fn launcher(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let raw = case.body.launcher.as_ref();
    if let Some(interactive) = raw.and_then(|at| at.interactive.as_ref()).filter(|at| at.value) {
        let message = "a batch job stays open for nobody: `launcher.interactive` has no meaning under Slurm";
        refuse(interactive.span, message, "ask for nodes by hand with `salloc`, or give a `command`", problems);
    }
    let slurm = case.body.slurm.as_ref();
    let kind = case.spec.launcher.kind;
    let srun = slurm.and_then(|at| at.srun.as_ref());
    if let (Some(srun), Some(args)) = (srun, raw.and_then(|at| at.args.as_ref()))
        && kind == LauncherKind::Mpirun
    {
        let problem =
            Problem::new(&TARGET_CANNOT, args.key, "`launcher.args` are mpirun's, and `slurm.srun` starts the ranks");
        problems.push(
            problem
                .and(srun.key, "srun is chosen here")
                .hint("remove one of the two; options of srun stand in `slurm.srun.args`"),
        );
    }
    let by_srun = matches!(kind, LauncherKind::Mpirun | LauncherKind::Torchrun);
    if let (Some(srun), false) = (srun, by_srun) {
        let message = "`slurm.srun` is for the launchers mpirun and torchrun; another starts the ranks";
        refuse(srun.key, message, "remove `srun`, or write `launcher: {kind: mpirun}`", problems);
    }
    if let (Some(wrap), LauncherKind::Shell) = (slurm.and_then(|at| at.wrap.as_ref()), kind) {
        let message = "`slurm.wrap` stands before each rank's command, and under `shell` yours starts the ranks";
        refuse(wrap.key, message, "put the words into `command`", problems);
    }
}

fn environment(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if let Some(from) = &case.body.env_from {
        let message = "Slurm has no Secrets and ConfigMaps to take whole: `envFrom` names no variables";
        refuse(from.key, message, "name each in `env`, or set them in `slurm.setup`", problems);
    }
    let mut asked: Vec<(&str, Span)> = Vec::new();
    for (name, value) in case.body.env.iter().flat_map(|at| &at.0) {
        let EnvValue::From(from) = &value.value else { continue };
        if from.field.is_some() {
            let message = format!("`env.{}` is a field of a pod, and there are no pods", name.0);
            refuse(value.span, &message, "ask Slurm in the command, such as for `$SLURMD_NODENAME`", problems);
        } else {
            asked.push((&name.0, name.span));
        }
    }
    let Some(((_, span), rest)) = asked.split_first() else { return };
    let names: Vec<String> = asked.iter().map(|(name, _)| format!("`{name}`")).collect();
    let problem = Problem::new(
        &SLURM_ASKS,
        *span,
        format!(
            "Slurm has no Secrets and ConfigMaps: the script takes {} from where sbatch is called",
            names.join(", ")
        ),
    );
    let exports: Vec<_> = asked.iter().map(|(name, _)| format!("{name}=…")).collect();
    let problem = rest.iter().fold(problem, |problem, (_, span)| problem.and(*span, "and this"));
    problems.push(problem.hint(format!("`export {}` before `sbatch`", exports.join(" "))));
}

fn data(case: &Case<'_>, problems: &mut Vec<Problem>) {
    if let Some(code) = &case.body.code {
        let message = "`code` is mounted into pods, and there are no pods";
        refuse(code.key, message, "put the files where all nodes see them, and name the folder in `workdir`", problems);
    }
    for (at, volume) in case.body.storage.iter().flat_map(|at| &at.value).zip(&case.spec.storage) {
        match &volume.source {
            VolumeSource::HostPath(path) if *path == volume.mount_path && volume.sub_path.is_none() => {}
            _ => {
                let message =
                    format!("`storage` {} is mounted into pods, and a Slurm job sees what its nodes have", volume.name);
                let hint = format!(
                    "where the nodes have the data at {0}, write `hostPath: {0}` for Slurm, else give the program their own path",
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
        let message = format!("`placement.{name}` names nodes by labels of Kubernetes, which Slurm does not have");
        refuse(span, &message, "say in `slurm` what it means there: `partition`, `constraint` or `nodelist`", problems);
    }
}

/// Files that khorovod puts into pods.
fn pod_paths(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let spec = &case.spec;
    let body = case.body;
    let texts = [
        (body.command.as_ref().map(|at| at.span), spec.command.join(" ")),
        (body.launcher.as_ref().and_then(|at| at.args.as_ref()).map(|at| at.span), spec.launcher.args.join(" ")),
        (body.workdir.as_ref().map(|at| at.span), spec.workdir.clone().unwrap_or_default()),
    ];
    let env = body.env.iter().flat_map(|at| &at.0).filter_map(|(_, value)| match &value.value {
        EnvValue::Literal(text) => Some((Some(value.span), text.clone())),
        EnvValue::From(_) => None,
    });
    for (span, text) in texts.into_iter().chain(env) {
        let (Some(span), Some(path)) = (span, POD_PATHS.iter().find(|path| text.contains(**path))) else { continue };
        let message = format!("`{path}` is in pods only");
        let hint = "under Slurm `mpirun` and `srun` know the hosts: leave the hostfile out";
        refuse(span, &message, hint, problems);
    }
}

/// What directives and srun are told from the spec.
const OWN: &[(&str, &str)] = &[
    ("nodes", "workers.replicas"),
    ("ntasks", "workers.slots"),
    ("ntasks-per-node", "workers.slots"),
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
    ("chdir", "workdir"),
    ("requeue", "launcher.retries"),
    ("no-requeue", "launcher.retries"),
    ("hold", "scheduling.suspend"),
    ("export", "env"),
    ("wrap", "command"),
];
const OWN_OF_SRUN: &[(&str, &str)] = &[
    ("nodes", "workers.replicas"),
    ("N", "workers.replicas"),
    ("ntasks", "workers.slots"),
    ("n", "workers.slots"),
    ("ntasks-per-node", "workers.slots"),
    ("cpus-per-task", "workers.cpu"),
    ("c", "workers.cpu"),
    ("mpi", "slurm.srun.mpi"),
    ("label", "observability.logs.rankPrefix"),
    ("l", "observability.logs.rankPrefix"),
    ("export", "env"),
    ("chdir", "workdir"),
    ("D", "workdir"),
];

fn options(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let Some(slurm) = &case.body.slurm else { return };
    let sbatch = slurm.args.iter().flat_map(|at| &at.value).map(|word| (word.span, &word.0, OWN));
    let srun = slurm.srun.iter().filter_map(|at| at.args.as_ref()).flat_map(|at| &at.value);
    for (span, word, own) in sbatch.chain(srun.map(|word| (word.span, &word.0, OWN_OF_SRUN))) {
        let name = word.split('=').next().unwrap_or_default();
        let (dashes, name) = (name.len() - name.trim_start_matches('-').len(), name.trim_start_matches('-'));
        // Both take the beginning of a long name for it, and a value right behind a short one.
        let same = |option: &str| match dashes {
            1 => option.len() == 1 && name.starts_with(option),
            _ => option == name || name.len() > 2 && option.starts_with(name),
        };
        let Some((option, field)) = own.iter().find(|(option, _)| same(option)) else { continue };
        let problem = Problem::new(
            &SLURM_OPTION,
            span,
            format!("khorovod sets `{}{option}` itself", if option.len() == 1 { "-" } else { "--" }),
        );
        problems.push(problem.hint(format!("remove it; `{field}` says the same")));
    }
}

/// What is about pods alone, in one warning.
fn ignored(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let body = case.body;
    let metadata = case.job.metadata.as_ref();
    let workers = body.workers.as_ref();
    let launcher = body.launcher.as_ref();
    let placement = body.placement.as_ref();
    let scheduling = body.scheduling.as_ref();
    let lifecycle = body.lifecycle.as_ref();
    let image = body.image.as_ref().and_then(|at| match &at.value {
        Image::Full(parts) => Some(parts),
        Image::Name(_) => None,
    });
    macro_rules! of {
        ($($path:literal $section:ident . $field:ident),+ $(,)?) => {
            [$(($path, $section.and_then(|at| key(at.$field.as_ref())))),+]
        };
    }
    let fields = of![
        "metadata.namespace" metadata.namespace,
        "metadata.labels" metadata.labels,
        "metadata.annotations" metadata.annotations,
        "image.pullPolicy" image.pull_policy,
        "image.pullSecrets" image.pull_secrets,
        "workers.controller" workers.controller,
        "workers.shm" workers.shm,
        "workers.rdma" workers.rdma,
        "launcher.cpu" launcher.cpu,
        "launcher.memory" launcher.memory,
        "launcher.image" launcher.image,
        "launcher.waitTimeout" launcher.wait_timeout,
        "placement.tolerations" placement.tolerations,
        "placement.priorityClass" placement.priority_class,
        "placement.runtimeClass" placement.runtime_class,
        "placement.spread" placement.spread,
        "placement.pack" placement.pack,
        "placement.hostNetwork" placement.host_network,
        "scheduling.queue" scheduling.queue,
        "scheduling.kueue" scheduling.kueue,
        "scheduling.scheduler" scheduling.scheduler,
        "lifecycle.ttlAfterFinished" lifecycle.ttl_after_finished,
        "lifecycle.release" lifecycle.release,
    ];
    let wholes = [
        ("rerun", key(body.rerun.as_ref())),
        ("ssh", key(body.ssh.as_ref())),
        ("security", key(body.security.as_ref())),
        ("patches", key(body.patches.as_ref())),
        ("observability.metrics", body.observability.as_ref().and_then(|at| key(at.metrics.as_ref()))),
    ];
    let labels = ["nodeSelector", "affinity"].map(|name| {
        let at = case.document.get("spec").and_then(|spec| spec.get("placement")).and_then(|at| at.entry(name));
        let slurm = &case.spec.slurm;
        let said = slurm.partition.is_some() || slurm.constraint.is_some() || slurm.nodelist.is_some();
        (
            if name == "affinity" { "placement.affinity" } else { "placement.nodeSelector" },
            at.filter(|_| said).map(|at| at.key_span),
        )
    });
    let found: Vec<(&str, Span)> =
        fields.into_iter().chain(wholes).chain(labels).filter_map(|(path, span)| Some((path, span?))).collect();
    let Some(((_, span), rest)) = found.split_first() else { return };
    let paths: Vec<String> = found.iter().map(|(path, _)| format!("`{path}`")).collect();
    let verb = if rest.is_empty() { "means" } else { "mean" };
    let problem = Problem::new(&SLURM_IGNORES, *span, format!("{} {verb} nothing to Slurm", paths.join(", ")));
    let problem = rest.iter().fold(problem, |problem, (_, span)| problem.and(*span, ""));
    problems.push(problem.hint("leave them where the same spec goes to Kubernetes"));
}
