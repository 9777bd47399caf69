//! MPIJob of Kubeflow's MPI Operator, v2beta1: it names the pods, makes the ssh keys, and ends the workers with the
//! launcher. Our scripts run in the pods and take its keys from where it mounts them.

use super::Target;
use super::refusal::{Refusal, per_worker, report, too_many};
use crate::job::target::{Facts, JOB_POD, SshKeys};
use crate::job::valid::{Controller, LauncherKind};
use crate::job::{Case, key};
use crate::problem::Problem;
use crate::report::Description;
use serde_json::{Value as Json, json};

use crate::job::valid::{Gang, Mpi};
use crate::kubernetes::job::DEADLINE_GRACE;
use crate::kubernetes::pod::{self, Part};
use crate::kubernetes::{self, Object, pod_group};
use crate::plan::Plan;
use crate::pods::File;

#[derive(Debug)]
pub struct MpiJob;

static FACTS: Facts = Facts {
    name: "mpijob",
    has_pods: true,
    own_workloads: false,
    uses_jobs: false,
    has_job_shape: false,
    is_gang: false,
    brings_service: true,
    ssh_keys: SshKeys::Operator,
    templates_set_subdomain: false,
    templates_set_restart_policy: false,
    first_success_ends_job: false,
    pod_index: None,
    index_role: "worker",
    group_suffix: "",
    launcher_suffix: "",
    // An MPI Operator that creates groups itself would not start a job whose name is taken.
    pod_group_suffix: "-gang",
    // No worker number is as long as what a Job appends to the launcher's name.
    immutable_fields: &[],
    workload_kinds: &[("MPIJob", &["runPolicy"])],
    longest_suffix: |parts| parts.launcher + JOB_POD,
};

impl Target for MpiJob {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        report(refusals(case), problems);
    }

    fn describe(&self, _: &Plan) -> Description {
        Description {
            shape: "an MPIJob, run by the MPI Operator",
            controller: "the MPI Operator",
            suspended: ("MPIJob", "spec.runPolicy.suspend"),
            caveat: Some("a launcher that dies without a word ends the job: the operator starts no other"),
            ..Description::default()
        }
    }

    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
        vec![build(plan, files)]
    }
}

const ELSEWHERE: &str = "leave `--target` out, or render to `jobset`, `trainjob` or `volcano`";

fn refusals(case: &Case<'_>) -> Vec<Refusal> {
    let (body, spec) = (case.body, case.spec);
    let launcher = body.launcher.as_ref().and_then(|at| at.kind.as_ref());
    let workers = body.workers.as_ref();
    let controller = workers.and_then(|at| at.controller.as_ref()).filter(|at| at.0 == Controller::Job);
    let torchrun = spec.launcher.kind == LauncherKind::Torchrun;
    let secret = body.ssh.as_ref().and_then(|at| at.secret.as_ref());
    vec![
        (
            launcher.filter(|_| torchrun).map(|at| at.span),
            "an MPIJob starts ranks by MPI, not by torchrun".to_owned(),
            ELSEWHERE,
        ),
        (
            workers.and_then(|at| key(at.groups.as_ref())),
            "an MPIJob has workers of one kind, so no `workers.groups`".to_owned(),
            "give `replicas` and the fields of one group, leave `--target` out, or render to `jobset`, `trainjob` or `volcano`",
        ),
        (
            controller.filter(|_| !torchrun).map(|at| at.span),
            "an MPIJob always has a launcher beside its workers, so `workers.controller` cannot be `Job`".to_owned(),
            "remove `controller`",
        ),
        (
            key(secret),
            "the MPI Operator makes the ssh keys itself, so `ssh.secret` reaches nothing".to_owned(),
            "remove `secret`",
        ),
        per_worker(case, "an MPIJob"),
        // It lists every worker twice in one ConfigMap, by its full name.
        too_many(case, |host, name| 2 * (host + name + 40), "the MPI Operator"),
    ]
}

fn build<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
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
