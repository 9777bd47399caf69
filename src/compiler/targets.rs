//! `Plan` → what a job becomes: plain Kubernetes objects, or what an operator or another scheduler takes in their
//! place. One file a target.
//!
//! Pods run the same scripts everywhere, so that the same is asserted; what differs is who makes the pods, names them
//! and ends them. What a target cannot say was refused by the rules of the spec (`spec/rules/target.rs`), so nothing
//! fails here.

mod job_set;
mod mpi_job;
mod slurm;
mod train_job;
mod volcano;

use crate::job::Target;
use crate::kubernetes::{self, Object};
use crate::plan::Plan;
use crate::pods::File;

/// What a job becomes.
pub enum Made<'a> {
    /// Kubernetes objects, in the order they are installed.
    Objects(Vec<Object<'a>>),
    /// One text that is no YAML: a script for a batch system.
    Text {
        /// What it is: `sbatch`.
        kind: &'static str,
        name: String,
        text: String,
    },
}

impl Made<'_> {
    /// The objects; none where it is a text.
    pub fn objects(&self) -> &[Object<'_>] {
        match self {
            Self::Objects(objects) => objects,
            Self::Text { .. } => &[],
        }
    }

    /// Kinds and names of all there is.
    pub fn names(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Objects(objects) => {
                objects.iter().map(|object| (object.kind, object.metadata.name.to_string())).collect()
            }
            Self::Text { kind, name, .. } => vec![(kind, name.clone())],
        }
    }
}

/// What a plan whose run has its name becomes. `keys` are the entries of the ssh Secret; without any there is none.
pub fn build<'a>(plan: &'a Plan, files: &'a [File], keys: &'a [(&'static str, String)]) -> Made<'a> {
    if plan.spec.target == Target::Slurm {
        return Made::Text { kind: "sbatch", name: plan.spec.name.clone(), text: slurm::script(plan) };
    }
    Made::Objects(kubernetes::build(plan, files, keys, workloads(plan, files)))
}

/// The name of a plan's run, which changes with whatever the target does not let anyone change in place.
pub fn run_name(plan: &Plan, files: &[File]) -> String {
    kubernetes::run_name(plan, files, workloads(plan, files))
}

/// What makes the pods.
fn workloads<'a>(plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
    match plan.spec.target {
        // For a batch job they only name the run.
        Target::Plain | Target::Slurm => kubernetes::workloads(plan, files),
        Target::MpiJob => vec![mpi_job::build(plan, files)],
        Target::JobSet => vec![job_set::build(plan, files)],
        Target::TrainJob => train_job::build(plan, files),
        Target::Volcano => vec![volcano::build(plan, files)],
    }
}
