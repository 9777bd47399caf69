//! The StatefulSet of one group of workers.

use serde::Serialize;

use super::claim;
use super::meta::{Metadata, Selector, pod_labels, run_pods};
use super::pod::{self, PodKind, PodTemplate};
use super::{Body, File, Object};
use crate::job::valid::VolumeSource;
use crate::plan::{Plan, Team};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    service_name: &'a str,
    /// Unset if the launcher scales the workers, so that applying the object again does not change the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    pod_management_policy: &'static str,
    selector: Selector<'a>,
    template: PodTemplate<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    volume_claim_templates: Vec<claim::Template<'a>>,
}

/// The StatefulSet of a group.
pub fn build<'a>(plan: &'a Plan, team: &'a Team, files: &[File]) -> Object<'a> {
    let group = &plan.spec.groups[team.group];
    let claims = plan.spec.storage.iter().filter_map(|volume| {
        let VolumeSource::PerWorker(claim) = &volume.source else { return None };
        Some(claim::template(volume, claim, pod_labels(plan, "worker", group.name.as_deref())))
    });
    let spec = Spec {
        service_name: &plan.spec.name,
        replicas: plan.spec.lifecycle.keep_workers.then_some(team.pods()),
        pod_management_policy: "Parallel",
        selector: run_pods(plan, "worker", group.name.as_deref()),
        template: pod::template(plan, PodKind::Worker(group), files),
        volume_claim_templates: claims.collect(),
    };
    let metadata = Metadata::of_run(plan, &team.workload)
        .component("worker")
        .annotate("khorovod.dev/replicas", team.pods().to_string());
    Object::new(team.origin(plan), metadata, Body::StatefulSet { spec: Box::new(spec) })
}
