//! `Spec` → `Plan`: who runs where and with what. Names, hosts, slots, np, the launch command,
//! the environment and what each pod mounts.
//!
//! The plan knows Kubernetes' limits, MPI and Horovod; it knows no YAML and no shell.

mod environment;
pub mod fields;
mod fingerprint;
mod hosts;
mod launch;
mod level;
mod patches;
mod run;

use std::borrow::Cow;

pub use crate::job::limits::RENDEZVOUS_PORT;
use crate::job::limits::{MAX_CONFIG_MAP, json_size};
use crate::job::target::SshKeys;
use crate::job::valid::{CodeSource, Controller, LauncherKind, Mpi, Spec, VolumeSource};

pub use hosts::role;
pub use level::Level;
pub use run::run_name;

/// Where scripts write at start, and where the seeds' users look for the hostfile.
pub const GENERATED: &str = "/horovod/generated";
/// Stands for the hostfile of a Slurm job, which is made when its hosts are known.
pub const HOSTFILE: &str = "\0hostfile";

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

impl Shape {
    /// The shape of a spec's job.
    pub fn of(spec: &Spec) -> Self {
        match (spec.launcher.kind, spec.controller) {
            (LauncherKind::Torchrun, _) => Self::Torchrun,
            (_, Controller::Job) => Self::IndexedJob,
            (_, Controller::StatefulSet) => Self::StatefulSet,
        }
    }
}

/// One worker group with its place in the world.
#[derive(Debug, Clone)]
pub struct Team {
    /// Index into `spec.groups`.
    pub group: usize,
    /// The pods' names before their index: `<job>-<run>-worker`, with the group's name behind it where it has one; in
    /// the Job shapes `<job>-<run>`. Some targets name pods otherwise.
    pub workload: String,
    pub replicas: u32,
    pub slots: u32,
}

impl Team {
    /// The name worker `index` is reached by: `<pod>.<service>`.
    pub fn host(&self, index: u32, service: &str) -> String {
        format!("{}-{index}.{service}", self.workload)
    }

    /// The field of the spec that describes it.
    pub fn origin(&self, plan: &Plan) -> Cow<'static, str> {
        match plan.spec.groups[self.group].name {
            Some(_) => format!("spec.workers.groups[{}]", self.group).into(),
            None => "spec.workers".into(),
        }
    }
}

/// A value a pod gets beside the user's own environment.
pub type EnvPair = (Cow<'static, str>, Cow<'static, str>);

/// Everything the later phases need, derived once.
#[derive(Debug, Clone)]
pub struct Plan {
    pub spec: Spec,
    pub shape: Shape,
    /// The run's name, from [`run_name`].
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

impl Plan {
    /// Derives everything. `run` is the run's name.
    pub fn new(spec: Spec, run: String) -> Self {
        let workers = spec.groups.iter().map(|group| group.replicas).sum();
        let leader = spec.groups.first().filter(|_| spec.launcher.runs_ranks);
        let ranks = |group: &crate::job::valid::Group| group.replicas.saturating_mul(group.slots);
        let np = spec.groups.iter().map(ranks).sum::<u32>() + leader.map_or(0, |group| group.slots);
        let gpus = spec.groups.iter().map(|group| group.replicas.saturating_mul(group.gpus)).sum::<u32>()
            + leader.map_or(0, |group| group.gpus);
        let code = match spec.code.as_ref().map(|code| &code.source) {
            Some(CodeSource::Files(files)) => chunks(files),
            _ => Vec::new(),
        };
        let mut plan = Self {
            shape: Shape::of(&spec),
            run,
            teams: Vec::new(),
            workers,
            np,
            gpus,
            launch: Vec::new(),
            env: Vec::new(),
            hostfile: None,
            code,
            level: level::level(&spec),
            spec,
        };
        plan.teams = hosts::teams(&plan);
        plan.hostfile = hosts::hostfile(&plan);
        plan.env = environment::environment(&plan);
        plan.launch = launch::launch(&plan);
        plan
    }

    /// `<job>-<run>`: the stem of everything that belongs to the run.
    pub fn stem(&self) -> String {
        [&self.spec.name, "-", &self.run].concat()
    }

    /// The rank each team's first worker starts with, in the hostfile's order; none where ranks get their numbers as
    /// they come: elastic, under torchrun, by a script, or by options that place them otherwise.
    pub fn first_ranks(&self) -> Option<Vec<u32>> {
        let words = ["map", "rank", "host", "node", "ppn", "rr"];
        let placed = |arg: &String| arg.starts_with('-') && words.iter().any(|word| arg.contains(word));
        let by_script = matches!(self.spec.launcher.kind, LauncherKind::Shell | LauncherKind::Torchrun);
        if by_script || self.spec.elastic.is_some() || self.spec.launcher.args.iter().any(placed) {
            return None;
        }
        let mut next = if self.spec.launcher.runs_ranks { self.teams.first()?.slots } else { 0 };
        let first = |team: &Team| {
            let first = next;
            next = next.saturating_add(team.replicas.saturating_mul(team.slots));
            first
        };
        Some(self.teams.iter().map(first).collect())
    }

    /// The host rank 0 runs on.
    pub fn first_host(&self) -> String {
        match self.spec.launcher.runs_ranks {
            true => self.launcher_host(),
            false => self.teams.first().map_or_else(String::new, |team| team.host(0, &self.service())),
        }
    }

    /// The host the launch command runs on.
    pub fn launcher_host(&self) -> String {
        match self.shape {
            Shape::StatefulSet => format!("{}.{}", self.launcher_pod(), self.service()),
            Shape::IndexedJob | Shape::Torchrun => self.first_host(),
        }
    }

    /// The host name of the pod that launches beside the workers, without its domain.
    pub fn launcher_pod(&self) -> String {
        format!("{}-launcher{}", self.stem(), self.spec.target.launcher_suffix)
    }

    /// The headless Service in which the pods have their names.
    pub fn service(&self) -> Cow<'_, str> {
        if self.spec.target.brings_service { self.stem().into() } else { self.spec.name.as_str().into() }
    }

    /// What stands between a host and its slots. Horovod and DeepSpeed read Open MPI's form
    /// whatever the MPI.
    pub fn hostfile_mark(&self) -> &'static str {
        match (self.spec.launcher.kind, self.spec.launcher.mpi) {
            (LauncherKind::Mpirun | LauncherKind::Shell, Mpi::IntelMpi | Mpi::Mpich) => ":",
            _ => " slots=",
        }
    }

    /// Whether pods reach each other by ssh.
    pub fn uses_ssh(&self) -> bool {
        self.shape != Shape::Torchrun
    }

    /// Whether the launcher needs the right to scale the workers. An operator ends them itself.
    pub fn scales(&self) -> bool {
        self.spec.target.own_workloads && self.shape == Shape::StatefulSet && !self.spec.lifecycle.keep
    }

    /// Whether khorovod creates the ssh keys, not an operator.
    pub fn brings_keys(&self) -> bool {
        self.uses_ssh() && self.spec.target.ssh_keys != SshKeys::Operator
    }

    /// Whether any volume is copied from or to a bucket.
    pub fn has_s3(&self) -> bool {
        self.spec.storage.iter().any(|volume| matches!(volume.source, VolumeSource::S3(_)))
    }
}

/// Files in bundles that each fit a ConfigMap; a single file always does, by a rule of the spec.
fn chunks(files: &[(String, String)]) -> Vec<Vec<(String, String)>> {
    let mut chunks: Vec<Vec<(String, String)>> = Vec::new();
    let mut room = 0;
    for (name, text) in files {
        let size = name.len() + json_size(text);
        if chunks.is_empty() || size > room {
            chunks.push(Vec::new());
            room = MAX_CONFIG_MAP;
        }
        room = room.saturating_sub(size);
        chunks.last_mut().into_iter().for_each(|chunk| chunk.push((name.clone(), text.clone())));
    }
    chunks
}
