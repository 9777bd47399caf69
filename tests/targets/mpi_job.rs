//! Objects that were rendered come back as the TrainingJob that they were rendered from.

use khorovod::import::{Options, System, import};
use khorovod::{Text, targets};
use serde_json::json;

use super::{examples, job, objects, operators, render};

#[test]
fn imported_objects_are_the_job_they_were_rendered_from() {
    for target in [vec![targets::PLAIN], operators()].concat() {
        let mut tried = 0;
        for (name, text) in examples() {
            let Ok(rendered) = render(&text, target) else { continue };
            let old = Text { name: "rendered.yaml".to_owned(), text: rendered.text.clone() };
            let imported = import(System::MpiJob, &[old], &Options::default())
                .unwrap_or_else(|problems| panic!("{target} {name}: {:#?}", problems.list));
            let lost: Vec<_> = imported.fields.iter().filter(|field| field.verdict != "kept").collect();
            assert!(lost.is_empty() && !imported.fields.is_empty(), "{target} {name}: {lost:#?}");
            assert!(imported.fields.iter().all(|field| field.file == "rendered.yaml"), "{:?}", imported.fields);
            let again = Text { name: "again.yaml".to_owned(), text: imported.job };
            assert!(render(&again, target).unwrap().text == rendered.text, "{target} {name}: {}", again.text);
            let plain = |text| render(text, targets::PLAIN).unwrap().text;
            assert!(plain(&again) == plain(&text), "{target} {name}: {}", again.text);
            tried += 1;
        }
        assert!(tried > 15, "{target}: only {tried}");
    }
}

#[test]
fn a_job_is_restored_from_its_config_map_alone() {
    let text = job("mnist", "  workers: {replicas: 2}\n  env: {A: 'b: c', B: \"0.10\"}\n");
    let rendered = render(&text, targets::PLAIN).unwrap().text;
    let current = rendered.split("---\n").find(|document| document.contains("name: mnist-current")).unwrap();
    let old = Text { name: "current.yaml".to_owned(), text: current.to_owned() };
    let options = Options { name: Some("other".to_owned()), namespace: Some("ml".to_owned()), ..Options::default() };
    let imported = import(System::MpiJob, &[old], &options).unwrap();
    let paths: Vec<_> = imported.fields.iter().map(|field| (field.path.as_str(), field.verdict)).collect();
    assert_eq!(paths, [("ConfigMap mnist-current", "kept")]);
    assert_eq!(
        imported.job,
        "# From objects that khorovod rendered, by khorovod import.\napiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\n\
         metadata:\n  name: other\n  namespace: ml\nspec:\n  image: a:1\n  command:\n  - train\n  workers:\n    replicas: 2\n  env:\n    \
         A: \"b: c\"\n    B: \"0.10\"\n"
    );
}

#[test]
fn a_large_spec_or_one_with_a_secret_is_not_stored() {
    let large = format!("  workers: {{replicas: 2}}\n  code: {{files: {{a.py: '{}'}}}}\n", "x".repeat(64 << 10));
    for (spec, why) in [
        ("  workers: {replicas: 2}\n  env: {DB_PASSWORD: hunter2}\n", "looks like a secret"),
        ("  workers: {replicas: 2}\n  args: [--key=AKIAIOSFODNN7EXAMPLE]\n", "looks like a secret"),
        (&large, "64 KiB"),
    ] {
        let rendered = render(&job("mnist", spec), targets::PLAIN).unwrap().text;
        assert!(
            rendered.contains("khorovod.dev/spec-omitted: ") && !rendered.contains("khorovod.dev/spec: "),
            "{spec}"
        );
        let old = Text { name: "rendered.yaml".to_owned(), text: rendered };
        let problems = import(System::MpiJob, &[old], &Options::default()).unwrap_err();
        assert!(problems.list[0].message.contains(why), "{:?}", problems.list);
    }
    let reference = "  workers: {replicas: 2}\n  env: {DB_PASSWORD: {secretKeyRef: {name: db, key: password}}}\n";
    let rendered = render(&job("mnist", reference), targets::PLAIN).unwrap().text;
    assert!(rendered.contains("khorovod.dev/spec: "), "{rendered}");
}

/// Fields that no example has, or that no example has together.
const RICH: &str = r#"  workingDir: /work
  args: [--epochs, "9 0", it's]
  env: {A: "", LR: "0.1", NAME: {configMapKeyRef: {name: settings, key: name}}, POD: {fieldRef: {fieldPath: metadata.name}}}
  envFrom: [{secretRef: {name: wandb, optional: true}, prefix: W_}]
  workers: {replicas: 3, gpus: 2, resources: {requests: {cpu: "4"}, limits: {cpu: "8", memory: 16Gi}}, shm: 3Gi}
  launcher: {kind: mpirun, args: [--bind-to, socket, --mca, pml, ob1], runsRanks: true}
  ssh: {port: 2244, user: mpi}
  collective: {ncclDebug: WARN, interface: "^lo,docker0", infiniband: false, fusionThreshold: 64Mi, cycleTime: 5ms, autotune: true, hierarchicalAllreduce: false, timeline: /out/t.json}
  storage:
    - {name: out, mountPath: /out, hostPath: {path: /mnt/out}}
    - {name: scratch, mountPath: /scratch, emptyDir: {sizeLimit: 5Gi}}
    - {name: data, mountPath: /data, readOnly: true, subPath: a/b, existingClaim: team}
    - {name: s3, mountPath: /s3, s3: {bucket: bucket, prefix: p/, secretName: keys, direction: both, sizeLimit: 9Gi}}
  placement: {pack: rack, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}]}}}, runtimeClassName: nvidia}
  scheduling: {schedulerName: mine}
  lifecycle: {deadline: 90m, ttlAfterFinished: 2h, keepWorkers: true, retries: 1, startTimeout: 5m}
  security: {podSecurityLevel: privileged, runAsUser: 1000, fsGroup: 2000, networkPolicy: false, readOnlyRootFilesystem: false}
  observability: {tensorboardLogdir: /out/tb, metrics: {port: 9400}, logs: {rankPrefix: false}}
"#;

#[test]
fn an_mpi_job_with_many_fields_is_restored() {
    let text = job("rich", RICH);
    let rendered = render(&text, targets::MPI_JOB).unwrap_or_else(|problems| panic!("{:#?}", problems.list)).text;
    let old = Text { name: "rendered.yaml".to_owned(), text: rendered.clone() };
    let imported = import(System::MpiJob, &[old], &Options::default()).unwrap_or_else(|p| panic!("{:#?}", p.list));
    let again = Text { name: "again.yaml".to_owned(), text: imported.job };
    let lost: Vec<_> = imported.fields.iter().filter(|field| field.verdict != "kept").collect();
    assert!(lost.is_empty(), "{lost:#?}\n{}", again.text);
    assert_eq!(render(&again, targets::MPI_JOB).unwrap().text, rendered, "{}", again.text);
}

#[test]
fn an_mpi_job_from_the_cluster_is_restored() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "horovod-gpu").unwrap();
    let mut all = objects(&render(&text, targets::MPI_JOB).unwrap());
    for object in &mut all {
        object["metadata"]["uid"] = json!("6f1c");
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!("{}");
        match object["kind"].as_str().unwrap() {
            "MPIJob" => {
                object["spec"]["launcherCreationPolicy"] = json!("AtStartup");
                object["spec"]["runPolicy"]["suspend"] = json!(false);
                object["status"] = json!({"startTime": "2026-01-01T00:00:00Z"});
            }
            "PersistentVolumeClaim" => {
                object["spec"]["volumeName"] = json!("pvc-6f1c");
                object["spec"]["volumeMode"] = json!("Filesystem");
                object["status"] = json!({"phase": "Bound"});
            }
            _ => {}
        }
    }
    let answer = json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": all});
    let old = Text { name: "<stdin>".to_owned(), text: answer.to_string() };
    let imported = import(System::MpiJob, &[old], &Options::default()).unwrap();
    let lost: Vec<_> = imported.fields.iter().filter(|field| field.verdict != "kept").collect();
    assert!(lost.is_empty(), "{lost:#?}");
    let again = Text { name: "again.yaml".to_owned(), text: imported.job };
    assert_eq!(render(&again, targets::PLAIN).unwrap().text, render(&text, targets::PLAIN).unwrap().text);
}

#[test]
fn manual_changes_of_a_rendered_mpi_job_are_reported() {
    let rendered = render(&job("mnist", "  workers: {replicas: 2}\n"), targets::MPI_JOB).unwrap().text;
    let changed = rendered.replace("terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 61");
    assert_ne!(rendered, changed);
    let text = |text| Text { name: "rendered.yaml".to_owned(), text };
    let imported = import(System::MpiJob, &[text(changed)], &Options::default()).unwrap();
    let lost: Vec<_> =
        imported.fields.iter().filter(|field| field.verdict == "lost").map(|field| &field.path).collect();
    assert_eq!(lost, ["MPIJob mnist-<run>: spec.mpiReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds"]);
    let alone = rendered.split("---\n").find(|document| document.contains("kind: MPIJob")).unwrap().to_owned();
    let problems = import(System::MpiJob, &[text(alone)], &Options::default()).unwrap_err();
    assert!(problems.list[0].hint.as_ref().unwrap().contains("kubectl get"), "{:?}", problems.list);
}

/// Objects are recognised by the API group of their target, so each target with an operator has one of its own.
#[test]
fn workloads_have_the_api_group_of_their_target() {
    for target in operators() {
        let facts = target.facts();
        let mut found = 0;
        for (name, text) in examples() {
            let Ok(rendered) = render(&text, target) else { continue };
            for object in objects(&rendered) {
                let (group, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
                let group = group.rsplit_once('/').map_or("", |(group, _)| group);
                let is_workload = !group.is_empty() && facts.workload_kinds.iter().any(|(name, _)| *name == kind);
                assert!(!is_workload || group == facts.api_group, "{name}: {kind} of {group} for {}", target.name());
                found += usize::from(is_workload);
            }
        }
        assert!(found > 0 && !facts.api_group.is_empty(), "{}", target.name());
        let same = operators().iter().filter(|other| other.facts().api_group == facts.api_group).count();
        assert_eq!(same, 1, "{}", facts.api_group);
    }
}
