//! Imports the settings of the whole MPIJob: slots, deadlines, retries and its queue.

use super::no_launcher_pod;
use crate::context::{Context, text};
use crate::field::set;
use crate::manifest::run_policy;
use khorovod_compiler::yaml::Node;

/// Imports the fields of the job's spec and of `runPolicy`. Returns the slots per worker.
pub fn read(spec: Option<&Node>, context: &mut Context<'_>) -> u32 {
    let mut slots = 1;
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    for entry in [spec, policy].into_iter().flatten().flat_map(Node::entries) {
        let node = &entry.value;
        match entry.key.as_str() {
            "slotsPerWorker" => slots = context.count(node).unwrap_or(1).max(1),
            "mpiImplementation" | "mpiDistribution" => implementation(context, node),
            "launcherCreationPolicy" => context.needless(node, "the launcher always waits for its workers"),
            "sshAuthMountPath" => context.needless(node, "khorovod mounts the ssh keys at its own path"),
            "mainContainer" => context.needless(node, "a pod has one container, made from this one"),
            key => run_policy::field(context, key, node),
        }
    }
    slots
}

/// Imports `cleanPodPolicy`, once it is clear whether the new job has a launcher pod.
pub fn clean_pod_policy(spec: Option<&Node>, context: &mut Context<'_>) {
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    for node in [spec, policy].into_iter().flatten().filter_map(|node| node.get("cleanPodPolicy")) {
        match text(node).as_deref() {
            Some("None") if no_launcher_pod(context).is_some() => context.lose(
                node,
                "`None` keeps the workers, which needs `launcher.runsIn: ownPod`; that excludes a gang, a queue, `suspend` \
                 and torchrun",
            ),
            Some("None") => context.keep(node, set::LIFECYCLE_KEEP_WORKERS, true),
            None | Some("" | "Running" | "All") => context.needless(node, "workers always end with the launcher"),
            Some(_) => context.refuse(node, "None, Running or All"),
        }
    }
}

fn implementation(context: &mut Context<'_>, node: &Node) {
    match text(node).unwrap_or_default().to_ascii_lowercase().as_str() {
        "openmpi" => context.needless(node, "this is the default of khorovod, too"),
        "intel" | "intelmpi" => context.keep(node, set::LAUNCHER_MPI, "intelmpi"),
        "mpich" => context.keep(node, set::LAUNCHER_MPI, "mpich"),
        _ => context.refuse(node, "OpenMPI, Intel or MPICH"),
    }
}
