//! Importing a rendered MPIJob returns the original TrainingJob.

use khorovod::import::{Options, System, import};
use khorovod::{Text, targets};
use serde_json::json;

use super::{examples, job, objects, render};

#[test]
fn an_imported_mpi_job_is_the_job_it_was_rendered_from() {
    let mut tried = 0;
    for (name, text) in examples() {
        let Ok(rendered) = render(&text, targets::MPI_JOB) else { continue };
        // Reduces the number of workers to the maximum of the operator.
        let old = Text { name: "rendered.yaml".to_owned(), text: rendered.text.clone() };
        let imported = import(System::MpiJob, &[old], &Options::default())
            .unwrap_or_else(|problems| panic!("{name}: {:#?}", problems.list));
        let lost: Vec<_> = imported.fields.iter().filter(|field| field.verdict != "kept").collect();
        assert!(lost.is_empty(), "{name}: {lost:#?}\n{}", imported.job);
        let again = Text { name: "again.yaml".to_owned(), text: imported.job };
        assert_eq!(render(&again, targets::MPI_JOB).unwrap().text, rendered.text, "{name}: {}", again.text);
        let plain = |text| render(text, targets::PLAIN).unwrap().text;
        assert_eq!(plain(&again), plain(&text), "{name}: {}", again.text);
        tried += 1;
    }
    assert!(tried > 20, "only {tried}");
}

/// Fields that no example has, or that no example has together.
const RICH: &str = r#"  workdir: /work
  args: [--epochs, "9 0", it's]
  env: {A: "", LR: "0.1", NAME: {configMap: settings, key: name}, POD: {field: metadata.name}}
  envFrom: [{secret: wandb, prefix: W_, optional: true}]
  workers: {replicas: 3, gpus: 2, resources: {requests: {cpu: "4"}, limits: {cpu: "8", memory: 16Gi}}, shm: 3Gi}
  launcher: {args: [--bind-to, socket, --mca, pml, ob1], runsRanks: true, retries: 1, waitTimeout: 5m}
  ssh: {port: 2244, user: mpi}
  collective: {debug: WARN, interface: "^lo,docker0", infiniband: false, fusionThreshold: 64Mi, cycleTime: 5, autotune: true, hierarchicalAllreduce: false, timeline: /out/t.json}
  storage:
    - {name: out, mountPath: /out, hostPath: /mnt/out}
    - {name: scratch, mountPath: /scratch, emptyDir: {size: 5Gi}}
    - {name: data, mountPath: /data, readOnly: true, subPath: a/b, existingClaim: team}
    - {name: s3, mountPath: /s3, s3: {bucket: bucket, prefix: p/, secret: keys, direction: both, size: 9Gi}}
  placement: {pack: rack, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: Exists}]}]}}}, runtimeClass: nvidia}
  scheduling: {scheduler: mine}
  lifecycle: {deadline: 90m, ttlAfterFinished: 2h, release: keep}
  security: {profile: privileged, runAsUser: 1000, fsGroup: 2000, networkPolicy: false, readOnlyRootFilesystem: false}
  observability: {tensorboard: {logdir: /out/tb}, metrics: {port: 9400}, logs: {rankPrefix: false}}
"#;

#[test]
fn a_rich_mpi_job_comes_back_too() {
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
fn an_mpi_job_as_the_cluster_has_it_comes_back_too() {
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
fn what_was_changed_by_hand_in_a_rendered_mpi_job_is_told() {
    let rendered = render(&job("mnist", "  workers: {replicas: 2}\n"), targets::MPI_JOB).unwrap().text;
    let changed = rendered.replace("terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 31");
    assert_ne!(rendered, changed);
    let text = |text| Text { name: "rendered.yaml".to_owned(), text };
    let imported = import(System::MpiJob, &[text(changed)], &Options::default()).unwrap();
    let lost: Vec<_> =
        imported.fields.iter().filter(|field| field.verdict == "lost").map(|field| &field.path).collect();
    assert_eq!(lost, ["spec.mpiReplicaSpecs.Worker.template.spec.terminationGracePeriodSeconds"]);
    let alone = rendered.split("---\n").find(|document| document.contains("kind: MPIJob")).unwrap().to_owned();
    let problems = import(System::MpiJob, &[text(alone)], &Options::default()).unwrap_err();
    assert!(problems.list[0].hint.as_ref().unwrap().contains("kubectl get"), "{:?}", problems.list);
}
