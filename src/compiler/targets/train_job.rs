//! TrainJob of Kubeflow's Trainer, and one TrainingRuntime per run. The TrainingRuntime contains the whole JobSet, because a
//! shared runtime has neither khorovod's scripts nor its launcher pod.
//!
//! khorovod's scripts do the work of Trainer's plugins for torch and MPI, so the runtime does not use these plugins.
//! Programs such as Kubeflow's SDK find the training pod of a TrainJob by a label and a container name. If one TrainJob
//! has no such pod, the SDK fails for all TrainJobs of the namespace. So [`mark_as_trainer`] sets the label and the
//! container name on the pod that launches.

use super::refusal::report;
use super::{Target, refusal};
use crate::job::target::{Exception, Facts, SLURM_SECTION};
use crate::job::{Case, field, key};
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
    // Kubeflow's programs find the training pods and their logs by this name.
    index_role: "node",
    api_group: "trainer.kubeflow.org",
    workload_kinds: &[("TrainingRuntime", &[]), ("TrainJob", &["suspend"])],
    exceptions: &[
        SLURM_SECTION,
        refusal::WORKER_CLAIMS,
        refusal::KEEP_WORKERS,
        refusal::SPARES,
        refusal::NATIVE_GANG,
        refusal::GROWTH,
        refusal::RANK_ORDER,
        refusal::LOST_TIMEOUT,
        Exception::refused("lifecycle.ttlAfterFinished", ""),
    ],
    ..job_set::COMMON
};

impl Target for TrainJob {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        let ttl = field!(case.lifecycle.ttl_after_finished);
        let refuse_ttl = (
            key(ttl),
            "a TrainJob remains until you delete it, so `lifecycle.ttlAfterFinished` cannot be set".to_owned(),
            "remove it, or render to `jobset`",
        );
        report([job_set::refusals(case, "a TrainJob"), vec![refuse_ttl]].concat(), problems);
    }

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: if plan.shape == Shape::StatefulSet {
                "a TrainJob with a launcher Job and worker Jobs, run by Kubeflow's Trainer"
            } else {
                "a TrainJob with one Indexed Job, run by Kubeflow's Trainer"
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

const VERSION: &str = "trainer.kubeflow.org/v1alpha1";

fn build<'a>(plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
    let mut body = job_set::body(plan, files);
    let nodes = mark_as_trainer(&mut body["replicatedJobs"][0]);
    let runtime = json!({"mlPolicy": {"numNodes": nodes}, "template": {"spec": body}});
    let mut job =
        json!({"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": plan.stem()}});
    if plan.spec.scheduling.suspend {
        job["suspend"] = json!(true);
    }
    let mut runtime = Object::custom(plan, VERSION, "TrainingRuntime", runtime);
    runtime.metadata.labels.remove("kueue.x-k8s.io/queue-name");
    runtime.metadata.labels.set("trainer.kubeflow.org/framework", framework(plan.spec.launcher.kind));
    // The runtime must exist before the job.
    vec![runtime, Object::custom(plan, VERSION, "TrainJob", job)]
}

/// Marks the Job that starts the ranks, so that Kubeflow's programs treat this Job as the one that trains. The
/// container of the Job gets the name `node`, as in Trainer's own runtimes. Returns the number of pods of the Job,
/// which Trainer reads from `mlPolicy`.
fn mark_as_trainer(job: &mut Json) -> Json {
    let template = &mut job["template"];
    template["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] = json!("trainer");
    let spec = &mut template["spec"];
    spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"] = json!("node");
    spec["template"]["spec"]["containers"][0]["name"] = json!("node");
    spec["completions"].clone()
}

/// The framework label, by which a list of runtimes can be filtered.
fn framework(kind: LauncherKind) -> &'static str {
    match kind {
        LauncherKind::Torchrun => "torch",
        LauncherKind::Jax => "jax",
        LauncherKind::Tensorflow => "tensorflow",
        LauncherKind::Deepspeed => "deepspeed",
        LauncherKind::Horovodrun => "horovod",
        LauncherKind::Mpirun | LauncherKind::Shell => "mpi",
    }
}
