//! The fields of the spec in each target: fields that change in place, rejected fields, and fields that the operator sets.

use khorovod::{Inputs, Keys, Target, Text, targets};
use serde_json::json;

use super::{job, objects, operators, render};

#[test]
fn only_some_fields_change_in_place() {
    let with = |spec: &str| job("mnist", &format!("  workers: {{replicas: 2}}\n{spec}"));
    let run = |text: &Text, target| {
        let all = objects(&render(text, target).unwrap());
        all.iter().find_map(|object| object["metadata"]["labels"]["khorovod.dev/run"].as_str()).unwrap().to_owned()
    };
    let base = with("");
    for target in operators() {
        let before = run(&base, target);
        assert_ne!(before, run(&base, targets::PLAIN), "{}: a job moves by a new run", target.name());
        assert_ne!(before, run(&with("  env: {A: b}\n"), target), "{}", target.name());
        assert_ne!(before, run(&with("  runTag: '2'\n"), target), "{}", target.name());
    }
    // The operators' webhooks decide which clients can resume a suspended job, and how a TTL may change.
    let suspended = with("  scheduling: {suspend: true}\n");
    for target in [targets::MPI_JOB, targets::JOB_SET, targets::TRAIN_JOB] {
        assert_eq!(run(&base, target), run(&suspended, target), "{}", target.name());
    }
    let brief = with("  lifecycle: {ttlAfterFinished: 1h, deadline: 2h}\n");
    assert_eq!(run(&base, targets::MPI_JOB), run(&brief, targets::MPI_JOB));
    assert_ne!(run(&base, targets::VOLCANO), run(&brief, targets::VOLCANO));
}

/// A spec for each field that a target rejects, and a word of the message.
const REFUSED: &[(&dyn Target, &str, &str)] = &[
    (targets::MPI_JOB, "  workers: {replicas: 2}\n  launcher: torchrun\n", "torchrun"),
    (targets::MPI_JOB, "  workers: {replicas: 2}\n  launcher: jax\n", "`jax`"),
    (targets::SLURM, "  workers: {replicas: 2}\n  launcher: tensorflow\n", "launcher: tensorflow"),
    (targets::MPI_JOB, "  workers: {groups: [{name: a, replicas: 2}]}\n", "workers.groups"),
    (
        targets::MPI_JOB,
        "  workers: {replicas: 2}\n  launcher: {kind: mpirun, runsIn: firstWorker}\n",
        "launcher.runsIn",
    ),
    (targets::MPI_JOB, "  workers: {replicas: 2}\n  ssh: {secretName: mine}\n", "ssh.secret"),
    (targets::MPI_JOB, "  workers: {replicas: 20000}\n", "the MPI Operator lists"),
    (targets::JOB_SET, "  workers: {replicas: 2}\n  lifecycle: {keepWorkers: true}\n", "lifecycle.keepWorkers"),
    (
        targets::JOB_SET,
        "  workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 4}}\n  launcher: horovodrun\n",
        "workers.elastic.maxReplicas",
    ),
    (
        targets::TRAIN_JOB,
        "  workers: {replicas: 2}\n  lifecycle: {ttlAfterFinished: 1h}\n",
        "lifecycle.ttlAfterFinished",
    ),
    (targets::TRAIN_JOB, "  workers: {replicas: 2}\n  lifecycle: {keepWorkers: true}\n", "lifecycle.keepWorkers"),
    (targets::VOLCANO, "  workers: {replicas: 2}\n  scheduling: {gang: coscheduling}\n", "coscheduling"),
    (targets::VOLCANO, "  workers: {replicas: 2}\n  scheduling: {localQueue: team}\n", "Kueue"),
    (targets::VOLCANO, "  workers: {replicas: 2}\n  scheduling: {suspend: true}\n", "suspended"),
    (targets::VOLCANO, "  workers: {replicas: 90000}\n", "ConfigMap"),
];

#[test]
fn unsupported_fields_are_refused() {
    let per_worker = "  workers: {replicas: 2}\n  storage: [{name: c, mountPath: /c, perWorker: {size: 1Gi}}]\n";
    let each = operators().into_iter().map(|target| (target, per_worker, "perWorker"));
    for (target, spec, word) in REFUSED.iter().copied().chain(each) {
        let text = job("mnist", spec);
        let problems = render(&text, target).map(|_| ()).expect_err(spec);
        let [problem] = problems.list.as_slice() else { panic!("{}: {problems:?}", target.name()) };
        assert_eq!(problem.code.name, "target-cannot", "{}: {problem:?}", target.name());
        assert!(problem.message.contains(word), "{}: {}", target.name(), problem.message);
        assert!(problem.hint.is_some());
        render(&text, targets::PLAIN).unwrap_or_else(|problems| panic!("plain objects can: {problems:?}"));
    }
}

#[test]
fn elastic_runs_keep_their_number_or_grow() {
    let elastic = "  workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: MAX}}\n  launcher: horovodrun\n";
    for (most, target) in
        [("2", targets::JOB_SET), ("2", targets::TRAIN_JOB), ("4", targets::MPI_JOB), ("4", targets::VOLCANO)]
    {
        render(&job("mnist", &elastic.replace("MAX", most)), target).unwrap();
    }
}

#[test]
fn the_operator_makes_the_keys_of_an_mpi_job() {
    let text = job("mnist", "  workers: {replicas: 2}\n");
    let inputs = Inputs { target: targets::MPI_JOB, keys: Keys::Missing, ..Inputs::default() };
    let rendered = khorovod::render(&text, &inputs).expect("no seed is asked for");
    assert!(rendered.documents.iter().all(|document| document.kind != "Secret" && document.kind != "Service"));
}

#[test]
fn longest_names_have_room() {
    for target in operators() {
        let spec = "  workers: {replicas: 100}\n";
        let longest = (1..64).rev().find(|length| render(&job(&"n".repeat(*length), spec), target).is_ok()).unwrap();
        assert!(longest >= 29, "{}: {longest}", target.name());
        let too_long = render(&job(&"n".repeat(longest + 1), spec), target).unwrap_err();
        assert_eq!(too_long.list[0].code.name, "name-too-long");
    }
}

/// The fields as in Volcano 1.14 and newer.
#[test]
fn a_volcano_job_has_the_topology_of_its_workers() {
    let volcano = |topology: &str| {
        let spec = format!("  workers: {{replicas: 8}}\n  placement: {{topology: {{{topology}}}}}\n");
        let all = objects(&render(&job("near", &spec), targets::VOLCANO).unwrap());
        all.into_iter().find(|object| object["kind"] == "Job").unwrap()["spec"].clone()
    };
    let required = volcano("required: rack, slices: {size: 4, required: example.com/leaf}");
    assert_eq!(required["networkTopology"], json!({"mode": "hard", "highestTierName": "rack"}));
    assert_eq!(required["tasks"][0].get("partitionPolicy"), None, "the launcher is no worker");
    assert_eq!(
        required["tasks"][1]["partitionPolicy"],
        json!({
            "totalPartitions": 2,
            "partitionSize": 4,
            "minPartitions": 0,
            "networkTopology": {"mode": "hard", "highestTierName": "example.com/leaf"},
        })
    );
    let preferred = volcano("preferred: rack");
    assert_eq!(preferred["networkTopology"], json!({"mode": "soft"}));
    assert_eq!(preferred["tasks"][1].get("partitionPolicy"), None);
    assert!(preferred["tasks"][1]["template"]["spec"].get("affinity").is_none());
}
