//! Builds the pod template of each kind of pod: worker, launcher, or pod of the Indexed Job. See [`template`].
//!
//! Pod templates cannot change during a run. If a field changes a template, a new run must start, so the name of the
//! run is a hash of such fields: see `plan::run`. Values that may change during a run must not be in a template: the
//! version of khorovod, the labels in the spec, and time limits.

mod container;
mod placement;
mod security;
mod volumes;

pub use placement::DEAD_NODE_TOLERATIONS;
use serde::Serialize;

use super::meta::launcher_name;
use super::meta::{Map, Named, Text, pod_labels};
use super::resource_claim::{self, PodClaim};
use super::{File, pod_group};
use crate::job::Facts;
use crate::job::valid::{Gang, Group, Placer, Topology};
use crate::plan::{Plan, Shape};

/// The kind of a pod.
#[derive(Debug, Clone, Copy)]
pub enum PodKind<'a> {
    /// A worker, in a StatefulSet or in the equivalent of another target.
    Worker(&'a Group),
    /// The separate launcher pod.
    Launcher,
    /// A pod of the Indexed Job. The pod with index 0 also launches.
    Index(&'a Group),
}

impl<'a> PodKind<'a> {
    /// The group that defines the resources and slots of the ranks in this pod. `None` if no ranks run in it.
    fn rank_group(self, plan: &'a Plan) -> Option<&'a Group> {
        match self {
            Self::Worker(group) | Self::Index(group) => Some(group),
            Self::Launcher => plan.spec.groups.first().filter(|_| plan.spec.launcher.runs_ranks),
        }
    }

    /// Whether this pod may start the ranks.
    fn launches(self) -> bool {
        !matches!(self, Self::Worker(_))
    }

    /// The name of the container, which is also the component in labels.
    fn component(self) -> &'static str {
        if matches!(self, Self::Launcher) { "launcher" } else { "worker" }
    }

    /// Whether sshd runs in this pod.
    fn runs_sshd(self, plan: &Plan) -> bool {
        plan.uses_ssh() && self.rank_group(plan).is_some()
    }

    /// The path of the script that the container runs.
    fn script(self, plan: &Plan) -> &'static str {
        match self {
            Self::Worker(_) => "/etc/khorovod/scripts/worker.sh",
            Self::Launcher => "/etc/khorovod/scripts/launcher.sh",
            Self::Index(_) if plan.shape == Shape::Agents => "/etc/khorovod/scripts/agent.sh",
            Self::Index(_) => "/etc/khorovod/scripts/indexed.sh",
        }
    }
}

/// A pod template.
#[derive(Debug, Serialize)]
pub struct PodTemplate<'a> {
    metadata: Metadata<'a>,
    spec: PodSpec<'a>,
}

#[derive(Debug, Serialize)]
struct Metadata<'a> {
    labels: Map<'a>,
    annotations: Map<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subdomain: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_account_name: Option<Text<'a>>,
    automount_service_account_token: bool,
    enable_service_links: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    restart_policy: Option<&'static str>,
    termination_grace_period_seconds: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduling_group: Option<SchedulingGroup>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_claims: Vec<PodClaim<'a>>,
    #[serde(flatten)]
    placement: placement::Placement<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    image_pull_secrets: Vec<Named<'a>>,
    security_context: security::Pod,
    #[serde(skip_serializing_if = "Option::is_none")]
    init_containers: Option<[container::Container<'a>; 1]>,
    containers: [container::Container<'a>; 1],
    volumes: Vec<volumes::Volume<'a>>,
}

/// The PodGroup of Kubernetes that a pod belongs to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SchedulingGroup {
    pod_group_name: String,
}

/// The seconds that a launcher has after the ranks have saved their checkpoints, to release the GPUs.
const RELEASE_TIME: u32 = 90;
/// After the ranks of a worker have saved their checkpoints, the worker has this many seconds to end the ranks and
/// exit.
const EXIT_TIME: u32 = 30;

/// The pod template of one kind of pod. `files` are the files of the run's ConfigMap.
pub fn template<'a>(plan: &'a Plan, kind: PodKind<'a>, files: &[File]) -> PodTemplate<'a> {
    let spec = &plan.spec;
    let Facts { own_workloads, templates_set_subdomain, templates_set_restart_policy, .. } = *spec.target;
    let is_worker = matches!(kind, PodKind::Worker(_));
    // If no launcher runs, the workers release the GPUs themselves, so they need the account too.
    let has_access = plan.own_job().is_some();
    let own = spec.security.worker_account.as_ref().filter(|_| is_worker);
    let has_access = has_access && own.is_none();
    let account = match own.or(spec.security.service_account.as_ref()) {
        Some(name) => Some(name.into()),
        None => has_access.then(|| plan.stem().into()),
    };
    let (volumes, mounts) = volumes::build(plan, kind, files);
    PodTemplate {
        metadata: metadata(plan, kind),
        spec: PodSpec {
            // Only the pod of the launcher's Job needs a host name here. The controllers of StatefulSets and Indexed
            // Jobs set the host names of their pods. If an operator creates the pods, the operator sets all host names.
            hostname: (own_workloads && matches!(kind, PodKind::Launcher)).then(|| launcher_name(plan)),
            // A StatefulSet sets the subdomain from its `serviceName`.
            subdomain: (templates_set_subdomain && !(own_workloads && is_worker)).then_some(&spec.name),
            service_account_name: account,
            automount_service_account_token: has_access,
            enable_service_links: false,
            restart_policy: match kind.launches() {
                _ if !templates_set_restart_policy => None,
                true => Some("Never"),
                // A StatefulSet allows only its default, `Always`.
                false if own_workloads => None,
                false => Some("OnFailure"),
            },
            // On SIGTERM the ranks first save their checkpoints. An upload of the checkpoints may take the same time
            // again. Then a launcher releases the GPUs before it exits.
            termination_grace_period_seconds: spec.lifecycle.checkpoint.grace_period
                * if plan.uploads().is_empty() { 1 } else { 2 }
                + if kind.launches() { RELEASE_TIME } else { EXIT_TIME },
            scheduling_group: (spec.scheduling.gang == Some(Gang::Native) && !matches!(kind, PodKind::Launcher))
                .then(|| SchedulingGroup { pod_group_name: pod_group::name(plan) }),
            resource_claims: kind.rank_group(plan).map_or_else(Vec::new, |group| resource_claim::of_pod(plan, group)),
            placement: placement::build(plan, kind),
            image_pull_secrets: spec.image.pull_secrets.iter().map(|name| Named { name: name.into() }).collect(),
            security_context: security::pod(&spec.security),
            init_containers: volumes::creates_passwd(files).then(|| [container::passwd(plan, kind)]),
            containers: [container::build(plan, kind, mounts)],
            volumes,
        },
    }
}

/// Adds the annotations from which Kueue reads the topology of a set of pods.
fn kueue_topology<'a>(topology: &'a Topology, annotations: &mut Map<'a>) {
    let Topology { required, preferred, slices, rank_order: _ } = topology;
    for (key, level) in [
        ("kueue.x-k8s.io/podset-required-topology", required.as_ref()),
        ("kueue.x-k8s.io/podset-preferred-topology", preferred.as_ref()),
        ("kueue.x-k8s.io/podset-slice-required-topology", slices.as_ref().map(|slices| &slices.required)),
    ] {
        if let Some(level) = level {
            annotations.set(key, &level.label);
        }
    }
    if let Some(slices) = slices {
        annotations.set("kueue.x-k8s.io/podset-slice-size", slices.size.to_string());
    }
}

/// The labels and annotations of a pod.
fn metadata<'a>(plan: &'a Plan, kind: PodKind<'a>) -> Metadata<'a> {
    let group = kind.rank_group(plan).and_then(|group| group.name.as_deref()).filter(|_| kind.component() == "worker");
    let mut labels = pod_labels(plan, kind.component(), group);
    // A service mesh sidecar would keep running after the launcher exits, and would intercept the traffic between ranks.
    labels.set("sidecar.istio.io/inject", "false");
    // The node proxy of an ambient mesh would also intercept that traffic.
    labels.set("istio.io/dataplane-mode", "none");
    let mut annotations = Map::default()
        .with("sidecar.istio.io/inject", "false")
        .with("linkerd.io/inject", "disabled")
        .with("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")
        .with("karpenter.sh/do-not-disrupt", "true");
    match plan.spec.scheduling.gang {
        // The custom resource defines the gang, so the pods need not refer to a PodGroup.
        _ if plan.spec.target.is_gang => {}
        Some(Gang::Volcano) => annotations.set("scheduling.k8s.io/group-name", pod_group::name(plan)),
        Some(Gang::Coscheduling) => labels.set("scheduling.x-k8s.io/pod-group", pod_group::name(plan)),
        // With `native`, a field of the pod's spec refers to the PodGroup, not a label or an annotation.
        Some(Gang::Native) | None => {}
    }
    let topology = plan.spec.placement.topology.as_ref();
    if let Some(topology) = topology.filter(|_| plan.spec.placer() == Placer::Kueue && kind.rank_group(plan).is_some())
    {
        kueue_topology(topology, &mut annotations);
    }
    Metadata { labels, annotations }
}
