//! Builds the container of a pod, and the init container that creates `/etc/passwd` on OpenShift. See [`build`].

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::volumes::{self, Mount};
use super::{PodKind, security};
use crate::job::quantity::Quantity;
use crate::job::valid::{EnvFromSource, EnvValue, EnvVar, Resources};
use crate::kubernetes::meta::{Entry, Named, Text};
use crate::kubernetes::resource_claim::{self, PodClaim};
use crate::plan::Plan;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Container<'a> {
    name: &'static str,
    image: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_pull_policy: Option<&'static str>,
    command: [&'static str; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    working_dir: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<Env<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env_from: Vec<EnvFrom<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ports: Vec<Port>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readiness_probe: Option<Probe>,
    #[serde(skip_serializing_if = "Option::is_none")]
    liveness_probe: Option<Probe>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Amounts<'a>>,
    security_context: security::Container,
    termination_message_policy: &'static str,
    volume_mounts: Vec<Mount<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Env<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_from: Option<ValueFrom<'a>>,
}

#[derive(Debug, Serialize)]
enum ValueFrom<'a> {
    #[serde(rename = "secretKeyRef")]
    Secret { name: &'a str, key: &'a str },
    #[serde(rename = "configMapKeyRef")]
    ConfigMap { name: &'a str, key: &'a str },
    #[serde(rename = "fieldRef", rename_all = "camelCase")]
    Field { api_version: &'static str, field_path: &'a str },
}

impl<'a> ValueFrom<'a> {
    /// With the version that Kubernetes fills in: the reference is replaced as a whole, and an upgrade with Helm 4.0 fails if it
    /// differs from the reference in the cluster.
    fn field(field_path: &'a str) -> Self {
        Self::Field { api_version: "v1", field_path }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EnvFrom<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_ref: Option<Source<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_map_ref: Option<Source<'a>>,
}

#[derive(Debug, Serialize)]
struct Source<'a> {
    #[serde(flatten)]
    named: Named<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    name: &'static str,
    container_port: u16,
    /// Set only in custom resources. There, the API server compares the list of ports as a whole, so every apply would
    /// show a change without this default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'static str>,
}

/// With more workers than this, probes during the start would load the kubelets and the API server.
const MANY_WORKERS: u32 = 8;

/// A probe of a container.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    #[serde(flatten)]
    method: Method,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_delay_seconds: Option<u8>,
    period_seconds: u8,
    timeout_seconds: u8,
    failure_threshold: u8,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Method {
    /// Connects to a port. Unlike a command, this starts no process in the container, so it takes no CPU time from the
    /// training.
    TcpSocket(Entry<&'static str>),
    Exec(Command),
}

#[derive(Debug, Serialize)]
struct Command {
    command: [&'static str; 2],
}

/// The liveness probe of a pod with `launcher.sh` or `agent.sh`. It runs `alive.sh`, which fails if the script of the pod
/// hangs. If the probe has failed for two minutes, the kubelet ends the container. A shorter time could end a training on a
/// busy node, which may start the command of the probe late. The probe has no grace period of its own, because Kubernetes
/// ignores such a period in pods that never restart.
const SCRIPT_PROBE: Probe = Probe {
    method: Method::Exec(Command { command: ["/bin/bash", "/etc/khorovod/scripts/alive.sh"] }),
    initial_delay_seconds: None,
    period_seconds: 30,
    timeout_seconds: 30,
    failure_threshold: 4,
};

#[derive(Debug, Serialize)]
struct Amounts<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "as_map")]
    requests: &'a [(String, Quantity)],
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "as_map")]
    limits: &'a [(String, Quantity)],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<Named<'a>>,
}

/// Serializes pairs as a map.
fn as_map<S: Serializer>(pairs: &&[(String, Quantity)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (key, value) in *pairs {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// The container of a kind of pod.
pub fn build<'a>(plan: &'a Plan, kind: PodKind<'a>, mounts: Vec<Mount<'a>>) -> Container<'a> {
    let spec = &plan.spec;
    let rank_group = kind.rank_group(plan);
    let is_launcher = matches!(kind, PodKind::Launcher);
    let runs_sshd = kind.runs_sshd(plan);
    let ssh_probe = |initial_delay_seconds, period_seconds, failure_threshold| Probe {
        method: Method::TcpSocket(Entry("port", "ssh")),
        initial_delay_seconds,
        period_seconds,
        timeout_seconds: 5,
        failure_threshold,
    };
    let metrics = spec.observability.metrics.as_ref().filter(|_| rank_group.is_some());
    let status = spec.observability.launcher_metrics.as_ref().filter(|_| kind.launches());
    let protocol = (!spec.target.own_workloads).then_some("TCP");
    Container {
        name: kind.component(),
        image: spec.launcher.image.as_ref().filter(|_| is_launcher).unwrap_or(&spec.image.reference),
        image_pull_policy: spec.image.pull_policy,
        command: ["/bin/bash", kind.script(plan)],
        working_dir: spec.working_dir.as_deref(),
        env: env(plan, kind),
        env_from: spec.env_from.iter().map(env_from).collect(),
        ports: [
            runs_sshd.then_some(("ssh", spec.ssh.port)),
            metrics.map(|metrics| ("metrics", metrics.port)),
            status.map(|metrics| ("status", metrics.port)),
        ]
        .into_iter()
        .flatten()
        .map(|(name, container_port)| Port { name, container_port, protocol })
        .collect(),
        // If there are many workers, the first probe comes after a few seconds. This does not delay the launcher, which connects to
        // the workers itself and does not wait until they are Ready.
        readiness_probe: runs_sshd.then(|| ssh_probe((plan.workers > MANY_WORKERS).then_some(3), 2, 3)),
        // Restart a worker whose sshd does not answer for five minutes. A worker that downloads data has no such probe, because
        // its download may take longer than five minutes.
        liveness_probe: match kind.launches() {
            true => Some(SCRIPT_PROBE),
            false => (plan.uploads().is_empty() && !spec.has_downloads()).then(|| ssh_probe(Some(30), 30, 10)),
        },
        resources: amounts(
            rank_group.map_or(&spec.launcher.resources, |group| &group.resources),
            rank_group.map_or_else(Vec::new, |group| resource_claim::of_pod(plan, group)),
        ),
        security_context: security::container(&spec.security, rank_group.is_some_and(|group| group.rdma)),
        termination_message_policy: "FallbackToLogsOnError",
        volume_mounts: mounts,
    }
}

/// The init container that creates `/etc/passwd`, for platforms such as OpenShift that choose the user id.
pub fn passwd<'a>(plan: &'a Plan, kind: PodKind<'a>) -> Container<'a> {
    Container {
        name: "passwd",
        command: ["/bin/bash", "/etc/khorovod/scripts/passwd.sh"],
        working_dir: None,
        env: Vec::new(),
        env_from: Vec::new(),
        ports: Vec::new(),
        readiness_probe: None,
        liveness_probe: None,
        // The resources are those of the main container, so that the QoS class stays Guaranteed and a ResourceQuota accepts
        // the pod.
        ..build(plan, kind, volumes::passwd_mounts())
    }
}

/// The requests, limits and claims; `None` if there are none.
fn amounts<'a>(resources: &'a Resources, claims: Vec<PodClaim<'a>>) -> Option<Amounts<'a>> {
    let Resources { requests, limits } = resources;
    let claims: Vec<_> = claims.into_iter().map(|claim| Named { name: claim.name.into() }).collect();
    let is_empty = requests.is_empty() && limits.is_empty() && claims.is_empty();
    (!is_empty).then_some(Amounts { requests, limits, claims })
}

/// Variables with which the scripts and the ranks identify their pod and its node.
const OWN_FIELDS: [(&str, &str); 3] =
    [("KHOROVOD_POD_UID", "metadata.uid"), ("KHOROVOD_POD_IP", "status.podIP"), ("KHOROVOD_NODE_IP", "status.hostIP")];

/// Variables with the labels that Kubernetes 1.35 and newer copies from the node to the pod.
const POD_DOMAINS: [(&str, &str); 2] = [
    ("KHOROVOD_ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
    ("KHOROVOD_REGION", "metadata.labels['topology.kubernetes.io/region']"),
];

/// The environment: the generated variables, then those of the user. A generated variable that the user sets is left out.
fn env<'a>(plan: &'a Plan, kind: PodKind) -> Vec<Env<'a>> {
    let user_env = &plan.spec.env;
    let runs_ranks = kind.rank_group(plan).is_some();
    // Kubernetes sets `JOB_COMPLETION_INDEX` in the pods of an Indexed Job. If a target has no Indexed Job, the
    // variable gets the value of an annotation of the pod.
    let index = plan.spec.target.pod_index.filter(|_| matches!(kind, PodKind::Index(_))).map(|field_path| Env {
        name: "JOB_COMPLETION_INDEX",
        value: None,
        value_from: Some(ValueFrom::field(field_path)),
    });
    // Uploads are marked with the uid of the Job, so that the next pod of the Job continues from them. The label `controller-uid`
    // contains the uid in every version of Kubernetes.
    let launches = !matches!(kind, PodKind::Worker(_)) && !plan.uploads().is_empty();
    let job_field = launches.then_some(("KHOROVOD_JOB_UID", "metadata.labels['controller-uid']"));
    let levels =
        plan.spec.placement.topology.as_ref().filter(|topology| runs_ranks && !topology.sorting_levels().is_empty());
    let place = levels.into_iter().flat_map(|topology| match topology.reads_nodes() {
        true => &[("KHOROVOD_NODE_NAME", "spec.nodeName")][..],
        false => &POD_DOMAINS,
    });
    // With hostNetwork, the host name of a worker is that of its node.
    let passes_on = matches!(kind, PodKind::Worker(_)) && plan.spec.has_downloads();
    let pod_name = passes_on.then_some(("KHOROVOD_POD_NAME", "metadata.name"));
    let own_fields =
        OWN_FIELDS.iter().chain(place).copied().chain(job_field).chain(pod_name).map(|(name, field_path)| Env {
            name,
            value: None,
            value_from: Some(ValueFrom::field(field_path)),
        });
    // CUDA images request all GPUs by default. A pod without ranks must not get any.
    let no_gpus: &[_] = if runs_ranks { &[] } else { &[("NVIDIA_VISIBLE_DEVICES", "void")] };
    let planned = plan.env.iter().map(|(name, value)| (&**name, &**value));
    let generated = no_gpus
        .iter()
        .copied()
        .chain(planned)
        .filter(|(name, _)| user_env.iter().all(|var| var.name != *name))
        .map(|(name, value)| Env { name, value: Some(literal(value)), value_from: None });
    let mut env = Vec::with_capacity(plan.env.len() + user_env.len() + 5);
    env.extend(generated.chain(own_fields).chain(index).chain(user_env.iter().map(user_variable)));
    env
}

/// A variable of the user.
fn user_variable(var: &EnvVar) -> Env<'_> {
    let (value, value_from) = match &var.value {
        // The API server drops an empty value, so if an object had one, every apply would show a change.
        EnvValue::Text(text) => (Some(literal(text)).filter(|text| !text.is_empty()), None),
        EnvValue::Secret { name, key } => (None, Some(ValueFrom::Secret { name, key })),
        EnvValue::ConfigMap { name, key } => (None, Some(ValueFrom::ConfigMap { name, key })),
        EnvValue::Field(path) => (None, Some(ValueFrom::field(path))),
    };
    Env { name: &var.name, value, value_from }
}

/// Escapes a value, so that it reaches the container unchanged: Kubernetes replaces `$(NAME)` by the value of a
/// variable, and `$$` by `$`.
fn literal(value: &str) -> Text<'_> {
    match value.contains("$(") || value.contains("$$") {
        true => Text::Owned(value.replace('$', "$$")),
        false => Text::Borrowed(value),
    }
}

fn env_from(from: &crate::job::valid::EnvFrom) -> EnvFrom<'_> {
    let source = |name| Source { named: Named { name: Text::Borrowed(name) }, optional: from.optional };
    let (secret_ref, config_map_ref) = match &from.source {
        EnvFromSource::Secret(name) => (Some(source(name)), None),
        EnvFromSource::ConfigMap(name) => (None, Some(source(name))),
    };
    EnvFrom { prefix: from.prefix.as_deref(), secret_ref, config_map_ref }
}
