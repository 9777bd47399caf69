//! `plan --template`: the two templates in docs/repository, the fields of a plan that a template can use, and errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::common::{JOB, khorovod, place};
use super::{piped, run};

/// The path of a template in docs/repository.
fn template(name: &str) -> String {
    format!("{}/docs/repository/templates/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_review_template_makes_a_comment() {
    let place = place();
    let old = format!("{JOB}  env: {{MODE: \"a|b\"}}\n");
    let new = JOB.replace("replicas: 4", "replicas: 8") + "  lifecycle: {deadline: 1h}\n";
    fs::write(place.path().join("old.yaml"), old).unwrap();
    fs::write(place.path().join("new.yaml"), new).unwrap();
    let args = ["plan", "--template", &template("review.md.hbs"), "--against", "old.yaml", "new.yaml"];
    let (code, out, err) = run(khorovod(place.path()).args(args));
    assert_eq!(code, 0, "{err}");
    insta::assert_snapshot!(out, @r"
    ### mnist: restarts the run

    | Field | Before | After |
    |---|---|---|
    | env.MODE | a\|b | (not set) |
    | workers.replicas | 4 | 8 |
    | lifecycle.deadline | (not set) | 1h |

    - if this spec has run before and the Job of that run still exists, kubectl apply starts nothing: then change spec.runTag

    | Job | Workers | Ranks | GPUs | GPU hours at most |
    |---|---|---:|---:|---:|
    | mnist | 8 | 64 | 64 | 64 |
    ");
    // Without `--against`, the comment has the table of jobs only.
    let args = ["plan", "--template", &template("review.md.hbs"), "new.yaml"];
    let (code, out, err) = run(khorovod(place.path()).args(args));
    assert!(code == 0 && out.starts_with("| Job |") && !out.contains("###"), "{out}{err}");
}

#[test]
fn the_chat_template_makes_one_line() {
    let place = place();
    let two = format!("{JOB}---\n{}", JOB.replace("mnist\nspec", "other\nspec").replace(", gpus: 8", ""));
    let (code, out, err) = piped(khorovod(place.path()).args(["plan", "--template", &template("chat.hbs")]), &two);
    assert_eq!(code, 0, "{err}");
    assert_eq!(
        out,
        "mnist: 32 ranks on 32 GPUs (ghcr.io/acme/mnist:1.4); other: 4 ranks on 0 GPUs (ghcr.io/acme/mnist:1.4)\n"
    );
}

#[test]
fn a_template_can_be_a_text() {
    let place = place();
    let plan = |args: &[&str]| piped(khorovod(place.path()).arg("plan").args(args), JOB);
    let (code, out, err) = plan(&["--template-text", "{{#each jobs}}{{job}} {{ranks}}{{/each}}"]);
    assert_eq!((code, out.as_str()), (0, "mnist 32\n"), "{err}");
    for (args, message) in [
        (&["--template", "{{jobs}}"][..], "use --template-text"),
        (&["--template", "-"], "--template reads a file"),
        (&["--template-text", "x", "-o", "json"], "a template prints its own text"),
        (&["--template-text", "x", "--template", "y"], "cannot be used with"),
    ] {
        let (code, out, err) = plan(args);
        assert!(code == 2 && out.is_empty() && err.contains(message), "{args:?}: {err}");
    }
    let (code, _, err) = plan(&["--template", "none.hbs"]);
    assert!(code == 3 && err.contains("cannot read none.hbs"), "{err}");
}

#[test]
fn a_mistake_in_a_template_has_a_place() {
    let place = place();
    fs::write(place.path().join("t.hbs"), "{{#each jobs}}\n  {{rnaks}}\n{{/each}}\n").unwrap();
    let (code, out, err) = piped(khorovod(place.path()).args(["plan", "--template", "t.hbs"]), JOB);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("error: t.hbs:2:3: a plan has no field `rnaks`; did you mean `jobs[].ranks`"), "{err}");
    // Problems in the spec come first.
    let bad = JOB.replace("gpus", "gpsu");
    let (code, _, err) = piped(khorovod(place.path()).args(["plan", "--template", "t.hbs"]), &bad);
    assert!(code == 1 && err.contains("unknown-field") && !err.contains("rnaks"), "{err}");
}

/// Adds the path of every value to `found`, and of every object to `objects`.
fn collect(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(field, &path, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, &format!("{path}[]"), found)),
        _ => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn templates_can_use_every_field_of_a_plan() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(root.join("src/cli/template.rs")).unwrap();
    let list = source.split("const FIELDS: &[&str] = &[").nth(1).unwrap().split("];").next().unwrap();
    let known: BTreeSet<String> =
        list.lines().filter_map(|line| Some(line.split('"').nth(1)?.replace('?', ""))).collect();
    let mut found = BTreeSet::new();
    let place = place();
    fs::write(place.path().join("job.yaml"), JOB).unwrap();
    let mut plan = |args: &[&str]| {
        let (code, out, err) = run(khorovod(place.path()).args(["plan", "--no-keys", "-o", "json"]).args(args));
        assert_eq!(code, 0, "{err}");
        collect(&serde_json::from_str(&out).unwrap(), "", &mut found);
    };
    for entry in fs::read_dir(root.join("examples")).unwrap() {
        let job = entry.unwrap().path().join("job.yaml");
        if job.exists() {
            plan(&["--against", "job.yaml", job.to_str().unwrap()]);
        }
    }
    // Changes of every kind: of labels, of the image, one that Kubernetes refuses, and a claim that is left behind.
    let job = |class: &str, image: &str, label: &str| {
        let metadata = format!("name: mnist\n  namespace: b\n  labels: {{team: {label}}}");
        JOB.replace("name: mnist", &metadata).replace("1.4", image)
            + "  lifecycle: {deadline: 1h}\n"
            + &format!(
                "  storage: [{{name: data, mountPath: /data, claim: {{size: 1Gi, storageClassName: {class}}}}}]\n"
            )
    };
    fs::write(place.path().join("old.yaml"), job("slow", "1.4", "a")).unwrap();
    fs::write(place.path().join("new.yaml"), job("fast", "1.5", "b")).unwrap();
    let bare = JOB.replace("name: mnist", "name: mnist\n  namespace: b");
    let own = format!("{bare}  storage: [{{name: own, mountPath: /own, perWorker: {{size: 1Gi}}}}]\n");
    fs::write(place.path().join("own.yaml"), own).unwrap();
    fs::write(place.path().join("bare.yaml"), bare).unwrap();
    plan(&["--against", "old.yaml", "new.yaml"]);
    plan(&["--against", "own.yaml", "bare.yaml"]);
    let unknown: Vec<_> = found.difference(&known).collect();
    let unused: Vec<_> = known.difference(&found).collect();
    assert!(unknown.is_empty(), "FIELDS in src/cli/template.rs lacks {unknown:#?}");
    assert!(unused.is_empty(), "no plan has {unused:#?}; remove them from FIELDS in src/cli/template.rs");
}
