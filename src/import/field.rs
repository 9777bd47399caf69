//! The paths of the fields that importers set in the new spec, one constant each. A test checks that the schema has all
//! of these fields.

/// Declares a constant for each path, and a list of all constants.
macro_rules! fields {
    ($($name:ident = $path:literal;)*) => {
        $(pub const $name: &str = $path;)*

        /// Every field of this module.
        #[cfg(test)]
        const ALL: &[&str] = &[$($name),*];
    };
}

fields! {
    CODE = "spec.code";
    CODE_MOUNT_PATH = "spec.code.mountPath";
    COMMAND = "spec.command";
    ELASTIC = "spec.workers.elastic";
    ELASTIC_COOLDOWN = "spec.workers.elastic.cooldown";
    ELASTIC_MAX_REPLICAS = "spec.workers.elastic.maxReplicas";
    ELASTIC_MIN_REPLICAS = "spec.workers.elastic.minReplicas";
    ELASTIC_RESET_LIMIT = "spec.workers.elastic.resetLimit";
    ELASTIC_TIMEOUT = "spec.workers.elastic.timeout";
    ENV = "spec.env";
    ENV_FROM = "spec.envFrom";
    IMAGE = "spec.image";
    IMAGE_DIGEST = "spec.image.digest";
    IMAGE_NAME = "spec.image.name";
    IMAGE_PULL_POLICY = "spec.image.pullPolicy";
    IMAGE_PULL_SECRETS = "spec.image.pullSecrets";
    LAUNCHER = "spec.launcher";
    LAUNCHER_ARGS = "spec.launcher.args";
    LAUNCHER_CPU = "spec.launcher.cpu";
    LAUNCHER_IMAGE = "spec.launcher.image";
    LAUNCHER_INTERACTIVE = "spec.launcher.interactive";
    LAUNCHER_KIND = "spec.launcher.kind";
    LAUNCHER_MEMORY = "spec.launcher.memory";
    LAUNCHER_MPI = "spec.launcher.mpi";
    LAUNCHER_RUNS_RANKS = "spec.launcher.runsRanks";
    LIFECYCLE_CHECKPOINT = "spec.lifecycle.checkpoint";
    LIFECYCLE_CHECKPOINT_GRACE_PERIOD = "spec.lifecycle.checkpoint.gracePeriod";
    LIFECYCLE_CHECKPOINT_SIGNAL = "spec.lifecycle.checkpoint.signal";
    LIFECYCLE_DEADLINE = "spec.lifecycle.deadline";
    LIFECYCLE_KEEP_WORKERS = "spec.lifecycle.keepWorkers";
    LIFECYCLE_RETRIES = "spec.lifecycle.retries";
    LIFECYCLE_RETRIES_RESET_AFTER = "spec.lifecycle.retriesResetAfter";
    LIFECYCLE_START_TIMEOUT = "spec.lifecycle.startTimeout";
    LIFECYCLE_TTL_AFTER_FINISHED = "spec.lifecycle.ttlAfterFinished";
    OBSERVABILITY_TENSORBOARD_LOGDIR = "spec.observability.tensorboardLogdir";
    PATCHES = "spec.patches";
    PLACEMENT_AFFINITY = "spec.placement.affinity";
    PLACEMENT_HOST_NETWORK = "spec.placement.hostNetwork";
    PLACEMENT_NODE_SELECTOR = "spec.placement.nodeSelector";
    PLACEMENT_PRIORITY_CLASS_NAME = "spec.placement.priorityClassName";
    PLACEMENT_RUNTIME_CLASS_NAME = "spec.placement.runtimeClassName";
    PLACEMENT_TOPOLOGY = "spec.placement.topology";
    PLACEMENT_TOLERATIONS = "spec.placement.tolerations";
    SCHEDULING_GANG = "spec.scheduling.gang";
    SCHEDULING_LOCAL_QUEUE = "spec.scheduling.localQueue";
    SCHEDULING_SCHEDULER_NAME = "spec.scheduling.schedulerName";
    SCHEDULING_SUSPEND = "spec.scheduling.suspend";
    SCHEDULING_VOLCANO_QUEUE = "spec.scheduling.volcanoQueue";
    SECURITY = "spec.security";
    SECURITY_FS_GROUP = "spec.security.fsGroup";
    SECURITY_POD_SECURITY_LEVEL = "spec.security.podSecurityLevel";
    SECURITY_READ_ONLY_ROOT_FILESYSTEM = "spec.security.readOnlyRootFilesystem";
    SECURITY_RUN_AS_USER = "spec.security.runAsUser";
    SLURM_ARGS = "spec.slurm.args";
    SLURM_GRES = "spec.slurm.gres";
    SLURM_MODULES = "spec.slurm.modules";
    SLURM_SETUP = "spec.slurm.setup";
    SLURM_SRUN = "spec.slurm.srun";
    SLURM_SRUN_ARGS = "spec.slurm.srun.args";
    SLURM_SRUN_MPI = "spec.slurm.srun.mpi";
    SLURM_TIME = "spec.slurm.time";
    SLURM_WRAP = "spec.slurm.wrap";
    SSH_PORT = "spec.ssh.port";
    STORAGE = "spec.storage";
    WORKERS = "spec.workers";
    WORKERS_CPU = "spec.workers.cpu";
    WORKERS_EPHEMERAL_STORAGE = "spec.workers.ephemeralStorage";
    WORKERS_GPUS = "spec.workers.gpus";
    WORKERS_GPU_RESOURCE = "spec.workers.gpuResource";
    WORKERS_MEMORY = "spec.workers.memory";
    WORKERS_RESOURCE_CLAIMS = "spec.workers.resourceClaims";
    WORKERS_RDMA = "spec.workers.rdma";
    WORKERS_REPLICAS = "spec.workers.replicas";
    WORKERS_RESOURCES = "spec.workers.resources";
    WORKERS_SHM = "spec.workers.shm";
    WORKERS_SLOTS_PER_WORKER = "spec.workers.slotsPerWorker";
    WORKING_DIR = "spec.workingDir";
}

#[cfg(test)]
mod tests {
    use super::ALL;
    use serde_json::Value as Json;

    /// The schema of a field below a schema, with references resolved.
    fn property<'s>(root: &'s Json, schema: &'s Json, name: &str) -> Option<&'s Json> {
        let target = schema.get("$ref").and_then(Json::as_str).and_then(|path| root.pointer(path.strip_prefix('#')?));
        let schema = target.unwrap_or(schema);
        let found = schema.get("properties").and_then(|properties| properties.get(name));
        let alternatives = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
        found.or_else(|| alternatives.into_iter().find_map(|schema| property(root, schema, name)))
    }

    #[test]
    fn the_schema_has_every_field() {
        let text = include_str!("../../schema/training-job.v1alpha1.schema.json");
        let root: Json = serde_json::from_str(text).unwrap();
        for path in ALL {
            let mut schema = &root;
            for step in path.split('.') {
                schema = property(&root, schema, step).unwrap_or_else(|| panic!("{path}: no {step}"));
            }
        }
    }
}
