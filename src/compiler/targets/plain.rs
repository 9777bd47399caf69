//! Plain Kubernetes objects, which need no operator: StatefulSets of workers and a launcher Job, or one Indexed Job.

use super::Target;
use crate::job::Case;
use crate::job::target::{Facts, JOB_POD, NameParts, OWN_KINDS, REVISION, RUN, SshKeys};
use crate::kubernetes::{self, Object};
use crate::plan::{Plan, Shape};
use crate::pods::File;
use crate::problem::Problem;
use crate::report::Description;

#[derive(Debug)]
pub struct Plain;

static FACTS: Facts = Facts {
    name: "plain",
    has_pods: true,
    own_workloads: true,
    uses_jobs: true,
    has_job_shape: true,
    is_gang: false,
    brings_service: false,
    ssh_keys: SshKeys::Ours,
    templates_set_subdomain: true,
    templates_set_restart_policy: true,
    first_success_ends_job: false,
    pod_index: None,
    index_role: "worker",
    group_suffix: "",
    launcher_suffix: "",
    pod_group_suffix: "",
    immutable_fields: &[],
    workload_kinds: OWN_KINDS,
    longest_suffix,
};

/// The length of the longest suffix of a pod name or label. The pods of a StatefulSet have its revision in a label, and the pods
/// of a Job have a suffix in their names.
pub fn longest_suffix(parts: &NameParts) -> usize {
    if parts.is_indexed_job { RUN + JOB_POD } else { parts.worker + REVISION }
}

impl Target for Plain {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, _: &Case<'_>, _: &mut Vec<Problem>) {}

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: match plan.shape {
                Shape::StatefulSet if plan.teams.len() > 1 => "one StatefulSet per group, and a launcher Job",
                Shape::StatefulSet => "a StatefulSet of workers and a launcher Job",
                Shape::IndexedJob => "one Indexed Job, in which the pod with index 0 launches",
                Shape::Torchrun => "one Indexed Job of torchrun agents, without ssh",
            },
            controller: "khorovod",
            suspended: ("Job", "spec.suspend"),
            ..Description::default()
        }
    }

    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
        kubernetes::workloads(plan, files)
    }
}
