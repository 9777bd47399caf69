//! Describes a [`Plan`](crate::plan::Plan) for people, before a job runs: what it runs ([`Report`]), and the effect of a
//! changed spec on a running job ([`Change`]).
//!
//! This is a side branch of the pipeline. No object is built from a report.

mod build;
mod change;
mod commands;
mod compare;
mod purpose;
mod rendered;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Serialize;

pub(crate) use change::between;
pub use change::{Change, Difference, Effect};
pub use commands::KINDS;
pub(crate) use commands::delete_job;
pub(crate) use rendered::{against_rendered, api_groups, explain_by_fields, job_objects, stored_specs};

/// The parts of a report that depend on the target. Each target returns them from its `describe`.
#[derive(Debug, Default)]
pub struct Description {
    /// The objects that the job becomes, as a phrase: `an MPIJob, run by the MPI Operator`.
    pub shape: &'static str,
    /// The controller that stops the workers and, for some targets, creates ssh keys or schedules all pods together:
    /// `the MPI Operator`.
    pub controller: &'static str,
    /// The kind and the field that suspend the job.
    pub suspended: (&'static str, &'static str),
    /// A limitation of the target, as a note for the report.
    pub caveat: Option<&'static str>,
    /// Set for a batch system. It replaces the parts of the report that are about pods.
    pub batch: Option<Batch>,
}

/// How a batch system describes a job.
#[derive(Debug)]
pub struct Batch {
    /// The program that starts the ranks, as a phrase, if it is not the one of `launcher.kind`.
    pub launcher: Option<String>,
    /// The command that starts the ranks.
    pub launch: Vec<String>,
    /// The hosts on which the ranks run, as a phrase.
    pub hosts: &'static str,
    /// How the nodes are released, as a sentence.
    pub release: &'static str,
    /// The file of the output, quoted for a shell.
    pub output: String,
    /// The notes, which replace those about pods.
    pub notes: Vec<String>,
    /// The maximum time for which the nodes are allocated, in seconds, if there is one.
    pub most_seconds: Option<u64>,
}

/// The description of one job.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The job's name.
    pub job: String,
    /// Its namespace, if the spec or the command line sets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the run. If a change gives it another name, the change starts a new run.
    pub run: String,
    /// The image the ranks run in.
    pub image: String,
    /// The objects that the job becomes, as a phrase.
    pub shape: &'static str,
    /// The program that starts the ranks, as a phrase.
    pub launcher: String,
    /// The command that starts the ranks, as a list of arguments. Empty if people start it in an interactive session.
    pub launch: Vec<String>,
    /// The groups of workers.
    pub workers: Vec<Workers>,
    /// The number of ranks (the world size).
    pub ranks: u32,
    /// The number of pods, including the spares and that of the launcher.
    pub pods: u32,
    /// The sum of the resource requests of all pods: `cpu`, `memory`, GPUs by their resource name, and others.
    pub requests: Vec<Amount>,
    /// The GPUs that the job uses.
    pub cost: Cost,
    /// The pod that starts the ranks.
    pub head: Head,
    /// The network connections of the job.
    pub links: Vec<Link>,
    /// Whether a NetworkPolicy blocks connections from other pods.
    pub guarded: bool,
    /// The placement of the pods on nodes, as a phrase.
    pub nodes: String,
    /// Whether the scheduler prefers a separate node for each worker.
    pub apart: bool,
    /// The domains of the network in which workers run together, the outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<Domain>,
    /// Whether the workers join a ComputeDomain, which connects their GPUs over NVLink.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nvlink: bool,
    /// Which pods a scheduler starts together or not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang: Option<Gang>,
    /// The minimum and maximum number of workers of an elastic job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic: Option<(u32, u32)>,
    /// The mounted volumes.
    pub storage: Vec<Storage>,
    /// The objects that the job becomes, in install order.
    pub objects: Vec<Object>,
    /// The strictest Pod Security Standard that the pods meet.
    pub pod_security: PodSecurity,
    /// When the GPUs are released, as a sentence.
    pub release: String,
    /// Other facts that matter for a review, one sentence each.
    pub notes: Vec<String>,
    /// Commands for the running job.
    pub commands: Commands,
    /// The defaults of fields that the spec does not set.
    pub defaults: Vec<Default>,
}

/// A group of identical workers.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Workers {
    /// The name of the group, if the spec has `workers.groups`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The path of the field that describes the group.
    pub origin: String,
    /// The name of the StatefulSet or Job of the group.
    pub workload: String,
    /// The number of workers that run ranks.
    pub replicas: u32,
    /// The number of further workers that run no ranks until another worker is lost.
    pub spares: u32,
    /// The number of ranks per worker.
    pub slots: u32,
    /// The first rank of the first worker. It is absent if ranks are not numbered host by host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rank: Option<u32>,
    /// The number of GPUs per worker.
    pub gpus: u32,
    /// The host names of the first and the last worker.
    pub hosts: (String, String),
    /// The resource requests per worker.
    pub requests: Vec<Amount>,
    /// The size of `/dev/shm`, which counts towards the memory of the worker.
    pub shm: String,
}

/// A domain of the network in which workers run together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Domain {
    /// The level as the spec names it: `rack`, or the label of a node.
    pub level: String,
    /// Whether the workers must run in one domain. Otherwise, the scheduler places them in one domain if it can.
    pub required: bool,
    /// The number of workers in each domain. It is absent if one domain contains all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
}

/// Pods that a scheduler starts together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Gang {
    /// The scheduler: `Volcano`.
    pub by: &'static str,
    /// The number of pods that must fit.
    pub pods: u32,
}

/// The GPUs that a job uses, and a bound on its GPU hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Cost {
    /// The number of GPUs with `workers.replicas` workers, and of the spares.
    pub gpus: u32,
    /// The number of GPUs with the minimum and the maximum number of workers. Both are `gpus` unless the job is elastic.
    pub bounds: (u32, u32),
    /// The maximum GPU hours until the deadline, rounded up. It is absent if the job has no deadline or no GPUs. GPUs of nodes that do
    /// not answer are not included: Kubernetes counts them as in use until the pod is deleted, while another pod has GPUs too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_hours: Option<u64>,
}

/// The pod that starts the ranks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Head {
    /// The host name of the pod.
    pub host: String,
    /// Whether it is a separate launcher pod. Otherwise it is the first worker.
    pub own_pod: bool,
    /// The number of ranks that the launcher pod runs, in addition to those of the workers.
    pub ranks: u32,
    /// The resource requests of the launcher pod. Empty if the first worker starts the ranks.
    pub requests: Vec<Amount>,
}

/// Commands for a running job, to paste into a shell.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Commands {
    /// Follows the output of the ranks.
    pub follow: String,
    /// Deletes the objects of all runs of the job, except PersistentVolumeClaims and PersistentVolumes.
    pub delete: String,
}

/// A kind of network connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Link {
    /// The client.
    pub from: Peer,
    /// The server.
    pub to: Peer,
    /// The protocol or purpose, and the port, as a phrase.
    pub over: String,
}

/// One end of a network connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Peer {
    /// The pod that starts the ranks.
    Head,
    /// The workers.
    Workers,
    /// The Kubernetes API server.
    Api,
    /// Any pod that is not part of the job.
    Others,
}

/// An amount of one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Amount {
    /// The name of the resource: `cpu`, `memory`, `nvidia.com/gpu`, …
    pub resource: String,
    /// The amount, as a Kubernetes quantity.
    pub quantity: String,
}

/// A mounted volume.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Storage {
    /// The name of the volume in the spec.
    pub name: String,
    /// The path at which it is mounted.
    pub mount_path: String,
    /// The kind of volume and its parameters, as a phrase.
    pub source: String,
    /// Whether the data remains after you delete the job.
    pub outlives_job: bool,
}

/// A Kubernetes object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "ObjectName"))]
#[non_exhaustive]
pub struct Object {
    /// The kind, such as `StatefulSet`.
    pub kind: String,
    /// The value of `metadata.name`.
    pub name: String,
    /// The API group; empty for the core group and for a script.
    #[serde(skip)]
    pub api_group: &'static str,
    /// The most important property, as a phrase: `4 workers, 8 GPUs and 8 ranks each`. Empty if there is no such property.
    pub fact: String,
    /// Why the job has the object, as one or two sentences. Code is in backquotes.
    pub purpose: String,
    /// The objects that a controller creates from this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub creates: Vec<Created>,
}

/// Equal objects that a controller creates from an object of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Created {
    /// The kind, such as `Pod`.
    pub kind: &'static str,
    /// The name of the first object, without the random suffix that some controllers add.
    pub name: String,
    /// The number of objects.
    pub count: u32,
    /// The most important property of each, as a phrase.
    pub fact: String,
}

/// The Pod Security Standard of the pods, and why they do not meet a stricter one.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PodSecurity {
    /// `restricted`, `baseline` or `privileged`.
    pub level: &'static str,
    /// The fields that prevent a stricter level. Empty for `restricted`, unless patches change the pods.
    pub reasons: Vec<String>,
}

/// The default of a field that the spec does not set.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "DefaultTaken"))]
#[non_exhaustive]
pub struct Default {
    /// The path of the field below `spec`.
    pub path: Cow<'static, str>,
    /// The default value.
    pub value: String,
}
