//! Random combinations of fields: if khorovod accepts a combination, its objects must be consistent, and all their fields must
//! exist in Kubernetes.
//!
//! `COMBINATIONS=100000 cargo test --test combinations` tests more of them.

#[path = "common/kubernetes.rs"]
mod kubernetes;

use std::collections::{BTreeMap, BTreeSet};

use khorovod::problem::Severity;
use khorovod::{Inputs, Keys, Target, Text, targets};
use serde_json::Value as Json;

/// Entries of the spec: a job has at most one entry of each line.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "workers",
        &[
            "replicas: 1",
            "replicas: 2",
            "replicas: 2, spares: 1",
            "replicas: 5",
            "groups: [{name: a, replicas: 2, gpus: 2}, {name: b, replicas: 1}]",
        ],
    ),
    ("workers", &["gpus: 1", "gpus: 8", "gpus: 2, gpuResource: amd.com/gpu"]),
    ("workers", &["slotsPerWorker: 1", "slotsPerWorker: 3"]),
    (
        "workers",
        &["healthCheck: {}", "healthCheck: {policy: Never}", "healthCheck: {command: [nvidia-smi], timeout: 1m}"],
    ),
    (
        "workers",
        &["cpu: 4, memory: 16Gi", "memory: 64Gi, shm: 4Gi", "resources: {requests: {cpu: 1}, limits: {memory: 8Gi}}"],
    ),
    ("workers", &["ephemeralStorage: 10Gi", "rdma: {resource: rdma/hca}"]),
    (
        "workers",
        &[
            "resourceClaims: [{name: nic, resourceClaimTemplateName: own-nic}]",
            "resourceClaims: [{name: fpga, devices: {requests: [{name: fpga, exactly: {deviceClassName: fpga.example.com}}]}}]",
            "computeDomain: All",
        ],
    ),
    (
        "launcher",
        &[
            "kind: mpirun",
            "kind: horovodrun",
            "kind: torchrun",
            "kind: jax",
            "kind: tensorflow",
            "kind: deepspeed",
            "kind: shell",
            "kind: shell, interactive: true, idleTimeout: 1h",
        ],
    ),
    ("launcher", &["runsIn: firstWorker", "runsIn: ownPod"]),
    ("launcher", &["mpi: mpich", "mpi: intelmpi"]),
    ("launcher", &["runsRanks: true", "image: other:2"]),
    ("launcher", &["cpu: 2", "memory: 4Gi", "lostTimeout: 5m"]),
    ("workers", &["elastic: {minReplicas: 1, maxReplicas: 6}"]),
    ("ssh", &["port: 2022", "secretName: own-keys", "user: trainer"]),
    ("collective", &["interface: eth0", "ncclDebug: INFO", "infiniband: true", "fusionThreshold: 64Mi"]),
    ("code", &["files: {train.py: 'print(1)'}", "configMapName: own-code", "files: {a.sh: 'true'}, mountPath: /code"]),
    (
        "env",
        &[
            "A: '1'",
            "TOKEN: {secretKeyRef: {name: own-token, key: token}}",
            "NODE: {fieldRef: {fieldPath: spec.nodeName}}",
        ],
    ),
    ("envFrom", &["{secretRef: {name: own-env}}", "{configMapRef: {name: own-env, optional: true}, prefix: A_}"]),
    (
        "storage",
        &[
            "{name: data, mountPath: /data, claim: {size: 1Ti}}",
            "{name: data, mountPath: /data, existingClaim: own-claim}",
        ],
    ),
    (
        "storage",
        &[
            "{name: out, mountPath: /out, claim: {size: 1Gi, accessModes: [ReadWriteOnce]}}",
            "{name: out, mountPath: /out, s3: {bucket: out, direction: out, secretName: own-s3}}",
        ],
    ),
    (
        "storage",
        &[
            "{name: sets, mountPath: /sets, readOnly: true, nfs: {server: 10.0.0.1, path: /sets}}",
            "{name: sets, mountPath: /sets, s3: {bucket: sets}}",
        ],
    ),
    (
        "storage",
        &[
            "{name: model, mountPath: /model, download: {huggingFace: a/b, revision: b968826d9c46dd6066d109eabc6255188de91218, secretName: own-token}}",
            "{name: set, mountPath: /set, download: {url: 'https://a.org/set.zip', sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, unpacks: true}}",
        ],
    ),
    (
        "storage",
        &[
            "{name: tmp, mountPath: /scratch, emptyDir: {sizeLimit: 1Gi}}",
            "{name: own, mountPath: /own, perWorker: {size: 10Gi}}",
        ],
    ),
    (
        "storage",
        &[
            "{name: disk, mountPath: /disk, subPath: a/b, persistentVolume: {size: 1Gi, source: {csi: {driver: a.b, volumeHandle: c}}}}",
            "{name: node, mountPath: /mnt/nvme, hostPath: {path: /mnt/nvme}}",
        ],
    ),
    (
        "placement",
        &[
            "nodeSelector: {pool: a100}",
            "pack: rack",
            "topology: {preferred: block, rankOrder: [block, rack]}",
            "tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
        ],
    ),
    ("placement", &["hostNetwork: true", "priorityClassName: high, runtimeClassName: nvidia"]),
    (
        "scheduling",
        &[
            "gang: volcano, volcanoQueue: vision",
            "gang: coscheduling",
            "localQueue: team-a",
            "suspend: true",
            "schedulerName: own",
        ],
    ),
    (
        "lifecycle",
        &[
            "deadline: 2h",
            "ttlAfterFinished: 1h",
            "keepWorkers: true",
            "retries: 0",
            "startTimeout: 5m",
            "deadline: 1h, ttlAfterFinished: 5m",
            "checkpoint: {signal: SIGUSR1, gracePeriod: 5m}",
            "stall: {timeout: 20m, file: /tmp/progress, action: report, evidence: /tmp/stalls}",
        ],
    ),
    (
        "security",
        &[
            "podSecurityLevel: baseline",
            "podSecurityLevel: privileged",
            "podSecurityLevel: privileged, runAsUser: 0",
            "podSecurityLevel: openshift",
        ],
    ),
    (
        "security",
        &["networkPolicy: false", "serviceAccountName: own-account", "readOnlyRootFilesystem: false", "fsGroup: 100"],
    ),
    (
        "observability",
        &["tensorboardLogdir: /data/tb", "metrics: {port: 9400, podMonitor: true}", "logs: {rankPrefix: false}"],
    ),
    (
        "patches",
        &[
            "{target: {kind: Pod}, patch: {metadata: {annotations: {a/b: c}}}}",
            "{target: {kind: StatefulSet}, patch: {spec: {minReadySeconds: 1}}}",
        ],
    ),
];
const LISTS: &[&str] = &["envFrom", "storage", "patches"];

/// The targets that create pods. Every second one is Kubernetes itself.
fn some_target(dice: &mut Dice) -> &'static dyn Target {
    let pods: Vec<_> = targets::ALL.iter().copied().filter(|target| target.facts().has_pods).collect();
    if dice.below(2) == 0 { targets::PLAIN } else { pods[dice.below(pods.len())] }
}

/// A random generator with a fixed seed, so that failures can be reproduced.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// A job with random entries. Most fields are unset, because a job with all fields would always be rejected.
fn job(dice: &mut Dice) -> String {
    let mut spec: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let rare = 3 + dice.below(6);
    for (at, (field, entries)) in FIELDS.iter().enumerate() {
        if at == 0 || dice.below(rare) == 0 {
            spec.entry(field).or_default().push(entries[dice.below(entries.len())]);
        }
    }
    if let Some(parts) = spec.get_mut("launcher").filter(|parts| !parts.iter().any(|part| part.starts_with("kind:"))) {
        parts.insert(0, "kind: mpirun");
    }
    let interactive = spec.get("launcher").is_some_and(|parts| parts.iter().any(|part| part.contains("interactive")));
    let mut lines = vec![
        "apiVersion: khorovod.dev/v1alpha1",
        "kind: TrainingJob",
        "metadata: {name: mnist, labels: {team: vision}}",
        "spec:",
        "  image: ghcr.io/acme/mnist:1.4",
        if interactive { "" } else { "  command: [python, train.py]" },
    ];
    let fields: Vec<String> = spec
        .into_iter()
        .map(|(field, entries)| {
            let (open, close) = if LISTS.contains(&field) { ("[", "]") } else { ("{", "}") };
            format!("  {field}: {open}{}{close}", entries.join(", "))
        })
        .collect();
    lines.extend(fields.iter().map(String::as_str));
    lines.join("\n") + "\n"
}

/// All maps in a value, including the value.
fn maps<'a>(value: &'a Json, found: &mut Vec<&'a Json>) {
    match value {
        Json::Object(map) => {
            found.push(value);
            map.values().for_each(|value| maps(value, found));
        }
        Json::Array(list) => list.iter().for_each(|value| maps(value, found)),
        _ => {}
    }
}

fn list(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

fn name(value: &Json) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no name: {value}"))
}

/// The rendered objects of one job.
struct Made {
    objects: Vec<Json>,
}

impl Made {
    fn has(&self, kind: &str, name: &str) -> bool {
        self.objects.iter().any(|object| object["kind"] == kind && object["metadata"]["name"] == name)
    }

    /// Every object that is referred to is rendered too, or belongs to the user.
    fn check_reference(&self, kind: &str, value: &Json) {
        let name = name(value);
        assert!(self.has(kind, name) || name.starts_with("own-"), "nobody makes the {kind} {name}");
    }

    /// The labels of all pod templates.
    fn pods(&self) -> Vec<&Json> {
        let mut all = Vec::new();
        self.objects.iter().for_each(|object| maps(object, &mut all));
        let pod = |map: &&Json| map["spec"]["containers"].is_array();
        all.into_iter().filter(pod).map(|map| &map["metadata"]["labels"]).collect()
    }

    fn selects(&self, selector: &Json, what: &str) {
        let expected = selector.as_object().unwrap_or_else(|| panic!("{what} selects nothing"));
        let fits = |labels: &&Json| expected.iter().all(|(key, value)| &labels[key] == value);
        assert!(self.pods().iter().any(fits), "{what} selects no pod: {selector}");
    }

    fn hang_together(&self) {
        let mut names = BTreeSet::new();
        for object in &self.objects {
            let place = format!("{} {}", object["kind"], object["metadata"]["name"]);
            assert!(names.insert(place.clone()), "{place} is there twice");
            assert!(name(&object["metadata"]["name"]).len() <= 63, "{place}: the name is long");
            assert_eq!(object["metadata"]["labels"]["khorovod.dev/job"], "mnist", "{place}");
            assert_eq!(object["metadata"]["labels"]["team"], "vision", "{place}");
            kubernetes::is_of_its_type(object, &place);
            self.one(object, &place);
            let mut all = Vec::new();
            maps(object, &mut all);
            for map in all.into_iter().filter(|map| map["containers"].is_array()) {
                self.pod(map, &object["spec"]["volumeClaimTemplates"]);
            }
        }
    }

    fn one(&self, object: &Json, place: &str) {
        let spec = &object["spec"];
        match name(&object["kind"]) {
            "Service" => self.selects(&spec["selector"], place),
            "NetworkPolicy" | "PodMonitor" => {
                let selector = if spec["podSelector"].is_null() { &spec["selector"] } else { &spec["podSelector"] };
                self.selects(&selector["matchLabels"], place);
            }
            "StatefulSet" => {
                self.check_reference("Service", &spec["serviceName"]);
                let labels = &spec["template"]["metadata"]["labels"];
                for (key, value) in spec["selector"]["matchLabels"].as_object().unwrap() {
                    assert_eq!(&labels[key], value, "{place}: its selector and its pods");
                }
            }
            "RoleBinding" => {
                self.check_reference("Role", &object["roleRef"]["name"]);
                list(&object["subjects"]).for_each(|subject| self.check_reference("ServiceAccount", &subject["name"]));
            }
            "ClusterRoleBinding" => {
                self.check_reference("ClusterRole", &object["roleRef"]["name"]);
                list(&object["subjects"]).for_each(|subject| self.check_reference("ServiceAccount", &subject["name"]));
            }
            "Role" => {
                for rule in list(&object["rules"]) {
                    let kind = match rule["resources"][0].as_str().unwrap() {
                        "statefulsets" | "statefulsets/scale" => "StatefulSet",
                        "jobs" => "Job",
                        "endpoints" => "Service",
                        other => panic!("{place}: rights on {other}"),
                    };
                    list(&rule["resourceNames"]).for_each(|name| self.check_reference(kind, name));
                }
            }
            "PersistentVolumeClaim" if spec["volumeName"].is_string() => {
                self.check_reference("PersistentVolume", &spec["volumeName"]);
            }
            _ => {}
        }
    }

    fn pod(&self, pod: &Json, claims: &Json) {
        let mut volumes: BTreeSet<&str> = list(claims).map(|claim| name(&claim["metadata"]["name"])).collect();
        for volume in list(&pod["volumes"]) {
            assert!(volumes.insert(name(&volume["name"])), "two volumes have the name {}", volume["name"]);
            for source in [volume].into_iter().chain(list(&volume["projected"]["sources"])) {
                for (field, key, kind) in [
                    ("configMap", "name", "ConfigMap"),
                    ("secret", "secretName", "Secret"),
                    ("secret", "name", "Secret"),
                    ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
                ] {
                    if source[field][key].is_string() {
                        self.check_reference(kind, &source[field][key]);
                    }
                }
            }
        }
        if pod["serviceAccountName"].is_string() && pod["serviceAccountName"] != "default" {
            self.check_reference("ServiceAccount", &pod["serviceAccountName"]);
        }
        list(&pod["imagePullSecrets"]).for_each(|secret| self.check_reference("Secret", &secret["name"]));
        for container in list(&pod["containers"]).chain(list(&pod["initContainers"])) {
            let mut places = BTreeSet::new();
            for mount in list(&container["volumeMounts"]) {
                assert!(volumes.contains(name(&mount["name"])), "{} is mounted and no volume", mount["name"]);
                assert!(places.insert(name(&mount["mountPath"])), "{} is mounted on twice", mount["mountPath"]);
            }
            let mut variables = BTreeSet::new();
            for variable in list(&container["env"]) {
                assert!(variables.insert(name(&variable["name"])), "{} is set twice", variable["name"]);
                for (field, kind) in [("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")] {
                    if variable["valueFrom"][field].is_object() {
                        self.check_reference(kind, &variable["valueFrom"][field]["name"]);
                    }
                }
            }
            let mut ports = BTreeSet::new();
            for port in list(&container["ports"]) {
                assert!(ports.insert(port["containerPort"].as_u64()), "port {port} is open twice");
            }
        }
    }
}

#[test]
fn objects_of_accepted_specs_are_consistent() {
    let count: usize = std::env::var("COMBINATIONS").map_or(1_500, |count| count.parse().unwrap());
    let (mut dice, mut accepted, mut seen) = (Dice(1), 0, BTreeSet::<&str>::new());
    for number in 0..count {
        let text = job(&mut dice);
        let target = some_target(&mut dice);
        let inputs = Inputs { keys: Keys::Seed([7; 32]), target, ..Inputs::default() };
        let spec = Text { name: "job.yaml".to_owned(), text: text.clone() };
        let checked = std::panic::catch_unwind(|| {
            let found = khorovod::check(&spec, &inputs);
            for label in found.list.iter().flat_map(|problem| &problem.labels) {
                assert!(
                    text.get(label.span.start..label.span.end).is_some(),
                    "a place outside of the text: {:?}",
                    label.span
                );
            }
            let refused = found.list.iter().any(|problem| problem.severity == Severity::Error);
            let Ok(rendered) = khorovod::render(&spec, &inputs) else {
                assert!(refused, "refused for what the check does not know");
                return None;
            };
            assert!(!refused, "rendered in spite of an error");
            assert_eq!(rendered.text, khorovod::render(&spec, &inputs).unwrap().text, "two renders differ");
            let objects = serde_yaml::Deserializer::from_str(&rendered.text);
            let objects = objects.map(|one| serde::Deserialize::deserialize(one).unwrap()).collect();
            Made { objects }.hang_together();
            Some(())
        });
        let Ok(held) = checked else { panic!("combination {number}, target {target}:\n{text}") };
        if held.is_some() {
            accepted += 1;
            let entries = FIELDS.iter().flat_map(|(_, entries)| *entries);
            seen.extend(entries.filter(|entry| text.contains(**entry)));
        }
    }
    assert!(accepted * 4 > count, "only {accepted} of {count} are accepted: too few to show anything");
    let unseen: Vec<_> =
        FIELDS.iter().flat_map(|(_, entries)| *entries).filter(|entry| !seen.contains(*entry)).collect();
    assert!(unseen.is_empty(), "never accepted: {unseen:?}");
}
