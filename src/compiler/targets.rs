//! `Plan` → the objects of one target: plain Kubernetes objects, a custom resource of an operator, or a Slurm batch script.
//! The main type is the trait [`Target`].
//!
//! Each target is one file or folder in this module, which implements [`Target`], and one line in the list below. Its file
//! has everything that is specific to the target: the fields that it refuses, its names, its workloads, and its words in
//! reports.
//!
//! The pods of every target run the same scripts. Targets differ in the controller that creates, names and stops the pods.
//! A target refuses unsupported fields before the plan is made, so building the objects cannot fail.

mod job_set;
mod mpi_job;
mod plain;
pub mod refusal;
mod slurm;
mod train_job;
mod volcano;

use std::fmt::{self, Debug};
use std::panic::RefUnwindSafe;
use std::str::FromStr;

use crate::job::Case;
use crate::job::target::{Exception, Facts};
use crate::kubernetes::{self, Object};
use crate::plan::Plan;
use crate::pods::File;
use crate::problem::{Explained, Problem};
use crate::report::{self, Description};

pub use slurm::SCRIPT_MARK;

/// Declares the targets, and lists them in the order in which the help shows them.
macro_rules! targets {
    ($($(#[doc = $doc:literal])+ $name:ident = $target:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: &dyn Target = &$target;)+

        /// Every target.
        pub static ALL: &[&dyn Target] = &[$($name),+];
    };
}

targets! {
    /// Kubernetes' own objects.
    PLAIN = plain::Plain;
    /// A batch script for Slurm.
    SLURM = slurm::Slurm;
    /// An MPIJob of Kubeflow's MPI Operator.
    MPI_JOB = mpi_job::MpiJob;
    /// A TrainJob of Kubeflow's Trainer.
    TRAIN_JOB = train_job::TrainJob;
    /// A JobSet.
    JOB_SET = job_set::JobSet;
    /// A Job of Volcano.
    VOLCANO = volcano::Volcano;
}

/// A system that jobs are rendered for.
pub trait Target: Debug + RefUnwindSafe + Sync {
    /// The properties that earlier phases read.
    fn facts(&self) -> &'static Facts;

    /// Reports the fields that the spec sets and this target does not support.
    fn refuse(&self, case: &Case<'_>, problems: &mut Vec<Problem>);

    /// The parts of a report that depend on the target.
    fn describe(&self, plan: &Plan) -> Description;

    /// The objects that create the pods. [`Facts`] lists which of their fields cannot change in place.
    fn workloads<'a>(&self, plan: &'a Plan, files: &[File]) -> Vec<Object<'a>>;

    /// Builds all output of a job. `keys` are the entries of the ssh Secret; if there are none, the Secret is left out.
    fn build<'a>(&self, plan: &'a Plan, files: &'a [File], keys: &'a [(&'static str, String)]) -> TargetOutput<'a> {
        TargetOutput::Objects(kubernetes::build(plan, files, keys, self.workloads(plan, files)))
    }
}

impl dyn Target {
    /// The name that `--target` takes.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }
}

impl PartialEq for dyn Target {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl fmt::Display for dyn Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for &'static dyn Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Self, UnknownTarget> {
        ALL.iter().copied().find(|target| target.name() == name).ok_or(UnknownTarget)
    }
}

/// The error for a name that is not the name of a target. Its message lists the targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownTarget;

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = ALL.iter().map(|target| target.name()).collect();
        write!(f, "the targets are {}", names.join(", "))
    }
}

impl std::error::Error for UnknownTarget {}

/// The exceptions of each target for a field or for a map that contains it. `path` is a path as in [`Exception`], or begins with
/// `spec`.
pub fn exceptions(path: &str) -> Vec<(&'static str, &'static Exception)> {
    let path = path.strip_prefix("spec.").unwrap_or(path).replace("[]", "").replace("workers.groups.", "workers.");
    let applies = |field: &str| path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let of_target = |target: &&'static dyn Target| {
        let all = target.facts().exceptions.iter().filter(|exception| applies(exception.field));
        all.map(|exception| (target.name(), exception)).collect::<Vec<_>>()
    };
    ALL.iter().flat_map(of_target).collect()
}

/// The problem codes of the targets.
pub fn codes() -> impl Iterator<Item = &'static Explained> {
    refusal::CODES.iter().chain(slurm::CODES)
}

/// The output for one job.
#[non_exhaustive]
pub enum TargetOutput<'a> {
    /// Kubernetes objects, in install order.
    Objects(Vec<Object<'a>>),
    /// A script for a batch system.
    Script { name: String, text: String },
}

impl TargetOutput<'_> {
    /// The objects. Empty if the output is a script.
    pub fn objects(&self) -> &[Object<'_>] {
        match self {
            Self::Objects(objects) => objects,
            Self::Script { .. } => &[],
        }
    }

    /// The kind and the name of each part.
    pub fn names(&self) -> Vec<report::Object> {
        let name = |object: &Object<'_>| report::Object {
            kind: object.kind.to_owned(),
            name: object.metadata.name.to_string(),
            api_group: object.api_version.split_once('/').map_or("", |(group, _)| group),
            ..report::Object::default()
        };
        match self {
            Self::Objects(objects) => objects.iter().map(name).collect(),
            Self::Script { name, .. } => {
                vec![report::Object { kind: SCRIPT.to_owned(), name: name.clone(), ..report::Object::default() }]
            }
        }
    }
}

/// The kind of a batch script. It takes the place of the kind of a Kubernetes object.
pub const SCRIPT: &str = "sbatch";

/// Reads a document for a target, without overlays.
#[cfg(test)]
pub fn read(
    document: &crate::yaml::Node,
    target: &'static dyn Target,
    problems: &mut Vec<Problem>,
) -> Option<crate::job::Spec> {
    let refuse = |case: &Case<'_>, problems: &mut Vec<Problem>| target.refuse(case, problems);
    let kube_version = crate::job::KubeVersion::default();
    crate::job::read(
        document,
        &"",
        &crate::job::Purpose { kube_version, target: target.facts(), refuse: &refuse },
        problems,
    )
}
