//! Writes the files that differ between jobs: `job.sh`, in which every value is quoted, and `passwd`.

use super::words::word;
use crate::job::valid::{Gang, Group, HealthPolicy, LauncherKind, Mpi, Progress, VolumeSource};
use crate::plan::{Plan, Shape};

/// A bash array of words that are already quoted.
fn array(words: impl Iterator<Item = String>) -> String {
    let mut array = "(".to_owned();
    words.for_each(|word| array.extend([" ", &word]));
    array + " )"
}

/// The launch command, with the scripts that khorovod adds to it. If the launcher starts a fixed number of ranks, `rank.sh` comes
/// before the command of each rank, to check their number. If khorovod starts the ranks itself, the command begins with
/// `processes.sh`.
pub fn launch(plan: &Plan) -> Vec<String> {
    let spec = &plan.spec;
    let is_checkable = match spec.launcher.kind {
        LauncherKind::Mpirun | LauncherKind::Deepspeed => true,
        LauncherKind::Horovodrun => spec.elastic.is_none(),
        LauncherKind::Torchrun | LauncherKind::Jax | LauncherKind::Tensorflow | LauncherKind::Shell => false,
    };
    if spec.launcher.kind.starts_processes() {
        let starter = ["/bin/bash", "/etc/khorovod/scripts/processes.sh"].map(str::to_owned);
        return [&starter, plan.launch.as_slice()].concat();
    }
    match plan.launch.strip_suffix(spec.command.as_slice()) {
        Some(runner) if is_checkable => {
            let check = ["/bin/bash", "/etc/khorovod/scripts/rank.sh"].map(str::to_owned);
            [runner, &check, &spec.command].concat()
        }
        _ => plan.launch.clone(),
    }
}

/// The text of `job.sh`, which all scripts source.
pub fn job(plan: &Plan) -> String {
    let spec = &plan.spec;
    let elastic = |value: fn(&crate::job::valid::Elastic) -> u32| {
        spec.elastic.as_ref().map_or_else(|| word(""), |elastic| value(elastic).to_string())
    };
    let hosts_ranks = plan.shape == Shape::IndexedJob || spec.launcher.runs_ranks;
    let launcher_host = if hosts_ranks { plan.launcher_host() } else { String::new() };
    let quoted_array = |words: &[String]| array(words.iter().map(|text| word(text)));
    let mpi = match spec.launcher.mpi {
        Mpi::OpenMpi => "openmpi",
        Mpi::IntelMpi => "intelmpi",
        Mpi::Mpich => "mpich",
    };
    // Each value is one quoted word, or an array of quoted words.
    let settings = [
        ("job", word(&spec.name)),
        ("run", word(&plan.run)),
        ("kind", spec.launcher.kind.name().to_owned()),
        ("mpi", mpi.to_owned()),
        // The domain of the pods' host names.
        ("service", word(&plan.service())),
        ("port", spec.ssh.port.to_string()),
        ("user", word(&spec.ssh.user)),
        ("np", plan.np.to_string()),
        // One entry per worker group: the name of its pods without their index, the number of workers that run ranks,
        // the number of spares after them, and the number of ranks per worker.
        ("team_names", array(plan.teams.iter().map(|team| word(&team.workload)))),
        ("team_replicas", array(plan.teams.iter().map(|team| team.replicas.to_string()))),
        ("team_spares", array(plan.teams.iter().map(|team| team.spares.to_string()))),
        ("team_slots", array(plan.teams.iter().map(|team| team.slots.to_string()))),
        ("hostfile_mark", word(plan.hostfile_mark())),
        ("launcher_pod", word(&plan.launcher_pod())),
        // The host name of the launcher's pod if ranks run in it too.
        ("launcher_host", word(&launcher_host)),
        ("launcher_slots", plan.teams[0].slots.to_string()),
        // Set if the launcher scales the workers.
        ("scales", if plan.scales() { "yes".to_owned() } else { word("") }),
        // The Job that the pods may read and change. Empty if they have no permissions.
        ("own_job", word(&plan.own_job().unwrap_or_default())),
        // The signal that every rank gets before it is ended, and the seconds that it then has.
        ("checkpoint_signal", spec.lifecycle.checkpoint.signal.to_owned()),
        ("checkpoint_grace", spec.lifecycle.checkpoint.grace_period.to_string()),
        // Empty unless the job is elastic.
        ("min_workers", elastic(|elastic| elastic.min_replicas)),
        ("max_workers", elastic(|elastic| elastic.max_replicas)),
        ("launch", quoted_array(&launch(plan))),
    ];
    // On targets where the first pod that succeeds ends the job, the other pods must not exit before the pod with index 0.
    let stays = spec.target.first_success_ends_job && plan.shape == Shape::Agents;
    // Only the scripts for an elastic horovodrun read this timeout. torchrun gets it in `PET_RDZV_CONF`.
    let elastic = spec.elastic.as_ref().filter(|_| spec.launcher.kind == LauncherKind::Horovodrun);
    let timeout = elastic.map(|elastic| ("elastic_timeout", elastic.timeout.to_string()));
    // The S3 volumes that are uploaded, with the seconds between two uploads: `results=600`.
    let uploads = plan.uploads();
    let intervals = (!uploads.is_empty()).then(|| {
        let uploads = uploads.iter();
        ("upload_intervals", array(uploads.map(|(volume, seconds)| word(&format!("{}={seconds}", volume.name)))))
    });
    // The metric with its port, and the file, whose changes count as progress; the action after a stall; and the folder
    // for evidence. Values that the spec does not set are empty.
    let port = spec.observability.metrics.as_ref().map(|metrics| metrics.port.to_string()).unwrap_or_default();
    let stall = spec.lifecycle.stall.iter().flat_map(|stall| {
        [
            ("stall_metric", word(stall.metric.as_deref().unwrap_or_default())),
            ("metrics_port", word(&port)),
            ("stall_file", word(stall.file.as_deref().unwrap_or_default())),
            ("stall_action", if stall.retries { "retry" } else { "report" }.to_owned()),
            ("stall_evidence", word(stall.evidence.as_deref().unwrap_or_default())),
        ]
    });
    // The source of the progress of the training, and the port of the launcher's own metrics.
    let progress = spec.observability.progress.as_ref().map(|progress| match progress {
        Progress::Auto => ("progress_pattern", word("")),
        Progress::Pattern(pattern) => ("progress_pattern", word(pattern)),
        Progress::File(file) => ("progress_file", word(file)),
    });
    let status_port = spec.observability.launcher_metrics.as_ref().map(|at| ("status_port", at.port.to_string()));
    let stays = stays.then(|| ("stays", "yes".to_owned()));
    // The GPUs of each pod, which its ranks share, and whether each line of output begins with its rank.
    let processes = spec.launcher.kind.starts_processes().then(|| {
        let prefix = if spec.observability.rank_prefix { "yes" } else { "''" };
        [("gpus", spec.groups[0].gpus.to_string()), ("rank_prefix", prefix.to_owned())]
    });
    // The node labels by which the hosts are sorted, the outermost level first.
    let rank_order = spec
        .placement
        .topology
        .iter()
        .map(crate::job::valid::Topology::sorting_levels)
        .filter(|levels| !levels.is_empty())
        .map(|levels| ("rank_order", array(levels.iter().map(|level| word(&level.label)))));
    // Set if Kubernetes itself must start all pods together.
    let gang = (spec.scheduling.gang == Some(Gang::Native)).then(|| ("gang", "native".to_owned()));
    let settings = settings
        .into_iter()
        .chain(rank_order)
        .chain(gang)
        .chain(timeout)
        .chain(processes.into_iter().flatten())
        .chain(health(plan))
        .chain(intervals)
        .chain(stays)
        .chain(stall)
        .chain(progress)
        .chain(status_port);
    let mut lines = "# The settings of this job.\n".to_owned();
    for (name, value) in settings {
        lines.extend([name, "=", &value, "\n"]);
    }
    lines
}

/// A pattern that matches the device files of the GPUs of a group. `check.sh` compares the number of these files with
/// `gpus`. The pattern is empty if this is not possible, for example because a slice of a GPU has no device file.
fn gpu_files(group: &Group) -> &'static str {
    match group.gpu_resource.as_str() {
        "nvidia.com/gpu" => "/dev/nvidia[0-9]*",
        "amd.com/gpu" => "/dev/dri/renderD*",
        "habana.ai/gaudi" => "/dev/accel/accel[0-9]*",
        _ => "",
    }
}

/// The settings of `health.sh` and `check.sh`. None if workers are not checked.
fn health(plan: &Plan) -> Vec<(&'static str, String)> {
    let spec = &plan.spec;
    let check = &spec.health_check;
    let flag = |is_set| if is_set { "yes".to_owned() } else { word("") };
    // One entry per worker group.
    let each = |value: &dyn Fn(&Group) -> String| array(plan.teams.iter().map(|team| value(&spec.groups[team.group])));
    // The folder of a copy is not a mounted file system that could fail, but a part of the pod, so it is not checked.
    let is_mounted = |source: &VolumeSource| !matches!(source, VolumeSource::S3(_) | VolumeSource::Download(_));
    let volumes = spec.storage.iter().filter(|volume| is_mounted(&volume.source));
    match check.policy {
        HealthPolicy::Never => Vec::new(),
        policy => vec![
            // Set if the workers are also checked before the first attempt.
            ("health_always", flag(policy == HealthPolicy::Always)),
            ("health_command", array(check.command.iter().map(|text| word(text)))),
            ("health_timeout", check.timeout.to_string()),
            ("health_folders", array(volumes.map(|volume| word(&volume.mount_path)))),
            ("team_gpus", each(&|group| group.gpus.to_string())),
            ("team_gpu_files", each(&|group| word(gpu_files(group)))),
            ("team_rdma", each(&|group| flag(group.rdma))),
        ],
    }
}

/// The passwd file that gives the pod's user id a name. None if the platform chooses the id.
pub fn passwd(plan: &Plan) -> Option<String> {
    let uid = plan.spec.security.run_as_user?;
    let user = &plan.spec.ssh.user;
    let root = if uid == 0 { "" } else { "root:x:0:0:root:/root:/bin/bash\n" };
    Some(format!(
        "{root}{user}:x:{uid}:{uid}::/tmp:/bin/bash\n\
         sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ))
}
