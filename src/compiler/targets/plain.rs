//! Plain Kubernetes objects, which need no operator: StatefulSets of workers and a launcher Job, or one Indexed Job.

use super::Target;
use crate::job::Case;
use crate::job::target::{Facts, OWN_KINDS};
use crate::job::valid::LauncherKind;
use crate::kubernetes::{self, Object};
use crate::plan::{Plan, Shape};
use crate::pods::File;
use crate::problem::Problem;
use crate::report::Description;

#[derive(Debug)]
pub struct Plain;

static FACTS: Facts = Facts {
    name: "plain",
    own_workloads: true,
    uses_jobs: true,
    templates_set_subdomain: true,
    workload_kinds: OWN_KINDS,
    ..Facts::COMMON
};

impl Target for Plain {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn refuse(&self, _: &Case<'_>, _: &mut Vec<Problem>) {}

    fn describe(&self, plan: &Plan) -> Description {
        Description {
            shape: match plan.shape {
                Shape::StatefulSet if plan.teams.len() > 1 => {
                    "one StatefulSet per group, and a launcher Job (runsIn: ownPod)"
                }
                Shape::StatefulSet => "a StatefulSet of workers and a launcher Job (runsIn: ownPod)",
                Shape::IndexedJob => "one Indexed Job, started by its first pod (runsIn: firstWorker)",
                Shape::Agents => match plan.spec.launcher.kind {
                    LauncherKind::Jax => "one Indexed Job of JAX processes (runsIn: firstWorker)",
                    LauncherKind::Tensorflow => "one Indexed Job of TensorFlow processes (runsIn: firstWorker)",
                    _ => "one Indexed Job of torchrun agents (runsIn: firstWorker)",
                },
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
