//! Specs for unit tests: the smallest, one with every field, and one for each shape, Pod Security level and scheduler.

use serde_json::json;

use super::quantity::Quantity;
use super::valid::*;

pub fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).expect("a quantity")
}

pub fn amounts(pairs: &[(&str, &str)]) -> Vec<(String, Quantity)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), quantity(value))).collect()
}

pub fn group(name: Option<&str>, replicas: u32, gpus: u32) -> Group {
    let wanted = amounts(&[("cpu", "32"), ("memory", "256Gi"), ("nvidia.com/gpu", &gpus.to_string())]);
    Group {
        name: name.map(str::to_owned),
        replicas,
        spares: 0,
        gpus,
        gpu_resource: "nvidia.com/gpu".into(),
        slots: gpus.max(1),
        resources: Resources { requests: wanted.clone(), limits: wanted },
        rdma: false,
        claims: Vec::new(),
        gpu_claim: None,
        shm: quantity("64Gi"),
    }
}

/// The smallest job: four workers of eight GPUs.
pub fn smallest() -> Spec {
    let few = amounts(&[("cpu", "1"), ("memory", "2Gi")]);
    Spec {
        target: crate::targets::PLAIN.facts(),
        name: "mnist".into(),
        namespace: Some("team-a".into()),
        labels: Vec::new(),
        annotations: Vec::new(),
        image: Image { reference: "ghcr.io/acme/mnist:1.4".into(), pull_policy: None, pull_secrets: Vec::new() },
        run_tag: None,
        command: vec!["python".into(), "train.py".into()],
        working_dir: None,
        env: Vec::new(),
        env_from: Vec::new(),
        code: None,
        groups: vec![group(None, 4, 8)],
        health_check: HealthCheck { policy: HealthPolicy::OnFailure, command: Vec::new(), timeout: 30 },
        launcher: Launcher {
            kind: LauncherKind::Mpirun,
            mpi: Mpi::OpenMpi,
            args: Vec::new(),
            runs_in: LauncherPod::Own,
            runs_ranks: false,
            program: None,
            interactive: false,
            idle_timeout: 7200,
            resources: Resources { requests: few.clone(), limits: few },
            image: None,
            lost_timeout: 900,
        },
        compute_domain: None,
        elastic: None,
        ssh: Ssh { port: 2222, secret: None, user: "khorovod".into() },
        collective: Collective::default(),
        storage: Vec::new(),
        placement: Placement { spread: Some("kubernetes.io/hostname".into()), ..Placement::default() },
        scheduling: Scheduling::default(),
        lifecycle: Lifecycle {
            start_timeout: 1800,
            retries: 3,
            retries_reset_after: Some(3600),
            ..Lifecycle::default()
        },
        security: Security {
            pod_security_level: PodSecurityLevel::Restricted,
            run_as_user: Some(65532),
            fs_group: Some(65532),
            network_policy: true,
            api_access: true,
            egress: Egress::Open,
            egress_to: Vec::new(),
            service_account: None,
            worker_account: None,
            read_only_root_filesystem: true,
        },
        observability: Observability::default(),
        slurm: Slurm::default(),
        patches: Vec::new(),
        defaults: Vec::new(),
    }
}

pub fn spec(change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = smallest();
    change(&mut spec);
    spec
}

pub fn volume(name: &str, source: VolumeSource) -> Volume {
    let mount_path = format!("/{name}");
    Volume { name: name.into(), mount_path, read_only: false, sub_path: None, source }
}

pub fn claim() -> Claim {
    Claim { size: quantity("1Ti"), storage_class: Some("fast".into()), access_modes: vec!["ReadWriteMany"] }
}

/// Storage of every kind.
pub fn storage() -> Vec<Volume> {
    let s3 = S3 {
        endpoint: None,
        bucket: "b".into(),
        prefix: String::new(),
        region: "eu-west-1".into(),
        secret: Some("s3-keys".into()),
        download: true,
        upload: true,
        upload_interval: 600,
        size: Some(quantity("10Gi")),
    };
    let model = Download {
        source: DownloadSource::HuggingFace {
            repository: "a/b".into(),
            revision: "0123456789012345678901234567890123456789".into(),
            files: vec!["*.json".into()],
        },
        secret: Some("hf-token".into()),
        size: None,
    };
    let archive = Download {
        source: DownloadSource::Url { url: "https://example.org/a.zip".into(), sha256: None, unpacks: true },
        secret: None,
        size: Some(quantity("1Gi")),
    };
    let nfs = json!({"nfs": {"server": "10.0.0.1", "path": "/x"}, "mountOptions": ["nfsvers=4.1"]});
    vec![
        volume("data", VolumeSource::Claim(claim())),
        Volume {
            read_only: true,
            sub_path: Some("x".into()),
            ..volume("shared", VolumeSource::ExistingClaim("nfs".into()))
        },
        volume("results", VolumeSource::PerWorker(claim())),
        volume("nfs", VolumeSource::Nfs { server: "10.0.0.1".into(), path: "/x".into() }),
        volume("disk", VolumeSource::PersistentVolume { source: nfs, claim: Claim { storage_class: None, ..claim() } }),
        volume("set", VolumeSource::S3(s3)),
        volume("model", VolumeSource::Download(model)),
        volume("archive", VolumeSource::Download(archive)),
        volume("node", VolumeSource::HostPath("/mnt/nvme".into())),
        volume("scratch", VolumeSource::EmptyDir { size: Some(quantity("50Gi")) }),
        volume("tmp", VolumeSource::EmptyDir { size: None }),
    ]
}

/// Sets every field that does not depend on the shape.
pub fn everything(spec: &mut Spec) {
    spec.labels = vec![("team".into(), "a".into()), ("on".into(), "yes".into())];
    spec.annotations = vec![("note".into(), "x: y".into())];
    spec.image.pull_policy = Some("Always");
    spec.image.pull_secrets = vec!["registry".into()];
    spec.working_dir = Some("/workspace".into());
    let var = |name: &str, value| EnvVar { name: name.into(), value };
    spec.env = vec![
        var("LR", EnvValue::Text("0.1".into())),
        var("TOKEN", EnvValue::Secret { name: "hf".into(), key: "token".into() }),
        var("CFG", EnvValue::ConfigMap { name: "c".into(), key: "k".into() }),
        var("NODE", EnvValue::Field("spec.nodeName".into())),
    ];
    spec.env_from = vec![
        EnvFrom { prefix: Some("A_".into()), source: EnvFromSource::Secret("s".into()), optional: true },
        EnvFrom { prefix: None, source: EnvFromSource::ConfigMap("c".into()), optional: false },
    ];
    let files = vec![("train.py".to_owned(), "print(1)\n".to_owned())];
    spec.code = Some(Code { mount_path: "/workspace".into(), source: CodeSource::Files(files) });
    spec.storage = storage();
    spec.placement.node_selector = vec![("pool".into(), "gpu".into())];
    spec.placement.tolerations = vec![json!({"key": "nvidia.com/gpu", "operator": "Exists"})];
    spec.placement.affinity = Some(json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}}));
    spec.placement.pack = Some("topology.kubernetes.io/rack".into());
    spec.placement.priority_class = Some("high".into());
    spec.placement.runtime_class = Some("nvidia".into());
    spec.placement.host_network = true;
    spec.scheduling.scheduler_name = Some("other".into());
    spec.lifecycle.deadline = Some(86400);
    spec.lifecycle.ttl_after_finished = Some(3600);
    spec.lifecycle.stall = Some(Stall {
        timeout: 1200,
        file: Some("/results/progress".into()),
        metric: Some("training_steps_total".into()),
        retries: true,
        evidence: Some("/results/stalls".into()),
    });
    spec.observability.tensorboard_logdir = Some("/results/tb".into());
    spec.observability.progress = Some(Progress::File("/results/progress".into()));
    spec.observability.events = true;
    spec.observability.launcher_metrics = Some(Metrics { port: 9401, pod_monitor: true, from: None });
    spec.observability.metrics = Some(Metrics {
        port: 9400,
        pod_monitor: true,
        from: Some(vec![json!({"namespaceSelector": {"matchLabels": {"team": "sre"}}})]),
    });
}

/// Sets claims of each kind, and a ComputeDomain.
pub fn claims(spec: &mut Spec) {
    let devices = json!({"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 8}}]});
    let claim = |name: &str, source| ResourceClaim { name: name.into(), source };
    spec.groups[0].claims = vec![
        claim("gpus", ClaimSource::Devices(devices)),
        claim("nics", ClaimSource::Template("rdma-nics".into())),
        claim("switch", ClaimSource::Existing("shared-switch".into())),
    ];
    spec.groups[0].gpu_claim = Some("gpus".into());
    spec.compute_domain = Some("Single");
}

/// Specs of every shape, Pod Security level, scheduler and way to end, each with a name for failure messages.
pub fn variants() -> Vec<(&'static str, Spec)> {
    let indexed = |change: fn(&mut Spec)| {
        spec(|spec| {
            spec.launcher.runs_in = LauncherPod::FirstWorker;
            change(spec);
        })
    };
    let level = |pod_security_level, user, fs_group| {
        spec(|spec| {
            spec.security = Security { pod_security_level, run_as_user: user, fs_group, ..spec.security.clone() }
        })
    };
    vec![
        ("smallest", smallest()),
        ("everything", spec(everything)),
        ("everything indexed", indexed(everything)),
        ("torchrun", indexed(|spec| spec.launcher.kind = LauncherKind::Torchrun)),
        ("jax", indexed(|spec| spec.launcher.kind = LauncherKind::Jax)),
        ("tensorflow", indexed(|spec| spec.launcher.kind = LauncherKind::Tensorflow)),
        ("groups", spec(|spec| spec.groups = vec![group(Some("big"), 2, 8), group(Some("small"), 3, 1)])),
        ("spares", spec(|spec| spec.groups[0].spares = 2)),
        (
            "runs ranks",
            spec(|spec| {
                spec.launcher.runs_ranks = true;
                spec.storage = storage();
            }),
        ),
        ("keep", spec(|spec| spec.lifecycle.keep_workers = true)),
        ("their account", spec(|spec| spec.security.service_account = Some("trainer".into()))),
        ("worker account", spec(|spec| spec.security.worker_account = Some("reads-data".into()))),
        ("no metadata", spec(|spec| spec.security.egress = Egress::NoMetadata)),
        ("private", spec(|spec| spec.security.egress = Egress::Private)),
        ("their keys", spec(|spec| spec.ssh.secret = Some("my-keys".into()))),
        (
            "no namespace or policy",
            spec(|spec| {
                spec.namespace = None;
                spec.security.network_policy = false;
                spec.storage = storage();
            }),
        ),
        (
            "elastic",
            spec(|spec| {
                spec.launcher.kind = LauncherKind::Horovodrun;
                let (min_replicas, max_replicas) = (2, 4);
                spec.elastic =
                    Some(Elastic { min_replicas, max_replicas, cooldown: None, timeout: 600, reset_limit: None });
            }),
        ),
        (
            "volcano",
            indexed(|spec| {
                spec.scheduling.gang = Some(Gang::Volcano);
                spec.scheduling.volcano_queue = Some("q".into());
                spec.scheduling.scheduler_name = Some("volcano".into());
            }),
        ),
        ("coscheduling", indexed(|spec| spec.scheduling.gang = Some(Gang::Coscheduling))),
        ("kueue", indexed(|spec| spec.scheduling.local_queue = Some("local".into()))),
        (
            "topology",
            spec(|spec| {
                spec.placement.topology = Some(Topology { required: Some(Level::new("rack")), ..Topology::default() });
            }),
        ),
        ("claims", spec(claims)),
        ("claims indexed", indexed(claims)),
        (
            "rank order",
            spec(|spec| {
                let rank_order = Some(RankOrder::Levels(vec![Level::new("rack")]));
                spec.placement.topology = Some(Topology { rank_order, ..Topology::default() });
            }),
        ),
        ("no access", indexed(|spec| spec.security.api_access = false)),
        ("suspend", indexed(|spec| spec.scheduling.suspend = true)),
        ("openshift", level(PodSecurityLevel::OpenShift, None, None)),
        ("baseline", level(PodSecurityLevel::Baseline, Some(1000), Some(2000))),
        ("baseline root", level(PodSecurityLevel::Baseline, Some(0), None)),
        (
            "privileged",
            spec(|spec| {
                spec.security.pod_security_level = PodSecurityLevel::Privileged;
                spec.security.run_as_user = Some(0);
                spec.groups[0].rdma = true;
            }),
        ),
        (
            "patched",
            spec(|spec| {
                let patch = |kind: &str, patch| Patch { kind: Some(kind.into()), name: None, patch };
                spec.patches = vec![
                    patch("StatefulSet", json!({"spec": {"template": {"spec": {"priority": 5, "volumes": null}}}})),
                    patch("Service", json!({"metadata": {"annotations": {"a": "b"}}})),
                ];
            }),
        ),
    ]
}
