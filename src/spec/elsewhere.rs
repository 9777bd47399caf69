//! What a newcomer meant: the hints for fields that stand one level off, for the names Kubernetes and
//! the operators use, and for a single value where a map belongs.

use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use serde_json::Value as Json;

use super::field::words;

/// Names people bring along, and what says it here.
const FOREIGN: &[(&str, &str)] = &[
    ("activeDeadlineSeconds", "spec.lifecycle.deadline"),
    ("backoffLimit", "spec.launcher.retries"),
    ("cleanPodPolicy", "spec.lifecycle.release"),
    ("containers", "spec.patches"),
    ("dnsPolicy", "spec.patches"),
    ("hostAliases", "spec.patches"),
    ("hostIPC", "spec.patches"),
    ("imagePullPolicy", "spec.image.pullPolicy"),
    ("imagePullSecret", "spec.image.pullSecrets"),
    ("imagePullSecrets", "spec.image.pullSecrets"),
    ("initContainers", "spec.patches"),
    ("mpiReplicaSpecs", "spec.workers"),
    ("nprocPerNode", "spec.workers.slots"),
    ("nodes", "spec.workers.replicas"),
    ("np", "spec.workers.replicas"),
    ("persistentVolumeClaim", "spec.storage.existingClaim"),
    ("priorityClassName", "spec.placement.priorityClass"),
    ("privileged", "spec.security.profile"),
    ("pvc", "spec.storage.existingClaim"),
    ("restartPolicy", "spec.launcher.retries"),
    ("runtimeClassName", "spec.placement.runtimeClass"),
    ("schedulerName", "spec.scheduling.scheduler"),
    ("securityContext", "spec.security"),
    ("serviceAccountName", "spec.security.serviceAccount"),
    ("shmSize", "spec.workers.shm"),
    ("slotsPerWorker", "spec.workers.slots"),
    ("template", "spec.patches"),
    ("topologySpreadConstraints", "spec.placement.spread"),
    ("ttlSecondsAfterFinished", "spec.lifecycle.ttlAfterFinished"),
    ("volumeMounts", "spec.storage"),
    ("volumes", "spec.storage"),
    ("workingDir", "spec.workdir"),
];

/// Words for one thing in the same map.
const SYNONYMS: &[(&str, &str)] =
    &[("path", "mountPath"), ("type", "kind"), ("count", "replicas"), ("bucket", "s3"), ("existing", "existingClaim")];

/// What `name`, unknown beside the fields `known`, may have been meant to be.
pub fn hint(name: &str, known: &[&str]) -> Option<String> {
    let of = |list: &[(&str, &'static str)]| list.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
    if let Some(ours) = of(SYNONYMS).filter(|ours| known.contains(ours)) {
        return Some(format!("did you mean `{ours}`?"));
    }
    if let Some(ours) = of(FOREIGN) {
        return Some(format!("here it is `{ours}`; `khorovod explain {ours}` says more"));
    }
    let homes: Vec<&str> = HOMES.get(name)?.iter().map(String::as_str).collect();
    (!homes.is_empty()).then(|| format!("it belongs in {}", words(&homes)))
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
static HOMES: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let schema = super::schema();
    let mut homes: HashMap<String, (u32, Vec<String>)> = HashMap::new();
    let mut next = VecDeque::from([(String::new(), 0, &schema)]);
    while let Some((path, depth, part)) = next.pop_front() {
        for (key, field) in parts(&schema, part).into_iter().filter_map(|part| part["properties"].as_object()).flatten()
        {
            let (level, found) = homes.entry(key.clone()).or_insert((depth, Vec::new()));
            if *level == depth && !path.is_empty() && found.last() != Some(&path) {
                found.push(path.clone());
            }
            let dot = if path.is_empty() { "" } else { "." };
            if depth < 3 {
                next.push_back((format!("{path}{dot}{key}"), depth + 1, field));
            }
        }
    }
    homes.into_iter().map(|(name, (_, found))| (name, found)).collect()
});

/// A schema, what it refers to, its alternatives and its items.
fn parts<'a>(root: &'a Json, schema: &'a Json) -> Vec<&'a Json> {
    let mut all = vec![schema];
    let mut next = 0;
    while let Some(part) = all.get(next).copied() {
        next += 1;
        all.extend(part["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?)));
        all.extend(part["anyOf"].as_array().into_iter().flatten());
        all.extend(part.get("items"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_sends_people_to_is_there() {
        for (name, ours) in FOREIGN {
            let (home, field) = ours.rsplit_once('.').unwrap();
            assert!(HOMES[field].iter().any(|found| found == home), "{name}: there is no {ours}");
            assert!(!HOMES.contains_key(*name), "{name} is a field of ours");
        }
    }

    #[test]
    fn the_nearest_homes_of_a_name() {
        let hint = |name| hint(name, &[]).unwrap();
        assert_eq!(hint("nodeSelector"), "it belongs in `spec.placement`");
        assert_eq!(hint("image"), "it belongs in `spec`");
        assert_eq!(hint("memory"), "it belongs in `spec.workers` or `spec.launcher`");
        assert_eq!(hint("namespace"), "it belongs in `metadata`");
        assert_eq!(super::hint("qwertz", &[]), None);
    }
}
