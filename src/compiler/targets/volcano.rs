//! Volcano's Job: one task for the launcher and one task per group of workers, or one task with indexed pods. Volcano's
//! scheduler starts all pods together, and the policies of the Job stop the pods when the launcher ends.

use super::refusal::{
    refuse_keep_workers, refuse_native_gang, refuse_spares, refuse_too_many_workers, refuse_worker_claims, report,
};
use super::{Target, refusal};
use crate::job::target::{Exception, Facts, SLURM_SECTION};
use crate::job::valid::Gang;
use crate::job::{Case, key};
use crate::problem::Problem;
use crate::report::Description;
use serde_json::{Value as Json, json};

use crate::kubernetes::job::FINAL_CODES;
use crate::kubernetes::pod::{self, PodKind};
use crate::kubernetes::{self, Object, pod_group};
use crate::plan::{self, Plan, Shape, Team};
use crate::pods::File;

#[derive(Debug)]
pub struct Volcano;

static FACTS: Facts = Facts {
    name: "volcano",
    is_gang: true,
    templates_set_subdomain: true,
    first_success_ends_job: true,
    pod_index: Some("metadata.annotations['volcano.sh/task-index']"),
    launcher_suffix: "-0",
    immutable_fields: &["lifecycle.retries", "lifecycle.ttlAfterFinished", "scheduling.volcanoQueue"],
    api_group: "batch.volcano.sh",
    workload_kinds: &[("Job", &[])],
    longest_suffix: |parts| (parts.worker + 1 + parts.digits).max(parts.launcher + "-0".len()),
    exceptions: &[
        SLURM_SECTION,
        refusal::WORKER_CLAIMS,
        refusal::KEEP_WORKERS,
        refusal::SPARES,
        refusal::RANK_ORDER,
        refusal::LOST_TIMEOUT,
        Exception::refused("scheduling.gang", "if `native` or `coscheduling`"),
        Exception::refused("scheduling.localQueue", ""),
        Exception::refused("scheduling.suspend", "if true"),
    ],
    ..Facts::COMMON
};

impl Target for Volcano {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        let scheduling = case.body.scheduling.as_ref();
        let gang = scheduling.and_then(|at| at.gang.as_ref()).filter(|at| at.0 == Some(Gang::Coscheduling));
        let suspend = scheduling.and_then(|at| at.suspend.as_ref()).filter(|at| at.value);
        report(
            vec![
                refuse_worker_claims(case, "a Volcano Job"),
                refuse_keep_workers(case, "a Volcano Job"),
                refuse_spares(case, "a Volcano Job"),
                refuse_native_gang(case, "a Volcano Job"),
                (
                    gang.map(|at| at.span),
                    "a Volcano Job is scheduled by Volcano, so `scheduling.gang` cannot be `coscheduling`".to_owned(),
                    "remove `gang`: Volcano starts all pods of its Jobs together",
                ),
                (
                    scheduling.and_then(|at| key(at.local_queue.as_ref())),
                    "Kueue does not support Volcano Jobs".to_owned(),
                    "replace `localQueue` by `volcanoQueue`, leave `--target` out, or render to `jobset`",
                ),
                (
                    key(suspend),
                    "a Volcano Job cannot start suspended".to_owned(),
                    "remove `suspend`, leave `--target` out, or render to `jobset`",
                ),
                // Volcano lists every worker once in one ConfigMap.
                refuse_too_many_workers(case, |host, name| host + name, "Volcano"),
            ],
            problems,
        );
    }

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: if plan.shape == Shape::StatefulSet {
                "a Volcano Job with a launcher task and worker tasks"
            } else {
                "a Volcano Job with one task of indexed pods"
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

fn build<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    let spec = &plan.spec;
    let mut body = json!({
        "schedulerName": spec.scheduling.scheduler_name.as_deref().unwrap_or("volcano"),
        "minAvailable": plan.min_members(),
        // How often pods may be recreated. It is never 0, because Volcano replaces 0 by 3.
        "maxRetry": spec.lifecycle.retries + 1,
    });
    if let Some(queue) = &spec.scheduling.volcano_queue {
        body["queue"] = json!(queue);
    }
    if let Some(class) = &spec.placement.priority_class {
        body["priorityClassName"] = json!(class);
    }
    if let Some(ttl) = spec.lifecycle.ttl_after_finished {
        body["ttlSecondsAfterFinished"] = json!(ttl);
    }
    if let Some(topology) = spec.placement.topology.as_ref().and_then(pod_group::network_topology) {
        body["networkTopology"] = topology;
    }
    // The svc plugin sets the host names of pods. The Service and the NetworkPolicy of the job are rendered separately. The
    // variables with lists of hosts are disabled because they are too long for large jobs. The option that disables them is last
    // because older Volcano releases do not support it.
    body["plugins"] = json!({
        "svc": ["--publish-not-ready-addresses=true", "--disable-network-policy=true", "--inject-hosts-env=false"],
    });
    if plan.shape == Shape::StatefulSet {
        body["tasks"] = launcher_and_workers(plan, files).into();
    } else {
        let team = &plan.teams[0];
        let kind = PodKind::Index(&spec.groups[team.group]);
        body["tasks"] = json!([workers(plan, team, kind, files, true)]);
        // Only the pod with index 0 exits with 0.
        body["minSuccess"] = json!(1);
    }
    Object::custom(plan, "batch.volcano.sh/v1alpha1", "Job", body)
}

/// The task of the launcher, then the tasks of workers.
fn launcher_and_workers(plan: &Plan, files: &[File]) -> Vec<Json> {
    let mut policies = launcher_policies();
    policies.insert(0, json!({"event": "TaskCompleted", "action": "CompleteJob"}));
    let launcher = json!({
        "name": "launcher",
        "replicas": 1,
        "minAvailable": 1,
        "maxRetry": plan.spec.lifecycle.retries + 1,
        "policies": policies,
        "template": kubernetes::json(&pod::template(plan, PodKind::Launcher, files)),
    });
    let workers =
        plan.teams.iter().map(|team| workers(plan, team, PodKind::Worker(&plan.spec.groups[team.group]), files, false));
    std::iter::once(launcher).chain(workers).collect()
}

/// The task of one group of workers. `has_launcher` is true if the pod with index 0 launches.
fn workers(plan: &Plan, team: &Team, kind: PodKind, files: &[File], has_launcher: bool) -> Json {
    let restart_failed = || vec![json!({"event": "PodFailed", "action": "RestartPod"})];
    // This includes the defaults that Volcano's webhook adds, because the webhook rejects a second apply without them.
    let mut task = json!({
        "name": plan::role(plan, &plan.spec.groups[team.group]),
        "replicas": team.replicas,
        "minAvailable": plan.spec.elastic.as_ref().map_or(team.replicas, |elastic| elastic.min_replicas),
        "maxRetry": plan.spec.lifecycle.retries + 1,
        "policies": if has_launcher { launcher_policies() } else { restart_failed() },
        "template": kubernetes::json(&pod::template(plan, kind, files)),
    });
    if let Some(slices) = plan.spec.placement.topology.as_ref().and_then(|topology| topology.slices.as_ref()) {
        task["partitionPolicy"] = json!({
            "totalPartitions": team.replicas / slices.size,
            "partitionSize": slices.size,
            // The API server adds this default.
            "minPartitions": 0,
            "networkTopology": pod_group::hard_topology(&slices.required),
        });
    }
    task
}

/// Ends the job if the launcher exits with a final code. After any other failure, Volcano restarts the pod.
fn launcher_policies() -> Vec<Json> {
    let final_codes = FINAL_CODES.iter().map(|code| json!({"exitCode": code, "action": "TerminateJob"}));
    final_codes.chain([json!({"event": "PodFailed", "action": "RestartPod"})]).collect()
}
