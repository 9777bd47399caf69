//! `PodGroup`: all pods of a run are placed, or none.

use serde::Serialize;

use super::meta::Metadata;
use super::{Body, Object};
use crate::plan::{Plan, Shape};
use crate::spec::valid::Gang;

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

pub fn build(plan: &Plan) -> Option<Object<'_>> {
    let spec = &plan.spec;
    let gang = spec.scheduling.gang?;
    let all = plan.workers + u32::from(plan.shape == Shape::StatefulSet);
    let volcano = gang == Gang::Volcano;
    Some(Object {
        api_version: if volcano { "scheduling.volcano.sh/v1beta1" } else { "scheduling.x-k8s.io/v1alpha1" },
        kind: "PodGroup",
        origin: "spec.scheduling".into(),
        metadata: Metadata::of_run(plan, plan.stem()),
        body: Body::PodGroup(PodGroup {
            spec: Spec {
                // An elastic run starts with its smallest number.
                min_member: spec.elastic.as_ref().map_or(all, |elastic| elastic.min_workers),
                queue: spec.scheduling.queue.as_deref().filter(|_| volcano),
                priority_class_name: spec.placement.priority_class.as_deref().filter(|_| volcano),
            },
        }),
    })
}
