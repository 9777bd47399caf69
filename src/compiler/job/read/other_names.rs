//! Names that other systems have for fields of a spec: Kubernetes and its operators, launchers, Slurm, cloud services
//! and Docker. They are in the table [`NAMES`], with the path of each field.

use serde_json::Value as Json;

use super::durations::meant_duration;

/// A name of another system, and the field with the same purpose. Case, hyphens, underscores and dots do not matter. The
/// table may have several fields for a name. The suggestion is then the field of the map in which the name was found, or
/// else the first field.
const NAMES: &[(&str, &str)] = &[
    // Kubernetes
    ("activeDeadlineSeconds", "spec.lifecycle.deadline"),
    ("backoffLimit", "spec.lifecycle.retries"),
    ("claimName", "spec.storage.existingClaim"),
    ("containers", "spec.patches"),
    ("dnsPolicy", "spec.patches"),
    ("hostAliases", "spec.patches"),
    ("hostIPC", "spec.patches"),
    ("imagePullPolicy", "spec.image.pullPolicy"),
    ("imagePullSecret", "spec.image.pullSecrets"),
    ("imagePullSecrets", "spec.image.pullSecrets"),
    ("initContainers", "spec.patches"),
    ("parallelism", "spec.workers.replicas"),
    ("tasks", "spec.workers"),
    ("persistentVolumeClaim", "spec.storage.existingClaim"),
    ("podFailurePolicy", "spec.lifecycle.finalExitCodes"),
    ("privileged", "spec.security.podSecurityLevel"),
    ("restartPolicy", "spec.lifecycle.retries"),
    ("securityContext", "spec.security"),
    ("template", "spec.patches"),
    ("terminationGracePeriodSeconds", "spec.lifecycle.checkpoint.gracePeriod"),
    ("topologySpreadConstraints", "spec.placement.spread"),
    ("ttl", "spec.lifecycle.ttlAfterFinished"),
    ("ttlSecondsAfterFinished", "spec.lifecycle.ttlAfterFinished"),
    ("type", "spec.launcher.kind"),
    ("volumeMounts", "spec.storage"),
    ("volumes", "spec.storage"),
    ("configMap", "spec.code.configMapName"),
    ("priorityClass", "spec.placement.priorityClassName"),
    ("runtimeClass", "spec.placement.runtimeClassName"),
    ("scheduler", "spec.scheduling.schedulerName"),
    ("secret", "spec.ssh.secretName"),
    ("secret", "spec.storage.s3.secretName"),
    ("serviceAccount", "spec.security.serviceAccountName"),
    ("storageClass", "spec.storage.claim.storageClassName"),
    ("workdir", "spec.workingDir"),
    // Kubeflow: TrainJob, MPIJob, PyTorchJob
    ("cleanPodPolicy", "spec.lifecycle.keepWorkers"),
    ("elasticPolicy", "spec.workers.elastic"),
    ("launcherCreationPolicy", "spec.lifecycle.startTimeout"),
    ("maxRestarts", "spec.lifecycle.retries"),
    ("maxRetries", "spec.lifecycle.retries"),
    ("mpiImplementation", "spec.launcher.mpi"),
    ("mpiReplicaSpecs", "spec.workers"),
    ("nprocPerNode", "spec.workers.slotsPerWorker"),
    ("numNodes", "spec.workers.replicas"),
    ("numProcPerNode", "spec.workers.slotsPerWorker"),
    ("podTemplateOverrides", "spec.patches"),
    ("pytorchReplicaSpecs", "spec.workers"),
    ("mlPolicy", "spec.workers"),
    ("replicaSpecs", "spec.workers"),
    ("replicatedJobs", "spec.workers"),
    ("resourcesPerNode", "spec.workers.resources"),
    ("runLauncherAsWorker", "spec.launcher.runsRanks"),
    ("runPolicy", "spec.lifecycle"),
    ("runtimeRef", "spec.launcher.kind"),
    ("schedulingPolicy", "spec.scheduling"),
    ("sshAuthMountPath", "spec.ssh.secretName"),
    ("tfReplicaSpecs", "spec.workers"),
    ("trainer", "spec.workers"),
    ("Worker.replicas", "spec.workers.replicas"),
    // Kueue and Volcano
    ("kueue.x-k8s.io/queue-name", "spec.scheduling.localQueue"),
    ("kueue.x-k8s.io/priority-class", "spec.scheduling.workloadPriorityClassName"),
    ("kueue.x-k8s.io/job-min-parallelism", "spec.scheduling.partialAdmission"),
    ("minAvailable", "spec.scheduling.gang"),
    ("minMember", "spec.scheduling.gang"),
    ("queueName", "spec.scheduling.localQueue"),
    ("kueue", "spec.scheduling.localQueue"),
    // torchrun, horovodrun, Accelerate, DeepSpeed, Ray
    ("cycleTimeMs", "spec.collective.cycleTime"),
    ("devices", "spec.workers.gpus"),
    ("elasticTimeout", "spec.workers.elastic.timeout"),
    ("fusionThresholdMb", "spec.collective.fusionThreshold"),
    ("gpusPerNode", "spec.workers.gpus"),
    ("gpusPerWorker", "spec.workers.gpus"),
    ("max", "spec.workers.elastic.maxReplicas"),
    ("maxNp", "spec.workers.elastic.maxReplicas"),
    ("min", "spec.workers.elastic.minReplicas"),
    ("minNp", "spec.workers.elastic.minReplicas"),
    ("networkInterface", "spec.collective.interface"),
    ("nnodes", "spec.workers.replicas"),
    ("np", "spec.workers"),
    ("ranks", "spec.workers"),
    ("numGpus", "spec.workers.gpus"),
    ("nvidia.com/gpu", "spec.workers.gpus"),
    ("numMachines", "spec.workers.replicas"),
    ("numProcesses", "spec.workers"),
    ("numWorkers", "spec.workers.replicas"),
    ("rdzvTimeout", "spec.lifecycle.startTimeout"),
    ("resourcesPerWorker", "spec.workers.resources"),
    ("timelineFilename", "spec.collective.timeline"),
    ("worldSize", "spec.workers"),
    ("maxWorkers", "spec.workers.elastic.maxReplicas"),
    ("minWorkers", "spec.workers.elastic.minReplicas"),
    ("slots", "spec.workers.slotsPerWorker"),
    // Slurm
    ("chdir", "spec.workingDir"),
    ("containerImage", "spec.image"),
    ("cpusPerTask", "spec.workers.cpu"),
    ("gres", "spec.workers.gpus"),
    ("jobName", "metadata.name"),
    ("mem", "spec.workers.memory"),
    ("nodes", "spec.workers.replicas"),
    ("ntasks", "spec.workers"),
    ("script", "spec.command"),
    ("time", "spec.lifecycle.deadline"),
    ("timeLimit", "spec.lifecycle.deadline"),
    ("ntasksPerNode", "spec.workers.slotsPerWorker"),
    ("requeue", "spec.lifecycle.retries"),
    ("walltime", "spec.lifecycle.deadline"),
    // SkyPilot and cloud services
    ("acceleratorCount", "spec.workers.gpus"),
    ("accelerators", "spec.workers.gpus"),
    ("acceleratorType", "spec.placement.nodeSelector"),
    ("cpus", "spec.workers.cpu"),
    ("diskSize", "spec.workers.ephemeralStorage"),
    ("envs", "spec.env"),
    ("fileMounts", "spec.storage"),
    ("gpu", "spec.workers.gpus"),
    ("gpuType", "spec.placement.nodeSelector"),
    ("instanceCount", "spec.workers.replicas"),
    ("instanceType", "spec.placement.nodeSelector"),
    ("machineType", "spec.placement.nodeSelector"),
    ("priority", "spec.placement.priorityClassName"),
    ("processCountPerInstance", "spec.workers.slotsPerWorker"),
    ("replicaCount", "spec.workers.replicas"),
    ("run", "spec.command"),
    ("slotsPerTrial", "spec.workers"),
    ("stallTimeout", "spec.lifecycle.stall.timeout"),
    // Docker, Compose and Helm charts
    ("count", "spec.workers.replicas"),
    ("entrypoint", "spec.command"),
    ("environment", "spec.env"),
    ("existing", "spec.storage.existingClaim"),
    ("path", "spec.storage.mountPath"),
    ("pvc", "spec.storage.existingClaim"),
    ("repository", "spec.image.name"),
    ("ro", "spec.storage.readOnly"),
    ("shmSize", "spec.workers.shm"),
    ("tag", "spec.image.name"),
];

/// A name in lower case and without separators: `numNodes`, `num-nodes` and `num_nodes` give the same text.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !"-_.".contains(*c)).map(|c| c.to_ascii_lowercase()).collect()
}

/// The fields that another system calls `name`.
fn fields(name: &str) -> impl Iterator<Item = &'static str> {
    let wanted = plain(name);
    NAMES.iter().filter(move |(other, _)| plain(other) == wanted).map(|(_, path)| *path)
}

/// The last part of a path.
fn key(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// The path of the field that another system calls `name`.
pub fn field(name: &str) -> Option<&'static str> {
    fields(name).next()
}

/// Whether `name` is a name of the total number of ranks in other systems.
pub fn counts_ranks(name: &str) -> bool {
    ["np", "ntasks", "numprocesses", "ranks", "slotspertrial", "worldsize"].contains(&plain(name).as_str())
}

/// Whether `name` is a name that launchers have for the processes of a node.
pub fn counts_processes(name: &str) -> bool {
    ["nprocpernode", "numprocpernode"].contains(&plain(name).as_str())
}

/// Maps of the spec that exist in other systems too, but with other fields in them. A suggestion contains only the name of
/// the map, not the value that the user wrote.
const SECTIONS: &[&str] =
    &["spec.lifecycle", "spec.patches", "spec.scheduling", "spec.security", "spec.storage", "spec.workers"];
/// Maps of other systems that have the same fields as one of the [`SECTIONS`], under another name.
const SAME_CONTENT: &[&str] = &["trainer", "runpolicy"];

/// Returns the field among `known` that another system calls `name`, and the value for this field. None if `value` cannot be
/// converted to a value of the field.
pub fn sibling<'k>(name: &str, value: &Json, known: &[&'k str]) -> Option<(&'k str, Json)> {
    let is_nested = value.is_object() || value.is_array();
    let taken = if is_nested { Some(value.clone()) } else { converted(name, value) }?;
    let has_content =
        |path: &&str| !SECTIONS.contains(path) || is_nested && SAME_CONTENT.contains(&plain(name).as_str());
    let key = fields(name).filter(has_content).find_map(|path| known.iter().find(|known| **known == key(path)))?;
    Some((key, taken))
}

/// Converts a scalar of another system to a value of the field: seconds get their unit, and the number of GPUs is taken from
/// `H100:8`. None if the value has another meaning in the spec.
pub fn converted(name: &str, value: &Json) -> Option<Json> {
    let text = value.as_str();
    match plain(name).as_str() {
        "accelerators" | "gres" => {
            let count = text?.rsplit(':').next()?;
            let is_type = !count.bytes().all(|byte| byte.is_ascii_digit());
            let count = if is_type && !text?.contains(':') { 1 } else { count.parse().ok()? };
            Some(Json::from(count))
        }
        // A number without a unit has another unit in each of the other systems.
        "time" | "timelimit" | "walltime" => Some(Json::from(meant_duration(text?)?)),
        name if name.contains("seconds") => Some(Json::from(format!("{}s", value.as_u64()?))),
        // The values of these names cannot be converted: they have another type, unit or meaning.
        "restartpolicy"
        | "requeue"
        | "cleanpodpolicy"
        | "privileged"
        | "tag"
        | "runtimeref"
        | "minavailable"
        | "minmember"
        | "launchercreationpolicy"
        | "mpiimplementation"
        | "fusionthresholdmb"
        | "mem"
        | "disksize"
        | "ttl" => None,
        _ if value.is_object() || value.is_array() => None,
        _ => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::declare::TrainingJob;
    use crate::job::read::Field;
    use serde_json::json;

    #[test]
    fn the_table_names_fields_of_the_spec() {
        let mut paths = Vec::new();
        TrainingJob::fields("", 0, &mut |field| paths.push(format!("{}.{}", field.parent, field.key)));
        for (name, path) in NAMES {
            assert!(paths.iter().any(|known| known == path), "{name}: there is no {path}");
            assert_ne!(*name, key(path), "{name} is the field itself");
        }
    }

    #[test]
    fn names_are_found_in_any_style() {
        for name in ["numNodes", "num_nodes", "num-nodes", "--num-nodes", "NumNodes"] {
            assert_eq!(field(name), Some("spec.workers.replicas"), "{name}");
        }
        assert_eq!(
            sibling("nproc_per_node", &json!(8), &["replicas", "slotsPerWorker"]),
            Some(("slotsPerWorker", json!(8)))
        );
        assert_eq!(sibling("nodes", &json!(2), &["code"]), None);
    }

    #[test]
    fn only_fields_with_values_of_the_same_kind_are_siblings() {
        let spec = ["workers", "lifecycle", "env"];
        assert_eq!(sibling("np", &json!(4), &spec), None);
        assert_eq!(sibling("mpiReplicaSpecs", &json!({"Worker": {}}), &spec), None);
        assert_eq!(sibling("trainer", &json!({"numNodes": 4}), &spec).unwrap().0, "workers");
        assert_eq!(sibling("envs", &json!({"A": "b"}), &spec).unwrap().0, "env");
        assert_eq!(sibling("restartPolicy", &json!("Never"), &["retries"]), None);
        assert_eq!(sibling("accelerators", &json!("H100:8"), &["gpus"]), Some(("gpus", json!(8))));
    }

    #[test]
    fn values_are_converted() {
        let number = |name, value: Json| converted(name, &value);
        assert_eq!(number("accelerators", json!("H100:8")), Some(json!(8)));
        assert_eq!(number("gres", json!("gpu:a100:4")), Some(json!(4)));
        assert_eq!(number("accelerators", json!("H100")), Some(json!(1)));
        assert_eq!(number("activeDeadlineSeconds", json!(3600)), Some(json!("3600s")));
        assert_eq!(number("time", json!("1-12:00:00")), Some(json!("1d12h")));
        assert_eq!(number("time", json!(90)), None);
        assert_eq!(number("numNodes", json!(4)), Some(json!(4)));
        assert_eq!(number("restartPolicy", json!("Never")), None);
    }
}
