//! What a newcomer meant: the hints for fields that stand one level off, for the names Kubernetes and
//! the operators use, and for a single value where a map belongs.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::field::{Field, words};
use super::raw::TrainingJob;

/// Names people bring along, and what says it here.
const FOREIGN: &[(&str, &str)] = &[
    ("activeDeadlineSeconds", "spec.lifecycle.deadline"),
    ("backoffLimit", "spec.launcher.retries"),
    ("cleanPodPolicy", "spec.lifecycle.release"),
    ("containers", "spec.patches"),
    ("dnsPolicy", "spec.patches"),
    ("entrypoint", "spec.command"),
    ("gpu", "spec.workers.gpus"),
    ("gpuType", "spec.placement.nodeSelector"),
    ("hostAliases", "spec.patches"),
    ("hostIPC", "spec.patches"),
    ("imagePullPolicy", "spec.image.pullPolicy"),
    ("imagePullSecret", "spec.image.pullSecrets"),
    ("imagePullSecrets", "spec.image.pullSecrets"),
    ("initContainers", "spec.patches"),
    ("mpiReplicaSpecs", "spec.workers"),
    ("nnodes", "spec.workers.replicas"),
    ("nodes", "spec.workers.replicas"),
    ("np", "spec.workers.replicas"),
    ("nprocPerNode", "spec.workers.slots"),
    ("nproc_per_node", "spec.workers.slots"),
    ("persistentVolumeClaim", "spec.storage.existingClaim"),
    ("priorityClassName", "spec.placement.priorityClass"),
    ("privileged", "spec.security.profile"),
    ("pvc", "spec.storage.existingClaim"),
    ("repository", "spec.image.name"),
    ("restartPolicy", "spec.launcher.retries"),
    ("runtimeClassName", "spec.placement.runtimeClass"),
    ("schedulerName", "spec.scheduling.scheduler"),
    ("securityContext", "spec.security"),
    ("serviceAccountName", "spec.security.serviceAccount"),
    ("shmSize", "spec.workers.shm"),
    ("slotsPerWorker", "spec.workers.slots"),
    ("tag", "spec.image.name"),
    ("template", "spec.patches"),
    ("topologySpreadConstraints", "spec.placement.spread"),
    ("ttlSecondsAfterFinished", "spec.lifecycle.ttlAfterFinished"),
    ("volumeMounts", "spec.storage"),
    ("volumes", "spec.storage"),
    ("walltime", "spec.lifecycle.deadline"),
    ("workingDir", "spec.workdir"),
];

/// Words for one thing in the same map.
const SYNONYMS: &[(&str, &str)] =
    &[("path", "mountPath"), ("type", "kind"), ("count", "replicas"), ("bucket", "s3"), ("existing", "existingClaim")];

/// What `name`, unknown beside the fields `known`, may have been meant to be.
pub fn hint(name: &str, known: &[&str]) -> Option<String> {
    if ["mpirun", "horovodrun", "torchrun", "deepspeed"].contains(&name) {
        return Some(format!("write `launcher: {{kind: {name}}}`"));
    }
    let of = |list: &[(&str, &'static str)]| list.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
    if let Some(ours) = of(SYNONYMS).filter(|ours| known.contains(ours)) {
        return Some(format!("did you mean `{ours}`?"));
    }
    if let Some(ours) = of(FOREIGN) {
        return Some(format!("here it is `{ours}`; `khorovod explain {ours}` says more"));
    }
    let belongs = |name: &str| {
        let homes: Vec<&str> = HOMES.get(name)?.iter().map(String::as_str).collect();
        (!homes.is_empty()).then(|| words(&homes))
    };
    belongs(name).map(|homes| format!("it belongs in {homes}")).or_else(|| {
        let near = HOMES.keys().filter_map(|ours| Some((letters_off(ours, name)?, *ours))).min()?.1;
        Some(format!("did you mean `{near}`? It belongs in {}", belongs(near)?))
    })
}

/// Whether the name is known from elsewhere, as that of something that stands not beside the fields `known`.
pub fn is_foreign(name: &str, known: &[&str]) -> bool {
    let ours = FOREIGN.iter().find(|(other, _)| *other == name).and_then(|(_, ours)| ours.rsplit('.').next());
    ours.is_some_and(|ours| !known.contains(&ours))
}

/// By how many letters two names differ, case aside: one at most, and short names are not guessed at.
fn letters_off(ours: &str, name: &str) -> Option<usize> {
    let alike = name.len() > 2 && ours.len().abs_diff(name.len()) < 2;
    let distance = alike.then(|| strsim::damerau_levenshtein(&ours.to_lowercase(), &name.to_lowercase()))?;
    (distance < 2).then_some(distance)
}

/// The map that a single value was meant to stand for.
pub fn in_full(path: &str, text: &str) -> Option<String> {
    Some(match path.rsplit('.').next()? {
        "metadata" => format!("write `metadata: {{name: {text}}}`"),
        "launcher" => format!("write `launcher: {{kind: {text}}}`"),
        "workers" => format!("write `workers: {{replicas: {text}}}`"),
        "claim" => format!("a claim that exists is `existingClaim: {text}`; one to be made is `claim: {{size: 1Ti}}`"),
        "emptyDir" => "write `emptyDir: {}`".to_owned(),
        "nfs" => {
            let (server, path) = text.split_once(":/")?;
            format!("write `nfs: {{server: {server}, path: /{path}}}`")
        }
        _ => return None,
    })
}

/// Every field's name, with the maps nearest to the top that have it.
static HOMES: LazyLock<HashMap<&'static str, Vec<String>>> = LazyLock::new(|| {
    let mut homes: HashMap<&str, (usize, Vec<String>)> = HashMap::new();
    TrainingJob::fields("", 0, &mut |depth, path, key| {
        let (level, found) = homes.entry(key).or_insert((depth, Vec::new()));
        if depth < *level {
            (*level, *found) = (depth, Vec::new());
        }
        if *level == depth && !path.is_empty() && found.last().is_none_or(|last| last != path) {
            found.push(path.to_owned());
        }
    });
    homes.into_iter().map(|(name, (_, found))| (name, found)).collect()
});

#[cfg(test)]
mod tests {
    use super::super::field::DEEPEST;
    use super::*;

    #[test]
    fn what_it_sends_people_to_is_there() {
        let mut paths = Vec::new();
        TrainingJob::fields("", 0, &mut |_, path, key| paths.push(format!("{path}.{key}")));
        for (name, ours) in FOREIGN {
            assert!(paths.iter().any(|path| path == ours), "{name}: there is no {ours}");
            assert!(!HOMES.contains_key(*name), "{name} is a field of ours");
        }
    }

    #[test]
    fn every_field_of_the_schema_has_a_home() {
        let schema = crate::spec::schema();
        let mut next = vec![(0, &schema)];
        while let Some((depth, part)) = next.pop() {
            next.extend(
                part["$ref"]
                    .as_str()
                    .and_then(|path| schema.pointer(path.strip_prefix('#')?))
                    .map(|part| (depth, part)),
            );
            next.extend(part["anyOf"].as_array().into_iter().flatten().map(|part| (depth, part)));
            next.extend(part.get("items").map(|part| (depth, part)));
            for (key, field) in part["properties"].as_object().into_iter().flatten() {
                assert!(HOMES.contains_key(key.as_str()), "{key}");
                if depth < DEEPEST {
                    next.push((depth + 1, field));
                }
            }
        }
    }

    #[test]
    fn the_nearest_homes_of_a_name() {
        let hint = |name| hint(name, &[]).unwrap();
        assert_eq!(hint("nodeSelector"), "it belongs in `spec.placement`");
        assert_eq!(hint("image"), "it belongs in `spec`");
        assert_eq!(hint("memory"), "it belongs in `spec.workers` or `spec.launcher`");
        assert_eq!(hint("namespace"), "it belongs in `metadata`");
        assert_eq!(hint("worker"), "did you mean `workers`? It belongs in `spec`");
        assert_eq!(hint("Replicas"), "did you mean `replicas`? It belongs in `spec.workers`");
        assert_eq!(super::hint("qwertz", &[]), None);
        assert!(is_foreign("nodes", &["code"]) && !is_foreign("serviceAccountName", &["serviceAccount"]));
    }
}
