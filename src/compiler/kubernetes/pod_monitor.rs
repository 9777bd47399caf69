//! The PodMonitor, with which the Prometheus Operator finds the metrics of the ranks and of the launcher.

use serde::Serialize;

use super::meta::{Metadata, Selector, job_pods};
use super::{Body, Object};
use crate::job::valid::Metrics;
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    selector: Selector<'a>,
    pod_metrics_endpoints: Vec<Endpoint>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    port: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    relabelings: Option<[Relabeling; 1]>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Relabeling {
    source_labels: [&'static str; 1],
    regex: &'static str,
    action: &'static str,
}

/// The PodMonitor; `None` if the spec does not enable it.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    let observability = &plan.spec.observability;
    let is_monitored = |metrics: &Option<Metrics>| metrics.as_ref().is_some_and(|metrics| metrics.pod_monitor);
    let mut endpoints = Vec::new();
    if is_monitored(&observability.metrics) {
        endpoints.push(Endpoint { port: "metrics", relabelings: None });
    }
    if is_monitored(&observability.launcher_metrics) {
        // All pods of an Indexed Job have this port, but only the pod with index 0 is the launcher and answers on it. Pods
        // of other shapes have no index, so the regular expression also accepts an empty index.
        let relabeling = Relabeling {
            source_labels: ["__meta_kubernetes_pod_label_batch_kubernetes_io_job_completion_index"],
            regex: "0?",
            action: "keep",
        };
        endpoints.push(Endpoint { port: "status", relabelings: Some([relabeling]) });
    }
    if endpoints.is_empty() {
        return None;
    }
    let spec = Spec { selector: job_pods(plan), pod_metrics_endpoints: endpoints };
    let metadata = Metadata::of_job(plan, &plan.spec.name);
    let field = match observability.metrics {
        Some(_) => "spec.observability.metrics",
        None => "spec.observability.launcherMetrics",
    };
    Some(Object::new(field, metadata, Body::PodMonitor { spec }))
}
