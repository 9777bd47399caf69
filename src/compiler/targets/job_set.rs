//! JobSet: one Job for the launcher and one Job per group of workers, or one Indexed Job. When the Job that launches
//! ends, the JobSet ends with the same result and stops the other Jobs. So the launcher needs no permission to stop
//! workers.

use super::refusal::{
    Refusal, refuse_growth, refuse_keep_workers, refuse_native_gang, refuse_spares, refuse_worker_claims, report,
};
use super::{Target, refusal};
use crate::job::Case;
use crate::job::target::{Facts, JOB_POD, NameParts, SLURM_SECTION};
use crate::problem::Problem;
use crate::report::Description;
use serde_json::{Value as Json, json};

use crate::kubernetes::job::{self, Spec};
use crate::kubernetes::meta::run_pods;
use crate::kubernetes::{self, Object};
use crate::plan::{self, Plan, Shape};
use crate::pods::File;

#[derive(Debug)]
pub struct JobSet;

/// The facts of each target whose pods belong to the Jobs of a JobSet.
pub const COMMON: Facts = Facts {
    uses_jobs: true,
    // The JobSet controller appends an index to the name of each Job, and each Job appends an index to the names of its
    // pods.
    group_suffix: "-0",
    launcher_suffix: "-0-0",
    // The Jobs are created from a template, which cannot change.
    immutable_fields: &["lifecycle.retries", "lifecycle.deadline"],
    longest_suffix,
    ..Facts::COMMON
};

static FACTS: Facts = Facts {
    name: "jobset",
    api_group: "jobset.x-k8s.io",
    workload_kinds: &[("JobSet", &["suspend", "ttlSecondsAfterFinished"])],
    exceptions: &[
        SLURM_SECTION,
        refusal::WORKER_CLAIMS,
        refusal::KEEP_WORKERS,
        refusal::SPARES,
        refusal::NATIVE_GANG,
        refusal::GROWTH,
        refusal::RANK_ORDER,
        refusal::LOST_TIMEOUT,
    ],
    ..COMMON
};

/// Refuses the fields that a JobSet does not support. `target` is the object that users apply, such as `a JobSet`.
pub fn refusals(case: &Case<'_>, target: &str) -> Vec<Refusal> {
    vec![
        refuse_worker_claims(case, target),
        refuse_keep_workers(case, target),
        refuse_spares(case, target),
        refuse_growth(case, target),
        refuse_native_gang(case, target),
    ]
}

/// The length of the longest suffix that pod names get. A pod is named after its Job, which is named after the JobSet.
fn longest_suffix(parts: &NameParts) -> usize {
    (parts.worker + "-0-".len() + parts.digits + JOB_POD).max(parts.launcher + "-0-0".len() + JOB_POD)
}

impl Target for JobSet {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        report(refusals(case, "a JobSet"), problems);
    }

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: if plan.shape == Shape::StatefulSet {
                "a JobSet with a launcher Job and worker Jobs"
            } else {
                "a JobSet with one Indexed Job"
            },
            controller: "the JobSet controller",
            suspended: ("JobSet", "spec.suspend"),
            ..Description::default()
        }
    }

    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
        vec![build(plan, files)]
    }
}

fn build<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    let mut body = body(plan, files);
    if plan.spec.scheduling.suspend {
        body["suspend"] = json!(true);
    }
    if let Some(ttl) = plan.spec.lifecycle.ttl_after_finished {
        body["ttlSecondsAfterFinished"] = json!(ttl);
    }
    Object::custom(plan, "jobset.x-k8s.io/v1alpha2", "JobSet", body)
}

/// The spec of the JobSet. A TrainingRuntime contains the same spec.
pub fn body(plan: &Plan, files: &[File]) -> Json {
    let jobs =
        if plan.shape == Shape::StatefulSet { launcher_and_workers(plan, files) } else { indexed_job(plan, files) };
    json!({
        // The Service of the job, which is rendered separately.
        "network": {"enableDNSHostnames": true, "subdomain": plan.service(), "publishNotReadyAddresses": true},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": [jobs[0]["name"]]},
        "replicatedJobs": jobs,
    })
}

/// The Job of the launcher, then the Jobs of workers.
fn launcher_and_workers(plan: &Plan, files: &[File]) -> Vec<Json> {
    let mut launcher = job::launcher_spec(plan, files);
    // Only the pods of an Indexed Job get host names.
    launcher.completion_mode = Some("Indexed");
    (launcher.completions, launcher.parallelism) = (Some(1), Some(1));
    let workers = plan.teams.iter().map(|team| {
        replicated_job(plan, &plan::role(plan, &plan.spec.groups[team.group]), job::workers_spec(plan, team, files))
    });
    std::iter::once(replicated_job(plan, "launcher", launcher)).chain(workers).collect()
}

/// The one Indexed Job.
fn indexed_job(plan: &Plan, files: &[File]) -> Vec<Json> {
    vec![replicated_job(
        plan,
        &plan::role(plan, &plan.spec.groups[plan.teams[0].group]),
        job::indexed_spec(plan, files),
    )]
}

/// One entry of `replicatedJobs`. The JobSet sets `suspend` and `ttlSecondsAfterFinished`, so its Jobs must not.
fn replicated_job(plan: &Plan, name: &str, mut spec: Spec) -> Json {
    (spec.suspend, spec.ttl_seconds_after_finished) = (None, None);
    let component = if name == "launcher" { name } else { "worker" };
    let labels = kubernetes::json(&run_pods(plan, component, None).match_labels);
    // `groupName` is the default that the API server adds. The list is atomic in server-side apply, so without the default
    // every apply would show a change.
    json!({
        "name": name,
        "groupName": "default",
        "replicas": 1,
        "template": {"metadata": {"labels": labels}, "spec": kubernetes::json(&spec)},
    })
}
