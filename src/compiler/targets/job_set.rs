//! JobSet: a launcher's Job and a Job of workers a group, or one Job by index. It succeeds and fails with the one that
//! launches, and then ends the others, so nothing needs a right to.

use super::Target;
use super::refusal::{Refusal, grows, keep, per_worker, report};
use crate::job::Case;
use crate::job::target::{Facts, JOB_POD, NameParts, SshKeys};
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

static FACTS: Facts = Facts {
    name: "jobset",
    has_pods: true,
    own_workloads: false,
    uses_jobs: true,
    has_job_shape: true,
    is_gang: false,
    brings_service: false,
    ssh_keys: SshKeys::Ours,
    templates_set_subdomain: false,
    templates_set_restart_policy: true,
    first_success_ends_job: false,
    pod_index: None,
    index_role: "worker",
    // A JobSet numbers its Jobs, and each Job its pods.
    group_suffix: "-0",
    launcher_suffix: "-0-0",
    pod_group_suffix: "",
    // The Jobs are created from a template, which cannot change.
    immutable_fields: &["launcher.retries", "lifecycle.deadline"],
    workload_kinds: &[("JobSet", &["suspend", "ttlSecondsAfterFinished"])],
    longest_suffix,
};

/// A pod is named after its Job, which is named after the JobSet.
pub fn longest_suffix(parts: &NameParts) -> usize {
    (parts.worker + "-0-".len() + parts.digits + JOB_POD).max(parts.launcher + "-0-0".len() + JOB_POD)
}

impl Target for JobSet {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        report(refusals(case), problems);
    }

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: if plan.shape == Shape::StatefulSet {
                "a JobSet of a launcher and its workers"
            } else {
                "a JobSet of pods by index"
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

fn refusals(case: &Case<'_>) -> Vec<Refusal> {
    vec![per_worker(case, "a JobSet"), keep(case, "a JobSet"), grows(case, "a JobSet")]
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

/// Its spec, as a TrainingRuntime holds it too.
pub fn body(plan: &Plan, files: &[File]) -> Json {
    let jobs = if plan.shape == Shape::StatefulSet { beside(plan, files) } else { by_index(plan, files) };
    json!({
        // The job's own Service, which is there before.
        "network": {"enableDNSHostnames": true, "subdomain": plan.service(), "publishNotReadyAddresses": true},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": [jobs[0]["name"]]},
        "replicatedJobs": jobs,
    })
}

/// The launcher, then the workers.
fn beside(plan: &Plan, files: &[File]) -> Vec<Json> {
    let mut one = job::launcher_spec(plan, files);
    // Only pods of an Indexed Job get host names.
    one.completion_mode = Some("Indexed");
    (one.completions, one.parallelism) = (Some(1), Some(1));
    let workers = plan.teams.iter().map(|team| {
        replicated(plan, &plan::role(plan, &plan.spec.groups[team.group]), job::workers_spec(plan, team, files))
    });
    std::iter::once(replicated(plan, "launcher", one)).chain(workers).collect()
}

fn by_index(plan: &Plan, files: &[File]) -> Vec<Json> {
    vec![replicated(plan, &plan::role(plan, &plan.spec.groups[plan.teams[0].group]), job::indexed_spec(plan, files))]
}

/// One of its Jobs. Whether it is suspended and how long it stays, the JobSet says.
fn replicated(plan: &Plan, name: &str, mut spec: Spec) -> Json {
    (spec.suspend, spec.ttl_seconds_after_finished) = (None, None);
    let component = if name == "launcher" { name } else { "worker" };
    let labels = kubernetes::json(&run_pods(plan, component, None).match_labels);
    // With the group that the API server would add to the list: that is compared as one, so every apply would seem to
    // change it.
    json!({
        "name": name,
        "groupName": "default",
        "replicas": 1,
        "template": {"metadata": {"labels": labels}, "spec": kubernetes::json(&spec)},
    })
}
