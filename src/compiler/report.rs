//! `Plan` → what a person wants to know before a job runs, and what a change would do to it.
//!
//! A side branch of the flow: nothing is rendered from it.

mod change;
mod made;
mod rendered;
#[cfg(test)]
mod tests;
mod tree;

use serde::Serialize;

pub(crate) use change::between;
pub use change::{Change, Difference, Effect};
pub(crate) use rendered::{against_rendered, earlier};

/// How a target describes a job. Everything else in a report is the same for all targets.
#[derive(Debug, Default)]
pub struct Description {
    /// What the job becomes: `an MPIJob, run by the MPI Operator`.
    pub shape: &'static str,
    /// Who ends the workers and brings what the target has of its own: `the MPI Operator`.
    pub controller: &'static str,
    /// The kind and the field that hold a suspended job back.
    pub suspended: (&'static str, &'static str),
    /// What a reader should know before choosing this target.
    pub caveat: Option<&'static str>,
    /// Set for a batch system, in place of everything that is about pods.
    pub batch: Option<Batch>,
}

/// How a batch system describes a job.
#[derive(Debug)]
pub struct Batch {
    /// Where ranks run.
    pub hosts: &'static str,
    /// How the nodes are freed.
    pub release: &'static str,
    /// In place of the notes about pods.
    pub notes: Vec<&'static str>,
}

/// What one job would run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The job's name.
    pub job: String,
    /// Its namespace, where the spec or the command line names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The run's name: another name is another run.
    pub run: String,
    /// The image the ranks run in.
    pub image: String,
    /// What it becomes in the cluster, in words.
    pub shape: &'static str,
    /// What starts the ranks, in words.
    pub launcher: String,
    /// The command that starts them, word by word. Empty: people start it.
    pub launch: Vec<String>,
    /// The workers, group by group.
    pub workers: Vec<Workers>,
    /// All ranks.
    pub ranks: u32,
    /// All pods, the launcher's included.
    pub pods: u32,
    /// What all pods ask for together: GPUs by resource name, `cpu`, `memory` and the rest.
    pub requests: Vec<Amount>,
    /// What it holds while it runs.
    pub cost: Cost,
    /// The pod that launches.
    pub head: Head,
    /// Who talks to whom.
    pub links: Vec<Link>,
    /// Whether a NetworkPolicy keeps other pods out.
    pub guarded: bool,
    /// How its pods lie on the nodes, in words.
    pub nodes: String,
    /// Whether each worker gets a node of its own where there is room.
    pub apart: bool,
    /// Fewest and most workers of an elastic job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic: Option<(u32, u32)>,
    /// What is mounted, and what becomes of it.
    pub storage: Vec<Storage>,
    /// Every object, in install order.
    pub objects: Vec<Object>,
    /// The Pod Security level its pods meet.
    pub pod_security: PodSecurity,
    /// How the GPUs are given back.
    pub release: String,
    /// What else a reviewer should know.
    pub notes: Vec<String>,
    /// Every default taken: path and value.
    pub defaults: Vec<Default>,
}

/// Workers that are alike.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Workers {
    /// The group's name, where there are groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The field of the spec that describes them.
    pub origin: String,
    /// The StatefulSet or Job they belong to.
    pub workload: String,
    /// How many.
    pub replicas: u32,
    /// Ranks each runs.
    pub slots: u32,
    /// The first one's first rank, where ranks are numbered host by host; none where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rank: Option<u32>,
    /// GPUs each has.
    pub gpus: u32,
    /// The first and the last one's host name.
    pub hosts: (String, String),
    /// What each asks for.
    pub requests: Vec<Amount>,
    /// Size of `/dev/shm`, part of the memory.
    pub shm: String,
}

/// GPUs while a job runs, and over its whole life where that is bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// With as many workers as the spec says.
    pub gpus: u32,
    /// With the fewest and the most workers of an elastic job; else as above.
    pub bounds: (u32, u32),
    /// GPU hours at most, where there is a deadline; rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_hours: Option<u64>,
}

/// The pod that launches.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// Its host name.
    pub host: String,
    /// Whether it is a pod beside the workers; else it is the first of them.
    pub own_pod: bool,
    /// Ranks it runs itself, beside the workers'.
    pub ranks: u32,
}

/// Someone who talks to someone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Link {
    /// Who begins.
    pub from: Peer,
    /// To whom.
    pub to: Peer,
    /// How, in words.
    pub over: String,
}

/// A part of a job, or what it meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Peer {
    /// The pod that launches.
    Head,
    /// The workers.
    Workers,
    /// Kubernetes' API.
    Api,
    /// Any other pod.
    Others,
}

/// So much of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Amount {
    /// `cpu`, `memory`, `nvidia.com/gpu`, …
    pub resource: String,
    /// A Kubernetes quantity.
    pub quantity: String,
}

/// A mounted volume.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// Its name in the spec.
    pub name: String,
    /// Where the ranks see it.
    pub mount_path: String,
    /// What it is, in words.
    pub source: String,
    /// Whether the data stays when the job is deleted.
    pub outlives_job: bool,
}

/// A Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "ObjectName"))]
pub struct Object {
    /// `StatefulSet`, …
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
}

/// A Pod Security level, and what keeps the job from a stricter one.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PodSecurity {
    /// `restricted`, `baseline` or `privileged`.
    pub level: &'static str,
    /// Empty for `restricted`, unless patches reach the pods.
    pub reasons: Vec<String>,
}

/// A default taken.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "DefaultTaken"))]
pub struct Default {
    /// The field's path below `spec`.
    pub path: &'static str,
    /// What it is when left out.
    pub value: String,
}
