//! `Spec` → [`Plan`]: derives names, hosts, slots, the number of ranks, the launch command and the environment.
//!
//! This phase depends on the rules of Kubernetes, MPI and Horovod. It does not depend on YAML or the shell.

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
use crate::job::valid::{
    CodeSource, Gang, Group, LauncherKind, LauncherPod, Mpi, Spec, Topology, Volume, VolumeSource,
};

pub use hosts::role;
pub use level::Level;
pub use run::{find_run_name, run_name};

/// The directory in the pods for files that scripts generate when a pod starts, and for the hostfile.
pub const GENERATED: &str = "/horovod/generated";
/// The placeholder for the path of the hostfile of a Slurm job. The batch script writes the hostfile when Slurm has
/// assigned the nodes.
pub const HOSTFILE: &str = "\0hostfile";

/// The kinds of workloads that a job consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// StatefulSets of workers and a launcher Job.
    StatefulSet,
    /// One Indexed Job. The pod with index 0 also starts the ranks of all pods, over ssh.
    IndexedJob,
    /// One Indexed Job of agents, without ssh. Each agent starts the ranks of its pod.
    Agents,
}

impl Shape {
    /// The shape of the job of a spec.
    pub fn of(spec: &Spec) -> Self {
        match (spec.launcher.kind, spec.launcher.runs_in) {
            (kind, _) if kind.has_agents() => Self::Agents,
            (_, LauncherPod::FirstWorker) => Self::IndexedJob,
            (_, LauncherPod::Own) => Self::StatefulSet,
        }
    }
}

/// A worker group and its workload.
#[derive(Debug, Clone)]
pub struct Team {
    /// Index into `spec.groups`.
    pub group: usize,
    /// The names of the pods without their index: `<job>-<run>-worker`, followed by the name of the group if it has one. In
    /// the shapes with one Job it is `<job>-<run>`. Some targets use other names.
    pub workload: String,
    pub replicas: u32,
    /// The number of further workers, which run no ranks until another worker is lost.
    pub spares: u32,
    pub slots: u32,
}

impl Team {
    /// The number of pods: the workers that run ranks at first, and the spares.
    pub fn pods(&self) -> u32 {
        self.replicas.saturating_add(self.spares)
    }

    /// The host name of worker `index`: `<pod>.<service>`.
    pub fn host(&self, index: u32, service: &str) -> String {
        format!("{}-{index}.{service}", self.workload)
    }

    /// The path of the field that describes the group.
    pub fn origin(&self, plan: &Plan) -> Cow<'static, str> {
        match plan.spec.groups[self.group].name {
            Some(_) => format!("spec.workers.groups[{}]", self.group).into(),
            None => "spec.workers".into(),
        }
    }
}

/// The document that a spec was read from, which the rendered objects keep in an annotation.
#[derive(Debug, Clone, Default)]
pub enum Document {
    /// The spec was not read from a document.
    #[default]
    Unknown,
    /// The document as compact JSON.
    Kept(String),
    /// The document must not be kept. The text is the reason.
    Omitted(&'static str),
}

/// The name and value of a generated environment variable.
pub type EnvPair = (Cow<'static, str>, Cow<'static, str>);

/// The input of all later phases.
#[derive(Debug, Clone)]
pub struct Plan {
    pub spec: Spec,
    pub shape: Shape,
    /// The name of the run, from [`run_name`].
    pub run: String,
    pub teams: Vec<Team>,
    /// The number of workers of all groups. Spares are not counted, and neither is a launcher that runs ranks.
    pub workers: u32,
    /// The number of spares of all groups.
    pub spares: u32,
    /// The number of ranks: the sum of all slots.
    pub np: u32,
    /// The number of GPUs of all pods, including spares.
    pub gpus: u32,
    /// The launch command as a list of arguments. Empty for an interactive launcher, in which people start commands.
    pub launch: Vec<String>,
    /// The generated variables of every process, for MPI, NCCL and Horovod. Variables that the user sets in `env` are left out.
    pub env: Vec<EnvPair>,
    /// The hostfile, with lines `host slots=N` (`host:N` for Hydra). `None` if it is too large for a ConfigMap; the launcher
    /// then generates it.
    pub hostfile: Option<String>,
    /// The files of `code.files`, one list per ConfigMap, each small enough for `kubectl apply`.
    pub code: Vec<Vec<(String, String)>>,
    /// The Pod Security Standard that the pods meet.
    pub level: Level,
    /// The document that the spec was read from.
    pub document: Document,
}

impl Plan {
    /// Derives the plan of a spec. `run` is the name of the run.
    pub fn new(spec: Spec, run: String) -> Self {
        let workers = spec.groups.iter().map(|group| group.replicas).sum();
        let leader = spec.groups.first().filter(|_| spec.launcher.runs_ranks);
        let ranks = |group: &Group| group.replicas.saturating_mul(group.slots);
        let np = spec.groups.iter().map(ranks).sum::<u32>() + leader.map_or(0, |group| group.slots);
        let spares = spec.groups.iter().map(|group| group.spares).sum();
        let allocated =
            |group: &Group| group.replicas.saturating_add(group.spares).saturating_mul(group.requested_gpus());
        let gpus = spec.groups.iter().map(allocated).sum::<u32>() + leader.map_or(0, Group::requested_gpus);
        let code = match spec.code.as_ref().map(|code| &code.source) {
            Some(CodeSource::Files(files)) => split_files(files),
            _ => Vec::new(),
        };
        let mut plan = Self {
            shape: Shape::of(&spec),
            run,
            teams: Vec::new(),
            workers,
            spares,
            np,
            gpus,
            launch: Vec::new(),
            env: Vec::new(),
            hostfile: None,
            code,
            level: level::level(&spec),
            document: Document::Unknown,
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

    /// The first rank of each group's first worker, if ranks are numbered in the order of the hostfile. `None` if they may
    /// be numbered in another order. This is the case in elastic jobs, with torchrun and shell, if an option of the launcher
    /// changes the order, and if `placement.topology.rankOrder` sorts the hosts.
    pub fn first_ranks(&self) -> Option<Vec<u32>> {
        let words = ["map", "rank", "host", "node", "ppn", "rr"];
        let changes_order = |arg: &String| arg.starts_with('-') && words.iter().any(|word| arg.contains(word));
        let by_script = matches!(self.spec.launcher.kind, LauncherKind::Shell | LauncherKind::Torchrun);
        let sorts = self.spec.placement.topology.as_ref().is_some_and(|topology| topology.rank_order.is_some());
        if by_script || sorts || self.spec.elastic.is_some() || self.spec.launcher.args.iter().any(changes_order) {
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

    /// The host that rank 0 runs on.
    pub fn first_host(&self) -> String {
        match self.spec.launcher.runs_ranks {
            true => self.launcher_host(),
            false => self.teams.first().map_or_else(String::new, |team| team.host(0, &self.service())),
        }
    }

    /// The host that the launch command runs on.
    pub fn launcher_host(&self) -> String {
        match self.shape {
            Shape::StatefulSet => format!("{}.{}", self.launcher_pod(), self.service()),
            Shape::IndexedJob | Shape::Agents => self.first_host(),
        }
    }

    /// The host name of the separate launcher pod, without its domain.
    pub fn launcher_pod(&self) -> String {
        format!("{}-launcher{}", self.stem(), self.spec.target.launcher_suffix)
    }

    /// The name of the headless Service that gives the pods their DNS names.
    pub fn service(&self) -> Cow<'_, str> {
        if self.spec.target.brings_service { self.stem().into() } else { self.spec.name.as_str().into() }
    }

    /// The text between a host and its slots in the hostfile. Horovod and DeepSpeed read the format of Open MPI,
    /// whatever the MPI implementation is.
    pub fn hostfile_mark(&self) -> &'static str {
        match (self.spec.launcher.kind, self.spec.launcher.mpi) {
            (LauncherKind::Mpirun | LauncherKind::Shell, Mpi::IntelMpi | Mpi::Mpich) => ":",
            _ => " slots=",
        }
    }

    /// Whether pods reach each other by ssh.
    pub fn uses_ssh(&self) -> bool {
        self.shape != Shape::Agents
    }

    /// Whether the launcher scales the workers, for which its pod has a permission. False for targets whose own
    /// controller stops the workers.
    pub fn scales(&self) -> bool {
        self.shape == Shape::StatefulSet && self.own_job().is_some()
    }

    /// The name of the Job that the pods of the run may read and change, so that they can end the run. `None` if the
    /// pods have no such permission, and for targets whose own controller ends the run.
    pub fn own_job(&self) -> Option<String> {
        let may = self.spec.target.own_workloads && self.spec.security.api_access && !self.spec.lifecycle.keep_workers;
        may.then(|| match self.shape {
            Shape::StatefulSet => self.launcher_pod(),
            Shape::IndexedJob | Shape::Agents => self.teams[0].workload.clone(),
        })
    }

    /// The number of pods that a gang scheduler starts together: all pods, or the minimum of an elastic job. Spares are not counted.
    /// A launcher that scales the workers starts before them, so it is not counted either.
    pub fn min_members(&self) -> u32 {
        let launchers = u32::from(self.shape == Shape::StatefulSet && !self.spec.target.own_workloads);
        launchers + self.spec.elastic.as_ref().map_or(self.workers, |elastic| elastic.min_replicas)
    }

    /// Whether the launcher waits for a gang of workers to which it does not belong.
    pub fn waits_for_gang(&self) -> bool {
        self.shape == Shape::StatefulSet && self.spec.scheduling.gang == Some(Gang::Native)
    }

    /// Whether the pods read the labels of their nodes, for the order of the ranks.
    pub fn reads_nodes(&self) -> bool {
        self.spec.placement.topology.as_ref().is_some_and(Topology::reads_nodes)
    }

    /// Whether the job uses keys that khorovod creates: for ssh, and to authenticate the pods that pass on downloads. False if an
    /// operator creates them.
    pub fn brings_keys(&self) -> bool {
        let needs_keys = self.uses_ssh() || self.spec.has_downloads();
        needs_keys && self.spec.target.ssh_keys != SshKeys::Operator
    }

    /// The S3 volumes that are uploaded, with the seconds between two uploads.
    pub fn uploads(&self) -> Vec<(&Volume, u64)> {
        let storage = self.spec.storage.iter();
        storage
            .filter_map(|volume| match &volume.source {
                VolumeSource::S3(s3) if s3.upload => Some((volume, s3.upload_interval)),
                _ => None,
            })
            .collect()
    }
}

/// Splits files into lists that each fit into a ConfigMap. Validation ensures that every single file fits.
fn split_files(files: &[(String, String)]) -> Vec<Vec<(String, String)>> {
    let mut chunks: Vec<Vec<(String, String)>> = Vec::new();
    let mut free = 0;
    for (name, text) in files {
        let size = name.len() + json_size(text);
        if chunks.is_empty() || size > free {
            chunks.push(Vec::new());
            free = MAX_CONFIG_MAP;
        }
        free = free.saturating_sub(size);
        chunks.last_mut().into_iter().for_each(|chunk| chunk.push((name.clone(), text.clone())));
    }
    chunks
}
