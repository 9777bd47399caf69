//! The resolved spec of a job: every default is filled in, units are resolved, and all rules are met.
//!
//! Later phases rely on these properties, so that user input cannot make them fail.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::KubeVersion;
use super::quantity::Quantity;
use super::target::Facts;
pub use super::topology::{Level, Placer, RankOrder, Slices, Topology};

/// Keys and values in the order they were written.
pub type Pairs = Vec<(String, String)>;

/// One training job, valid and complete.
#[derive(Debug, Clone)]
pub struct Spec {
    pub target: &'static Facts,
    pub name: String,
    /// If not given, the objects have no namespace.
    pub namespace: Option<String>,
    /// The labels of every object. Pod templates do not have them, because a changed label must not start a new run.
    pub labels: Pairs,
    pub annotations: Pairs,
    pub image: Image,
    pub run_tag: Option<String>,
    /// The command of every rank. If the command is a text, these are the words that run it under `bash -c`. Empty only for an
    /// interactive launcher, in which the user types commands.
    pub command: Vec<String>,
    pub working_dir: Option<String>,
    pub env: Vec<EnvVar>,
    pub env_from: Vec<EnvFrom>,
    pub code: Option<Code>,
    /// At least one group. A job without `groups` in the document has one group whose name is `None`.
    pub groups: Vec<Group>,
    pub health_check: HealthCheck,
    /// The allocation mode of the channels of a ComputeDomain.
    pub compute_domain: Option<&'static str>,
    pub launcher: Launcher,
    pub elastic: Option<Elastic>,
    pub ssh: Ssh,
    pub collective: Collective,
    pub storage: Vec<Volume>,
    pub placement: Placement,
    pub scheduling: Scheduling,
    pub lifecycle: Lifecycle,
    pub security: Security,
    pub observability: Observability,
    pub slurm: Slurm,
    pub patches: Vec<Patch>,
    /// The path and value of every default that was taken. `plan` shows them.
    pub defaults: Vec<(Cow<'static, str>, String)>,
}

impl Spec {
    /// Whether the pods download models or data and pass them on to each other.
    pub fn has_downloads(&self) -> bool {
        self.storage.iter().any(|volume| match &volume.source {
            VolumeSource::Download(_) => true,
            VolumeSource::S3(s3) => !s3.upload,
            _ => false,
        })
    }

    /// The name of the claim that khorovod creates for a volume, `<job>-<volume>`.
    pub fn claim_of(&self, volume: &Volume) -> String {
        format!("{}-{}", self.name, volume.name)
    }

    /// Whether Horovod's own check for stalls must be off. Horovod repeats its warning about a stall every minute. If
    /// `lifecycle.stall` takes any output for progress, the warning would count.
    pub fn disables_stall_check(&self) -> bool {
        let reads_output = |stall: &Stall| stall.file.is_none() && stall.metric.is_none();
        self.target.has_pods && self.lifecycle.stall.as_ref().is_some_and(reads_output)
    }
}

#[derive(Debug, Clone)]
pub struct Image {
    /// `name:tag` or `name@digest`, as a container runtime takes it.
    pub reference: String,
    /// `Always`, `IfNotPresent` or `Never`.
    pub pull_policy: Option<&'static str>,
    pub pull_secrets: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct EnvVar {
    pub name: String,
    pub value: EnvValue,
}

#[derive(Debug, Clone)]
pub enum EnvValue {
    Text(String),
    Secret {
        name: String,
        key: String,
    },
    ConfigMap {
        name: String,
        key: String,
    },
    /// A `fieldRef`, such as `spec.nodeName`.
    Field(String),
}

#[derive(Debug, Clone)]
pub struct EnvFrom {
    pub prefix: Option<String>,
    pub source: EnvFromSource,
    pub optional: bool,
}

#[derive(Debug, Clone)]
pub enum EnvFromSource {
    Secret(String),
    ConfigMap(String),
}

/// Small scripts that khorovod puts into the pods, so that they need not be in the image.
#[derive(Debug, Clone)]
pub struct Code {
    pub mount_path: String,
    pub source: CodeSource,
}

#[derive(Debug, Clone)]
pub enum CodeSource {
    /// A ConfigMap that exists.
    ConfigMap(String),
    /// File name and text.
    Files(Pairs),
}

/// A group of equal workers, which run in one StatefulSet or in the Indexed Job.
#[derive(Debug, Clone)]
pub struct Group {
    pub name: Option<String>,
    pub replicas: u32,
    /// Workers beside `replicas` that run no ranks until another worker is lost.
    pub spares: u32,
    pub gpus: u32,
    pub gpu_resource: String,
    /// Ranks per worker.
    pub slots: u32,
    pub resources: Resources,
    /// Whether its containers need the capability `IPC_LOCK`.
    pub rdma: bool,
    pub claims: Vec<ResourceClaim>,
    /// The claim that has the GPUs of a worker, which `gpus` counts.
    pub gpu_claim: Option<String>,
    /// Size of the memory-backed `/dev/shm`.
    pub shm: Quantity,
}

/// Devices that each worker of a group gets by Dynamic Resource Allocation.
#[derive(Debug, Clone)]
pub struct ResourceClaim {
    pub name: String,
    pub source: ClaimSource,
}

#[derive(Debug, Clone)]
pub enum ClaimSource {
    /// An existing ResourceClaim, which all workers share.
    Existing(String),
    /// An existing ResourceClaimTemplate.
    Template(String),
    /// The devices of a ResourceClaimTemplate that is rendered.
    Devices(Json),
}

impl Group {
    /// The GPUs that each pod requests: `gpus`, and those that only `resources` names.
    pub fn requested_gpus(&self) -> u32 {
        let is_gpu = |name: &str| name.ends_with("/gpu") || name.contains("/mig-") || name.contains("/gpu.");
        let other = self.resources.limits.iter().filter(|(name, _)| *name != self.gpu_resource && is_gpu(name));
        let same = self.resources.limits.iter().find(|(name, _)| *name == self.gpu_resource);
        let claimed = if self.gpu_claim.is_some() { self.gpus } else { 0 };
        let counted = other.chain(same).map(|(_, count)| u32::try_from(count.milli() / 1_000).unwrap_or(u32::MAX));
        counted.sum::<u32>().saturating_add(claimed)
    }
}

/// The requests and limits of a container, with GPUs and RDMA devices, in the order of the output.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    pub requests: Vec<(String, Quantity)>,
    pub limits: Vec<(String, Quantity)>,
}

/// The pod that the launcher runs in. It decides which objects run the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherPod {
    /// A pod of its own: a Job runs the launcher and a StatefulSet the workers.
    Own,
    /// The first worker: one Indexed Job runs all workers.
    FirstWorker,
}

/// The checks of a worker before it runs ranks.
#[derive(Debug, Clone)]
pub struct HealthCheck {
    pub policy: HealthPolicy,
    /// The user's own command. Empty if there is none.
    pub command: Vec<String>,
    /// Seconds.
    pub timeout: u64,
}

/// The attempts before which workers are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthPolicy {
    Always,
    OnFailure,
    Never,
}

#[derive(Debug, Clone)]
pub struct Launcher {
    pub kind: LauncherKind,
    pub mpi: Mpi,
    pub args: Vec<String>,
    /// The program in place of torchrun.
    pub program: Option<String>,
    pub runs_in: LauncherPod,
    /// Whether ranks also run in the separate launcher pod, which is then one more host beside the workers. Always
    /// false if the launcher runs in the first worker.
    pub runs_ranks: bool,
    pub interactive: bool,
    /// Seconds.
    pub idle_timeout: u64,
    pub resources: Resources,
    pub image: Option<String>,
    /// Seconds.
    pub lost_timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LauncherKind {
    Mpirun,
    Horovodrun,
    Torchrun,
    Deepspeed,
    Jax,
    Tensorflow,
    Shell,
}

impl LauncherKind {
    /// Its name in the spec.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mpirun => "mpirun",
            Self::Horovodrun => "horovodrun",
            Self::Torchrun => "torchrun",
            Self::Deepspeed => "deepspeed",
            Self::Jax => "jax",
            Self::Tensorflow => "tensorflow",
            Self::Shell => "shell",
        }
    }

    /// Whether an agent in each pod starts the ranks, without ssh and without MPI.
    pub fn has_agents(self) -> bool {
        self == Self::Torchrun || self.starts_processes()
    }

    /// Whether a program with options starts the ranks.
    pub fn takes_args(self) -> bool {
        self != Self::Shell && !self.starts_processes()
    }

    /// Whether khorovod itself starts the ranks of each pod, and not a program of the framework.
    pub fn starts_processes(self) -> bool {
        matches!(self, Self::Jax | Self::Tensorflow)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mpi {
    OpenMpi,
    IntelMpi,
    Mpich,
}

#[derive(Debug, Clone)]
pub struct Elastic {
    pub min_replicas: u32,
    pub max_replicas: u32,
    /// The shortest and the longest cooldown, in seconds.
    pub cooldown: Option<(u64, u64)>,
    /// Seconds.
    pub timeout: u64,
    pub reset_limit: Option<u32>,
}

#[derive(Debug, Clone)]
pub struct Ssh {
    pub port: u16,
    /// An existing Secret with the keys. If it is `None`, khorovod creates `<job>-<run>-ssh`.
    pub secret: Option<String>,
    /// The login name inside the pods.
    pub user: String,
}

/// Settings of NCCL, Horovod and MPI. If one is `None`, the library uses its own default.
#[derive(Debug, Clone, Default)]
pub struct Collective {
    /// `VERSION`, `WARN`, `INFO` or `TRACE`.
    pub debug: Option<&'static str>,
    pub interface: Option<String>,
    pub infiniband: Option<bool>,
    pub fusion_threshold: Option<Quantity>,
    /// Milliseconds.
    pub cycle_time: Option<u32>,
    pub autotune: Option<bool>,
    pub hierarchical_allreduce: Option<bool>,
    pub timeline: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Volume {
    pub name: String,
    pub mount_path: String,
    pub read_only: bool,
    pub sub_path: Option<String>,
    pub source: VolumeSource,
}

#[derive(Debug, Clone)]
pub enum VolumeSource {
    /// A claim that khorovod creates, `<job>-<name>`. It remains when the job is deleted.
    Claim(Claim),
    ExistingClaim(String),
    /// One claim per worker, from the volumeClaimTemplates of the StatefulSet.
    PerWorker(Claim),
    Nfs {
        server: String,
        path: String,
    },
    /// A PersistentVolume and its claim; `source` is the volume source, such as `{nfs: {...}}`.
    PersistentVolume {
        source: Json,
        claim: Claim,
    },
    S3(S3),
    Download(Download),
    HostPath(String),
    EmptyDir {
        size: Option<Quantity>,
    },
}

#[derive(Debug, Clone)]
pub struct Claim {
    pub size: Quantity,
    pub storage_class: Option<String>,
    /// `ReadWriteOnce`, `ReadWriteMany`, `ReadOnlyMany`, `ReadWriteOncePod`.
    pub access_modes: Vec<&'static str>,
}

#[derive(Debug, Clone)]
pub struct S3 {
    /// The URL of the server, `https://…`. If it is `None`, the server is that of AWS in `region`.
    pub endpoint: Option<String>,
    pub bucket: String,
    /// Has no leading slash. Has a trailing slash unless it is empty.
    pub prefix: String,
    pub region: String,
    /// A Secret with `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. If it is `None`, the bucket is public.
    pub secret: Option<String>,
    pub download: bool,
    pub upload: bool,
    /// Seconds between two uploads while the training runs.
    pub upload_interval: u64,
    pub size: Option<Quantity>,
}

/// A model or data set that one worker downloads and passes on to the others.
#[derive(Debug, Clone)]
pub struct Download {
    pub source: DownloadSource,
    /// A Secret with a token for the server: `HF_TOKEN`, or `TOKEN` for a URL.
    pub secret: Option<String>,
    pub size: Option<Quantity>,
}

#[derive(Debug, Clone)]
pub enum DownloadSource {
    HuggingFace {
        repository: String,
        revision: String,
        /// Patterns of which a file must match one. If there is none, every file is downloaded.
        files: Vec<String>,
    },
    Url {
        url: String,
        sha256: Option<String>,
        unpacks: bool,
    },
}

#[derive(Debug, Clone, Default)]
pub struct Placement {
    pub node_selector: Pairs,
    /// Kubernetes tolerations as written. The reader has checked their fields.
    pub tolerations: Vec<Json>,
    /// A Kubernetes affinity as written.
    pub affinity: Option<Json>,
    pub priority_class: Option<String>,
    pub runtime_class: Option<String>,
    /// The topology key over which the scheduler prefers to spread the workers.
    pub spread: Option<String>,
    /// The topology key of the domain in which the scheduler prefers to place all workers together.
    pub pack: Option<String>,
    pub topology: Option<Topology>,
    pub host_network: bool,
}

impl Spec {
    /// Whether Kueue may start the job with a part of its workers. Kueue can do so only with a Job of Kubernetes.
    pub fn admits_part(&self) -> bool {
        let Scheduling { local_queue, partial_admission, .. } = &self.scheduling;
        let may_shrink = match (&self.elastic, self.groups.first()) {
            (Some(elastic), Some(group)) => elastic.min_replicas < group.replicas,
            _ => false,
        };
        *partial_admission && local_queue.is_some() && may_shrink && self.target.own_workloads
    }

    /// Whether the number of workers may change while Kueue runs the job. Kueue can do so only with a Job of Kubernetes, and does not
    /// combine it with a topology or with a partial admission.
    pub fn is_elastic_in_kueue(&self) -> bool {
        let has_queue = self.scheduling.local_queue.is_some() && self.target.own_workloads;
        let has_topology = self.placement.topology.as_ref().is_some_and(Topology::places);
        self.elastic.is_some() && has_queue && !has_topology && !self.admits_part()
    }

    /// The component that places the workers by `placement.topology`.
    pub fn placer(&self) -> Placer {
        let is_required = self.placement.topology.as_ref().is_some_and(|topology| topology.required.is_some());
        match self.scheduling.gang {
            _ if self.target.is_gang => Placer::VolcanoJob,
            _ if self.scheduling.local_queue.is_some() => Placer::Kueue,
            Some(Gang::Volcano) => Placer::VolcanoGroup,
            // A PodGroup of Kubernetes can require a level, but not prefer one.
            Some(Gang::Native) if is_required => Placer::Native,
            _ => Placer::Affinity,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Scheduling {
    pub gang: Option<Gang>,
    /// Volcano's queue.
    pub volcano_queue: Option<String>,
    /// Kueue's local queue.
    pub local_queue: Option<String>,
    /// Kueue's priority class of the workload.
    pub workload_priority_class: Option<String>,
    /// Whether Kueue may start an elastic job with fewer workers.
    pub partial_admission: bool,
    pub suspend: bool,
    /// The scheduler of the pods. If the spec sets `gang` but not `schedulerName`, this is the scheduler of the gang.
    pub scheduler_name: Option<String>,
    /// The version of Kubernetes, on which the version of the PodGroup of [`Gang::Native`] depends.
    pub kube_version: KubeVersion,
}

impl Scheduling {
    /// The API version of the PodGroup of [`Gang::Native`], and the feature gates that it needs. By default, Kubernetes enables
    /// neither the version nor the gates.
    pub fn native_gang(&self) -> (&'static str, &'static str) {
        match self.kube_version.minor {
            0..=36 => ("scheduling.k8s.io/v1alpha2", "GenericWorkload=true,GangScheduling=true"),
            _ => ("scheduling.k8s.io/v1beta1", "GenericWorkload=true"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gang {
    Volcano,
    Coscheduling,
    /// The PodGroup of Kubernetes itself.
    Native,
}

#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    /// Seconds.
    pub deadline: Option<u64>,
    /// Seconds.
    pub start_timeout: u64,
    pub retries: u32,
    /// The seconds after which the count of retries starts again at 0. `None` if it never does.
    pub retries_reset_after: Option<u64>,
    /// After how many attempts without progress the run ends. `None` if the progress is unknown.
    pub retries_without_progress: Option<u32>,
    /// Exit codes of the training after which no further attempt starts.
    pub final_exit_codes: Vec<u8>,
    /// Seconds.
    pub ttl_after_finished: Option<u64>,
    /// Whether the workers remain after the launcher ends. The StatefulSet then sets `replicas`, and the user deletes
    /// the workers.
    pub keep_workers: bool,
    pub checkpoint: Checkpoint,
    pub stall: Option<Stall>,
}

/// The signal and the time that every rank gets before the ranks of a run are ended.
#[derive(Debug, Clone, Copy)]
pub struct Checkpoint {
    /// The name of the signal, without `SIG`.
    pub signal: &'static str,
    /// Seconds.
    pub grace_period: u32,
}

impl Default for Checkpoint {
    fn default() -> Self {
        Self { signal: "TERM", grace_period: 30 }
    }
}

/// How long a training may make no progress, and what the launcher does after that time.
#[derive(Debug, Clone)]
pub struct Stall {
    /// Seconds.
    pub timeout: u64,
    /// The file whose changes count as progress. If `file` and `metric` are `None`, any output counts as progress.
    pub file: Option<String>,
    /// The metric whose changes count as progress.
    pub metric: Option<String>,
    /// Whether a stall ends the attempt, which is `action: retry`.
    pub retries: bool,
    /// The directory for the evidence of each host.
    pub evidence: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Security {
    pub pod_security_level: PodSecurityLevel,
    /// `None` under `openshift`, where the platform chooses.
    pub run_as_user: Option<u32>,
    pub fs_group: Option<u32>,
    pub network_policy: bool,
    pub egress: Egress,
    /// Further peers of a NetworkPolicy that the pods may connect to. They have an effect with `Egress::Private` and `Egress::Listed`.
    pub egress_to: Vec<Json>,
    /// An existing ServiceAccount. The user must give it the permission to scale the workers.
    pub service_account: Option<String>,
    /// An existing ServiceAccount for the workers. They then get no token for the API server.
    pub worker_account: Option<String>,
    /// Whether the pods may read and change the objects of their own run.
    pub api_access: bool,
    pub read_only_root_filesystem: bool,
}

/// The addresses that the pods may connect to, besides pods of the job and DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Egress {
    Open,
    /// All addresses except the metadata service of the cloud.
    NoMetadata,
    /// Only private addresses, and the listed peers.
    Private,
    /// Only pods of the job, and the listed peers.
    Listed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodSecurityLevel {
    Restricted,
    OpenShift,
    Baseline,
    Privileged,
}

#[derive(Debug, Clone, Default)]
pub struct Observability {
    /// The directory that TensorBoard reads.
    pub tensorboard_logdir: Option<String>,
    pub metrics: Option<Metrics>,
    /// The metrics of the launcher.
    pub launcher_metrics: Option<Metrics>,
    pub progress: Option<Progress>,
    /// Whether the launcher posts Kubernetes Events.
    pub events: bool,
    /// Whether each line of the output of a rank starts with the number of the rank.
    pub rank_prefix: bool,
}

/// Where the launcher finds the progress of the training.
#[derive(Debug, Clone)]
pub enum Progress {
    /// In lines of common frameworks.
    Auto,
    /// In lines that match a regular expression of Python.
    Pattern(String),
    /// In a file of rank 0.
    File(String),
}

#[derive(Debug, Clone)]
pub struct Metrics {
    pub port: u16,
    pub pod_monitor: bool,
    /// The peers of a NetworkPolicy that may connect. If it is `None`, every address may connect.
    pub from: Option<Vec<Json>>,
}

/// Settings for Slurm.
#[derive(Debug, Clone, Default)]
pub struct Slurm {
    pub partition: Option<String>,
    /// Seconds.
    pub time: Option<u64>,
    pub modules: Vec<String>,
    pub account: Option<String>,
    pub qos: Option<String>,
    pub constraint: Option<String>,
    pub nodelist: Option<String>,
    pub exclude: Option<String>,
    pub reservation: Option<String>,
    /// The generic resource that counts GPUs.
    pub gres: String,
    /// Long options of sbatch, one line each.
    pub args: Vec<String>,
    /// Bash.
    pub setup: Option<String>,
    pub wrap: Vec<String>,
    /// Set if srun starts the ranks instead of mpirun.
    pub srun: Option<Srun>,
}

#[derive(Debug, Clone, Default)]
pub struct Srun {
    pub mpi: Option<String>,
    pub args: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Patch {
    /// A kind such as `StatefulSet`. If it is `None`, every kind matches.
    pub kind: Option<String>,
    /// A pattern for the name of the object, in which `*` matches any characters. If it is `None`, every name matches.
    pub name: Option<String>,
    /// A strategic merge patch.
    pub patch: Json,
}
