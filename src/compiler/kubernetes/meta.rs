//! The metadata of objects: names, labels, annotations and label selectors.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::plan::Plan;

/// A string that is borrowed from the plan, static, or created here.
pub type Text<'a> = Cow<'a, str>;

pub const JOB: &str = "khorovod.dev/job";
pub const RUN: &str = "khorovod.dev/run";
/// The annotation that holds the document from which a job was rendered, as compact JSON.
pub const SPEC: &str = "khorovod.dev/spec";
/// The annotation with the reason why [`SPEC`] is missing.
pub const SPEC_OMITTED: &str = "khorovod.dev/spec-omitted";
/// The annotation that names the target of the current run. Plain objects do not have it.
pub const TARGET: &str = "khorovod.dev/target";
/// The label with the namespace of a job, on objects outside of namespaces.
pub const NAMESPACE: &str = "khorovod.dev/namespace";
pub const GROUP: &str = "khorovod.dev/group";
const NAME: &str = "app.kubernetes.io/name";
pub const COMPONENT: &str = "app.kubernetes.io/component";

/// A small map that keeps the order of insertion.
#[derive(Debug, Clone, Default)]
pub struct Map<'a>(Vec<(Text<'a>, Text<'a>)>);

impl<'a> Map<'a> {
    fn with_capacity(entries: usize) -> Self {
        Self(Vec::with_capacity(entries))
    }

    /// Sets a key. An existing key keeps its position.
    pub fn set(&mut self, key: impl Into<Text<'a>>, value: impl Into<Text<'a>>) {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(other, _)| *other == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }

    #[must_use]
    pub fn with(mut self, key: impl Into<Text<'a>>, value: impl Into<Text<'a>>) -> Self {
        self.set(key, value);
        self
    }

    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(other, _)| other != key);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a, K: Into<Text<'a>>, V: Into<Text<'a>>> FromIterator<(K, V)> for Map<'a> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl Serialize for Map<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Debug, Serialize)]
pub struct Metadata<'a> {
    pub name: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub labels: Map<'a>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<'a>,
}

impl<'a> Metadata<'a> {
    /// The metadata of an object that belongs to the job and is shared by its runs.
    pub fn of_job(plan: &'a Plan, name: impl Into<Text<'a>>) -> Self {
        let spec = &plan.spec;
        let mut labels = Map::with_capacity(spec.labels.len() + 6);
        labels.0.extend(spec.labels.iter().map(|(key, value)| (key.into(), value.into())));
        labels.set(NAME, &spec.name);
        labels.set("app.kubernetes.io/managed-by", "khorovod");
        labels.set(JOB, &spec.name);
        Self {
            name: name.into(),
            namespace: spec.namespace.as_deref(),
            labels,
            annotations: spec.annotations.iter().map(|(key, value)| (key, value)).collect(),
        }
    }

    /// The metadata of an object that belongs to one run.
    pub fn of_run(plan: &'a Plan, name: impl Into<Text<'a>>) -> Self {
        let mut metadata = Self::of_job(plan, name);
        metadata.labels.set(RUN, &plan.run);
        metadata
    }

    /// Adds the labels of Kueue to a workload.
    pub fn queue(&mut self, plan: &'a Plan) {
        let scheduling = &plan.spec.scheduling;
        if let Some(queue) = &scheduling.local_queue {
            self.labels.set("kueue.x-k8s.io/queue-name", queue);
            if let Some(class) = &scheduling.workload_priority_class {
                self.labels.set("kueue.x-k8s.io/priority-class", class);
            }
        }
    }

    #[must_use]
    pub fn component(mut self, component: &'static str) -> Self {
        self.labels.set(COMPONENT, component);
        self
    }

    #[must_use]
    pub fn annotate(mut self, key: &'static str, value: impl Into<Text<'a>>) -> Self {
        self.annotations.set(key, value);
        self
    }
}

/// Selects the pods of all runs of the job.
pub fn job_pods(plan: &Plan) -> Selector<'_> {
    Selector { match_labels: Map::default().with(JOB, &plan.spec.name) }
}

/// Selects the pods of one component of the run, and of one group if `group` is set.
pub fn run_pods<'a>(plan: &'a Plan, component: &'a str, group: Option<&'a str>) -> Selector<'a> {
    let mut labels = Map::with_capacity(4).with(JOB, &plan.spec.name).with(RUN, &plan.run).with(COMPONENT, component);
    if let Some(group) = group {
        labels.set(GROUP, group);
    }
    Selector { match_labels: labels }
}

/// The labels of a pod. The labels of the user are left out, because a changed label must not start a new run.
pub fn pod_labels<'a>(plan: &'a Plan, component: &'static str, group: Option<&'a str>) -> Map<'a> {
    let mut labels = Map::with_capacity(8).with(NAME, &plan.spec.name);
    for (key, value) in run_pods(plan, component, group).match_labels.0 {
        labels.set(key, value);
    }
    labels
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selector<'a> {
    pub match_labels: Map<'a>,
}

/// A map with one entry.
#[derive(Debug)]
pub struct Entry<V>(pub &'static str, pub V);

impl<V: Serialize> Serialize for Entry<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, &self.1)])
    }
}

/// A reference by name.
#[derive(Debug, Serialize)]
pub struct Named<'a> {
    pub name: Text<'a>,
}

/// The name of the Job of the launcher, `<job>-<run>-launcher`.
pub fn launcher_name<'a>(plan: &Plan) -> Text<'a> {
    [&plan.spec.name, "-", &plan.run, "-launcher"].concat().into()
}
