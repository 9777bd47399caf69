//! The commands for jobs in a cluster, with a kubectl that answers from files: tests/cli/kubectl.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::common::{JOB, SEED, khorovod, place};
use super::run;

/// A folder with a spec, and the folder of the kubectl.
struct Place {
    folder: tempfile::TempDir,
    fake: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = place();
        let fake = folder.path().join("fake");
        fs::create_dir(&fake).unwrap();
        fs::write(folder.path().join("job.yaml"), JOB).unwrap();
        fs::write(fake.join("apply.txt"), "service/mnist created\njob.batch/mnist-abc-launcher created\n").unwrap();
        let place = Self { folder, fake };
        place.answer("objects.json", &[]);
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.fake.join(name), text).unwrap();
    }

    fn answer(&self, name: &str, items: &[Value]) {
        self.write(name, &json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    }

    fn command(&self) -> Command {
        let mut command = khorovod(self.folder.path());
        let kubectl = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/kubectl");
        command
            .env("KUBECTL", kubectl)
            .env("FAKE", &self.fake)
            .env("PATH", "/usr/bin:/bin")
            .env("KHOROVOD_SSH_SEED", SEED);
        command
    }

    fn khorovod(&self, args: &[&str]) -> (i32, String, String) {
        run(self.command().args(args))
    }

    /// The calls of kubectl so far.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.fake.join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// The objects of the job in job.yaml, with two workers and a launcher that is in a state.
    fn job(&self, status: &Value, launcher: &Value, ready: bool) -> Vec<Value> {
        let run = self.run();
        let labels = |component: &str| json!({"khorovod.dev/job": "mnist", "khorovod.dev/run": run, "app.kubernetes.io/component": component});
        let time = "2026-11-26T07:00:00Z";
        let pod = |name: &str, component: &str, state: &Value, ready: bool| {
            let ready = if ready { "True" } else { "False" };
            json!({"kind": "Pod", "metadata": {"name": name, "namespace": "team-a", "labels": labels(component), "creationTimestamp": time},
                "spec": {"nodeName": "n1", "containers": [{"name": component, "command": ["/bin/bash", "x.sh"],
                    "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}],
                    "containerStatuses": [{"name": component, "restartCount": 0, "state": state}]}})
        };
        let running = json!({"running": {"startedAt": time}});
        let spec = json!({"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"}, "spec": {
            "image": "ghcr.io/acme/mnist:1.3", "command": ["python", "train.py"], "workers": {"replicas": 4, "gpus": 8}}});
        vec![
            json!({"kind": "ConfigMap", "metadata": {"name": "mnist-current", "namespace": "team-a", "labels": {"khorovod.dev/job": "mnist"},
                "annotations": {"khorovod.dev/spec": spec.to_string()}}, "data": {"run": run}}),
            json!({"kind": "StatefulSet", "metadata": {"name": format!("mnist-{run}-worker"), "namespace": "team-a", "labels": labels("worker"),
                "annotations": {"khorovod.dev/replicas": "2"}}, "spec": {"replicas": 2}}),
            json!({"kind": "Job", "metadata": {"name": format!("mnist-{run}-launcher"), "namespace": "team-a", "labels": labels("launcher"),
                "creationTimestamp": time}, "status": status}),
            pod(&format!("mnist-{run}-worker-0"), "worker", &running, ready),
            pod(&format!("mnist-{run}-worker-1"), "worker", &running, ready),
            pod(&format!("mnist-{run}-launcher-x"), "launcher", launcher, ready),
            json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "mnist-data", "namespace": "team-a", "labels": {"khorovod.dev/job": "mnist"}}, "status": {"phase": "Bound"}}),
        ]
    }

    /// The name of the run of job.yaml.
    fn run(&self) -> String {
        let (_, plan, _) = run(khorovod(self.folder.path()).args(["plan", "-o", "json", "job.yaml"]));
        serde_json::from_str::<Value>(&plan).unwrap()["jobs"][0]["run"].as_str().unwrap().to_owned()
    }

    fn running(&self) -> Vec<Value> {
        self.job(&json!({"active": 1}), &json!({"running": {"startedAt": "2026-11-26T07:00:00Z"}}), true)
    }

    /// The objects after the end, without workers.
    fn ended(&self, code: i32, message: &str) -> Vec<Value> {
        let kind = if code == 0 { "Complete" } else { "Failed" };
        let status = json!({"startTime": "2026-11-26T07:00:00Z", "completionTime": "2026-11-26T07:10:00Z",
            "conditions": [{"type": kind, "status": "True", "lastTransitionTime": "2026-11-26T07:10:00Z"}]});
        let mut items = self.job(&status, &json!({"terminated": {"exitCode": code, "message": message}}), false);
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        items[5]["status"]["phase"] = json!(phase);
        items.drain(3..5);
        items
    }
}

fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    each_value(value, path, &mut |path, _| {
        found.insert(path.to_owned());
    });
}

/// Calls a function with the path and the value of each field that has no fields itself.
fn each_value(value: &Value, path: &str, see: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(of) => {
            let dot = if path.is_empty() { "" } else { "." };
            of.iter().for_each(|(name, field)| each_value(field, &format!("{path}{dot}{name}"), see));
        }
        Value::Array(items) => items.iter().for_each(|item| each_value(item, &format!("{path}[]"), see)),
        _ => see(path, value),
    }
}

#[test]
fn run_applies_and_follows_to_the_end() {
    let place = Place::new();
    let run = place.run();
    place.answer(
        "objects.2.json",
        &place.job(&json!({"active": 1}), &json!({"waiting": {"reason": "ContainerCreating"}}), false),
    );
    place.answer("objects.3.json", &place.running());
    place.answer("objects.json", &place.ended(0, "trained"));
    place.answer("objects.1.json", &[]);
    place.write(&format!("mnist-{run}-launcher-x.log"), "loss 0.1\ntrained\n");
    let (code, out, err) = place.khorovod(&["run", "job.yaml"]);
    assert_eq!((code, out.as_str()), (0, "loss 0.1\ntrained\n"), "{err}");
    for line in [
        "mnist: new, because the cluster does not have it\n".to_owned(),
        "creates 2 objects\n".to_owned(),
        format!("note: mnist, run {run}: waiting for the launcher: starting (for "),
        format!("note: mnist, run {run}: running: all pods are Ready"),
        format!("note: mnist, run {run}: trained in 10 min; workers are released ("),
    ] {
        assert!(err.contains(&line), "{line}{err}");
    }
    let calls = place.calls();
    let position = |words: &str| {
        calls.iter().position(|call| call.starts_with(words)).unwrap_or_else(|| panic!("{words}: {calls:#?}"))
    };
    assert!(position("config view") < position("get configmaps,jobs.batch"));
    assert!(position("apply --dry-run=server -f -") < position("apply -f -"));
    assert_eq!(calls.iter().filter(|call| call.starts_with("logs")).count(), 1, "{calls:#?}");
    // It applies the output of `render`.
    let (_, rendered, _) =
        super::run(khorovod(place.folder.path()).args(["render", "job.yaml"]).env("KHOROVOD_SSH_SEED", SEED));
    assert_eq!(fs::read_to_string(place.fake.join("apply.yaml")).unwrap(), rendered);
    assert_eq!(fs::read_to_string(place.fake.join("dry-run.yaml")).unwrap(), rendered);
}

#[test]
fn run_fails_if_the_job_fails() {
    let place = Place::new();
    place.answer("objects.json", &place.ended(42, "failed after 4 attempts; the last: training ended with code 1"));
    let (code, _, err) = place.khorovod(&["run", "job.yaml"]);
    assert!(code == 1 && err.contains("failed (exit code 42): failed after 4 attempts"), "{code}{err}");
    // The spec in the cluster has another image.
    assert!(
        err.contains("mnist: restarts the run\n  because\n    image: ghcr.io/acme/mnist:1.3 → ghcr.io/acme/mnist:1.4"),
        "{err}"
    );
}

#[test]
fn run_reports_that_the_run_has_already_ended() {
    let place = Place::new();
    place.answer("objects.json", &place.ended(0, "trained"));
    place.write("apply.txt", "service/mnist unchanged\njob.batch/mnist-abc-launcher unchanged\n");
    let (code, out, err) = place.khorovod(&["run", "job.yaml"]);
    assert!(code == 0 && out.is_empty() && err.contains("leaves 2 objects unchanged"), "{out}{err}");
    assert!(
        err.contains("trained in 10 min")
            && err.contains("nothing starts; to run it again: khorovod run --set runTag=2"),
        "{err}"
    );
}

/// kubectl's log never ends here, like that of a training.
#[test]
fn ctrl_c_detaches_and_names_the_way_back() {
    let place = Place::new();
    let run = place.run();
    place.answer("objects.json", &place.running());
    place.write(&format!("mnist-{run}-launcher-x.log"), "loss 0.1\n");
    place.write("logs.sleep", "");
    let mut child =
        place.command().args(["run", "job.yaml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "loss 0.1\n");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(
        err.contains("it continues; to come back: khorovod status job.yaml --watch, khorovod logs job.yaml -f"),
        "{err}"
    );
    assert!(err.contains("to end it: khorovod stop job.yaml"), "{err}");
}

#[test]
fn run_applies_nothing_if_anything_is_wrong() {
    let place = Place::new();
    fs::write(place.folder.path().join("bad.yaml"), JOB.replace("gpus", "gpsu")).unwrap();
    let (code, out, err) = place.khorovod(&["run", "bad.yaml"]);
    assert!(code == 1 && out.is_empty() && err.contains("error[unknown-field]"), "{err}");
    place.write("dry-run.fail", "Error from server (Forbidden): error when creating \"STDIN\": jobs.batch is forbidden: User \"ann\" cannot create\n");
    let (code, out, err) = place.khorovod(&["run", "job.yaml"]);
    assert!(code == 3 && out.is_empty() && err.contains("nothing was applied"), "{err}");
    assert!(err.contains("ask your cluster administrator for this permission"), "{err}");
    let (code, _, err) = place.khorovod(&["run", "--target", "slurm", "job.yaml"]);
    assert!(code == 2 && err.contains("sbatch"), "{err}");
    assert!(!place.calls().iter().any(|call| call.starts_with("apply -f")), "{:#?}", place.calls());
}

#[test]
fn run_uses_the_namespace_of_the_context() {
    let place = Place::new();
    place.write("namespace.txt", "team-a");
    let (code, out, err) = place.khorovod(&["run", "--detach", "job.yaml", "--context", "c1", "--kubeconfig", "k"]);
    assert!(
        code == 0 && out.contains("creates 2 objects\napplied mnist; to follow it: khorovod status job.yaml --watch"),
        "{out}{err}"
    );
    let applied = fs::read_to_string(place.fake.join("apply.yaml")).unwrap();
    assert!(applied.contains("namespace: team-a"), "{applied}");
    let calls = place.calls();
    assert!(calls.iter().all(|call| call.starts_with("--context=c1 --kubeconfig=k ")), "{calls:#?}");
    assert!(calls.iter().any(|call| call.contains("--namespace=team-a get configmaps")), "{calls:#?}");
}

#[test]
fn dry_runs_only_print_the_calls() {
    let place = Place::new();
    for (args, line) in [
        (&["run", "--set", "workers.gpus=4", "job.yaml"][..], "khorovod render --set workers.gpus=4 job.yaml | "),
        (&["status", "mnist"], " --selector=khorovod.dev/job=mnist "),
        (&["logs", "job.yaml", "--tail", "5"], " logs POD --tail=5\n"),
        (&["diff", "job.yaml"], " get configmaps,jobs.batch"),
        (
            &["stop", "mnist", "-n", "team-a"],
            " --namespace=team-a delete jobs.batch --selector=khorovod.dev/job=mnist --cascade=foreground",
        ),
        (&["list", "-A"], " --all-namespaces\n"),
        (&["wait"], " --selector=khorovod.dev/job=mnist "),
    ] {
        let (code, out, err) = place.khorovod(&[args, &["--dry-run"]].concat());
        assert!(code == 0 && out.contains(line) && out.contains("tests/cli/kubectl"), "{args:?}: {out}{err}");
    }
    assert!(place.calls().is_empty(), "{:#?}", place.calls());
}

#[test]
fn the_fields_of_a_status() {
    let place = Place::new();
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md")).unwrap();
    let table = page.split("<!-- fields: status -->\n").nth(1).unwrap().split("<!-- end -->").next().unwrap();
    let listed: BTreeSet<&str> = table.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    let mut found = BTreeSet::new();
    let mut items = place.running();
    // Without progress for a long time, no remaining time is estimated.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let report = json!({"phase": "waiting", "since": now, "attempt": 2, "failures": 1, "retries": 3, "lastEnd": "a",
        "step": 1, "steps": 9, "unit": "step", "progressAt": now, "held": 10, "trained": 5, "later": true});
    items[2]["metadata"]["annotations"] = json!({"khorovod.dev/status": report.to_string()});
    items[4]["status"]["conditions"] = json!([]);
    // The status of a limit, and another run.
    items[1]["spec"]["template"] =
        json!({"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}});
    let mut other = items[2].clone();
    other["metadata"]["labels"]["khorovod.dev/run"] = json!("old");
    let all = [items, vec![other]].concat();
    let mut trains = all.clone();
    let report = report.to_string().replace("\"waiting\"", "\"training\"");
    trains[2]["metadata"]["annotations"]["khorovod.dev/status"] = json!(report);
    for items in [all, trains, place.ended(42, "failed")] {
        place.answer("objects.json", &items);
        let (code, out, err) = place.khorovod(&["status", "job.yaml", "-o", "json"]);
        assert_eq!(code, 0, "{err}");
        fields(&serde_json::from_str(&out).unwrap(), "", &mut found);
    }
    let plain = |name: &str| name.replace('?', "");
    let missing: Vec<_> =
        listed.iter().filter(|name| !name.contains("notes[]") && !found.contains(&plain(name))).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let listed: BTreeSet<String> = listed.iter().map(|name| plain(name)).collect();
    let unlisted: Vec<_> = found.iter().filter(|name| !listed.contains(*name)).collect();
    assert!(unlisted.is_empty(), "{unlisted:#?}");
}

/// In each phase that the reference lists, `status` and `list` print the phase, and fields of the types in the reference.
#[test]
fn the_json_of_each_phase() {
    let place = Place::new();
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md")).unwrap();
    let rows = page.split("<!-- fields: status -->\n").nth(1).unwrap().split("<!-- end -->").next().unwrap().lines();
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`')).collect::<Vec<_>>());
    let types: Vec<(String, String)> = cells
        .filter(|cells| cells.len() > 3 && cells[1].starts_with("jobs"))
        .map(|cells| (cells[1].replace('?', ""), cells[2].to_owned()))
        .collect();
    let listed: BTreeSet<&str> = page
        .split("| Phase | Meaning |\n|---|---|\n")
        .nth(1)
        .unwrap()
        .lines()
        .map_while(|row| row.strip_prefix("| `")?.split('`').next())
        .collect();

    let reports = |phase: &str| {
        let mut items = place.running();
        let report =
            json!({"phase": phase, "since": 1, "attempt": 1, "failures": 0, "retries": 3, "held": 1, "trained": 1});
        items[2]["metadata"]["annotations"] = json!({"khorovod.dev/status": report.to_string()});
        items
    };
    let changed = |pointer: &str, value: Value| {
        let mut items = place.running();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        items[2].pointer_mut(parent).unwrap()[key] = value;
        items
    };
    let mut recovering = reports("waiting");
    let report = json!({"phase": "waiting", "attempt": 2, "failures": 1, "retries": 3, "lastEnd": "lost worker a"});
    recovering[2]["metadata"]["annotations"] = json!({"khorovod.dev/status": report.to_string()});
    let mut suspended = changed("/spec", json!({"suspend": true}));
    suspended.drain(3..6);
    let mut without_job = place.running();
    without_job.drain(2..6);
    let cases = [
        ("queued", suspended),
        ("waiting", reports("waiting")),
        ("preparing", reports("preparing")),
        ("training", reports("training")),
        ("running", place.running()),
        ("recovering", recovering),
        ("saving", reports("saving")),
        ("uploading", reports("uploading")),
        ("stopping", changed("/metadata/deletionTimestamp", json!("2026-11-26T07:00:00Z"))),
        ("stopped", without_job),
        ("trained", place.ended(0, "trained")),
        ("failed", place.ended(42, "failed")),
        ("superseded", place.ended(43, "superseded: run a is current")),
        ("pastDeadline", place.ended(44, "past its deadline of 600 s")),
    ];
    assert_eq!(cases.iter().map(|(phase, _)| *phase).collect::<BTreeSet<_>>(), listed);
    for (phase, items) in cases {
        place.answer("objects.json", &items);
        for command in [&["status", "mnist", "-o", "json"][..], &["list", "-o", "json"]] {
            let (code, out, err) = place.khorovod(command);
            assert_eq!(code, 0, "{phase}: {err}");
            let printed: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(printed["jobs"][0]["phase"], phase, "{command:?}: {out}");
            each_value(&printed, "", &mut |path, value| {
                let found = types.iter().find(|(name, _)| name == path).unwrap_or_else(|| panic!("{phase}: {path}"));
                let is_right = match found.1.as_str() {
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "boolean" => value.is_boolean(),
                    other => panic!("{other}"),
                };
                assert!(is_right, "{phase}: {path} is {value}, not of the type {}", found.1);
            });
        }
    }
    place.answer("objects.json", &[]);
    let (code, out, _) = place.khorovod(&["status", "mnist", "-o", "json"]);
    assert_eq!((code, out.as_str()), (3, ""));
}

#[test]
fn status_is_one_page_with_three_calls() {
    let place = Place::new();
    let run = place.run();
    place.answer(
        "objects.json",
        &place.job(&json!({"active": 1}), &json!({"running": {"startedAt": "2026-11-26T07:00:00Z"}}), false),
    );
    place.write(&format!("mnist-{run}-launcher-x.log"), "a line\nwith \u{1b}[31mcolour\n");
    let (code, out, err) = place.khorovod(&["status", "job.yaml", "-n", "team-a"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for line in [
        &format!("mnist, run {run}: waiting for 2 of 2 workers: 2 started, and not Ready yet (for "),
        "  workers   0 of 2 Ready\n",
        "  log       mnist-",
        "    a line\n",
        "  next      khorovod logs job.yaml -f\n",
    ] {
        assert!(out.contains(line), "{line}{out}");
    }
    assert!(!out.contains('\u{1b}'), "{out}");
    assert_eq!(place.calls().len(), 3, "{:#?}", place.calls());
    assert!(place.calls().iter().all(|call| call.starts_with("--namespace=team-a ")));
    // Without waiting pods, events are not needed.
    place.answer("objects.json", &place.ended(0, "trained"));
    let (_, out, _) = place.khorovod(&["status", "mnist", "--lines", "0"]);
    assert!(out.contains("trained in 10 min; workers are released"), "{out}");
    assert_eq!(place.calls().len(), 4, "{:#?}", place.calls());
}

#[test]
fn status_names_unreadable_and_missing_objects() {
    let place = Place::new();
    let (code, out, err) = place.khorovod(&["status", "mnist", "-n", "team-a"]);
    assert!(
        code == 3 && out.is_empty() && err.contains("no job mnist in namespace team-a; `khorovod list -A` lists"),
        "{err}"
    );
    let forbidden = |kind: &str| {
        format!("Error from server (Forbidden): {kind} is forbidden: User \"ann\" cannot list resource \"{kind}\"\n")
    };
    // kubectl prints the rest.
    place.write("get.part", &json!({ "items": place.running() }).to_string());
    place.write("get.fail", &format!("{}{}", forbidden("configmaps"), forbidden("jobs.batch")));
    let (code, out, err) = place.khorovod(&["status", "mnist"]);
    assert!(
        code == 0 && out.contains("note      you may not read configmaps, so this may be incomplete"),
        "{out}{err}"
    );
    place.write("get.part", "");
    let all =
        ["configmaps", "jobs.batch", "statefulsets.apps", "pods", "persistentvolumeclaims"].map(forbidden).concat();
    place.write("get.fail", &all);
    let (code, _, err) = place.khorovod(&["status", "mnist"]);
    assert!(code == 3 && err.contains("ask your cluster administrator for this permission"), "{err}");
    place.write(
        "get.fail",
        "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n",
    );
    let (code, _, err) = place.khorovod(&["status", "mnist"]);
    assert!(code == 3 && err.contains("kubectl has no cluster: select one with --context"), "{err}");
    let (code, _, err) = run(place.command().args(["status", "mnist"]).env("KUBECTL", "no-such-kubectl"));
    assert!(
        code == 3 && err.contains("no-such-kubectl is not in PATH") && err.contains("or name it in KUBECTL"),
        "{err}"
    );
    for args in [&["status", "Not a name"][..], &["status", "a/b"]] {
        let (code, _, err) = place.khorovod(args);
        assert!(code == 2 && err.contains("neither a file nor the name of a job"), "{err}");
    }
    fs::remove_file(place.folder.path().join("job.yaml")).unwrap();
    let (code, _, err) = place.khorovod(&["status"]);
    assert!(code == 2 && err.contains("name a job or its spec"), "{err}");
}

#[test]
fn watch_prints_changes_until_the_end() {
    let place = Place::new();
    place.answer("objects.1.json", &place.running());
    place.answer("objects.2.json", &place.running());
    place.answer("objects.json", &place.ended(0, "trained"));
    let (code, out, err) = place.khorovod(&["status", "mnist", "--watch", "--interval", "1s"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len()), (0, 2), "{out}{err}");
    assert!(lines[0].contains(": running: ") && lines[1].contains(": trained in 10 min"), "{out}");
}

#[test]
fn logs_of_launchers_ranks_and_workers() {
    let place = Place::new();
    let run = place.run();
    place.answer("objects.json", &place.running());
    place.write(
        &format!("mnist-{run}-launcher-x.log"),
        "12:00:00 khorovod: launching\n[1,0]<stdout>: a\n[1,1]<stdout>: b\n",
    );
    place.write(&format!("mnist-{run}-worker-0.log"), "worker 0 answers\n");
    place.write(&format!("mnist-{run}-worker-1.log"), "worker 1 answers\n");
    for (args, expected) in [
        (&["mnist"][..], "12:00:00 khorovod: launching\n[1,0]<stdout>: a\n[1,1]<stdout>: b\n"),
        (&["mnist", "--rank", "1"], "[1,1]<stdout>: b\n"),
        (&["mnist", "--worker", "1"], "worker 1 answers\n"),
        (
            &["mnist", "--worker", "1", "--worker", "worker-0"],
            "[worker-1] worker 1 answers\n[worker-0] worker 0 answers\n",
        ),
        (
            &["mnist", "--all"],
            "[launcher] 12:00:00 khorovod: launching\n[launcher] [1,0]<stdout>: a\n[launcher] [1,1]<stdout>: b\n[worker-0] worker 0 answers\n[worker-1] worker 1 answers\n",
        ),
    ] {
        let (code, out, err) = place.khorovod(&[&["logs"], args].concat());
        assert_eq!((code, out.as_str()), (0, expected), "{args:?}: {err}");
    }
    let (code, _, err) = place.khorovod(&["logs", "mnist", "--worker", "7"]);
    assert!(code == 2 && err.contains("has no worker 7; its pods are launcher, worker-0, worker-1"), "{err}");
    let (code, _, err) = place.khorovod(&["logs", "mnist", "--failed"]);
    assert!(code == 3 && err.contains("no pod of mnist has failed: running"), "{err}");
    let _ = place.khorovod(&["logs", "mnist", "--tail", "3", "--since", "10m", "--timestamps"]);
    let last = place.calls().into_iter().rfind(|call| call.starts_with("logs")).unwrap();
    assert_eq!(last, format!("logs mnist-{run}-launcher-x --tail=3 --since=600s --timestamps"));
    fs::remove_file(place.fake.join(format!("mnist-{run}-worker-0.log"))).unwrap();
    let (code, out, err) = place.khorovod(&["logs", "mnist", "--worker", "0", "--worker", "1"]);
    assert!(
        code == 0 && out == "[worker-1] worker 1 answers\n" && err.contains("no log of mnist-"),
        "{code}{out}{err}"
    );
}

/// 40 pods of torchrun, of which each prints the output of its own ranks.
#[test]
fn logs_follow_forty_pods_and_end_with_the_run() {
    let place = Place::new();
    let run = place.run();
    let mut items = place.ended(0, "trained");
    let job = &mut items[2];
    job["metadata"]["labels"]["app.kubernetes.io/component"] = json!("worker");
    job["spec"] = json!({"completionMode": "Indexed", "completions": 40});
    let pod = items[3].clone();
    items.truncate(3);
    let mut expected = BTreeSet::new();
    for index in 0..40 {
        let mut pod = pod.clone();
        let name = format!("mnist-{run}-{index}-x");
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["labels"]["app.kubernetes.io/component"] = json!("worker");
        pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = json!(index.to_string());
        pod["spec"]["containers"][0]["command"] = json!(["/bin/bash", "/etc/khorovod/scripts/agent.sh"]);
        place.write(&format!("{name}.log"), &format!("rank of pod {index}\n"));
        expected.insert(format!("[worker-{index}] rank of pod {index}"));
        items.push(pod);
    }
    place.answer("objects.json", &items);
    for args in [&["logs", "mnist", "-f"][..], &["logs", "mnist"]] {
        let (code, out, err) = place.khorovod(args);
        let lines: BTreeSet<String> = out.lines().map(str::to_owned).collect();
        assert_eq!((code, lines), (0, expected.clone()), "{err}");
    }
    for args in [["--worker", "2"], ["--rank", "17"]] {
        // The spec has eight slots per worker, so rank 17 runs in pod 2.
        let (code, out, err) = place.khorovod(&[&["logs", "mnist"], &args[..]].concat());
        assert_eq!((code, out.as_str()), (0, "rank of pod 2\n"), "{err}");
    }
    // The other pods may start later.
    place.answer("objects.json", &items[..4]);
    let (code, out, err) = place.khorovod(&["logs", "mnist", "-f"]);
    assert_eq!((code, out.as_str()), (0, "[worker-0] rank of pod 0\n"), "{err}");
}

/// The connection is lost while the container prints several lines per second.
#[test]
fn a_log_that_is_opened_again_has_no_line_twice() {
    for command in ["logs", "run"] {
        let place = Place::new();
        let pod = format!("mnist-{}-launcher-x", place.run());
        for look in 1..=3 {
            place.answer(&format!("objects.{look}.json"), &place.running());
        }
        place.answer("objects.json", &place.ended(0, "trained"));
        let line = |time: &str, text: &str| format!("2026-11-26T07:00:{time}Z {text}\n");
        let log = [
            ("01.100000000", "a"),
            ("02.100000000", "b"),
            ("02.200000000", "c"),
            ("02.200000000", "d"),
            ("03.000000000", "e"),
        ];
        place.write(&format!("{pod}.log"), &log.map(|(time, text)| line(time, text)).concat());
        place.write(&format!("{pod}.cut"), "3");
        let args: &[&str] = if command == "logs" { &["logs", "mnist", "-f"] } else { &["run", "job.yaml"] };
        let (code, out, err) = place.khorovod(args);
        assert_eq!((code, out.as_str()), (0, "a\nb\nc\nd\ne\n"), "{command}: {err}");
        let calls: Vec<String> = place.calls().into_iter().filter(|call| call.starts_with("logs")).collect();
        let first = format!("logs {pod} --follow --timestamps");
        // The other calls find no further line.
        assert_eq!(calls[..2], [first.clone(), format!("{first} --since-time=2026-11-26T07:00:02.200000000Z")]);
    }
}

/// A file in the folder does not change which job a command is about.
#[test]
fn a_word_that_can_be_a_name_is_a_name() {
    let place = Place::new();
    let here = place.folder.path();
    fs::write(here.join("mnist"), JOB.replace("name: mnist", "name: other")).unwrap();
    place.answer("objects.json", &place.running());
    let (code, out, err) = place.khorovod(&["status", "mnist"]);
    assert!(code == 0 && out.starts_with("mnist, run "), "{out}{err}");
    assert!(place.calls().last().is_some_and(|call| call.starts_with("logs mnist-")), "{:?}", place.calls());
    place.answer("objects.json", &[]);
    let (code, _, err) = place.khorovod(&["status", "./mnist"]);
    assert!(code == 3 && err.contains("no job other in"), "{err}");
    let (code, _, err) = place.khorovod(&["status", "mnist"]);
    assert!(
        code == 3 && err.contains("no job mnist in") && err.contains("for the file of that name, write ./mnist"),
        "{err}"
    );
    // A spec is one by its ending, also if it does not exist or a job may have that name.
    let (code, _, err) = place.khorovod(&["status", "absent.yaml"]);
    assert!(code == 3 && err.contains("cannot read absent.yaml"), "{err}");
}

#[test]
fn stop_signals_first_and_lists_the_remaining_objects() {
    let place = Place::new();
    let run = place.run();
    place.answer("objects.1.json", &place.running());
    let mut items = place.running();
    items.drain(2..6);
    place.answer("objects.json", &items);
    let (code, out, err) = place.khorovod(&["stop", "mnist"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains(
            "note: the ranks get the signal of lifecycle.checkpoint, and its grace period to save a checkpoint\n"
        ),
        "{err}"
    );
    for line in [
        "mnist is stopped, and its resources are released\n",
        "these stay: the claim mnist-data with its data, and the small objects of the job",
        "delete -l khorovod.dev/job=mnist statefulset,job,",
    ] {
        assert!(out.contains(line), "{line}{out}");
    }
    let changes =
        |place: &Place| -> Vec<String> { place.calls().into_iter().filter(|call| !call.starts_with("get")).collect() };
    let selector = "--selector=khorovod.dev/job=mnist";
    assert_eq!(
        changes(&place),
        [
            format!("delete jobs.batch {selector} --cascade=foreground --wait=true --ignore-not-found"),
            format!("scale statefulsets {selector} --replicas=0"),
            format!("wait pods {selector} --for=delete --timeout=20s"),
        ]
    );
    place.answer("objects.json", &place.ended(0, "trained"));
    let (code, out, err) = place.khorovod(&["stop", "mnist"]);
    assert!(code == 0 && out.contains("mnist has already ended: trained"), "{err}");
    assert_eq!(changes(&place).len(), 3, "{run}");
    place.answer("objects.json", &place.running());
    let (code, out, err) = place.khorovod(&["stop", "mnist", "--now"]);
    assert!(
        code == 0
            && !err.contains("lifecycle.checkpoint")
            && out.contains("mnist is stopped, and its pods end within seconds"),
        "{err}"
    );
    assert!(changes(&place)[3].contains("--cascade=background --wait=false"), "{:#?}", changes(&place));
    assert_eq!(changes(&place)[5], format!("delete pods {selector} --grace-period=1 --wait=false --ignore-not-found"));
}

#[test]
fn list_has_a_line_for_each_job() {
    let place = Place::new();
    let running = place.running();
    let mut ended = place.ended(42, "failed");
    for item in &mut ended {
        item["metadata"]["namespace"] = json!("a-team");
        item["metadata"]["labels"]["khorovod.dev/job"] = json!("gpt");
    }
    ended[0]["metadata"]["name"] = json!("gpt-current");
    // The first call reads only ConfigMaps.
    let (first, second) = (vec![running[0].clone(), ended[0].clone()], [&running[1..], &ended[1..]].concat());
    for (number, items) in [(1, &first), (2, &second), (3, &first), (4, &second)] {
        place.answer(&format!("objects.{number}.json"), items);
    }
    let (code, out, err) = place.khorovod(&["list", "-A"]);
    let rows: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(code, 0, "{err}");
    assert_eq!(rows[0], ["NAMESPACE", "JOB", "RUN", "PHASE", "FOR", "WORKERS", "GPUS", "STATE"]);
    assert_eq!((rows[1][0], rows[1][1], rows[1][3]), ("team-a", "mnist", "running"), "{out}");
    assert_eq!((rows[2][0], rows[2][1], rows[2][3]), ("a-team", "gpt", "failed"), "{out}");
    assert!(place.calls().iter().all(|call| call.ends_with("--all-namespaces")), "{:#?}", place.calls());
    let (_, out, _) = place.khorovod(&["list", "--active"]);
    assert!(out.contains("mnist") && !out.contains("gpt") && !out.contains("NAMESPACE"), "{out}");
    let (code, out, err) = Place::new().khorovod(&["list"]);
    assert!(code == 0 && out.is_empty() && err.contains("there is no job in the namespace of the context"), "{err}");
}

#[test]
fn wait_waits_for_the_given_state() {
    let place = Place::new();
    place.answer("objects.1.json", &place.running());
    place.answer("objects.json", &place.ended(0, "trained"));
    let (code, out, err) = place.khorovod(&["wait", "mnist"]);
    assert!(code == 0 && err.contains("running: ") && out.contains("trained in"), "{out}{err}");
    place.answer("objects.json", &place.ended(42, "failed after 1 attempt"));
    for (args, expected) in [
        (&["wait", "mnist"][..], 1),
        (&["wait", "mnist", "--for", "running"], 1),
        (&["wait", "mnist", "--for", "released"], 0),
    ] {
        let (code, out, err) = place.khorovod(args);
        assert!(code == expected && format!("{out}{err}").contains("failed (exit code 42)"), "{args:?}: {out}{err}");
    }
    place.answer("objects.json", &place.running());
    let (code, _, _) = place.khorovod(&["wait", "mnist", "--for", "running"]);
    assert_eq!(code, 0);
    let began = Instant::now();
    let (code, _, err) = place.khorovod(&["wait", "mnist", "--timeout", "1s"]);
    assert!(code == 1 && err.contains("the time is over: mnist, run "), "{err}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// A forgotten `--target` would start a second run beside that of the operator.
#[test]
fn a_job_of_another_target_is_not_replaced_by_accident() {
    let place = Place::new();
    let mut items = place.running();
    items[0]["metadata"]["annotations"]["khorovod.dev/target"] = json!("mpijob");
    // The pods and Jobs of an operator.
    items.remove(1);
    for item in &mut items[1..5] {
        item["metadata"]["ownerReferences"] = json!([{"kind": "MPIJob", "name": "mnist-x"}]);
    }
    place.answer("objects.json", &items);
    for command in ["diff", "run"] {
        let (code, out, err) = place.khorovod(&[command, "job.yaml"]);
        assert!(
            code == 2
                && out.is_empty()
                && err.contains("the cluster has mnist for the target mpijob: add `--target mpijob`"),
            "{command}: {err}"
        );
        let (code, out, err) = place.khorovod(&[command, "job.yaml", "--target", "jobset"]);
        assert!(
            code == 0 && out.starts_with("mnist: restarts the run\n  because\n    --target: mpijob → jobset\n"),
            "{out}{err}"
        );
        let (code, out, err) = place.khorovod(&[command, "job.yaml", "--target", "mpijob"]);
        assert!(code == 0 && out.contains("image: ghcr.io/acme/mnist:1.3 → ghcr.io/acme/mnist:1.4"), "{out}{err}");
    }
    let (code, out, err) = place.khorovod(&["status", "job.yaml"]);
    assert!(
        code == 0 && !out.contains("the spec has changed") && out.contains("the MPIJob mnist-x runs this job"),
        "{out}{err}"
    );
    let (code, _, err) = place.khorovod(&["stop", "job.yaml"]);
    assert!(code == 2 && err.contains("the MPIJob mnist-x runs this job"), "{err}");
    for more in [&["diff"][..], &["diff", "--objects"], &["diff", "--dry-run"], &["run", "--detach"]] {
        let (code, out, err) = place.khorovod(&[more, &["--target", "slurm", "job.yaml"]].concat());
        assert!(
            code == 2 && out.is_empty() && err.contains("the target slurm is a batch script"),
            "{more:?}: {out}{err}"
        );
    }
}

#[test]
fn diff_is_plan_against_the_cluster() {
    let place = Place::new();
    let (code, out, _) = place.khorovod(&["diff", "job.yaml"]);
    assert_eq!((code, out.as_str()), (0, "mnist: new, because the cluster does not have it\n"));
    place.answer("objects.json", &place.running());
    let (_, out, err) = place.khorovod(&["diff", "job.yaml", "--set", "lifecycle.retries=5"]);
    fs::write(place.folder.path().join("old.yaml"), JOB.replace("1.4", "1.3")).unwrap();
    let args = ["plan", "--against", "old.yaml", "--set", "lifecycle.retries=5", "job.yaml"];
    let (_, planned, _) = run(khorovod(place.folder.path()).args(args));
    assert_eq!(out, planned, "{err}");
    assert!(out.contains("image: ghcr.io/acme/mnist:1.3 → ghcr.io/acme/mnist:1.4"), "{out}");
    // A job whose spec is not in the cluster is compared by its objects.
    let mut items = place.running();
    items[0]["metadata"]["annotations"] = json!({"khorovod.dev/spec-omitted": "a value looks like a secret"});
    place.answer("objects.json", &items);
    let (code, out, err) = place.khorovod(&["diff", "job.yaml"]);
    assert!(
        code == 0 && out.starts_with("mnist in team-a: refused in part; ") && !out.contains("Secret"),
        "{out}{err}"
    );
    assert!(
        place.calls().last().unwrap().starts_with("get configmaps,services,networkpolicies,"),
        "{:#?}",
        place.calls()
    );
    place.write("diff.txt", "-  replicas: 1\n+  replicas: 2\n");
    let (code, out, err) = place.khorovod(&["diff", "job.yaml", "--objects"]);
    assert_eq!((code, out.as_str()), (0, "-  replicas: 1\n+  replicas: 2\n"), "{err}");
    assert!(fs::read_to_string(place.fake.join("diff.yaml")).unwrap().contains("kind: StatefulSet"));
    place.write("diff.fail", "Error from server (Forbidden): nothing\n");
    let (code, _, err) = place.khorovod(&["diff", "job.yaml", "--objects"]);
    assert!(code == 3 && err.contains("Forbidden"), "{err}");
}
