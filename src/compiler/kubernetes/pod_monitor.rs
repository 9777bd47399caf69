//! The PodMonitor, with which the Prometheus Operator finds the metrics of the workers.

use serde::Serialize;

use super::meta::{Entry, Metadata, Selector, job_pods};
use super::{Body, Object};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    selector: Selector<'a>,
    pod_metrics_endpoints: [Entry<&'static str>; 1],
}

/// The PodMonitor; `None` if the spec does not enable it.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    plan.spec.observability.metrics.as_ref().filter(|metrics| metrics.pod_monitor)?;
    let spec = Spec { selector: job_pods(plan), pod_metrics_endpoints: [Entry("port", "metrics")] };
    let metadata = Metadata::of_job(plan, &plan.spec.name);
    Some(Object::new("spec.observability.metrics", metadata, Body::PodMonitor { spec }))
}
