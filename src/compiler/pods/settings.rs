//! Generates the files that differ between jobs: `job.sh` with the settings that the static scripts read, and `passwd`.

use super::words::word;
use crate::job::valid::{LauncherKind, Mpi};
use crate::plan::{Plan, Shape};

/// A bash array of words that are already quoted.
fn array(words: impl Iterator<Item = String>) -> String {
    let mut array = "(".to_owned();
    words.for_each(|word| array.extend([" ", &word]));
    array + " )"
}

/// The launch command. If the number of ranks is fixed and the launcher can start any program, each rank first runs `rank.sh`,
/// which checks its world.
fn launch_with_check(plan: &Plan) -> Vec<String> {
    let spec = &plan.spec;
    let is_checkable = match spec.launcher.kind {
        LauncherKind::Mpirun | LauncherKind::Deepspeed => true,
        LauncherKind::Horovodrun => spec.elastic.is_none(),
        LauncherKind::Torchrun | LauncherKind::Shell => false,
    };
    match plan.launch.strip_suffix(spec.command.as_slice()) {
        Some(runner) if is_checkable => {
            let check = ["/bin/bash", "/etc/khorovod/scripts/rank.sh"].map(str::to_owned);
            [runner, &check, &spec.command].concat()
        }
        _ => plan.launch.clone(),
    }
}

/// The content of `job.sh`: the variables that the static scripts read.
pub fn job(plan: &Plan) -> String {
    let spec = &plan.spec;
    let elastic = |value: fn(&crate::job::valid::Elastic) -> u32| {
        spec.elastic.as_ref().map_or_else(|| word(""), |elastic| value(elastic).to_string())
    };
    let hosts_ranks = plan.shape == Shape::IndexedJob || spec.launcher.runs_ranks;
    let launcher_host = if hosts_ranks { plan.launcher_host() } else { String::new() };
    let quoted_array = |words: &[String]| array(words.iter().map(|text| word(text)));
    let kind = match spec.launcher.kind {
        LauncherKind::Mpirun => "mpirun",
        LauncherKind::Horovodrun => "horovodrun",
        LauncherKind::Torchrun => "torchrun",
        LauncherKind::Deepspeed => "deepspeed",
        LauncherKind::Shell => "shell",
    };
    let mpi = match spec.launcher.mpi {
        Mpi::OpenMpi => "openmpi",
        Mpi::IntelMpi => "intelmpi",
        Mpi::Mpich => "mpich",
    };
    // Each value is one quoted word, or an array of quoted words.
    let settings = [
        ("job", word(&spec.name)),
        ("run", word(&plan.run)),
        ("kind", kind.to_owned()),
        ("mpi", mpi.to_owned()),
        // The Service in which the pods have their host names.
        ("service", word(&plan.service())),
        ("port", spec.ssh.port.to_string()),
        ("user", word(&spec.ssh.user)),
        ("np", plan.np.to_string()),
        // For each group: the name of its workers without the index, the number of workers, the ranks per worker.
        ("team_names", array(plan.teams.iter().map(|team| word(&team.workload)))),
        ("team_replicas", array(plan.teams.iter().map(|team| team.replicas.to_string()))),
        ("team_slots", array(plan.teams.iter().map(|team| team.slots.to_string()))),
        ("hostfile_mark", word(plan.hostfile_mark())),
        ("launcher_pod", word(&plan.launcher_pod())),
        // The host name of the pod that launches, if it also runs ranks.
        ("launcher_host", word(&launcher_host)),
        ("launcher_slots", plan.teams[0].slots.to_string()),
        // Set if the launcher scales the workers.
        ("scales", if plan.scales() { "yes".to_owned() } else { word("") }),
        // Empty unless the job is elastic.
        ("min_workers", elastic(|elastic| elastic.min_workers)),
        ("max_workers", elastic(|elastic| elastic.max_workers)),
        ("launch", quoted_array(&launch_with_check(plan))),
    ];
    // On targets where the first pod that succeeds ends the job, the other pods must not exit before the pod with index 0.
    let stays = spec.target.first_success_ends_job && plan.shape == Shape::Torchrun;
    // Only horovodrun has this limit.
    let horovodrun = spec.elastic.as_ref().filter(|_| spec.launcher.kind == LauncherKind::Horovodrun);
    let elastic_timeout = horovodrun.map(|elastic| ("elastic_timeout", elastic.timeout.to_string()));
    let settings = settings.into_iter().chain(elastic_timeout).chain(stays.then(|| ("stays", "yes".to_owned())));
    let mut lines = "# The settings of this job.\n".to_owned();
    for (name, value) in settings {
        lines.extend([name, "=", &value, "\n"]);
    }
    lines
}

/// The content of `/etc/passwd`, which gives the user id of the pods a name. `None` if the platform chooses the user id.
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
