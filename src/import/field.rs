//! The fields of the new spec that importers set. Each field is declared in two forms: as a constant with its path, which
//! the report uses, and in the module [`set`] with the type of its values. A test checks that the schema has all of these
//! fields, with these types.

use std::marker::PhantomData;

use serde_json::Value as Json;

/// A field of the new spec, and the type of its values. Only a field of this type can be set, so a wrong path or a value of
/// another type does not compile.
#[derive(Debug)]
pub struct Field<T> {
    pub path: &'static str,
    of: PhantomData<T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T> Field<T> {
    const fn new(path: &'static str) -> Self {
        Self { path, of: PhantomData }
    }

    /// The same field for values whose type is known only when the import runs.
    pub const fn untyped(self) -> Field<Json> {
        Field::new(self.path)
    }
}

/// Declares each field in both forms, and a list of all fields. Importers may only set a field, or only report it.
macro_rules! fields {
    ($($name:ident: $type:ty = $path:literal;)*) => {
        $(#[allow(dead_code)] pub const $name: &str = $path;)*

        pub mod set {
            use super::{Field, Json};

            $(#[allow(dead_code)] pub const $name: Field<$type> = Field::new($path);)*
        }

        /// Every field of this module, and the type of its values.
        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$(($path, stringify!($type))),*];
    };
}

/// Two fields of the spec, as the report names them.
pub const COMMAND_AND_LAUNCHER: &str = "spec.command spec.launcher";
pub const ENV_AND_COMMAND: &str = "spec.env spec.command";
pub const ENV_AND_SETUP: &str = "spec.env spec.slurm.setup";
pub const COMMAND_AND_KIND: &str = "spec.command spec.launcher.kind";
pub const SLOTS_AND_ARGS: &str = "spec.workers.slotsPerWorker spec.launcher.args";
pub const TIME_AND_DEADLINE: &str = "spec.slurm.time spec.lifecycle.deadline";
pub const WORKING_DIR_AND_SETUP: &str = "spec.workingDir spec.slurm.setup";

fields! {
    CODE: Json = "spec.code";
    CODE_MOUNT_PATH: String = "spec.code.mountPath";
    COMMAND: Json = "spec.command";
    ELASTIC: Json = "spec.workers.elastic";
    ELASTIC_COOLDOWN: Json = "spec.workers.elastic.cooldown";
    ELASTIC_MAX_REPLICAS: u32 = "spec.workers.elastic.maxReplicas";
    ELASTIC_MIN_REPLICAS: u32 = "spec.workers.elastic.minReplicas";
    ELASTIC_RESET_LIMIT: u32 = "spec.workers.elastic.resetLimit";
    ELASTIC_TIMEOUT: String = "spec.workers.elastic.timeout";
    ENV: Json = "spec.env";
    ENV_FROM: Json = "spec.envFrom";
    IMAGE: Json = "spec.image";
    IMAGE_DIGEST: String = "spec.image.digest";
    IMAGE_NAME: String = "spec.image.name";
    IMAGE_PULL_POLICY: String = "spec.image.pullPolicy";
    IMAGE_PULL_SECRETS: Vec<String> = "spec.image.pullSecrets";
    LAUNCHER: Json = "spec.launcher";
    LAUNCHER_ARGS: Vec<String> = "spec.launcher.args";
    LAUNCHER_CPU: String = "spec.launcher.cpu";
    LAUNCHER_IMAGE: String = "spec.launcher.image";
    LAUNCHER_INTERACTIVE: bool = "spec.launcher.interactive";
    LAUNCHER_KIND: String = "spec.launcher.kind";
    LAUNCHER_MEMORY: String = "spec.launcher.memory";
    LAUNCHER_MPI: String = "spec.launcher.mpi";
    LAUNCHER_RUNS_RANKS: bool = "spec.launcher.runsRanks";
    LIFECYCLE_CHECKPOINT: Json = "spec.lifecycle.checkpoint";
    LIFECYCLE_CHECKPOINT_GRACE_PERIOD: String = "spec.lifecycle.checkpoint.gracePeriod";
    LIFECYCLE_CHECKPOINT_SIGNAL: String = "spec.lifecycle.checkpoint.signal";
    LIFECYCLE_DEADLINE: String = "spec.lifecycle.deadline";
    LIFECYCLE_KEEP_WORKERS: bool = "spec.lifecycle.keepWorkers";
    LIFECYCLE_RETRIES: u32 = "spec.lifecycle.retries";
    LIFECYCLE_RETRIES_RESET_AFTER: String = "spec.lifecycle.retriesResetAfter";
    LIFECYCLE_START_TIMEOUT: String = "spec.lifecycle.startTimeout";
    LIFECYCLE_TTL_AFTER_FINISHED: String = "spec.lifecycle.ttlAfterFinished";
    METADATA_ANNOTATIONS: Json = "metadata.annotations";
    METADATA_LABELS: Json = "metadata.labels";
    METADATA_NAME: String = "metadata.name";
    METADATA_NAMESPACE: String = "metadata.namespace";
    OBSERVABILITY_TENSORBOARD_LOGDIR: String = "spec.observability.tensorboardLogdir";
    PATCHES: Json = "spec.patches";
    PLACEMENT_AFFINITY: Json = "spec.placement.affinity";
    PLACEMENT_HOST_NETWORK: bool = "spec.placement.hostNetwork";
    PLACEMENT_NODE_SELECTOR: Json = "spec.placement.nodeSelector";
    PLACEMENT_PRIORITY_CLASS_NAME: String = "spec.placement.priorityClassName";
    PLACEMENT_RUNTIME_CLASS_NAME: String = "spec.placement.runtimeClassName";
    PLACEMENT_TOPOLOGY: Json = "spec.placement.topology";
    PLACEMENT_TOLERATIONS: Json = "spec.placement.tolerations";
    SCHEDULING_GANG: String = "spec.scheduling.gang";
    SCHEDULING_LOCAL_QUEUE: String = "spec.scheduling.localQueue";
    SCHEDULING_SCHEDULER_NAME: String = "spec.scheduling.schedulerName";
    SCHEDULING_SUSPEND: bool = "spec.scheduling.suspend";
    SCHEDULING_VOLCANO_QUEUE: String = "spec.scheduling.volcanoQueue";
    SCHEDULING_WORKLOAD_PRIORITY_CLASS_NAME: String = "spec.scheduling.workloadPriorityClassName";
    SECURITY: Json = "spec.security";
    SECURITY_FS_GROUP: u32 = "spec.security.fsGroup";
    SECURITY_POD_SECURITY_LEVEL: String = "spec.security.podSecurityLevel";
    SECURITY_READ_ONLY_ROOT_FILESYSTEM: bool = "spec.security.readOnlyRootFilesystem";
    SECURITY_RUN_AS_USER: u32 = "spec.security.runAsUser";
    SLURM_ARGS: Vec<String> = "spec.slurm.args";
    SLURM_GRES: String = "spec.slurm.gres";
    SLURM_MODULES: Vec<String> = "spec.slurm.modules";
    SLURM_SETUP: String = "spec.slurm.setup";
    SLURM_SRUN: Json = "spec.slurm.srun";
    SLURM_SRUN_ARGS: Vec<String> = "spec.slurm.srun.args";
    SLURM_SRUN_MPI: String = "spec.slurm.srun.mpi";
    SLURM_TIME: String = "spec.slurm.time";
    SLURM_WRAP: Vec<String> = "spec.slurm.wrap";
    SLURM_ACCOUNT: String = "spec.slurm.account";
    SLURM_CONSTRAINT: String = "spec.slurm.constraint";
    SLURM_EXCLUDE: String = "spec.slurm.exclude";
    SLURM_NODELIST: String = "spec.slurm.nodelist";
    SLURM_PARTITION: String = "spec.slurm.partition";
    SLURM_QOS: String = "spec.slurm.qos";
    SLURM_RESERVATION: String = "spec.slurm.reservation";
    SSH_PORT: u32 = "spec.ssh.port";
    STORAGE: Json = "spec.storage";
    WORKERS: Json = "spec.workers";
    WORKERS_CPU: String = "spec.workers.cpu";
    WORKERS_EPHEMERAL_STORAGE: String = "spec.workers.ephemeralStorage";
    WORKERS_GPUS: u32 = "spec.workers.gpus";
    WORKERS_GPU_RESOURCE: String = "spec.workers.gpuResource";
    WORKERS_MEMORY: String = "spec.workers.memory";
    WORKERS_RESOURCE_CLAIMS: Json = "spec.workers.resourceClaims";
    WORKERS_RDMA: Json = "spec.workers.rdma";
    WORKERS_REPLICAS: u32 = "spec.workers.replicas";
    WORKERS_RESOURCES: Json = "spec.workers.resources";
    WORKERS_SHM: String = "spec.workers.shm";
    WORKERS_SLOTS_PER_WORKER: u32 = "spec.workers.slotsPerWorker";
    WORKING_DIR: String = "spec.workingDir";
}

#[cfg(test)]
mod tests {
    use super::{ALL, Json};

    /// Returns a schema with its reference resolved, and all its alternatives.
    fn alternatives<'s>(root: &'s Json, schema: &'s Json) -> Vec<&'s Json> {
        let target = schema.get("$ref").and_then(Json::as_str).and_then(|path| root.pointer(path.strip_prefix('#')?));
        let schema = target.unwrap_or(schema);
        let inner = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
        [schema].into_iter().chain(inner.flat_map(|inner| alternatives(root, inner))).collect()
    }

    #[test]
    fn the_schema_has_every_field() {
        let text = include_str!("../../schema/training-job.v1alpha1.schema.json");
        let root: Json = serde_json::from_str(text).unwrap();
        for (path, value) in ALL {
            let schema = path.split('.').fold(&root, |schema, step| {
                let found = alternatives(&root, schema).into_iter().find_map(|schema| schema["properties"].get(step));
                found.unwrap_or_else(|| panic!("{path}: no {step}"))
            });
            let name = match *value {
                "String" => "string",
                "u32" => "integer",
                "bool" => "boolean",
                "Vec<String>" => "array",
                _ => continue,
            };
            let allows = |schema: &&Json| {
                schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.contains(&name.into()))
            };
            assert!(alternatives(&root, schema).iter().any(allows), "{path} has another type than {name}");
        }
    }
}
