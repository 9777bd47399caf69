//! Fields about the program that starts the ranks, elastic training, ssh and collective operations.

use super::MAX_WORKERS;
use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{choice, shape};
use crate::job::read::At;
use crate::job::types::quantity::Quantity;
use crate::job::types::spec;

shape! {
    /// The program that starts the ranks, and the pod it runs in. With torchrun, jax and tensorflow, and with `runsIn: firstWorker`, the launcher is the pod with index 0.
    Launcher {
        /// The program that starts the ranks. Required in a map; without `launcher`, it is mpirun.
        "kind" (required) kind: LauncherKind, default "mpirun", example "mpirun";
        /// The MPI in the image. Not with torchrun, jax and tensorflow. horovodrun uses MPI if the Horovod of the image was built with it, else Gloo; elastic jobs always use Gloo.
        "mpi" mpi: Mpi, default "openmpi", example "mpich";
        /// Arguments of the launcher program. khorovod adds the number of ranks, the hosts, the ssh settings and the bounds of `elastic`; for mpirun also `--bind-to none` and an option that starts each line of output with its rank, if you do not set these. `khorovod plan` prints the whole command. torchrun gets these values as variables `PET_*` instead. Not with jax, tensorflow and shell, which have no options. Bind ranks to cores only if each worker has cores of its own: see `workers.cpu`.
        "args" args: Vec<At<Word>>, example json!(["--bind-to", "socket"]);
        /// The program that each pod runs in place of torchrun, such as `ft_launcher` of NVIDIA's Resiliency Extension. It must take the options and the variables `PET_*` of torchrun. Only with torchrun and `workers.elastic`. Default: `torchrun`.
        "program" program: Program, example "ft_launcher";
        /// The pod that the launcher runs in. Default: `ownPod`. A gang, Kueue (`localQueue`), `suspend`, torchrun, jax, tensorflow, and `security.apiAccess: false` without `lifecycle.keepWorkers` have `firstWorker`, and refuse `ownPod` with all fields that need it: `workers.spares`, `workers.groups`, `storage.perWorker` and `lifecycle.keepWorkers`. Only `scheduling.gang: native` also supports `ownPod`.
        "runsIn" runs_in: LauncherPod, example "firstWorker";
        /// Whether the launcher pod also runs ranks, as one more host beside the workers and with the same resources. Only with `runsIn: ownPod`, and not with `workers.elastic`.
        "runsRanks" runs_ranks: bool, default false;
        /// Whether the launcher pod stays open for `kubectl exec`, until `idleTimeout`. Only with kind `shell`.
        "interactive" interactive: bool, default false;
        /// How long an interactive launcher stays open without a session. Only with `interactive`.
        "idleTimeout" idle_timeout: Period, default "2h";
        /// CPUs of the launcher pod. Only with `runsIn: ownPod`, and not with `runsRanks`.
        "cpu" cpu: Quantity, default "1", example "2";
        /// Memory of the launcher pod. Only with `runsIn: ownPod`, and not with `runsRanks`. With more than 1,000 workers, the default is larger and grows with their number.
        "memory" memory: Quantity, default "2Gi", example "4Gi";
        /// The image of the launcher pod. Only with `runsIn: ownPod`. Default: that of the job.
        "image" image: ImageName, example "ghcr.io/acme/launcher:1.0";
        /// How long the workers wait while no launcher runs, for example because its node is lost. After this time, the workers release their GPUs and CPUs. With torchrun, jax and tensorflow, the pods notice within ten seconds that another pod is lost, end the attempt, and wait for its replacement, at most `lifecycle.startTimeout`. Not with torchrun, jax and tensorflow, `lifecycle.keepWorkers`, `workers.serviceAccountName` and `security.apiAccess: false`.
        "lostTimeout" lost_timeout: Period, default "15m", example "1h";
    }
    or a text for "kind" as kind: LauncherKind;
}

choice! {
    /// The program that starts the ranks.
    LauncherKind -> spec::LauncherKind {
        "mpirun" => spec::LauncherKind::Mpirun, "The launcher of MPI.";
        "horovodrun" => spec::LauncherKind::Horovodrun, "The launcher of Horovod, static or elastic.";
        "torchrun" => spec::LauncherKind::Torchrun, "The launcher of PyTorch, which needs no ssh. It reads its options from variables that khorovod sets: `PET_NNODES`, `PET_NPROC_PER_NODE`, `PET_NODE_RANK` (the index of the pod), `PET_MAX_RESTARTS`, `PET_TEE`, `PET_RDZV_CONF`, and `PET_MASTER_ADDR` and `PET_MASTER_PORT` or, with `elastic`, `PET_RDZV_BACKEND`, `PET_RDZV_ENDPOINT` and `PET_RDZV_ID`; with `hostNetwork` also `PET_LOCAL_ADDR`. `khorovod plan` prints their values.";
        "deepspeed" => spec::LauncherKind::Deepspeed, "The launcher of DeepSpeed.";
        "jax" => spec::LauncherKind::Jax, "Processes of JAX, which `jax.distributed.initialize()` connects. Needs no ssh.";
        "tensorflow" => spec::LauncherKind::Tensorflow, "Processes of TensorFlow with `TF_CONFIG`, for `MultiWorkerMirroredStrategy`. Needs no ssh.";
        "shell" => spec::LauncherKind::Shell, "The command itself, in the launcher pod, with hostfile, ssh and MPI ready.";
    }
}

choice! {
    /// The pod that the launcher runs in.
    LauncherPod -> spec::LauncherPod {
        "ownPod" => spec::LauncherPod::Own, "A pod of its own. A Job runs the launcher and a StatefulSet the workers, which the launcher scales. If the node of a worker fails, the ranks run again after about 15 seconds with one of the `spares`, and after about 30 seconds without one.";
        "firstWorker" => spec::LauncherPod::FirstWorker, "The first worker. One Indexed Job runs all workers, so the launcher needs no permission to scale them. If a node fails, Kubernetes replaces its pod after about 80 seconds, or with `security.apiAccess: false` when you delete the node. Meanwhile the others wait in their pods; elastic torchrun starts the ranks again on them when it notices the loss. There are no spares.";
    }
}

choice! {
    /// The MPI in the image.
    Mpi -> spec::Mpi {
        "openmpi" => spec::Mpi::OpenMpi, "Open MPI 4 or 5.";
        "intelmpi" => spec::Mpi::IntelMpi, "Intel MPI.";
        "mpich" => spec::Mpi::Mpich, "MPICH and libraries derived from it.";
    }
}

shape! {
    /// Training that continues while workers come and go.
    Elastic {
        /// The minimum number of workers. If there are fewer, the launcher waits for others, at most `timeout`.
        "minReplicas" (required) min_replicas: Int<1, MAX_WORKERS>, example 2;
        /// The maximum number of workers, up to which you may scale the job. khorovod never adds workers above `replicas` itself.
        "maxReplicas" (required) max_replicas: Int<1, MAX_WORKERS>, example 8;
        /// How long `horovodrun` does not use a failed host. A host is the name of a worker's pod, and a pod that replaces it with the same name counts as the same host. Not with torchrun. Default: horovodrun never uses a failed host again.
        "cooldown" cooldown: Cooldown, example json!({"min": "1m", "max": "10m"});
        /// How long the training waits if fewer than `minReplicas` workers are left. After this time, the attempt has failed. The limit for the start of an attempt is `lifecycle.startTimeout` and, with torchrun, also this time.
        "timeout" timeout: Period, default "10m";
        /// How often the set of workers may change before `horovodrun` fails. Not with torchrun. Default: no limit.
        "resetLimit" reset_limit: Int<1, 1_000_000>, example 100;
    }
}

shape! {
    /// How long a failed host is not used. The time grows from `min` to `max` with each failure.
    Cooldown {
        /// The time after the first failure.
        "min" (required) min: Duration, example "1m";
        /// The maximum time.
        "max" (required) max: Duration, example "10m";
    }
}

shape! {
    /// Settings of ssh between the pods. Not with torchrun, jax and tensorflow.
    Ssh {
        /// The port sshd listens on in the pods. A port below 1024 needs `security.runAsUser: 0`. Not with torchrun, jax and tensorflow.
        "port" port: Int<1, 65_535>, default 2222;
        /// An existing Secret with the keys `id_ed25519`, `authorized_keys`, `host_key` and `known_hosts`; `khorovod keygen` generates one. With torchrun, jax and tensorflow, only the pods that pass on a `download` of `storage` use it. Default: khorovod renders one per run, `<job>-<run>-ssh`.
        "secretName" secret_name: ObjectName, example "my-keys";
        /// The login name in the pods. Not with torchrun, jax and tensorflow.
        "user" user: UserName, default "khorovod";
    }
}

shape! {
    /// Settings of NCCL, Horovod and MPI. If you leave a setting out, the library uses its own default. Variables in `env` override these settings, and other variables such as `NCCL_IB_HCA` belong there. khorovod does not set `OMP_NUM_THREADS`.
    Collective {
        /// The log level of NCCL, as the variable `NCCL_DEBUG`. Default: that of NCCL, which prints no messages.
        "ncclDebug" nccl_debug: Debug, example "WARN";
        /// The network interface for NCCL, Gloo and the TCP transport of Open MPI. In pods it is usually `eth0`; the names of the node exist only with `placement.hostNetwork`. `^NAME` excludes one. Default: each library chooses one.
        "interface" interface: Interface, example "eth0";
        /// Whether NCCL may use InfiniBand. Default: that of NCCL, which uses it if the pod has such a device.
        "infiniband" infiniband: bool, example true;
        /// The amount of data that Horovod combines into one reduction. Not with torchrun, jax and tensorflow. Default: that of Horovod, 128 MB.
        "fusionThreshold" fusion_threshold: Quantity, example "64Mi";
        /// The time between two rounds in which Horovod combines tensors, a multiple of `1ms`. Not with torchrun, jax and tensorflow. Default: that of Horovod, `1ms`.
        "cycleTime" cycle_time: Milliseconds, example "5ms";
        /// Whether Horovod tunes its own parameters. Not with torchrun, jax and tensorflow. Default: that of Horovod, false.
        "autotune" autotune: bool, example true;
        /// Whether Horovod reduces within each host first. Not with torchrun, jax and tensorflow. Default: that of Horovod, false.
        "hierarchicalAllreduce" hierarchical_allreduce: bool, example true;
        /// The file for the timeline of Horovod, which rank 0 writes. Not with torchrun, jax and tensorflow. Default: no timeline.
        "timeline" timeline: Path, example "/results/timeline.json";
    }
}

choice! {
    /// The log level of NCCL.
    Debug -> &'static str {
        "VERSION" => "VERSION", "Its version.";
        "WARN" => "WARN", "Errors with an explanation.";
        "INFO" => "INFO", "Its decisions, with reasons.";
        "TRACE" => "TRACE", "Every call.";
    }
}
