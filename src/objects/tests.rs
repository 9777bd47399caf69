//! Every object, of plans of every kind, is what Kubernetes' own types hold, without loss; and
//! the promises that a run's life stands on.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::*;
use crate::spec::quantity::Quantity;
use crate::spec::valid::*;

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).expect("a quantity")
}

fn amounts(pairs: &[(&str, &str)]) -> Vec<(String, Quantity)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), quantity(value))).collect()
}

fn group(name: Option<&str>, replicas: u32, gpus: u32) -> Group {
    let wanted = amounts(&[("cpu", "32"), ("memory", "256Gi"), ("nvidia.com/gpu", &gpus.to_string())]);
    Group {
        name: name.map(str::to_owned),
        replicas,
        gpus,
        gpu_resource: "nvidia.com/gpu".into(),
        slots: gpus.max(1),
        resources: Resources { requests: wanted.clone(), limits: wanted },
        rdma: false,
        shm: quantity("64Gi"),
    }
}

/// The smallest job: four workers of eight GPUs.
fn smallest() -> Spec {
    let few = amounts(&[("cpu", "1"), ("memory", "2Gi")]);
    Spec {
        target: Target::Plain,
        name: "mnist".into(),
        namespace: Some("team-a".into()),
        labels: Vec::new(),
        annotations: Vec::new(),
        image: Image { reference: "ghcr.io/acme/mnist:1.4".into(), pull_policy: None, pull_secrets: Vec::new() },
        rerun: None,
        command: vec!["python".into(), "train.py".into()],
        workdir: None,
        env: Vec::new(),
        env_from: Vec::new(),
        code: None,
        groups: vec![group(None, 4, 8)],
        controller: Controller::StatefulSet,
        launcher: Launcher {
            kind: LauncherKind::Mpirun,
            mpi: Mpi::OpenMpi,
            args: Vec::new(),
            runs_ranks: false,
            interactive: false,
            idle_timeout: 7200,
            resources: Resources { requests: few.clone(), limits: few },
            image: None,
            retries: 3,
            wait_timeout: 1800,
        },
        elastic: None,
        ssh: Ssh { port: 2222, secret: None, user: "khorovod".into() },
        collective: Collective::default(),
        storage: Vec::new(),
        placement: Placement { spread: Some("kubernetes.io/hostname".into()), ..Placement::default() },
        scheduling: Scheduling::default(),
        lifecycle: Lifecycle::default(),
        security: Security {
            profile: Profile::Restricted,
            run_as_user: Some(65532),
            fs_group: Some(65532),
            network_policy: true,
            service_account: None,
            read_only_root_filesystem: true,
        },
        observability: Observability::default(),
        slurm: Slurm::default(),
        patches: Vec::new(),
        defaults: Vec::new(),
    }
}

fn spec(change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = smallest();
    change(&mut spec);
    spec
}

fn volume(name: &str, source: VolumeSource) -> Volume {
    let mount_path = format!("/{name}");
    Volume { name: name.into(), mount_path, read_only: false, sub_path: None, source }
}

fn claim() -> Claim {
    Claim { size: quantity("1Ti"), storage_class: Some("fast".into()), access_modes: vec!["ReadWriteMany"] }
}

/// Storage of every kind.
fn storage() -> Vec<Volume> {
    let s3 = S3 {
        endpoint: None,
        bucket: "b".into(),
        prefix: String::new(),
        region: "eu-west-1".into(),
        secret: Some("s3-keys".into()),
        download: true,
        upload: true,
        size: Some(quantity("10Gi")),
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
        volume("node", VolumeSource::HostPath("/mnt/nvme".into())),
        volume("scratch", VolumeSource::EmptyDir { size: Some(quantity("50Gi")) }),
        volume("tmp", VolumeSource::EmptyDir { size: None }),
    ]
}

/// Everything a spec can ask for that does not depend on the shape.
fn everything(spec: &mut Spec) {
    spec.labels = vec![("team".into(), "a".into()), ("on".into(), "yes".into())];
    spec.annotations = vec![("note".into(), "x: y".into())];
    spec.image.pull_policy = Some("Always");
    spec.image.pull_secrets = vec!["registry".into()];
    spec.workdir = Some("/workspace".into());
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
    spec.scheduling.scheduler = Some("other".into());
    spec.lifecycle.deadline = Some(86400);
    spec.lifecycle.ttl_after_finished = Some(3600);
    spec.observability.tensorboard = Some("/results/tb".into());
    spec.observability.metrics = Some(Metrics { port: 9400, pod_monitor: true });
}

/// Plans of every shape, profile, scheduler and way to end, each with a name for messages.
fn variants() -> Vec<(&'static str, Spec)> {
    let indexed = |change: fn(&mut Spec)| {
        spec(|spec| {
            spec.controller = Controller::Job;
            change(spec);
        })
    };
    let profile = |profile, user, fs_group| {
        spec(|spec| spec.security = Security { profile, run_as_user: user, fs_group, ..spec.security.clone() })
    };
    vec![
        ("smallest", smallest()),
        ("everything", spec(everything)),
        ("everything indexed", indexed(everything)),
        ("torchrun", indexed(|spec| spec.launcher.kind = LauncherKind::Torchrun)),
        ("groups", spec(|spec| spec.groups = vec![group(Some("big"), 2, 8), group(Some("small"), 3, 1)])),
        (
            "runs ranks",
            spec(|spec| {
                spec.launcher.runs_ranks = true;
                spec.storage = storage();
            }),
        ),
        ("keep", spec(|spec| spec.lifecycle.keep = true)),
        ("their account", spec(|spec| spec.security.service_account = Some("trainer".into()))),
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
                let (min_workers, max_workers) = (2, 4);
                spec.elastic =
                    Some(Elastic { min_workers, max_workers, cooldown: None, timeout: 600, reset_limit: None });
            }),
        ),
        (
            "volcano",
            indexed(|spec| {
                spec.scheduling.gang = Some(Gang::Volcano);
                spec.scheduling.queue = Some("q".into());
                spec.scheduling.scheduler = Some("volcano".into());
            }),
        ),
        ("coscheduling", indexed(|spec| spec.scheduling.gang = Some(Gang::Coscheduling))),
        ("kueue", indexed(|spec| spec.scheduling.kueue = Some("local".into()))),
        ("suspend", indexed(|spec| spec.scheduling.suspend = true)),
        ("openshift", profile(Profile::OpenShift, None, None)),
        ("baseline", profile(Profile::Baseline, Some(1000), Some(2000))),
        ("baseline root", profile(Profile::Baseline, Some(0), None)),
        (
            "privileged",
            spec(|spec| {
                spec.security.profile = Profile::Privileged;
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

const FILES: &[File] =
    &[file("job.sh", "job='mnist'\n"), file("passwd", "x:x:1:1::/tmp:/bin/bash\n"), file("worker.sh", "#!/bin/bash\n")];

const fn file(name: &'static str, text: &'static str) -> File {
    File { name, text: std::borrow::Cow::Borrowed(text) }
}

fn keys() -> Vec<(&'static str, String)> {
    crate::runtime::keys::ENTRIES.map(|name| (name, "bWFza2Vk".to_owned())).into()
}

/// All objects of a spec as JSON.
fn objects(spec: Spec) -> Vec<Json> {
    let mut plan = Plan::new(spec);
    let run = run_name(&plan, FILES, workloads(&plan, FILES));
    plan.name_run(run);
    build(&plan, FILES, &keys(), workloads(&plan, FILES)).iter().map(json).collect()
}

fn find<'o>(objects: &'o [Json], kind: &str) -> &'o Json {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

fn run_of(spec: Spec) -> String {
    let plan = Plan::new(spec);
    run_name(&plan, FILES, workloads(&plan, FILES))
}

/// What Kubernetes' type makes of an object is the object.
fn holds<T: DeserializeOwned + Serialize>(object: &Json) {
    let typed: T = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}\n{object:#}"));
    same(object, &json(&typed));
}

/// Fails at the innermost place where two values differ.
#[track_caller]
fn same(ours: &Json, theirs: &Json) {
    match (ours, theirs) {
        (Json::Object(one), Json::Object(other)) if one.keys().all(|key| other.contains_key(key)) => {
            assert!(one.len() == other.len(), "something came up: {theirs:#}\n{ours:#}");
            one.iter().for_each(|(key, value)| same(value, &other[key]));
        }
        (Json::Array(one), Json::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).for_each(|(one, other)| same(one, other));
        }
        _ => assert!(ours == theirs, "lost or changed: {ours:#}\n{theirs:#}"),
    }
}

#[test]
fn every_object_is_what_kubernetes_reads() {
    for (name, spec) in variants() {
        println!("{name}");
        for object in objects(spec) {
            match object["kind"].as_str().unwrap_or_default() {
                "NetworkPolicy" => holds::<NetworkPolicy>(&object),
                "ServiceAccount" => holds::<ServiceAccount>(&object),
                "Role" => holds::<Role>(&object),
                "RoleBinding" => holds::<RoleBinding>(&object),
                "Secret" => holds::<Secret>(&object),
                "PersistentVolume" => holds::<PersistentVolume>(&object),
                "PersistentVolumeClaim" => holds::<PersistentVolumeClaim>(&object),
                "ConfigMap" => holds::<ConfigMap>(&object),
                "Service" => holds::<Service>(&object),
                "StatefulSet" => holds::<StatefulSet>(&object),
                "Job" => holds::<Job>(&object),
                "PodGroup" | "PodMonitor" => {}
                other => panic!("an unexpected {other}"),
            }
        }
    }
}

#[test]
fn the_text_of_every_object_means_the_object() {
    for (name, spec) in variants() {
        let mut plan = Plan::new(spec);
        plan.name_run("bcdfgh".into());
        for object in build(&plan, FILES, &keys(), workloads(&plan, FILES)) {
            let mut text = String::new();
            to_yaml(&object, &mut text);
            let read: Json = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            same(&json(&object), &read);
        }
    }
}

#[test]
fn no_mount_lacks_its_volume_and_no_name_comes_twice() {
    for (name, spec) in variants().into_iter().filter(|(name, _)| *name != "patched") {
        let objects = objects(spec);
        let mut seen = std::collections::HashSet::new();
        for object in &objects {
            let key = format!("{}/{}", object["kind"], object["metadata"]["name"]);
            assert!(seen.insert(key.clone()), "{name}: {key} comes twice");
            let Some(pod) = object.pointer("/spec/template/spec") else { continue };
            let names = |list: &Json, field: &str| -> Vec<String> {
                let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
                list.iter()
                    .map(|item| item.pointer(field).and_then(Json::as_str).unwrap_or_default().to_owned())
                    .collect()
            };
            let mut volumes = names(&pod["volumes"], "/name");
            volumes.extend(names(&object["spec"]["volumeClaimTemplates"], "/metadata/name"));
            let mounts = &pod["containers"][0]["volumeMounts"];
            for volume in names(mounts, "/name") {
                assert!(volumes.contains(&volume), "{name}: {volume} is mounted but not there");
            }
            let mut paths = names(mounts, "/mountPath");
            for list in [&mut volumes, &mut paths] {
                let all = list.len();
                list.sort();
                list.dedup();
                assert_eq!(list.len(), all, "{name}: {list:?}");
            }
        }
    }
}

#[test]
fn objects_come_in_install_order() {
    let kinds: Vec<String> =
        objects(spec(everything)).iter().filter_map(|object| object["kind"].as_str().map(str::to_owned)).collect();
    assert_eq!(
        kinds.join(" "),
        "NetworkPolicy ServiceAccount Secret PersistentVolume PersistentVolumeClaim PersistentVolumeClaim ConfigMap \
         Service ConfigMap ConfigMap Role RoleBinding StatefulSet Job PodMonitor"
    );
}

#[test]
fn selectors_find_the_pods_of_their_own_workload_alone() {
    let objects = objects(spec(|spec| spec.groups = vec![group(Some("big"), 2, 8), group(Some("small"), 3, 1)]));
    let sets: Vec<_> = objects.iter().filter(|object| object["kind"] == "StatefulSet").collect();
    let fits = |selector: &Json, labels: &Json| {
        selector.as_object().is_some_and(|map| map.iter().all(|(key, value)| labels[key] == *value))
    };
    for (at, set) in sets.iter().enumerate() {
        for (other, target) in sets.iter().enumerate() {
            let labels = &target["spec"]["template"]["metadata"]["labels"];
            assert_eq!(fits(&set["spec"]["selector"]["matchLabels"], labels), at == other);
        }
    }
}

#[test]
fn a_change_that_ranks_can_see_starts_a_new_run_and_no_other_does() {
    let base = run_of(smallest());
    let same: [fn(&mut Spec); 8] = [
        |spec| spec.labels = vec![("team".into(), "b".into())],
        |spec| spec.annotations = vec![("a".into(), "b".into())],
        |spec| spec.lifecycle.deadline = Some(60),
        |spec| spec.lifecycle.ttl_after_finished = Some(60),
        |spec| spec.launcher.retries = 9,
        |spec| spec.launcher.wait_timeout = 9,
        |spec| spec.security.network_policy = false,
        |spec| spec.observability.metrics = None,
    ];
    for (index, change) in same.into_iter().enumerate() {
        assert_eq!(run_of(spec(change)), base, "change {index} needs no new run");
    }
    let other: [fn(&mut Spec); 8] = [
        |spec| spec.rerun = Some("2".into()),
        |spec| spec.image.reference = "ghcr.io/acme/mnist:1.5".into(),
        |spec| spec.env.push(EnvVar { name: "A".into(), value: EnvValue::Text("b".into()) }),
        |spec| spec.groups[0].resources.limits[0].1 = quantity("16"),
        |spec| spec.storage.push(volume("results", VolumeSource::PerWorker(claim()))),
        |spec| spec.controller = Controller::Job,
        |spec| spec.observability.metrics = Some(Metrics { port: 1, pod_monitor: false }),
        |spec| {
            let patch = json!({"spec": {"template": {"spec": {"priority": 5}}}});
            spec.patches.push(Patch { kind: Some("Job".into()), name: Some("mnist-*".into()), patch });
        },
    ];
    for (index, change) in other.into_iter().enumerate() {
        assert_ne!(run_of(spec(change)), base, "change {index} needs a new run");
    }
    let (plan, files) = (Plan::new(smallest()), [file("job.sh", "other")]);
    assert_ne!(run_name(&plan, &files, workloads(&plan, &files)), base);
    assert!(base.len() == 6 && base.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte)));
    // Claims of workers cannot grow in place.
    let sized = |size| {
        spec(|spec| spec.storage.push(volume("r", VolumeSource::PerWorker(Claim { size: quantity(size), ..claim() }))))
    };
    assert_ne!(run_of(sized("1Gi")), run_of(sized("2Gi")));
    // A deadline changes in place in the Job shape too, and under a patch.
    let patched = |deadline| {
        spec(|spec| {
            spec.controller = Controller::Job;
            spec.lifecycle.deadline = deadline;
            spec.patches.push(Patch { kind: None, name: None, patch: json!({"spec": {"backoffLimit": 7}}) });
        })
    };
    assert_eq!(run_of(patched(Some(60))), run_of(patched(None)));
}

#[test]
fn scale_belongs_to_the_launcher_unless_kept() {
    let objects_ = objects(smallest());
    let set = find(&objects_, "StatefulSet");
    assert!(set["spec"].get("replicas").is_none());
    assert_eq!(set["metadata"]["annotations"]["khorovod.dev/replicas"], "4");
    let launcher = find(&objects_, "Job")["metadata"]["name"].clone();
    assert_eq!(
        find(&objects_, "Role")["rules"],
        json!([
            {"apiGroups": ["apps"], "resources": ["statefulsets/scale"],
            "resourceNames": [set["metadata"]["name"]], "verbs": ["get", "patch"]},
            {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": [launcher], "verbs": ["get"]},
            {"apiGroups": [""], "resources": ["endpoints"],
            "resourceNames": [find(&objects_, "Service")["metadata"]["name"]], "verbs": ["get"]},
        ])
    );
    let pod = |objects: &[Json], kind| find(objects, kind)["spec"]["template"]["spec"].clone();
    assert_eq!(pod(&objects_, "Job")["automountServiceAccountToken"], true);
    assert_eq!(pod(&objects_, "StatefulSet")["automountServiceAccountToken"], false);

    let kept = objects(spec(|spec| spec.lifecycle.keep = true));
    assert_eq!(find(&kept, "StatefulSet")["spec"]["replicas"], 4);
    assert_eq!(pod(&kept, "Job")["automountServiceAccountToken"], false);
    for kind in ["Role", "RoleBinding", "ServiceAccount"] {
        assert!(kept.iter().all(|object| object["kind"] != kind), "{kind}");
    }
}

#[test]
fn each_part_sees_its_own_keys_alone() {
    let items = |objects: &[Json], kind: &str| -> Vec<String> {
        let volumes = find(objects, kind)["spec"]["template"]["spec"]["volumes"].clone();
        let volume =
            volumes.as_array().and_then(|all| all.iter().find(|volume| volume["name"] == "khorovod-keys").cloned());
        let items = volume.map(|volume| volume["secret"]["items"].clone()).unwrap_or_default();
        items.as_array().into_iter().flatten().filter_map(|item| item["key"].as_str().map(str::to_owned)).collect()
    };
    let plain = objects(smallest());
    assert_eq!(items(&plain, "StatefulSet"), ["host_key", "authorized_keys"]);
    assert_eq!(items(&plain, "Job"), ["id_ed25519", "known_hosts"]);
    let indexed = objects(spec(|spec| spec.controller = Controller::Job));
    assert_eq!(items(&indexed, "Job"), ["id_ed25519", "known_hosts", "host_key", "authorized_keys"]);
    let torchrun = objects(spec(|spec| spec.launcher.kind = LauncherKind::Torchrun));
    assert!(items(&torchrun, "Job").is_empty());
}

/// The rules of Pod Security's restricted level that a pod of ours could break.
#[test]
fn restricted_pods_meet_the_restricted_level() {
    const VOLUMES: [&str; 5] = ["configMap", "emptyDir", "projected", "secret", "persistentVolumeClaim"];
    let allowed = |objects: Vec<Json>| {
        for pod in objects.iter().filter_map(|object| object.pointer("/spec/template/spec")) {
            let container = &pod["containers"][0]["securityContext"];
            assert_eq!(container["allowPrivilegeEscalation"], false);
            assert_eq!(container["capabilities"], json!({"drop": ["ALL"]}));
            assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
            assert_ne!(pod["securityContext"]["runAsUser"], 0);
            assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
            for volume in pod["volumes"].as_array().into_iter().flatten() {
                assert!(VOLUMES.iter().any(|kind| volume.get(kind).is_some()), "{volume}");
            }
        }
    };
    allowed(objects(smallest()));
    allowed(objects(spec(|spec| spec.controller = Controller::Job)));
    allowed(objects(spec(|spec| spec.launcher.kind = LauncherKind::Torchrun)));
    allowed(objects(spec(|spec| {
        spec.launcher.runs_ranks = true;
        spec.storage = storage();
        spec.storage.retain(|volume| !matches!(volume.source, VolumeSource::Nfs { .. } | VolumeSource::HostPath(_)));
    })));
}

#[test]
fn the_users_environment_wins() {
    let objects = objects(spec(|spec| {
        let text = |name: &str| EnvVar { name: name.into(), value: EnvValue::Text("theirs".into()) };
        spec.env = vec![text("NVIDIA_VISIBLE_DEVICES"), text("OMPI_MCA_plm_rsh_agent")];
    }));
    for kind in ["StatefulSet", "Job"] {
        let env = find(&objects, kind)["spec"]["template"]["spec"]["containers"][0]["env"].clone();
        for name in ["NVIDIA_VISIBLE_DEVICES", "OMPI_MCA_plm_rsh_agent"] {
            let values: Vec<_> = env.as_array().into_iter().flatten().filter(|var| var["name"] == name).collect();
            assert_eq!(values, [&json!({"name": name, "value": "theirs"})], "{kind}");
        }
    }
}

#[test]
fn patches_merge_by_kind_and_name() {
    let patch = |kind: Option<&str>, name: Option<&str>| Patch {
        kind: kind.map(str::to_owned),
        name: name.map(str::to_owned),
        patch: Json::Null,
    };
    for (pattern, name, fits) in [
        ("*", "a", true),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("a*c", "abc", true),
        ("a*b*c", "axbxc", true),
        ("a*b*c", "axc", false),
        ("ab", "abc", false),
        ("*-worker", "a-worker-b", false),
        ("a*a", "a", false),
        ("", "a", false),
        ("**", "", true),
        ("a**", "a", true),
    ] {
        assert_eq!(patch::concerns(&patch(None, Some(pattern)), "Job", name), fits, "{pattern} {name}");
    }
    assert!(!patch::concerns(&patch(Some("Job"), None), "StatefulSet", "a"));

    // The examples of RFC 7386, and the order of keys.
    for (mut target, patch, result) in [
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
        (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
    ] {
        patch::merge(&mut target, &patch);
        assert_eq!(target, result);
    }
    let mut target = json!({"a": 1, "b": 2, "c": 3, "d": 4});
    patch::merge(&mut target, &json!({"b": null, "e": 5, "c": 6}));
    assert_eq!(target.to_string(), r#"{"a":1,"c":6,"d":4,"e":5}"#);

    let objects = objects(spec(|spec| {
        let patch = json!({"metadata": {"labels": {"x": "y"}}, "spec": {"clusterIP": null}});
        spec.patches = vec![Patch { kind: Some("Service".into()), name: Some("mni*".into()), patch }];
    }));
    let service = find(&objects, "Service");
    assert_eq!(service["metadata"]["labels"]["x"], "y");
    assert!(service["spec"].get("clusterIP").is_none());
    assert_eq!(service["spec"]["selector"][meta::JOB], "mnist");
}

#[test]
fn claims_outlive_the_job() {
    let objects = objects(spec(everything));
    let lasting = ["PersistentVolume", "PersistentVolumeClaim"];
    for object in objects.iter().filter(|object| lasting.iter().any(|kind| object["kind"] == *kind)) {
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(annotations["helm.sh/resource-policy"], "keep");
        assert_eq!(annotations["argocd.argoproj.io/sync-options"], "Prune=false,Delete=false");
        assert_eq!(annotations["kustomize.toolkit.fluxcd.io/prune"], "disabled");
    }
    let volume = find(&objects, "PersistentVolume");
    let claim =
        objects.iter().find(|object| object["spec"]["volumeName"] == volume["metadata"]["name"]).expect("its claim");
    assert_eq!(volume["spec"]["claimRef"]["name"], claim["metadata"]["name"]);
    assert_eq!((&volume["spec"]["storageClassName"], &claim["spec"]["storageClassName"]), (&json!(""), &json!("")));
}

#[test]
fn applying_again_never_suspends_what_kueue_admitted() {
    let objects = objects(spec(|spec| {
        spec.controller = Controller::Job;
        spec.scheduling.kueue = Some("local".into());
    }));
    let job = find(&objects, "Job");
    assert_eq!(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "local");
    assert!(job["spec"].get("suspend").is_none());
}
