//! Computes the phase of a run, when the phase began, and the sentence that describes it.

use std::fmt::Write as _;

use super::causes::{Cause, shorten};
use super::launch::{LONG_WITHOUT_PROGRESS, Launch};
use super::{Phase, State, count, duration};
use crate::cli::cluster::objects::{Pod, Terminated, Time, condition};

/// Sets the phase, its beginning, the sentence and the exit code of a state.
pub fn fill(state: &mut State, launch: &Launch<'_>, now: Time) {
    let (phase, since, message) = phase(state, launch, now);
    state.phase = phase;
    state.since = since.map(|time| time.0);
    state.message = message;
    if !phase.is_running() {
        state.progress.iter_mut().for_each(|progress| progress.seconds_left = None);
    }
}

type Found = (Phase, Option<Time>, String);

fn phase(state: &mut State, launch: &Launch<'_>, now: Time) -> Found {
    if let Some((kind, name)) = &launch.other_controller {
        let note = format!(
            "the {kind} {name} runs this job: khorovod reads its pods, and its own state is in `kubectl describe {} {name}`",
            kind.to_lowercase()
        );
        state.notes.push(note.clone());
        state.other_controller = Some(note);
    }
    if launch.has_only_pods {
        return of_pods(state, launch);
    }
    let Some(job) = launch.job else { return without_job(state, launch) };
    if let Some(end) = launch.condition(&["Complete", "SuccessCriteriaMet", "Failed", "FailureTarget"]) {
        return ended(state, launch, end.r#type.starts_with(['C', 'S']));
    }
    if let Some(time) = job.metadata.deletion_timestamp {
        let left = still_run(launch.holding().count());
        return (Phase::Stopping, Some(time), format!("stopping: {left}, at most for their grace period"));
    }
    if job.spec.suspend {
        let suspended = condition(&job.status.conditions, "Suspended").and_then(|found| found.last_transition_time);
        let since = suspended.or(job.metadata.creation_timestamp);
        if !state.is_released {
            let left = still_run(launch.holding().count());
            return (Phase::Stopping, since, format!("suspended: {left}, at most for their grace period"));
        }
        state.waits_for.clear();
        let queue = job.metadata.labels.get("kueue.x-k8s.io/queue-name");
        let message = queue.map_or_else(
            || "suspended: waiting for the controller or the person that set spec.suspend of its Job".to_owned(),
            |queue| format!("waiting for Kueue to admit it to the queue {queue}"),
        );
        return (Phase::Queued, since, message);
    }
    let created = job.metadata.creation_timestamp;
    match launch.launcher {
        Some(pod) if pod.has_ended() || pod.terminated().is_some() => {
            let end = pod
                .terminated()
                .map_or_else(|| shorten(pod.status.reason.as_deref().unwrap_or("ended")), Terminated::text);
            let since = pod.terminated().and_then(|end| end.finished_at);
            (
                Phase::Recovering,
                since,
                format!("recovering: the launcher ended ({end}), and Kubernetes starts another one"),
            )
        }
        Some(pod) if pod.running_since().is_some() => launched(state, launch, pod, now),
        Some(pod) => not_launched(state, launch, pod.metadata.creation_timestamp.or(created)),
        None => not_launched(state, launch, created),
    }
}

/// The state of a run whose launcher does not run: the first launcher has not started yet, or Kubernetes has to start
/// another one.
fn not_launched(state: &State, launch: &Launch<'_>, since: Option<Time>) -> Found {
    let was_launched = launch.report.as_ref().is_some_and(|report| report.attempt.is_some_and(|attempt| attempt > 0));
    let (phase, word) = if was_launched { (Phase::Recovering, "recovering: ") } else { (Phase::Waiting, "") };
    if launch.is_indexed {
        let since = launch.job.and_then(|job| job.status.start_time).or(since);
        return (phase, since, format!("{word}{}", waiting_for(state)));
    }
    let reasons: Vec<&str> =
        state.waits_for.iter().filter(|cause| cause.workers == 0).map(|cause| cause.reason.as_str()).collect();
    let why = if reasons.is_empty() { "not created yet".to_owned() } else { reasons.join(", ") };
    (phase, since, format!("{word}waiting for the launcher: {why}"))
}

/// `waiting for 3 of 8 workers: 2 Pending for "insufficient nvidia.com/gpu", 1 pulling the image`.
fn waiting_for(state: &State) -> String {
    let missing = state.workers.wanted - state.workers.ready;
    let workers: Vec<String> = state
        .waits_for
        .iter()
        .filter(|cause| cause.workers > 0)
        .map(|Cause { workers, reason, .. }| format!("{workers} {reason}"))
        .collect();
    match missing {
        0 => "waiting for the workers to answer".to_owned(),
        _ => format!("waiting for {missing} of {}: {}", count(state.workers.wanted, "worker"), workers.join(", ")),
    }
}

/// The attempt as a phrase: `, attempt 2 of 4`. Empty if the launcher has reported no attempt, or if the spec allows only
/// one attempt.
fn attempt(state: &State) -> String {
    match (state.attempt, state.failures, state.retries) {
        (Some(attempt), Some(failures), Some(retries)) if attempt == failures + 1 && retries > 0 => {
            format!(", attempt {attempt} of {}", retries + 1)
        }
        (Some(attempt), Some(failures), Some(retries)) if attempt > 1 => {
            format!(
                ", attempt {attempt} ({failures} of {} used)",
                if retries == 1 { "1 retry".to_owned() } else { format!("{retries} retries") }
            )
        }
        (Some(attempt), ..) if attempt > 1 => format!(", attempt {attempt}"),
        _ => String::new(),
    }
}

/// The state of a run whose launcher, or first pod, runs.
#[allow(clippy::cast_possible_truncation)]
fn launched(state: &State, launch: &Launch<'_>, pod: &Pod, now: Time) -> Found {
    let started = pod.running_since();
    let report = launch.report.as_ref().filter(|report| report.phase != "ended");
    let Some(report) = report else {
        if state.workers.ready < state.workers.wanted {
            return (Phase::Waiting, started, waiting_for(state));
        }
        return (
            Phase::Running,
            started,
            "running: all pods are Ready; the state of the training is in the log".to_owned(),
        );
    };
    let since = report.since.map(|since| Time(since as i64)).or(started);
    let reported = report.message.as_deref().map(shorten).filter(|text| !text.is_empty());
    let attempt = attempt(state);
    let with = |text: &str| reported.as_ref().map_or_else(String::new, |reported| format!("{text}{reported}"));
    match report.phase.as_str() {
        "waiting" | "preparing" => {
            let is_waiting = report.phase == "waiting";
            let what = match is_waiting && state.workers.ready < state.workers.wanted {
                true => waiting_for(state),
                false if is_waiting => reported.clone().unwrap_or_else(|| waiting_for(state)),
                false => format!("preparing{}", with(": ")),
            };
            match state.last_end.as_deref().map(shorten) {
                Some(end) => (Phase::Recovering, since, format!("recovering{attempt}: {end}; {what}")),
                None if is_waiting => (Phase::Waiting, since, what),
                None => (Phase::Preparing, since, what),
            }
        }
        "saving" => (Phase::Saving, since, format!("saving a checkpoint{}", with(": "))),
        "uploading" => (Phase::Uploading, since, format!("uploading the S3 volumes{}", with(": "))),
        // If agents start the ranks, the reported phase is `training` as soon as the agent of the first pod runs. This
        // agent may still wait for the other pods.
        "training" if launch.needs_all_pods && !launch.are_all_started() => {
            let what = waiting_for(state);
            match state.last_end.as_deref().map(shorten) {
                Some(end) => (Phase::Recovering, since, format!("recovering{attempt}: {end}; {what}")),
                None => (Phase::Waiting, since, what),
            }
        }
        _ => {
            let mut text = format!("training{attempt}{}", with("; it reports: "));
            let quiet = state.progress.as_ref().and_then(|progress| progress.at).map(|at| now.0 - at);
            if let Some(quiet) = quiet.filter(|quiet| *quiet >= LONG_WITHOUT_PROGRESS && reported.is_none()) {
                let _ = write!(text, "; no progress for {}", duration(quiet));
            }
            let missing = state.workers.wanted - state.workers.ready;
            if missing > 0 {
                let of = count(state.workers.wanted, "worker");
                let _ = write!(text, "; {missing} of {of} not Ready: {}", reasons(&state.waits_for));
            }
            (Phase::Training, since, text)
        }
    }
}

fn reasons(causes: &[Cause]) -> String {
    let texts: Vec<String> = causes.iter().map(|cause| format!("{} {}", cause.workers, cause.reason)).collect();
    texts.join(", ")
}

/// `1 pod still runs`, `2 pods still run`.
fn still_run(pods: usize) -> String {
    format!("{} still {}", count(pods as u64, "pod"), if pods == 1 { "runs" } else { "run" })
}

/// Describes whether the run still holds resources: `; GPUs are released`.
fn released(state: &State, launch: &Launch<'_>) -> String {
    let pods = launch.holding().count();
    let held: u64 = state.gpus.iter().map(|gpus| gpus.held).sum();
    let what = match (held, pods) {
        (0, _) => String::new(),
        (_, 1) => format!(" and holds {}", count(held, "GPU")),
        _ => format!(" and hold {}", count(held, "GPU")),
    };
    match (pods, launch.keeps_workers) {
        (0, _) if state.gpus.iter().any(|gpus| gpus.wanted > 0) => "; GPUs are released".to_owned(),
        (0, _) => "; workers are released".to_owned(),
        (_, true) => format!("; {}{what}, because of lifecycle.keepWorkers", still_run(pods)),
        (_, false) => format!("; {}{what}", still_run(pods)),
    }
}

/// The state of a run whose Job has ended.
fn ended(state: &mut State, launch: &Launch<'_>, is_complete: bool) -> Found {
    let names = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"];
    let end = launch.condition(&names);
    let status = launch.job.map(|job| &job.status);
    let since =
        status.and_then(|status| status.completion_time).or_else(|| end.and_then(|end| end.last_transition_time));
    state.waits_for.clear();
    state.progress = state.progress.take().filter(|_| is_complete);
    let pod = launch.deciding_pod().and_then(|pod| Some((pod, pod.terminated()?)));
    state.exit_code = pod.map(|(_, end)| end.exit_code);
    let released = released(state, launch);
    if is_complete {
        let began = status.and_then(|status| status.start_time);
        let took = began.zip(since).map_or(String::new(), |(began, end)| format!(" in {}", duration(end.0 - began.0)));
        return (Phase::Trained, since, format!("trained{took}{released}"));
    }
    let reason = end.and_then(|end| end.reason.as_deref()).unwrap_or_default();
    let reported = pod.map(|(_, end)| end.text());
    let reported =
        reported.or_else(|| launch.report.as_ref().and_then(|report| report.message.as_deref().map(shorten)));
    let reported = reported
        .or_else(|| end.and_then(|end| end.message.as_deref().map(shorten)))
        .unwrap_or_else(|| reason.to_owned());
    let code = state.exit_code.map_or(String::new(), |code| format!(" (exit code {code})"));
    let (phase, word) = match state.exit_code {
        Some(43) => (Phase::Superseded, "ended"),
        Some(44) => (Phase::PastDeadline, "ended"),
        _ if reported.starts_with("superseded:") => (Phase::Superseded, "ended"),
        _ if reason == "DeadlineExceeded" => (Phase::PastDeadline, "ended"),
        _ => (Phase::Failed, "failed"),
    };
    (phase, since, format!("{word}{code}: {}{released}", reported.trim_end_matches('.')))
}

/// The state of a run whose Job does not exist.
fn without_job(state: &mut State, launch: &Launch<'_>) -> Found {
    state.waits_for.clear();
    if state.is_released {
        return (Phase::Stopped, None, "stopped: its Job does not exist; to start it, apply the spec again".to_owned());
    }
    let released = released(state, launch);
    let phase = if launch.keeps_workers { Phase::Stopped } else { Phase::Stopping };
    let next = if launch.keeps_workers { "" } else { ", at most until its first workers notice that no launcher runs" };
    (phase, None, format!("stopped: its Job does not exist{released}{next}"))
}

/// The sentence for a job that another controller runs and that has no pods.
fn no_pods(launch: &Launch<'_>) -> String {
    let owner = launch.other_controller.as_ref().map_or(String::new(), |(kind, name)| {
        format!(": the {kind} {name} has not created any, or has deleted them after its end")
    });
    format!("waiting for pods{owner}")
}

/// The state of a job that another controller runs, from its pods.
fn of_pods(state: &mut State, launch: &Launch<'_>) -> Found {
    let pod = launch.launcher.or_else(|| launch.pods.first().copied());
    let Some(pod) = pod else { return (Phase::Waiting, None, no_pods(launch)) };
    if let Some(end) = pod.terminated() {
        state.exit_code = Some(end.exit_code);
        let released = released(state, launch);
        let text = end.text();
        return match end.exit_code {
            0 => (Phase::Trained, end.finished_at, format!("trained{released}")),
            43 => (Phase::Superseded, end.finished_at, format!("ended (exit code 43): {text}{released}")),
            44 => (Phase::PastDeadline, end.finished_at, format!("ended (exit code 44): {text}{released}")),
            code => (Phase::Failed, end.finished_at, format!("failed (exit code {code}): {text}{released}")),
        };
    }
    let created = pod.metadata.creation_timestamp;
    if state.workers.ready < state.workers.wanted {
        return (Phase::Waiting, created, waiting_for(state));
    }
    let text = "running: all pods are Ready; the state of the training is in the log";
    (Phase::Running, pod.running_since().or(created), text.to_owned())
}
