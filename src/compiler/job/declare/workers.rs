//! Fields about the pods that run ranks.

use crate::job::declare::job::CommandLine;
use crate::job::declare::launcher::Elastic;
use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{OrDefault, choice, shape};
use crate::job::read::At;
use crate::job::types::quantity::Quantity;
use crate::job::types::spec;

/// The maximum number of workers. It is far above the 5,000 nodes for which Kubernetes is designed.
pub const MAX_WORKERS: u32 = 100_000;

/// Declares the fields that describe one worker, for `workers` and for each of its groups.
macro_rules! with_worker_fields {
    ($callback:ident $($head:tt)*) => {
        $callback! {
            { $($head)* }
            /// The number of additional workers, which are ready but run no ranks until another worker is lost. Without one, another pod replaces a lost worker: see `launcher.runsIn`. Each group has its own spares. Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow, a gang or Kueue, and not with `elastic`.
            "spares" spares: Int<0, MAX_WORKERS>, default 0, example 1;
            /// GPUs per worker. 0 trains on CPUs.
            "gpus" gpus: Int<0, 64>, default 0, example 8;
            /// The resource that counts GPUs on the nodes: `amd.com/gpu`, `habana.ai/gaudi`, or a MIG slice such as `nvidia.com/mig-1g.10gb`. Request one MIG slice per worker: a process with CUDA uses only one.
            "gpuResource" gpu_resource: ResourceName, default "nvidia.com/gpu", example "nvidia.com/mig-1g.10gb";
            /// Ranks per worker, which MPI calls slots, torchrun `--nproc-per-node`, Slurm `--ntasks-per-node`, and JAX processes. Each JAX rank gets an equal share of the GPUs of its worker. Default: one per GPU, at least one.
            "slotsPerWorker" slots_per_worker: Int<1, 1024>, example 8;
            /// CPUs per worker, for all its ranks together: both request and limit. This is a share of CPU time, not a set of cores: the ranks may run on any core of the node. With a whole number here, `memory` too, and the static CPU manager policy on the nodes, a worker gets cores of its own. khorovod does not set `OMP_NUM_THREADS`. Under Slurm, it is `--cpus-per-task` for each rank, rounded down. Default: no request and no limit.
            "cpu" cpu: Quantity, example "32";
            /// Memory per worker, for all its ranks together: both request and limit. A worker that uses more is killed. With `cpu` too, the pods have the QoS class Guaranteed. Under Slurm, it is `--mem`. Default: no request and no limit.
            "memory" memory: Quantity, example "256Gi";
            /// Size of `/dev/shm`, which uses memory of the worker. Default: a quarter of `memory`, else 8Gi.
            "shm" shm: Quantity, example "64Gi";
            /// Local disk per worker: both request and limit. Default: no request and no limit.
            "ephemeralStorage" ephemeral_storage: Quantity, example "100Gi";
            /// Devices that each worker gets by Dynamic Resource Allocation (DRA), Kubernetes 1.34 or newer: GPUs, network interfaces, or others that a DRA driver offers.
            "resourceClaims" resource_claims: Vec<At<ResourceClaim>>, example json!([{"name": "nic", "resourceClaimTemplateName": "rdma-nic"}]);
            /// The entry of `resourceClaims` with the GPUs that `gpus` counts. Only with `gpus`. The workers then do not request `gpuResource`.
            "gpuClaim" gpu_claim: Label, example "gpus";
            /// RDMA devices per worker. Needs the Pod Security level `privileged`, because of the capability `IPC_LOCK`.
            "rdma" rdma: Rdma, example json!({"resource": "rdma/hca", "count": 8});
            /// Kubernetes requests and limits in full, instead of `cpu`, `memory` and `ephemeralStorage`.
            "resources" resources: Resources, example json!({"requests": {"cpu": "8"}, "limits": {"memory": "64Gi"}});
        }
    };
}

/// Declares a shape: first the fields in the braces, then those of every worker.
macro_rules! worker_shape {
    ({ $(#[doc = $about:literal])+ $name:ident { $($own:tt)* } $($rules:tt)* } $($fields:tt)*) => {
        shape! {
            $(#[doc = $about])+
            $name { $($own)* $($fields)* }
            $($rules)*
        }
    };
}

/// Declares [`WorkerFields`].
macro_rules! worker_view {
    ({} $($(#[doc = $doc:literal])+ $key:literal $field:ident : $type:ty
        $(, default $default:expr)? $(, example $example:expr)*;)+) => {
        /// The fields of the workers of one group. A field that the group does not have is taken from beside `groups`.
        #[derive(Debug, Clone, Copy)]
        pub struct WorkerFields<'a> {
            $($(#[doc = $doc])+ pub $field: Option<&'a At<$type>>,)+
        }

        impl<'a> WorkerFields<'a> {
            /// The fields of the workers of `group` or, if the job has no groups, of all workers.
            pub fn new(workers: &'a Workers, group: Option<&'a Group>) -> Self {
                Self { $($field: group.and_then(|group| group.$field.as_ref()).or(workers.$field.as_ref()),)+ }
            }

            $($(
                #[doc = concat!("The value of `", $key, "`, or its default.")]
                pub fn $field(&self) -> OrDefault<$type> {
                    OrDefault::new(self.$field, $default)
                }
            )?)+
        }
    };
}

with_worker_fields! { worker_view }

with_worker_fields! {
    worker_shape
    /// The pods that run ranks.
    Workers {
        /// The number of workers, which are the nodes of `torchrun --nnodes` and of Slurm; with `elastic`, the number at the start. A changed number starts a new run.
        "replicas" replicas: Int<1, MAX_WORKERS>, example 4;
        /// The number of workers may change during the run. Only with `launcher: horovodrun` or `torchrun`, and not with `groups` and `spares`. The run continues without lost workers. khorovod does not change the number itself, but you can. Not with `horovodrun` in a queue of Kueue or in a gang; with torchrun, Kueue admits more workers when the quota has room (0.18 or newer), but not with `placement.topology`, under which the number must stay as it is. With horovodrun: `kubectl scale statefulset JOB-RUN-worker --replicas 6`. With torchrun, until you apply the spec again: `kubectl patch job JOB-RUN -p '{"spec": {"completions": 6, "parallelism": 6}}'`.
        "elastic" elastic: Elastic, example json!({"minReplicas": 2, "maxReplicas": 8});
        /// Multi-node NVLink: all workers join a ComputeDomain of NVIDIA's DRA driver, and each gets IMEX channels. Kubernetes 1.34 or newer. Add `placement: {topology: {required: nvlink}}`, so that all workers run on nodes of one NVLink domain.
        "computeDomain" compute_domain: ComputeDomain, example "Single";
        /// Heterogeneous worker groups. The fields of a worker beside `groups`, such as `gpus`, are the defaults of each group. Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow.
        "groups" groups: Vec<At<Group>>, example json!([{"name": "a100", "replicas": 2, "gpus": 8}]);
        /// The checks that a worker must pass before it runs ranks. A worker that fails is replaced: with `launcher.runsIn: ownPod` by a spare or by a new worker, else Kubernetes starts its pod again. Default: `OnFailure` for workers with GPUs, `Never` for others; with a map, `policy` decides.
        "healthCheck" health_check: HealthCheck, example json!({"command": ["dcgmi", "diag", "-r", "1"], "timeout": "2m"});
        /// An existing ServiceAccount for the workers, which gives them an identity in the cloud: a role of AWS, a service account of Google, or a managed identity of Azure. The launcher keeps its own account. The workers then get no token for the API server, so they cannot release their GPUs if no launcher starts any more. Only with `launcher.runsIn: ownPod`, so not with torchrun, jax and tensorflow. Default: the account of the launcher.
        "serviceAccountName" service_account_name: ObjectName, example "reads-data";
    }
    exactly one of ["replicas", "groups"];
}

with_worker_fields! {
    worker_shape
    /// A group of equal workers.
    Group {
        /// The name of the group. The names of its pods contain it.
        "name" (required) name: Label, example "a100";
        /// The number of workers of the group.
        "replicas" (required) replicas: Int<1, MAX_WORKERS>, example 2;
    }
}

shape! {
    /// The checks that a worker must pass before it runs ranks: khorovod's own checks, and your `command`. khorovod logs in to the worker and checks the number and the memory errors of GPUs, RDMA devices, free space, volumes, the clock, and the connection to other workers. A check is not repeated: a worker that fails once is replaced. With `launcher.runsIn: ownPod`, a spare or a new worker takes its place, and the rejected pod keeps its GPUs until the run ends, so that no other worker of the run starts on them. Otherwise the pod exits, and Kubernetes starts another one, perhaps on the same node. khorovod does not cordon a node. The run fails if checks reject workers in more than `lifecycle.retries` + 1 rounds.
    HealthCheck {
        /// The attempts before which the workers are checked. Without the whole map `healthCheck`, it is `OnFailure` for workers with GPUs and `Never` for others.
        "policy" policy: HealthPolicy, default "Always";
        /// A command that runs on every worker beside khorovod's own checks. Any exit code but 0 means that the worker must not run ranks.
        "command" command: CommandLine, example json!(["dcgmi", "diag", "-r", "1"]);
        /// How long the command may take. A worker on which it takes longer fails the check.
        "timeout" timeout: Period, default "30s", example "2m";
    }
}

choice! {
    /// The attempts before which the workers are checked.
    HealthPolicy -> spec::HealthPolicy {
        "Always" => spec::HealthPolicy::Always, "Each attempt.";
        "OnFailure" => spec::HealthPolicy::OnFailure, "Each attempt that follows a failed one, also if a lost worker was the reason.";
        "Never" => spec::HealthPolicy::Never, "None.";
    }
}

shape! {
    /// Devices that each worker gets by Dynamic Resource Allocation.
    ResourceClaim {
        /// The name of the entry.
        "name" (required) name: Label, example "nic";
        /// An existing ResourceClaimTemplate, from which Kubernetes makes a claim for each worker.
        "resourceClaimTemplateName" resource_claim_template_name: ObjectName, example "rdma-nic";
        /// An existing ResourceClaim, which all workers share.
        "resourceClaimName" resource_claim_name: ObjectName, example "shared-accelerator";
        /// The devices that each worker gets. khorovod renders a ResourceClaimTemplate with them.
        "devices" devices: Fragment, example json!({"requests": [{"name": "nic", "exactly": {"deviceClassName": "dranet", "count": 8}}]});
    }
    exactly one of ["resourceClaimTemplateName", "resourceClaimName", "devices"];
}

choice! {
    /// The IMEX channels that each worker of a ComputeDomain gets.
    ComputeDomain -> &'static str {
        "Single" => "Single", "One channel, which is what NCCL needs.";
        "All" => "All", "All channels of the domain.";
    }
}

shape! {
    /// RDMA devices per worker.
    Rdma {
        /// The resource that counts the devices, which your RDMA device plugin has. Not the resource of the GPUs.
        "resource" resource: ResourceName, example "rdma/hca", example "vpc.amazonaws.com/efa";
        /// The number of devices.
        "count" count: Int<1, 64>, default 1;
        /// Instead of `resource`: the entry of `resourceClaims` that has the devices.
        "claim" claim: Label, example "nic";
    }
    exactly one of ["resource", "claim"];
}

shape! {
    /// Kubernetes requests and limits in full.
    Resources {
        /// The resources that the scheduler reserves.
        "requests" requests: Table<ResourceName, Quantity>, example json!({"cpu": "8", "memory": "64Gi"});
        /// The maximum that the container may use.
        "limits" limits: Table<ResourceName, Quantity>, example json!({"memory": "64Gi"});
    }
}
