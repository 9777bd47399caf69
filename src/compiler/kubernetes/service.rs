//! Service: headless, so that every pod has a name; before it is Ready, because the launcher
//! looks before that.

use serde::Serialize;

use super::meta::{JOB, Map, Metadata};
use super::{Body, Object};
use crate::plan::{Plan, Shape};

#[derive(Debug, Serialize)]
pub struct Service<'a> {
    spec: Spec<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
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

/// None where an operator brings the one in which its pods have their names.
pub fn build(plan: &Plan) -> Option<Object<'_>> {
    if plan.service() != plan.spec.name {
        return None;
    }
    let ssh = Port { name: "ssh", port: plan.spec.ssh.port };
    Some(Object {
        api_version: "v1",
        kind: "Service",
        origin: "metadata.name".into(),
        metadata: Metadata::of_job(plan, &plan.spec.name),
        body: Body::Service(Service {
            spec: Spec {
                cluster_ip: "None",
                publish_not_ready_addresses: true,
                // Of any run: a run that is being ended still needs its names.
                selector: Map::default().with(JOB, &plan.spec.name),
                ports: (plan.shape != Shape::Torchrun).then_some([ssh]),
            },
        }),
    })
}
