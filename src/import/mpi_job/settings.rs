//! What an MPIJob says of the whole job: slots, deadlines, retries, its queue.

use super::queued;
use crate::desk::{Desk, entries, text};
use crate::ledger::Verdict;
use khorovod_compiler::yaml::Node;

/// Fields of the job's own spec, and of `runPolicy`; the slots of a worker.
pub fn read(spec: Option<&Node>, desk: &mut Desk<'_>) -> u32 {
    let mut slots = 1;
    let policy = spec.and_then(|spec| spec.get("runPolicy"));
    for entry in [spec, policy].into_iter().flatten().flat_map(entries) {
        let node = &entry.value;
        match entry.key.as_str() {
            "slotsPerWorker" => {
                slots = desk.count(node).unwrap_or(1).max(1);
                desk.ledger.settle(node, Verdict::Kept, "spec.workers.slots", "");
            }
            "mpiImplementation" | "mpiDistribution" => implementation(desk, node),
            "ttlSecondsAfterFinished" => seconds(desk, node, "spec.lifecycle.ttlAfterFinished"),
            "activeDeadlineSeconds" => seconds(desk, node, "spec.lifecycle.deadline"),
            "backoffLimit" => {
                if let Some(count) = desk.count(node) {
                    desk.keep(node, "spec.launcher.retries", count.min(1000));
                }
            }
            "suspend" => match desk.yes(node) {
                true => desk.keep(node, "spec.scheduling.suspend", true),
                false => desk.needless(node, "the same here"),
            },
            "schedulingPolicy" => scheduling(desk, node),
            "launcherCreationPolicy" => desk.needless(node, "the launcher waits for its workers by itself"),
            "sshAuthMountPath" => desk.needless(node, "keys are mounted where our scripts look for them"),
            "mainContainer" => desk.needless(node, "there is one container a pod"),
            "managedBy" => desk.lose(node, "MultiKueue takes what is rendered, by its label: spec.scheduling.kueue"),
            _ => {}
        }
    }
    for node in [spec, policy].into_iter().flatten().filter_map(|node| node.get("cleanPodPolicy")) {
        match text(node).as_deref() {
            Some("None") if queued(desk) => desk.lose(node, "pods of a job that waits in a queue end together"),
            Some("None") => desk.keep(node, "spec.lifecycle.release", "keep"),
            _ => desk.needless(node, "workers end with the launcher here too"),
        }
    }
    slots
}

fn implementation(desk: &mut Desk<'_>, node: &Node) {
    match text(node).unwrap_or_default().to_ascii_lowercase().as_str() {
        "openmpi" => desk.needless(node, "the same here by default"),
        "intel" | "intelmpi" => desk.keep(node, "spec.launcher.mpi", "intelmpi"),
        "mpich" => desk.keep(node, "spec.launcher.mpi", "mpich"),
        _ => desk.refuse(node, "OpenMPI, Intel or MPICH"),
    }
}

fn seconds(desk: &mut Desk<'_>, node: &Node, to: &str) {
    if let Some(count) = desk.count(node) {
        match count {
            0 if to.ends_with("deadline") => desk.lose(node, "a deadline of nothing would end the job at once"),
            _ => desk.keep(node, to, format!("{count}s")),
        }
    }
}

fn scheduling(desk: &mut Desk<'_>, node: &Node) {
    if desk.draft.get("spec.scheduling.kueue").is_some() {
        if let Some((node, class)) = node.get("priorityClass").and_then(|node| Some((node, text(node)?)))
            && !class.is_empty()
        {
            desk.keep(node, "spec.placement.priorityClass", class);
        }
        return desk.replaced(node, "the job waits in Kueue's queue, which admits all pods or none");
    }
    let how = "the operator's own flag said which gang scheduler; Volcano is taken";
    desk.draft.put("spec.scheduling.gang", "volcano", how);
    for entry in entries(node) {
        match entry.key.as_str() {
            "queue" => match desk.text(&entry.value) {
                Some(queue) if !queue.is_empty() => desk.keep(&entry.value, "spec.scheduling.queue", queue),
                _ => desk.needless(&entry.value, "there is none"),
            },
            "priorityClass" => match desk.text(&entry.value) {
                Some(class) if !class.is_empty() => desk.keep(&entry.value, "spec.placement.priorityClass", class),
                _ => desk.needless(&entry.value, "there is none"),
            },
            "minAvailable" => {
                desk.ledger.settle(&entry.value, Verdict::Changed, "spec.scheduling.gang", "all pods start or none");
            }
            "minResources" => desk.needless(&entry.value, "the gang counts pods"),
            _ => desk.lose(&entry.value, "spec.scheduling has no such setting; a patch over the PodGroup reaches it"),
        }
    }
    desk.ledger.settle(node, Verdict::Changed, "spec.scheduling.gang", how);
}
