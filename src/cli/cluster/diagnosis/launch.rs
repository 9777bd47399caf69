//! Sorts the objects of one run by their role. The main type is [`Launch`].

use std::collections::BTreeSet;

use khorovod::{Target, targets};
use serde::Deserialize;

use super::Progress;
use crate::cli::agent::is_agent;
use crate::cli::cluster::objects::{
    COMPONENT, Condition, INDEX, Job, Objects, Pod, RUN, StatefulSet, Template, Time, condition,
};

/// If there was no progress for this many seconds, the sentence of a training mentions it.
pub const LONG_WITHOUT_PROGRESS: i64 = 600;
/// The exit codes of a pod that end its Job: a failure, another current run, and the deadline.
const FINAL_CODES: [i32; 3] = [42, 43, 44];
const STATUS: &str = "khorovod.dev/status";
const REPLICAS: &str = "khorovod.dev/replicas";

/// The state of the run that the launcher writes to its Job, as JSON. Fields that it does not write are `None`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Report {
    pub phase: String,
    pub since: Option<f64>,
    pub message: Option<String>,
    pub attempt: Option<u32>,
    pub failures: Option<u32>,
    pub retries: Option<u32>,
    pub last_end: Option<String>,
    step: Option<u64>,
    steps: Option<u64>,
    unit: Option<String>,
    progress_at: Option<f64>,
    /// When it was written.
    at: Option<f64>,
    held: Option<f64>,
    trained: Option<f64>,
}

impl Report {
    /// The seconds in which workers were held, and those in which the ranks trained. While the launcher runs, the time since
    /// the report counts too.
    #[allow(clippy::cast_precision_loss)]
    pub fn held_and_trained(&self, is_launched: bool, now: Time) -> (Option<f64>, Option<f64>) {
        let passed = self.at.map_or(0.0, |at| (now.0 as f64 - at).max(0.0));
        let counts = |applies: bool| if is_launched && applies { passed } else { 0.0 };
        let is_held = self.phase != "ended" && self.held.is_some_and(|held| held > 0.0);
        let trained = counts(is_held && self.phase == "training");
        (self.held.map(|held| held + counts(is_held)), self.trained.map(|seconds| seconds + trained))
    }

    /// The progress of the training. The time that is left is estimated from the mean speed of all attempts, unless the
    /// training seems to have stopped.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn progress(&self, now: Time) -> Option<Progress> {
        let step = self.step?;
        let trained = self.trained.filter(|seconds| *seconds > 0.0).or_else(|| Some(self.progress_at? - self.since?));
        let seconds_left = self.steps.filter(|steps| *steps > step && step > 0).zip(trained).map(|(steps, trained)| {
            let per_step = trained / step as f64;
            // The ranks have continued since the report.
            let passed = self.progress_at.map_or(0.0, |at| now.0 as f64 - at);
            let is_late = passed >= LONG_WITHOUT_PROGRESS as f64 && passed > 2.0 * per_step;
            (!is_late).then(|| (per_step * (steps - step) as f64 - passed).max(0.0) as u64)
        });
        let seconds_left = seconds_left.flatten();
        let unit = self.unit.clone().unwrap_or_else(|| "step".to_owned());
        Some(Progress { step, steps: self.steps, unit, at: self.progress_at.map(|at| at as i64), seconds_left })
    }
}

/// The objects of one run.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)]
pub struct Launch<'a> {
    /// The Job of the launcher, or the Indexed Job.
    pub job: Option<&'a Job>,
    pub is_indexed: bool,
    pub sets: Vec<&'a StatefulSet>,
    /// All pods of the run, also those that have ended.
    pub pods: Vec<&'a Pod>,
    /// The newest launcher pod, or in an Indexed Job the newest pod with index 0.
    pub launcher: Option<&'a Pod>,
    /// How many workers the spec asks for, including spares.
    pub wanted: u32,
    pub report: Option<Report>,
    /// Whether the workers stay when the run ends.
    pub keeps_workers: bool,
    /// Whether the job uses torchrun, JAX or TensorFlow with a fixed number of pods. Its ranks run only while all pods
    /// run, but no pod reports that it waits for the others. Other launchers wait for the workers and report it.
    pub needs_all_pods: bool,
    /// The kind and the name of the object by which a controller of another project runs the job, such as an MPIJob.
    pub other_controller: Option<(String, String)>,
    /// Whether only the pods are known: another controller runs the job, or this user may not read Jobs.
    pub has_only_pods: bool,
}

impl<'a> Launch<'a> {
    /// The objects of a run of a job.
    pub fn find(objects: &'a Objects, job_name: &str, run: &str) -> Self {
        let is_own = |job: &&Job| job.metadata.label(RUN) == run && job.metadata.owner_references.is_empty();
        let mut jobs: Vec<&Job> = objects.jobs.iter().filter(is_own).collect();
        jobs.sort_by_key(|job| job.metadata.label(COMPONENT) != "launcher");
        let job = jobs.first().copied();
        let is_indexed = job.is_some_and(|job| job.spec.completion_mode.as_deref() == Some("Indexed"));
        let sets: Vec<_> = objects.stateful_sets.iter().filter(|set| set.metadata.label(RUN) == run).collect();
        let pods: Vec<_> = objects.pods.iter().filter(|pod| pod.metadata.label(RUN) == run).collect();
        let is_launcher = |pod: &&&Pod| pod.metadata.label(COMPONENT) == "launcher" || pod.metadata.label(INDEX) == "0";
        // If two pods have the same age, the one that has not ended counts as the newer one.
        let age = |pod: &&&Pod| (pod.metadata.creation_timestamp, !pod.has_ended());
        let launcher = pods.iter().filter(is_launcher).max_by_key(age).copied();
        let other_controller =
            if job.is_some() || !sets.is_empty() { None } else { controller(objects, &pods, (job_name, run)) };
        let has_only_pods =
            other_controller.is_some() || job.is_none() && objects.unreadable.iter().any(|kind| kind == "jobs");
        let wanted = match job {
            _ if has_only_pods => {
                let workers = pods.iter().filter(|pod| pod.metadata.label(COMPONENT) != "launcher").count();
                u32::try_from(workers).unwrap_or(u32::MAX)
            }
            Some(job) if is_indexed => job.spec.completions.unwrap_or(1),
            _ => sets.iter().map(|set| replicas(set)).sum(),
        };
        let report = job.and_then(|job| serde_json::from_str(job.metadata.annotations.get(STATUS)?).ok());
        let spec = spec_of(objects, job_name);
        let keeps_workers = spec.as_ref().is_some_and(|spec| spec["lifecycle"]["keepWorkers"] == true);
        let needs_all_pods =
            spec.is_some_and(|spec| spec["workers"]["elastic"].is_null()) && job.is_some_and(has_agents);
        Self {
            job,
            is_indexed,
            sets,
            pods,
            launcher,
            wanted,
            report,
            keeps_workers,
            needs_all_pods,
            other_controller,
            has_only_pods,
        }
    }

    /// The pods that are workers. In an Indexed Job, every pod is a worker.
    pub fn workers(&self) -> impl Iterator<Item = &'a Pod> {
        self.pods.iter().copied().filter(|pod| self.is_indexed || pod.metadata.label(COMPONENT) == "worker")
    }

    /// How many workers are Ready, at most the number that the spec asks for.
    pub fn ready(&self) -> u32 {
        let ready = self.workers().filter(|pod| pod.is_ready()).count();
        u32::try_from(ready).unwrap_or(u32::MAX).min(self.wanted)
    }

    /// Whether all workers run, or have succeeded.
    pub fn are_all_started(&self) -> bool {
        let has_started = |pod: &&Pod| pod.running_since().is_some() || pod.status.phase == "Succeeded";
        let started: BTreeSet<&str> = self.workers().filter(has_started).map(|pod| pod.metadata.label(INDEX)).collect();
        started.len() >= self.wanted as usize
    }

    /// The pods that hold resources: they have a node and have not ended.
    pub fn holding(&self) -> impl Iterator<Item = &'a Pod> {
        self.pods.iter().copied().filter(|pod| pod.spec.node_name.is_some() && !pod.has_ended())
    }

    /// The templates of the pods, and how many pods of each the spec asks for.
    pub fn templates(&self) -> impl Iterator<Item = (&'a Template, u32)> {
        let job = self.job.map(|job| (&job.spec.template, if self.is_indexed { self.wanted } else { 1 }));
        self.sets.iter().map(|set| (&set.spec.template, replicas(set))).chain(job)
    }

    pub fn namespace(&self) -> Option<String> {
        let job = self.job.map(|job| &job.metadata);
        job.into_iter().chain(self.pods.iter().map(|pod| &pod.metadata)).find_map(|meta| meta.namespace.clone())
    }

    /// The first of these conditions of the Job that is True.
    pub fn condition(&self, names: &[&str]) -> Option<&'a Condition> {
        let conditions = &self.job?.status.conditions;
        names.iter().find_map(|name| condition(conditions, name))
    }

    /// The pod that decided how the run ended: the launcher, or in an Indexed Job the first pod with a final exit code. If that pod
    /// has not the index 0, Kubernetes has ended the pod with index 0, which then only reports a SIGTERM.
    pub fn deciding_pod(&self) -> Option<&'a Pod> {
        let decided = |pod: &&Pod| pod.terminated().is_some_and(|end| FINAL_CODES.contains(&end.exit_code));
        if !self.is_indexed || self.launcher.as_ref().is_some_and(decided) {
            return self.launcher;
        }
        let ended = self.pods.iter().copied().filter(decided);
        ended.min_by_key(|pod| pod.terminated().and_then(|end| end.finished_at)).or(self.launcher)
    }

    /// The pod whose log explains the state. If the run has ended or the launcher has started, this is the pod that decides.
    /// Otherwise it is a worker that has failed.
    pub fn explaining_pod(&self) -> Option<&'a Pod> {
        let has_failed = |pod: &&Pod| pod.container().is_some_and(|status| status.last_state.terminated.is_some());
        let deciding = self.deciding_pod().filter(|pod| pod.has_started());
        deciding.or_else(|| self.workers().find(has_failed)).or(self.launcher)
    }
}

/// How many workers of a StatefulSet the spec asks for. The launcher scales the StatefulSet, so before and after the
/// run `spec.replicas` is another number.
fn replicas(set: &StatefulSet) -> u32 {
    set.metadata.annotations.get(REPLICAS).and_then(|text| text.parse().ok()).or(set.spec.replicas).unwrap_or(1)
}

/// The field `spec` of the job, if its ConfigMap has the document of the job in an annotation.
fn spec_of(objects: &Objects, job: &str) -> Option<serde_json::Value> {
    let text = objects.current(job)?.metadata.annotations.get("khorovod.dev/spec")?;
    Some(serde_json::from_str::<serde_json::Value>(text).ok()?["spec"].take())
}

/// Whether each pod of a Job starts its own ranks.
fn has_agents(job: &Job) -> bool {
    job.spec.template.spec.containers.iter().any(|container| is_agent(&container.command))
}

/// The kind and the name of the object of another project that owns the pods or Jobs of the run, such as an MPIJob. If no
/// pod has such an owner, kind and name are derived from the target of the run. None for plain objects.
fn controller(objects: &Objects, pods: &[&Pod], (job, run): (&str, &str)) -> Option<(String, String)> {
    let jobs = objects.jobs.iter().filter(|job| job.metadata.label(RUN) == run).map(|job| &job.metadata);
    let mut owners = jobs.chain(pods.iter().map(|pod| &pod.metadata)).flat_map(|meta| &meta.owner_references);
    // If the owner of a pod is a StatefulSet or a Job, it is an object of khorovod, which may have been deleted.
    let is_other = |kind: &str| !matches!(kind, "StatefulSet" | "Job");
    let owner = owners.find(|owner| is_other(&owner.kind)).map(|owner| (owner.kind.clone(), owner.name.clone()));
    owner.or_else(|| {
        let target = objects.target(job).filter(|name| *name != targets::PLAIN.name())?.parse::<&dyn Target>().ok()?;
        let (kind, _) = target.facts().workload_kinds.last()?;
        // Volcano and Kubernetes both have a kind `Job`, so kubectl needs the API group too.
        let kind = if *kind == "Job" { format!("{kind}.{}", target.facts().api_group) } else { (*kind).to_owned() };
        Some((kind, format!("{job}-{run}")))
    })
}
