//! Fields about the program that starts the ranks, elastic training, ssh and collective operations.

use serde_json::json;

use super::MAX_WORKERS;
use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{choice, shape};
use crate::job::read::At;
use crate::job::types::quantity::Quantity;
use crate::job::types::spec;

shape! {
    /// The program that starts the ranks, and the pod it runs in.
    Launcher {
        /// The program that starts the ranks.
        "kind" kind: LauncherKind, default "mpirun", example "horovodrun";
        /// The MPI in the image.
        "mpi" mpi: Mpi, default "openmpi", example "mpich";
        /// Arguments of the launcher program. khorovod adds the number of ranks, which follows from the workers.
        "args" args: Vec<At<Word>>, example json!(["--bind-to", "socket"]);
        /// Whether the launcher pod is one more host beside the workers, with the same resources.
        "runsRanks" runs_ranks: bool, default false;
        /// With kind `shell`: stay open for `kubectl exec` until `idleTimeout`.
        "interactive" interactive: bool, default false;
        /// How long an interactive launcher stays open without a session.
        "idleTimeout" idle_timeout: Period, default "2h";
        /// CPUs of the launcher pod.
        "cpu" cpu: Quantity, default "1", example "2";
        /// Memory of the launcher pod. Above 1,000 workers the default grows with their number.
        "memory" memory: Quantity, default "2Gi", example "4Gi";
        /// The image of the launcher pod. Default: that of the job.
        "image" image: ImageName, example "ghcr.io/acme/launcher:1.0";
        /// How often the launcher starts the training again when it fails.
        "retries" retries: Int<0, 1000>, default 3, example 0;
        /// How long the launcher waits until it can reach all workers. After that it fails and names the missing workers.
        "waitTimeout" wait_timeout: Period, default "30m", example "2h";
        /// How long the workers keep their GPUs while no launcher runs. After that they release them.
        "lostTimeout" lost_timeout: Period, default "15m", example "1h";
        /// An attempt that ran this long resets the number of failed attempts.
        "retriesResetAfter" retries_reset_after: Period, default "1h", example "6h";
        /// Exit codes of the training after which no further attempt starts.
        "finalExitCodes" final_exit_codes: Vec<At<Int<1, 255>>>, example json!([2, 64]);
    }
}

choice! {
    /// The program that starts the ranks.
    LauncherKind -> spec::LauncherKind {
        "mpirun" => spec::LauncherKind::Mpirun, "The launcher of MPI.";
        "horovodrun" => spec::LauncherKind::Horovodrun, "The launcher of Horovod, static or elastic.";
        "torchrun" => spec::LauncherKind::Torchrun, "The launcher of PyTorch, which needs no ssh.";
        "deepspeed" => spec::LauncherKind::Deepspeed, "The launcher of DeepSpeed.";
        "shell" => spec::LauncherKind::Shell, "The command itself, in the launcher pod, with hostfile, ssh and MPI ready.";
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
        /// The minimum number of workers. Below it the launcher waits, at most `timeout`.
        "minWorkers" (required) min_workers: Int<1, MAX_WORKERS>, example 2;
        /// The maximum number of workers.
        "maxWorkers" (required) max_workers: Int<1, MAX_WORKERS>, example 8;
        /// The minimum and maximum time, in seconds, before the launcher uses a failed host again.
        "cooldown" cooldown: Vec<At<Int<0, 86_400>>>, example json!([60, 600]);
        /// How long to wait for `minWorkers`.
        "timeout" timeout: Period, default "10m";
        /// How often the set of workers may change before the job fails. Default: no limit.
        "resetLimit" reset_limit: Int<1, 1_000_000>, example 100;
    }
}

shape! {
    /// Settings of ssh between the pods.
    Ssh {
        /// The port sshd listens on in the pods. At least 1024, unless the pods run as root.
        "port" port: Int<1, 65_535>, default 2222;
        /// An existing Secret with the keys `id_ed25519`, `authorized_keys`, `host_key` and `known_hosts`; `khorovod keygen` generates one. Default: khorovod renders one per run, `<job>-<run>-ssh`.
        "secret" secret: ObjectName, example "my-keys";
        /// The login name in the pods.
        "user" user: UserName, default "khorovod";
    }
}

shape! {
    /// Settings of NCCL, Horovod and MPI. NCCL and MPI choose the value of those that you leave out.
    Collective {
        /// The log level of NCCL.
        "debug" debug: Debug, example "WARN";
        /// The network interface for NCCL, Gloo and the TCP transport of Open MPI.
        "interface" interface: Interface, example "eth0";
        /// Whether NCCL may use InfiniBand.
        "infiniband" infiniband: bool, example true;
        /// The amount of data that Horovod combines into one reduction.
        "fusionThreshold" fusion_threshold: Quantity, example "64Mi";
        /// The cycle time of Horovod in milliseconds.
        "cycleTime" cycle_time: Int<1, 10_000>, example 5;
        /// Whether Horovod tunes its own parameters.
        "autotune" autotune: bool, example true;
        /// Whether Horovod reduces within each host first.
        "hierarchicalAllreduce" hierarchical_allreduce: bool, example true;
        /// The file for the timeline of Horovod.
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
