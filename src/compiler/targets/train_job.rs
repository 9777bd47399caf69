//! TrainJob of Kubeflow's Trainer, and a TrainingRuntime of the run's own, which says all: a runtime of somebody else's
//! knows neither our scripts nor the launcher they run in.
//!
//! Trainer's own plugins for torch and MPI are not asked for, as our scripts do what they do. But what lists and follows
//! TrainJobs, as Kubeflow's SDK does, reads the pod that trains by marks, and gives up on all TrainJobs of a namespace
//! where one has none: so the pod that launches bears them.

use super::Target;
use super::refusal::{Refusal, grows, keep, per_worker, report};
use crate::job::target::{Facts, SshKeys};
use crate::job::{Case, key};
use crate::plan::Shape;
use crate::problem::Problem;
use crate::report::Description;
use serde_json::{Value as Json, json};

use super::job_set;
use crate::job::valid::LauncherKind;
use crate::kubernetes::Object;
use crate::plan::Plan;
use crate::pods::File;

#[derive(Debug)]
pub struct TrainJob;

static FACTS: Facts = Facts {
    name: "trainjob",
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
    // Kubeflow's own programs look for the pods that train, and their logs, under this name.
    index_role: "node",
    group_suffix: "-0",
    launcher_suffix: "-0-0",
    pod_group_suffix: "",
    // The Jobs are created from a template, which cannot change.
    immutable_fields: &["launcher.retries", "lifecycle.deadline"],
    workload_kinds: &[("TrainingRuntime", &[]), ("TrainJob", &["suspend"])],
    longest_suffix: job_set::longest_suffix,
};

impl Target for TrainJob {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        report(refusals(case), problems);
    }

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: if plan.shape == Shape::StatefulSet {
                "a TrainJob of a launcher and its workers, run by Kubeflow's Trainer"
            } else {
                "a TrainJob of pods by index, run by Kubeflow's Trainer"
            },
            controller: "the JobSet controller",
            suspended: ("TrainJob", "spec.suspend"),
            ..Description::default()
        }
    }

    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
        build(plan, files)
    }
}

fn refusals(case: &Case<'_>) -> Vec<Refusal> {
    let ttl = case.body.lifecycle.as_ref().and_then(|at| at.ttl_after_finished.as_ref());
    let stays = (
        key(ttl),
        "a TrainJob stays until somebody deletes it, so there is no `lifecycle.ttlAfterFinished`".to_owned(),
        "remove it, or render to `jobset`",
    );
    vec![per_worker(case, "a TrainJob"), keep(case, "a TrainJob"), grows(case, "a TrainJob"), stays]
}

const VERSION: &str = "trainer.kubeflow.org/v1alpha1";

fn build<'a>(plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
    let mut body = job_set::body(plan, files);
    let nodes = mark(&mut body["replicatedJobs"][0]);
    let runtime = json!({"mlPolicy": {"numNodes": nodes}, "template": {"spec": body}});
    let mut job =
        json!({"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": plan.stem()}});
    if plan.spec.scheduling.suspend {
        job["suspend"] = json!(true);
    }
    let mut runtime = Object::custom(plan, VERSION, "TrainingRuntime", runtime);
    runtime.metadata.labels.remove("kueue.x-k8s.io/queue-name");
    runtime.metadata.labels.set("trainer.kubeflow.org/framework", framework(plan.spec.launcher.kind));
    // The runtime must be there before the job.
    vec![runtime, Object::custom(plan, VERSION, "TrainJob", job)]
}

/// Marks the Job that launches as the one that trains, whose container Trainer calls `node`. Gives how many pods it has:
/// that number Trainer takes from `mlPolicy`.
fn mark(job: &mut Json) -> Json {
    let template = &mut job["template"];
    template["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] = json!("trainer");
    let spec = &mut template["spec"];
    spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"] = json!("node");
    spec["template"]["spec"]["containers"][0]["name"] = json!("node");
    spec["completions"].clone()
}

/// What people look for in a list of runtimes.
fn framework(kind: LauncherKind) -> &'static str {
    match kind {
        LauncherKind::Torchrun => "torch",
        LauncherKind::Deepspeed => "deepspeed",
        LauncherKind::Horovodrun => "horovod",
        LauncherKind::Mpirun | LauncherKind::Shell => "mpi",
    }
}
