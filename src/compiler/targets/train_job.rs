//! TrainJob of Kubeflow's Trainer, and a TrainingRuntime of the run's own, which says all: a runtime of somebody else's
//! knows neither our scripts nor the launcher they run in.
//!
//! Trainer's own plugins for torch and MPI are not asked for, as our scripts do what they do. But what lists and follows
//! TrainJobs, as Kubeflow's SDK does, reads the pod that trains by marks, and gives up on all TrainJobs of a namespace
//! where one has none: so the pod that launches bears them.

use serde_json::{Value as Json, json};

use super::job_set;
use crate::job::valid::LauncherKind;
use crate::kubernetes::Object;
use crate::plan::Plan;
use crate::pods::File;

const VERSION: &str = "trainer.kubeflow.org/v1alpha1";

pub fn build<'a>(plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
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
