//! Where the pods go, when, what they may do, and what is seen of them.

use serde_json::{Value as Json, json};

use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{choice, shape};
use crate::job::read::{At, Defs, Expected, Field, Item, Reader};
use crate::job::types::spec;
use crate::yaml::Node;

shape! {
    /// Which nodes the pods go to.
    Placement {
        /// Labels a node must have.
        "nodeSelector" node_selector: Table<LabelKey, LabelValue>, example json!({"pool": "a100"});
        /// Taints the pods put up with, as Kubernetes writes them.
        "tolerations" tolerations: Vec<At<Toleration>>, example json!([{"key": "nvidia.com/gpu", "operator": "Exists"}]);
        /// A Kubernetes affinity.
        "affinity" affinity: Affinity;
        /// The PriorityClass of the pods.
        "priorityClass" priority_class: ObjectName, example "high";
        /// The RuntimeClass of the pods.
        "runtimeClass" runtime_class: ObjectName, example "nvidia";
        /// Spread the workers over domains of this node label, softly.
        "spread" spread: LabelKey, default "kubernetes.io/hostname";
        /// Instead of spreading, pack the workers into one domain of this node label, softly.
        "pack" pack: LabelKey, example "topology.kubernetes.io/rack";
        /// Whether the pods use their node's network. Needs the profile `privileged`.
        "hostNetwork" host_network: bool, default false;
    }
}

shape! {
    /// A taint the pods put up with.
    Toleration {
        /// The taint's key. Left out: every key, with operator Exists.
        "key" key: LabelKey, example "nvidia.com/gpu";
        /// How the value is compared.
        "operator" operator: TolerationOperator, default "Equal";
        /// The taint's value.
        "value" value: LabelValue, example "true";
        /// The effect. Left out: every effect.
        "effect" effect: Effect, example "NoSchedule";
        /// How long a pod stays on a node tainted NoExecute.
        "tolerationSeconds" toleration_seconds: Int<0, 1_000_000>, example 300;
    }
}

choice! {
    /// How a taint's value is compared.
    TolerationOperator -> &'static str {
        "Equal" => "Equal", "The value is the same.";
        "Exists" => "Exists", "Any value.";
    }
}

choice! {
    /// What a taint does.
    Effect -> &'static str {
        "NoSchedule" => "NoSchedule", "No new pods.";
        "PreferNoSchedule" => "PreferNoSchedule", "No new pods where it can be helped.";
        "NoExecute" => "NoExecute", "No pods.";
    }
}

/// A Kubernetes affinity: its three parts, each taken as it is.
#[derive(Debug, Clone)]
pub struct Affinity(pub Json);

const AFFINITIES: &[&str] = &["nodeAffinity", "podAffinity", "podAntiAffinity"];
const TERMS: &[&str] =
    &["requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"];

impl Field for Affinity {
    const ITEM: Item = Item::Map;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let mut sound = true;
        for part in reader.map(node, Expected::Names)? {
            if !AFFINITIES.contains(&part.key.as_str()) {
                reader.unknown(part, AFFINITIES);
                sound = false;
                continue;
            }
            sound &= reader.entry::<Terms>(part).is_some();
        }
        sound.then(|| Self(node.to_json()))
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({"type": "object", "propertyNames": {"enum": AFFINITIES}, "additionalProperties": Terms::schema(defs)})
    }
}

/// One part of an affinity.
struct Terms;

impl Field for Terms {
    const ITEM: Item = Item::Map;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let mut sound = true;
        for term in reader.map(node, Expected::Names)? {
            if !TERMS.contains(&term.key.as_str()) {
                reader.unknown(term, TERMS);
                sound = false;
            }
        }
        (sound && Fragment::read(node, reader).is_some()).then_some(Self)
    }

    fn schema(defs: &mut Defs) -> Json {
        let mut terms = Fragment::schema(defs);
        terms["propertyNames"] = json!({"enum": TERMS});
        terms
    }
}

shape! {
    /// Queues, gangs and schedulers.
    Scheduling {
        /// Start all pods or none. `volcano` and `coscheduling` need their scheduler in the cluster.
        "gang" gang: Gang, default "none";
        /// Volcano's queue.
        "queue" queue: ObjectName, example "vision";
        /// Kueue's LocalQueue. The job starts suspended and Kueue lets it go.
        "kueue" kueue: ObjectName, example "team-a";
        /// Whether the job starts suspended.
        "suspend" suspend: bool, default false, in place;
        /// The scheduler's name. Default: the gang's own, else the cluster's.
        "scheduler" scheduler: ObjectName, example "my-scheduler";
    }
}

choice! {
    /// Who starts all pods or none.
    Gang -> Option<spec::Gang> {
        "none" => None, "No gang: pods start as they fit.";
        "volcano" => Some(spec::Gang::Volcano), "Volcano's PodGroup and scheduler.";
        "coscheduling" => Some(spec::Gang::Coscheduling), "The PodGroup of the scheduler plugins.";
    }
}

shape! {
    /// How long the job may take, and what becomes of it afterwards.
    Lifecycle {
        /// The longest the run may take, waiting included. Then it fails and gives its GPUs back.
        "deadline" deadline: Period, example "24h", in place;
        /// How long the finished Job stays to be looked at.
        "ttlAfterFinished" ttl_after_finished: Duration, example "1h", in place;
        /// What becomes of the workers at the end.
        "release" release: Release, default "scaleDown";
    }
}

choice! {
    /// What becomes of the workers at the end; true keeps them.
    Release -> bool {
        "scaleDown" => false, "The launcher scales them down: the GPUs are free.";
        "keep" => true, "They stay until somebody removes them.";
    }
}

shape! {
    /// What the pods may do.
    Security {
        /// The Pod Security level the job may need, as an upper bound.
        "profile" profile: Profile, default "restricted";
        /// The user the containers run as. Default: 65532; under `openshift` the platform chooses.
        "runAsUser" run_as_user: Int<0, 2_147_483_647>, default 65_532;
        /// The group that owns volumes. Default: the id of the user.
        "fsGroup" fs_group: Int<0, 2_147_483_647>, example 65_532;
        /// Whether a NetworkPolicy keeps other pods away from the job's.
        "networkPolicy" network_policy: bool, default true, in place;
        /// A ServiceAccount that exists, for the launcher. It must be allowed to scale the workers.
        "serviceAccount" service_account: ObjectName, example "trainer";
        /// Whether containers may write only to `/tmp`, `/dev/shm` and mounted volumes.
        "readOnlyRootFilesystem" read_only_root_filesystem: bool, default true;
    }
}

choice! {
    /// The Pod Security level the job may need.
    Profile -> spec::Profile {
        "restricted" => spec::Profile::Restricted, "Nothing beyond Pod Security's strictest level.";
        "openshift" => spec::Profile::OpenShift, "As restricted, and the platform chooses user and group ids.";
        "baseline" => spec::Profile::Baseline, "May run as root.";
        "privileged" => spec::Profile::Privileged, "May use the host's network and paths, and RDMA devices.";
    }
}

shape! {
    /// Metrics, TensorBoard and logs.
    Observability {
        /// Where TensorBoard finds its logs; ranks see it as `TENSORBOARD_LOGDIR`.
        "tensorboard" tensorboard: Tensorboard, example json!({"logdir": "/results/tb"});
        /// A port on which the ranks serve metrics.
        "metrics" metrics: Metrics, example json!({"port": 9400, "podMonitor": true});
        /// How logs look.
        "logs" logs: Logs, example json!({"rankPrefix": true});
    }
}

shape! {
    /// Where TensorBoard finds its logs.
    Tensorboard {
        /// The directory.
        "logdir" (required) logdir: Path, example "/results/tb";
    }
}

shape! {
    /// A port on which the ranks serve metrics.
    Metrics {
        /// The port.
        "port" (required) port: Int<1, 65_535>, example 9400;
        /// Whether to make a PodMonitor for the Prometheus operator.
        "podMonitor" pod_monitor: bool, default false, in place;
    }
}

shape! {
    /// How logs look.
    Logs {
        /// Whether each line of a rank's output starts with its rank.
        "rankPrefix" rank_prefix: bool, default true;
    }
}

shape! {
    /// What only a Slurm cluster needs to know.
    Slurm {
        /// The partition.
        "partition" partition: Directive, example "ml";
        /// The time limit. Default: `lifecycle.deadline` and a minute, else the partition's own.
        "time" time: Period, example "8h";
        /// Environment modules to load, in order.
        "modules" modules: Vec<At<Module>>, example json!(["OpenMPI/4.1.4", "Python/3.10"]);
        /// The account to charge.
        "account" account: Directive, example "p_vision";
        /// The quality of service.
        "qos" qos: Directive, example "high";
        /// Features that the nodes must have.
        "constraint" constraint: Directive, example "a100&ib";
        /// The nodes to run on.
        "nodelist" nodelist: Directive, example "gpu[01-04]";
        /// Nodes not to run on.
        "exclude" exclude: Directive, example "gpu07";
        /// A reservation.
        "reservation" reservation: Directive, example "course";
        /// What counts GPUs there, as `--gres` calls it before the number.
        "gres" gres: Gres, default "gpu", example "gpu:a100";
        /// More options of sbatch.
        "args" args: Vec<At<SbatchOption>>, example json!(["--mail-type=END", "--exclusive"]);
        /// Bash that prepares the environment, after the modules and before the ranks start.
        "setup" setup: Word, example "source ~/venv/bin/activate";
        /// Words put before each rank's command, such as a container's.
        "wrap" wrap: Vec<At<Word>>, example json!(["apptainer", "exec", "--nv", "mnist.sif"]);
        /// Start the ranks by srun, where `launcher.kind` is mpirun and the MPI was built for it. Default: by mpirun.
        "srun" srun: Srun, example json!({"mpi": "pmix"});
    }
}

shape! {
    /// How srun starts the ranks.
    Srun {
        /// How MPI meets: one that `srun --mpi=list` shows; `none` where ranks meet without MPI. Default: the cluster's own.
        "mpi" mpi: Directive, example "pmix";
        /// More options of srun.
        "args" args: Vec<At<Word>>, example json!(["--cpu-bind=cores"]);
    }
}

shape! {
    /// A merge patch over rendered objects, or over their pods.
    Patch {
        /// Which objects it is laid over. Left out: every one.
        "target" target: PatchTarget, example json!({"kind": "StatefulSet"});
        /// An RFC 7386 merge patch: maps merge, null removes, anything else replaces.
        "patch" (required) patch: Fragment, example json!({"metadata": {"annotations": {"a": "b"}}});
    }
}

shape! {
    /// Which objects a patch is laid over.
    PatchTarget {
        /// Their kind.
        "kind" kind: ObjectKind, example "StatefulSet";
        /// Their name, in which `*` stands for any characters.
        "name" name: Glob, example "*-worker";
    }
}

choice! {
    /// The kinds of objects khorovod renders.
    ObjectKind -> &'static str {
        "Pod" => "Pod", "The pods, wherever a target puts them: `*-worker`, `*-launcher`.";
        "NetworkPolicy" => "NetworkPolicy", "Who may reach the pods.";
        "ServiceAccount" => "ServiceAccount", "The launcher's account.";
        "Secret" => "Secret", "The ssh keys.";
        "PersistentVolume" => "PersistentVolume", "A volume of `storage`.";
        "PersistentVolumeClaim" => "PersistentVolumeClaim", "A claim of `storage`.";
        "ConfigMap" => "ConfigMap", "Scripts, hostfile, code and the current run.";
        "Service" => "Service", "The pods' names.";
        "Role" => "Role", "What the launcher may do.";
        "RoleBinding" => "RoleBinding", "Who may do it.";
        "PodGroup" => "PodGroup", "The gang.";
        "StatefulSet" => "StatefulSet", "The workers.";
        "Job" => "Job", "The launcher, or the whole job.";
        "PodMonitor" => "PodMonitor", "What Prometheus scrapes.";
        "MPIJob" => "MPIJob", "The job, for the target mpijob.";
        "JobSet" => "JobSet", "The job, for the target jobset.";
        "TrainingRuntime" => "TrainingRuntime", "The pods, for the target trainjob.";
        "TrainJob" => "TrainJob", "The job, for the target trainjob.";
    }
}
