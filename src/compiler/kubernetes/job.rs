//! Job: the launcher, or all pods of a run by index.

use serde::Serialize;

use super::meta::{Metadata, launcher_name};
use super::pod::{self, Part, PodTemplate};
use super::{Body, File, Object};
use crate::plan::{Plan, Shape, Team};

/// Exit codes a launcher sends once the GPUs are given back: failed for good, superseded, past
/// the deadline.
pub const FINAL_CODES: [u8; 3] = [42, 43, 44];
/// The launcher minds the deadline itself; Kubernetes' own stands this much later.
pub const DEADLINE_GRACE: u64 = 300;
/// Launchers that die without giving the GPUs back are followed by another one; the launcher
/// counts them and ends long before.
const LAUNCHERS: u64 = 1000;

#[derive(Debug, Serialize)]
pub struct Job<'a> {
    pub spec: Spec<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_mode: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_policy: Option<SuccessPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_failure_policy: Option<FailurePolicy>,
    template: PodTemplate<'a>,
}

#[derive(Debug, Serialize)]
struct SuccessPolicy {
    rules: [SuccessRule; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SuccessRule {
    succeeded_indexes: &'static str,
}

#[derive(Debug, Serialize)]
struct FailurePolicy {
    rules: [FailureRule; 2],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureRule {
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_exit_codes: Option<ExitCodes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_pod_conditions: Option<[Condition; 1]>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExitCodes {
    container_name: &'static str,
    operator: &'static str,
    values: [u8; 3],
}

#[derive(Debug, Serialize)]
struct Condition {
    r#type: &'static str,
    status: &'static str,
}

/// Ends the Job by the codes that say so, and counts neither drains nor preemptions.
fn failure_policy(container: &'static str) -> FailurePolicy {
    let codes = ExitCodes { container_name: container, operator: "In", values: FINAL_CODES };
    let drained = Condition { r#type: "DisruptionTarget", status: "True" };
    FailurePolicy {
        rules: [
            FailureRule { action: "FailJob", on_exit_codes: Some(codes), on_pod_conditions: None },
            FailureRule { action: "Ignore", on_exit_codes: None, on_pod_conditions: Some([drained]) },
        ],
    }
}

/// The spec of the launcher's Job.
pub fn launcher_spec<'a>(plan: &'a Plan, files: &[File]) -> Spec<'a> {
    let lifecycle = &plan.spec.lifecycle;
    Spec {
        suspend: None,
        completion_mode: None,
        completions: None,
        parallelism: None,
        active_deadline_seconds: lifecycle.deadline.map(|deadline| deadline + DEADLINE_GRACE),
        ttl_seconds_after_finished: lifecycle.ttl_after_finished,
        backoff_limit: Some(if plan.scales() { LAUNCHERS } else { plan.spec.launcher.retries.into() }),
        success_policy: None,
        pod_failure_policy: Some(failure_policy("launcher")),
        template: pod::template(plan, Part::Launcher, files),
    }
}

pub fn launcher<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    Object {
        api_version: "batch/v1",
        kind: "Job",
        origin: "spec.launcher".into(),
        metadata: Metadata::of_run(plan, launcher_name(plan)).component("launcher"),
        body: Body::Job(Box::new(Job { spec: launcher_spec(plan, files) })),
    }
}

/// The spec of one Job of all pods; it succeeds when index 0 does, and then ends the others.
pub fn indexed_spec<'a>(plan: &'a Plan, files: &[File]) -> Spec<'a> {
    let (spec, team) = (&plan.spec, &plan.teams[0]);
    debug_assert!(plan.shape != Shape::StatefulSet);
    Spec {
        suspend: spec.scheduling.suspend.then_some(true),
        active_deadline_seconds: spec.lifecycle.deadline.map(|deadline| deadline + DEADLINE_GRACE),
        ttl_seconds_after_finished: spec.lifecycle.ttl_after_finished,
        success_policy: Some(SuccessPolicy { rules: [SuccessRule { succeeded_indexes: "0" }] }),
        pod_failure_policy: Some(failure_policy("worker")),
        ..many(plan, team, pod::template(plan, Part::Index(&spec.groups[team.group]), files))
    }
}

/// The spec of a Job of the workers of one group, whose end is the launcher's.
pub fn workers_spec<'a>(plan: &'a Plan, team: &Team, files: &[File]) -> Spec<'a> {
    let workers = many(plan, team, pod::template(plan, Part::Worker(&plan.spec.groups[team.group]), files));
    // How often one may be lost, the launcher decides.
    Spec { backoff_limit: Some(i32::MAX as u64), ..workers }
}

/// A Job of as many pods as a team has, by index.
fn many<'a>(plan: &Plan, team: &Team, template: PodTemplate<'a>) -> Spec<'a> {
    let attempts = u64::from(plan.spec.launcher.retries) + 1;
    Spec {
        suspend: None,
        completion_mode: Some("Indexed"),
        completions: Some(team.replicas),
        parallelism: Some(team.replicas),
        active_deadline_seconds: None,
        ttl_seconds_after_finished: None,
        // An attempt may cost every pod.
        backoff_limit: Some((attempts * u64::from(team.replicas)).min(i32::MAX as u64)),
        success_policy: None,
        pod_failure_policy: None,
        template,
    }
}

pub fn indexed<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    let team = &plan.teams[0];
    let mut metadata = Metadata::of_run(plan, &team.workload).component("worker");
    if let Some(queue) = &plan.spec.scheduling.kueue {
        // Kueue's webhook suspends what is new. Were `suspend` written here, applying the same
        // text again would suspend a run that trains.
        metadata.labels.set("kueue.x-k8s.io/queue-name", queue);
    }
    Object {
        api_version: "batch/v1",
        kind: "Job",
        origin: team.origin(plan),
        metadata,
        body: Body::Job(Box::new(Job { spec: indexed_spec(plan, files) })),
    }
}
