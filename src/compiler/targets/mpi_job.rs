//! MPIJob of Kubeflow's MPI Operator, v2beta1: it names the pods, makes the ssh keys, and ends the workers with the
//! launcher. Our scripts run in the pods and take its keys from where it mounts them.

use serde_json::{Value as Json, json};

use crate::job::valid::{Gang, Mpi};
use crate::kubernetes::job::DEADLINE_GRACE;
use crate::kubernetes::pod::{self, Part};
use crate::kubernetes::{self, Object, pod_group};
use crate::plan::Plan;
use crate::pods::File;

pub fn build<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    let (spec, team) = (&plan.spec, &plan.teams[0]);
    let template = |part| kubernetes::json(&pod::template(plan, part, files));
    let body = json!({
        "slotsPerWorker": team.slots,
        "runLauncherAsWorker": spec.launcher.runs_ranks,
        "mpiImplementation": match spec.launcher.mpi {
            Mpi::OpenMpi => "OpenMPI",
            Mpi::IntelMpi => "Intel",
            Mpi::Mpich => "MPICH",
        },
        // Where our scripts look for keys.
        "sshAuthMountPath": "/etc/khorovod/keys",
        "runPolicy": run_policy(plan),
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": template(Part::Launcher)},
            "Worker": {
                "replicas": team.replicas,
                "restartPolicy": "OnFailure",
                "template": template(Part::Worker(&spec.groups[team.group])),
            },
        },
    });
    Object::custom(plan, "kubeflow.org/v2beta1", "MPIJob", body)
}

fn run_policy(plan: &Plan) -> Json {
    let spec = &plan.spec;
    let mut policy = json!({
        "cleanPodPolicy": if spec.lifecycle.keep { "None" } else { "Running" },
        // The launcher itself tries again, and the operator knows no exit code that is final.
        "backoffLimit": 0,
    });
    if let Some(deadline) = spec.lifecycle.deadline {
        policy["activeDeadlineSeconds"] = json!(deadline + DEADLINE_GRACE);
    }
    if let Some(ttl) = spec.lifecycle.ttl_after_finished {
        policy["ttlSecondsAfterFinished"] = json!(ttl);
    }
    if spec.scheduling.suspend {
        policy["suspend"] = json!(true);
    }
    // An operator without gang scheduling ignores it: the PodGroup beside is for that one.
    if let Some(gang) = spec.scheduling.gang {
        policy["schedulingPolicy"] = json!({"minAvailable": pod_group::least(plan)});
        let volcano = (gang == Gang::Volcano).then_some(&spec.scheduling.queue);
        if let Some(queue) = volcano.and_then(Option::as_ref) {
            policy["schedulingPolicy"]["queue"] = json!(queue);
        }
        if let Some(class) = &spec.placement.priority_class {
            policy["schedulingPolicy"]["priorityClass"] = json!(class);
        }
    }
    policy
}
