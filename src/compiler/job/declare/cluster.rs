//! Fields about the cluster: placement, scheduling, lifecycle, security, observability, Slurm and patches.

use std::iter;

use serde_json::{Value as Json, json};

use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{choice, shape};
use crate::job::read::suggestions::nearest;
use crate::job::read::{At, Defs, Expected, Field, Item, Reader, WayOut};
use crate::job::types::spec;
use crate::yaml::Node;

shape! {
    /// The nodes that the pods run on. The fields apply to the workers and to the launcher pod; for another placement of the launcher pod, use `patches` with `target: {kind: Pod, name: "*-launcher"}`.
    Placement {
        /// Labels a node must have.
        "nodeSelector" node_selector: Table<LabelKey, LabelValue>, example json!({"pool": "a100"});
        /// Taints that the pods tolerate, as in Kubernetes. For the taints `node.kubernetes.io/not-ready` and `node.kubernetes.io/unreachable` of a node that has failed, khorovod adds `tolerationSeconds: 30` to the launcher pod and, with `launcher.runsIn: firstWorker`, to each worker, unless an entry tolerates the taint: after that time Kubernetes evicts the pod, and starts another one. Other workers and other targets have the default of Kubernetes, 300 seconds.
        "tolerations" tolerations: Vec<At<Toleration>>, example json!([{"key": "nvidia.com/gpu", "operator": "Exists"}]);
        /// A Kubernetes affinity, for all pods of the job.
        "affinity" affinity: Affinity;
        /// The PriorityClass of the pods. Default: the default class of the cluster, if it has one.
        "priorityClassName" priority_class_name: ObjectName, example "high";
        /// The RuntimeClass of the pods. Default: the runtime of the node.
        "runtimeClassName" runtime_class_name: ObjectName, example "nvidia";
        /// Spread the workers over domains of this node label, if possible. Not with `pack` or `topology`.
        "spread" spread: LabelKey, default "kubernetes.io/hostname";
        /// Instead of spreading, pack the workers into one domain of this node label, if possible.
        "pack" pack: LabelKey, example "topology.kubernetes.io/rack";
        /// How close together the workers run: in one rack, one block, or one domain of another level. A level is the label of nodes, such as `cloud.example.com/rack`, or a word for one: `host` is `kubernetes.io/hostname`, `nvlink` is `nvidia.com/gpu.clique`, and `rack`, `block`, `zone` and `region` are `topology.kubernetes.io/rack` and so on. Kubernetes itself sets only those of `host`, `zone` and `region`. khorovod passes it to Kueue, to Volcano or to the PodGroup of Kubernetes, or else sets an affinity of the pods.
        "topology" topology: Topology, example json!({"required": "rack"});
        /// Whether the pods use the network of their node. Needs the Pod Security level `privileged`.
        "hostNetwork" host_network: bool, default false;
    }
}

shape! {
    /// How close together the workers run. A level is the label of nodes, or one of these words: `host` (`kubernetes.io/hostname`), `nvlink` (`nvidia.com/gpu.clique`), `rack` and `block` (`topology.kubernetes.io/rack` and `/block`), `zone` and `region` (`topology.kubernetes.io/zone` and `/region`).
    Topology {
        /// All workers run in one domain of this level, or do not start: `rack`, or a label of your nodes such as `cloud.example.com/rack`.
        "required" required: LabelKey, example "rack", example "cloud.example.com/rack";
        /// All workers run in one domain of this level, if possible.
        "preferred" preferred: LabelKey, example "block";
        /// Slices of workers, each of which runs in one domain. Only with `scheduling.localQueue` or the target `volcano`.
        "slices" slices: TopologySlices, example json!({"size": 4, "required": "rack"});
        /// By which the hosts of the ranks are sorted, so that ranks with near numbers run near each other: a list of levels, the outermost first, or `measured`. With `zone` and `region` alone, the pods read their own labels. Any other level needs the permission to read nodes, which khorovod then renders as a ClusterRole. `measured` needs no labels and no permission: the launcher measures the round-trip times between the workers. Not with torchrun, jax and tensorflow, and not for elastic jobs.
        "rankOrder" rank_order: RankOrder, example json!(["block", "rack"]), example "measured";
    }
}

/// `rankOrder`: a list of levels, or the word `measured`.
#[derive(Debug, Clone)]
pub enum RankOrder {
    /// Levels, the outermost first.
    Levels(Vec<At<LabelKey>>),
    /// The round-trip times between the workers.
    Measured,
}

impl RankOrder {
    /// The word for [`RankOrder::Measured`]. In a list it would be the label of nodes.
    pub const MEASURED: &str = "measured";

    /// The levels in the list.
    pub fn levels(&self) -> &[At<LabelKey>] {
        match self {
            Self::Levels(levels) => levels,
            Self::Measured => &[],
        }
    }
}

impl Field for RankOrder {
    const ITEM: Item = Item::Text;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        match node.text() {
            Some(Self::MEASURED) => Some(Self::Measured),
            Some(text) if nearest(text, iter::once(Self::MEASURED)).is_some() => {
                let way_out = WayOut::Write(Self::MEASURED.to_owned());
                reader.invalid(node, "a list of levels or the word `measured`", Some(way_out))
            }
            _ => Vec::read(node, reader).map(Self::Levels),
        }
    }

    fn schema(defs: &mut Defs) -> Json {
        let levels = Vec::<At<LabelKey>>::schema(defs);
        json!({"anyOf": [{"type": "string", "enum": [Self::MEASURED]}, levels]})
    }
}

shape! {
    /// Slices of workers, each of which runs in one domain. The first slice has the workers with the lowest indexes, and so on.
    TopologySlices {
        /// The number of workers of a slice. It must divide the number of workers.
        "size" (required) size: Int<1, 100_000>, example 4;
        /// The workers of a slice run in one domain of this level, or do not start.
        "required" (required) required: LabelKey, example "rack";
    }
}

shape! {
    /// A taint that the pods tolerate.
    Toleration {
        /// The key of the taint. Default: every key, and `operator` must be `Exists`.
        "key" key: LabelKey, example "nvidia.com/gpu";
        /// How the value is compared. `Exists` takes no `value`.
        "operator" operator: TolerationOperator, default "Equal";
        /// The value of the taint. Default: an empty value. A value that YAML reads as a boolean or a number needs quotes.
        "value" value: LabelValue, example "true";
        /// The effect of the taint. Default: every effect.
        "effect" effect: Effect, example "NoSchedule";
        /// The time in seconds for which a pod stays on a node with the taint `NoExecute`. Default: no limit.
        "tolerationSeconds" toleration_seconds: Int<0, 1_000_000>, example 300;
    }
}

choice! {
    /// How the value of a taint is compared.
    TolerationOperator -> &'static str {
        "Equal" => "Equal", "The values are equal.";
        "Exists" => "Exists", "Any value.";
    }
}

choice! {
    /// The effect of a taint.
    Effect -> &'static str {
        "NoSchedule" => "NoSchedule", "No new pods.";
        "PreferNoSchedule" => "PreferNoSchedule", "No new pods, if possible.";
        "NoExecute" => "NoExecute", "No pods.";
    }
}

/// A Kubernetes affinity: its three parts, which are passed on unchanged.
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
        /// The scheduler that starts all pods or none of them. It must be installed in the cluster.
        "gang" gang: Gang, default "none";
        /// The queue of Volcano. Only with `gang: volcano` or the target `volcano`. Default: the queue `default` of Volcano.
        "volcanoQueue" volcano_queue: ObjectName, example "vision";
        /// The LocalQueue of Kueue, in the namespace of the job. The rendered Job has the label of the queue and no `suspend: true`: Kueue's webhook suspends it when you apply it, and Kueue starts it when there is room. With `workers.elastic` only under torchrun: Kueue 0.18 or newer then admits a changed number of workers. Default: Kueue does not manage the job.
        "localQueue" local_queue: ObjectName, example "team-a";
        /// The WorkloadPriorityClass of Kueue: the queue admits jobs of a higher class first, and may preempt others for them. Only with `localQueue`. Default: the priority of `placement.priorityClassName`.
        "workloadPriorityClassName" workload_priority_class_name: ObjectName, example "high";
        /// Whether Kueue may start the job with fewer workers if the quota has no room for all, but for `workers.elastic.minReplicas`. Kueue then allows no other number until the job ends, and refuses a change of this field in a run: change `runTag` with it. Only with `localQueue`, with `minReplicas` below `replicas`, and for the target `plain`.
        "partialAdmission" partial_admission: bool, default false;
        /// Whether the job starts suspended, until you apply it with false. If you set it while the job runs, its pods end.
        "suspend" suspend: bool, default false;
        /// The name of the scheduler. Default: the scheduler of the gang, else that of the cluster.
        "schedulerName" scheduler_name: ObjectName, example "my-scheduler";
    }
}

choice! {
    /// The scheduler that starts all pods or none of them.
    Gang -> Option<spec::Gang> {
        "none" => None, "No gang: each pod starts as soon as it fits on a node.";
        "volcano" => Some(spec::Gang::Volcano), "The PodGroup and the scheduler of Volcano.";
        "coscheduling" => Some(spec::Gang::Coscheduling), "The PodGroup of the scheduler plugins.";
        "native" => Some(spec::Gang::Native), "The PodGroup and the scheduler of Kubernetes itself, 1.36 or newer with the feature gate `GenericWorkload`. With the target `plain`. With `launcher.runsIn: ownPod`, the workers are the gang, and the launcher waits for them.";
    }
}

shape! {
    /// How long the job may take, how often it is retried, and what happens after it.
    Lifecycle {
        /// The maximum duration of a run. It includes the wait for the pods and all attempts, but not the time in the queue of Kueue or the time in which the job is suspended. When it has passed, the ranks get the signal of `checkpoint` and may continue for its `gracePeriod`. Then the run fails and releases its GPUs. The signal comes at the deadline; under Slurm it comes so long before it that `gracePeriod` ends at the deadline, unless `checkpoint` has its default. `activeDeadlineSeconds` of the rendered Job is five minutes more, for a launcher that cannot enforce the deadline. Under Slurm, the time starts at 0 each time Slurm starts the job again. Default: no limit.
        "deadline" deadline: Period, example "24h";
        /// How long an attempt waits until the launcher reaches all workers or, in an elastic job, `minReplicas` workers. If it does not reach them in this time, the run fails, whatever `retries` is, and names the missing workers.
        "startTimeout" start_timeout: Period, default "30m", example "2h";
        /// How often the training is started again after attempts that failed in a row. With torchrun, jax and tensorflow, it starts again in the same pods. Lost, evicted and preempted workers do not count, unless the attempt ran for less than a minute. Under Slurm, each time that Slurm starts the job again counts, and the attempts before it do not. An attempt that runs for `retriesResetAfter` sets the count to 0, so a training that fails every few hours never ends if there is no `deadline`. With elastic torchrun, this is also the limit for restarts of the ranks within each attempt. Other torchrun jobs get `PET_MAX_RESTARTS=1`, so that a failed rank does not have to wait for the other pods: khorovod then restarts the ranks of all pods, and this number limits how often.
        "retries" retries: Int<0, 1000>, default 3, example 0;
        /// An attempt that ran this long resets the number of failed attempts. With `never`, all failed attempts of the run count.
        "retriesResetAfter" retries_reset_after: PeriodOrNever, default "1h", example "6h";
        /// How many attempts in a row may end without a new highest step, whatever ended them, before the run fails. An attempt that runs for `retriesResetAfter` counts as one with a new step. Needs `observability.progress`, and has no effect without it or while it finds no step.
        "retriesWithoutProgress" retries_without_progress: Int<1, 1000>, default 10, example 5;
        /// Exit codes of the training after which no further attempt starts. Not with torchrun, jax and tensorflow, whose agents do not pass on the exit codes of their ranks. Default: every exit code but 0 is followed by another attempt.
        "finalExitCodes" final_exit_codes: Vec<At<Int<1, 255>>>, example json!([2, 64]);
        /// How long Kubernetes keeps the finished Job. Its pods and their logs are deleted with it, so save the log before, for example with `khorovod logs JOB > FILE`. The other objects of the job stay until you delete them, with `kubectl delete` and the label `khorovod.dev/job=JOB`: `khorovod plan` prints the command. Default: until you delete it.
        "ttlAfterFinished" ttl_after_finished: Duration, example "1h";
        /// Whether the workers and their GPUs are kept after the end of the run, until you delete them. Otherwise the launcher scales the workers to zero. Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow.
        "keepWorkers" keep_workers: bool, default false;
        /// The signal and the time that the ranks get to save a checkpoint, before they are ended by an eviction, a preemption, a drain, the deadline, a newer run or `khorovod stop`. Default: `SIGTERM` and `30s`.
        "checkpoint" checkpoint: Checkpoint, example json!({"signal": "SIGUSR1", "gracePeriod": "2m"});
        /// How long a training may run without activity, by default without output of any rank. The start of the training counts too. Then the attempt ends and counts as failed, as `retries` allows. Default: without limit.
        "stall" stall: Stall, example json!({"timeout": "20m"});
    }
}

shape! {
    /// The signal and the time that the ranks get to save a checkpoint. Before the ranks of a run are ended (drain, eviction, preemption, deadline, newer run), every rank gets this signal and this much time. If a worker of an elastic job is evicted, only its ranks get it, with `horovodrun` after half of the time, because the others continue. The first worker of `torchrun` is an exception: all ranks end with it. Under Slurm, the script ends the training half a minute before `slurm.time`, or at `lifecycle.deadline` if that is earlier, and every rank gets the signal `gracePeriod` before that moment. Your program chooses where it saves checkpoints, and loads the newest one at its start. After the signal it may end or continue; its exit code does not matter then.
    Checkpoint {
        /// The signal.
        "signal" signal: Signal, default "SIGTERM", example "SIGUSR1";
        /// How long the ranks may continue after the signal, at most `1h`. An upload of `s3` follows, which may take as long again, and up to a minute and a half for the end of the pod: `terminationGracePeriodSeconds` is the sum. If a cloud provider takes a node away after two minutes, leave it at `30s` with an upload, or save checkpoints often.
        "gracePeriod" grace_period: Period, default "30s", example "2m";
    }
}

choice! {
    /// The signal that asks a rank to save a checkpoint; the value is its name without `SIG`.
    Signal -> &'static str {
        "SIGTERM" => "TERM", "Ends a program that does not handle it.";
        "SIGINT" => "INT", "As from Ctrl+C. In Python it raises KeyboardInterrupt.";
        "SIGHUP" => "HUP", "Ends a program that does not handle it.";
        "SIGUSR1" => "USR1", "The signal that PyTorch Lightning and many scripts for Slurm handle.";
        "SIGUSR2" => "USR2", "Ends a program that does not handle it.";
    }
}

shape! {
    /// How long a training may run without activity. After this time, the launcher collects from all hosts what each rank is doing, and prints it. If the ranks write their steps to the directory in `KHOROVOD_STEPS`, the launcher also names slow ranks. Without `file` and `metric`, any output counts, and khorovod sets `HOROVOD_STALL_CHECK_DISABLE=1`, because Horovod's own warnings are output too.
    Stall {
        /// The longest time without activity, at least `10s`. It must be longer than the longest pause of a healthy training, also at its start.
        "timeout" (required) timeout: Period, example "20m";
        /// A file that the training changes to show activity, for example after each step. It may be on a shared volume or on each host. With it, output does not count as activity. Default: any output of any rank is activity, unless `metric` is set.
        "file" file: Path, example "/checkpoints/progress";
        /// A metric of the ranks, on the port in `observability.metrics`, whose changes are activity. With it, output does not count as activity; if you also set `file`, a change of either counts. Needs `observability.metrics`. Default: no metric.
        "metric" metric: MetricName, example "training_steps_total";
        /// The reaction of the launcher. With `retry` and `lifecycle.retries: 0`, the run fails.
        "action" action: StallAction, default "retry";
        /// A directory on a volume that all workers mount, in which each host stores what its ranks are doing. With an `s3` volume, only the files of the first worker reach the bucket. Default: the launcher only prints a shorter form.
        "evidence" evidence: Path, example "/checkpoints/stalls";
    }
}

choice! {
    /// The reaction of the launcher if a training shows no activity; true ends the attempt.
    StallAction -> bool {
        "retry" => true, "It ends the attempt, which counts as failed: `lifecycle.retries` decides whether another one starts.";
        "report" => false, "It only logs, and the training continues.";
    }
}

shape! {
    /// The permissions of the pods.
    Security {
        /// The Pod Security level that the namespace allows. This does not change the namespace. The pods get only the permissions that the spec needs, and never run as root unless `runAsUser` is 0. `nfs` and root need `baseline`; `hostPath`, `hostNetwork` and `rdma` need `privileged`.
        "podSecurityLevel" pod_security_level: PodSecurityLevel, default "restricted";
        /// The id of the user that the containers run as. On a shared disk (`nfs`, `hostPath`, `existingClaim`), set the id of the owner of the files, as `id -u` prints it. Under `openshift` the platform assigns it.
        "runAsUser" run_as_user: Int<0, 2_147_483_647>, default 65_532, example 1000;
        /// The id of the group that owns volumes. Kubernetes may give the files of a volume to this group, but not those of `hostPath` and `nfs`. Default: `runAsUser`.
        "fsGroup" fs_group: Int<0, 2_147_483_647>, example 65532;
        /// Whether a NetworkPolicy blocks traffic from other pods to the pods of the job. `observability.metrics` opens its port.
        "networkPolicy" network_policy: bool, default true;
        /// The addresses that the pods may connect to, besides the pods of the job and port 53 of any address. Nodes pull the images, so registries need no entry. The NetworkPolicy limits them, if the network of your cluster enforces such policies.
        "egress" egress: Egress, default "open", example "noMetadata";
        /// Further pods and addresses that the pods may connect to, as in the `to` of a NetworkPolicy, with `egress: listed` or `egress: private`. A host name is not possible. Default: none.
        "egressTo" egress_to: Vec<At<NetworkPeer>>, example json!([{"ipBlock": {"cidr": "203.0.113.7/32"}}]);
        /// An existing ServiceAccount, for which khorovod renders no Role. Default: khorovod renders one for the job, with a Role. If it has a role of AWS, `s3` without `secretName` uses that role. It must be allowed to get and patch the Job of the launcher, and with `launcher.runsIn: ownPod` to scale the workers.
        "serviceAccountName" service_account_name: ObjectName, example "trainer";
        /// Whether the pods may read and change the objects of their own run, which khorovod permits with a Role. If you set it to false, Kubernetes does not replace a pod on a dead node until you delete the node, whatever `placement.tolerations` are.
        "apiAccess" api_access: bool, default true;
        /// Whether containers may write only to `/tmp`, `/dev/shm` and mounted volumes. If the home directory of the image is not writable, `HOME` is `/tmp`.
        "readOnlyRootFilesystem" read_only_root_filesystem: bool, default true;
    }
}

choice! {
    /// The addresses that the pods may connect to.
    Egress -> spec::Egress {
        "open" => spec::Egress::Open, "Any address.";
        "noMetadata" => spec::Egress::NoMetadata, "Any address except the metadata service of the cloud, which gives out the credentials of the node: `169.254.169.254` and `fd00:ec2::254`.";
        "private" => spec::Egress::Private, "Only pods of all namespaces, private addresses (`10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `100.64.0.0/10` and `fc00::/7`), and `egressTo`. The API server, the buckets of `s3` and the servers of `download` must have such an address.";
        "listed" => spec::Egress::Listed, "Only `egressTo`. It must contain the addresses of the API server, unless the pods have no API access, of the buckets of `s3`, and of the servers of `download`. For the API server, these are its endpoints, which `kubectl -n default get endpointslice kubernetes` prints, and not the address of its Service. khorovod does not resolve host names, so it cannot check all of these addresses.";
    }
}

choice! {
    /// The Pod Security level that the namespace allows.
    PodSecurityLevel -> spec::PodSecurityLevel {
        "restricted" => spec::PodSecurityLevel::Restricted, "Only what the strictest level of Pod Security allows.";
        "openshift" => spec::PodSecurityLevel::OpenShift, "As restricted, and the platform assigns user and group ids.";
        "baseline" => spec::PodSecurityLevel::Baseline, "May run as root and mount `nfs`.";
        "privileged" => spec::PodSecurityLevel::Privileged, "May use the network and paths of the host, and RDMA devices.";
    }
}

shape! {
    /// Metrics, TensorBoard and logs.
    Observability {
        /// The directory for the logs of TensorBoard, which ranks get in `TENSORBOARD_LOGDIR`. khorovod does not run TensorBoard. Default: the variable is not set.
        "tensorboardLogdir" tensorboard_logdir: Path, example "/results/tb";
        /// A port on which the ranks serve metrics for Prometheus over HTTP, at the path `/metrics`. If a worker has several ranks, one of them serves: they share the address of their pod.
        "metrics" metrics: Metrics, example json!({"port": 9400, "podMonitor": true});
        /// A port on which the launcher serves what the run is doing: its phase, attempts, progress, and for how long workers were held and trained. It needs `python3` in the image.
        "launcherMetrics" launcher_metrics: Metrics, example json!({"port": 9401, "podMonitor": true});
        /// The source of the progress of the training, which the launcher writes to the annotation `khorovod.dev/status` of its Job. `auto` recognises the lines of common frameworks. Default: the progress is unknown, and the output of the training does not pass through another process. Only with `launcherMetrics`, or for the target `plain` with `security.apiAccess: true` and without `lifecycle.keepWorkers`.
        "progress" progress: Progress, example "auto", example json!({"pattern": "step (\\d+)/(\\d+)"});
        /// Whether the launcher posts Kubernetes Events for its Job: when an attempt starts and why it ends, lost and replaced workers, hangs, and the end of the run. It permits the pods to create any event in their namespace. Only for the target `plain`. Not with `security.apiAccess: false` and `lifecycle.keepWorkers`.
        "events" events: bool, default false;
        /// The format of logs. The log of the launcher has the output of all ranks; with torchrun, jax and tensorflow, each pod has that of its own. Default: each line starts with its rank.
        "logs" logs: Logs, example json!({"rankPrefix": true});
    }
}

shape! {
    /// The source of the progress of the training. `auto` is short for `output: auto`. The output of the training then passes through a process that needs `python3` in the image, 15 MB of memory and almost no processor time.
    Progress {
        /// How the output shows the progress.
        "output" output: ProgressOutput, example "auto";
        /// A regular expression of Python, which is searched in each line of the output. Its groups `step` and `steps`, or `epoch` and `epochs`, are the step and the number of all steps. If the groups have no names, the first group is the step and the second one the number of all steps, which may be missing.
        "pattern" pattern: ProgressPattern, example "step (?P<step>\\d+)/(?P<steps>\\d+)";
        /// A file that rank 0 writes. Its last line is the step, or the step and the number of all steps, such as `120/1000`, or a JSON object such as `{"step": 120, "steps": 1000}`. The launcher reads it every 30 seconds from the host of rank 0.
        "file" file: Path, example "/tmp/progress.json";
    }
    exactly one of ["output", "pattern", "file"];
    or a text for "output" as output: ProgressOutput;
}

choice! {
    /// How the output of the training shows its progress.
    ProgressOutput -> () {
        "auto" => (), "With the bars of tqdm, PyTorch Lightning and the Trainer of Hugging Face, with the lines of Keras, or with lines such as `epoch 3/10` and `step 100/1000`. Bars of downloads, preparations and evaluations do not count.";
    }
}

shape! {
    /// A port for Prometheus.
    Metrics {
        /// The port.
        "port" (required) port: Int<1, 65_535>, example 9400;
        /// Whether to render a PodMonitor for the Prometheus operator.
        "podMonitor" pod_monitor: bool, default false;
        /// The pods and addresses that may connect to the port, as in the `from` of a NetworkPolicy. Default: every address.
        "from" from: Vec<At<NetworkPeer>>, example json!([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]);
    }
}

/// A peer of a Kubernetes NetworkPolicy: pods, pods of namespaces, or an address range. It is passed on unchanged.
#[derive(Debug, Clone)]
pub struct NetworkPeer(pub Json);

const PEERS: &[&str] = &["ipBlock", "namespaceSelector", "podSelector"];

impl Field for NetworkPeer {
    const ITEM: Item = Item::Map;

    fn read<'n>(node: &'n Node, reader: &mut Reader<'n, '_>) -> Option<Self> {
        let mut sound = true;
        let entries = reader.map(node, Expected::Names)?;
        for part in entries {
            if !PEERS.contains(&part.key.as_str()) {
                reader.unknown(part, PEERS);
                sound = false;
                continue;
            }
            sound &= reader.entry::<Fragment>(part).is_some();
        }
        if entries.is_empty() {
            let example = "write `namespaceSelector: {}` for every pod of the cluster";
            return reader.invalid(node, "a peer of a NetworkPolicy", Some(WayOut::Advice(example.to_owned())));
        }
        sound.then(|| Self(node.to_json()))
    }

    fn schema(defs: &mut Defs) -> Json {
        json!({
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"enum": PEERS},
            "additionalProperties": Fragment::schema(defs),
        })
    }
}

shape! {
    /// The format of logs.
    Logs {
        /// Whether each line of output starts with the rank that printed it. `khorovod logs --rank` needs it, except with torchrun, jax and tensorflow. No effect with horovodrun, which adds a prefix of its own, and with shell.
        "rankPrefix" rank_prefix: bool, default true;
    }
}

shape! {
    /// Settings for Slurm clusters.
    Slurm {
        /// The partition, as `--partition`. Default: that of the cluster.
        "partition" partition: Directive, example "ml";
        /// The time limit, as `--time`. Half a minute before it, or at `lifecycle.deadline` if that is earlier, the script ends the ranks. It starts at 0 each time Slurm starts the job again, at most `lifecycle.retries` times. Default: `lifecycle.deadline` plus one minute, else the limit of the partition.
        "time" time: Period, example "8h";
        /// Environment modules to load, in order, with `module load`.
        "modules" modules: Vec<At<Module>>, example json!(["OpenMPI/4.1.4", "Python/3.10"]);
        /// The account to charge, as `--account`. Default: yours.
        "account" account: Directive, example "p_vision";
        /// The quality of service, as `--qos`. Default: that of the account.
        "qos" qos: Directive, example "high";
        /// Features that the nodes must have, as `--constraint`. Default: any nodes.
        "constraint" constraint: Directive, example "a100&ib";
        /// The nodes that the job must get, as `--nodelist`. Default: any nodes.
        "nodelist" nodelist: Directive, example "gpu[01-04]";
        /// The nodes that the job must not get, as `--exclude`. Default: none.
        "exclude" exclude: Directive, example "gpu07";
        /// The reservation whose nodes the job uses, as `--reservation`. Default: none.
        "reservation" reservation: Directive, example "course";
        /// The generic resource that counts GPUs, as `--gres` takes it before the number.
        "gres" gres: Gres, default "gpu", example "gpu:a100";
        /// More options of sbatch, one per item, with `=` before a value, such as `--mail-type=END` and `--array=0-9%2`.
        "args" args: Vec<At<SbatchOption>>, example json!(["--mail-type=END", "--exclusive"]);
        /// Bash that prepares the environment, after the modules and the variables of `env`, which it may change, and before the ranks start. It runs once each time Slurm starts the job, on the first node, and not again for each attempt. The ranks of all nodes get the variables that it exports.
        "setup" setup: Word, example "source ~/venv/bin/activate";
        /// Words that precede the command of each rank, such as a container runtime.
        "wrap" wrap: Vec<At<Word>>, example json!(["apptainer", "exec", "--nv", "mnist.sif"]);
        /// Options of srun. With `launcher: mpirun`, this map makes srun start the ranks instead of mpirun, which the MPI library must support; write `srun: {}` for no options. With `launcher: torchrun`, srun always starts the agents. Not with horovodrun, deepspeed and shell. Default: mpirun starts the ranks.
        "srun" srun: Srun, example json!({"mpi": "pmix"});
    }
}

shape! {
    /// How srun starts the ranks.
    Srun {
        /// The type of MPI for srun, from `srun --mpi=list`; `none` if the ranks do not use MPI. Default: that of the cluster. If the default type has no process management interface, the job ends with code 42.
        "mpi" mpi: Directive, example "pmix";
        /// More options of srun, one per item, with `=` before a value, such as `--cpu-bind=cores`.
        "args" args: Vec<At<Word>>, example json!(["--cpu-bind=cores"]);
    }
}

shape! {
    /// A strategic merge patch for rendered objects, or for their pods, as in `kubectl patch` and Kustomize.
    Patch {
        /// The objects that the patch applies to. Default: all objects.
        "target" target: PatchTarget, example json!({"kind": "StatefulSet"});
        /// The changes. Maps merge, and null removes a field. Lists that Kubernetes merges by a key are merged by it: containers,
        /// volumes and env by `name`, volumeMounts by `mountPath`, ports by their number. Other lists are replaced. The directives
        /// `$patch: delete`, `$patch: replace`, `$retainKeys`, `$setElementOrder/LIST` and `$deleteFromPrimitiveList/LIST` work
        /// as in Kubernetes. In custom resources, lists are merged only in the pod templates; all other lists are replaced.
        "patch" (required) patch: Fragment, example json!({"spec": {"containers": [{"name": "worker", "tty": true}]}});
    }
}

shape! {
    /// The objects that a patch applies to.
    PatchTarget {
        /// Their kind. Default: every kind.
        "kind" kind: ObjectKind, example "StatefulSet";
        /// Their name, in which `*` means any characters. Default: every name.
        "name" name: Glob, example "*-worker";
    }
}

choice! {
    /// The kinds of objects khorovod renders.
    ObjectKind -> &'static str {
        "Pod" => "Pod", "The pods of any target: `*-worker`, `*-launcher`.";
        "NetworkPolicy" => "NetworkPolicy", "The pods that may connect to those of the job.";
        "ServiceAccount" => "ServiceAccount", "The account of the launcher.";
        "Secret" => "Secret", "The ssh keys.";
        "PersistentVolume" => "PersistentVolume", "A volume of `storage`.";
        "PersistentVolumeClaim" => "PersistentVolumeClaim", "A claim of `storage`.";
        "ConfigMap" => "ConfigMap", "Scripts, hostfile, code and the current run.";
        "Service" => "Service", "The DNS names of the pods.";
        "Role" => "Role", "The permissions of the launcher.";
        "RoleBinding" => "RoleBinding", "The account that has them.";
        "ClusterRole" => "ClusterRole", "The permission to read nodes, for `placement.topology.rankOrder`.";
        "ClusterRoleBinding" => "ClusterRoleBinding", "The account that has it.";
        "ResourceClaimTemplate" => "ResourceClaimTemplate", "The devices of `workers.resourceClaims`.";
        "ComputeDomain" => "ComputeDomain", "The NVLink domain of `workers.computeDomain`.";
        "PodGroup" => "PodGroup", "The gang.";
        "StatefulSet" => "StatefulSet", "The workers.";
        "Job" => "Job", "The launcher, or the whole job.";
        "PodMonitor" => "PodMonitor", "The metrics that Prometheus scrapes.";
        "MPIJob" => "MPIJob", "The job, for the target mpijob.";
        "JobSet" => "JobSet", "The job, for the target jobset.";
        "TrainingRuntime" => "TrainingRuntime", "The pods, for the target trainjob.";
        "TrainJob" => "TrainJob", "The job, for the target trainjob.";
    }
}
