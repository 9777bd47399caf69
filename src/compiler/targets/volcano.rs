//! Volcano's own Job: a task that launches and a task of workers a group, or one task by index. Its scheduler starts all
//! pods or none, and its policies end them.

use super::Target;
use super::refusal::{Refusal, keep, per_worker, report, too_many};
use crate::job::target::{Facts, SshKeys};
use crate::job::valid::Gang;
use crate::job::{Case, key};
use crate::problem::Problem;
use crate::report::Description;
use serde_json::{Value as Json, json};

use crate::kubernetes::job::FINAL_CODES;
use crate::kubernetes::pod::{self, Part};
use crate::kubernetes::{self, Object, pod_group};
use crate::plan::{self, Plan, Shape, Team};
use crate::pods::File;

#[derive(Debug)]
pub struct Volcano;

static FACTS: Facts = Facts {
    name: "volcano",
    has_pods: true,
    own_workloads: false,
    uses_jobs: false,
    has_job_shape: true,
    is_gang: true,
    brings_service: false,
    ssh_keys: SshKeys::Ours,
    templates_set_subdomain: true,
    templates_set_restart_policy: true,
    first_success_ends_job: true,
    pod_index: Some("metadata.annotations['volcano.sh/task-index']"),
    index_role: "worker",
    group_suffix: "",
    launcher_suffix: "-0",
    pod_group_suffix: "",
    immutable_fields: &["launcher.retries", "lifecycle.ttlAfterFinished", "scheduling.queue"],
    workload_kinds: &[("Job", &[])],
    longest_suffix: |parts| (parts.worker + 1 + parts.digits).max(parts.launcher + "-0".len()),
};

impl Target for Volcano {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        report(refusals(case), problems);
    }

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: if plan.shape == Shape::StatefulSet {
                "a Volcano Job of a launcher and its workers"
            } else {
                "a Volcano Job of pods by index"
            },
            controller: "Volcano",
            suspended: ("Job", "spec.suspend"),
            ..Description::default()
        }
    }

    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
        vec![build(plan, files)]
    }
}

fn refusals(case: &Case<'_>) -> Vec<Refusal> {
    let scheduling = case.body.scheduling.as_ref();
    let gang = scheduling.and_then(|at| at.gang.as_ref()).filter(|at| at.0 == Some(Gang::Coscheduling));
    let suspend = scheduling.and_then(|at| at.suspend.as_ref()).filter(|at| at.value);
    vec![
        per_worker(case, "a Volcano Job"),
        keep(case, "a Volcano Job"),
        (
            gang.map(|at| at.span),
            "a Volcano Job is a gang of Volcano's own scheduler, not of coscheduling".to_owned(),
            "remove `gang`: all pods of a Volcano Job start or none",
        ),
        (
            scheduling.and_then(|at| key(at.kueue.as_ref())),
            "Kueue does not know Volcano Jobs".to_owned(),
            "remove `kueue` and give Volcano's `queue`, leave `--target` out, or render to `jobset`",
        ),
        (
            key(suspend),
            "a Volcano Job cannot start suspended".to_owned(),
            "remove `suspend`, leave `--target` out, or render to `jobset`",
        ),
        // It lists every worker once in one ConfigMap.
        too_many(case, |host, name| host + name, "Volcano"),
    ]
}

fn build<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    let spec = &plan.spec;
    let mut body = json!({
        "schedulerName": spec.scheduling.scheduler.as_deref().unwrap_or("volcano"),
        "minAvailable": pod_group::least(plan),
        // How often pods may be made anew; 0 would be taken for 3.
        "maxRetry": spec.launcher.retries + 1,
    });
    if let Some(queue) = &spec.scheduling.queue {
        body["queue"] = json!(queue);
    }
    if let Some(class) = &spec.placement.priority_class {
        body["priorityClassName"] = json!(class);
    }
    if let Some(ttl) = spec.lifecycle.ttl_after_finished {
        body["ttlSecondsAfterFinished"] = json!(ttl);
    }
    // It gives pods their host names; the Service they are found in is the job's own, and the NetworkPolicy too.
    // Lists of hosts in variables would be too long for large jobs: the last, as an older Volcano does not know it.
    body["plugins"] = json!({
        "svc": ["--publish-not-ready-addresses=true", "--disable-network-policy=true", "--inject-hosts-env=false"],
    });
    if plan.shape == Shape::StatefulSet {
        body["tasks"] = beside(plan, files).into();
    } else {
        let team = &plan.teams[0];
        let part = Part::Index(&spec.groups[team.group]);
        body["tasks"] = json!([workers(plan, team, part, files, true)]);
        // Only index 0 ever ends well.
        body["minSuccess"] = json!(1);
    }
    Object::custom(plan, "batch.volcano.sh/v1alpha1", "Job", body)
}

/// The launcher, then the workers.
fn beside(plan: &Plan, files: &[File]) -> Vec<Json> {
    let mut policies = launcher_policies();
    policies.insert(0, json!({"event": "TaskCompleted", "action": "CompleteJob"}));
    let launcher = json!({
        "name": "launcher",
        "replicas": 1,
        "minAvailable": 1,
        "maxRetry": plan.spec.launcher.retries + 1,
        "policies": policies,
        "template": kubernetes::json(&pod::template(plan, Part::Launcher, files)),
    });
    let workers =
        plan.teams.iter().map(|team| workers(plan, team, Part::Worker(&plan.spec.groups[team.group]), files, false));
    std::iter::once(launcher).chain(workers).collect()
}

fn workers(plan: &Plan, team: &Team, part: Part, files: &[File], launch: bool) -> Json {
    let lost = || vec![json!({"event": "PodFailed", "action": "RestartPod"})];
    // With what its webhook would add: it refuses a text that lacks it when that is applied again.
    json!({
        "name": plan::role(plan, &plan.spec.groups[team.group]),
        "replicas": team.replicas,
        "minAvailable": plan.spec.elastic.as_ref().map_or(team.replicas, |elastic| elastic.min_workers),
        "maxRetry": plan.spec.launcher.retries + 1,
        "policies": if launch { launcher_policies() } else { lost() },
        "template": kubernetes::json(&pod::template(plan, part, files)),
    })
}

/// Codes by which a launcher ends the job; after any other death another one starts.
fn launcher_policies() -> Vec<Json> {
    let last = FINAL_CODES.iter().map(|code| json!({"exitCode": code, "action": "TerminateJob"}));
    last.chain([json!({"event": "PodFailed", "action": "RestartPod"})]).collect()
}
