//! Reports and changes, computed from the text of a spec.

use super::build::quantity;
use super::*;
use crate::plan::Plan;
use crate::problem::Span;
use crate::yaml;

const JOB: &str = r#"
apiVersion: khorovod.dev/v1alpha1
kind: TrainingJob
metadata:
  name: mnist
  labels: {team: vision}
spec:
  image: ghcr.io/acme/mnist:1.4
  command: [python, train.py]
  env: {LR: "0.1"}
  workers: {replicas: 4, gpus: 8, cpu: "32", memory: 256Gi}
  launcher: {kind: mpirun, cpu: "1500m", memory: 2Gi}
  storage:
    - {name: data, mountPath: /data, claim: {size: 1Ti, storageClassName: fast, accessModes: [ReadWriteMany]}}
  lifecycle: {deadline: 24h}
"#;

fn reported(plan: &Plan) -> Report {
    Report::new(plan, &crate::targets::PLAIN.describe(plan), Vec::new())
}

/// The plan of a spec. Its run has the name `run`.
fn plan(text: &str, run: &str) -> Plan {
    let mut problems = Vec::new();
    let span = Span { source: 0, start: 0, end: text.len() };
    let document = yaml::parse(text, span, &mut problems).ok().flatten().expect("it is valid YAML");
    let spec = crate::targets::read(&document, crate::targets::PLAIN, &mut problems);
    Plan::new(spec.unwrap_or_else(|| panic!("{problems:#?}")), run.to_owned())
}

/// The change of the job if `from` is replaced by `to`, and its run gets the name `new_run`.
fn changed(from: &str, to: &str, new_run: &str) -> Change {
    assert!(JOB.contains(from), "{from}");
    let mut all = between(&[plan(JOB, "bcdfgh")], &[plan(&JOB.replace(from, to), new_run)]);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn paths(found: &[Difference]) -> Vec<&str> {
    found.iter().map(|difference| difference.path.as_str()).collect()
}

#[test]
fn sums_include_every_pod() {
    let report = reported(&plan(JOB, "bcdfgh"));
    assert_eq!((report.ranks, report.pods), (32, 5));
    let sum = |resource: &str| {
        report.requests.iter().find(|amount| amount.resource == resource).map(|amount| amount.quantity.as_str())
    };
    assert_eq!(sum("cpu"), Some("129500m"));
    assert_eq!(sum("memory"), Some("1026Gi"));
    assert_eq!(sum("nvidia.com/gpu"), Some("32"));
    assert_eq!(report.workers[0].hosts.1, "mnist-bcdfgh-worker-3.mnist");
    assert!(report.storage[0].outlives_job && report.storage[0].source.contains("mnist-data"));
    assert!(report.defaults.iter().any(|default| default.path.contains("shm") && default.value == "64Gi"));
}

#[test]
fn a_launcher_that_runs_ranks_counts_as_a_worker() {
    let text = JOB.replace(r#"{kind: mpirun, cpu: "1500m", memory: 2Gi}"#, "{kind: mpirun, runsRanks: true}");
    let report = reported(&plan(&text, "bcdfgh"));
    assert_eq!((report.ranks, report.pods), (40, 5));
    assert!(report.requests.contains(&Amount { resource: "nvidia.com/gpu".to_owned(), quantity: "40".to_owned() }));
}

#[test]
fn an_equal_spec_changes_nothing() {
    assert_eq!(changed("team: vision", "team: vision", "bcdfgh").effect, Effect::Nothing);
}

#[test]
fn labels_and_durations_change_in_place() {
    for (from, to, path) in [
        ("team: vision", "team: speech", "metadata.labels.team"),
        ("deadline: 24h", "deadline: 48h", "lifecycle.deadline"),
        ("size: 1Ti", "size: 2Ti", "storage.data.claim.size"),
    ] {
        let change = changed(from, to, "bcdfgh");
        assert_eq!((change.effect, paths(&change.in_place)), (Effect::InPlace, vec![path]), "{change:#?}");
    }
}

#[test]
fn a_restart_lists_only_differences_that_ranks_observe() {
    let change = changed("{LR: \"0.1\"}", "{LR: \"0.2\", STEPS: \"9\"}", "zzzzzz");
    assert_eq!((change.effect, paths(&change.because)), (Effect::Restarts, vec!["env.LR", "env.STEPS"]));
    assert_eq!(change.because[0].old.as_deref(), Some("0.1"));
    let both = JOB.replace("team: vision", "team: speech").replace("mnist:1.4", "mnist:1.5");
    let change = &between(&[plan(JOB, "bcdfgh")], &[plan(&both, "zzzzzz")])[0];
    assert_eq!((paths(&change.because), paths(&change.in_place)), (vec!["image"], vec!["metadata.labels.team"]));
}

#[test]
fn a_restart_without_a_reason_lists_every_difference() {
    let change = changed("team: vision", "team: speech", "zzzzzz");
    assert_eq!((change.effect, paths(&change.because)), (Effect::Restarts, vec!["metadata.labels.team"]));
}

#[test]
fn a_claim_cannot_change_or_shrink() {
    for (from, to, path) in [
        ("storageClassName: fast", "storageClassName: slow", "storage.data.claim.storageClassName"),
        ("size: 1Ti", "size: 500Gi", "storage.data.claim.size"),
    ] {
        let change = changed(from, to, "bcdfgh");
        assert_eq!(change.effect, Effect::Refused);
        assert!(change.in_place.is_empty(), "{change:#?}");
        assert!(change.refused.len() == 1 && change.refused[0].starts_with(path), "{change:#?}");
    }
}

#[test]
fn suspending_a_run_is_not_called_harmless() {
    let change = changed("lifecycle: {", "scheduling: {suspend: true}\n  lifecycle: {", "bcdfgh");
    assert_eq!(
        (change.effect, change.summary()),
        (Effect::InPlace, "in place: the run is suspended, and its pods end")
    );
}

#[test]
fn secrets_in_the_environment_are_not_shown() {
    let new = JOB.replace("LR: \"0.1\"", "API_TOKEN: hunter2");
    let shown = format!("{:?}", between(&[plan(JOB, "bcdfgh")], &[plan(&new, "zzzzzz")]));
    assert!(shown.contains("env.API_TOKEN") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_new_run_keeps_the_claims_of_the_old_workers() {
    let own = JOB.replace("claim: {size", "perWorker: {size").replace("ReadWriteMany", "ReadWriteOnce");
    let all = between(&[plan(&own, "bcdfgh")], &[plan(&own.replace("mnist:1.4", "mnist:1.5"), "zzzzzz")]);
    assert!(all[0].notes[0].starts_with("storage.data:"), "{all:#?}");
}

#[test]
fn jobs_are_added_and_removed() {
    let other = plan(&JOB.replace("name: mnist", "name: other"), "bcdfgh");
    let all = between(&[plan(JOB, "bcdfgh")], &[other]);
    let effects: Vec<_> = all.iter().map(|change| (change.job.as_str(), change.effect)).collect();
    assert_eq!(effects, [("other", Effect::New), ("mnist", Effect::Gone)]);
}

#[test]
fn sums_have_the_largest_unit_that_divides_them() {
    for (milli, is_in_bytes, text) in [
        (2_500, false, "2500m"),
        (128_000, false, "128"),
        (1_000 << 31, true, "2Gi"),
        (1_000 << 42, true, "4Ti"),
        (1_500, true, "2"),
        (0, true, "0"),
    ] {
        assert_eq!(quantity(milli, is_in_bytes), text);
    }
}
