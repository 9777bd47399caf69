//! `Plan` → typed Kubernetes objects in the order they are installed, one file a kind.
//!
//! The workloads may be a target's own (`targets`): all that stands around them is the same.
//! Nothing is decided here that the plan knows; here stands how Kubernetes wants it said.

mod claim;
mod config_map;
pub mod job;
pub mod meta;
mod network_policy;
mod patch;
pub mod pod;
pub mod pod_group;
mod pod_monitor;
mod secret;
mod service;
mod service_account;
mod stateful_set;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value as Json;

use crate::job::valid::Patch;
use crate::plan::{Plan, Shape};
use crate::pods::File;
use meta::Metadata;

use patch::may_concern;
pub use patch::{merge, reached};

/// One Kubernetes object.
#[derive(Debug)]
pub struct Object<'a> {
    pub api_version: &'static str,
    pub kind: &'static str,
    /// The field of the spec it is made for: `spec.storage[0]`.
    pub origin: meta::Text<'a>,
    pub metadata: Metadata<'a>,
    body: Body<'a>,
}

/// What an object holds beside its kind and metadata.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Body<'a> {
    NetworkPolicy(network_policy::NetworkPolicy<'a>),
    ServiceAccount(service_account::ServiceAccount),
    Role(service_account::Role<'a>),
    RoleBinding(service_account::RoleBinding<'a>),
    Secret(secret::Secret<'a>),
    PersistentVolume(claim::PersistentVolume),
    PersistentVolumeClaim(claim::PersistentVolumeClaim<'a>),
    ConfigMap(config_map::ConfigMap<'a>),
    Service(service::Service<'a>),
    PodGroup(pod_group::PodGroup<'a>),
    StatefulSet(Box<stateful_set::StatefulSet<'a>>),
    Job(Box<job::Job<'a>>),
    PodMonitor(pod_monitor::PodMonitor<'a>),
    /// What an operator takes in the place of workloads.
    Custom(Custom),
    /// All of the object, kind and metadata too, with the user's patches in it.
    Patched(Json),
}

#[derive(Debug, Serialize)]
struct Custom {
    spec: Json,
}

impl<'a> Object<'a> {
    /// An operator's object that belongs to the run.
    pub fn custom(plan: &'a Plan, api_version: &'static str, kind: &'static str, spec: Json) -> Self {
        let mut metadata = Metadata::of_run(plan, plan.stem());
        if let Some(queue) = &plan.spec.scheduling.kueue {
            metadata.labels.set("kueue.x-k8s.io/queue-name", queue);
        }
        Self { api_version, kind, origin: "spec.workers".into(), metadata, body: Body::Custom(Custom { spec }) }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Whole<'o, 'a> {
            api_version: &'static str,
            kind: &'static str,
            metadata: &'o Metadata<'a>,
            #[serde(flatten)]
            body: &'o Body<'a>,
        }
        let Self { api_version, kind, metadata, body, .. } = self;
        match body {
            Body::Patched(json) => json.serialize(serializer),
            body => Whole { api_version, kind, metadata, body }.serialize(serializer),
        }
    }
}

/// All objects of a plan, in the order they are installed. `keys` are
/// the entries of the ssh Secret; without any there is none. `workloads` make the pods.
pub fn build<'a>(
    plan: &'a Plan,
    files: &'a [File],
    keys: &'a [(&'static str, String)],
    workloads: Vec<Object<'a>>,
) -> Vec<Object<'a>> {
    let mut objects = Vec::with_capacity(12);
    let account = service_account::wanted(plan);
    objects.extend(network_policy::build(plan));
    objects.extend(account.then(|| service_account::build(plan)));
    objects.extend(secret::build(plan, keys));
    objects.extend(claim::volumes(plan));
    objects.extend(claim::claims(plan));
    objects.push(config_map::current(plan));
    objects.extend(service::build(plan));
    objects.push(config_map::scripts(plan, files));
    objects.extend(config_map::code(plan));
    objects.extend(account.then(|| service_account::role(plan)));
    objects.extend(account.then(|| service_account::binding(plan)));
    objects.extend(pod_group::build(plan));
    objects.extend(workloads);
    objects.extend(pod_monitor::build(plan));
    for object in &mut objects {
        patch(plan, object);
    }
    objects
}

/// What makes the pods, of Kubernetes' own kinds.
pub fn workloads<'a>(plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
    if plan.shape == Shape::StatefulSet {
        let sets = plan.teams.iter().map(|team| stateful_set::build(plan, team, files));
        sets.chain([job::launcher(plan, files)]).collect()
    } else {
        vec![job::indexed(plan, files)]
    }
}

/// Merges into an object the user's patches that concern it or its pods.
fn patch(plan: &Plan, object: &mut Object) {
    let mut whole = None;
    for patch in plan.spec.patches.iter().filter(|patch| may_concern(patch, object)) {
        let whole = whole.get_or_insert_with(|| json(object));
        for part in reached(patch, object, whole) {
            merge(part, &patch.patch);
        }
    }
    if let Some(whole) = whole {
        object.body = Body::Patched(whole);
    }
}

/// Whether a patch is meant for an object or for pods in it.
pub fn concerns(patch: &Patch, object: &Object) -> bool {
    may_concern(patch, object) && !reached(patch, object, &mut json(object)).is_empty()
}

/// A part of an object as a tree.
pub fn json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).expect("keys of objects are strings")
}
