//! The fields of a pod spec that determine its placement: network, scheduler, nodes, and distance from other pods. See
//! [`build`].

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::PodKind;
use crate::job::valid::Placer;
use crate::kubernetes::meta::{COMPONENT, Map, Selector, run_pods};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    host_network: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dns_policy: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduler_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority_class_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_class_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    node_selector: Map<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tolerations: Vec<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    affinity: Option<Cow<'a, Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology_spread_constraints: Option<[Spread<'a>; 1]>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Spread<'a> {
    max_skew: u8,
    topology_key: &'a str,
    when_unsatisfiable: &'static str,
    label_selector: Selector<'a>,
}

/// The placement of a kind of pod.
pub fn build<'a>(plan: &'a Plan, kind: PodKind<'a>) -> Placement<'a> {
    let placement = &plan.spec.placement;
    // `spread`, `pack` and `topology` apply only to pods with ranks.
    let if_ranks = |key: &'a Option<String>| kind.rank_group(plan).and(key.as_deref());
    let spread = if_ranks(&placement.spread).map(|key| {
        [Spread {
            max_skew: 1,
            topology_key: key,
            when_unsatisfiable: "ScheduleAnyway",
            label_selector: run_pods(plan, "worker", None),
        }]
    });
    Placement {
        host_network: placement.host_network.then_some(true),
        // Without this policy, pods in the host network cannot resolve the names of Services.
        dns_policy: placement.host_network.then_some("ClusterFirstWithHostNet"),
        scheduler_name: plan.spec.scheduling.scheduler_name.as_deref(),
        priority_class_name: placement.priority_class.as_deref(),
        runtime_class_name: placement.runtime_class.as_deref(),
        node_selector: placement.node_selector.iter().map(|(key, value)| (key, value)).collect(),
        tolerations: tolerations(plan, kind),
        affinity: match near(plan).filter(|_| kind.rank_group(plan).is_some()) {
            Some((key, is_required)) => Some(Cow::Owned(near_affinity(plan, key, is_required))),
            None => placement.affinity.as_ref().map(Cow::Borrowed),
        },
        topology_spread_constraints: spread,
    }
}

/// The seconds after which a launcher is evicted from a node that is not ready or not reachable. The default of Kubernetes
/// is five minutes; all GPUs of the run would wait that long for another launcher. If only the kubelet of a node restarts,
/// the node is ready again before this time, and the launcher stays.
const DEAD_NODE_SECONDS: u32 = 30;

/// The tolerations of the spec. A pod that launches also gets [`DEAD_NODE_TOLERATIONS`], except those
/// whose taint the spec already tolerates.
fn tolerations<'a>(plan: &'a Plan, kind: PodKind) -> Vec<&'a Json> {
    let own = &plan.spec.placement.tolerations;
    let is_tolerated = |key: &str| {
        own.iter().any(|own| {
            (own["key"].is_null() || own["key"] == key) && (own["effect"].is_null() || own["effect"] == "NoExecute")
        })
    };
    let is_missing = |toleration: &&Json| {
        let key = toleration["key"].as_str().unwrap_or_default();
        kind.launches() && plan.spec.target.own_workloads && !is_tolerated(key)
    };
    own.iter().chain(DEAD_NODE_TOLERATIONS.iter().filter(is_missing)).collect()
}

/// The tolerations with which Kubernetes evicts a pod from a dead node after [`DEAD_NODE_SECONDS`].
pub static DEAD_NODE_TOLERATIONS: LazyLock<[Json; 2]> = LazyLock::new(|| {
    ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map(
        |key| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": DEAD_NODE_SECONDS}),
    )
});

/// The node label for the affinity that keeps the workers in one domain of the label, and whether the affinity is
/// required or only preferred.
fn near(plan: &Plan) -> Option<(&str, bool)> {
    let placement = &plan.spec.placement;
    let topology = placement.topology.as_ref().filter(|_| plan.spec.placer() == Placer::Affinity);
    let required = topology.and_then(|topology| topology.required.as_ref()).map(|level| (level.label.as_str(), true));
    let preferred =
        topology.and_then(|topology| topology.preferred.as_ref()).map(|level| (level.label.as_str(), false));
    required.or(preferred).or_else(|| Some((placement.pack.as_deref()?, false)))
}

/// The affinity of the spec, with an added term for nodes near the other workers of the run.
fn near_affinity(plan: &Plan, key: &str, is_required: bool) -> Json {
    // Kubernetes places the first pod with a required term only if the term selects this pod itself. If the launcher runs ranks,
    // it may be the first pod, so the term must select it, too.
    let mut pods = run_pods(plan, "worker", None);
    if is_required && plan.spec.launcher.runs_ranks {
        pods.match_labels.remove(COMPONENT);
    }
    let term = json!({"topologyKey": key, "labelSelector": pods});
    let (list, term) = match is_required {
        true => ("requiredDuringSchedulingIgnoredDuringExecution", term),
        false => ("preferredDuringSchedulingIgnoredDuringExecution", json!({"weight": 100, "podAffinityTerm": term})),
    };
    let mut affinity = plan.spec.placement.affinity.clone().unwrap_or_else(|| json!({}));
    match &mut affinity["podAffinity"][list] {
        Json::Array(terms) => terms.push(term),
        none => *none = json!([term]),
    }
    affinity
}
