//! `Plan` → typed Kubernetes objects, in install order: see [`build`] and [`Object`]. There is one file per kind.
//!
//! A target may replace the workloads; the other objects are the same for all targets. All decisions about the job are in the plan.
//! This module only expresses them as Kubernetes objects.

mod claim;
mod config_map;
pub mod field_types;
pub mod job;
pub mod meta;
mod network_policy;
mod patch;
pub mod pod;
pub mod pod_group;
mod pod_monitor;
mod resource_claim;
mod secret;
mod service;
mod service_account;
mod stateful_set;
pub mod strategic;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value as Json;

use crate::job::valid::Patch;
use crate::plan::{Plan, Shape};
use crate::pods::File;
use meta::Metadata;

use patch::apply;
pub use patch::{apply_with, may_select, patched_parts, runs_scripts};

/// One Kubernetes object.
#[derive(Debug)]
pub struct Object<'a> {
    pub api_version: &'static str,
    pub kind: &'static str,
    /// The field of the spec that the object comes from: `spec.storage[0]`.
    pub origin: meta::Text<'a>,
    pub metadata: Metadata<'a>,
    body: Body<'a>,
}

/// The fields of an object except kind and metadata.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Body<'a> {
    NetworkPolicy {
        spec: network_policy::Spec<'a>,
    },
    ServiceAccount(service_account::ServiceAccount),
    Role(service_account::Role<'a>),
    RoleBinding(service_account::RoleBinding<'a>),
    ClusterRole(service_account::Role<'a>),
    ClusterRoleBinding(service_account::RoleBinding<'a>),
    ResourceClaimTemplate {
        spec: Json,
    },
    ComputeDomain {
        spec: Json,
    },
    Secret(secret::Secret<'a>),
    /// The fields that khorovod generates, and the volume source from the spec.
    PersistentVolume {
        spec: Json,
    },
    PersistentVolumeClaim {
        spec: claim::ClaimSpec<'a>,
    },
    ConfigMap(config_map::ConfigMap<'a>),
    Service {
        spec: service::Spec<'a>,
    },
    PodGroup {
        spec: pod_group::GroupSpec<'a>,
    },
    StatefulSet {
        spec: Box<stateful_set::Spec<'a>>,
    },
    Job {
        spec: Box<job::Spec<'a>>,
    },
    PodMonitor {
        spec: pod_monitor::Spec<'a>,
    },
    /// The custom resource of an operator, which replaces the workloads.
    Custom {
        spec: Json,
    },
    /// The whole object, including kind and metadata, with `spec.patches` applied.
    Patched(Json),
}

impl<'a> Object<'a> {
    fn new(origin: impl Into<meta::Text<'a>>, metadata: Metadata<'a>, body: Body<'a>) -> Self {
        let (api_version, kind) = match &body {
            Body::NetworkPolicy { .. } => ("networking.k8s.io/v1", "NetworkPolicy"),
            Body::ServiceAccount(_) => ("v1", "ServiceAccount"),
            Body::Role(_) => ("rbac.authorization.k8s.io/v1", "Role"),
            Body::RoleBinding(_) => ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            Body::ClusterRole(_) => ("rbac.authorization.k8s.io/v1", "ClusterRole"),
            Body::ClusterRoleBinding(_) => ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
            Body::ResourceClaimTemplate { .. } => ("resource.k8s.io/v1", "ResourceClaimTemplate"),
            Body::ComputeDomain { .. } => ("resource.nvidia.com/v1beta1", "ComputeDomain"),
            Body::Secret(_) => ("v1", "Secret"),
            Body::PersistentVolume { .. } => ("v1", "PersistentVolume"),
            Body::PersistentVolumeClaim { .. } => ("v1", "PersistentVolumeClaim"),
            Body::ConfigMap(_) => ("v1", "ConfigMap"),
            Body::Service { .. } => ("v1", "Service"),
            Body::PodGroup { spec } => (spec.api_version, "PodGroup"),
            Body::StatefulSet { .. } => ("apps/v1", "StatefulSet"),
            Body::Job { .. } => ("batch/v1", "Job"),
            Body::PodMonitor { .. } => ("monitoring.coreos.com/v1", "PodMonitor"),
            Body::Custom { .. } | Body::Patched(_) => ("", ""),
        };
        Self { api_version, kind, origin: origin.into(), metadata, body }
    }

    /// A custom resource that belongs to the run.
    pub fn custom(plan: &'a Plan, api_version: &'static str, kind: &'static str, spec: Json) -> Self {
        let mut metadata = Metadata::of_run(plan, plan.stem());
        metadata.queue(plan);
        Self { api_version, kind, origin: "spec.workers".into(), metadata, body: Body::Custom { spec } }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct FullObject<'o, 'a> {
            api_version: &'static str,
            kind: &'static str,
            metadata: &'o Metadata<'a>,
            #[serde(flatten)]
            body: &'o Body<'a>,
        }
        let Self { api_version, kind, metadata, body, .. } = self;
        match body {
            Body::Patched(json) => json.serialize(serializer),
            body => FullObject { api_version, kind, metadata, body }.serialize(serializer),
        }
    }
}

/// All objects of a plan, in the order in which they are installed. `keys` are the entries of the ssh Secret; if there
/// are none, the Secret is left out. `workloads` are the objects that create the pods.
pub fn build<'a>(
    plan: &'a Plan,
    files: &'a [File],
    keys: &'a [(&'static str, String)],
    workloads: Vec<Object<'a>>,
) -> Vec<Object<'a>> {
    let mut objects = Vec::with_capacity(12);
    let account = service_account::is_needed(plan);
    objects.extend(network_policy::build(plan));
    objects.extend(account.then(|| service_account::build(plan)));
    objects.extend(secret::build(plan, keys));
    objects.extend(claim::volumes(plan));
    objects.extend(claim::claims(plan));
    objects.push(config_map::current(plan));
    objects.extend(service::build(plan));
    objects.push(config_map::scripts(plan, files));
    objects.extend(config_map::code(plan));
    objects.extend(service_account::cluster_role(plan));
    objects.extend(account.then(|| service_account::role(plan)));
    objects.extend(account.then(|| service_account::binding(plan)));
    objects.extend(resource_claim::build(plan));
    objects.extend(pod_group::build(plan));
    objects.extend(workloads);
    objects.extend(pod_monitor::build(plan));
    for object in &mut objects {
        apply_patches(plan, object);
    }
    objects
}

/// The plain workloads, which create the pods: StatefulSets and a Job, or one Indexed Job.
pub fn workloads<'a>(plan: &'a Plan, files: &[File]) -> Vec<Object<'a>> {
    if plan.shape == Shape::StatefulSet {
        let sets = plan.teams.iter().map(|team| stateful_set::build(plan, team, files));
        sets.chain([job::launcher(plan, files)]).collect()
    } else {
        vec![job::indexed(plan, files)]
    }
}

/// Applies the patches of the spec to an object.
fn apply_patches(plan: &Plan, object: &mut Object) {
    let mut whole = None;
    for patch in plan.spec.patches.iter().filter(|patch| may_select(patch, object)) {
        let whole = whole.get_or_insert_with(|| json(object));
        for part in patched_parts(patch, object, whole) {
            apply(patch, object.kind, part);
        }
    }
    if let Some(whole) = whole {
        object.body = Body::Patched(whole);
    }
}

/// Whether a patch applies to an object, or to a pod template in it. `whole` caches the object as JSON, for further calls
/// with the same object.
pub fn is_patched_by(patch: &Patch, object: &Object, whole: &mut Option<Json>) -> bool {
    may_select(patch, object) && !patched_parts(patch, object, whole.get_or_insert_with(|| json(object))).is_empty()
}

/// A value as JSON.
pub fn json(value: &impl Serialize) -> Json {
    crate::yaml::writer::to_json(value)
}
