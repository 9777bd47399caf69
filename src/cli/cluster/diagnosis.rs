//! Determines what a job is doing, since when, and what it waits for. [`diagnose`] is a pure function of the job's
//! objects and the time.

mod causes;
mod launch;
mod outcome;
#[cfg(test)]
mod tests;

use khorovod::problem::count;
use khorovod::timeline;
use serde::Serialize;

use self::causes::{Cause, causes};
use self::launch::Launch;
use super::objects::{Objects, RUN, Resources, Template, Time};

/// The phases of a run, in the order in which it passes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The cluster has no object of the job.
    Absent,
    /// The Job is suspended, by Kueue or by a person.
    Queued,
    /// The launcher or workers have not started.
    Waiting,
    /// The launcher checks the workers, or volumes are downloaded.
    Preparing,
    /// An attempt has ended, and the next one has not started.
    Recovering,
    /// The ranks run.
    Training,
    /// All pods run, and the launcher reports no state to the cluster. Only the log shows whether the ranks train.
    Running,
    Saving,
    Uploading,
    /// The Job is being deleted or has been suspended, and pods still run.
    Stopping,
    /// The Job of the run does not exist.
    Stopped,
    Trained,
    Failed,
    Superseded,
    PastDeadline,
}

impl Phase {
    /// Whether the phase is final.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Stopped | Self::Trained | Self::Failed | Self::Superseded | Self::PastDeadline)
    }

    /// Whether ranks have started in the current attempt.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Training | Self::Running | Self::Saving | Self::Uploading)
    }
}

/// The state of a job. The fields are those of `khorovod status -o json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub job: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub phase: Phase,
    /// When the phase began, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// The phase, what the job waits for, and why it ended, as one sentence.
    pub message: String,
    pub waits_for: Vec<Cause>,
    pub workers: Workers,
    pub gpus: Vec<Gpus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained_seconds: Option<f64>,
    /// The exit code of the launcher.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether no pod of the run holds resources.
    pub is_released: bool,
    /// The pod whose log explains the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_pod: Option<String>,
    /// Whether `log_pod` has started, so that it has a log.
    #[serde(skip)]
    pub has_log: bool,
    /// A note for the user, if the controller of another project runs the job.
    #[serde(skip)]
    pub other_controller: Option<String>,
    pub other_runs: Vec<OtherRun>,
    /// Other facts for a person, such as kinds that could not be read.
    pub notes: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub struct Workers {
    pub wanted: u32,
    pub ready: u32,
}

/// The devices of one resource.
#[derive(Debug, Serialize)]
pub struct Gpus {
    pub resource: String,
    pub wanted: u64,
    pub held: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub step: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    pub unit: String,
    /// When the step was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The estimated seconds until the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
}

/// Another run of the same job, if the cluster has objects of it.
#[derive(Debug, Serialize)]
pub struct OtherRun {
    pub run: String,
    pub phase: Phase,
    pub message: String,
}

/// The job to describe, and one of its runs. If `run` is None, it is the current run.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub job: &'a str,
    pub namespace: Option<&'a str>,
    pub run: Option<&'a str>,
}

/// The run to describe: the run of the subject, or else the current run, or else the newest run.
pub fn run_of(objects: &Objects, subject: Subject<'_>) -> Option<String> {
    let given = subject.run.map(str::to_owned).or_else(|| current_run(objects, subject.job));
    given.or_else(|| runs(objects).first().cloned())
}

/// Describes the state of a job at a time.
pub fn diagnose(objects: &Objects, subject: Subject<'_>, now: Time) -> State {
    let current = current_run(objects, subject.job);
    let mut runs = runs(objects);
    let run = run_of(objects, subject);
    let mut state = match &run {
        Some(run) => state_of_run(objects, subject, run, now),
        None => empty(subject, Phase::Absent, "nothing is applied"),
    };
    runs.retain(|other| Some(other) != run.as_ref());
    for other in runs {
        let found = state_of_run(objects, subject, &other, now);
        if !found.phase.has_ended() || !found.is_released {
            let current = run.as_deref().unwrap_or_default();
            state.notes.push(format!("run {other} has not ended, beside run {current}: {}", found.message));
        }
        state.other_runs.push(OtherRun { run: other, phase: found.phase, message: found.message });
    }
    if let Some(current) = current.filter(|current| run.as_ref().is_some_and(|run| run != current)) {
        state.notes.push(format!("this is not the current run, which is {current}"));
    }
    for kind in &objects.unreadable {
        state.notes.push(format!(
            "you may not read {kind}, so this may be incomplete: ask your cluster administrator for get and list"
        ));
    }
    state
}

/// The run that the ConfigMap `J-current` names.
fn current_run(objects: &Objects, job: &str) -> Option<String> {
    objects.current(job)?.data.get("run").cloned()
}

/// The names of all runs that have workloads in the cluster, the newest first.
fn runs(objects: &Objects) -> Vec<String> {
    let workloads =
        objects.jobs.iter().map(|job| &job.metadata).chain(objects.stateful_sets.iter().map(|set| &set.metadata));
    let mut all: Vec<_> = workloads
        .chain(objects.pods.iter().map(|pod| &pod.metadata))
        .filter(|meta| !meta.label(RUN).is_empty())
        .collect();
    all.sort_by_key(|meta| std::cmp::Reverse(meta.creation_timestamp));
    let mut runs: Vec<String> = Vec::new();
    for meta in all {
        if !runs.iter().any(|run| run == meta.label(RUN)) {
            runs.push(meta.label(RUN).to_owned());
        }
    }
    runs
}

/// A state without any detail.
fn empty(subject: Subject<'_>, phase: Phase, message: &str) -> State {
    State {
        job: subject.job.to_owned(),
        namespace: subject.namespace.map(str::to_owned),
        run: None,
        phase,
        since: None,
        message: message.to_owned(),
        waits_for: Vec::new(),
        workers: Workers::default(),
        gpus: Vec::new(),
        attempt: None,
        failures: None,
        retries: None,
        last_end: None,
        progress: None,
        held_seconds: None,
        trained_seconds: None,
        exit_code: None,
        other_controller: None,
        is_released: true,
        log_pod: None,
        has_log: false,
        other_runs: Vec::new(),
        notes: Vec::new(),
    }
}

fn state_of_run(objects: &Objects, subject: Subject<'_>, run: &str, now: Time) -> State {
    let launch = Launch::find(objects, subject.job, run);
    let mut state = empty(subject, Phase::Waiting, "");
    state.run = Some(run.to_owned());
    state.workers = Workers { wanted: launch.wanted, ready: launch.ready() };
    state.gpus = gpus(&launch);
    state.is_released = launch.holding().next().is_none();
    state.waits_for = causes(&launch, objects);
    if let Some(report) = &launch.report {
        state.attempt = report.attempt;
        state.failures = report.failures;
        state.retries = report.retries;
        state.last_end = report.last_end.clone().filter(|text| !text.is_empty());
        let is_launched = launch.launcher.is_some_and(|pod| pod.running_since().is_some());
        (state.held_seconds, state.trained_seconds) = report.held_and_trained(is_launched, now);
        state.progress = report.progress(now);
    }
    state.namespace = state.namespace.or_else(|| launch.namespace());
    if let Some(pod) = launch.explaining_pod() {
        state.log_pod = Some(pod.metadata.name.clone());
        state.has_log = pod.has_started();
    }
    outcome::fill(&mut state, &launch, now);
    state
}

/// How many devices the pods of a run request and hold. A resource counts as a device if its name has a domain, such as
/// `nvidia.com/gpu`. The domains of network devices and of Kubernetes itself do not count.
fn gpus(launch: &Launch<'_>) -> Vec<Gpus> {
    let mut found: Vec<Gpus> = Vec::new();
    let mut add = |resources: &Resources, wanted: u64, held: u64| {
        for (name, amount) in resources.limits.iter().filter(|(name, _)| is_device(name)) {
            let amount = amount.as_u64().or_else(|| amount.as_str()?.parse().ok()).unwrap_or(0);
            let index = found.iter().position(|one| one.resource == *name).unwrap_or_else(|| {
                found.push(Gpus { resource: name.clone(), wanted: 0, held: 0 });
                found.len() - 1
            });
            found[index].wanted += wanted * amount;
            found[index].held += held * amount;
        }
    };
    let mut of_template = |template: &Template, count: u32| {
        template.spec.containers.iter().for_each(|container| add(&container.resources, count.into(), 0));
    };
    launch.templates().for_each(|(template, count)| of_template(template, count));
    for pod in launch.holding() {
        pod.spec.containers.iter().for_each(|container| add(&container.resources, 0, 1));
    }
    found
}

fn is_device(resource: &str) -> bool {
    const OTHERS: &[&str] = &["rdma/", "networking.gke.io/", "vpc.amazonaws.com/", "kubernetes.io/", "hugepages-"];
    resource.contains('/') && !OTHERS.iter().any(|prefix| resource.starts_with(prefix))
}

/// A duration as text for people. A duration of two minutes or more is shown without seconds, because the seconds would
/// differ each time the state is printed.
pub fn duration(seconds: i64) -> String {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    timeline::duration(if seconds < 120 { seconds } else { seconds - seconds % 60 })
}
