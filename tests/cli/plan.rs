//! `plan` compared with objects that were rendered or applied before.

use std::fs;

use super::common::{JOB, SEED, khorovod, place};
use super::{piped, run};

#[test]
fn plan_compares_with_specs_and_rendered_objects() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("old.yaml"), JOB).unwrap();
    fs::write(at("image.yaml"), JOB.replace("1.4", "1.5")).unwrap();
    fs::write(at("label.yaml"), JOB.replace("  name: mnist\n", "  name: mnist\n  labels: {team: a}\n")).unwrap();
    let (code, rendered, _) = run(khorovod(place.path()).args(["render", "old.yaml"]).env("KHOROVOD_SSH_SEED", SEED));
    assert_eq!(code, 0);
    fs::write(at("rendered.yaml"), rendered).unwrap();
    for old in ["old.yaml", "rendered.yaml"] {
        for (new, verdict, reason) in
            [("image.yaml", "restarts", "mnist:1.5"), ("label.yaml", "inPlace", "team"), ("old.yaml", "nothing", "")]
        {
            let args = ["plan", "-o", "json", "--against", old, new];
            let (code, out, err) = run(khorovod(place.path()).args(args));
            assert_eq!(code, 0, "{err}");
            let value: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(value["changes"][0]["effect"], verdict, "{old} {new}: {out}");
            assert!(value["changes"].to_string().contains(reason), "{out}");
            assert_eq!(value["jobs"][0]["ranks"], 32);
        }
    }
    let (code, out, _) = piped(khorovod(place.path()).args(["plan", "--against", "-", "image.yaml"]), JOB);
    assert!(code == 0 && out.contains("restarts the run") && out.contains("1.4 → ghcr.io/acme/mnist:1.5"), "{out}");
}

/// With a topology, Kueue's annotations are in the pods, which cannot change in place.
#[test]
fn a_queue_of_a_job_with_a_topology_starts_a_new_run() {
    let place = place();
    for (name, topology, expected) in
        [("free", "", "inPlace"), ("near", "  placement: {topology: {required: rack}}\n", "restarts")]
    {
        let (old, new) = (format!("{name}.yaml"), format!("{name}-queued.yaml"));
        let job = format!("{JOB}  launcher: torchrun\n{topology}");
        fs::write(place.path().join(&old), &job).unwrap();
        fs::write(place.path().join(&new), format!("{job}  scheduling: {{localQueue: team}}\n")).unwrap();
        let args = ["plan", "-o", "json", "--no-keys", "--against", &old, &new];
        let (code, out, err) = run(khorovod(place.path()).args(args));
        assert_eq!(code, 0, "{err}");
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value["changes"][0]["effect"], expected, "{out}");
    }
}

#[test]
fn folders_of_jobs_are_compared() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    let named = |name: &str| JOB.replace("name: mnist", &format!("name: {name}"));
    fs::create_dir(at("old")).unwrap();
    fs::write(at("old/a.yaml"), named("a")).unwrap();
    // Without a line break at the end.
    fs::write(at("old/b.yaml"), named("b").trim_end()).unwrap();
    fs::write(at("old/gone.yaml"), named("gone")).unwrap();
    fs::write(at("a.yaml"), named("a").trim_end()).unwrap();
    fs::write(at("b.yaml"), named("b").replace("1.4", "1.5")).unwrap();
    fs::write(at("c.yaml"), named("c")).unwrap();
    let args = ["plan", "-o", "json", "--against", "old", "a.yaml", "b.yaml", "c.yaml"];
    let (code, out, err) = run(khorovod(place.path()).args(args));
    assert_eq!(code, 0, "{err}");
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let changes = value["changes"].as_array().unwrap();
    let effects: Vec<_> = changes.iter().map(|change| format!("{} {}", change["job"], change["effect"])).collect();
    let expected = [r#""a" "nothing""#, r#""b" "restarts""#, r#""c" "new""#, r#""gone" "gone""#];
    assert_eq!(effects, expected, "{out}");
}

#[test]
fn applied_objects_are_compared_without_overlays() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("job.yaml"), JOB).unwrap();
    fs::write(at("less.yaml"), "spec: {workers: {replicas: 2}}\n").unwrap();
    let (_, before, _) =
        run(khorovod(place.path()).args(["render", "--no-keys", "--overlay", "less.yaml", "job.yaml"]));
    fs::write(at("before.yaml"), before).unwrap();
    let effects = |args: &[&str]| {
        let (code, out, err) = run(khorovod(place.path()).args(["plan", "-o", "json", "--no-keys"]).args(args));
        assert_eq!(code, 0, "{err}");
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        let all =
            value["changes"].as_array().unwrap().iter().map(|change| change["effect"].as_str().unwrap().to_owned());
        (all.collect::<Vec<_>>().join(" "), err)
    };
    let (effect, err) = effects(&["--against", "job.yaml", "job.yaml", "--set", "workers.replicas=2"]);
    assert!(effect == "restarts" && err.contains("change only the new spec, not OLD"), "{effect}: {err}");
    assert_eq!(effects(&["--against", "job.yaml", "job.yaml", "--overlay", "less.yaml"]).0, "restarts");
    assert_eq!(effects(&["--against", "before.yaml", "job.yaml", "--overlay", "less.yaml"]).0, "nothing");
    // The old objects have no keys, and the new ones have.
    let (_, out, _) =
        run(khorovod(place.path()).args(["plan", "--against", "before.yaml", "--overlay", "less.yaml", "job.yaml"]));
    assert!(out.starts_with("No changes."), "{out}");
    // If the old spec has no namespace, it is that of the new one; rendered objects have their own.
    assert_eq!(effects(&["--against", "job.yaml", "job.yaml", "-n", "team"]), ("nothing".to_owned(), String::new()));
    assert_eq!(
        effects(&["--against", "before.yaml", "job.yaml", "-n", "team", "--overlay", "less.yaml"]).0,
        "new gone"
    );
}

/// Objects name their target by their kinds.
#[test]
fn the_target_of_earlier_objects_is_found() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    let render = |target: &str| {
        let (_, text, _) = run(khorovod(place.path()).args(["render", "--no-keys", "--target", target, "job.yaml"]));
        fs::write(place.path().join("old"), text).unwrap();
    };
    let plan =
        |target: &str| run(khorovod(place.path()).args(["plan", "--against", "old", "--target", target, "job.yaml"]));
    for target in ["plain", "mpijob", "jobset", "trainjob", "volcano"] {
        render(target);
        let (code, out, err) = plan(target);
        assert!(code == 0 && out.starts_with("No changes.") && err.is_empty(), "{target}: {out}{err}");
        let (code, out, err) = plan(if target == "plain" { "jobset" } else { "plain" });
        let expected = format!("old has objects of the target {target}, and is compared with the target");
        assert!(code == 0 && out.contains("restarts the run") && err.contains(&expected), "{target}: {out}{err}");
        assert!(err.contains(&format!("add --target {target}")), "{err}");
    }
    render("slurm");
    let (code, _, err) = plan("slurm");
    assert!(code == 2 && err.contains("old is a batch script"), "{err}");
}

#[test]
fn the_objects_of_a_removed_job_are_deleted_with_its_target() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("old.yaml"), JOB).unwrap();
    fs::write(at("new.yaml"), JOB.replace("name: mnist", "name: other")).unwrap();
    for (target, last) in [("plain", ",rolebinding"), ("mpijob", ",mpijob"), ("volcano", ",job.batch.volcano.sh")] {
        let render = ["render", "--target", target, "old.yaml"];
        let (_, rendered, _) = run(khorovod(place.path()).args(render).env("KHOROVOD_SSH_SEED", SEED));
        fs::write(at("rendered.yaml"), rendered).unwrap();
        for old in ["old.yaml", "rendered.yaml"] {
            let args = ["plan", "--target", target, "-o", "json", "--against", old, "new.yaml"];
            let (code, out, err) = run(khorovod(place.path()).args(args));
            assert_eq!(code, 0, "{err}");
            let value: serde_json::Value = serde_json::from_str(&out).unwrap();
            let gone = value["changes"].as_array().unwrap().iter().find(|change| change["effect"] == "gone").unwrap();
            let delete = gone["delete"].as_str().unwrap();
            assert!(delete.contains("khorovod.dev/job=mnist ") && delete.ends_with(last), "{target} {old}: {delete}");
        }
    }
}

#[test]
fn a_pipeline_can_refuse_a_change() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    fs::write(place.path().join("empty.yaml"), "").unwrap();
    let plan = |old: &str, effects: &str, set: &str| {
        let args = ["plan", "--no-keys", "--against", old, "--fail-on", effects, "--set", set, "job.yaml"];
        let (code, out, _) = run(khorovod(place.path()).args(args));
        (code, out.split(": ").nth(1).unwrap_or_default().split(':').next().unwrap().to_owned())
    };
    assert_eq!(plan("job.yaml", "restarts", "image=other:2"), (1, "restarts the run\n  because\n    image".to_owned()));
    assert_eq!(plan("job.yaml", "refused,gone", "image=other:2").0, 0);
    assert_eq!(plan("job.yaml", "restarts,refused", "lifecycle.deadline=7h").0, 0);
    assert_eq!(plan("job.yaml", "in-place", "lifecycle.deadline=7h").0, 1);
    // A file that the earlier version lacks.
    assert_eq!(plan("empty.yaml", "restarts", "image=other:2"), (0, "new".to_owned()));
    assert_eq!(plan("empty.yaml", "new", "image=other:2").0, 1);
    let (code, _, err) = run(khorovod(place.path()).args(["plan", "--fail-on", "restarts", "job.yaml"]));
    assert!(code == 2 && err.contains("--against"), "{err}");
}

/// With kubectl, the objects of an earlier run stay in the cluster, and its finished Job does not start again.
#[test]
fn going_back_to_an_earlier_text_is_described() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("earlier.yaml"), JOB).unwrap();
    fs::write(at("now.yaml"), JOB.replace("1.4", "1.5")).unwrap();
    let objects = |file: &str| run(khorovod(place.path()).args(["render", "--no-keys", file])).1;
    let earlier = objects("earlier.yaml");
    let of_earlier_run = earlier.split("---\n").filter(|object| object.contains("khorovod.dev/run"));
    fs::write(
        at("cluster.yaml"),
        of_earlier_run.chain([objects("now.yaml").as_str()]).collect::<Vec<_>>().join("---\n"),
    )
    .unwrap();
    let plan = |old: &str, new: &str| run(khorovod(place.path()).args(["plan", "--no-keys", "--against", old, new])).1;
    // The current run is that of the ConfigMap, so nothing differs.
    assert!(plan("cluster.yaml", "now.yaml").starts_with("No changes."), "{}", plan("cluster.yaml", "now.yaml"));
    let back = plan("cluster.yaml", "earlier.yaml");
    assert!(back.contains("exists since an earlier apply") && back.contains("change spec.runTag"), "{back}");
    // Two specs do not contain which runs there were.
    let unknown = plan("now.yaml", "earlier.yaml");
    assert!(unknown.contains("if this spec has run before"), "{unknown}");
    let first = plan("now.yaml", "now.yaml");
    assert!(!first.contains("has run before"), "{first}");
}

/// Rendered objects contain their spec, so a new run is explained by fields of the spec.
#[test]
fn fields_explain_a_new_run_against_rendered_objects() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("job.yaml"), JOB).unwrap();
    let objects = run(khorovod(place.path()).args(["render", "--no-keys", "job.yaml"])).1;
    fs::write(at("old.yaml"), &objects).unwrap();
    let plan = |old: &str, set: &str| {
        run(khorovod(place.path()).args(["plan", "--no-keys", "--against", old, "--set", set, "job.yaml"])).1
    };
    let tagged = plan("old.yaml", r#"runTag="2""#);
    assert!(tagged.contains("because\n    runTag: set to 2\n  note"), "{tagged}");
    let larger = plan("old.yaml", "workers.replicas=9");
    assert!(larger.contains("workers.replicas: ") && !larger.contains("job.sh"), "{larger}");
    // Another version of khorovod gave the run another name.
    let name = objects.split_once("khorovod.dev/run: ").unwrap().1.lines().next().unwrap();
    fs::write(at("older.yaml"), objects.replace(name, "zzzzzz")).unwrap();
    let newer = plan("older.yaml", "workers.replicas=9");
    assert!(newer.contains("workers.replicas: ") && newer.contains("the version of khorovod: changed"), "{newer}");
    // Without their spec, the objects themselves differ.
    let lines: Vec<&str> = objects.lines().filter(|line| !line.contains("khorovod.dev/spec")).collect();
    fs::write(at("without.yaml"), lines.join("\n")).unwrap();
    assert!(plan("without.yaml", "workers.replicas=9").contains("job.sh"));
}

#[test]
fn plan_prints_a_picture_of_a_job_but_not_of_a_change() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    let plan = |args: &[&str]| run(khorovod(place.path()).args(["plan", "job.yaml"]).args(args));
    let (code, svg, err) = plan(&["-o", "svg"]);
    assert!(code == 0 && svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}{err}");
    assert!(svg.contains("ranks 24–31") && svg.contains("32 ranks in total"), "{svg}");
    let (code, out, _) = plan(&["-o", "job.svg"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(place.path().join("job.svg")).unwrap(), svg);
    let (code, out, err) = plan(&["-o", "svg", "--against", "job.yaml"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("svg shows one state of a job"), "{err}");
}

#[test]
fn a_plan_ends_with_the_commands_to_type_next() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    fs::write(place.path().join("less one.yaml"), "spec: {workers: {replicas: 2}}\n").unwrap();
    let plan = |args: &[&str]| run(khorovod(place.path()).arg("plan").args(args)).1;
    let short = plan(&["job.yaml", "--overlay", "less one.yaml", "-n", "ml", "--set", "args=[a b]"]);
    let apply =
        "khorovod render --overlay 'less one.yaml' --set 'args=[a b]' --namespace ml job.yaml | kubectl apply -f -\n";
    assert!(short.contains(apply), "{short}");
    let run = short.lines().next().unwrap().rsplit(' ').next().unwrap();
    let follow = format!(
        "kubectl logs -n ml -f --tail=-1 -l khorovod.dev/job=mnist,khorovod.dev/run={run},app.kubernetes.io/component=launcher\n"
    );
    assert!(short.contains(&follow), "{short}");
    assert!(short.contains("kubectl delete -n ml -l khorovod.dev/job=mnist statefulset,job,"), "{short}");
    assert!(
        !short.contains("lifecycle.retries") && plan(&["--all", "job.yaml"]).contains("lifecycle.retries"),
        "{short}"
    );
    let script = plan(&["--target", "slurm", "job.yaml"]);
    assert!(script.contains(" && sbatch ") && script.contains("scancel ") && !script.contains("kubectl"), "{script}");
}

#[test]
fn the_credentials_of_buckets_are_named() {
    let place = place();
    let plan = |security: &str, storage: &str| {
        let spec = format!("{JOB}  security: {{{security}}}\n  storage:\n{storage}");
        fs::write(place.path().join("job.yaml"), spec).unwrap();
        let (code, out, err) = run(khorovod(place.path()).args(["plan", "job.yaml"]));
        (code, format!("{out}{err}").split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let out = "  - {name: out, mountPath: /out, s3: {bucket: models, direction: out}}\n";
    let sets = "  - {name: set, mountPath: /set, s3: {bucket: sets}}\n";
    let keys = "  - {name: own, mountPath: /own, s3: {bucket: own, direction: both, secretName: s3-keys}}\n";

    let (code, printed) = plan("serviceAccountName: trainer", &[out, sets, keys].concat());
    assert!(
        code == 0 && printed.contains("S3: /out and /set use the role that AWS gives to the ServiceAccount trainer"),
        "{printed}"
    );
    let (code, printed) = plan("", &[sets, keys].concat());
    assert!(code == 0 && printed.contains("S3: /set uses no credentials, as for a public bucket"), "{printed}");
    let (code, printed) = plan("serviceAccountName: trainer", keys);
    assert!(code == 0 && !printed.contains("S3: /own uses"), "{printed}");
    // Without any of both, an upload has no credentials.
    let (code, printed) = plan("", out);
    assert!(code == 1 && printed.contains("s3-upload") && printed.contains("serviceAccountName"), "{printed}");
}
