//! The pods that run ranks.

use serde_json::json;

use crate::job::declare::scalars::*;
use crate::job::declare::shapes::{OrDefault, choice, shape};
use crate::job::read::At;
use crate::job::types::quantity::Quantity;
use crate::job::types::spec;

/// Workers at most: more pods than any cluster has.
pub const MAX_WORKERS: u32 = 100_000;

/// Declares the fields that describe one worker. They stand both in `workers` and in each of its groups.
macro_rules! with_worker_fields {
    ($callback:ident $($head:tt)*) => {
        $callback! {
            { $($head)* }
            /// GPUs a worker. 0 trains on CPUs.
            "gpus" gpus: Int<0, 64>, default 0, example 8;
            /// The resource that counts GPUs on the nodes: `amd.com/gpu`, `habana.ai/gaudi`, a MIG slice.
            "gpuResource" gpu_resource: ResourceName, default "nvidia.com/gpu", example "nvidia.com/mig-1g.10gb";
            /// Ranks a worker runs. Default: one a GPU, at least one.
            "slots" slots: Int<1, 1024>, example 8;
            /// CPUs a worker; asked for and at the same time its limit, so that pods are Guaranteed.
            "cpu" cpu: Quantity, example "32";
            /// Memory a worker; asked for and at the same time its limit.
            "memory" memory: Quantity, example "256Gi";
            /// Size of the memory-backed `/dev/shm`, counted against memory. Default: a quarter of memory, else 8Gi.
            "shm" shm: Quantity, example "64Gi";
            /// Local disk a worker; asked for and at the same time its limit.
            "ephemeralStorage" ephemeral_storage: Quantity, example "100Gi";
            /// RDMA devices a worker. They need the capability `IPC_LOCK`, so the profile `privileged`.
            "rdma" rdma: Rdma, example json!({"resource": "rdma/hca", "count": 8});
            /// Kubernetes requests and limits in full, instead of `cpu`, `memory` and `ephemeralStorage`.
            "resources" resources: Resources, example json!({"requests": {"cpu": "8"}, "limits": {"memory": "64Gi"}});
        }
    };
}

/// Declares a shape with the fields of a worker after its own.
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
        /// The fields of the workers of one group: the group's own, or else those that stand beside `groups`.
        #[derive(Debug, Clone, Copy)]
        pub struct WorkerFields<'a> {
            $($(#[doc = $doc])+ pub $field: Option<&'a At<$type>>,)+
        }

        impl<'a> WorkerFields<'a> {
            /// The fields of a group; without one, those of all workers.
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
        /// How many workers there are.
        "replicas" replicas: Int<1, MAX_WORKERS>, example 4;
        /// The shape in the cluster. Default: `StatefulSet`; `Job` for a gang, Kueue, suspend and torchrun.
        "controller" controller: Controller, example "Job";
        /// Workers that differ. Each group takes the fields beside `groups` as its defaults.
        "groups" groups: Vec<At<Group>>, example json!([{"name": "a100", "replicas": 2, "gpus": 8}]);
    }
    exactly one of ["replicas", "groups"];
}

with_worker_fields! {
    worker_shape
    /// Workers that are alike, in a job whose workers differ.
    Group {
        /// The group's name, in the names of its pods.
        "name" (required) name: Label, example "a100";
        /// How many workers the group has.
        "replicas" (required) replicas: Int<1, MAX_WORKERS>, example 2;
    }
}

choice! {
    /// The shape of the workers in the cluster.
    Controller -> spec::Controller {
        "StatefulSet" => spec::Controller::StatefulSet, "A StatefulSet of workers and a Job that launches; the launcher scales the workers.";
        "Job" => spec::Controller::Job, "One Indexed Job whose first pod also launches; needs no permission.";
    }
}

shape! {
    /// RDMA devices a worker.
    Rdma {
        /// The resource that counts them.
        "resource" (required) resource: ResourceName, example "rdma/hca", example "vpc.amazonaws.com/efa";
        /// How many.
        "count" count: Int<1, 64>, default 1;
    }
}

shape! {
    /// Kubernetes requests and limits in full.
    Resources {
        /// What the scheduler sets aside.
        "requests" requests: Table<ResourceName, Quantity>, example json!({"cpu": "8", "memory": "64Gi"});
        /// What the container may use.
        "limits" limits: Table<ResourceName, Quantity>, example json!({"memory": "64Gi"});
    }
}
