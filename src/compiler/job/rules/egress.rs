//! Rules about `security.egressTo`: it keeps the metadata service of the cloud closed, and contains the servers that the pods need.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Case, key};
use crate::job::types::spec::{Egress, Volume, VolumeSource};
use crate::problem::{Problem, codes};
use crate::yaml::Node;

codes! {
    /// A list of addresses that contains the metadata service of the cloud
    ///
    /// Programs get the credentials of the node from `169.254.169.254`, and on AWS also from `fd00:ec2::254`. Both are closed
    /// with `egress: listed` and `egress: private`, unless a range of `egressTo` contains them. Add the address to `except`. If
    /// the pods need the service, for example for Workload Identity of Google Cloud, list it as a range of one address.
    Error METADATA_SERVICE = "metadata-service";

    /// A range of addresses that a NetworkPolicy cannot contain
    ///
    /// An `ipBlock` of `security.egressTo` has a `cidr`: an address, a slash, and the length of the prefix, such as `10.1.2.3/32` for one
    /// address. The ranges in `except` are inside it. Host names are not possible; list the addresses of the server, or select its pods.
    Error EGRESS_RANGE = "egress-range";

    /// A server that the pods need and cannot reach
    ///
    /// With `egress: listed`, the pods reach only the job's own pods, DNS and `egressTo`. The launcher and the workers call the
    /// API server, and `s3` volumes call their server. A NetworkPolicy cannot name the API server, so list its addresses, which
    /// `kubectl -n default get endpointslice kubernetes` prints. An `ipBlock` may contain them; khorovod does not compare
    /// addresses. You can ignore the warning if a policy of your own allows the connections.
    Warning UNREACHABLE_SERVER = "unreachable-server";
}

const METADATA: [(&str, IpAddr); 2] = [
    ("169.254.169.254/32", IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))),
    ("fd00:ec2::254/128", IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254))),
];

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let security = &case.spec.security;
    let is_limited = security.network_policy && case.spec.target.has_pods && !case.spec.placement.host_network;
    if !is_limited || !case.could_read(&["security", "storage", "placement.hostNetwork", "lifecycle.keepWorkers"]) {
        return;
    }
    let listed = case.document.get("spec").and_then(|spec| spec.get("security")).and_then(|at| at.get("egressTo"));
    let peers = listed.map_or(&[][..], Node::items);
    if matches!(security.egress, Egress::Private | Egress::Listed) {
        for peer in peers {
            ranges(peer, problems);
            metadata_service(peer, problems);
        }
    }
    if let (Egress::Listed, Some(at)) = (security.egress, field!(case.security.egress)) {
        let has_range = peers.iter().any(|peer| peer.get("ipBlock").is_some());
        let calls_api = case.spec.target.own_workloads && security.api_access && !case.spec.lifecycle.keep_workers;
        let is_bucket = |volume: &Volume| matches!(volume.source, VolumeSource::S3(_));
        let (server, hint) = match () {
            // A server of buckets may run in a pod of the cluster.
            () if !peers.is_empty() && (has_range || !calls_api) => return,
            () if calls_api => (
                "the API server",
                "add its addresses to `egressTo`: `kubectl -n default get endpointslice kubernetes` prints them; \
                 or set `apiAccess: false`",
            ),
            () if case.spec.storage.iter().any(is_bucket) => {
                ("the server of the `s3` volumes", "add its addresses to `egressTo`")
            }
            () => return,
        };
        let mut problem =
            Problem::new(&UNREACHABLE_SERVER, at.span, format!("the pods need {server} and cannot reach it"));
        if let Some(list) = key(field!(case.security.egress_to)) {
            problem = problem.and(list, "without an `ipBlock`");
        }
        problems.push(problem.hint(hint));
    }
}

/// Reports an `ipBlock` that the API server would refuse.
fn ranges(peer: &Node, problems: &mut Vec<Problem>) {
    let Some(block) = peer.get("ipBlock") else { return };
    let Some(cidr) = block.get("cidr") else {
        let hint = "write `{cidr: 10.1.2.3/32}` for one address";
        problems.push(Problem::new(&EGRESS_RANGE, block.span, "an `ipBlock` needs a `cidr`").hint(hint));
        return;
    };
    let whole = Range::read(cidr);
    for node in std::iter::once(cidr).chain(block.get("except").into_iter().flat_map(Node::items)) {
        let text = node.text().unwrap_or_default();
        let (message, hint) = match (Range::read(node), text.parse::<IpAddr>()) {
            (Some(range), _) if whole.as_ref().is_none_or(|whole| whole.contains(range.address)) => continue,
            (Some(_), _) => ("this range is not inside `cidr`".to_owned(), "remove it".to_owned()),
            (None, Ok(address)) => {
                let bits = if address.is_ipv4() { 32 } else { 128 };
                (
                    "a range needs the length of its prefix".to_owned(),
                    format!("for one address, write `{address}/{bits}`"),
                )
            }
            (None, Err(_)) => (
                format!("`{text}` is not a range of addresses"),
                "write one such as `10.1.2.3/32`; a NetworkPolicy cannot contain host names".to_owned(),
            ),
        };
        problems.push(Problem::new(&EGRESS_RANGE, node.span, message).hint(hint));
    }
}

/// Reports a range of more than one address that contains the metadata service.
fn metadata_service(peer: &Node, problems: &mut Vec<Problem>) {
    let Some(block) = peer.get("ipBlock") else { return };
    let Some(cidr) = block.get("cidr") else { return };
    let Some(range) = Range::read(cidr) else { return };
    let excepted: Vec<Range> = block.get("except").into_iter().flat_map(Node::items).filter_map(Range::read).collect();
    for (name, address) in METADATA {
        let is_chosen = range.bits == if address.is_ipv4() { 32 } else { 128 };
        if range.contains(address) && !is_chosen && !excepted.iter().any(|except| except.contains(address)) {
            let message =
                "this range contains the metadata service of the cloud, which gives out the credentials of the node";
            let hint = format!("add `except: [{name}]`");
            problems.push(Problem::new(&METADATA_SERVICE, cidr.span, message).hint(hint));
        }
    }
}

/// A range of addresses, such as `10.0.0.0/8`.
struct Range {
    address: IpAddr,
    bits: u32,
}

impl Range {
    fn read(node: &Node) -> Option<Self> {
        let (address, bits) = node.text()?.split_once('/')?;
        let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
        (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some(Self { address, bits })
    }

    fn contains(&self, other: IpAddr) -> bool {
        // A range of no bits contains every address of its family; such a shift would overflow.
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(32_u32.saturating_sub(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(128_u32.saturating_sub(self.bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}
