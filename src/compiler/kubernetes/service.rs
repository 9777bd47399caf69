//! The headless Service, which gives every pod a DNS name. The Service also publishes pods that are not ready, because
//! the launcher resolves the names of workers while the workers start.

use serde::Serialize;

use super::meta::{JOB, Map, Metadata};
use super::{Body, Object};
use crate::plan::{Plan, Shape};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    #[serde(rename = "clusterIP")]
    cluster_ip: &'static str,
    publish_not_ready_addresses: bool,
    selector: Map<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<[Port; 1]>,
}

#[derive(Debug, Serialize)]
struct Port {
    name: &'static str,
    port: u16,
}

/// The Service; `None` if an operator creates the Service of the pods.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    if plan.service() != plan.spec.name {
        return None;
    }
    let ssh = Port { name: "ssh", port: plan.spec.ssh.port };
    let spec = Spec {
        cluster_ip: "None",
        publish_not_ready_addresses: true,
        // Select the pods of all runs: a run that is being stopped still needs its DNS names.
        selector: Map::default().with(JOB, &plan.spec.name),
        ports: (plan.shape != Shape::Agents).then_some([ssh]),
    };
    Some(Object::new("metadata.name", Metadata::of_job(plan, &plan.spec.name), Body::Service { spec }))
}
