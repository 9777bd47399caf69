//! Checks that Kubernetes' own types can represent every object of every kind of plan without loss, and checks the guarantees for
//! runs: what starts a new run, what changes in place, and what remains when a job is deleted.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolume, PersistentVolumeClaim, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::resource::v1::ResourceClaimTemplate;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::*;
use crate::job::fixtures::*;
use crate::job::valid::*;
use crate::plan::run_name;
use crate::pods::Content;
use crate::yaml::writer::{Literal, to_yaml};

const FILES: &[File] = &[
    file("job.sh", "|\n    job='mnist'\n"),
    file("passwd", "|\n    x:x:1:1::/tmp:/bin/bash\n"),
    file("worker.sh", "|\n    #!/bin/bash\n"),
];

const fn file(name: &'static str, block: &'static str) -> File {
    File { name, content: Content::Static(Literal::from_block(block)) }
}

fn keys() -> Vec<(&'static str, String)> {
    crate::pods::keys::ENTRIES.map(|name| (name, "bWFza2Vk".to_owned())).into()
}

/// All objects of a spec as JSON.
fn objects(spec: Spec) -> Vec<Json> {
    let run = run_of(&spec);
    let plan = Plan::new(spec, run);
    build(&plan, FILES, &keys(), workloads(&plan, FILES)).iter().map(json).collect()
}

fn find<'o>(objects: &'o [Json], kind: &str) -> &'o Json {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

fn run_of(spec: &Spec) -> String {
    run_name(spec, crate::pods::REVISION)
}

/// Deserializes an object into a Kubernetes type, and checks that serializing gives the same object.
fn round_trips<T: DeserializeOwned + Serialize>(object: &Json) {
    let typed: T = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}\n{object:#}"));
    assert_equal(object, &json(&typed));
}

/// Fails with the innermost values that differ.
#[track_caller]
fn assert_equal(ours: &Json, theirs: &Json) {
    match (ours, theirs) {
        (Json::Object(one), Json::Object(other)) if one.keys().all(|key| other.contains_key(key)) => {
            assert!(one.len() == other.len(), "a field was added: {theirs:#}\n{ours:#}");
            one.iter().for_each(|(key, value)| assert_equal(value, &other[key]));
        }
        (Json::Array(one), Json::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).for_each(|(one, other)| assert_equal(one, other));
        }
        _ => assert!(ours == theirs, "a field was lost or changed: {ours:#}\n{theirs:#}"),
    }
}

#[test]
fn every_object_round_trips_through_the_types_of_kubernetes() {
    for (name, spec) in variants() {
        println!("{name}");
        for object in objects(spec) {
            match object["kind"].as_str().unwrap_or_default() {
                "NetworkPolicy" => round_trips::<NetworkPolicy>(&object),
                "ServiceAccount" => round_trips::<ServiceAccount>(&object),
                "Role" => round_trips::<Role>(&object),
                "RoleBinding" => round_trips::<RoleBinding>(&object),
                "ClusterRole" => round_trips::<ClusterRole>(&object),
                "ClusterRoleBinding" => round_trips::<ClusterRoleBinding>(&object),
                "Secret" => round_trips::<Secret>(&object),
                "PersistentVolume" => round_trips::<PersistentVolume>(&object),
                "PersistentVolumeClaim" => round_trips::<PersistentVolumeClaim>(&object),
                "ConfigMap" => round_trips::<ConfigMap>(&object),
                "Service" => round_trips::<Service>(&object),
                "StatefulSet" => round_trips::<StatefulSet>(&object),
                "Job" => round_trips::<Job>(&object),
                "ResourceClaimTemplate" => round_trips::<ResourceClaimTemplate>(&object),
                "PodGroup" | "PodMonitor" | "ComputeDomain" => {}
                other => panic!("an unexpected {other}"),
            }
        }
    }
}

/// The expected fields are written out here, as in Kubernetes 1.36 and 1.37, because k8s-openapi does not have these types.
#[test]
fn a_native_gang_is_a_pod_group_of_the_version_of_the_cluster() {
    for (minor, version) in [(36, "scheduling.k8s.io/v1alpha2"), (37, "scheduling.k8s.io/v1beta1")] {
        for (least, count) in [(None, 4), (Some(2), 2)] {
            let objects = objects(spec(|spec| {
                spec.launcher.kind = LauncherKind::Torchrun;
                spec.launcher.runs_in = LauncherPod::FirstWorker;
                spec.groups[0].replicas = 4;
                spec.scheduling.gang = Some(Gang::Native);
                spec.scheduling.kube_version = crate::job::KubeVersion::new(minor);
                spec.elastic = least.map(|min_replicas| Elastic {
                    min_replicas,
                    max_replicas: 4,
                    cooldown: None,
                    timeout: 600,
                    reset_limit: None,
                });
            }));
            let group = find(&objects, "PodGroup");
            assert_eq!(group["apiVersion"], version);
            assert_eq!(group["spec"], json!({"schedulingPolicy": {"gang": {"minCount": count}}}));
            let pod = &find(&objects, "Job")["spec"]["template"]["spec"];
            assert_eq!(pod["schedulingGroup"], json!({"podGroupName": group["metadata"]["name"]}));
            assert!(pod.get("schedulerName").is_none());
        }
    }
}

/// The workers of a StatefulSet are a gang without the launcher, which scales them. Their number does not include spares.
#[test]
fn the_launcher_of_stateful_sets_is_not_in_the_native_gang() {
    let group = |name: &str, replicas| Group { name: Some(name.into()), replicas, ..spec(|_| ()).groups[0].clone() };
    let elastic = Elastic { min_replicas: 2, max_replicas: 4, cooldown: None, timeout: 600, reset_limit: None };
    for (groups, spares, elastic, count) in [
        (vec![Group { replicas: 4, ..spec(|_| ()).groups[0].clone() }], 1, None, 4),
        (vec![group("a", 2), group("b", 3)], 0, None, 5),
        (vec![Group { replicas: 4, ..spec(|_| ()).groups[0].clone() }], 0, Some(elastic), 2),
    ] {
        let objects = objects(spec(|spec| {
            spec.launcher.kind = if elastic.is_some() { LauncherKind::Horovodrun } else { LauncherKind::Mpirun };
            spec.groups = groups;
            spec.groups[0].spares = spares;
            spec.elastic = elastic;
            spec.scheduling.gang = Some(Gang::Native);
            spec.scheduling.kube_version = crate::job::KubeVersion::new(37);
            spec.placement.priority_class = Some("high".into());
        }));
        let group = find(&objects, "PodGroup");
        // Kubernetes 1.37 schedules only pods that have the priority of their group.
        let wanted = json!({"priorityClassName": "high", "schedulingPolicy": {"gang": {"minCount": count}}});
        assert_eq!(group["spec"], wanted);
        let sets: Vec<_> = objects.iter().filter(|object| object["kind"] == "StatefulSet").collect();
        assert!(!sets.is_empty());
        for set in sets {
            let pod = &set["spec"]["template"]["spec"];
            assert_eq!(pod["schedulingGroup"], json!({"podGroupName": group["metadata"]["name"]}));
        }
        assert!(find(&objects, "Job")["spec"]["template"]["spec"].get("schedulingGroup").is_none());
    }
}

#[test]
fn workers_have_an_account_of_their_own_without_a_token() {
    let objects = objects(spec(|spec| spec.security.worker_account = Some("reads-data".into())));
    let worker = &find(&objects, "StatefulSet")["spec"]["template"]["spec"];
    assert_eq!(worker["serviceAccountName"], "reads-data");
    assert_eq!(worker["automountServiceAccountToken"], false);
    let launcher = &find(&objects, "Job")["spec"]["template"]["spec"];
    assert_eq!(launcher["serviceAccountName"], find(&objects, "ServiceAccount")["metadata"]["name"]);
    assert_eq!(launcher["automountServiceAccountToken"], true);
    assert_eq!(find(&objects, "RoleBinding")["subjects"][0]["name"], launcher["serviceAccountName"]);
}

/// A topology of one level, or of slices of two workers.
fn topology(required: Option<&str>, preferred: Option<&str>, slices: Option<&str>) -> Topology {
    Topology {
        required: required.map(Level::new),
        preferred: preferred.map(Level::new),
        slices: slices.map(|level| Slices { size: 2, required: Level::new(level) }),
        rank_order: None,
    }
}

/// The expected fields are those of the types of Kubernetes 1.36 and 1.37, and of the resources of Volcano 1.14.
#[test]
fn the_topology_of_a_gang_is_a_field_of_its_pod_group() {
    let rack = "topology.kubernetes.io/rack";
    for (gang, given, field, wanted) in [
        (
            Gang::Native,
            topology(Some("rack"), None, None),
            "schedulingConstraints",
            json!({"topology": [{"key": rack}]}),
        ),
        (Gang::Native, topology(None, Some("rack"), None), "schedulingConstraints", Json::Null),
        (
            Gang::Volcano,
            topology(Some("rack"), None, None),
            "networkTopology",
            json!({"mode": "hard", "highestTierName": "rack"}),
        ),
        (Gang::Volcano, topology(None, Some(rack), None), "networkTopology", json!({"mode": "soft"})),
        (Gang::Coscheduling, topology(Some("rack"), None, None), "networkTopology", Json::Null),
    ] {
        let objects = objects(spec(|spec| {
            spec.launcher.runs_in = LauncherPod::FirstWorker;
            spec.scheduling.gang = Some(gang);
            spec.scheduling.kube_version = crate::job::KubeVersion::new(36);
            spec.placement.topology = Some(given);
        }));
        assert_eq!(find(&objects, "PodGroup")["spec"].get(field).unwrap_or(&Json::Null), &wanted);
        // If the PodGroup has no field for the topology, the affinity of the pods places them.
        let pod = &find(&objects, "Job")["spec"]["template"]["spec"];
        assert_eq!(pod.get("affinity").is_some(), wanted.is_null(), "{gang:?}");
    }
}

/// The rules are those of the webhook of Kueue of August 2026 (`validatePartialAdmissionCreate`, `validateTopologyRequest`): the smallest number
/// of pods is below `parallelism`, and an elastic job has neither a smallest number nor a topology.
#[test]
fn kueue_changes_the_size_of_elastic_jobs() {
    let kueue = |least: Option<u32>, part, given: Option<Topology>| {
        let objects = objects(spec(|spec| {
            spec.launcher.kind = LauncherKind::Torchrun;
            spec.launcher.runs_in = LauncherPod::FirstWorker;
            spec.groups[0].replicas = 4;
            spec.scheduling.local_queue = Some("local".into());
            spec.scheduling.workload_priority_class = Some("high".into());
            spec.scheduling.partial_admission = part;
            spec.placement.topology = given;
            spec.elastic = least.map(|min_replicas| Elastic {
                min_replicas,
                max_replicas: 8,
                cooldown: None,
                timeout: 600,
                reset_limit: None,
            });
        }));
        let job = find(&objects, "Job");
        assert_eq!(job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"], "high");
        assert_eq!(job["spec"]["parallelism"], 4);
        let all = job["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        let of_kueue =
            all.into_iter().filter_map(|(key, value)| Some((key.strip_prefix("kueue.x-k8s.io/")?.to_owned(), value)));
        Json::Object(of_kueue.collect())
    };
    let part = json!({"job-min-parallelism": "2", "job-completions-equal-parallelism": "true"});
    assert_eq!(kueue(Some(2), true, None), part);
    assert_eq!(kueue(Some(2), true, Some(topology(Some("rack"), None, None))), part);
    assert_eq!(kueue(Some(2), false, None), json!({"elastic-job": "true"}));
    // All workers are the smallest number, so Kueue cannot start fewer.
    assert_eq!(kueue(Some(4), true, None), json!({"elastic-job": "true"}));
    assert_eq!(kueue(Some(2), false, Some(topology(Some("rack"), None, None))), json!({}));
    assert_eq!(kueue(None, true, None), json!({}));
}

#[test]
fn kueue_reads_the_topology_from_annotations_of_the_pods() {
    let annotations = |given| {
        let objects = objects(spec(|spec| {
            spec.launcher.runs_in = LauncherPod::FirstWorker;
            spec.scheduling.local_queue = Some("local".into());
            spec.placement.topology = Some(given);
        }));
        let template = find(&objects, "Job")["spec"]["template"].clone();
        assert!(template["spec"].get("affinity").is_none());
        let all = template["metadata"]["annotations"].as_object().expect("annotations").clone();
        let of_kueue =
            all.into_iter().filter_map(|(key, value)| Some((key.strip_prefix("kueue.x-k8s.io/")?.to_owned(), value)));
        Json::Object(of_kueue.collect())
    };
    let rack = "topology.kubernetes.io/rack";
    assert_eq!(annotations(topology(Some("rack"), None, None)), json!({"podset-required-topology": rack}));
    assert_eq!(
        annotations(topology(None, Some("example.com/block"), Some("rack"))),
        json!({
            "podset-preferred-topology": "example.com/block",
            "podset-slice-required-topology": rack,
            "podset-slice-size": "2",
        })
    );
}

#[test]
fn without_a_scheduler_for_topologies_pods_are_placed_by_their_affinity() {
    let affinity = |runs_ranks, given: Topology, kind| {
        let objects = objects(spec(|spec| {
            spec.launcher.runs_ranks = runs_ranks;
            spec.placement.topology = Some(given);
        }));
        find(&objects, kind)["spec"]["template"]["spec"]["affinity"]["podAffinity"].clone()
    };
    let required = |runs_ranks, kind| {
        let terms = affinity(runs_ranks, topology(Some("rack"), None, None), kind);
        let term = terms["requiredDuringSchedulingIgnoredDuringExecution"][0].clone();
        if !term.is_null() {
            assert_eq!(term["topologyKey"], "topology.kubernetes.io/rack");
        }
        term["labelSelector"]["matchLabels"].clone()
    };
    assert_eq!(required(false, "StatefulSet")[meta::COMPONENT], "worker");
    assert_eq!(required(false, "Job"), Json::Null, "a launcher without ranks may run anywhere");
    // The term selects the launcher too: it starts first, and Kubernetes would not place it otherwise.
    for kind in ["Job", "StatefulSet"] {
        let labels = required(true, kind);
        assert!(labels[meta::RUN].is_string() && labels.get(meta::COMPONENT).is_none(), "{labels}");
    }
    let preferred = affinity(false, topology(None, Some("rack"), None), "StatefulSet");
    assert_eq!(preferred["preferredDuringSchedulingIgnoredDuringExecution"][0]["weight"], 100);
}

#[test]
fn only_a_rank_order_of_node_labels_reads_nodes() {
    let render = |namespace: Option<&str>, levels: &[&str], account: Option<&str>| {
        objects(spec(|spec| {
            spec.namespace = namespace.map(str::to_owned);
            spec.security.service_account = account.map(str::to_owned);
            let rank_order = Some(RankOrder::Levels(levels.iter().map(|level| Level::new(level)).collect()));
            spec.placement.topology = Some(Topology { rank_order, ..Topology::default() });
        }))
    };
    let has_role = |objects: &[Json]| objects.iter().any(|object| object["kind"] == "ClusterRole");
    assert!(!has_role(&render(None, &["region", "topology.kubernetes.io/zone"], None)));
    assert!(!has_role(&render(None, &["rack"], Some("trainer"))), "the user grants it to their own account");
    let measured = objects(spec(|spec| {
        let rank_order = Some(RankOrder::Measured);
        spec.placement.topology = Some(Topology { rank_order, ..Topology::default() });
    }));
    assert!(!has_role(&measured), "measured times are no labels");
    assert!(!find(&measured, "StatefulSet").to_string().contains("spec.nodeName"));
    for (given, name, namespace) in
        [(None, "khorovod-default-mnist", "default"), (Some("team-a"), "khorovod-team-a-mnist", "team-a")]
    {
        let objects = render(given, &["zone", "rack"], None);
        for kind in ["ClusterRole", "ClusterRoleBinding"] {
            let metadata = &find(&objects, kind)["metadata"];
            assert_eq!(metadata["name"], name);
            assert_eq!(metadata["labels"]["khorovod.dev/namespace"], namespace);
            // These objects belong to the job. If they belonged to a run, each run would leave some behind outside the namespace.
            assert!(metadata.get("namespace").is_none() && metadata["labels"].get(meta::RUN).is_none());
        }
        let rules = &find(&objects, "ClusterRole")["rules"];
        assert_eq!(*rules, json!([{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]));
        let account = &find(&objects, "ServiceAccount")["metadata"]["name"];
        assert_eq!(
            find(&objects, "ClusterRoleBinding")["subjects"],
            json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}])
        );
    }
}

#[test]
fn only_workers_get_claims() {
    let objects = objects(spec(claims));
    let template = find(&objects, "ResourceClaimTemplate");
    let run = &template["metadata"]["labels"][meta::RUN];
    let name = |suffix: &str| format!("mnist-{}-{suffix}", run.as_str().expect("a run"));
    assert_eq!(template["metadata"]["name"], name("gpus"));
    let worker = &find(&objects, "StatefulSet")["spec"]["template"]["spec"];
    assert_eq!(
        worker["resourceClaims"],
        json!([
            {"name": "gpus", "resourceClaimTemplateName": name("gpus")},
            {"name": "nics", "resourceClaimTemplateName": "rdma-nics"},
            {"name": "switch", "resourceClaimName": "shared-switch"},
            {"name": "compute-domain-channel", "resourceClaimTemplateName": name("compute-domain-channel")},
        ])
    );
    let named = json!([{"name": "gpus"}, {"name": "nics"}, {"name": "switch"}, {"name": "compute-domain-channel"}]);
    assert_eq!(worker["containers"][0]["resources"]["claims"], named);
    let launcher = &find(&objects, "Job")["spec"]["template"]["spec"];
    assert!(launcher.get("resourceClaims").is_none() && launcher["containers"][0]["resources"].get("claims").is_none());
    // The fields as in NVIDIA's v1beta1.
    assert_eq!(
        find(&objects, "ComputeDomain")["spec"],
        json!({"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": name("compute-domain-channel")}}})
    );
}

#[test]
fn the_yaml_of_every_object_reads_back() {
    for (name, spec) in variants() {
        let plan = Plan::new(spec, "bcdfgh".into());
        for object in build(&plan, FILES, &keys(), workloads(&plan, FILES)) {
            let mut text = String::new();
            to_yaml(&object, &mut text);
            let read: Json = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            assert_equal(&json(&object), &read);
        }
    }
}

#[test]
fn every_mount_has_a_volume_and_names_are_unique() {
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
fn objects_are_in_install_order() {
    let kinds: Vec<String> =
        objects(spec(everything)).iter().filter_map(|object| object["kind"].as_str().map(str::to_owned)).collect();
    assert_eq!(
        kinds.join(" "),
        "NetworkPolicy ServiceAccount Secret PersistentVolume PersistentVolumeClaim PersistentVolumeClaim ConfigMap \
         Service ConfigMap ConfigMap Role RoleBinding StatefulSet Job PodMonitor"
    );
}

#[test]
fn selectors_match_only_the_pods_of_their_workload() {
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
fn only_changes_that_ranks_can_observe_start_a_new_run() {
    let base = run_of(&smallest());
    let same: [fn(&mut Spec); 8] = [
        |spec| spec.labels = vec![("team".into(), "b".into())],
        |spec| spec.annotations = vec![("a".into(), "b".into())],
        |spec| spec.lifecycle.deadline = Some(60),
        |spec| spec.lifecycle.ttl_after_finished = Some(60),
        |spec| spec.lifecycle.retries = 9,
        |spec| spec.lifecycle.start_timeout = 9,
        |spec| spec.security.network_policy = false,
        |spec| spec.observability.metrics = None,
    ];
    for (index, change) in same.into_iter().enumerate() {
        assert_eq!(run_of(&spec(change)), base, "change {index} needs no new run");
    }
    let other: [fn(&mut Spec); 8] = [
        |spec| spec.run_tag = Some("2".into()),
        |spec| spec.image.reference = "ghcr.io/acme/mnist:1.5".into(),
        |spec| spec.env.push(EnvVar { name: "A".into(), value: EnvValue::Text("b".into()) }),
        |spec| spec.groups[0].resources.limits[0].1 = quantity("16"),
        |spec| spec.storage.push(volume("results", VolumeSource::PerWorker(claim()))),
        |spec| spec.launcher.runs_in = LauncherPod::FirstWorker,
        |spec| spec.observability.metrics = Some(Metrics { port: 1, pod_monitor: false, from: None }),
        |spec| {
            let patch = json!({"spec": {"template": {"spec": {"priority": 5}}}});
            spec.patches.push(Patch { kind: Some("Job".into()), name: Some("mnist-*".into()), patch });
        },
    ];
    for (index, change) in other.into_iter().enumerate() {
        assert_ne!(run_of(&spec(change)), base, "change {index} needs a new run");
    }
    assert_ne!(run_name(&smallest(), crate::pods::REVISION + 1), base, "another revision needs a new run");
    assert!(base.len() == 6 && base.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte)));
    // Claims of workers cannot grow in place.
    let sized = |size| {
        spec(|spec| spec.storage.push(volume("r", VolumeSource::PerWorker(Claim { size: quantity(size), ..claim() }))))
    };
    assert_ne!(run_of(&sized("1Gi")), run_of(&sized("2Gi")));
    // A deadline changes in place in the Job shape too, and under a patch.
    let patched = |deadline| {
        spec(|spec| {
            spec.launcher.runs_in = LauncherPod::FirstWorker;
            spec.lifecycle.deadline = deadline;
            spec.patches.push(Patch { kind: None, name: None, patch: json!({"spec": {"backoffLimit": 7}}) });
        })
    };
    assert_eq!(run_of(&patched(Some(60))), run_of(&patched(None)));
}

#[test]
fn the_launcher_owns_the_scale_unless_release_is_keep() {
    let objects_ = objects(smallest());
    let set = find(&objects_, "StatefulSet");
    assert!(set["spec"].get("replicas").is_none());
    assert_eq!(set["metadata"]["annotations"]["khorovod.dev/replicas"], "4");
    let launcher = find(&objects_, "Job")["metadata"]["name"].clone();
    assert_eq!(
        find(&objects_, "Role")["rules"],
        json!([
            {"apiGroups": ["apps"], "resources": ["statefulsets"],
            "resourceNames": [set["metadata"]["name"]], "verbs": ["get"]},
            {"apiGroups": ["apps"], "resources": ["statefulsets/scale"],
            "resourceNames": [set["metadata"]["name"]], "verbs": ["get", "patch"]},
            {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": [launcher], "verbs": ["get", "patch"]},
            {"apiGroups": [""], "resources": ["endpoints"],
            "resourceNames": [find(&objects_, "Service")["metadata"]["name"]], "verbs": ["get"]},
        ])
    );
    let pod = |objects: &[Json], kind| find(objects, kind)["spec"]["template"]["spec"].clone();
    assert_eq!(pod(&objects_, "Job")["automountServiceAccountToken"], true);
    assert_eq!(pod(&objects_, "StatefulSet")["automountServiceAccountToken"], true);

    let kept = objects(spec(|spec| spec.lifecycle.keep_workers = true));
    assert_eq!(find(&kept, "StatefulSet")["spec"]["replicas"], 4);
    assert_eq!(pod(&kept, "Job")["automountServiceAccountToken"], false);
    for kind in ["Role", "RoleBinding", "ServiceAccount"] {
        assert!(kept.iter().all(|object| object["kind"] != kind), "{kind}");
    }
}

#[test]
fn spares_are_pods_without_ranks() {
    let spares = |keep| {
        spec(|spec| {
            spec.groups[0].spares = 2;
            spec.lifecycle.keep_workers = keep;
        })
    };
    let scaled = objects(spares(false));
    assert_eq!(find(&scaled, "StatefulSet")["metadata"]["annotations"]["khorovod.dev/replicas"], "6");
    assert_eq!(find(&objects(spares(true)), "StatefulSet")["spec"]["replicas"], 6);
    let plan = Plan::new(spares(false), "bcdfgh".to_owned());
    assert_eq!((plan.np, plan.workers, plan.spares, plan.gpus), (32, 4, 2, 48));
    assert_eq!(plan.hostfile.unwrap().lines().count(), 4);
}

#[test]
fn a_launcher_leaves_a_dead_node_and_is_replaced() {
    let pod = |objects: &[Json], kind| find(objects, kind)["spec"]["template"]["spec"].clone();
    let seconds = |pod: &Json| -> Vec<Json> {
        let tolerations = pod["tolerations"].as_array().into_iter().flatten();
        tolerations.map(|toleration| toleration["tolerationSeconds"].clone()).collect()
    };
    let plain = objects(smallest());
    assert_eq!(seconds(&pod(&plain, "Job")), [30, 30]);
    assert!(seconds(&pod(&plain, "StatefulSet")).is_empty());
    // With a failure policy, Kubernetes would replace the launcher only when its pod has ended.
    assert!(find(&plain, "Job")["spec"].get("podFailurePolicy").is_none());
    let kept = objects(spec(|spec| spec.lifecycle.keep_workers = true));
    assert!(find(&kept, "Job")["spec"].get("podFailurePolicy").is_some());

    let tolerating =
        |toleration: Json| seconds(&pod(&objects(spec(|spec| spec.placement.tolerations = vec![toleration])), "Job"));
    assert_eq!(tolerating(json!({"operator": "Exists"})), [Json::Null]);
    assert_eq!(tolerating(json!({"operator": "Exists", "effect": "NoSchedule"})), [Json::Null, 30.into(), 30.into()]);
    let unreachable = json!({"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 7});
    assert_eq!(tolerating(unreachable), [7, 30]);
}

#[test]
fn egress_closes_the_metadata_service() {
    let policy = |egress| {
        let objects = objects(spec(|spec| {
            everything(spec);
            spec.placement.host_network = false;
            spec.security.egress = egress;
            spec.security.egress_to = vec![json!({"ipBlock": {"cidr": "203.0.113.7/32"}})];
        }));
        find(&objects, "NetworkPolicy")["spec"].clone()
    };
    let open = policy(Egress::Open);
    assert_eq!((&open["policyTypes"], open.get("egress")), (&json!(["Ingress"]), None));
    let clients = json!([{"namespaceSelector": {"matchLabels": {"team": "sre"}}}]);
    assert_eq!(open["ingress"][1], json!({"from": clients, "ports": [{"port": 9400, "protocol": "TCP"}]}));
    let dns = json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]});
    let closed = policy(Egress::NoMetadata);
    assert_eq!(closed["policyTypes"], json!(["Ingress", "Egress"]));
    let to = json!([
        {"namespaceSelector": {}},
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]}},
        {"ipBlock": {"cidr": "::/0", "except": ["fd00:ec2::254/128"]}},
    ]);
    assert_eq!(closed["egress"], json!([{"to": to}, dns]));
    let private = policy(Egress::Private)["egress"][0]["to"].clone();
    assert_eq!(private.as_array().map(Vec::len), Some(7));
    assert_eq!(private[5]["ipBlock"]["except"], json!(["fd00:ec2::254/128"]));
    assert_eq!(private[6], json!({"ipBlock": {"cidr": "203.0.113.7/32"}}));
    let listed = policy(Egress::Listed);
    assert_eq!(listed["policyTypes"], json!(["Ingress", "Egress"]));
    let to = json!([{"podSelector": listed["podSelector"]}, {"ipBlock": {"cidr": "203.0.113.7/32"}}]);
    assert_eq!(listed["egress"], json!([{"to": to}, dns]));
}

#[test]
fn each_pod_mounts_only_its_own_keys() {
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
    let indexed = objects(spec(|spec| spec.launcher.runs_in = LauncherPod::FirstWorker));
    assert_eq!(items(&indexed, "Job"), ["id_ed25519", "known_hosts", "host_key", "authorized_keys"]);
    let torchrun = objects(spec(|spec| spec.launcher.kind = LauncherKind::Torchrun));
    assert!(items(&torchrun, "Job").is_empty());
}

/// Checks the rules of the restricted Pod Security Standard that a rendered pod could violate.
#[test]
fn restricted_pods_pass_the_restricted_level() {
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
    allowed(objects(spec(|spec| spec.launcher.runs_in = LauncherPod::FirstWorker)));
    allowed(objects(spec(|spec| spec.launcher.kind = LauncherKind::Torchrun)));
    allowed(objects(spec(|spec| {
        spec.launcher.runs_ranks = true;
        spec.storage = storage();
        spec.storage.retain(|volume| !matches!(volume.source, VolumeSource::Nfs { .. } | VolumeSource::HostPath(_)));
    })));
}

#[test]
fn variables_of_the_user_override_generated_ones() {
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

/// The value that a kubelet gives to a variable: it replaces `$$` by `$`, and `$(NAME)` by the value of another variable.
fn expanded(value: &str) -> String {
    let (mut made, mut rest) = (String::new(), value);
    while let Some(at) = rest.find('$') {
        made += &rest[..at];
        let behind = &rest[at + 1..];
        rest = match behind.strip_prefix('$') {
            Some(more) => more,
            None if behind.starts_with('(') => return "expanded".to_owned(),
            None => behind,
        };
        made.push('$');
    }
    made + rest
}

#[test]
fn values_of_variables_are_literal() {
    let values = ["x$(A)y", "p$$5", "a$$b", "$5", "$HOME", "$", "$$", "$$$(A)", "cost: $5, $(date) $$ $HOME"];
    let objects = objects(spec(|spec| {
        spec.env = values
            .iter()
            .zip('A'..)
            .map(|(value, name)| EnvVar { name: name.into(), value: EnvValue::Text((*value).into()) })
            .collect();
    }));
    for kind in ["StatefulSet", "Job"] {
        let env = find(&objects, kind)["spec"]["template"]["spec"]["containers"][0]["env"].clone();
        for (value, name) in values.iter().zip('A'..) {
            let written = env.as_array().into_iter().flatten().find(|var| var["name"] == name.to_string());
            assert_eq!(written.map(|var| expanded(var["value"].as_str().unwrap())).as_deref(), Some(*value), "{kind}");
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
        assert_eq!(patch(None, Some(pattern)).has_name(name), fits, "{pattern} {name}");
    }
    assert!(!patch::selects(&patch(Some("Job"), None), "StatefulSet", "a"));

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
fn claims_remain_when_the_job_is_deleted() {
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
fn a_second_apply_does_not_suspend_a_job_that_kueue_admitted() {
    let objects = objects(spec(|spec| {
        spec.launcher.runs_in = LauncherPod::FirstWorker;
        spec.scheduling.local_queue = Some("local".into());
    }));
    let job = find(&objects, "Job");
    assert_eq!(job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "local");
    assert!(job["spec"].get("suspend").is_none());
}
