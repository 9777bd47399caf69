//! The table of features in `docs/compatibility.md`: since which version each works, and where it was tested.
//!
//! The version of Kubernetes comes from the rules, and where it was tested from `tests/results.txt`, into which the runners of the
//! tests write what has passed (`tests/results.py`). Rust tests need no record: they run together with this one. `make bless` writes
//! the table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use khorovod::{Inputs, Text, check};

struct Feature {
    name: &'static str,
    /// The fields of the spec, for a job of two workers.
    spec: &'static str,
    /// The needs of the feature besides a version of Kubernetes.
    needs: &'static str,
    /// The files of the tests and their names, as `FILE NAME`.
    tests: &'static [&'static str],
}

const FEATURES: &[Feature] = &[
    Feature {
        name: "the StatefulSet shape",
        spec: "launcher: mpirun",
        needs: "",
        tests: &[
            "tests/cluster/ends.py success",
            "tests/cluster/ends.py failure",
            "tests/runtime/cases/life.sh trains",
        ],
    },
    Feature {
        name: "the Indexed Job shape",
        spec: "launcher: {kind: mpirun, runsIn: firstWorker}",
        needs: "",
        tests: &[
            "tests/cluster/evictions.py first_pod_of_indexed_job_killed",
            "tests/cluster/evictions.py suspended_indexed_job",
            "tests/runtime/cases/life.sh indexed",
        ],
    },
    Feature {
        name: "torchrun",
        spec: "launcher: torchrun",
        needs: "",
        tests: &[
            "tests/cluster/evictions.py torchrun_first_pod_evicted",
            "tests/runtime/cases/torchrun.sh torchrun_loses_an_agent",
            "tests/runtime/cases/torchrun.sh torchrun_elastic",
        ],
    },
    Feature {
        name: "another program in place of torchrun",
        spec: "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}\nlauncher: {kind: torchrun, program: ft_launcher}",
        needs: "",
        tests: &[
            "tests/runtime/cases/torchrun.sh ft_launcher",
            "tests/runtime/cases/torchrun.sh ft_launcher_ends_a_hang",
            "tests/runtime/cases/torchrun.sh ft_launcher_loses_a_worker",
        ],
    },
    Feature {
        name: "JAX",
        spec: "launcher: jax",
        needs: "",
        tests: &["tests/runtime/cases/frameworks.sh jax", "tests/runtime/cases/frameworks.sh jax_loses_a_worker"],
    },
    Feature {
        name: "TensorFlow",
        spec: "launcher: tensorflow",
        needs: "",
        tests: &[
            "tests/runtime/cases/frameworks.sh tensorflow",
            "tests/runtime/cases/frameworks.sh tensorflow_loses_a_worker",
        ],
    },
    Feature {
        name: "downloads that workers pass on",
        spec: "storage: [{name: model, mountPath: /model, download: {huggingFace: a/b, revision: b968826d9c46dd6066d109eabc6255188de91218}}]",
        needs: "",
        tests: &[
            "tests/runtime/cases/storage.sh download",
            "tests/runtime/cases/storage.sh download_torchrun",
            "tests/runtime/download/test.py test_a_pod_above_is_killed",
        ],
    },
    Feature {
        name: "S3 objects that workers pass on",
        spec: "storage: [{name: data, mountPath: /data, s3: {bucket: sets, prefix: coco/, secretName: s3-keys}}]",
        needs: "",
        tests: &[
            "tests/runtime/cases/storage.sh s3_passed_on",
            "tests/runtime/cases/storage.sh s3_passed_on_torchrun",
            "tests/runtime/cases/storage.sh s3_passed_on_rotten",
        ],
    },
    Feature {
        name: "a gang of Kubernetes",
        spec: "scheduling: {gang: native}",
        needs: "feature gates",
        tests: &[
            "tests/cluster/gangs.py native_gang",
            "tests/runtime/cases/life.sh dropped_gang",
            "src/compiler/kubernetes/tests.rs a_native_gang_is_a_pod_group_of_the_version_of_the_cluster",
        ],
    },
    Feature {
        name: "a gang of Kubernetes with StatefulSets",
        spec: "scheduling: {gang: native}\nlauncher: {kind: mpirun, runsIn: ownPod}",
        needs: "feature gates",
        tests: &[
            "tests/cluster/gangs.py native_gang_of_stateful_sets",
            "tests/cluster/gangs.py native_gang_of_some_workers",
            "tests/cluster/gangs.py native_gang_loses_a_node",
            "tests/runtime/cases/life.sh gang_of_workers",
            "tests/runtime/cases/life.sh gang_of_workers_without_room",
            "tests/runtime/cases/life.sh dropped_gang_of_workers",
            "src/compiler/kubernetes/tests.rs the_launcher_of_stateful_sets_is_not_in_the_native_gang",
        ],
    },
    Feature {
        name: "a required topology in a gang of Kubernetes",
        spec: "scheduling: {gang: native}\nplacement: {topology: {required: rack}}",
        needs: "feature gates",
        tests: &["src/compiler/kubernetes/tests.rs the_topology_of_a_gang_is_a_field_of_its_pod_group"],
    },
    Feature {
        name: "ranks in the order of racks",
        spec: "placement: {topology: {rankOrder: [block, rack]}}",
        needs: "",
        tests: &["tests/cluster/topology.py rank_order_by_racks", "tests/runtime/cases/topology.sh rank_order"],
    },
    Feature {
        name: "ranks in the order of zones",
        spec: "placement: {topology: {rankOrder: [zone]}}",
        needs: "",
        tests: &["tests/cluster/topology.py rank_order_by_zones", "tests/runtime/cases/topology.sh rank_order_zones"],
    },
    Feature {
        name: "ranks in the order of measured round-trip times",
        spec: "placement: {topology: {rankOrder: measured}}",
        needs: "",
        tests: &[
            "tests/runtime/cases/distances.sh measured_order",
            "tests/runtime/cases/distances.sh measured_order_over_a_tree",
            "src/compiler/pods/tests.rs measured_times_become_groups",
        ],
    },
    Feature {
        name: "devices by claims (DRA)",
        spec: "workers: {replicas: 2, resourceClaims: [{name: nic, resourceClaimTemplateName: rdma-nic}]}",
        needs: "a DRA driver",
        tests: &["tests/runtime/cases/health.sh lost_gpu_of_a_claim"],
    },
    Feature {
        name: "multi-node NVLink",
        spec: "workers: {replicas: 2, computeDomain: Single}",
        needs: "NVIDIA's DRA driver",
        tests: &["src/compiler/kubernetes/tests.rs only_workers_get_claims"],
    },
    Feature {
        name: "a queue of Kueue",
        spec: "scheduling: {localQueue: team-a}",
        needs: "Kueue",
        tests: &["tests/cluster/evictions.py suspended_indexed_job", "tests/kueue/run.py main"],
    },
    Feature {
        name: "a priority class of Kueue",
        spec: "scheduling: {localQueue: team-a, workloadPriorityClassName: high}",
        needs: "Kueue 0.5",
        tests: &["tests/kueue/run.py main", "src/compiler/kubernetes/tests.rs kueue_changes_the_size_of_elastic_jobs"],
    },
    Feature {
        name: "a partial admission by Kueue",
        spec: "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}\nlauncher: torchrun\nscheduling: {localQueue: team-a, partialAdmission: true}",
        needs: "Kueue 0.5",
        tests: &["tests/kueue/run.py main", "src/compiler/kubernetes/tests.rs kueue_changes_the_size_of_elastic_jobs"],
    },
    Feature {
        name: "another number of workers in Kueue",
        spec: "workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 4}}\nlauncher: torchrun\nscheduling: {localQueue: team-a}",
        needs: "Kueue 0.18, or 0.13 with a feature gate",
        tests: &["tests/kueue/run.py main", "src/compiler/kubernetes/tests.rs kueue_changes_the_size_of_elastic_jobs"],
    },
    Feature {
        name: "a topology in Kueue",
        spec: "scheduling: {localQueue: team-a}\nplacement: {topology: {required: rack}}",
        needs: "Kueue 0.14",
        tests: &[
            "tests/kueue/run.py main",
            "src/compiler/kubernetes/tests.rs kueue_reads_the_topology_from_annotations_of_the_pods",
        ],
    },
    Feature {
        name: "an account for workers",
        spec: "workers: {replicas: 2, serviceAccountName: reads-data}",
        needs: "",
        tests: &[
            "tests/runtime/cases/life.sh account_of_workers",
            "src/compiler/kubernetes/tests.rs workers_have_an_account_of_their_own_without_a_token",
        ],
    },
];

/// The words for a folder of tests.
const WHERE: &[(&str, &str)] = &[
    ("tests/cluster/", "a real Kubernetes"),
    ("tests/runtime/", "processes"),
    ("tests/kueue/", "Kueue's webhook"),
    ("src/", "rendered objects"),
];

/// The codes of the problems of a job with these fields.
fn problems(spec: &str, minor: u32) -> Vec<&'static str> {
    let given = |field: &str| spec.lines().any(|line| line.starts_with(field));
    let mut text = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\nspec:\n  image: a:1\n  command: [train]\n".to_owned();
    if !given("workers") {
        text += "  workers: {replicas: 2}\n";
    }
    spec.lines().for_each(|line| text.extend(["  ", line, "\n"]));
    let version = format!("1.{minor}").parse().unwrap();
    let inputs = Inputs { kube_version: version, ..Inputs::default() };
    let problems = check(&Text { name: "job.yaml".to_owned(), text }, &inputs);
    problems.list.into_iter().map(|problem| problem.code.name).collect()
}

/// The first version of Kubernetes for which a job with these fields has no problem.
fn since(feature: &Feature) -> u32 {
    let first = (20..=40).find(|minor| problems(feature.spec, *minor).is_empty());
    let first = first.unwrap_or_else(|| panic!("{}: {:?}", feature.name, problems(feature.spec, 40)));
    assert_eq!(problems(feature.spec, first - 1), ["kube-version"], "{}", feature.name);
    first
}

/// Checks that a test exists, and returns the words for its folder.
fn place(test: &str) -> &'static str {
    let (file, name) = test.split_once(' ').expect("FILE NAME");
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect(file);
    let head = match file.rsplit_once('.').map(|(_, ending)| ending) {
        Some("py") => format!("def {name}("),
        Some("sh") => format!("case_{name}()"),
        _ => format!("fn {name}("),
    };
    assert!(source.lines().any(|line| line.trim_start().starts_with(&head)), "{file} has no {name}");
    WHERE.iter().find(|(folder, _)| file.starts_with(folder)).unwrap_or_else(|| panic!("{file}")).1
}

/// The versions of Kubernetes on which each test has passed, empty for a test without a cluster, and the date of the last time.
fn results() -> BTreeMap<String, Vec<(String, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results.txt");
    let text = fs::read_to_string(path).unwrap();
    let mut results: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [name, version, date] = fields[..] else { panic!("tests/results.txt: {line}") };
        assert!(
            FEATURES.iter().any(|feature| feature.tests.contains(&name)),
            "no feature has {name}: remove it from tests/results.txt"
        );
        results.entry(name.to_owned()).or_default().push((version.to_owned(), date.to_owned()));
    }
    results
}

/// The places and versions of Kubernetes on which the tests of a feature have passed, and the first date since which all of them have.
fn tested(feature: &Feature, results: &BTreeMap<String, Vec<(String, String)>>) -> String {
    let mut places: Vec<&str> = feature.tests.iter().map(|test| place(test)).collect();
    places.dedup();
    let cell = |here: &str| {
        let tests: Vec<&str> = feature.tests.iter().copied().filter(|test| place(test) == here).collect();
        let passed: Vec<_> = tests.iter().filter_map(|test| results.get(*test)).collect();
        let versions: BTreeSet<&str> = passed.iter().copied().flatten().map(|(version, _)| version.as_str()).collect();
        let last = passed.iter().filter_map(|runs| runs.iter().map(|(_, date)| date.as_str()).max());
        let date = last.min();
        let missing = tests.iter().filter(|test| !test.starts_with("src/") && !results.contains_key(**test));
        let missing: Vec<&str> = missing.filter_map(|test| test.split(' ').nth(1)).collect();
        let mut text = here.to_owned();
        for version in versions.into_iter().filter(|version| !version.is_empty()) {
            let comma = if text == here { "" } else { "," };
            write!(text, "{comma} {version}").unwrap();
        }
        if let Some(date) = date {
            write!(text, " ({date})").unwrap();
        }
        if !missing.is_empty() {
            write!(text, " (not recorded: `{}`)", missing.join("`, `")).unwrap();
        }
        text
    };
    places.into_iter().map(cell).collect::<Vec<_>>().join("; ")
}

fn table() -> String {
    let mut text =
        "\n| Feature | In the spec | Kubernetes | Needs too | Tested on |\n|---|---|---|---|---|\n".to_owned();
    let results = results();
    for feature in FEATURES {
        let fields: Vec<String> = feature.spec.lines().map(|line| format!("`{line}`")).collect();
        let row = [
            feature.name,
            &fields.join(", "),
            &format!("1.{}", since(feature)),
            feature.needs,
            &tested(feature, &results),
        ];
        writeln!(text, "| {} |", row.join(" | ")).unwrap();
    }
    text + "\n"
}

#[test]
fn the_table_of_features_is_up_to_date() {
    const BEGIN: &str = "<!-- generated: tests/features.rs -->\n";
    const END: &str = "<!-- end of the features -->\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/compatibility.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect(BEGIN);
    let (_, after) = rest.split_once(END).expect(END);
    let new = [before, BEGIN, &table(), END, after].concat();
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::write(path, new).unwrap();
    } else {
        assert!(page == new, "docs/compatibility.md is out of date: run `make bless`");
    }
}
