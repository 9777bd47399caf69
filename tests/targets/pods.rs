//! The pod templates are the same as in the plain objects, and are at the paths that the operators define.

use khorovod::{Rendered, Target, targets};
use serde_json::{Value as Json, json};

use super::{examples, job, objects, operators, render};

/// All pod templates in an object, by component: `launcher`, `worker`.
pub fn templates(value: &Json, found: &mut Vec<(String, Json)>) {
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

/// The pod templates of rendered objects, without the name of the run and without fields about the controller, the names and
/// the end of the pods.
fn pods(rendered: &Rendered, target: &'static dyn Target) -> Vec<(String, Json)> {
    let all = objects(rendered);
    let run = all.iter().find_map(|object| object["metadata"]["labels"]["khorovod.dev/run"].as_str()).unwrap();
    let text = serde_json::to_string(&all).unwrap().replace(run, "RUN");
    let mut found = Vec::new();
    templates(&serde_json::from_str(&text).unwrap(), &mut found);
    for (component, pod) in &mut found {
        // Trainer's name for the training container.
        let container = &mut pod["spec"]["containers"][0]["name"];
        if target == targets::TRAIN_JOB && *container == "node" {
            *container = json!(component);
        }
        let spec = pod["spec"].as_object_mut().unwrap();
        for field in ["hostname", "subdomain", "restartPolicy", "serviceAccountName", "automountServiceAccountToken"] {
            spec.remove(field);
        }
        // The operator of an MPIJob mounts its own Secret. Only plain workers watch the launcher, so only they read the limits.
        let differs = |volume: &Json| match volume["name"].as_str() {
            Some("khorovod-keys") => target == targets::MPI_JOB,
            Some("khorovod-current") => component == "worker",
            _ => false,
        };
        spec["volumes"].as_array_mut().unwrap().retain(|volume| !differs(volume));
        spec["containers"][0]["volumeMounts"].as_array_mut().unwrap().retain(|mount| !differs(mount));
        // Only khorovod's own workloads replace a pod that leaves a dead node.
        if let Some(tolerations) = spec.get_mut("tolerations").and_then(Json::as_array_mut) {
            tolerations.retain(|toleration| toleration["tolerationSeconds"] != 30);
            if tolerations.is_empty() {
                spec.remove("tolerations");
            }
        }
        if let Some(ports) = spec["containers"][0].get_mut("ports").and_then(Json::as_array_mut) {
            for port in ports {
                port.as_object_mut().unwrap().remove("protocol");
            }
        }
        let env = spec["containers"][0]["env"].as_array_mut().unwrap();
        // The names of pods differ.
        env.retain(|var| {
            let name = var["name"].as_str().unwrap();
            let is_address =
                ["PET_MASTER_ADDR", "JAX_COORDINATOR_ADDRESS"].contains(&name) || name.starts_with("PET_RDZV");
            name != "JOB_COMPLETION_INDEX" && !is_address
        });
    }
    found
}

#[test]
fn pods_are_those_of_the_plain_objects() {
    let mut compared = 0;
    for target in operators() {
        for (name, text) in examples() {
            let (Ok(theirs), Ok(plain)) = (render(&text, target), render(&text, targets::PLAIN)) else { continue };
            // A queue uses another shape there, and Volcano's Job another PodGroup.
            if ["gang", "kueue", "nvlink", "topology"].contains(&name.as_str()) {
                continue;
            }
            let plain = if target == targets::MPI_JOB { pods(&plain, target) } else { pods(&plain, targets::PLAIN) };
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
    let text = job("mnist", "  workers: {replicas: 2}\n  launcher: {kind: mpirun, mpi: mpich}\n");
    // The labels of a worker and of the launcher, from the project's code.
    for (target, worker, launcher) in [
        (targets::PLAIN, "mnist-RUN-worker-1.mnist", "mnist-RUN-launcher.mnist"),
        (targets::MPI_JOB, "mnist-RUN-worker-1.mnist-RUN", "mnist-RUN-launcher.mnist-RUN"),
        (targets::JOB_SET, "mnist-RUN-worker-0-1.mnist", "mnist-RUN-launcher-0-0.mnist"),
        (targets::TRAIN_JOB, "mnist-RUN-worker-0-1.mnist", "mnist-RUN-launcher-0-0.mnist"),
        (targets::VOLCANO, "mnist-RUN-worker-1.mnist", "mnist-RUN-launcher-0.mnist"),
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

/// Kubeflow's SDK finds the training pod by these fields. If one TrainJob lacks any, the SDK fails to list the namespace.
#[test]
fn labels_of_train_jobs_name_the_training_pod() {
    let mut seen = 0;
    for (name, text) in examples() {
        let Ok(rendered) = render(&text, targets::TRAIN_JOB) else { continue };
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
        // Trainer creates the number of pods in the policy, and no plugin changes it.
        assert_eq!(runtime["spec"]["mlPolicy"], json!({"numNodes": spec["completions"]}), "{name}");
        assert_eq!(spec["completions"], spec["parallelism"], "{name}");
        seen += 1;
    }
    assert!(seen > 25, "only {seen}");
}
