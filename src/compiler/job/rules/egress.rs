//! Rules about `security.egressTo`: it keeps the metadata service of the cloud closed, and contains the servers that the pods need.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::borrow::Cow;

use super::{Case, key};
use crate::job::declare::EnvValue;
use crate::job::types::spec::Egress;
use crate::problem::{Problem, Span, codes};
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
    /// With `egress: listed`, the pods reach only the job's own pods, DNS and `egressTo`; with `egress: private`, also all pods
    /// and private addresses. The launcher and the workers call the API server, and volumes of `s3` and `download` call
    /// their servers. A NetworkPolicy cannot name a server, so list its addresses; for the API server,
    /// `kubectl -n default get endpointslice kubernetes` prints them. khorovod does not look up host names: it warns if no
    /// entry of `egressTo` can contain the server, for example if a server on the internet is needed and all ranges are
    /// private. You can ignore the warning if a policy of your own allows the connections, or if the pods use a proxy.
    Warning UNREACHABLE_SERVER = "unreachable-server";
}

const METADATA: [(&str, IpAddr); 2] = [
    ("169.254.169.254/32", IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))),
    ("fd00:ec2::254/128", IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254))),
];

/// Ranges that are not part of the internet. Those before the last two are open with `egress: private`.
const INTERNAL: [(IpAddr, u32); 7] = [
    (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8),
    (IpAddr::V4(Ipv4Addr::new(172, 16, 0, 0)), 12),
    (IpAddr::V4(Ipv4Addr::new(192, 168, 0, 0)), 16),
    (IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), 10),
    (IpAddr::V6(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0)), 7),
    (IpAddr::V4(Ipv4Addr::new(169, 254, 0, 0)), 16),
    (IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)), 10),
];

pub fn check(case: &Case<'_>, problems: &mut Vec<Problem>) {
    let security = &case.spec.security;
    let is_limited = security.network_policy && case.spec.target.has_pods && !case.spec.placement.host_network;
    if !is_limited
        || !matches!(security.egress, Egress::Private | Egress::Listed)
        || !case.could_read(&["security", "storage", "env", "placement.hostNetwork", "lifecycle.keepWorkers"])
    {
        return;
    }
    let listed = case.document.get("spec").and_then(|spec| spec.get("security")).and_then(|at| at.get("egressTo"));
    let peers = listed.map_or(&[][..], Node::items);
    let blocks: Vec<Block> = peers.iter().filter_map(|peer| Block::read(peer, problems)).collect();
    for block in &blocks {
        metadata_service(block, problems);
    }
    // A range that could not be read may be the one that contains a server.
    let is_whole = peers.iter().filter(|peer| peer.get("ipBlock").is_some()).count() == blocks.len();
    let Some(at) = field!(case.security.egress).filter(|_| is_whole) else { return };
    for server in servers(case) {
        if server.may_be_reached(security.egress, peers, &blocks) {
            continue;
        }
        let message = format!("the pods need {} and cannot reach it", server.name);
        let mut problem = Problem::new(&UNREACHABLE_SERVER, at.span, message);
        if let Some(field) = server.field {
            problem = problem.and(field, "needed here");
        }
        if let Some(list) = key(field!(case.security.egress_to)) {
            problem =
                problem.and(list, if blocks.is_empty() { "without an `ipBlock`" } else { "without its addresses" });
        }
        problems.push(problem.hint(server.hint));
    }
}

/// The location of a server, as far as the spec shows it.
#[derive(Clone, Copy)]
enum Location {
    Address(IpAddr),
    /// A name that is known to have only addresses of the internet.
    Internet,
    /// The API server: no pod that a selector could select. Its address may be private or public.
    ControlPlane,
    /// A name, which may also be that of a pod in the cluster.
    Unknown,
}

/// A server that the pods need.
struct Server {
    /// Its name in a sentence.
    name: String,
    location: Location,
    /// The field that needs it.
    field: Option<Span>,
    hint: &'static str,
}

impl Server {
    /// Whether `egressTo`, or `egress: private`, may contain the server. If the spec does not show where it is, it may.
    fn may_be_reached(&self, egress: Egress, peers: &[Node], blocks: &[Block]) -> bool {
        let is_private = |address: IpAddr| internal(5).any(|range| range.contains(address));
        let listed = |address: IpAddr| blocks.iter().any(|block| block.contains(address));
        let has_selector = peers.len() > blocks.len();
        match (self.location, egress) {
            (Location::Address(address), Egress::Private) => is_private(address) || listed(address),
            // The address may be that of a Service, whose pods a selector selects.
            (Location::Address(address), _) => listed(address) || has_selector && is_private(address),
            (Location::Internet, _) => blocks.iter().any(|block| !block.range.is_internal()),
            (_, Egress::Private) => true,
            (Location::ControlPlane, _) => !blocks.is_empty(),
            (Location::Unknown, _) => !peers.is_empty(),
        }
    }
}

/// The servers that the pods need.
fn servers(case: &Case<'_>) -> Vec<Server> {
    const LIST: &str = "add its addresses to `egressTo`";
    let mut found = Vec::new();
    if case.spec.target.own_workloads && case.spec.security.api_access && !case.spec.lifecycle.keep_workers {
        found.push(Server {
            name: "the API server".to_owned(),
            location: Location::ControlPlane,
            field: None,
            hint: "add its addresses to `egressTo`: `kubectl -n default get endpointslice kubernetes` prints them; \
                   or set `apiAccess: false`",
        });
    }
    let variable = |name: &str| case.env().find(|(own, _)| own.0.eq_ignore_ascii_case(name)).map(|(_, at)| &at.value);
    // A proxy has another address than the server.
    if variable("HTTPS_PROXY").or(variable("HTTP_PROXY")).is_some() {
        return found;
    }
    for entry in case.storage() {
        let bucket = entry.s3.as_ref().map(|s3| match &s3.endpoint {
            Some(url) => (Cow::from(&url.0), url.span),
            // The addresses of AWS may be private: those of an interface endpoint.
            None => match &s3.region {
                Some(region) => (Cow::from(format!("https://s3.{}.amazonaws.com", region.0)), s3.key),
                None => (Cow::from("https://s3.amazonaws.com"), s3.key),
            },
        });
        let file = entry.download.as_ref().and_then(|from| from.url.as_ref()).map(|url| (Cow::from(&url.0), url.span));
        found.extend(bucket.or(file).map(|(url, span)| {
            let (host, location) = locate(&url);
            Server { name: format!("`{host}`"), location, field: Some(span), hint: LIST }
        }));
        let Some(repository) = entry.download.as_ref().and_then(|from| from.hugging_face.as_ref()) else { continue };
        let (host, location) = match variable("HF_ENDPOINT") {
            Some(EnvValue::Literal(url)) => locate(url),
            // The variable may name a mirror.
            Some(EnvValue::From(_)) => ("HF_ENDPOINT", Location::Unknown),
            None if case.body.env_from.is_some() => ("huggingface.co", Location::Unknown),
            None => ("huggingface.co", Location::Internet),
        };
        found.push(Server {
            name: format!("`{host}`"),
            location,
            field: Some(repository.span),
            hint: match location {
                Location::Internet => {
                    "its addresses change: write `egress: noMetadata`, or set `HF_ENDPOINT` in `env` to a mirror, and add \
                     the addresses of the mirror to `egressTo`"
                }
                _ => LIST,
            },
        });
    }
    found
}

/// The host of a URL, and its location.
fn locate(url: &str) -> (&str, Location) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let host = match rest.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => rest.split(':').next().unwrap_or_default(),
    };
    let location = match host.parse() {
        Ok(address) => Location::Address(address),
        Err(_) if ["huggingface.co", "hf.co"].contains(&host) => Location::Internet,
        Err(_) => Location::Unknown,
    };
    (host, location)
}

/// An `ipBlock` of `egressTo`.
struct Block {
    range: Range,
    except: Vec<Range>,
    /// The place of its `cidr`.
    span: Span,
}

impl Block {
    /// Reads the `ipBlock` of a peer, and reports it if the API server would refuse it. `None` if the peer has no `ipBlock`
    /// whose `cidr` is a range.
    fn read(peer: &Node, problems: &mut Vec<Problem>) -> Option<Self> {
        let block = peer.get("ipBlock")?;
        let Some(cidr) = block.get("cidr") else {
            let hint = "write `{cidr: 10.1.2.3/32}` for one address";
            problems.push(Problem::new(&EGRESS_RANGE, block.span, "an `ipBlock` needs a `cidr`").hint(hint));
            return None;
        };
        let range = Range::read(cidr);
        if range.is_none() {
            problems.push(not_a_range(cidr));
        }
        let mut except = Vec::new();
        for node in block.get("except").into_iter().flat_map(Node::items) {
            match (Range::read(node), &range) {
                (None, _) => problems.push(not_a_range(node)),
                (Some(inner), Some(range)) if !range.contains(inner.address) => {
                    let problem = Problem::new(&EGRESS_RANGE, node.span, "this range is not inside `cidr`");
                    problems.push(problem.hint("remove it"));
                }
                (Some(inner), _) => except.push(inner),
            }
        }
        Some(Self { range: range?, except, span: cidr.span })
    }

    fn contains(&self, address: IpAddr) -> bool {
        self.range.contains(address) && !self.except.iter().any(|except| except.contains(address))
    }
}

/// The report of a text that is not a range.
fn not_a_range(node: &Node) -> Problem {
    let text = node.text().unwrap_or_default();
    let Ok(address) = text.parse::<IpAddr>() else {
        let hint = "write one such as `10.1.2.3/32`; a NetworkPolicy cannot contain host names";
        return Problem::new(&EGRESS_RANGE, node.span, format!("`{text}` is not a range of addresses")).hint(hint);
    };
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let problem = Problem::new(&EGRESS_RANGE, node.span, "a range needs the length of its prefix");
    problem.hint(format!("for one address, write `{address}/{bits}`"))
}

/// Reports a range of more than one address that contains the metadata service.
fn metadata_service(block: &Block, problems: &mut Vec<Problem>) {
    for (name, address) in METADATA {
        let is_chosen = block.range.bits == if address.is_ipv4() { 32 } else { 128 };
        if block.contains(address) && !is_chosen {
            let message =
                "this range contains the metadata service of the cloud, which gives out the credentials of the node";
            let hint = format!("add `except: [{name}]`");
            problems.push(Problem::new(&METADATA_SERVICE, block.span, message).hint(hint));
        }
    }
}

/// The first ranges of [`INTERNAL`].
fn internal(count: usize) -> impl Iterator<Item = Range> {
    INTERNAL.into_iter().take(count).map(|(address, bits)| Range { address, bits })
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

    /// Whether all its addresses are outside of the internet.
    fn is_internal(&self) -> bool {
        internal(INTERNAL.len()).any(|range| range.bits <= self.bits && range.contains(self.address))
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
