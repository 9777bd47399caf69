//! The pod of each part of a job: workers, launcher, or the pods of one Indexed Job.
//!
//! What stands here starts a new run when it changes, so nothing here may name a version, a
//! label of the user or a limit in time.

mod container;
mod placement;
mod security;
mod volumes;

use serde::Serialize;

use super::meta::launcher_name;
use super::meta::{Map, Named, Text, pod_labels};
use super::{File, pod_group};
use crate::job::Facts;
use crate::job::valid::{Gang, Group};
use crate::plan::{Plan, Shape};

/// Whose pod it is.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// A worker of a `StatefulSet`.
    Worker(&'a Group),
    /// The launcher beside `StatefulSets`.
    Launcher,
    /// A pod of the Indexed Job; index 0 also launches.
    Index(&'a Group),
}

impl<'a> Part<'a> {
    /// The group as which its ranks run; none where none run here.
    fn ranks(self, plan: &'a Plan) -> Option<&'a Group> {
        match self {
            Self::Worker(group) | Self::Index(group) => Some(group),
            Self::Launcher => plan.spec.groups.first().filter(|_| plan.spec.launcher.runs_ranks),
        }
    }

    fn launches(self) -> bool {
        !matches!(self, Self::Worker(_))
    }

    /// The name of the container, and the component in labels.
    fn name(self) -> &'static str {
        if matches!(self, Self::Launcher) { "launcher" } else { "worker" }
    }

    /// Whether sshd runs here.
    fn serves(self, plan: &Plan) -> bool {
        plan.uses_ssh() && self.ranks(plan).is_some()
    }

    fn script(self, plan: &Plan) -> &'static str {
        match self {
            Self::Worker(_) => "/etc/khorovod/scripts/worker.sh",
            Self::Launcher => "/etc/khorovod/scripts/launcher.sh",
            Self::Index(_) if plan.shape == Shape::Torchrun => "/etc/khorovod/scripts/torchrun.sh",
            Self::Index(_) => "/etc/khorovod/scripts/indexed.sh",
        }
    }
}

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

/// The pods of one part.
pub fn template<'a>(plan: &'a Plan, part: Part<'a>, files: &[File]) -> PodTemplate<'a> {
    let spec = &plan.spec;
    let Facts { own_workloads: by_us, templates_set_subdomain, templates_set_restart_policy, .. } = *spec.target;
    let is_worker = matches!(part, Part::Worker(_));
    let scales = plan.scales() && part.launches();
    let account = match &spec.security.service_account {
        Some(theirs) => Some(theirs.into()),
        None => scales.then(|| plan.stem().into()),
    };
    let (volumes, mounts) = volumes::build(plan, part, files);
    PodTemplate {
        metadata: metadata(plan, part),
        spec: PodSpec {
            // The controllers of StatefulSets and Indexed Jobs name their pods' hosts themselves, and operators all.
            hostname: (by_us && matches!(part, Part::Launcher)).then(|| launcher_name(plan)),
            // A StatefulSet names it in its own spec.
            subdomain: (templates_set_subdomain && !(by_us && is_worker)).then_some(&spec.name),
            service_account_name: account,
            automount_service_account_token: scales,
            enable_service_links: false,
            restart_policy: match part.launches() {
                _ if !templates_set_restart_policy => None,
                true => Some("Never"),
                // A StatefulSet allows no other than its default.
                false if by_us => None,
                false => Some("OnFailure"),
            },
            // A launcher gives the GPUs back before it goes; a worker goes at once.
            termination_grace_period_seconds: if part.launches() { 120 } else { 30 },
            placement: placement::build(plan, part),
            image_pull_secrets: spec.image.pull_secrets.iter().map(|name| Named { name: name.into() }).collect(),
            security_context: security::pod(&spec.security),
            init_containers: volumes::makes_passwd(files).then(|| [container::passwd(plan, part)]),
            containers: [container::build(plan, part, mounts)],
            volumes,
        },
    }
}

fn metadata<'a>(plan: &'a Plan, part: Part<'a>) -> Metadata<'a> {
    let group = part.ranks(plan).and_then(|group| group.name.as_deref()).filter(|_| part.name() == "worker");
    let mut labels = pod_labels(plan, part.name(), group);
    // A sidecar would outlive the launcher and stand between the ranks.
    labels.set("sidecar.istio.io/inject", "false");
    let mut annotations = Map::default()
        .with("sidecar.istio.io/inject", "false")
        .with("linkerd.io/inject", "disabled")
        .with("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")
        .with("karpenter.sh/do-not-disrupt", "true");
    match plan.spec.scheduling.gang {
        // Then the pods' group is the job itself.
        _ if plan.spec.target.is_gang => {}
        Some(Gang::Volcano) => annotations.set("scheduling.k8s.io/group-name", pod_group::name(plan)),
        Some(Gang::Coscheduling) => labels.set("scheduling.x-k8s.io/pod-group", pod_group::name(plan)),
        None => {}
    }
    Metadata { labels, annotations }
}
