//! The NetworkPolicy: the pods of the job accept connections only from each other, and from any pod to the metrics port. Outgoing
//! connections are not restricted.

use serde::Serialize;

use super::meta::{Entry, Metadata, Selector, job_pods};
use super::{Body, Object};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    pod_selector: Selector<'a>,
    policy_types: [&'static str; 1],
    ingress: Vec<Rule<'a>>,
}

#[derive(Debug, Serialize)]
struct Rule<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<[Entry<Selector<'a>>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<[Port; 1]>,
}

#[derive(Debug, Serialize)]
struct Port {
    port: u16,
    protocol: &'static str,
}

/// The NetworkPolicy; `None` if the spec disables it.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    if !plan.spec.security.network_policy {
        return None;
    }
    let mut ingress = vec![Rule { from: Some([Entry("podSelector", job_pods(plan))]), ports: None }];
    if let Some(metrics) = &plan.spec.observability.metrics {
        ingress.push(Rule { from: None, ports: Some([Port { port: metrics.port, protocol: "TCP" }]) });
    }
    let spec = Spec { pod_selector: job_pods(plan), policy_types: ["Ingress"], ingress };
    let metadata = Metadata::of_job(plan, &plan.spec.name);
    Some(Object::new("spec.security.networkPolicy", metadata, Body::NetworkPolicy { spec }))
}
