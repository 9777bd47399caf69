//! Imports the settings of the whole MPIJob: slots, deadlines, retries and its queue.

use super::no_launcher_pod;
use crate::context::{Context, given, text};
use crate::field;
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
            "ttlSecondsAfterFinished" => seconds(context, node, field::LIFECYCLE_TTL_AFTER_FINISHED),
            "activeDeadlineSeconds" => seconds(context, node, field::LIFECYCLE_DEADLINE),
            "backoffLimit" => {
                if let Some(count) = context.count(node) {
                    let from = context.outcomes.path(node).to_owned();
                    // The operator counts all failures, however long the launcher ran before.
                    context.spec.put(field::LIFECYCLE_RETRIES_RESET_AFTER, "never", &from);
                    context.keep(node, field::LIFECYCLE_RETRIES, count.min(1000));
                }
            }
            "suspend" => match context.yes(node) {
                true => context.keep(node, field::SCHEDULING_SUSPEND, true),
                false => context.needless(node, "this is the default of khorovod, too"),
            },
            "schedulingPolicy" => scheduling(context, node),
            "launcherCreationPolicy" => context.needless(node, "the launcher always waits for its workers"),
            "sshAuthMountPath" => context.needless(node, "khorovod mounts the ssh keys at its own path"),
            "mainContainer" => context.needless(node, "a pod has one container, made from this one"),
            "managedBy" => {
                context.lose(node, "for MultiKueue, set spec.scheduling.localQueue");
            }
            _ => {}
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
            Some("None") => context.keep(node, field::LIFECYCLE_KEEP_WORKERS, true),
            None | Some("" | "Running" | "All") => context.needless(node, "workers always end with the launcher"),
            Some(_) => context.refuse(node, "None, Running or All"),
        }
    }
}

fn implementation(context: &mut Context<'_>, node: &Node) {
    match text(node).unwrap_or_default().to_ascii_lowercase().as_str() {
        "openmpi" => context.needless(node, "this is the default of khorovod, too"),
        "intel" | "intelmpi" => context.keep(node, field::LAUNCHER_MPI, "intelmpi"),
        "mpich" => context.keep(node, field::LAUNCHER_MPI, "mpich"),
        _ => context.refuse(node, "OpenMPI, Intel or MPICH"),
    }
}

fn seconds(context: &mut Context<'_>, node: &Node, to: &str) {
    if let Some(count) = context.count(node) {
        match count {
            0 if to.ends_with("deadline") => context.lose(node, "a deadline of 0 would end the job at once"),
            _ => context.keep(node, to, format!("{count}s")),
        }
    }
}

fn scheduling(context: &mut Context<'_>, node: &Node) {
    if context.spec.get(field::SCHEDULING_LOCAL_QUEUE).is_some() {
        if let Some((node, class)) = given(node.get("priorityClass"))
            && !class.is_empty()
        {
            context.keep(node, field::PLACEMENT_PRIORITY_CLASS_NAME, class);
        }
        return context.replaced(node, "the job waits in Kueue's queue, which admits all pods or none");
    }
    let how = "assumed Volcano, because a flag of the operator selects the gang scheduler; for scheduler-plugins, write \
               `gang: coscheduling`";
    context.spec.put(field::SCHEDULING_GANG, "volcano", how);
    for entry in node.entries() {
        match entry.key.as_str() {
            "queue" => match context.text(&entry.value) {
                Some(queue) if !queue.is_empty() => context.keep(&entry.value, field::SCHEDULING_VOLCANO_QUEUE, queue),
                _ => context.needless(&entry.value, "it is empty"),
            },
            "priorityClass" => match context.text(&entry.value) {
                Some(class) if !class.is_empty() => {
                    context.keep(&entry.value, field::PLACEMENT_PRIORITY_CLASS_NAME, class);
                }
                _ => context.needless(&entry.value, "it is empty"),
            },
            "minAvailable" => context.changed(&entry.value, field::SCHEDULING_GANG, "a gang always has all pods"),
            "minResources" => context.needless(&entry.value, "a gang counts pods, not resources"),
            _ => {
                context
                    .lose(&entry.value, "spec.scheduling has no such field: set it in the PodGroup with spec.patches");
            }
        }
    }
    context.changed(node, field::SCHEDULING_GANG, how);
}
