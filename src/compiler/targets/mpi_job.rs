//! MPIJob (v2beta1) of Kubeflow's MPI Operator. The operator names the pods, creates the ssh keys, and stops the workers when the
//! launcher ends. The pods run khorovod's scripts, which read the keys from the path at which the operator mounts them.

use super::refusal::{refuse_native_gang, refuse_spares, refuse_too_many_workers, refuse_worker_claims, report};
use super::{Target, refusal};
use crate::job::target::{Exception, Facts, JOB_POD, SLURM_SECTION, SshKeys};
use crate::job::valid::LauncherPod;
use crate::job::{Case, field, key};
use crate::problem::Problem;
use crate::report::Description;
use serde_json::{Value as Json, json};

use crate::job::valid::{Gang, Mpi};
use crate::kubernetes::job::DEADLINE_GRACE;
use crate::kubernetes::pod::{self, PodKind};
use crate::kubernetes::{self, Object};
use crate::plan::Plan;
use crate::pods::File;

#[derive(Debug)]
pub struct MpiJob;

static FACTS: Facts = Facts {
    name: "mpijob",
    has_job_shape: false,
    brings_service: true,
    ssh_keys: SshKeys::Operator,
    templates_set_restart_policy: false,
    // If the MPI Operator creates PodGroups itself, it does not start a job whose PodGroup already exists. So the
    // rendered PodGroup has another name.
    pod_group_suffix: "-gang",
    api_group: "kubeflow.org",
    workload_kinds: &[("MPIJob", &["runPolicy"])],
    // The suffix that a Job appends to the name of the launcher is longer than any worker index.
    longest_suffix: |parts| parts.launcher + JOB_POD,
    exceptions: &[
        SLURM_SECTION,
        refusal::WORKER_CLAIMS,
        refusal::SPARES,
        refusal::NATIVE_GANG,
        refusal::RANK_ORDER,
        refusal::LOST_TIMEOUT,
        Exception::refused("launcher.kind", "if `torchrun`, `jax` or `tensorflow`"),
        Exception::refused("launcher.runsIn", "if `firstWorker`"),
        Exception::refused("workers.groups", ""),
        Exception::refused("ssh.secretName", ""),
    ],
    ..Facts::COMMON
};

impl Target for MpiJob {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>) {
        let (body, spec) = (case.body, case.spec);
        let launcher = field!(case.launcher.kind);
        let workers = body.workers.as_ref();
        let runs_in = field!(case.launcher.runs_in).filter(|at| at.0 == LauncherPod::FirstWorker);
        let has_agents = spec.launcher.kind.has_agents();
        let secret = field!(case.ssh.secret_name);
        report(
            vec![
                (
                    launcher.filter(|_| has_agents).map(|at| at.span),
                    format!(
                        "an MPIJob starts ranks with MPI, so `launcher.kind` cannot be `{}`",
                        spec.launcher.kind.name()
                    ),
                    OTHER_TARGETS,
                ),
                (
                    workers.and_then(|at| key(at.groups.as_ref())),
                    "an MPIJob has one group of identical workers, so `workers.groups` cannot be set".to_owned(),
                    "set `workers.replicas` and the fields of one group, leave `--target` out, or render to `jobset`, `trainjob` or `volcano`",
                ),
                (
                    runs_in.filter(|_| !has_agents).map(|at| at.span),
                    "an MPIJob always has a separate launcher pod, so `launcher.runsIn` cannot be `firstWorker`"
                        .to_owned(),
                    "remove `runsIn`",
                ),
                (
                    key(secret),
                    "the MPI Operator creates the ssh keys itself, so `ssh.secretName` has no effect".to_owned(),
                    "remove `secretName`",
                ),
                refuse_worker_claims(case, "an MPIJob"),
                refuse_spares(case, "an MPIJob"),
                refuse_native_gang(case, "an MPIJob"),
                // The operator lists every worker twice in one ConfigMap, by its full name.
                refuse_too_many_workers(case, |host, name| 2 * (host + name + 40), "the MPI Operator"),
            ],
            problems,
        );
    }

    fn describe(&self, _: &Plan) -> Description {
        Description {
            shape: "an MPIJob, run by the MPI Operator",
            controller: "the MPI Operator",
            suspended: ("MPIJob", "spec.runPolicy.suspend"),
            caveat: Some("if the launcher is killed, the job fails: the operator does not restart it"),
            ..Description::default()
        }
    }

    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
        vec![build(plan, files)]
    }
}

const OTHER_TARGETS: &str = "leave `--target` out, or render to `jobset`, `trainjob` or `volcano`";

fn build<'a>(plan: &'a Plan, files: &[File]) -> Object<'a> {
    let (spec, team) = (&plan.spec, &plan.teams[0]);
    let template = |kind| kubernetes::json(&pod::template(plan, kind, files));
    let body = json!({
        "slotsPerWorker": team.slots,
        "runLauncherAsWorker": spec.launcher.runs_ranks,
        "mpiImplementation": match spec.launcher.mpi {
            Mpi::OpenMpi => "OpenMPI",
            Mpi::IntelMpi => "Intel",
            Mpi::Mpich => "MPICH",
        },
        // The path from which the scripts read the keys.
        "sshAuthMountPath": "/etc/khorovod/keys",
        "runPolicy": run_policy(plan),
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": template(PodKind::Launcher)},
            "Worker": {
                "replicas": team.replicas,
                "restartPolicy": "OnFailure",
                "template": template(PodKind::Worker(&spec.groups[team.group])),
            },
        },
    });
    Object::custom(plan, "kubeflow.org/v2beta1", "MPIJob", body)
}

fn run_policy(plan: &Plan) -> Json {
    let spec = &plan.spec;
    let mut policy = json!({
        "cleanPodPolicy": if spec.lifecycle.keep_workers { "None" } else { "Running" },
        // The launcher itself starts further attempts, inside its pod. The operator could not do this, because it does
        // not distinguish exit codes: after some of them, no further attempt must start.
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
    // An MPI Operator that runs without gang scheduling ignores this field, so a PodGroup is rendered, too.
    if let Some(gang) = spec.scheduling.gang {
        policy["schedulingPolicy"] = json!({"minAvailable": plan.min_members()});
        let volcano = (gang == Gang::Volcano).then_some(&spec.scheduling.volcano_queue);
        if let Some(queue) = volcano.and_then(Option::as_ref) {
            policy["schedulingPolicy"]["queue"] = json!(queue);
        }
        if let Some(class) = &spec.placement.priority_class {
            policy["schedulingPolicy"]["priorityClass"] = json!(class);
        }
    }
    policy
}
