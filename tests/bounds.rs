//! The boundary values of each rule: the last valid and the first invalid value. The fixtures in tests/problems/ show whole
//! mistakes; these values are one step from each limit. `make mutants` found them.

use khorovod::{Inputs, Text};

/// Checks a job with some changed fields, and returns the names of the problems. `args` are as in tests/problems/.
fn found(args: &str, metadata: &str, spec: &str) -> Vec<&'static str> {
    found_messages(args, metadata, spec).into_iter().map(|(code, _)| code).collect()
}

/// Like [`found`], with the message of each problem.
fn found_messages(args: &str, metadata: &str, spec: &str) -> Vec<(&'static str, String)> {
    let mut inputs = Inputs::default();
    for option in args.split_whitespace().collect::<Vec<_>>().chunks(2) {
        match option {
            ["--target", name] => inputs.target = name.parse().unwrap(),
            ["--kube-version", version] => inputs.kube_version = version.parse().unwrap(),
            other => panic!("{other:?}"),
        }
    }
    let given = |field: &str| spec.lines().any(|line| line.starts_with(field));
    let usual = [("image", "a:1"), ("command", "[train]"), ("workers", "{replicas: 2}")];
    let usual = usual.iter().filter(|(field, _)| !given(field)).map(|(field, value)| format!("  {field}: {value}\n"));
    let lines: Vec<String> = usual.chain(spec.lines().map(|line| format!("  {line}\n"))).collect();
    let head = format!("apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{{metadata}}}\nspec:\n");
    let text = head + &lines.concat();
    let problems = khorovod::check(&Text { name: "job.yaml".to_owned(), text }, &inputs);
    problems.list.into_iter().map(|problem| (problem.code.name, problem.message)).collect()
}

/// Arguments, spec, and the expected code; no problem is expected if it is empty.
const NEXT_TO_BOUNDS: &[(&str, &str, &str)] = &[
    ("", "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}\nlauncher: horovodrun", ""),
    ("", "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 3}}\nlauncher: horovodrun", ""),
    ("", "workers: {replicas: 2, elastic: {minReplicas: 3, maxReplicas: 4}}\nlauncher: horovodrun", "elastic-bounds"),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2, cooldown: {min: 1m, max: 1m}}}\nlauncher: horovodrun",
        "",
    ),
    ("--kube-version 1.33", "workers: {replicas: 2, computeDomain: Single}", "kube-version"),
    ("--kube-version 1.34", "workers: {replicas: 2, computeDomain: Single}", ""),
    ("", "workers: {replicas: 256, resourceClaims: [{name: a, resourceClaimName: b}]}", ""),
    ("", "workers: {replicas: 257, resourceClaims: [{name: a, resourceClaimName: b}]}", "resource-claims"),
    ("", "workers: {replicas: 257, resourceClaims: [{name: a, resourceClaimTemplateName: b}]}", ""),
    (
        "",
        "workers: {replicas: 2, resourceClaims: [{name: a, resourceClaimName: b}, {name: a, resourceClaimName: c}]}",
        "resource-claims",
    ),
    ("", "workers: {replicas: 2, gpus: 8, gpuClaim: a, resourceClaims: [{name: a, resourceClaimTemplateName: b}]}", ""),
    (
        "",
        "workers: {replicas: 2, gpuClaim: a, resourceClaims: [{name: a, resourceClaimTemplateName: b}]}",
        "resource-claims",
    ),
    // One GPU is one rank, and `slotsPerWorker` states another number.
    (
        "",
        "workers: {replicas: 2, resourceClaims: [{name: a, devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}]}",
        "",
    ),
    (
        "",
        "workers: {replicas: 2, slotsPerWorker: 1, resourceClaims: [{name: a, devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}]}",
        "",
    ),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}\nlauncher: {kind: torchrun, program: ft_launcher}",
        "",
    ),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}\nlauncher: {kind: torchrun, program: /opt/nvrx/bin/ft_launcher}",
        "",
    ),
    ("", "launcher: {kind: torchrun, program: torchrun}", "launcher-program"),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}\nlauncher: {kind: torchrun, program: --ft}",
        "invalid-value",
    ),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}\nlauncher: {kind: torchrun, program: python -m torch.distributed.run}",
        "invalid-value",
    ),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}\nlauncher: {kind: torchrun, program: $HOME/ft_launcher}",
        "invalid-value",
    ),
    ("", "launcher: {kind: jax, program: ft_launcher}", "launcher-program"),
    ("", "placement: {topology: {required: rack}}", ""),
    ("", "placement: {topology: {required: example.com/rack}}", ""),
    ("", "placement: {topology: {required: rack, preferred: block}}", "topology"),
    ("", "placement: {topology: {}}", "topology"),
    ("", "placement: {topology: {slices: {size: 1, required: rack}}}", "topology"),
    ("--target volcano", "placement: {topology: {slices: {size: 2, required: rack}}}", ""),
    ("--target volcano", "placement: {topology: {slices: {size: 3, required: rack}}}", "topology"),
    ("", "placement: {topology: {slices: {size: 2, required: rack}}}\nscheduling: {localQueue: a}", ""),
    ("", "placement: {topology: {slices: {size: 2, required: rack}}}\nscheduling: {gang: volcano}", "topology"),
    ("", "placement: {topology: {required: rack}, spread: topology.kubernetes.io/rack}", "spread-and-pack"),
    ("", "placement: {topology: {rankOrder: [rack]}, spread: topology.kubernetes.io/rack}", ""),
    ("--kube-version 1.34", "placement: {topology: {rankOrder: [zone]}}", "kube-version"),
    ("--kube-version 1.35", "placement: {topology: {rankOrder: [region, zone]}}", ""),
    ("--kube-version 1.34", "placement: {topology: {rankOrder: [zone, rack]}}", ""),
    ("--kube-version 1.35 --target jobset", "placement: {topology: {rankOrder: [zone]}}", ""),
    ("--target jobset", "placement: {topology: {rankOrder: [zone, rack]}}", "topology"),
    ("", "placement: {topology: {rankOrder: [rack]}}\nlifecycle: {keepWorkers: true}", "topology"),
    ("", "placement: {topology: {rankOrder: [rack]}}\nsecurity: {apiAccess: false}", "topology"),
    ("", "placement: {topology: {rankOrder: [rack]}}\nlauncher: torchrun", "no-effect"),
    ("", "placement: {topology: {rankOrder: []}}", "topology"),
    ("", "placement: {topology: {rankOrder: measured}}\nlauncher: torchrun", "no-effect"),
    ("--kube-version 1.26", "placement: {topology: {rankOrder: measured}}", ""),
    ("", "placement: {topology: {rankOrder: measured}}\nsecurity: {apiAccess: false}", ""),
    ("", "placement: {topology: {rankOrder: measured}}\nlifecycle: {keepWorkers: true}", ""),
    ("--target jobset", "placement: {topology: {rankOrder: measured}}", ""),
    ("--target mpijob", "placement: {topology: {rankOrder: measured}}", ""),
    ("", "placement: {topology: {rankOrder: Measured}}", "invalid-value"),
    ("", "placement: {topology: {rankOrder: rack}}", "wrong-type"),
    ("", "placement: {topology: {rankOrder: [measured]}}", "topology-level"),
    (
        "",
        "placement: {topology: {required: host}, hostNetwork: true}\nsecurity: {podSecurityLevel: privileged}",
        "port-clash",
    ),
    ("", "ssh: {port: 1024}", ""),
    ("", "ssh: {port: 1023}", "privileged-port"),
    ("", "storage: [{name: a, mountPath: /, emptyDir: {}}]", "reserved-mount"),
    (
        "",
        "storage: [{name: a, mountPath: /data, claim: {accessModes: [ReadWriteOnce], size: 1Gi}}]\nworkers: {replicas: 1}",
        "launcher-shares-claim",
    ),
    (
        "",
        "storage: [{name: a, mountPath: /data, claim: {accessModes: [ReadWriteOnce], size: 1Gi}}]\nworkers: {replicas: 1}\nlauncher: {kind: mpirun, runsIn: firstWorker}",
        "",
    ),
    (
        "",
        "storage: [{name: a, mountPath: /data, claim: {accessModes: [ReadWriteOncePod], size: 1Gi}}]\nworkers: {replicas: 1}",
        "shared-read-write-once",
    ),
    // The claim is for the maximum number of workers, and for a launcher that runs ranks.
    ("", "storage: [{name: a, mountPath: /data, claim: {size: 1Gi}}]\nworkers: {replicas: 1}", "launcher-shares-claim"),
    (
        "",
        "storage: [{name: a, mountPath: /data, claim: {size: 1Gi}}]\nworkers: {replicas: 1}\nlauncher: {kind: mpirun, runsRanks: true}",
        "",
    ),
    (
        "",
        "storage: [{name: a, mountPath: /data, claim: {size: 1Gi}}]\nworkers: {replicas: 1, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: horovodrun",
        "",
    ),
    (
        "",
        "storage: [{name: a, mountPath: /data, claim: {accessModes: [ReadWriteOnce], size: 1Gi}}]\nworkers: {replicas: 1, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: horovodrun",
        "shared-read-write-once",
    ),
    ("", "storage: [{name: a, mountPath: /data, readOnly: true, s3: {bucket: sets}}]", "s3-read-only"),
    ("", "storage: [{name: a, mountPath: /data, readOnly: false, s3: {bucket: sets}}]", ""),
    ("", "observability: {metrics: {port: 29400}}", ""),
    ("", "observability: {metrics: {port: 29400}}\nlauncher: torchrun", "port-clash"),
    ("", "observability: {metrics: {port: 29401}}\nlauncher: jax", "port-clash"),
    ("", "observability: {metrics: {port: 29410}}\nlauncher: jax", ""),
    (
        "",
        "workers: {replicas: 2, slotsPerWorker: 2}\nobservability: {metrics: {port: 29411}}\nlauncher: tensorflow",
        "port-clash",
    ),
    (
        "",
        "workers: {replicas: 2, slotsPerWorker: 2}\nobservability: {metrics: {port: 29412}}\nlauncher: tensorflow",
        "",
    ),
    ("", "workers: {replicas: 2, gpus: 8, slotsPerWorker: 4}\nlauncher: jax", ""),
    ("", "workers: {replicas: 2, gpus: 8, slotsPerWorker: 3}\nlauncher: jax", "gpus-per-rank"),
    ("", "workers: {replicas: 2, gpus: 8, slotsPerWorker: 9}\nlauncher: tensorflow", "slots-above-gpus"),
    ("", "launcher: {kind: jax, args: [--verbose]}", "no-effect"),
    ("", "env: {TF_CONFIG: a}\nlauncher: tensorflow", "reserved-variable"),
    ("", "env: {TF_CONFIG: a}\nlauncher: jax", ""),
    ("", "env: {JAX_PROCESS_ID: '1'}\nlauncher: jax", "reserved-variable"),
    ("", "lifecycle: {finalExitCodes: [3]}\nlauncher: jax", "no-effect"),
    ("", "scheduling: {workloadPriorityClassName: high}", "no-effect"),
    ("", "scheduling: {localQueue: a, workloadPriorityClassName: high}", ""),
    ("--target jobset", "scheduling: {localQueue: a, workloadPriorityClassName: high}", ""),
    ("", "scheduling: {localQueue: a, partialAdmission: true}", "no-effect"),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: torchrun\nscheduling: {localQueue: a, partialAdmission: true}",
        "",
    ),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 3}}\nlauncher: torchrun\nscheduling: {localQueue: a, partialAdmission: true}",
        "no-effect",
    ),
    (
        "",
        "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: torchrun\nscheduling: {partialAdmission: true}",
        "no-effect",
    ),
    (
        "--target jobset",
        "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: torchrun\nscheduling: {localQueue: a, partialAdmission: true}",
        "no-effect",
    ),
    ("--kube-version 1.35", "scheduling: {gang: native}", "kube-version"),
    ("--kube-version 1.36", "scheduling: {gang: native}", ""),
    ("--kube-version 1.36", "scheduling: {gang: native}\nlauncher: {kind: mpirun, runsIn: ownPod}", ""),
    (
        "--kube-version 1.36",
        "scheduling: {gang: native, suspend: true}\nlauncher: {kind: mpirun, runsIn: ownPod}",
        "wrong-launcher-pod",
    ),
    (
        "--kube-version 1.36",
        "scheduling: {gang: coscheduling}\nlauncher: {kind: mpirun, runsIn: ownPod}",
        "wrong-launcher-pod",
    ),
    (
        "--kube-version 1.36",
        "scheduling: {gang: native}\nlauncher: {kind: mpirun, runsIn: ownPod, runsRanks: true}",
        "wrong-launcher-pod",
    ),
    ("--kube-version 1.36", "scheduling: {gang: native}\nworkers: {replicas: 2, spares: 1}", "wrong-launcher-pod"),
    (
        "--kube-version 1.36",
        "scheduling: {gang: native}\nworkers: {replicas: 2, spares: 1}\nlauncher: {kind: mpirun, runsIn: ownPod}",
        "",
    ),
    (
        "--kube-version 1.36",
        "scheduling: {gang: native}\nworkers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 4}}\nlauncher: {kind: horovodrun, runsIn: ownPod}",
        "",
    ),
    ("--kube-version 1.35", "scheduling: {gang: native}\nplacement: {topology: {required: rack}}", "kube-version"),
    ("--kube-version 1.36", "scheduling: {gang: native}\nplacement: {topology: {required: rack}}", ""),
    ("--kube-version 1.37 --target jobset", "scheduling: {gang: native}", "target-cannot"),
    ("--kube-version 1.37 --target mpijob", "scheduling: {gang: native}", "target-cannot"),
    ("", "workers: {groups: [{name: a, replicas: 1}]}\nlauncher: tensorflow", "wrong-launcher-pod"),
    ("", "ssh: {user: root}", "ssh-user"),
    ("", "ssh: {user: root}\nsecurity: {podSecurityLevel: baseline, runAsUser: 0}", ""),
    ("", "ssh: {user: roots}", ""),
    ("", "workers: {replicas: 2, gpus: 2, resources: {limits: {nvidia.com/gpu: 4}}}", "resources-twice"),
    ("", "workers: {replicas: 2, gpus: 2, resources: {limits: {nvidia.com/gpu: 2}}}", ""),
    (
        "",
        "workers: {replicas: 2, gpus: 2, gpuResource: amd.com/gpu, resources: {limits: {amd.com/gpu: 1}}}",
        "resources-twice",
    ),
    (
        "",
        "security: {podSecurityLevel: privileged}\nworkers: {replicas: 2, rdma: {resource: rdma/hca}, resources: {requests: {rdma/hca: 2}}}",
        "resources-twice",
    ),
    (
        "",
        "launcher: {kind: mpirun, runsRanks: true}\nstorage: [{name: a, mountPath: /a, perWorker: {size: 1Gi}}, {name: a-launcher, mountPath: /b, claim: {size: 1Gi}}]",
        "duplicate-name",
    ),
    (
        "",
        "storage: [{name: a, mountPath: /a, perWorker: {size: 1Gi}}, {name: a-launcher, mountPath: /b, claim: {size: 1Gi}}]",
        "",
    ),
    ("", "env: {JOB_COMPLETION_INDEX: '0'}", ""),
    (
        "",
        "env: {JOB_COMPLETION_INDEX: '0'}\nworkers: {replicas: 2}\nlauncher: {kind: mpirun, runsIn: firstWorker}",
        "reserved-variable",
    ),
    ("", "observability: {logs: {rankPrefix: false}}", ""),
    ("", "observability: {logs: {rankPrefix: true}}\nlauncher: horovodrun", ""),
    ("", "observability: {logs: {rankPrefix: false}}\nlauncher: horovodrun", "no-effect"),
    ("", "launcher: {kind: mpirun, cpu: 2, runsRanks: true}", "no-effect"),
    ("", "launcher: {kind: mpirun, memory: 2Gi, runsRanks: true}", "no-effect"),
    ("", "launcher: {kind: mpirun, cpu: 2, runsRanks: false}", ""),
    ("", "workers: {replicas: 2}\nlauncher: {kind: mpirun, runsRanks: false, runsIn: firstWorker}", ""),
    (
        "",
        "workers: {replicas: 2}\nlauncher: {kind: mpirun, runsRanks: true, runsIn: firstWorker}",
        "wrong-launcher-pod",
    ),
    (
        "",
        "storage: [{name: a, mountPath: /data, claim: {accessModes: [ReadWriteOnce], size: 1Gi}}]",
        "shared-read-write-once",
    ),
    ("", "workers: {groups: [{name: a, replicas: 60000}, {name: b, replicas: 40000}]}", ""),
    ("", "workers: {groups: [{name: a, replicas: 60000}, {name: b, replicas: 40001}]}", "too-many-workers"),
    ("", "workers: {replicas: 4000, slotsPerWorker: 1000}", ""),
    ("", "workers: {replicas: 4000, slotsPerWorker: 1001}", "too-many-workers"),
    ("--kube-version 1.26", "", ""),
    ("--kube-version 1.25", "", "kube-version"),
    ("--kube-version 1.31", "workers: {replicas: 2}\nlauncher: {kind: mpirun, runsIn: firstWorker}", ""),
    ("--kube-version 1.30", "workers: {replicas: 2}\nlauncher: {kind: mpirun, runsIn: firstWorker}", "kube-version"),
    ("", "image: {name: a}", "image-unpinned"),
    ("", "image: {name: a, digest: 'sha256:0123456789012345678901234567890123456789012345678901234567890123'}", ""),
    ("", "command: [watch, -m, mpirun]", ""),
    ("", "command: [python3, -m, torch.distributed.run]", "launcher-twice"),
    // A custom ServiceAccount must be allowed to scale only if the launcher scales.
    ("", "security: {serviceAccountName: own}", "account-permissions"),
    (
        "",
        "security: {serviceAccountName: own}\nworkers: {replicas: 2}\nlauncher: {kind: mpirun, runsIn: firstWorker}",
        "",
    ),
    ("", "security: {serviceAccountName: own}\nlifecycle: {keepWorkers: true}", ""),
    ("--target jobset", "security: {serviceAccountName: own}", ""),
    ("", "workers: {replicas: 2, serviceAccountName: own}", ""),
    ("--target mpijob", "workers: {replicas: 2, serviceAccountName: own}", ""),
    ("", "workers: {replicas: 2, serviceAccountName: own}\nlauncher: torchrun", "wrong-launcher-pod"),
    ("", "workers: {replicas: 2, serviceAccountName: own}\nlauncher: {kind: mpirun, lostTimeout: 1h}", "no-effect"),
    ("", "workers: {replicas: 2, serviceAccountName: own}\nplacement: {topology: {rankOrder: [rack]}}", "topology"),
    (
        "--kube-version 1.35",
        "workers: {replicas: 2, serviceAccountName: own}\nplacement: {topology: {rankOrder: [zone]}}",
        "",
    ),
    ("", "workers: {replicas: 2, memory: 1Mi}", ""),
    ("", "workers: {replicas: 2, gpus: 1, cpu: 99m}", "few-cpus"),
    ("", "workers: {replicas: 2, gpus: 1, cpu: 100m}", ""),
    ("", "workers: {replicas: 2, cpu: 99m}", ""),
    ("", "lifecycle: {deadline: 1h, stall: {timeout: 1h}}", "no-effect"),
    ("", "lifecycle: {deadline: 1h, stall: {timeout: 59m}}", ""),
    ("", "security: {egress: private, egressTo: [{ipBlock: {cidr: 10.0.0.0/8}}]}", ""),
    ("", "security: {egress: listed, egressTo: [{ipBlock: {cidr: 10.0.0.0/8}}]}", ""),
    (
        "",
        "storage: [{name: a, mountPath: /a, s3: {bucket: acme}}]\nsecurity: {egress: listed, egressTo: [{ipBlock: {cidr: 10.0.0.0/8}}]}",
        "",
    ),
    ("", "workers: {replicas: 2, memory: 1Gi, shm: 1Gi}", ""),
    ("", "workers: {replicas: 2, shm: 2Gi, resources: {limits: {memory: 1Gi}}}", "shm-above-memory"),
    ("", "workers: {replicas: 2, shm: 2Gi, resources: {limits: {cpu: 1, memory: 4Gi}}}", ""),
    ("--target jobset", "lifecycle: {keepWorkers: true}", "target-cannot"),
    ("--target jobset", "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: horovodrun", ""),
    (
        "--target jobset",
        "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 3}}\nlauncher: horovodrun",
        "target-cannot",
    ),
    ("--target jobset", "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 3}}\nlauncher: torchrun", ""),
    // Names that torchrun reserves are allowed with other launchers, and torchrun jobs may set other names.
    ("", "env: {MASTER_ADDR: a}", ""),
    ("", "env: {MASTER_ADDR: a}\nlauncher: torchrun", "reserved-variable"),
    ("", "env: {LR: '1'}\nlauncher: torchrun", ""),
    ("", "env: {HOROVOD_NOTHING_LIKE_IT: '1'}", "unknown-variable"),
    // A field that cannot be read is not checked by its default.
    ("", "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: 3", "wrong-type"),
    // Slurm.
    ("--target slurm", "slurm: {args: [--ti=5]}", ""),
    ("--target slurm", "slurm: {args: [--tim=5]}", "slurm-option"),
    ("--target slurm", "slurm: {srun: {args: [-n4]}}", "slurm-option"),
    ("--target slurm", "workers: {groups: [{name: a, replicas: 2}]}", ""),
    ("--target slurm", "workers: {groups: [{name: a, replicas: 2}, {name: b, replicas: 2}]}", "target-cannot"),
    ("--target slurm", "workers: {replicas: 2, gpuResource: acme.com/npu}", "no-effect"),
    ("--target slurm", "workers: {replicas: 2, gpus: 1, gpuResource: acme.com/npu}", "target-cannot"),
    ("--target slurm", "storage: [{name: a, mountPath: /data, hostPath: {path: /data}}]", ""),
    ("--target slurm", "storage: [{name: a, mountPath: /data, hostPath: {path: /else}}]", "target-cannot"),
    ("--target slurm", "storage: [{name: a, mountPath: /data, hostPath: {path: /data}, subPath: b}]", "target-cannot"),
    ("--target slurm", "placement: {nodeSelector: {a: b}}", "target-cannot"),
    ("--target slurm", "placement: {nodeSelector: {a: b}}\nslurm: {partition: a}", "slurm-ignores"),
    ("--target slurm", "placement: {nodeSelector: {a: b}}\nslurm: {constraint: a}", "slurm-ignores"),
    ("--target slurm", "placement: {nodeSelector: {a: b}}\nslurm: {nodelist: a}", "slurm-ignores"),
];

#[test]
fn values_next_to_each_bound() {
    let mut wrong = Vec::new();
    for (args, spec, code) in NEXT_TO_BOUNDS {
        let found = found(args, "name: mnist", spec);
        if found != [*code] && !(code.is_empty() && found.is_empty()) {
            wrong.push(format!("{args} {spec}: {found:?}, not {code:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn other_fields_are_checked_if_one_cannot_be_read() {
    let found = found(
        "",
        "name: mnist",
        "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: shell\nlifecycle: {retries: x}",
    );
    assert_eq!(found, ["elastic-launcher", "wrong-type"]);
}

#[test]
fn slurm_ignores_labels_and_affinity_of_nodes() {
    for (field, value) in [("nodeSelector", "{a: b}"), ("affinity", "{nodeAffinity: {}}")] {
        let spec = format!("placement: {{{field}: {value}}}\nslurm: {{partition: a}}");
        let message = format!("`placement.{field}` has no effect under Slurm");
        assert_eq!(found_messages("--target slurm", "name: mnist", &spec), [("slurm-ignores", message)]);
    }
}

#[test]
fn only_gitops_marks_warn_of_a_time_to_live() {
    for (label, code) in [
        ("argocd.argoproj.io/instance", &["ttl-under-gitops"][..]),
        ("kustomize.toolkit.fluxcd.io/name", &["ttl-under-gitops"]),
        ("acme.com/team", &[]),
    ] {
        let found = found("", &format!("name: mnist, labels: {{{label}: a}}"), "lifecycle: {ttlAfterFinished: 1h}");
        assert_eq!(found, code, "{label}");
    }
}

/// The longest name that contains the job's name is in a label, which is limited to 63 characters.
#[test]
fn names_are_limited_by_the_longest_derived_name() {
    for (target, spec, made) in [
        // Includes the hash that Kubernetes appends to a StatefulSet's name.
        ("plain", "", "-run123-worker-0123456789"),
        (
            "plain",
            "workers: {groups: [{name: big, replicas: 1}, {name: b, replicas: 1}]}",
            "-run123-worker-big-0123456789",
        ),
        ("plain", "workers: {replicas: 2}\nlauncher: {kind: mpirun, runsIn: firstWorker}", "-run123-01234"),
        ("plain", "workers: {replicas: 100000}\nlauncher: {kind: mpirun, runsIn: firstWorker}", "-run123-99999"),
        (
            "plain",
            "storage: [{name: a-claim-with-a-long-name-of-its-own, mountPath: /data, emptyDir: {}}]",
            "-a-claim-with-a-long-name-of-its-own",
        ),
        ("slurm", "", "-run123-worker-0123456789"),
        ("mpijob", "", "-run123-launcher-01234"),
        ("jobset", "", "-run123-launcher-0-0-01234"),
        ("jobset", "workers: {replicas: 100000}", "-run123-worker-0-99999-01234"),
        (
            "trainjob",
            "workers: {groups: [{name: big, replicas: 1}, {name: b, replicas: 1}]}",
            "-run123-worker-big-0-0-01234",
        ),
        ("volcano", "", "-run123-launcher-0"),
        (
            "jobset",
            "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 100000}}\nlauncher: torchrun",
            "-run123-worker-0-99999-01234",
        ),
        ("volcano", "workers: {replicas: 10001}", "-run123-worker-10000"),
        ("volcano", "workers: {groups: [{name: big, replicas: 1}, {name: b, replicas: 11}]}", "-run123-worker-big-10"),
    ] {
        let too_long = |length: usize| {
            let name = format!("name: {}", "a".repeat(length));
            found(&format!("--target {target}"), &name, spec).contains(&"name-too-long")
        };
        let room = 63 - made.len();
        assert_eq!((too_long(room), too_long(room + 1)), (false, true), "{target} {spec}: room for {room}");
    }
}

/// A size is rejected from the first byte over the limit.
#[test]
fn sizes_are_limited_to_the_printed_number_of_bytes() {
    for (code, limit, spec) in
        [("spec-too-large", 96 << 10, "env: {A: FILL}"), ("code-too-large", 200 << 10, "code: {files: {a.py: FILL}}")]
    {
        let with = |count: usize| found_messages("", "name: mnist", &spec.replace("FILL", &"x".repeat(count)));
        let refused = with(limit);
        let [(found, message)] = &refused[..] else { panic!("{code}: {refused:?}") };
        let bytes = message.split(" has ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let room = 2 * limit - bytes.parse::<usize>().unwrap();
        assert_eq!(*found, code);
        assert_eq!((with(room).len(), with(room + 1).len()), (0, 1), "{code}: {message}");
    }
}

/// For controllers that list all hosts in one ConfigMap, the problem names the maximum number of hosts, which is accepted.
#[test]
fn targets_accept_the_printed_number_of_workers() {
    for target in ["mpijob", "volcano"] {
        let with = |count: usize| {
            found_messages(&format!("--target {target}"), "name: mnist", &format!("workers: {{replicas: {count}}}"))
        };
        let refused = with(100_000);
        let [("target-cannot", message)] = &refused[..] else { panic!("{target}: {refused:?}") };
        let room: usize =
            message.split("about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
        assert_eq!((with(room).len(), with(room + 1).len()), (0, 1), "{target}: {message}");
    }
}
