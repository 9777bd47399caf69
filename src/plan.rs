//! `Spec` → `Plan`: who runs where and with what. Names, hosts, slots, np, the launch command,
//! the environment and what each pod mounts.
//!
//! The plan knows Kubernetes' limits, MPI and Horovod; it knows no YAML and no shell.

use crate::spec::valid::Spec;

/// The shape a job takes in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// StatefulSets of workers and a launcher Job.
    StatefulSet,
    /// One Indexed Job; index 0 also launches, over ssh.
    IndexedJob,
    /// One Indexed Job of torchrun agents, without ssh.
    Torchrun,
}

/// One worker group with its place in the world.
#[derive(Debug, Clone)]
pub struct Team {
    /// Index into `spec.groups`.
    pub group: usize,
    /// `<job>-<run>-worker`, with the group's name behind it where it has one; in the Job
    /// shapes `<job>-<run>`.
    pub workload: String,
    pub replicas: u32,
    pub slots: u32,
}

impl Team {
    /// The name worker `index` is reached by: `<pod>.<service>`.
    pub fn host(&self, index: u32, service: &str) -> String {
        format!("{}-{index}.{service}", self.workload)
    }
}

/// A value a pod gets beside the user's own environment.
pub type EnvPair = (String, String);

/// Everything the later phases need, derived once.
#[derive(Debug, Clone)]
pub struct Plan {
    pub spec: Spec,
    pub shape: Shape,
    /// The run's name: a short hash of what cannot change in place. Empty until known.
    pub run: String,
    pub teams: Vec<Team>,
    /// Workers over all teams, without a launcher that runs ranks.
    pub workers: u32,
    /// Ranks: Σ slots.
    pub np: u32,
    /// GPUs over all pods.
    pub gpus: u32,
    /// The words the launcher runs, derived once from the spec. Empty: an interactive launcher
    /// or a shell launcher waits for people.
    pub launch: Vec<String>,
    /// Set for every process: MPI, NCCL and Horovod knobs. The user's `env` wins and is not here.
    pub env: Vec<EnvPair>,
    /// `host slots=N` lines (`host:N` for Hydra), or none where they would not fit in a
    /// ConfigMap: then the launcher makes the file itself.
    pub hostfile: Option<String>,
    /// `code.files`, in ConfigMaps small enough for `kubectl apply`.
    pub code: Vec<Vec<(String, String)>>,
    /// Pod Security level the pods meet, and why not a stricter one.
    pub level: Level,
}

/// A Pod Security level and what keeps the job from a stricter one.
#[derive(Debug, Clone)]
pub struct Level {
    /// `restricted`, `baseline` or `privileged`.
    pub name: &'static str,
    pub reasons: Vec<String>,
}
