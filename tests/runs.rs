//! The run's name and what Kubernetes does not change in place: one differs exactly where the other does.
//!
//! The name is made of the spec. These tests look at rendered objects instead: the spec of each workload without the
//! fields that can change in place, and all immutable ConfigMaps. Every field of the spec is set in every example.
//!
//! `tests/runs.txt` records, for each name that an example's run has, the hash of those objects. Under a recorded name
//! the objects must stay what they are: a cluster would refuse others. `make bless` writes it again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use khorovod::{Inputs, Keys, Target, Text, render, targets};
use serde_json::Value as Json;

/// Every target whose output is Kubernetes objects.
fn all_targets() -> impl Iterator<Item = &'static dyn Target> {
    targets::ALL.iter().copied().filter(|target| target.facts().has_pods)
}

/// One value for each field of the spec, or several where one alone is not valid in most examples.
const EDITS: &[&[&str]] = &[
    &["metadata.labels.x=z"],
    &["metadata.annotations.x=z"],
    &["metadata.namespace=elsewhere"],
    &["image=ghcr.io/acme/other:2"],
    &["image.name=ghcr.io/acme/third:2"],
    &["image.digest=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],
    &["image.pullPolicy=Always"],
    &["image.pullSecrets=[other]"],
    &["runTag=\"77\""],
    &["command=[python, other.py]"],
    &["command=[python, 'other.py --a b']"],
    &["args=[--epochs, '9']"],
    &["workingDir=/elsewhere"],
    &["env.X=z"],
    &["env.X={secretKeyRef: {name: a, key: b}}"],
    &["env.X={configMapKeyRef: {name: a, key: b}}"],
    &["env.X={fieldRef: {fieldPath: spec.nodeName}}"],
    &["envFrom=[{secretRef: {name: one}}]"],
    &["envFrom=[{configMapRef: {name: one}}]"],
    &["envFrom=[{secretRef: {name: one}, prefix: P_}]"],
    &["envFrom=[{secretRef: {name: one, optional: true}}]"],
    &["envFrom=[{configMapRef: {name: one, optional: true}}]"],
    &["code={configMapName: other}"],
    &["code={files: {a.py: 'x = 1'}}"],
    &["code={files: {a.py: 'x = 1'}, mountPath: /code}"],
    &["workers.replicas=3"],
    &["workers.spares=2"],
    &["workers.gpus=3"],
    &["workers.gpuResource=amd.com/gpu"],
    &["workers.slotsPerWorker=1"],
    &["workers.cpu=7"],
    &["workers.memory=77Gi"],
    &["workers.ephemeralStorage=77Gi"],
    &["workers.resources={limits: {cpu: 7, memory: 7Gi}}", "workers.cpu=null", "workers.memory=null"],
    &["workers.shm=7Gi"],
    &["workers.resources={requests: {cpu: 7}}", "workers.cpu=null", "workers.memory=null"],
    &["workers.resourceClaims=[{name: nic, resourceClaimTemplateName: own-nic}]"],
    &["workers.resourceClaims=[{name: nic, resourceClaimName: shared}]"],
    &["workers.serviceAccountName=reads-data"],
    &["workers.resourceClaims=[{name: nic, devices: {requests: [{name: nic, exactly: {deviceClassName: dranet}}]}}]"],
    &[
        "workers.resourceClaims=[{name: gpus, resourceClaimTemplateName: all}]",
        "workers.gpus=2",
        "workers.gpuClaim=gpus",
    ],
    &["workers.computeDomain=All"],
    &["workers.rdma={resource: rdma/hca, count: 1}", "security.podSecurityLevel=privileged"],
    &["workers.healthCheck={}"],
    &["workers.healthCheck={policy: OnFailure}"],
    &["workers.healthCheck={policy: Never}"],
    &["workers.healthCheck={command: [nvidia-smi]}"],
    &["workers.healthCheck={command: 'test -e /a', timeout: 7s}"],
    &["launcher.runsIn=firstWorker"],
    &["launcher.runsIn=ownPod"],
    &["workers.groups=[{name: a, replicas: 2}]", "workers.replicas=null"],
    &["workers={groups: [{name: a, replicas: 2, gpus: 2, gpuResource: amd.com/gpu, slotsPerWorker: 1, shm: 1Gi}]}"],
    &["workers={groups: [{name: a, replicas: 2, spares: 1}]}"],
    &["workers={groups: [{name: a, replicas: 2, cpu: 7, memory: 7Gi, ephemeralStorage: 7Gi}]}"],
    &["workers={groups: [{name: a, replicas: 2, resources: {requests: {cpu: 7}, limits: {cpu: 8}}}]}"],
    &[
        "workers={groups: [{name: a, replicas: 2, gpus: 2, gpuClaim: g, resourceClaims: [{name: g, resourceClaimTemplateName: all}]}]}",
    ],
    &["workers={groups: [{name: a, replicas: 2, resourceClaims: [{name: g, resourceClaimName: shared}]}]}"],
    &[
        "workers={groups: [{name: a, replicas: 2, rdma: {claim: g}, resourceClaims: [{name: g, devices: {requests: [{name: nic, exactly: {deviceClassName: d}}]}}]}]}",
        "security.podSecurityLevel=privileged",
    ],
    &[
        "workers.rdma={claim: nic}",
        "workers.resourceClaims=[{name: nic, resourceClaimName: shared}]",
        "security.podSecurityLevel=privileged",
    ],
    &[
        "workers={groups: [{name: a, replicas: 2, rdma: {resource: rdma/hca, count: 2}}]}",
        "security.podSecurityLevel=privileged",
    ],
    &["launcher.kind=mpirun"],
    &["launcher.kind=horovodrun"],
    &["launcher.kind=torchrun"],
    &["launcher.kind=jax"],
    &["launcher.kind=tensorflow"],
    &["launcher.kind=deepspeed"],
    &["launcher.kind=shell"],
    &["launcher={kind: shell, interactive: true}", "command=null", "args=null"],
    &["launcher={kind: shell, interactive: true, idleTimeout: 7m}", "command=null", "args=null"],
    &["launcher.mpi=intelmpi"],
    &["launcher.mpi=mpich"],
    &["launcher.args=[--verbose]"],
    &["launcher={kind: torchrun, program: ft_launcher}", "workers.elastic={minReplicas: 2, maxReplicas: 8}"],
    &["launcher.runsRanks=true"],
    &["launcher.cpu=7"],
    &["launcher.memory=7Gi"],
    &["launcher.image=ghcr.io/acme/launcher:2"],
    &["lifecycle.retries=7"],
    &["lifecycle.startTimeout=7m"],
    &["launcher.lostTimeout=7m"],
    &["lifecycle.retriesResetAfter=7m"],
    &["observability.progress=auto", "lifecycle.retriesWithoutProgress=7"],
    &["lifecycle.finalExitCodes=[2, 7]"],
    &["workers.elastic={minReplicas: 1, maxReplicas: 7}"],
    &["workers.elastic={minReplicas: 1, maxReplicas: 7, timeout: 7m}"],
    &["workers.elastic={minReplicas: 1, maxReplicas: 7, resetLimit: 7}"],
    &["workers.elastic={minReplicas: 1, maxReplicas: 7, cooldown: {min: 5s, max: 7s}}"],
    &["workers.elastic.minReplicas=1"],
    &["workers.elastic.maxReplicas=9"],
    &["ssh.port=2277"],
    &["ssh.user=other"],
    &["ssh.secretName=other"],
    &["collective.ncclDebug=INFO"],
    &["collective.interface=eth7"],
    &["collective.infiniband=false"],
    &["collective.fusionThreshold=7Mi"],
    &["collective.cycleTime=7ms"],
    &["collective.autotune=true"],
    &["collective.hierarchicalAllreduce=true"],
    &["collective.timeline=/tmp/t.json"],
    &["storage=[{name: vol, mountPath: /vol, emptyDir: {}}]"],
    &["storage=[{name: vol, mountPath: /vol, emptyDir: {sizeLimit: 7Gi}}]"],
    &["storage=[{name: vol, mountPath: /vol, claim: {size: 7Gi}}]"],
    &[
        "storage=[{name: vol, mountPath: /vol, claim: {size: 8Gi, storageClassName: fast, accessModes: [ReadWriteMany]}}]",
    ],
    &["storage=[{name: vol, mountPath: /vol, perWorker: {size: 7Gi}}]"],
    &[
        "storage=[{name: vol, mountPath: /vol, perWorker: {size: 7Gi, storageClassName: fast, accessModes: [ReadWriteOnce]}}]",
    ],
    &["storage=[{name: vol, mountPath: /vol, existingClaim: other}]"],
    &["storage=[{name: vol, mountPath: /vol, existingClaim: other, readOnly: true, subPath: s}]"],
    &["storage=[{name: vol, mountPath: /vol, nfs: {server: s, path: /p}}]", "security.podSecurityLevel=baseline"],
    &["storage=[{name: vol, mountPath: /vol, hostPath: {path: /p}}]", "security.podSecurityLevel=privileged"],
    &["storage=[{name: vol, mountPath: /vol, persistentVolume: {source: {nfs: {server: s, path: /p}}, size: 7Gi}}]"],
    &[
        "storage=[{name: vol, mountPath: /vol, persistentVolume: {source: {nfs: {server: s, path: /p}}, size: 7Gi, accessModes: [ReadOnlyMany]}}]",
    ],
    &[
        "storage=[{name: vol, mountPath: /vol, download: {huggingFace: a/b, revision: b968826d9c46dd6066d109eabc6255188de91218}}]",
    ],
    &[
        "storage=[{name: vol, mountPath: /vol, download: {huggingFace: a/c, revision: b968826d9c46dd6066d109eabc6255188de91218}}]",
    ],
    &[
        "storage=[{name: vol, mountPath: /vol, download: {huggingFace: a/b, revision: 81219ed8815526cbae901d6606dd64c9d628869b}}]",
    ],
    &[
        "storage=[{name: vol, mountPath: /vol, download: {huggingFace: a/b, revision: b968826d9c46dd6066d109eabc6255188de91218, files: ['*.json']}}]",
    ],
    &[
        "storage=[{name: vol, mountPath: /vol, download: {huggingFace: a/b, revision: b968826d9c46dd6066d109eabc6255188de91218, secretName: t, sizeLimit: 7Gi}}]",
    ],
    &["storage=[{name: vol, mountPath: /vol, download: {url: 'https://a.org/b'}}]"],
    &["storage=[{name: vol, mountPath: /vol, download: {url: 'https://a.org/b', unpacks: true}}]"],
    &[
        "storage=[{name: vol, mountPath: /vol, download: {url: 'https://a.org/b', sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855}}]",
    ],
    &["storage=[{name: vol, mountPath: /vol, s3: {bucket: bbb}}]"],
    &["storage=[{name: vol, mountPath: /vol, s3: {bucket: bbb, prefix: p}}]"],
    &["storage=[{name: vol, mountPath: /vol, s3: {bucket: bbb, region: eu-west-1}}]"],
    &["storage=[{name: vol, mountPath: /vol, s3: {bucket: bbb, endpoint: 'https://s3.example.org'}}]"],
    &["storage=[{name: vol, mountPath: /vol, s3: {bucket: bbb, secretName: s, direction: both, sizeLimit: 7Gi}}]"],
    &[
        "storage=[{name: vol, mountPath: /vol, s3: {bucket: bbb, secretName: s, direction: both, sizeLimit: 7Gi, uploadInterval: 5m}}]",
    ],
    &["placement.nodeSelector.x=z"],
    &["placement.tolerations=[{key: a, operator: Exists}]"],
    &["placement.tolerations=[{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 7}]"],
    &[
        "placement.affinity={nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}",
    ],
    &["placement.priorityClassName=high"],
    &["placement.runtimeClassName=nvidia"],
    &["placement.spread=zone"],
    &["placement.pack=rack"],
    &["placement.topology={required: rack}"],
    &["placement.topology={preferred: example.com/block}"],
    &["placement.topology={rankOrder: [rack]}"],
    &["placement.topology={rankOrder: [block, rack]}"],
    &["placement.topology={rankOrder: measured}"],
    &["placement.topology={slices: {size: 1, required: rack}}"],
    &["placement.hostNetwork=true", "security.podSecurityLevel=privileged"],
    &["scheduling.gang=volcano"],
    &["scheduling.gang=coscheduling"],
    &["scheduling.volcanoQueue=other"],
    &["scheduling={gang: volcano, volcanoQueue: other}"],
    &["scheduling.localQueue=other"],
    &["scheduling={localQueue: other, workloadPriorityClassName: high}"],
    &["scheduling={localQueue: other, partialAdmission: true}"],
    &["scheduling.suspend=true"],
    &["scheduling.schedulerName=other"],
    &["lifecycle.deadline=7h"],
    &["lifecycle.ttlAfterFinished=7h"],
    &["lifecycle.keepWorkers=true"],
    &["lifecycle.checkpoint.signal=SIGUSR2"],
    &["lifecycle.checkpoint.gracePeriod=7m"],
    &["lifecycle.stall={timeout: 7m}"],
    &["lifecycle.stall={timeout: 7m, action: report}"],
    &["lifecycle.stall={timeout: 7m, file: /tmp/progress}"],
    &["lifecycle.stall={timeout: 7m, metric: steps}", "observability.metrics={port: 9400}"],
    &["lifecycle.stall={timeout: 7m, evidence: /tmp/stalls}"],
    &["observability.progress=auto"],
    &["observability.progress={pattern: 'step (\\d+)/(\\d+)'}"],
    &["observability.progress={file: /tmp/progress}"],
    &["observability.events=true"],
    &["observability.launcherMetrics={port: 9401}"],
    &["observability.launcherMetrics={port: 9401, podMonitor: true}"],
    &["observability.launcherMetrics={port: 9401, from: [{podSelector: {}}]}"],
    &["security.podSecurityLevel=baseline"],
    &["security.podSecurityLevel=privileged"],
    &["security={podSecurityLevel: openshift}"],
    &["security={podSecurityLevel: baseline, runAsUser: 0}"],
    &["security.runAsUser=777"],
    &["security.fsGroup=777"],
    &["security.networkPolicy=false"],
    &["security.egress=noMetadata"],
    &["security.egress=private"],
    &["security={egress: listed, egressTo: [{ipBlock: {cidr: 10.0.0.1/32}}]}"],
    &["security.apiAccess=false"],
    &["security.serviceAccountName=other"],
    &["security.readOnlyRootFilesystem=false"],
    &["observability.tensorboardLogdir=/tmp/other"],
    &["observability.progress={output: auto}"],
    &["observability.metrics={port: 9777}"],
    &["observability.metrics={port: 9777, podMonitor: true}"],
    &["observability.metrics={port: 9777, from: [{namespaceSelector: {matchLabels: {a: b}}}]}"],
    &["observability.logs.rankPrefix=false"],
    &["patches=[{target: {kind: Service}, patch: {metadata: {labels: {x: z}}}}]"],
    &["patches=[{target: {kind: Pod}, patch: {metadata: {labels: {x: z}}}}]"],
    &["patches=[{target: {kind: Pod}, patch: {spec: {priority: 7}}}]"],
    &["patches=[{target: {kind: Pod, name: '*-worker'}, patch: {spec: {priority: 7}}}]"],
    &["patches=[{target: {kind: Job}, patch: {metadata: {labels: {x: z}}}}]"],
    &["patches=[{target: {kind: Job}, patch: {spec: {ttlSecondsAfterFinished: 7}}}]"],
    &["patches=[{target: {kind: Job}, patch: {spec: {manualSelector: true}}}]"],
    &["patches=[{target: {kind: StatefulSet}, patch: {spec: {minReadySeconds: 7}}}]"],
    &["patches=[{target: {kind: StatefulSet}, patch: {spec: {podManagementPolicy: OrderedReady}}}]"],
    &["patches=[{target: {kind: MPIJob}, patch: {spec: {runPolicy: {backoffLimit: 7}}}}]"],
    &["patches=[{target: {kind: JobSet}, patch: {spec: {ttlSecondsAfterFinished: 7}}}]"],
    &["patches=[{target: {kind: TrainingRuntime}, patch: {spec: {x: 7}}}]"],
    &["patches=[{target: {name: '*-current'}, patch: {metadata: {labels: {x: z}}}}]"],
    &["patches=[{target: {name: '*-launcher'}, patch: {spec: {manualSelector: true}}}]"],
    &["patches=[{target: {name: '*'}, patch: {metadata: {labels: {x: z}}}}]"],
];

/// Fields that make no Kubernetes object, or that a value above sets in another way.
const NOT_EDITED: &[&str] = &["slurm"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn examples() -> Vec<(String, Text)> {
    let folders = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = folders
        .filter(|path| path.is_dir())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(path.join("job.yaml")).unwrap();
            (name.clone(), Text { name: format!("{name}/job.yaml"), text })
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

/// The fields of a workload's spec that Kubernetes or an operator changes in place.
fn changeable(api_version: &str, kind: &str) -> Option<&'static [&'static str]> {
    let group = api_version.trim_start_matches("apiVersion: ").split('/').next().unwrap();
    Some(match (group, kind) {
        ("kubeflow.org", "MPIJob") => &["runPolicy"],
        ("jobset.x-k8s.io", "JobSet") => &["suspend", "ttlSecondsAfterFinished"],
        ("trainer.kubeflow.org", "TrainJob") => &["suspend"],
        ("trainer.kubeflow.org", "TrainingRuntime") | ("batch.volcano.sh", "Job") => &[],
        ("apps", "StatefulSet") | ("batch", "Job") => &[
            "activeDeadlineSeconds",
            "backoffLimit",
            "minReadySeconds",
            "persistentVolumeClaimRetentionPolicy",
            "replicas",
            "revisionHistoryLimit",
            "suspend",
            "ttlSecondsAfterFinished",
            "updateStrategy",
        ],
        _ => return None,
    })
}

/// The run's name, and what cannot change in place under it, with `<run>` for the name.
fn run(text: &Text, target: &'static dyn Target, sets: &[&str]) -> Option<(String, String)> {
    let sets = sets.iter().map(|set| (*set).to_owned()).collect();
    let inputs = Inputs { keys: Keys::LeftOut, target, sets, ..Inputs::default() };
    let rendered = render(text, &inputs).ok()?;
    let (mut name, mut fixed) = (String::new(), String::new());
    for document in &rendered.documents {
        let text = &rendered.text[document.range.clone()];
        if text.contains("\nimmutable: true\n") {
            fixed.extend(section(text, "data"));
        } else if let Some(changeable) = changeable(section(text, "apiVersion")[0], document.kind) {
            let label = "khorovod.dev/run: ";
            let at = text.find(label).unwrap() + label.len();
            text[at..at + 6].clone_into(&mut name);
            let mut keeps = true;
            for line in section(text, "spec") {
                if line.starts_with("  ") && !line.starts_with("   ") && !line.starts_with("  -") {
                    keeps = !changeable.contains(&line.trim_start().split(':').next().unwrap());
                }
                fixed.push_str(if keeps { line } else { "" });
            }
        }
    }
    assert_eq!(name.len(), 6, "{}", text.name);
    let fixed = fixed.replace(&name, "<run>");
    Some((name, fixed))
}

/// The lines of a rendered object from a key at its top to the next.
fn section<'t>(object: &'t str, key: &str) -> Vec<&'t str> {
    let lines = object.split_inclusive('\n');
    let from = lines.skip_while(|line| line.strip_prefix(key).is_none_or(|rest| !rest.starts_with(':')));
    from.enumerate()
        .take_while(|(index, line)| *index == 0 || line.starts_with([' ', '\n']))
        .map(|(_, line)| line)
        .collect()
}

/// The FNV-1a hash of a text.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn another_name_and_other_fixed_objects_are_one() {
    // Others differ from these in values alone.
    let few = [
        "deepspeed",
        "elastic",
        "gang",
        "horovod-gpu",
        "indexed-job",
        "interactive",
        "jax",
        "large",
        "openshift",
        "patches",
        "per-worker",
        "s3",
        "shell",
        "smallest",
        "tensorflow",
        "torchrun",
        "torchrun-elastic",
        "worker-groups",
    ];
    let mut tasks = Vec::new();
    for (name, text) in examples() {
        for target in all_targets() {
            if few.contains(&name.as_str()) {
                tasks.push((name.clone(), text.clone(), target));
            }
        }
    }
    let wrong = std::sync::Mutex::new(Vec::new());
    let tried = std::sync::Mutex::new(BTreeMap::<usize, usize>::new());
    std::thread::scope(|scope| {
        for lane in 0..4 {
            let (tasks, wrong, tried) = (&tasks, &wrong, &tried);
            scope.spawn(move || {
                for (name, text, target) in tasks.iter().skip(lane).step_by(4) {
                    let Some((before, fixed)) = run(text, *target, &[]) else { continue };
                    for (index, edit) in EDITS.iter().enumerate() {
                        let Some((after, now)) = run(text, *target, edit) else { continue };
                        *tried.lock().unwrap().entry(index).or_default() += 1;
                        // `runTag` asks for another run of the same objects.
                        if (before == after) != (fixed == now && !edit[0].starts_with("runTag")) {
                            let what =
                                if before == after { "one name, other objects" } else { "another name, same objects" };
                            wrong.lock().unwrap().push(format!("{target} {name} {edit:?}: {what}"));
                        }
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let tried = tried.into_inner().unwrap();
    let never: Vec<_> = (0..EDITS.len()).filter(|index| !tried.contains_key(index)).map(|index| EDITS[index]).collect();
    assert!(never.is_empty(), "no example takes {never:#?}");
}

/// Paths of all fields, list items by `[]` and names left out.
fn leaves(schema: &Json, shape: &str, path: &str, depth: usize, found: &mut BTreeSet<String>) {
    for (key, field) in schema["$defs"][shape]["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        found.insert(path.clone());
        let text = field.to_string();
        for part in text.split("\"#/$defs/").skip(1).filter(|_| depth > 0) {
            leaves(schema, part.split('"').next().unwrap(), &path, depth - 1, found);
        }
    }
}

#[test]
fn every_field_is_edited() {
    let mut expected = BTreeSet::new();
    leaves(&khorovod::schema(), "Body", "", 3, &mut expected);
    assert!(expected.len() > 100, "{expected:?}");
    let edits: Vec<String> = EDITS.iter().flat_map(|edit| edit.iter()).map(|set| (*set).to_owned()).collect();
    let is_set = |path: &String| {
        let mut names = path.split('.');
        let first = names.next().unwrap();
        NOT_EDITED.contains(&first)
            || edits.iter().any(|set| set.starts_with(first) && names.clone().all(|name| set.contains(name)))
    };
    let missing: Vec<_> = expected.iter().filter(|path| !is_set(path)).collect();
    assert!(missing.is_empty(), "no edit sets {missing:#?}");
}

#[test]
fn objects_of_a_recorded_run_do_not_change() {
    let path = root().join("tests/runs.txt");
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeMap<&str, &str> = recorded.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut now = BTreeMap::new();
    for (example, text) in examples() {
        for target in all_targets() {
            let Some((name, fixed)) = run(&text, target, &[]) else { continue };
            let hash = format!("{:016x}", fnv(&fixed));
            assert!(
                known.get(name.as_str()).is_none_or(|known| *known == hash),
                "{target} {example}: the same spec makes other objects, and a cluster that has the run {name} would refuse them: \
                 add 1 to `REVISION` in src/compiler/pods.rs, and run `make bless`"
            );
            now.insert(name, hash);
        }
    }
    let now: String = now.iter().flat_map(|(name, hash)| [name.as_str(), " ", hash.as_str(), "\n"]).collect();
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(path, now).unwrap();
    } else {
        assert!(recorded == now, "an example's spec changed: run `make bless`");
    }
}
