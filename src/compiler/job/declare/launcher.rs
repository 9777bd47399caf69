//! The program that starts the ranks, and how they reach each other.

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
        /// Words passed to the launcher program itself. The number of ranks is not among them: it comes from the workers.
        "args" args: Vec<At<Word>>, example json!(["--bind-to", "socket"]);
        /// Whether the launcher pod is one more host beside the workers, with the same resources.
        "runsRanks" runs_ranks: bool, default false;
        /// With kind `shell`: stay open for `kubectl exec` until `idleTimeout`.
        "interactive" interactive: bool, default false;
        /// How long an interactive launcher stays when nobody is in it.
        "idleTimeout" idle_timeout: Period, default "2h";
        /// CPUs of the launcher pod.
        "cpu" cpu: Quantity, default "1", example "2";
        /// Memory of the launcher pod. From 1,000 workers on the default grows with them.
        "memory" memory: Quantity, default "2Gi", example "4Gi";
        /// Another image for the launcher pod. Default: the job's.
        "image" image: ImageName, example "ghcr.io/acme/launcher:1.0";
        /// How often the launcher starts the training again when it fails.
        "retries" retries: Int<0, 1000>, default 3, example 0;
        /// How long the launcher waits for workers to be reachable before it fails and names those missing.
        "waitTimeout" wait_timeout: Period, default "30m", example "2h";
    }
}

choice! {
    /// The program that starts the ranks.
    LauncherKind -> spec::LauncherKind {
        "mpirun" => spec::LauncherKind::Mpirun, "MPI's own launcher.";
        "horovodrun" => spec::LauncherKind::Horovodrun, "Horovod's launcher, static or elastic.";
        "torchrun" => spec::LauncherKind::Torchrun, "PyTorch's launcher, without ssh.";
        "deepspeed" => spec::LauncherKind::Deepspeed, "DeepSpeed's launcher.";
        "shell" => spec::LauncherKind::Shell, "The command itself, in the launcher pod, with hostfile, ssh and MPI ready.";
    }
}

choice! {
    /// The MPI in the image.
    Mpi -> spec::Mpi {
        "openmpi" => spec::Mpi::OpenMpi, "Open MPI 4 or 5.";
        "intelmpi" => spec::Mpi::IntelMpi, "Intel MPI.";
        "mpich" => spec::Mpi::Mpich, "MPICH and its kin.";
    }
}

shape! {
    /// Training that goes on while workers come and go.
    Elastic {
        /// Fewest workers to train with. Below it the launcher waits, until `timeout`.
        "minWorkers" (required) min_workers: Int<1, MAX_WORKERS>, example 2;
        /// Most workers to train with.
        "maxWorkers" (required) max_workers: Int<1, MAX_WORKERS>, example 8;
        /// Shortest and longest time, in seconds, before a host that failed is tried again.
        "cooldown" cooldown: Vec<At<Int<0, 86_400>>>, example json!([60, 600]);
        /// How long to wait for `minWorkers`.
        "timeout" timeout: Period, default "10m";
        /// How often the world may change before the job fails. Default: without limit.
        "resetLimit" reset_limit: Int<1, 1_000_000>, example 100;
    }
}

shape! {
    /// How the pods reach each other by ssh.
    Ssh {
        /// The port sshd listens on in the pods. At least 1024, unless the pods run as root.
        "port" port: Int<1, 65_535>, default 2222;
        /// A Secret that exists, with keys `id_ed25519`, `authorized_keys`, `host_key` and `known_hosts`; `khorovod keygen` makes one. Default: khorovod makes `<job>-ssh`.
        "secret" secret: ObjectName, example "my-keys";
        /// The login name in the pods. Default: the job's own.
        "user" user: UserName, default "khorovod";
    }
}

shape! {
    /// NCCL, Horovod and MPI settings by their meaning. What is left out, NCCL and MPI choose themselves.
    Collective {
        /// How much NCCL says.
        "debug" debug: Debug, example "WARN";
        /// The network interface for NCCL, Gloo and Open MPI's TCP alike.
        "interface" interface: Interface, example "eth0";
        /// Whether NCCL may use InfiniBand.
        "infiniband" infiniband: bool, example true;
        /// How much Horovod gathers before it reduces.
        "fusionThreshold" fusion_threshold: Quantity, example "64Mi";
        /// Milliseconds between Horovod's cycles.
        "cycleTime" cycle_time: Int<1, 10_000>, example 5;
        /// Whether Horovod tunes itself.
        "autotune" autotune: bool, example true;
        /// Whether Horovod reduces inside each host first.
        "hierarchicalAllreduce" hierarchical_allreduce: bool, example true;
        /// A file for Horovod's timeline.
        "timeline" timeline: Path, example "/results/timeline.json";
    }
}

choice! {
    /// How much NCCL says.
    Debug -> &'static str {
        "VERSION" => "VERSION", "Its version.";
        "WARN" => "WARN", "Errors with an explanation.";
        "INFO" => "INFO", "What it chose and why.";
        "TRACE" => "TRACE", "Every call.";
    }
}
