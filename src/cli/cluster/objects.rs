//! The Kubernetes objects of a job, as `kubectl get -o json` prints them, with only the fields that khorovod reads. The main type
//! is [`Objects`].

use std::collections::BTreeMap;

use khorovod::targets;
use serde::{Deserialize, Deserializer};

pub const JOB: &str = "khorovod.dev/job";
pub const RUN: &str = "khorovod.dev/run";
pub const GROUP: &str = "khorovod.dev/group";
pub const COMPONENT: &str = "app.kubernetes.io/component";
/// The label that has the index of a pod of an Indexed Job.
pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The objects of one job or of several.
#[derive(Debug, Default)]
pub struct Objects {
    pub config_maps: Vec<ConfigMap>,
    pub jobs: Vec<Job>,
    pub stateful_sets: Vec<StatefulSet>,
    pub pods: Vec<Pod>,
    pub claims: Vec<Claim>,
    pub events: Vec<Event>,
    /// One phrase for each kind of object that this user may not read.
    pub unreadable: Vec<String>,
}

impl Objects {
    /// The ConfigMap `J-current` of a job, which names its current run.
    pub fn current(&self, job: &str) -> Option<&ConfigMap> {
        self.config_maps.iter().find(|map| map.metadata.name.strip_suffix("-current") == Some(job))
    }

    /// The target of the current run of a job. None if the cluster does not have the job, or the user may not read it.
    pub fn target(&self, job: &str) -> Option<&str> {
        let annotations = &self.current(job)?.metadata.annotations;
        Some(annotations.get("khorovod.dev/target").map_or(targets::PLAIN.name(), String::as_str))
    }

    /// Adds the objects of a list in JSON. Objects of other kinds are ignored. The error is a phrase for a message.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        #[derive(Deserialize)]
        struct List {
            items: Vec<Object>,
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        let list: List = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for object in list.items {
            match object {
                Object::ConfigMap(object) => self.config_maps.push(object),
                Object::Job(object) => self.jobs.push(object),
                Object::StatefulSet(object) => self.stateful_sets.push(object),
                Object::Pod(object) => self.pods.push(object),
                Object::PersistentVolumeClaim(object) => self.claims.push(object),
                Object::Event(object) => self.events.push(object),
                Object::Other => {}
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind")]
enum Object {
    ConfigMap(ConfigMap),
    Job(Job),
    StatefulSet(StatefulSet),
    Pod(Pod),
    PersistentVolumeClaim(Claim),
    Event(Event),
    #[serde(other)]
    Other,
}

/// A time in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub i64);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text} is not a time")))
    }
}

impl Time {
    /// Parses a time as Kubernetes writes it: `2026-11-26T07:00:00Z`, or with a fraction of the second.
    fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let numbers =
            |text: &str, mark| -> Option<Vec<i64>> { text.split(mark).map(|part| part.parse().ok()).collect() };
        let [year, month, day] = numbers(date, '-')?[..] else { return None };
        let [hour, minute, second] = numbers(time.split('.').next()?, ':')?[..] else { return None };
        // Computes the days since 1970. Years are counted from March, so that a leap day is the last day of a year.
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days =
            365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
                - 1
                - 719_468;
        Some(Self(((days * 24 + hour) * 60 + minute) * 60 + second))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metadata {
    pub name: String,
    pub namespace: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub creation_timestamp: Option<Time>,
    pub deletion_timestamp: Option<Time>,
    pub owner_references: Vec<Owner>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Owner {
    pub kind: String,
    pub name: String,
}

impl Metadata {
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ConfigMap {
    pub metadata: Metadata,
    pub data: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Job {
    pub metadata: Metadata,
    pub spec: JobSpec,
    pub status: JobStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JobSpec {
    pub suspend: bool,
    pub completion_mode: Option<String>,
    pub completions: Option<u32>,
    pub template: Template,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JobStatus {
    pub conditions: Vec<Condition>,
    pub start_time: Option<Time>,
    pub completion_time: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Condition {
    pub r#type: String,
    pub status: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub last_transition_time: Option<Time>,
}

/// The condition with the type `name`, if its status is True.
pub fn condition<'a>(conditions: &'a [Condition], name: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.r#type == name && condition.status == "True")
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatefulSet {
    pub metadata: Metadata,
    pub spec: StatefulSetSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatefulSetSpec {
    pub replicas: Option<u32>,
    pub template: Template,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Template {
    pub spec: PodSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    pub metadata: Metadata,
    pub spec: PodSpec,
    pub status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    pub node_name: Option<String>,
    pub containers: Vec<Container>,
    pub scheduling_gates: Vec<Named>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Named {
    pub name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Container {
    pub name: String,
    pub command: Vec<String>,
    pub resources: Resources,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resources {
    pub limits: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    pub phase: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub conditions: Vec<Condition>,
    pub start_time: Option<Time>,
    pub init_container_statuses: Vec<ContainerStatus>,
    pub container_statuses: Vec<ContainerStatus>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    pub name: String,
    pub restart_count: u32,
    pub state: ContainerState,
    pub last_state: ContainerState,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    pub waiting: Option<Waiting>,
    pub running: Option<Running>,
    pub terminated: Option<Terminated>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Waiting {
    pub reason: Option<String>,
    pub message: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Running {
    pub started_at: Option<Time>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Terminated {
    pub exit_code: i32,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub finished_at: Option<Time>,
}

impl Terminated {
    /// Why the container ended: the last line of its message, or else its exit code and the kubelet's reason. If the
    /// container failed and wrote no message, the kubelet uses the end of the log as the message.
    pub fn text(&self) -> String {
        let lines = self.message.as_deref().unwrap_or_default().lines().rev();
        let message = lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
        let reason = self.reason.as_deref().filter(|reason| *reason != "Error");
        match (message.char_indices().nth(600), reason) {
            (Some((at, _)), _) => format!("{}…", &message[..at]),
            (None, _) if !message.is_empty() => message,
            (None, Some(reason)) => format!("exit code {}, {reason}", self.exit_code),
            (None, None) => format!("exit code {}", self.exit_code),
        }
    }
}

impl Pod {
    /// Whether the main container has started, so that the pod has a log.
    pub fn has_started(&self) -> bool {
        self.container().is_some_and(|status| {
            let has_run = |state: &ContainerState| state.running.is_some() || state.terminated.is_some();
            has_run(&status.state) || has_run(&status.last_state)
        })
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.status.phase.as_str(), "Succeeded" | "Failed")
    }

    pub fn is_ready(&self) -> bool {
        condition(&self.status.conditions, "Ready").is_some()
            && self.metadata.deletion_timestamp.is_none()
            && !self.has_ended()
    }

    /// The status of the main container, which is the first one in the pod. Other containers are sidecars.
    pub fn container(&self) -> Option<&ContainerStatus> {
        let name = self.spec.containers.first().map(|container| &container.name);
        self.status.container_statuses.iter().find(|status| Some(&status.name) == name)
    }

    pub fn running_since(&self) -> Option<Time> {
        self.container()?.state.running.as_ref().map(|running| running.started_at.unwrap_or(Time(0)))
    }

    /// How the container ended, unless it runs again.
    pub fn terminated(&self) -> Option<&Terminated> {
        self.container()?.state.terminated.as_ref()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Claim {
    pub metadata: Metadata,
    pub spec: ClaimSpec,
    pub status: ClaimStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimSpec {
    pub storage_class_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimStatus {
    pub phase: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Event {
    pub involved_object: Involved,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub last_timestamp: Option<Time>,
    pub event_time: Option<Time>,
    pub metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Involved {
    pub kind: String,
    pub name: String,
}

impl Event {
    pub fn time(&self) -> Time {
        self.last_timestamp.or(self.event_time).or(self.metadata.creation_timestamp).unwrap_or(Time(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let parse = |text| Time::parse(text).map(|time| time.0);
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2000-02-29T23:59:59Z"), Some(951_868_799));
        assert_eq!(parse("2026-11-26T07:00:00Z"), Some(1_795_676_400));
        assert_eq!(parse("2026-11-26T07:00:00.123456Z"), Some(1_795_676_400));
        assert_eq!((parse("2026-11-26"), parse("2026-11-26T07:00Z"), parse("")), (None, None, None));
    }

    #[test]
    fn a_list_may_have_unknown_kinds_and_empty_fields() {
        let mut objects = Objects::default();
        objects
            .add(
                r#"{"kind": "List", "items": [{"kind": "Role", "metadata": {"name": "a"}}, {"kind": "Pod", "status": {}},
                {"kind": "Event", "eventTime": null, "lastTimestamp": "2026-11-26T07:00:00Z", "involvedObject": {}}]}"#,
            )
            .unwrap();
        assert_eq!((objects.pods.len(), objects.events.len(), objects.jobs.len()), (1, 1, 0));
        assert_eq!(objects.events[0].time(), Time(1_795_676_400));
        objects.add("").unwrap();
        assert!(objects.add("no JSON").is_err());
    }
}
