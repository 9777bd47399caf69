//! `fix` and `fmt`: specs edited in place, as a diff, or checked.

use std::fs;

use super::common::{JOB, khorovod, place};
use super::{piped, run};

#[test]
fn fix_applies_every_automatic_fix() {
    let place = place();
    let spec = JOB.replace("gpus", "gpsu").replace("spec:", "spec:\n  runTag: 1");
    fs::write(place.path().join("job.yaml"), &spec).unwrap();
    let fix = |args: &[&str]| run(khorovod(place.path()).arg("fix").args(args).arg("job.yaml"));
    let (code, diff, err) = fix(&["--diff"]);
    assert!(code == 0 && err.contains("2 problems can be fixed"), "{err}");
    assert!(diff.starts_with("--- job.yaml\n+++ job.yaml\n@@ -"), "{diff}");
    assert!(diff.contains("\n-  runTag: 1\n+  runTag: \"1\"\n") && diff.contains("gpsu"), "{diff}");
    assert_eq!(fs::read_to_string(place.path().join("job.yaml")).unwrap(), spec);
    let (code, out, err) = fix(&[]);
    assert!(code == 0 && out.is_empty() && err.contains("2 problems fixed"), "{err}");
    let fixed = fs::read_to_string(place.path().join("job.yaml")).unwrap();
    assert_eq!(fixed, JOB.replace("spec:", "spec:\n  runTag: \"1\""));
    assert_eq!(fix(&["--diff"]), (0, String::new(), "note: 0 problems can be fixed\n".to_owned()));
    // With standard input, the text is the output.
    assert_eq!(piped(khorovod(place.path()).args(["fix", "-q"]), &spec), (0, fixed, String::new()));
}

#[test]
fn fix_prints_problems_without_a_fix() {
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB.replace("gpus: 8", "gpus: 8, nonsense: 1")).unwrap();
    let (code, _, err) = run(khorovod(place.path()).args(["fix", "job.yaml"]));
    assert!(code == 1 && err.contains("error[unknown-field]") && err.contains("nonsense"), "{err}");
}

/// A fix that inserts an example, or that changes what the job does, is left to the user.
#[test]
fn fix_invents_no_value() {
    let place = place();
    let at = place.path().join("job.yaml");
    let specs = [
        JOB.replace("gpus: 8", "gpus:"),
        JOB.replace("gpus: 8", "gpus: 8, slotsPerWorker: 4"),
        JOB.replace("replicas: 4, ", ""),
        JOB.replace("image:", "#image:"),
        JOB.replace("command:", "#command:"),
        JOB.replace("name: mnist", ""),
        JOB.replace("spec:", "spec:\n  workingDir: src"),
        JOB.replace("spec:", "spec:\n  env: {A: {secretKeyRef: {name: a}}}"),
    ];
    for spec in specs {
        assert_ne!(spec, JOB);
        fs::write(&at, &spec).unwrap();
        let (_, _, err) = run(khorovod(place.path()).args(["fix", "job.yaml"]));
        assert_eq!(fs::read_to_string(&at).unwrap(), spec, "{err}");
        assert!(err.contains("0 problems fixed") && err.contains("job.yaml:"), "{spec}{err}");
    }
    // There is only one value for these.
    fs::write(&at, JOB.replace("kind: TrainingJob\n", "")).unwrap();
    let (code, _, err) = run(khorovod(place.path()).args(["fix", "job.yaml"]));
    assert!(code == 0 && fs::read_to_string(&at).unwrap().contains("kind: TrainingJob"), "{err}");
}

#[test]
fn fmt_orders_fields_and_check_only_looks() {
    let place = place();
    let spec = "kind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\nmetadata: {name: a}\n";
    let expected = "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n";
    fs::write(place.path().join("job.yaml"), spec).unwrap();
    let fmt = |args: &[&str]| run(khorovod(place.path()).arg("fmt").args(args).arg("job.yaml"));
    let (code, out, err) = fmt(&["--check"]);
    assert!(code == 1 && out.is_empty() && err.contains("run `khorovod fmt job.yaml`"), "{err}");
    let (code, diff, _) = fmt(&["--diff"]);
    assert!(code == 0 && diff.contains("\n-kind: TrainingJob\n"), "{diff}");
    assert_eq!(fs::read_to_string(place.path().join("job.yaml")).unwrap(), spec);
    assert_eq!(fmt(&[]), (0, String::new(), "note: 1 file changed\n".to_owned()));
    assert_eq!(fs::read_to_string(place.path().join("job.yaml")).unwrap(), expected);
    assert_eq!(fmt(&["--check"]), (0, String::new(), String::new()));
    assert_eq!(piped(khorovod(place.path()).args(["fmt", "-q", "-"]), spec).1, expected);
    let (code, out, err) = piped(khorovod(place.path()).args(["fmt", "-"]), &format!("{spec}spec: [\n"));
    assert!(code == 1 && out.is_empty() && err.contains("error[yaml-"), "{err}");
}

#[test]
fn fmt_prints_the_specs_as_json() {
    let place = place();
    let spec = "kind: ConfigMap\napiVersion: v1\n---\nspec: {workers: {gpus: &n 8, replicas: *n}}\nkind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\n";
    fs::write(place.path().join("job.yaml"), spec).unwrap();
    let fmt = |args: &[&str]| run(khorovod(place.path()).arg("fmt").args(args).arg("job.yaml"));
    let (code, out, err) = fmt(&["-o", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    let expected = serde_json::json!({ "jobs": [{
        "apiVersion": "khorovod.dev/v1alpha1",
        "kind": "TrainingJob",
        "spec": { "workers": { "gpus": 8, "replicas": 8 } },
    }] });
    assert_eq!(found, expected);
    // The fields are in the canonical order.
    assert!(out.find("apiVersion") < out.find("kind") && out.find("kind") < out.find("spec"), "{out}");
    assert_eq!(fmt(&["-o", "jobs.json"]), (0, String::new(), String::new()));
    assert_eq!(fs::read_to_string(place.path().join("jobs.json")).unwrap(), out);
    assert_eq!(fs::read_to_string(place.path().join("job.yaml")).unwrap(), spec);
    assert!(fmt(&["-o", "yaml"]).2.contains("the only format is json"));
    assert_eq!(fmt(&["-o", "json", "--check"]).0, 2);
    fs::write(place.path().join("job.yaml"), "kind: TrainingJob\nspec: {a: on, b: [}\n").unwrap();
    let (code, out, err) = fmt(&["-o", "json"]);
    assert!(code == 1 && out.is_empty() && err.contains("error[yaml-"), "{err}");
}

/// Formatting changes no object, and nothing if it is repeated.
#[test]
fn formatted_examples_render_as_before() {
    let place = place();
    let mut seen = 0;
    for entry in fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")).unwrap() {
        let Ok(spec) = fs::read_to_string(entry.unwrap().path().join("job.yaml")) else { continue };
        let text = khorovod::Text { name: "job.yaml".to_owned(), text: spec };
        let formatted = khorovod::Text { text: khorovod::format(&text).unwrap(), ..text.clone() };
        assert_eq!(khorovod::format(&formatted).unwrap(), formatted.text);
        let comments = |text: &str| text.matches('#').count();
        assert_eq!(comments(&text.text), comments(&formatted.text));
        // The annotation with the spec has the order of its fields.
        let objects = |text: &str| {
            let rendered = piped(khorovod(place.path()).args(["render", "--no-keys", "-q", "-"]), text).1;
            let is_spec = |line: &&str| line.starts_with("    khorovod.dev/spec: ");
            rendered.lines().filter(|line| !is_spec(line)).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(objects(&text.text), objects(&formatted.text));
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}
