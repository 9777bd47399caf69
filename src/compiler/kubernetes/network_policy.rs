//! The NetworkPolicy: the pods of the job accept connections only from each other, and from the clients of the metrics port.
//! By default, outgoing connections are not restricted.

use serde::Serialize;
use serde_json::Value as Json;

use super::meta::{Map, Metadata, Selector, job_pods};
use super::{Body, Object};
use crate::job::valid::Egress;
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    pod_selector: Selector<'a>,
    policy_types: &'static [&'static str],
    ingress: Vec<Rule<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    egress: Vec<Rule<'a>>,
}

#[derive(Debug, Serialize)]
struct Rule<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<From<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    to: Vec<To<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ports: Vec<Port>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum From<'a> {
    OwnPods([Peer<'a>; 1]),
    /// The peers in the spec, unchanged.
    Given(&'a [Json]),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum To<'a> {
    Own(Peer<'a>),
    /// A peer in the spec, unchanged.
    Given(&'a Json),
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Peer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace_selector: Option<Labels<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_selector: Option<Labels<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip_block: Option<IpBlock>,
}

/// A label selector. One without labels selects everything.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Labels<'a> {
    #[serde(skip_serializing_if = "Map::is_empty")]
    match_labels: Map<'a>,
}

#[derive(Debug, Serialize)]
struct IpBlock {
    cidr: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    except: &'static [&'static str],
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
    let mut ingress = vec![Rule { from: Some(From::OwnPods([own_pods(plan)])), to: Vec::new(), ports: Vec::new() }];
    let observability = &plan.spec.observability;
    for metrics in observability.metrics.iter().chain(&observability.launcher_metrics) {
        let from = metrics.from.as_deref().map(From::Given);
        ingress.push(Rule { from, to: Vec::new(), ports: vec![Port { port: metrics.port, protocol: "TCP" }] });
    }
    let egress = egress(plan);
    let spec = Spec {
        pod_selector: job_pods(plan),
        policy_types: if egress.is_empty() { &["Ingress"] } else { &["Ingress", "Egress"] },
        ingress,
        egress,
    };
    let metadata = Metadata::of_job(plan, &plan.spec.name);
    Some(Object::new("spec.security.networkPolicy", metadata, Body::NetworkPolicy { spec }))
}

/// The addresses of the metadata services of AWS, Azure, Google Cloud and others. Programs can get the credentials of the
/// node there.
const METADATA: [&str; 2] = ["169.254.169.254/32", "fd00:ec2::254/128"];
/// The private address ranges of RFC 1918, RFC 6598 and RFC 4193.
const PRIVATE: [&str; 5] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];

fn own_pods(plan: &Plan) -> Peer<'_> {
    Peer { pod_selector: Some(Labels { match_labels: job_pods(plan).match_labels }), ..Peer::default() }
}

/// The rules for outgoing connections. If the list is empty, outgoing connections are not restricted.
fn egress(plan: &Plan) -> Vec<Rule<'_>> {
    let block = |cidr, except| Peer { ip_block: Some(IpBlock { cidr, except }), ..Peer::default() };
    // With some network plugins, such as Cilium, an address range does not contain the pods of the cluster.
    let any_pod = || Peer { namespace_selector: Some(Labels::default()), ..Peer::default() };
    let (own, given): (Vec<_>, &[Json]) = match plan.spec.security.egress {
        Egress::Open => return Vec::new(),
        Egress::NoMetadata => (vec![any_pod(), block("0.0.0.0/0", &METADATA[..1]), block("::/0", &METADATA[1..])], &[]),
        Egress::Private => {
            let private = PRIVATE.map(|cidr| block(cidr, if cidr == "fc00::/7" { &METADATA[1..] } else { &[] }));
            ([any_pod()].into_iter().chain(private).collect(), &plan.spec.security.egress_to)
        }
        Egress::Listed => (vec![own_pods(plan)], &plan.spec.security.egress_to),
    };
    let to = own.into_iter().map(To::Own).chain(given.iter().map(To::Given)).collect();
    // Allow DNS to every address, because a DNS server may have a link-local address: NodeLocal DNSCache has one, and
    // Google's Cloud DNS has the address of the metadata service.
    let dns = ["UDP", "TCP"].map(|protocol| Port { port: 53, protocol }).into();
    vec![Rule { from: None, to, ports: Vec::new() }, Rule { from: None, to: Vec::new(), ports: dns }]
}
