//! The course of a run as a timeline: what happens from `kubectl apply` until the run holds no GPU, and how a fault during
//! this time changes it.
//!
//! This is a side branch of the pipeline. [`Facts`] are the facts that a timeline depends on; [`Timeline::new`]
//! computes one [`Timeline`] per [`Scenario`]. All times are from `times.txt`, which the bounds of the chaos bench also
//! read, or from the spec.

mod facts;
mod faults;
mod stops;
mod story;
mod times;

use serde::Serialize;

use crate::problem::count;

pub use facts::{Facts, Pods};
pub use times::Source;

/// An event in the course of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Scenario {
    /// The training ends by itself.
    Nothing,
    /// The node of a worker fails.
    WorkerNode,
    /// The node of the pod that starts the ranks fails.
    LauncherNode,
    /// A rank exits with an error.
    Crash,
    /// A rank hangs.
    Hang,
    /// A worker is evicted, with notice.
    Eviction,
    /// The run reaches its deadline.
    Deadline,
    /// A spec that starts a new run is applied.
    Change,
}

impl Scenario {
    /// All scenarios, in the order in which a page lists them.
    pub const ALL: [Self; 8] = [
        Self::Nothing,
        Self::WorkerNode,
        Self::LauncherNode,
        Self::Crash,
        Self::Hang,
        Self::Eviction,
        Self::Deadline,
        Self::Change,
    ];

    /// The scenarios of a job. An interactive session has fewer, because people start the commands in it and react to
    /// faults.
    pub fn of(facts: &Facts) -> Vec<Self> {
        let is_session = |one: &Self| matches!(one, Self::Nothing | Self::Deadline | Self::Change);
        Self::ALL.into_iter().filter(|one| !facts.interactive || is_session(one)).collect()
    }

    /// Its name in JSON and in links.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::WorkerNode => "workerNode",
            Self::LauncherNode => "launcherNode",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Eviction => "eviction",
            Self::Deadline => "deadline",
            Self::Change => "change",
        }
    }

    /// The label of the button that selects the scenario.
    pub fn label(self, facts: &Facts) -> &'static str {
        match self {
            Self::LauncherNode if facts.pods != Pods::Launcher => "Lose pod 0",
            Self::Nothing => "Nothing fails",
            Self::WorkerNode => "Lose a worker",
            Self::LauncherNode => "Lose the launcher",
            Self::Crash => "Crash a rank",
            Self::Hang => "Hang a rank",
            Self::Eviction => "Evict a worker",
            Self::Deadline => "Pass the deadline",
            Self::Change => "Apply a change",
        }
    }

    /// The name of the fault in the chaos bench.
    pub fn fault(self) -> Option<&'static str> {
        match self {
            Self::WorkerNode => Some("worker-node"),
            Self::LauncherNode => Some("launcher-node"),
            Self::Crash => Some("rank-crashed"),
            Self::Hang => Some("rank-stopped"),
            Self::Eviction => Some("eviction"),
            Self::Nothing | Self::Deadline | Self::Change => None,
        }
    }
}

/// The course of a run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Timeline {
    /// The event that it shows.
    pub scenario: Scenario,
    /// The result, as a sentence.
    pub headline: String,
    /// The costs of the result, and the fields that change it, one sentence each. Code is in backquotes.
    pub notes: Vec<String>,
    /// The unit of what the run holds: `GPU`, or `pod` if it has no GPUs.
    pub unit: &'static str,
    /// The pods. Pods that do the same share a lane.
    pub lanes: Vec<Lane>,
    /// The phases, without gaps. The last one is the state in which the run stays.
    pub phases: Vec<Phase>,
    /// The index of the phase that begins with the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<usize>,
    /// The index of the phase in which the ranks train again after the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<usize>,
}

/// Pods that do the same.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "TimelineLane"))]
#[non_exhaustive]
pub struct Lane {
    /// Their name: `worker 1`, `14 workers`.
    pub name: String,
    /// How much they hold while they run, in the timeline's unit.
    pub holds: u32,
}

/// A phase of a run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Phase {
    /// The purpose of the phase.
    pub kind: Kind,
    /// One to four words.
    pub title: String,
    /// The events of the phase. Code is in backquotes.
    pub text: String,
    /// The seconds from `kubectl apply` until it begins, if it begins by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// Its length in seconds; absent if it does not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The origin of the length.
    pub source: Source,
    /// Why it takes so long. Code is in backquotes.
    pub reason: String,
    /// The lines that the log of the launcher gets.
    pub log: Vec<String>,
    /// The activity of each lane, in their order.
    pub pods: Vec<Activity>,
    /// The amount that pods hold, without pods on a dead node, in the timeline's unit.
    pub held: u32,
    /// The amount that the scheduler counts for pods on a dead node.
    pub dead: u32,
}

/// The purpose of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "PhaseKind"))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Kind {
    /// The objects are created, or wait in a queue.
    Start,
    /// Pods start.
    Wait,
    /// The launcher checks the workers, and each rank checks the world size.
    Check,
    /// The ranks train.
    Train,
    /// Something has failed, and is not handled yet.
    Fault,
    /// The next attempt is prepared.
    Recover,
    /// The ranks save a checkpoint.
    Save,
    /// The GPUs are released.
    Release,
    /// The state in which the run stays.
    End,
}

/// The activity of a pod in a phase.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Activity {
    /// The state of the pod.
    pub state: State,
    /// The activity, as the end of a sentence.
    pub does: String,
}

/// The state of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "PodState"))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum State {
    /// There is no such pod.
    Absent,
    /// It has no node yet.
    Pending,
    /// It has a node, and starts.
    Starting,
    /// It runs, and has no ranks that train.
    Ready,
    /// It is the launcher, and runs.
    Leading,
    /// It runs ranks that train.
    Training,
    /// Its ranks wait for ranks that do not answer.
    Stuck,
    /// Its ranks save a checkpoint.
    Saving,
    /// Its node has failed.
    Dead,
}

impl Kind {
    /// The name of its class in the style sheet of a picture.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start | Self::Wait | Self::Check => "start",
            Self::Train => "train",
            Self::Fault => "fault",
            Self::Recover => "recover",
            Self::Save => "save",
            Self::Release => "release",
            Self::End => "end",
        }
    }
}

impl State {
    /// The name of its class in the style sheet of a picture.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Pending => "pending",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Leading => "leading",
            Self::Training => "training",
            Self::Stuck => "stuck",
            Self::Saving => "saving",
            Self::Dead => "dead",
        }
    }

    /// One word for a picture.
    pub fn word(self) -> &'static str {
        match self {
            Self::Absent => "",
            Self::Pending => "no node yet",
            Self::Starting => "starts",
            Self::Ready => "ready",
            Self::Leading => "leads",
            Self::Training => "trains",
            Self::Stuck => "waits",
            Self::Saving => "saves",
            Self::Dead => "node is dead",
        }
    }
}

impl Timeline {
    /// Computes what happens to a run.
    pub fn new(facts: &Facts, scenario: Scenario) -> Self {
        let mut story = story::Story::new(facts, scenario);
        match scenario {
            Scenario::Nothing => stops::no_fault(&mut story),
            Scenario::WorkerNode => faults::worker_node(&mut story),
            Scenario::LauncherNode => faults::launcher_node(&mut story),
            Scenario::Crash => stops::crash(&mut story),
            Scenario::Hang => stops::hang(&mut story),
            Scenario::Eviction => faults::eviction(&mut story),
            Scenario::Deadline => stops::deadline(&mut story),
            Scenario::Change => stops::change(&mut story),
        }
        story.finish()
    }
}

/// A time for people to read: `15 s`, `20 min`, `1 h 30 min`.
pub fn duration(seconds: u64) -> String {
    let parts = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let all: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).take(2).map(|(n, unit)| format!("{n} {unit}")).collect();
    if all.is_empty() { "0 s".to_owned() } else { all.join(" ") }
}
