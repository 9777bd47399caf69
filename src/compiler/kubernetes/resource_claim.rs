//! Devices by Dynamic Resource Allocation: the claims of pods, the ResourceClaimTemplates with the devices of the spec, and the
//! ComputeDomain of NVIDIA's driver for multi-node NVLink.

use serde::Serialize;
use serde_json::json;

use super::meta::{Metadata, Text};
use super::{Body, Object};
use crate::job::valid::{ClaimSource, Group, ResourceClaim};
use crate::plan::Plan;

/// The name of the claim of a pod for the channels of its ComputeDomain.
pub const CHANNEL: &str = "compute-domain-channel";

/// A claim of a pod.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodClaim<'a> {
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_claim_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_claim_template_name: Option<Text<'a>>,
}

/// The claims of a pod that runs ranks of a group.
pub fn of_pod<'a>(plan: &'a Plan, group: &'a Group) -> Vec<PodClaim<'a>> {
    let claims = group.claims.iter().map(|claim| {
        let (existing, template) = match &claim.source {
            ClaimSource::Existing(name) => (Some(name.as_str()), None),
            ClaimSource::Template(name) => (None, Some(name.into())),
            ClaimSource::Devices(_) => (None, Some(template_name(plan, group, claim).into())),
        };
        PodClaim { name: &claim.name, resource_claim_name: existing, resource_claim_template_name: template }
    });
    // NVIDIA's driver creates the ResourceClaimTemplate for the channels.
    let channel = plan.spec.compute_domain.map(|_| PodClaim {
        name: CHANNEL,
        resource_claim_name: None,
        resource_claim_template_name: Some(channel_name(plan).into()),
    });
    claims.chain(channel).collect()
}

/// The name of a ResourceClaimTemplate, `<job>-<run>-<group>-<claim>`.
fn template_name(plan: &Plan, group: &Group, claim: &ResourceClaim) -> String {
    let group = group.name.as_ref().map_or(String::new(), |name| format!("-{name}"));
    format!("{}{group}-{}", plan.stem(), claim.name)
}

fn channel_name(plan: &Plan) -> String {
    format!("{}-{CHANNEL}", plan.stem())
}

/// The ResourceClaimTemplates, and the ComputeDomain.
pub fn build(plan: &Plan) -> impl Iterator<Item = Object<'_>> {
    let templates = plan.spec.groups.iter().flat_map(move |group| {
        group.claims.iter().filter_map(move |claim| {
            let ClaimSource::Devices(devices) = &claim.source else { return None };
            let metadata = Metadata::of_run(plan, template_name(plan, group, claim));
            let spec = json!({"spec": {"devices": devices}});
            Some(Object::new("spec.workers.resourceClaims", metadata, Body::ResourceClaimTemplate { spec }))
        })
    });
    let domain = plan.spec.compute_domain.map(|mode| {
        // NVIDIA recommends 0. With any other number, the driver waits for that many nodes, so a lost worker would block the others.
        let mut spec = json!({"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": channel_name(plan)}}});
        // `Single` is the default, and it is left out because version 25.3 of the driver does not have the field.
        if mode != "Single" {
            spec["channel"]["allocationMode"] = json!(mode);
        }
        Object::new("spec.workers.computeDomain", Metadata::of_run(plan, plan.stem()), Body::ComputeDomain { spec })
    });
    templates.chain(domain)
}
