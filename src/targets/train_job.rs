//! TrainJob of Kubeflow's Trainer, and a TrainingRuntime of the run's own, which says all: a runtime of somebody else's
//! knows neither our scripts nor the launcher they run in.

use serde_json::json;

use super::job_set;
use crate::objects::Object;
use crate::plan::Plan;
use crate::runtime::File;

const VERSION: &str = "trainer.kubeflow.org/v1alpha1";

pub fn build<'a>(plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
    let runtime = json!({"template": {"spec": job_set::body(plan, files)}});
    let mut job =
        json!({"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": plan.stem()}});
    if plan.spec.scheduling.suspend {
        job["suspend"] = json!(true);
    }
    let mut runtime = Object::custom(plan, VERSION, "TrainingRuntime", runtime);
    runtime.metadata.labels.remove("kueue.x-k8s.io/queue-name");
    // The runtime must be there before the job.
    vec![runtime, Object::custom(plan, VERSION, "TrainJob", job)]
}
