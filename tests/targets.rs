//! Every example on every Kubernetes target: it is rendered, or refused by a problem with a place and a way out; and what
//! is rendered holds all that the plain objects hold.
//!
//! Where `KHOROVOD_CORPUS` names a folder whose `crds/` holds the custom resources as their projects publish them, they
//! judge. `make bless`
//! writes the files of tests/targets anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use khorovod::import::{Options, System, import};
use khorovod::problem::Problems;
use khorovod::{Inputs, Keys, Rendered, Target, Text};
use serde_json::{Value as Json, json};

const TARGETS: [Target; 4] = [Target::MpiJob, Target::JobSet, Target::TrainJob, Target::Volcano];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Names and texts of the examples.
fn examples() -> Vec<(String, Text)> {
    let folders = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = folders
        .filter(|path| path.is_dir())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(path.join("job.yaml")).unwrap();
            (name.clone(), Text { name: format!("{name}/job.yaml"), text })
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

fn render(text: &Text, target: Target) -> Result<Rendered, Problems> {
    khorovod::render(text, &Inputs { target, keys: Keys::Seed([7; 32]), ..Inputs::default() })
}

fn objects(rendered: &Rendered) -> Vec<Json> {
    serde_yaml::Deserializer::from_str(&rendered.text)
        .map(|document| serde::Deserialize::deserialize(document).unwrap())
        .collect()
}

/// A job of which only what is given differs.
fn job(name: &str, spec: &str) -> Text {
    let text = format!(
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {{name: {name}}}\nspec:\n  image: a:1\n  command: [train]\n{spec}"
    );
    Text { name: "job.yaml".to_owned(), text }
}

/// Compares with a file, or writes it where `KHOROVOD_BLESS` is set.
fn hold(path: &Path, text: &str, stale: &mut Vec<String>) {
    if std::env::var_os("KHOROVOD_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    } else if fs::read_to_string(path).unwrap_or_default() != text {
        stale.push(path.display().to_string());
    }
}

#[test]
fn every_example_renders_or_is_refused_with_a_way_out() {
    let mut refused = String::new();
    for target in TARGETS {
        for (name, text) in examples() {
            match render(&text, target) {
                Ok(rendered) => {
                    assert!(rendered.warnings.list.is_empty(), "{name} for {}", target.name());
                }
                Err(problems) => {
                    for problem in &problems.list {
                        let line = problems.sources.position(problem.labels[0].span).line;
                        assert!(line > 1 && problem.hint.is_some(), "{name} for {}: {problem:?}", target.name());
                        let _ = writeln!(refused, "{} {name}:{line}: {}", target.name(), problem.message);
                    }
                }
            }
        }
    }
    let mut stale = Vec::new();
    hold(&root().join("tests/targets/refused.txt"), &refused, &mut stale);
    assert!(stale.is_empty(), "not what is refused; look at the difference, then `make bless`");
}

#[test]
fn what_examples_become() {
    let shown = [
        (Target::MpiJob, "cpu"),
        (Target::MpiJob, "gang"),
        (Target::JobSet, "worker-groups"),
        (Target::JobSet, "torchrun"),
        (Target::TrainJob, "kueue"),
        (Target::TrainJob, "torchrun"),
        (Target::Volcano, "gang"),
        (Target::Volcano, "indexed-job"),
    ];
    let mut stale = Vec::new();
    for (target, example) in shown {
        let (_, text) = examples().into_iter().find(|(name, _)| name == example).unwrap();
        let rendered = render(&text, target).unwrap();
        // What stands around is the same as for plain objects.
        let around = ["NetworkPolicy", "Secret", "ConfigMap", "Service"];
        let mut workloads = String::new();
        for document in rendered.documents.iter().filter(|document| !around.contains(&document.kind)) {
            workloads.extend(["---\n", &rendered.text[document.range.clone()]]);
        }
        hold(&root().join(format!("tests/targets/{}-{example}.yaml", target.name())), &workloads, &mut stale);
    }
    assert!(stale.is_empty(), "not what the code renders; look at the difference, then `make bless`: {stale:#?}");
}

/// Every pod template in an object, under its component: `launcher`, `worker`.
fn templates(value: &Json, found: &mut Vec<(String, Json)>) {
    match value {
        Json::Object(map) => {
            if let Some(component) = value.pointer("/metadata/labels/app.kubernetes.io~1component")
                && value.pointer("/spec/containers").is_some()
            {
                found.push((component.as_str().unwrap().to_owned(), value.clone()));
                return;
            }
            map.values().for_each(|value| templates(value, found));
        }
        Json::Array(list) => list.iter().for_each(|value| templates(value, found)),
        _ => {}
    }
}

/// The pod templates of a render, without what names the run and what only says who makes, names and ends the pod.
fn pods(rendered: &Rendered, target: Target) -> Vec<(String, Json)> {
    let all = objects(rendered);
    let run = all.iter().find_map(|object| object["metadata"]["labels"]["khorovod.dev/run"].as_str()).unwrap();
    let text = serde_json::to_string(&all).unwrap().replace(run, "RUN");
    let mut found = Vec::new();
    templates(&serde_json::from_str(&text).unwrap(), &mut found);
    for (component, pod) in &mut found {
        // What Trainer calls the container that trains.
        let container = &mut pod["spec"]["containers"][0]["name"];
        if target == Target::TrainJob && *container == "node" {
            *container = json!(component);
        }
        let spec = pod["spec"].as_object_mut().unwrap();
        for field in ["hostname", "subdomain", "restartPolicy", "serviceAccountName", "automountServiceAccountToken"] {
            spec.remove(field);
        }
        if target == Target::MpiJob {
            // The operator mounts its own.
            spec["volumes"].as_array_mut().unwrap().retain(|volume| volume["name"] != "khorovod-keys");
            let mounts = spec["containers"][0]["volumeMounts"].as_array_mut().unwrap();
            mounts.retain(|mount| mount["name"] != "khorovod-keys");
        }
        if let Some(ports) = spec["containers"][0].get_mut("ports").and_then(Json::as_array_mut) {
            for port in ports {
                port.as_object_mut().unwrap().remove("protocol");
            }
        }
        let env = spec["containers"][0]["env"].as_array_mut().unwrap();
        // Names of pods differ.
        env.retain(|var| {
            let name = var["name"].as_str().unwrap();
            name != "JOB_COMPLETION_INDEX" && !(name == "PET_MASTER_ADDR" || name.starts_with("PET_RDZV"))
        });
    }
    found
}

#[test]
fn pods_are_those_of_the_plain_objects() {
    let mut compared = 0;
    for target in TARGETS {
        for (name, text) in examples() {
            let (Ok(theirs), Ok(plain)) = (render(&text, target), render(&text, Target::Plain)) else { continue };
            // A queue takes another shape there, and Volcano's own Job another group.
            if ["gang", "kueue"].contains(&name.as_str()) {
                continue;
            }
            let plain = if target == Target::MpiJob { pods(&plain, target) } else { pods(&plain, Target::Plain) };
            let theirs = pods(&theirs, target);
            let sorted = |mut pods: Vec<(String, Json)>| {
                pods.sort_by_key(|(component, pod)| format!("{component}{pod}"));
                pods
            };
            assert_eq!(sorted(theirs), sorted(plain), "{name} for {}", target.name());
            compared += 1;
        }
    }
    assert!(compared > 90, "only {compared}");
}

#[test]
fn pods_are_called_as_their_makers_call_them() {
    let text = job("mnist", "  workers: {replicas: 2}\n  launcher: {mpi: mpich}\n");
    // Of a worker and of the launcher, from the project's own code.
    for (target, worker, launcher) in [
        (Target::Plain, "mnist-RUN-worker-1.mnist", "mnist-RUN-launcher.mnist"),
        (Target::MpiJob, "mnist-RUN-worker-1.mnist-RUN", "mnist-RUN-launcher.mnist-RUN"),
        (Target::JobSet, "mnist-RUN-worker-0-1.mnist", "mnist-RUN-launcher-0-0.mnist"),
        (Target::TrainJob, "mnist-RUN-worker-0-1.mnist", "mnist-RUN-launcher-0-0.mnist"),
        (Target::Volcano, "mnist-RUN-worker-1.mnist", "mnist-RUN-launcher-0.mnist"),
    ] {
        let all = objects(&render(&text, target).unwrap());
        let scripts = all.iter().find(|object| object["data"]["job.sh"].is_string()).unwrap();
        let run = scripts["metadata"]["labels"]["khorovod.dev/run"].as_str().unwrap();
        let hostfile = scripts["data"]["hostfile"].as_str().unwrap().replace(run, "RUN");
        assert_eq!(hostfile.lines().last(), Some(format!("{worker}:1").as_str()), "{}", target.name());
        let settings = scripts["data"]["job.sh"].as_str().unwrap().replace(run, "RUN");
        let (pod, service) = launcher.split_once('.').unwrap();
        for line in [format!("launcher_pod={pod}\n"), format!("service={service}\n")] {
            assert!(settings.replace('\'', "").contains(&line), "{}: no {line}{settings}", target.name());
        }
    }
}

/// Kubeflow's SDK reads the pod that trains by these, and lists no TrainJob of a namespace where one lacks any.
#[test]
fn who_lists_train_jobs_finds_the_pod_that_trains() {
    let mut seen = 0;
    for (name, text) in examples() {
        let Ok(rendered) = render(&text, Target::TrainJob) else { continue };
        let all = objects(&rendered);
        let runtime = all.iter().find(|object| object["kind"] == "TrainingRuntime").unwrap();
        assert!(runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"].is_string(), "{name}");
        let label = "/template/metadata/labels/trainer.kubeflow.org~1trainjob-ancestor-step";
        let jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"].as_array().unwrap();
        let marked: Vec<_> = jobs.iter().filter(|job| job.pointer(label).is_some()).collect();
        let [job] = marked.as_slice() else { panic!("{name}: {marked:#?}") };
        assert_eq!(job.pointer(label), Some(&json!("trainer")), "{name}");
        assert!(["launcher", "node"].contains(&job["name"].as_str().unwrap()), "{name}: {}", job["name"]);
        let spec = &job["template"]["spec"];
        assert_eq!(spec["template"]["spec"]["containers"][0]["name"], "node", "{name}");
        assert_eq!(spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"], "node", "{name}");
        // Trainer makes as many of its pods as the policy says, and no plugin is asked for that would say more.
        assert_eq!(runtime["spec"]["mlPolicy"], json!({"numNodes": spec["completions"]}), "{name}");
        assert_eq!(spec["completions"], spec["parallelism"], "{name}");
        seen += 1;
    }
    assert!(seen > 25, "only {seen}");
}

#[test]
fn what_may_change_in_place_does() {
    let with = |spec: &str| job("mnist", &format!("  workers: {{replicas: 2}}\n{spec}"));
    let run = |text: &Text, target| {
        let all = objects(&render(text, target).unwrap());
        all.iter().find_map(|object| object["metadata"]["labels"]["khorovod.dev/run"].as_str()).unwrap().to_owned()
    };
    let base = with("");
    for target in TARGETS {
        let before = run(&base, target);
        assert_ne!(before, run(&base, Target::Plain), "{}: a job moves by a new run", target.name());
        assert_ne!(before, run(&with("  env: {A: b}\n"), target), "{}", target.name());
        assert_ne!(before, run(&with("  rerun: '2'\n"), target), "{}", target.name());
    }
    // By whom a suspended job may be let go, and what a ttl may become, their webhooks say.
    let suspended = with("  scheduling: {suspend: true}\n");
    for target in [Target::MpiJob, Target::JobSet, Target::TrainJob] {
        assert_eq!(run(&base, target), run(&suspended, target), "{}", target.name());
    }
    let brief = with("  lifecycle: {ttlAfterFinished: 1h, deadline: 2h}\n");
    assert_eq!(run(&base, Target::MpiJob), run(&brief, Target::MpiJob));
    assert_ne!(run(&base, Target::Volcano), run(&brief, Target::Volcano));
}

/// A spec for each field that a target refuses, and a word of what is said.
const REFUSED: &[(Target, &str, &str)] = &[
    (Target::MpiJob, "  workers: {replicas: 2}\n  launcher: {kind: torchrun}\n", "torchrun"),
    (Target::MpiJob, "  workers: {groups: [{name: a, replicas: 2}]}\n", "workers.groups"),
    (Target::MpiJob, "  workers: {replicas: 2, controller: Job}\n", "workers.controller"),
    (Target::MpiJob, "  workers: {replicas: 2}\n  ssh: {secret: mine}\n", "ssh.secret"),
    (Target::MpiJob, "  workers: {replicas: 20000}\n", "the MPI Operator lists"),
    (Target::JobSet, "  workers: {replicas: 2}\n  lifecycle: {release: keep}\n", "lifecycle.release"),
    (
        Target::JobSet,
        "  workers: {replicas: 2}\n  launcher: {kind: horovodrun}\n  elastic: {minWorkers: 1, maxWorkers: 4}\n",
        "elastic.maxWorkers",
    ),
    (Target::TrainJob, "  workers: {replicas: 2}\n  lifecycle: {ttlAfterFinished: 1h}\n", "lifecycle.ttlAfterFinished"),
    (Target::TrainJob, "  workers: {replicas: 2}\n  lifecycle: {release: keep}\n", "lifecycle.release"),
    (Target::Volcano, "  workers: {replicas: 2}\n  scheduling: {gang: coscheduling}\n", "coscheduling"),
    (Target::Volcano, "  workers: {replicas: 2}\n  scheduling: {kueue: team}\n", "Kueue"),
    (Target::Volcano, "  workers: {replicas: 2}\n  scheduling: {suspend: true}\n", "suspended"),
    (Target::Volcano, "  workers: {replicas: 90000}\n", "ConfigMap"),
];

#[test]
fn what_a_target_cannot_say_is_refused() {
    let per_worker = "  workers: {replicas: 2}\n  storage: [{name: c, mountPath: /c, perWorker: {size: 1Gi}}]\n";
    let each = TARGETS.map(|target| (target, per_worker, "perWorker"));
    for (target, spec, word) in REFUSED.iter().copied().chain(each) {
        let text = job("mnist", spec);
        let problems = render(&text, target).map(|_| ()).expect_err(spec);
        let [problem] = problems.list.as_slice() else { panic!("{}: {problems:?}", target.name()) };
        assert_eq!(problem.code.name, "target-cannot", "{}: {problem:?}", target.name());
        assert!(problem.message.contains(word), "{}: {}", target.name(), problem.message);
        assert!(problem.hint.is_some());
        render(&text, Target::Plain).unwrap_or_else(|problems| panic!("plain objects can: {problems:?}"));
    }
}

#[test]
fn elastic_runs_keep_their_number_or_grow() {
    let elastic =
        "  workers: {replicas: 2}\n  launcher: {kind: horovodrun}\n  elastic: {minWorkers: 1, maxWorkers: MAX}\n";
    for (most, target) in
        [("2", Target::JobSet), ("2", Target::TrainJob), ("4", Target::MpiJob), ("4", Target::Volcano)]
    {
        render(&job("mnist", &elastic.replace("MAX", most)), target).unwrap();
    }
}

#[test]
fn the_operator_makes_the_keys_of_an_mpi_job() {
    let text = job("mnist", "  workers: {replicas: 2}\n");
    let inputs = Inputs { target: Target::MpiJob, keys: Keys::Missing, ..Inputs::default() };
    let rendered = khorovod::render(&text, &inputs).expect("no seed is asked for");
    assert!(rendered.documents.iter().all(|document| document.kind != "Secret" && document.kind != "Service"));
}

#[test]
fn longest_names_have_room() {
    for target in TARGETS {
        let spec = "  workers: {replicas: 100}\n";
        let longest = (1..64).rev().find(|length| render(&job(&"n".repeat(*length), spec), target).is_ok()).unwrap();
        assert!(longest >= 29, "{}: {longest}", target.name());
        let too_long = render(&job(&"n".repeat(longest + 1), spec), target).unwrap_err();
        assert_eq!(too_long.list[0].code.name, "name-too-long");
    }
}

#[test]
fn patches_reach_the_operators_kinds() {
    for (target, kind) in [
        (Target::MpiJob, "MPIJob"),
        (Target::JobSet, "JobSet"),
        (Target::TrainJob, "TrainJob"),
        (Target::Volcano, "Job"),
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
    for target in TARGETS.into_iter().chain([Target::Plain]) {
        let beside = format!("  workers: {{replicas: 2}}\n{}", patches(&["*-worker", "mnist-*-launcher"]));
        assert_eq!(
            labelled(&beside, target),
            ["launcher \"mnist-*-launcher\"", "worker \"*-worker\""],
            "{}",
            target.name()
        );
        if target != Target::MpiJob {
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
        // Nothing else is a pod, and none is called otherwise.
        for missed in ["mnist", "*-other"] {
            let spec = format!("  workers: {{replicas: 2}}\n{}", patches(&[missed]));
            let problems = render(&job("mnist", &spec), target).map(|_| ()).unwrap_err();
            assert_eq!(problems.list[0].code.name, "unused-patch", "{missed} for {}", target.name());
        }
        let broken = "  workers: {replicas: 2}\n  patches: [{target: {kind: Pod}, patch: {spec: {containers: [{tty: true}]}}}]\n";
        let problems = render(&job("mnist", broken), target).map(|_| ()).unwrap_err();
        let [problem] = problems.list.as_slice() else { panic!("{}: {problems:?}", target.name()) };
        assert_eq!(problem.code.name, "broken-patch", "{}: {problem:?}", target.name());
        assert!(problem.message.contains("all of `spec.containers`"), "{}", problem.message);
    }
}

#[test]
fn an_imported_mpi_job_is_the_job_it_was_rendered_from() {
    let mut tried = 0;
    for (name, text) in examples() {
        let Ok(rendered) = render(&text, Target::MpiJob) else { continue };
        // Another example has as many workers as the operator can list.
        let old = Text { name: "rendered.yaml".to_owned(), text: rendered.text.clone() };
        let imported = import(System::MpiJob, &[old], &Options::default())
            .unwrap_or_else(|problems| panic!("{name}: {:#?}", problems.list));
        let lost: Vec<_> = imported.fields.iter().filter(|field| field.verdict != "kept").collect();
        assert!(lost.is_empty(), "{name}: {lost:#?}\n{}", imported.job);
        let again = Text { name: "again.yaml".to_owned(), text: imported.job };
        assert_eq!(render(&again, Target::MpiJob).unwrap().text, rendered.text, "{name}: {}", again.text);
        let plain = |text| render(text, Target::Plain).unwrap().text;
        assert_eq!(plain(&again), plain(&text), "{name}: {}", again.text);
        tried += 1;
    }
    assert!(tried > 20, "only {tried}");
}

/// What no example has, or none together.
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
    let rendered = render(&text, Target::MpiJob).unwrap_or_else(|problems| panic!("{:#?}", problems.list)).text;
    let old = Text { name: "rendered.yaml".to_owned(), text: rendered.clone() };
    let imported = import(System::MpiJob, &[old], &Options::default()).unwrap_or_else(|p| panic!("{:#?}", p.list));
    let again = Text { name: "again.yaml".to_owned(), text: imported.job };
    let lost: Vec<_> = imported.fields.iter().filter(|field| field.verdict != "kept").collect();
    assert!(lost.is_empty(), "{lost:#?}\n{}", again.text);
    assert_eq!(render(&again, Target::MpiJob).unwrap().text, rendered, "{}", again.text);
}

#[test]
fn an_mpi_job_as_the_cluster_has_it_comes_back_too() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "horovod-gpu").unwrap();
    let mut all = objects(&render(&text, Target::MpiJob).unwrap());
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
    assert_eq!(render(&again, Target::Plain).unwrap().text, render(&text, Target::Plain).unwrap().text);
}

#[test]
fn what_was_changed_by_hand_in_a_rendered_mpi_job_is_told() {
    let rendered = render(&job("mnist", "  workers: {replicas: 2}\n"), Target::MpiJob).unwrap().text;
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

/// The published type of each kind, as a schema that knows no other field; empty where no folder is given.
fn published() -> Vec<(String, String, Json)> {
    let Some(folder) = std::env::var_os("KHOROVOD_CORPUS").map(PathBuf::from) else { return Vec::new() };
    let folder = folder.join("crds");
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut types = Vec::new();
    for file in
        files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "yaml"))
    {
        for document in serde_yaml::Deserializer::from_str(&fs::read_to_string(file).unwrap()) {
            let crd: Json = serde::Deserialize::deserialize(document).unwrap();
            let names = (&crd["spec"]["group"], &crd["spec"]["names"]["kind"]);
            let (Some(group), Some(kind)) = (names.0.as_str(), names.1.as_str()) else { continue };
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let mut schema = version["schema"]["openAPIV3Schema"].clone();
                close(&mut schema);
                types.push((format!("{group}/{}", version["name"].as_str().unwrap()), kind.to_owned(), schema));
            }
        }
    }
    types
}

/// As a strict API server reads it: unknown fields are errors, and what says it is either is.
fn close(schema: &mut Json) {
    let Json::Object(map) = schema else { return };
    if map.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        map.remove("type");
        map.remove("anyOf");
        map.insert("type".to_owned(), json!(["integer", "string"]));
    }
    let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true))
        || map.contains_key("additionalProperties");
    if let Some(properties) = map.get_mut("properties").and_then(Json::as_object_mut) {
        properties.values_mut().for_each(close);
        if !open {
            map.insert("additionalProperties".to_owned(), json!(false));
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            close(inner);
        }
    }
}

#[test]
fn published_types_take_every_example() {
    let types = published();
    if types.is_empty() {
        eprintln!("skipped: KHOROVOD_CORPUS names no folder with published custom resources");
        return;
    }
    let mut judged = 0;
    for target in TARGETS {
        for (name, text) in examples() {
            let Ok(rendered) = render(&text, target) else { continue };
            for object in objects(&rendered) {
                let of = |(version, kind, _): &&(String, String, Json)| {
                    object["apiVersion"] == version.as_str() && object["kind"] == kind.as_str()
                };
                let Some((_, kind, schema)) = types.iter().find(of) else { continue };
                let mut schema = schema.clone();
                schema["properties"]["metadata"] = json!({"type": "object"});
                let judge = jsonschema::validator_for(&schema).unwrap();
                let wrong: Vec<_> =
                    judge.iter_errors(&object).map(|error| format!("{}: {error}", error.instance_path())).collect();
                assert!(wrong.is_empty(), "{name} for {}, {kind}: {wrong:#?}", target.name());
                let mut bogus = object;
                bogus["spec"]["bogus"] = json!(1);
                assert!(!judge.is_valid(&bogus), "{kind}: the judge takes anything");
                judged += 1;
            }
        }
    }
    assert!(judged > 100, "only {judged} objects were of a published type");
}
