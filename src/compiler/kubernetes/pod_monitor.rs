//! The PodMonitor, with which the Prometheus Operator finds the metrics of the workers.

use serde::Serialize;

use super::meta::{Metadata, Selector, job_pods};
use super::{Body, Object};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
pub struct PodMonitor<'a> {
    spec: Spec<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    selector: Selector<'a>,
    pod_metrics_endpoints: [Endpoint; 1],
}

#[derive(Debug, Serialize)]
struct Endpoint {
    port: &'static str,
}

/// The PodMonitor; `None` if the spec does not enable it.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    plan.spec.observability.metrics.as_ref().filter(|metrics| metrics.pod_monitor)?;
    Some(Object {
        api_version: "monitoring.coreos.com/v1",
        kind: "PodMonitor",
        origin: "spec.observability.metrics".into(),
        metadata: Metadata::of_job(plan, &plan.spec.name),
        body: Body::PodMonitor(PodMonitor {
            spec: Spec { selector: job_pods(plan), pod_metrics_endpoints: [Endpoint { port: "metrics" }] },
        }),
    })
}
