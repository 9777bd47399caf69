//! Imports the fields of a JobSet and of its Jobs that are not in the pods.

use serde_json::json;

use super::Replicated;
use crate::context::{Context, text};
use crate::field::{self, set};
use crate::from::each_pod;
use crate::manifest::run_policy;
use khorovod_compiler::yaml::{Entry, Node};

/// The annotation with a node label: each Job runs alone in one domain of this label.
const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";

/// Imports the fields of the spec of a JobSet, except its Jobs. `main` is the name of the pods that train.
pub fn around(context: &mut Context<'_>, spec: Option<&Node>, main: &str) {
    for Entry { key, value, .. } in spec.map_or(&[][..], Node::entries) {
        match key.as_str() {
            "network" => context.needless(value, "khorovod creates the service with the names of its pods"),
            "coordinator" => context.needless(value, "the first worker is the coordinator"),
            "startupPolicy" => context.needless(value, "all workers start at once, and wait for each other"),
            "successPolicy" => success(context, value, main),
            "failurePolicy" => failure(context, value),
            key => run_policy::field(context, key, value),
        }
    }
}

fn success(context: &mut Context<'_>, node: &Node, main: &str) {
    let targets = node.get("targetReplicatedJobs").map_or(&[][..], Node::items);
    let others = targets.iter().filter_map(text).any(|name| name != main);
    match others {
        true => context.lose(node, "the run succeeds when its ranks succeed"),
        false => context.needless(node, "the run succeeds when its ranks succeed"),
    }
}

fn failure(context: &mut Context<'_>, node: &Node) {
    for Entry { key, value, .. } in node.entries() {
        match key.as_str() {
            "maxRestarts" => run_policy::retries(context, value),
            "restartStrategy" => context.needless(value, "khorovod starts the ranks again in the pods that are left"),
            "rules" => {
                let why = "khorovod has no rules by Job: spec.lifecycle.retries counts all failures, except lost and evicted \
                           workers; exit codes that end a run are in spec.lifecycle.finalExitCodes";
                context.lose(value, why);
            }
            _ => {}
        }
    }
}

/// The part of the new job that a replicated Job becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Workers of the new job, and their number.
    Workers(u32),
    /// The launcher.
    Leader,
    Other,
}

/// Imports the fields of a replicated Job and of its Job.
pub fn job(context: &mut Context<'_>, replicated: &Replicated<'_>, role: Role) {
    for Entry { key, value, .. } in replicated.node.entries() {
        match key.as_str() {
            "name" => context.needless(value, "khorovod names the pods itself"),
            "groupName" => context.needless(value, "it only sets labels of the pods"),
            "replicas" => number(context, value, role),
            "dependsOn" => context.needless(value, "the ranks start as soon as all workers are ready"),
            _ => {}
        }
    }
    let Some(template) = replicated.node.get("template") else { return };
    if let Some(node) = template.get("metadata") {
        for Entry { key, value, .. } in node.get("annotations").map_or(&[][..], Node::entries) {
            if key == EXCLUSIVE {
                context.lose(value, "set spec.placement.topology, which applies to all workers");
            }
        }
        for Entry { key, value, .. } in node.get("labels").map_or(&[][..], Node::entries) {
            if key.starts_with("trainer.kubeflow.org/") {
                context.needless(value, "it is for Trainer only");
            }
        }
        context.lose(
            node,
            "it is a label or an annotation of the Job only: write it in `metadata`, or for pods in spec.patches",
        );
    }
    for Entry { key, value, .. } in template.get("spec").map_or(&[][..], Node::entries) {
        match key.as_str() {
            "completions" if template.get("spec").is_some_and(|spec| spec.get("parallelism").is_some()) => {
                context.needless(value, "`parallelism` is the number of pods that run at once");
            }
            "parallelism" | "completions" => number(context, value, role),
            key if role == Role::Other && key != "template" => {
                context.lose(value, "these pods are not part of the new job");
            }
            "completionMode" => context.needless(value, "the Job of khorovod is indexed"),
            "backoffLimit" if context.spec.get(field::LIFECYCLE_RETRIES).is_some() => {
                context
                    .replaced(value, "a failed rank ends the attempt, and spec.lifecycle.retries limits the attempts");
            }
            "podFailurePolicy" => {
                let why = "lost, evicted and preempted workers never count as a retry; exit codes that end a run are in \
                           spec.lifecycle.finalExitCodes";
                context.lose(value, why);
            }
            "podReplacementPolicy" => context.needless(value, "khorovod sets this field itself"),
            "template" => {}
            key => run_policy::field(context, key, value),
        }
    }
}

fn number(context: &mut Context<'_>, node: &Node, role: Role) {
    let workers = match role {
        Role::Workers(workers) => workers,
        Role::Leader => return context.needless(node, "there is one launcher"),
        Role::Other => return context.lose(node, "these pods are not part of the new job"),
    };
    match text(node).is_some_and(|text| text == workers.to_string()) {
        true => context.kept(node, field::WORKERS_REPLICAS),
        false => context.changed(node, field::WORKERS_REPLICAS, &format!("{workers} workers: all pods that train")),
    }
}

/// Records the outcomes of pods that do not become workers. `leads` is true for the leader that starts the ranks.
pub fn record_other_pods(context: &mut Context<'_>, other: &Replicated<'_>, leads: bool, all: &[Replicated<'_>]) {
    if leads {
        each_pod::leader(context, &other.pods);
    }
    let why = match other.is_before(all) {
        _ if leads => {
            "only the launcher had it, and its pod has the fields of spec.launcher; set others with spec.patches"
        }
        true => {
            "it ran before the training: download data from S3 with `s3` in spec.storage, or run it as a Job of its own"
        }
        false => "it has another command than the workers: run it as a Job of its own, or test `$RANK` in spec.command",
    };
    if let Some(template) = other.pods.template {
        context.lose(template, why);
    }
}

/// Imports the annotation that gives each Job a domain of its own. Runs before the metadata is imported.
pub fn exclusive(job: &Node, context: &mut Context<'_>) {
    let annotations = job.get("metadata").and_then(|node| node.get("annotations"));
    for Entry { key, value, .. } in annotations.map_or(&[][..], Node::entries) {
        if key == EXCLUSIVE {
            context.changed(
                value,
                field::PLACEMENT_TOPOLOGY,
                "the workers, or slices of them, are in one domain, which other jobs may use, too",
            );
        } else if key == "alpha.jobset.sigs.k8s.io/node-selector" {
            context.needless(value, "khorovod does not need labels of nodes with the job's name");
        }
    }
}

/// Sets the topology for the annotation that [`exclusive`] imports. If there is one Job, all workers must run in one domain.
/// If there are several, the workers of each Job must run in one domain, which needs a queue. Without a queue, the topology
/// is only preferred.
pub fn slices(context: &mut Context<'_>, main: &Replicated<'_>, workers: u32) {
    let annotations = context.spec.get(field::METADATA_ANNOTATIONS).cloned().unwrap_or_default();
    for key in [EXCLUSIVE, "alpha.jobset.sigs.k8s.io/node-selector"] {
        context.spec.take_key(set::METADATA_ANNOTATIONS, key);
    }
    let Some(level) = annotations.get(EXCLUSIVE).and_then(serde_json::Value::as_str) else { return };
    let jobs = main.node.get("replicas").and_then(text).and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
    let is_queued = context.spec.get(field::SCHEDULING_LOCAL_QUEUE).is_some();
    let topology = match workers.checked_div(jobs) {
        _ if jobs <= 1 => json!({"required": level}),
        Some(size) if is_queued && size > 0 => json!({"slices": {"size": size, "required": level}}),
        _ => json!({"preferred": level}),
    };
    context.spec.put(set::PLACEMENT_TOPOLOGY, topology, EXCLUSIVE);
}
