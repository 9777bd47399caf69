//! Finds out why pods are not Ready, from the reasons that the scheduler, the kubelet and admission give. The main type
//! is [`Cause`].

use serde::Serialize;

use super::launch::Launch;
use crate::cli::cluster::objects::{Event, Objects, Pod, Terminated, condition};

/// Something that some pods of a run wait for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The number of workers that wait; 0 if the launcher waits.
    pub workers: u32,
    /// The reason, as a phrase that follows the number of workers in a sentence.
    pub reason: String,
    /// The names of the pods, at most eight.
    pub pods: Vec<String>,
}

/// The longest reason that is printed.
const LONGEST: usize = 300;

/// The causes why a run waits. The cause of the launcher comes first. The causes of the workers follow, the most common one
/// first.
pub fn causes(launch: &Launch<'_>, objects: &Objects) -> Vec<Cause> {
    if launch.condition(&["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"]).is_some() {
        return Vec::new();
    }
    let mut found: Vec<Cause> = Vec::new();
    let mut add = |workers: u32, reason: String, pod: Option<&Pod>| {
        let index = found.iter().position(|cause| cause.reason == reason && (cause.workers > 0) == (workers > 0));
        let index = index.unwrap_or_else(|| {
            found.push(Cause { workers: 0, reason, pods: Vec::new() });
            found.len() - 1
        });
        found[index].workers += workers;
        if let Some(pod) = pod.filter(|_| found[index].pods.len() < 8) {
            found[index].pods.push(pod.metadata.name.clone());
        }
    };
    if let Some(job) = launch.job.filter(|_| !launch.is_indexed) {
        match launch.launcher.filter(|pod| !pod.has_ended()) {
            Some(pod) if pod.running_since().is_none() => add(0, reason(pod, objects), Some(pod)),
            Some(_) => {}
            None => not_created(objects, "Job", &job.metadata.name).into_iter().for_each(|why| add(0, why, None)),
        }
    }
    let mut missing = launch.wanted - launch.ready();
    let mut unready: Vec<&Pod> = launch.workers().filter(|pod| !pod.is_ready() && !pod.has_ended()).collect();
    // By number: worker-2 comes before worker-10.
    unready.sort_by_key(|pod| (pod.metadata.name.len(), pod.metadata.name.as_str()));
    for pod in unready {
        if missing == 0 {
            break;
        }
        missing -= 1;
        add(1, reason(pod, objects), Some(pod));
    }
    if missing > 0 {
        let sets = launch.sets.iter().map(|set| ("StatefulSet", set.metadata.name.as_str()));
        let job = launch.job.filter(|_| launch.is_indexed).map(|job| ("Job", job.metadata.name.as_str()));
        let why = sets.chain(job).find_map(|(kind, name)| not_created(objects, kind, name));
        let is_launched = launch.is_indexed || launch.launcher.is_some_and(|pod| pod.running_since().is_some());
        let default = if is_launched { "not created yet" } else { "created when the launcher runs" };
        add(missing, why.unwrap_or_else(|| default.to_owned()), None);
    }
    // Put the cause of the launcher first.
    found.sort_by_key(|cause| (cause.workers > 0, std::cmp::Reverse(cause.workers)));
    found
}

/// Why the controller of an object could not create pods, from the last event about the object.
fn not_created(objects: &Objects, kind: &str, name: &str) -> Option<String> {
    let event = last_event(objects, kind, name, &["FailedCreate"])?;
    let message = event.message.as_deref().unwrap_or_default();
    // An example: `create Pod a-0 in StatefulSet a failed error: pods "a-0" is forbidden: exceeded quota: …`
    let marks = ["is forbidden: ", "failed error: ", "Error creating: "];
    let why = marks.iter().find_map(|mark| Some(message.split_once(mark)?.1));
    Some(format!("not created: {}", shorten(why.unwrap_or(message))))
}

fn last_event<'a>(objects: &'a Objects, kind: &str, name: &str, reasons: &[&str]) -> Option<&'a Event> {
    let is_it = |event: &&Event| {
        event.involved_object.kind == kind
            && event.involved_object.name == name
            && event.reason.as_deref().is_some_and(|reason| reasons.contains(&reason))
    };
    objects.events.iter().filter(is_it).max_by_key(|event| event.time())
}

/// Why a pod is not Ready, as a phrase without the name of the pod.
fn reason(pod: &Pod, objects: &Objects) -> String {
    let status = &pod.status;
    let event = |reasons: &[&str]| last_event(objects, "Pod", &pod.metadata.name, reasons);
    let disruption = condition(&status.conditions, "DisruptionTarget").and_then(|found| found.reason.as_deref());
    let node = pod.spec.node_name.as_deref().unwrap_or("unknown");
    match disruption {
        Some("DeletionByTaintManager") => return format!("on node {node}, which does not answer"),
        Some("PreemptionByScheduler") => return "preempted by pods of a higher priority".to_owned(),
        Some("EvictionByEvictionAPI") => return "evicted".to_owned(),
        _ => {}
    }
    if pod.metadata.deletion_timestamp.is_some() {
        return "ending".to_owned();
    }
    if pod.spec.node_name.is_none() {
        return unscheduled(pod, objects);
    }
    let containers = status.init_container_statuses.iter().chain(pod.container());
    for (container, waiting) in containers.filter_map(|status| Some((status, status.state.waiting.as_ref()?))) {
        let message = waiting.message.as_deref().unwrap_or_default();
        match waiting.reason.as_deref().unwrap_or_default() {
            "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" | "ImageInspectError" => {
                let failed = event(&["Failed"]).and_then(|event| event.message.as_deref());
                let message = failed.filter(|text| text.contains("pull image")).unwrap_or(message);
                return format!("cannot pull the image: {}", shorten(message));
            }
            "CrashLoopBackOff" => {
                let last = container.last_state.terminated.as_ref();
                let why = last.map_or_else(|| shorten(message), Terminated::text);
                return format!("fails again and again: {why}");
            }
            "ContainerCreating" | "PodInitializing" | "" => {}
            reason if message.is_empty() => return format!("cannot start: {reason}"),
            _ => return format!("cannot start: {}", shorten(message)),
        }
    }
    if pod.running_since().is_some() {
        return match event(&["NodeNotReady"]) {
            Some(_) => format!("on node {node}, which does not answer"),
            None => "started, and not Ready yet".to_owned(),
        };
    }
    let last = event(&["FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Pulling", "Pulled"]);
    match last.and_then(|event| Some((event.reason.as_deref()?, event.message.as_deref().unwrap_or_default()))) {
        Some(("Pulling", _)) => "pulling the image".to_owned(),
        Some(("FailedMount" | "FailedAttachVolume" | "FailedCreatePodSandBox", message)) => {
            format!("cannot start yet: {}", shorten(message))
        }
        _ => "starting".to_owned(),
    }
}

/// Why a pod has no node.
fn unscheduled(pod: &Pod, objects: &Objects) -> String {
    if let Some(gate) = pod.spec.scheduling_gates.first() {
        return format!("held back by the scheduling gate {}", gate.name);
    }
    let is_unscheduled = |kind: &str, status: &str| kind == "PodScheduled" && status == "False";
    let found = pod.status.conditions.iter().find(|found| is_unscheduled(&found.r#type, &found.status));
    let message = found.and_then(|found| found.message.as_deref()).unwrap_or_default();
    if message.is_empty() {
        return "Pending, and not yet seen by the scheduler".to_owned();
    }
    let why = scheduler_reason(message);
    let mut claims: Vec<String> = Vec::new();
    if why.contains("PersistentVolumeClaim") {
        for claim in objects.claims.iter().filter(|claim| claim.status.phase != "Bound").take(3) {
            let class = claim.spec.storage_class_name.as_deref();
            let class = class.map_or(String::new(), |class| format!(" of storage class {class}"));
            claims.push(format!("claim {}{class} is {}", claim.metadata.name, claim.status.phase));
        }
    }
    match claims.is_empty() {
        true => format!("Pending for \"{why}\""),
        false => format!("Pending for \"{why}\" ({})", claims.join(", ")),
    }
}

/// The reasons in `0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient cpu. preemption: …`.
/// The numbers are left out, because they differ between pods that wait for the same reason.
fn scheduler_reason(message: &str) -> String {
    let reasons = message.split_once("nodes are available: ").map_or(message, |(_, rest)| rest);
    let reasons = reasons.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let mut kept: Vec<String> = Vec::new();
    for reason in reasons.split(", ") {
        let words = reason.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().replace("node(s) ", "");
        let words = words.replace("Insufficient ", "insufficient ");
        if !words.is_empty() && !kept.contains(&words) {
            kept.push(words);
        }
    }
    shorten(&kept.join(", "))
}

/// A message on one line, cut if it is long.
pub fn shorten(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
