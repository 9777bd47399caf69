//! `khorovod krm`: the output for a ResourceList, in the forms in which tools write it.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use common::{JOB, SEED, khorovod, place};
use serde_json::Value as Json;

/// Exit code, standard output and standard error.
fn krm(folder: &Path, list: &str, args: &[&str]) -> (i32, String, String) {
    let mut command = khorovod(folder);
    command.env("KHOROVOD_SSH_SEED", SEED).arg("krm").args(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // If the options are wrong, the command does not read its input.
    drop(child.stdin.take().unwrap().write_all(list.as_bytes()));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().expect("it was not killed"), text(stdout), text(stderr))
}

/// The output of `render` for the job.
fn rendered(folder: &Path) -> String {
    std::fs::write(folder.join("job.yaml"), JOB).unwrap();
    let output = khorovod(folder).env("KHOROVOD_SSH_SEED", SEED).args(["render", "job.yaml"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Formats a document as an item of a list.
fn item(document: &str, indent: &str) -> String {
    let line = |(index, line): (usize, &str)| match (index, line) {
        (_, "") => "\n".to_owned(),
        (0, line) => format!("{indent}- {line}\n"),
        (_, line) => format!("{indent}  {line}\n"),
    };
    document.lines().enumerate().map(line).collect()
}

fn items(stream: &str, indent: &str) -> String {
    stream.split("---\n").map(|document| item(document, indent)).collect()
}

/// Formats a document as the value of a key.
fn nested(document: &str) -> String {
    document.lines().fold(String::new(), |text, line| text + "  " + line + "\n")
}

const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";
/// Items that other YAML parsers reject, or write in another form.
const THEIRS: &str = "# first\nkind:   ConfigMap\nmetadata: {name:   theirs}\ndata: {a: yes, b: 0777, c: !x 1_000}\n\nmore: |\n  - x\n\n  kind: TrainingJob\n";

#[test]
fn training_jobs_become_objects_and_other_items_stay() {
    let place = place();
    let ours = items(&rendered(place.path()), "");
    for indent in ["", "  "] {
        let ours = items(&rendered(place.path()), indent);
        let list = |middle: &str| {
            let (first, last) = (item(THEIRS, indent), item("a: []", indent));
            format!("{HEAD}items:\n{first}{middle}{last}functionConfig: {{kind: ConfigMap}}\n")
        };
        let (code, out, err) = krm(place.path(), &list(&item(JOB, indent)), &[]);
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(ours.len() > 10_000 && out == list(&ours), "{out}");
    }
    // JSON is YAML, and is returned as JSON.
    let job: Json = serde_yaml::from_str(JOB).unwrap();
    let list = serde_json::json!({"kind": "ResourceList", "items": [{"a": "yes"}, job, {"b": [1]}]}).to_string();
    let (code, out, _) = krm(place.path(), &list, &[]);
    assert_eq!((code, out), (0, format!("kind: ResourceList\nitems:\n- a: \"yes\"\n{ours}- b:\n  - 1\n")));
}

#[test]
fn the_configuration_adds_its_objects() {
    let place = place();
    let ours = items(&rendered(place.path()), "");
    let config = format!("functionConfig:\n{}", nested(JOB));
    let inline = "functionConfig: {apiVersion: khorovod.dev/v1alpha1, kind: TrainingJob, metadata: {name: mnist}, spec: \
                  {image: 'ghcr.io/acme/mnist:1.4', command: [python, train.py], workers: {replicas: 4, gpus: 8}}}\n";
    for config in [config.as_str(), inline] {
        for (before, after) in [
            (format!("{HEAD}items:\n- a: []\n{config}"), format!("{HEAD}items:\n- a: []\n{ours}{config}")),
            (format!("{HEAD}{config}items:\n- a: []\n"), format!("{HEAD}{config}items:\n- a: []\n{ours}")),
            (format!("{HEAD}items: []\n{config}"), format!("{HEAD}items:\n{ours}{config}")),
            (format!("{HEAD}{config}"), format!("{HEAD}{config}items:\n{ours}")),
        ] {
            let (code, out, err) = krm(place.path(), &before, &[]);
            assert_eq!((code, err.as_str()), (0, ""));
            assert_eq!(out, after);
        }
    }
    // Kustomize also adds a generator's configuration to the items, and removes it by an annotation.
    let local =
        JOB.replace("  name: mnist", "  name: mnist\n  annotations: {config.kubernetes.io/local-config: 'true'}");
    let list = |middle: &str| format!("{HEAD}items:\n{}{middle}functionConfig:\n{}", item(&local, ""), nested(&local));
    assert_eq!(krm(place.path(), &list(""), &[]), (0, list(&ours), String::new()));
}

#[test]
fn annotations_of_tools_are_kept_if_they_stay_valid() {
    let place = place();
    let kept =
        "    config.kubernetes.io/path: jobs/a.yaml\n    internal.config.kubernetes.io/index: '3'\n    team: vision\n";
    let gone = "    config.kubernetes.io/function: x\n    internal.config.kubernetes.io/id: '7'\n    config.k8s.io/id: '7'\n    \
                kustomize.config.k8s.io/id: x\n";
    let job = JOB.replace("  name: mnist\n", &format!("  name: mnist\n  annotations:\n{kept}{gone}"));
    let (code, out, _) = krm(place.path(), &format!("{HEAD}items:\n{}", item(&job, "")), &[]);
    let list: Json = serde_yaml::from_str(&out).unwrap();
    let objects = list["items"].as_array().unwrap();
    assert!(code == 0 && objects.len() > 8);
    for object in objects {
        let all = object["metadata"]["annotations"].as_object().unwrap();
        let count = |name: &str| all.keys().filter(|key| key.contains(name)).count();
        assert_eq!((count("path"), count("index"), count("team")), (1, 1, 1), "{all:?}");
        assert_eq!((count("function"), count("/id")), (0, 0), "{all:?}");
    }
    let specs: Vec<&str> =
        objects.iter().filter_map(|object| object["metadata"]["annotations"]["khorovod.dev/spec"].as_str()).collect();
    assert!(specs.len() == 1 && specs[0].contains("team") && !specs[0].contains("config.k"), "{specs:?}");
}

#[test]
fn problems_are_results_with_field_and_file() {
    let place = place();
    let annotations = "  name: mnist\n  namespace: ml\n  annotations: {config.kubernetes.io/path: jobs/a.yaml, config.kubernetes.io/index: '2'}\n";
    let job = JOB.replace("  name: mnist\n", annotations).replace("gpus", "gpu");
    let list = format!("{HEAD}items:\n- a: 1\n{}results:\n- message: old\n", item(&job, ""));
    let (code, out, err) = krm(place.path(), &list, &[]);
    assert!(code == 1 && err.contains("error[unknown-field]"), "{err}");
    assert!(err.contains("<stdin> (jobs/a.yaml):14:"), "{err}");
    let unchanged = list.split("results:").next().unwrap();
    let results = out.strip_prefix(unchanged).unwrap();
    insta::assert_snapshot!(results, @r#"
    results:
    - message: "`spec.workers` has no field `gpu`; did you mean `gpus`?"
      severity: error
      resourceRef:
        apiVersion: khorovod.dev/v1alpha1
        kind: TrainingJob
        name: mnist
        namespace: ml
      field:
        path: spec.workers.gpu
      file:
        path: jobs/a.yaml
        index: 2
      tags:
        code: unknown-field
    "#);
    // Warnings are returned with the objects.
    let job = JOB.replace(":1.4", "");
    let list = format!("{HEAD}items:\n{}", item(&job, ""));
    let (code, out, err) = krm(place.path(), &list, &[]);
    assert!(code == 0 && err.contains("warning[image-unpinned]"), "{err}");
    assert!(out.contains("kind: StatefulSet") && out.contains("severity: warning"), "{out}");
    let (code, out, _) = krm(place.path(), &list, &["--strict"]);
    assert!(code == 1 && out.starts_with(&list) && out.contains("severity: error"), "{out}");
    // No seed is created, and two jobs of the same name are an error.
    for (list, args, why) in [
        (list.clone(), &["--ssh-seed", "none"][..], "cannot read the ssh seed none"),
        (format!("{list}{}", item(JOB, "")), &[], "duplicate-job"),
        (list.clone(), &["--overlay", "-"], "cannot be `-`"),
        (format!("{HEAD}items: {{}}\n"), &[], "not-a-resource-list"),
        (String::new(), &[], "not-a-resource-list"),
    ] {
        let (code, out, err) = krm(place.path(), &list, args);
        assert!(code > 0 && err.contains(why) && !out.contains("StatefulSet"), "{err}");
    }
}
