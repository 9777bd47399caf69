//! The PodGroup of gang scheduling: the scheduler starts all pods of a run together.

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::meta::Metadata;
use super::{Body, Object};
use crate::job::KubeVersion;
use crate::job::valid::{Gang, Level, Placer, Spec, Topology};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupSpec<'a> {
    /// The version of the object, which depends on the scheduler.
    #[serde(skip)]
    pub api_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_member: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority_class_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduling_policy: Option<Policy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduling_constraints: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_topology: Option<Json>,
}

/// The policy of a PodGroup of Kubernetes.
#[derive(Debug, Serialize)]
struct Policy {
    gang: GangPolicy,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GangPolicy {
    min_count: u32,
}

/// The name of the PodGroup.
pub fn name(plan: &Plan) -> String {
    plan.stem() + plan.spec.target.pod_group_suffix
}

/// The field `networkTopology` of Volcano. It names a level by the tier of Volcano's topology that has the same name.
pub fn network_topology(topology: &Topology) -> Option<Json> {
    match (&topology.required, &topology.preferred) {
        (Some(level), _) => Some(hard_topology(level)),
        // The mode `soft` takes no level: Volcano looks for the smallest domain.
        (None, Some(_)) => Some(json!({"mode": "soft"})),
        (None, None) => None,
    }
}

/// The field `networkTopology` of Volcano that requires one domain of a level.
pub fn hard_topology(level: &Level) -> Json {
    json!({"mode": "hard", "highestTierName": level.name})
}

/// The PodGroup; `None` if the job is not gang-scheduled or the target creates the group itself.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    let Spec { scheduling, placement, target, .. } = &plan.spec;
    let gang = scheduling.gang.filter(|_| !target.is_gang)?;
    let (topology, placer) = (placement.topology.as_ref(), plan.spec.placer());
    let (volcano, native) = (gang == Gang::Volcano, gang == Gang::Native);
    let spec = GroupSpec {
        api_version: match gang {
            Gang::Volcano => "scheduling.volcano.sh/v1beta1",
            Gang::Coscheduling => "scheduling.x-k8s.io/v1alpha1",
            Gang::Native => scheduling.native_gang().0,
        },
        min_member: (!native).then(|| plan.min_members()),
        scheduling_policy: native.then(|| Policy { gang: GangPolicy { min_count: plan.min_members() } }),
        queue: scheduling.volcano_queue.as_deref().filter(|_| volcano),
        // Since 1.37, Kubernetes does not schedule pods whose priority is not that of their group. In 1.36 the field needs another
        // feature gate, and the priorities are not compared.
        priority_class_name: placement
            .priority_class
            .as_deref()
            .filter(|_| volcano || native && scheduling.kube_version >= KubeVersion::new(37)),
        scheduling_constraints: topology
            .filter(|_| placer == Placer::Native)
            .and_then(|topology| topology.required.as_ref())
            .map(|level| json!({"topology": [{"key": level.label}]})),
        network_topology: topology.filter(|_| placer == Placer::VolcanoGroup).and_then(network_topology),
    };
    Some(Object::new("spec.scheduling", Metadata::of_run(plan, name(plan)), Body::PodGroup { spec }))
}
