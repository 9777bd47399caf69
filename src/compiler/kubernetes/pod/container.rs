//! The one container of a pod.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::volumes::{self, Mount};
use super::{Part, security};
use crate::job::quantity::Quantity;
use crate::job::valid::{EnvFromSource, EnvValue, EnvVar, Resources};
use crate::kubernetes::meta::{Named, Text};
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
    value: Option<&'a str>,
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
    Field { field_path: &'a str },
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
    /// Said where the API server would add it to a list that it compares as one: in custom resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'static str>,
}

/// So many workers that start at once keep kubelets and the API server busy.
const MANY: u32 = 8;

/// Whether the ssh port takes a connection: a command in the container would cost more, and
/// Kubernetes' own connection costs none of a busy worker's time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    tcp_socket: TcpSocket,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_delay_seconds: Option<u8>,
    period_seconds: u8,
    timeout_seconds: u8,
    failure_threshold: u8,
}

#[derive(Debug, Serialize)]
struct TcpSocket {
    port: &'static str,
}

#[derive(Debug, Serialize)]
struct Amounts<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "as_map")]
    requests: &'a [(String, Quantity)],
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "as_map")]
    limits: &'a [(String, Quantity)],
}

fn as_map<S: Serializer>(pairs: &&[(String, Quantity)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(pairs.len()))?;
    for (key, value) in *pairs {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

pub fn build<'a>(plan: &'a Plan, part: Part<'a>, mounts: Vec<Mount<'a>>) -> Container<'a> {
    let spec = &plan.spec;
    let ranks = part.ranks(plan);
    let launcher = matches!(part, Part::Launcher);
    let serves = part.serves(plan);
    let ssh = |initial_delay_seconds, period_seconds, failure_threshold| Probe {
        tcp_socket: TcpSocket { port: "ssh" },
        initial_delay_seconds,
        period_seconds,
        timeout_seconds: 5,
        failure_threshold,
    };
    let metrics = spec.observability.metrics.as_ref().filter(|_| ranks.is_some());
    let protocol = (!spec.target.own_workloads).then_some("TCP");
    Container {
        name: part.name(),
        image: spec.launcher.image.as_ref().filter(|_| launcher).unwrap_or(&spec.image.reference),
        image_pull_policy: spec.image.pull_policy,
        command: ["/bin/bash", part.script(plan)],
        working_dir: spec.workdir.as_deref(),
        env: env(plan, part),
        env_from: spec.env_from.iter().map(env_from).collect(),
        ports: [serves.then_some(("ssh", spec.ssh.port)), metrics.map(|metrics| ("metrics", metrics.port))]
            .into_iter()
            .flatten()
            .map(|(name, container_port)| Port { name, container_port, protocol })
            .collect(),
        // Many are not asked while they start: the launcher asks just then, and does not go by this.
        readiness_probe: serves.then(|| ssh((plan.workers > MANY).then_some(3), 2, 3)),
        // A worker without sshd is of no use; five minutes forgive any load, but no download.
        liveness_probe: (matches!(part, Part::Worker(_)) && !plan.has_s3()).then(|| ssh(Some(30), 30, 10)),
        resources: amounts(ranks.map_or(&spec.launcher.resources, |group| &group.resources)),
        security_context: security::container(&spec.security, ranks.is_some_and(|group| group.rdma)),
        termination_message_policy: "FallbackToLogsOnError",
        volume_mounts: mounts,
    }
}

/// Makes the passwd file where the platform chooses the user id.
pub fn passwd<'a>(plan: &'a Plan, part: Part<'a>) -> Container<'a> {
    Container {
        name: "passwd",
        command: ["/bin/bash", "/etc/khorovod/scripts/passwd.sh"],
        working_dir: None,
        env: Vec::new(),
        env_from: Vec::new(),
        ports: Vec::new(),
        readiness_probe: None,
        liveness_probe: None,
        // As much as the pod has anyway, so that it stays Guaranteed and no quota refuses it.
        ..build(plan, part, volumes::for_passwd())
    }
}

fn amounts(resources: &Resources) -> Option<Amounts<'_>> {
    let Resources { requests, limits } = resources;
    (!requests.is_empty() || !limits.is_empty()).then_some(Amounts { requests, limits })
}

/// Ours before the user's, and none of ours that the user sets.
fn env<'a>(plan: &'a Plan, part: Part) -> Vec<Env<'a>> {
    let theirs = &plan.spec.env;
    let runs_ranks = part.ranks(plan).is_some();
    // An Indexed Job sets this variable itself.
    let index = plan.spec.target.pod_index.filter(|_| matches!(part, Part::Index(_))).map(|field_path| Env {
        name: "JOB_COMPLETION_INDEX",
        value: None,
        value_from: Some(ValueFrom::Field { field_path }),
    });
    // CUDA images ask for all GPUs where nothing says otherwise.
    let blind: &[_] = if runs_ranks { &[] } else { &[("NVIDIA_VISIBLE_DEVICES", "void")] };
    let planned = plan.env.iter().map(|(name, value)| (&**name, &**value));
    let ours = blind
        .iter()
        .copied()
        .chain(planned)
        .filter(|(name, _)| theirs.iter().all(|var| var.name != *name))
        .map(|(name, value)| Env { name, value: Some(value), value_from: None });
    let mut env = Vec::with_capacity(plan.env.len() + theirs.len() + 2);
    env.extend(ours.chain(index).chain(theirs.iter().map(their_env)));
    env
}

fn their_env(var: &EnvVar) -> Env<'_> {
    let (value, value_from) = match &var.value {
        // The API server drops an empty value, and every apply would seem to change the pods.
        EnvValue::Text(text) => (Some(text.as_str()).filter(|text| !text.is_empty()), None),
        EnvValue::Secret { name, key } => (None, Some(ValueFrom::Secret { name, key })),
        EnvValue::ConfigMap { name, key } => (None, Some(ValueFrom::ConfigMap { name, key })),
        EnvValue::Field(path) => (None, Some(ValueFrom::Field { field_path: path })),
    };
    Env { name: &var.name, value, value_from }
}

fn env_from(from: &crate::job::valid::EnvFrom) -> EnvFrom<'_> {
    let source = |name| Source { named: Named { name: Text::Borrowed(name) }, optional: from.optional };
    let (secret_ref, config_map_ref) = match &from.source {
        EnvFromSource::Secret(name) => (Some(source(name)), None),
        EnvFromSource::ConfigMap(name) => (None, Some(source(name))),
    };
    EnvFrom { prefix: from.prefix.as_deref(), secret_ref, config_map_ref }
}
