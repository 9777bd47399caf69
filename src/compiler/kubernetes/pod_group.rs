//! The PodGroup of gang scheduling: the scheduler starts all pods of a run together.

use serde::Serialize;

use super::meta::Metadata;
use super::{Body, Object};
use crate::job::valid::Gang;
use crate::plan::{Plan, Shape};

#[derive(Debug, Serialize)]
pub struct PodGroup<'a> {
    spec: Spec<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    min_member: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority_class_name: Option<&'a str>,
}

/// The name of the PodGroup.
pub fn name(plan: &Plan) -> String {
    plan.stem() + plan.spec.target.pod_group_suffix
}

/// The number of pods that must start together: all pods, or the minimum of an elastic job.
pub fn min_members(plan: &Plan) -> u32 {
    let launchers = u32::from(plan.shape == Shape::StatefulSet);
    match &plan.spec.elastic {
        Some(elastic) if plan.spec.target.own_workloads => elastic.min_workers,
        Some(elastic) => elastic.min_workers + launchers,
        None => plan.workers + launchers,
    }
}

/// The PodGroup; `None` if the job is not gang-scheduled or the target creates the group itself.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    let spec = &plan.spec;
    let gang = spec.scheduling.gang.filter(|_| !spec.target.is_gang)?;
    let volcano = gang == Gang::Volcano;
    Some(Object {
        api_version: if volcano { "scheduling.volcano.sh/v1beta1" } else { "scheduling.x-k8s.io/v1alpha1" },
        kind: "PodGroup",
        origin: "spec.scheduling".into(),
        metadata: Metadata::of_run(plan, name(plan)),
        body: Body::PodGroup(PodGroup {
            spec: Spec {
                min_member: min_members(plan),
                queue: spec.scheduling.queue.as_deref().filter(|_| volcano),
                priority_class_name: spec.placement.priority_class.as_deref().filter(|_| volcano),
            },
        }),
    })
}
