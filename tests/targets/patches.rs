//! Patches apply to the object for the operator, and to its pod templates.

use khorovod::targets;
use serde_json::Value as Json;

use super::pods::templates;
use super::{job, objects, operators, render};

#[test]
fn patches_reach_the_operators_kinds() {
    for (target, kind) in [
        (targets::MPI_JOB, "MPIJob"),
        (targets::JOB_SET, "JobSet"),
        (targets::TRAIN_JOB, "TrainJob"),
        (targets::VOLCANO, "Job"),
    ] {
        let spec = format!(
            "  workers: {{replicas: 2}}\n  patches: [{{target: {{kind: {kind}}}, patch: {{metadata: {{annotations: {{a: b}}}}}}}}]\n"
        );
        let all = objects(&render(&job("mnist", &spec), target).unwrap());
        let object = all.iter().find(|object| object["kind"] == kind).unwrap();
        assert_eq!(object["metadata"]["annotations"]["a"], "b");
    }
}

#[test]
fn patches_reach_the_pods_under_every_target() {
    let patches = |names: &[&str]| {
        let each = |name: &&str| {
            format!("{{target: {{kind: Pod, name: '{name}'}}, patch: {{metadata: {{labels: {{to: '{name}'}}}}}}}}")
        };
        format!("  patches: [{}]\n", names.iter().map(each).collect::<Vec<_>>().join(", "))
    };
    let labelled = |spec: &str, target| {
        let mut found = Vec::new();
        let rendered = render(&job("mnist", spec), target).unwrap_or_else(|problems| panic!("{problems:?}"));
        for object in objects(&rendered) {
            templates(&object, &mut found);
        }
        let pair = |(component, pod): (String, Json)| format!("{component} {}", pod["metadata"]["labels"]["to"]);
        let mut found: Vec<_> = found.into_iter().map(pair).collect();
        found.sort();
        found
    };
    for target in operators().into_iter().chain([targets::PLAIN]) {
        let beside = format!("  workers: {{replicas: 2}}\n{}", patches(&["*-worker", "mnist-*-launcher"]));
        assert_eq!(
            labelled(&beside, target),
            ["launcher \"mnist-*-launcher\"", "worker \"*-worker\""],
            "{}",
            target.name()
        );
        if target != targets::MPI_JOB {
            let groups = "  workers: {groups: [{name: big, replicas: 1}, {name: small, replicas: 1}]}\n";
            let one = format!("{groups}{}", patches(&["*-small"]));
            assert_eq!(
                labelled(&one, target),
                ["launcher null", "worker \"*-small\"", "worker null"],
                "{}",
                target.name()
            );
            let index =
                format!("  workers: {{replicas: 2}}\n  launcher: {{kind: torchrun}}\n{}", patches(&["*-worker"]));
            assert_eq!(labelled(&index, target), ["worker \"*-worker\""], "{}", target.name());
        }
        // A patch of kind Pod applies to pod templates only, and only to those with its name.
        for missed in ["mnist", "*-other"] {
            let spec = format!("  workers: {{replicas: 2}}\n{}", patches(&[missed]));
            let problems = render(&job("mnist", &spec), target).map(|_| ()).unwrap_err();
            assert_eq!(problems.list[0].code.name, "unused-patch", "{missed} for {}", target.name());
        }
        let broken = "  workers: {replicas: 2}\n  patches: [{target: {kind: Pod}, patch: {spec: {containers: [{tty: true}]}}}]\n";
        let problems = render(&job("mnist", broken), target).map(|_| ()).unwrap_err();
        let [problem] = problems.list.as_slice() else { panic!("{}: {problems:?}", target.name()) };
        assert_eq!(problem.code.name, "broken-patch", "{}: {problem:?}", target.name());
        assert!(problem.message.contains("the items of `spec.containers` by their `name`"), "{}", problem.message);
    }
}

/// The container of a pod is `worker` or `launcher` in a patch, whatever name the target gives it.
#[test]
fn patches_merge_by_name_under_every_target() {
    let spec = "  workers: {replicas: 2}
  patches:
    - target: {kind: Pod, name: '*-worker'}
      patch:
        spec:
          volumes: [{name: token, secret: {secretName: hub}}]
          containers:
            - {name: worker, volumeMounts: [{name: token, mountPath: /token}]}
            - {name: exporter, image: 'exporter:1'}
    - target: {kind: Pod, name: '*-launcher'}
      patch: {spec: {containers: [{name: launcher, env: [{name: TZ, value: UTC}]}]}}
";
    for target in operators().into_iter().chain([targets::PLAIN]) {
        let pods = |spec: &str| {
            let mut found = Vec::new();
            for object in
                objects(&render(&job("mnist", spec), target).unwrap_or_else(|problems| panic!("{problems:?}")))
            {
                templates(&object, &mut found);
            }
            found
        };
        let (plain, patched) = (pods("  workers: {replicas: 2}\n"), pods(spec));
        assert_eq!(patched.len(), 2, "{}", target.name());
        for ((component, before), (_, after)) in plain.iter().zip(&patched) {
            let (before, after) = (&before["spec"], &after["spec"]);
            let (old, new) = (&before["containers"][0], &after["containers"][0]);
            assert_eq!((&old["name"], &old["image"], &old["command"]), (&new["name"], &new["image"], &new["command"]));
            let count = |value: &Json| value.as_array().map_or(0, Vec::len);
            let added = |field: &str| count(&new[field]) - count(&old[field]);
            if component == "worker" {
                assert_eq!(after["volumes"][0], serde_json::json!({"name": "token", "secret": {"secretName": "hub"}}));
                assert_eq!(count(&after["volumes"]), count(&before["volumes"]) + 1);
                assert_eq!(
                    (added("volumeMounts"), added("env"), &after["containers"][1]["name"]),
                    (1, 0, &"exporter".into())
                );
            } else {
                assert_eq!((added("volumeMounts"), added("env"), count(&after["containers"])), (0, 1, 1));
            }
        }
    }
}
