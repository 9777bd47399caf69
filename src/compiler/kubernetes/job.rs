//! The Job of the launcher, and the Indexed Job with all pods of a run. Other targets also use the specs of these Jobs.

use serde::Serialize;

use super::meta::{Entry, Metadata, launcher_name};
use super::pod::{self, PodKind, PodTemplate};
use super::{Body, File, Object};
use crate::plan::{Plan, Shape, Team};

/// The exit codes with which a launcher ends the job after it has released the GPUs: failed (42), superseded by a newer run
/// (43), past the deadline (44).
pub const FINAL_CODES: [u8; 3] = [42, 43, 44];
/// The launcher enforces the deadline itself. `activeDeadlineSeconds` is this many seconds later.
pub const DEADLINE_GRACE: u64 = 300;
/// The backoff limit of pods that Kubernetes must always replace, because the launcher itself counts the attempts. It
/// is the largest value that Kubernetes accepts.
const NO_LIMIT: u64 = i32::MAX as u64;

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
    /// If this field is set, the delay before a pod is replaced depends only on the failures of the same index.
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff_limit_per_index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_policy: Option<SuccessPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_failure_policy: Option<FailurePolicy>,
    template: PodTemplate<'a>,
}

/// A success policy is a map with the one field `rules`.
type SuccessPolicy = Entry<[Entry<&'static str>; 1]>;
type FailurePolicy = Entry<[FailureRule; 2]>;

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

/// Fails the Job on the [final exit codes](FINAL_CODES), and does not count drains and preemptions as failures.
fn failure_policy(container: &'static str) -> FailurePolicy {
    let codes = ExitCodes { container_name: container, operator: "In", values: FINAL_CODES };
    let drained = Condition { r#type: "DisruptionTarget", status: "True" };
    let fail = FailureRule { action: "FailJob", on_exit_codes: Some(codes), on_pod_conditions: None };
    let ignore = FailureRule { action: "Ignore", on_exit_codes: None, on_pod_conditions: Some([drained]) };
    Entry("rules", [fail, ignore])
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
        // When a launcher with permissions starts, it raises this limit. To end the Job, the launcher lowers the limit.
        // If the limit were set here, each new `kubectl apply` would reset it. The default of Kubernetes is 6.
        backoff_limit: plan.own_job().is_none().then_some(plan.spec.lifecycle.retries.into()),
        backoff_limit_per_index: None,
        success_policy: None,
        // A Job with a failure policy replaces a pod only after the pod has ended, so a launcher on a dead node would never be
        // replaced. A launcher that may patch its Job needs no such policy: it ends the Job by lowering `backoffLimit`.
        pod_failure_policy: plan.own_job().is_none().then(|| failure_policy("launcher")),
        template: pod::template(plan, PodKind::Launcher, files),
    }
}

/// The Job of the launcher.
pub fn launcher<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    Object::new(
        "spec.launcher",
        Metadata::of_run(plan, launcher_name(plan)).component("launcher"),
        Body::Job { spec: Box::new(launcher_spec(plan, files)) },
    )
}

/// The spec of the Indexed Job with all pods. The Job succeeds when the pod with index 0 succeeds. Kubernetes then stops the other
/// pods.
pub fn indexed_spec<'a>(plan: &'a Plan, files: &[File]) -> Spec<'a> {
    let (spec, team) = (&plan.spec, &plan.teams[0]);
    debug_assert!(plan.shape != Shape::StatefulSet);
    let has_access = plan.own_job().is_some();
    let pods = indexed_pods(plan, team, pod::template(plan, PodKind::Index(&spec.groups[team.group]), files));
    Spec {
        suspend: spec.scheduling.suspend.then_some(true),
        active_deadline_seconds: spec.lifecycle.deadline.map(|deadline| deadline + DEADLINE_GRACE),
        ttl_seconds_after_finished: spec.lifecycle.ttl_after_finished,
        success_policy: Some(Entry("rules", [Entry("succeededIndexes", "0")])),
        // `launcher_spec` explains why the policy depends on the access.
        pod_failure_policy: (!has_access).then(|| failure_policy("worker")),
        backoff_limit: pods.backoff_limit.filter(|_| !has_access),
        backoff_limit_per_index: has_access.then_some(NO_LIMIT),
        ..pods
    }
}

/// The spec of a Job with the workers of one group. The workers do not end by themselves; they end when the launcher
/// ends.
pub fn workers_spec<'a>(plan: &'a Plan, team: &Team, files: &[File]) -> Spec<'a> {
    let workers = indexed_pods(plan, team, pod::template(plan, PodKind::Worker(&plan.spec.groups[team.group]), files));
    // The launcher counts the attempts, so Kubernetes replaces workers without a limit.
    Spec { backoff_limit: Some(NO_LIMIT), ..workers }
}

/// The common part of Indexed Jobs, with one pod per worker of a group.
fn indexed_pods<'a>(plan: &Plan, team: &Team, template: PodTemplate<'a>) -> Spec<'a> {
    let attempts = u64::from(plan.spec.lifecycle.retries) + 1;
    Spec {
        suspend: None,
        completion_mode: Some("Indexed"),
        completions: Some(team.replicas),
        parallelism: Some(team.replicas),
        active_deadline_seconds: None,
        ttl_seconds_after_finished: None,
        // The limit counts failed pods, not failed attempts, and in one failed attempt every pod may fail.
        backoff_limit: Some((attempts * u64::from(team.replicas)).min(NO_LIMIT)),
        backoff_limit_per_index: None,
        success_policy: None,
        pod_failure_policy: None,
        template,
    }
}

/// The Indexed Job.
pub fn indexed<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    let team = &plan.teams[0];
    let mut metadata = Metadata::of_run(plan, &team.workload).component("worker");
    // A job with a queue is rendered without `suspend`, because Kueue's webhook suspends each new Job itself. If the
    // rendered Job had this field, each new `kubectl apply` would suspend a run that is training. Only
    // `scheduling.suspend` sets the field.
    metadata.queue(plan);
    if plan.spec.admits_part() {
        metadata = metadata
            .annotate("kueue.x-k8s.io/job-min-parallelism", plan.min_members().to_string())
            // If Kueue admits fewer pods, it lowers only `parallelism`. Without this annotation, Kubernetes would then
            // start the other indexes as soon as the first pods succeed.
            .annotate("kueue.x-k8s.io/job-completions-equal-parallelism", "true");
    } else if plan.spec.is_elastic_in_kueue() {
        metadata = metadata.annotate("kueue.x-k8s.io/elastic-job", "true");
    }
    Object::new(team.origin(plan), metadata, Body::Job { spec: Box::new(indexed_spec(plan, files)) })
}
