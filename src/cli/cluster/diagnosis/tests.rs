//! A table of cases: objects as `kubectl get -o json` of Kubernetes 1.34 prints them, without the fields that khorovod does not
//! read, and the sentence that describes them.

#![allow(clippy::needless_pass_by_value)] // A case contains its objects as literals.

use serde_json::{Value, json};

use super::*;

/// The time 2026-11-26T07:00:00Z, in seconds since 1970.
const NOW: i64 = 1_795_676_400;

/// The time that many minutes before now.
fn ago(minutes: i64) -> String {
    let of_day = 7 * 60 - minutes;
    let (day, of_day) = (26 + of_day.div_euclid(1440), of_day.rem_euclid(1440));
    format!("2026-11-{day:02}T{:02}:{:02}:00Z", of_day / 60, of_day % 60)
}

fn labels(run: &str, component: &str) -> Value {
    json!({"app.kubernetes.io/name": "gpt", "app.kubernetes.io/component": component, "khorovod.dev/job": "gpt", "khorovod.dev/run": run})
}

fn current(run: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gpt-current", "namespace": "team-a",
        "labels": {"khorovod.dev/job": "gpt"}, "creationTimestamp": ago(60)},
        "data": {"run": run, "retries": "3", "wait-timeout": "1800"}})
}

fn set(replicas: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "gpt-abc-worker", "namespace": "team-a",
        "labels": labels("abc", "worker"), "annotations": {"khorovod.dev/replicas": replicas.to_string()}, "creationTimestamp": ago(30)},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "worker",
            "resources": {"limits": {"cpu": "8", "nvidia.com/gpu": "8", "rdma/hca": "1"}}}]}}},
        "status": {"replicas": replicas}})
}

/// The Job of the launcher.
fn job(run: &str, status: Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("gpt-{run}-launcher"), "namespace": "team-a",
        "labels": labels(run, "launcher"), "creationTimestamp": ago(30)},
        "spec": {"backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "parallelism": 1, "suspend": false,
            "template": {"spec": {"containers": [{"name": "launcher", "resources": {"limits": {"cpu": "1"}}}]}}},
        "status": status})
}

/// The Job with the status that its launcher writes.
fn reporting(status: Value, report: Value) -> Value {
    let mut job = job("abc", status);
    job["metadata"]["annotations"] = json!({"khorovod.dev/status": report.to_string()});
    job
}

fn active() -> Value {
    json!({"active": 1, "ready": 1, "startTime": ago(30), "terminating": 0, "uncountedTerminatedPods": {}})
}

fn ended(kind: &str, reason: &str) -> Value {
    let mut status = json!({"startTime": ago(150), "conditions": [{"type": kind, "status": "True", "reason": reason,
        "message": "Job has reached the specified backoff limit", "lastProbeTime": ago(5), "lastTransitionTime": ago(5)}]});
    if kind == "Complete" {
        status["completionTime"] = json!(ago(5));
    }
    status
}

/// A pod that has no node yet.
fn pod(name: &str, component: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team-a", "labels": labels("abc", component),
        "creationTimestamp": ago(30), "ownerReferences": [{"kind": if component == "worker" { "StatefulSet" } else { "Job" }, "name": "x"}]},
        "spec": {"containers": [{"name": component, "command": ["/bin/bash", "/etc/khorovod/scripts/x.sh"],
            "resources": {"limits": if component == "worker" { json!({"nvidia.com/gpu": "8"}) } else { json!({"cpu": "1"}) }}}]},
        "status": {"phase": "Pending", "qosClass": "Burstable"}})
}

fn worker(index: u32) -> Value {
    pod(&format!("gpt-abc-worker-{index}"), "worker")
}

fn launcher() -> Value {
    pod("gpt-abc-launcher-x1", "launcher")
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"))[key.replace("~1", "/")] = value;
    object
}

fn unschedulable(pod: Value, message: &str) -> Value {
    with(
        pod,
        "/status/conditions",
        json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]),
    )
}

fn on_node(pod: Value) -> Value {
    with(pod, "/spec/nodeName", json!("n3"))
}

fn container(pod: Value, state: Value) -> Value {
    let name = pod.pointer("/spec/containers/0/name").unwrap().clone();
    with(
        on_node(pod),
        "/status/containerStatuses",
        json!([{"name": name, "restartCount": 0, "ready": false, "state": state, "lastState": {}}]),
    )
}

fn waiting(pod: Value, reason: &str, message: &str) -> Value {
    let state =
        if message.is_empty() { json!({"reason": reason}) } else { json!({"reason": reason, "message": message}) };
    container(pod, json!({ "waiting": state }))
}

fn ready(pod: Value) -> Value {
    let pod = container(pod, json!({"running": {"startedAt": ago(20)}}));
    let pod = with(pod, "/status/phase", json!("Running"));
    with(
        pod,
        "/status/conditions",
        json!([{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}]),
    )
}

fn exited(pod: Value, code: i32, message: &str) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    let end =
        json!({"exitCode": code, "reason": reason, "message": message, "finishedAt": ago(5), "startedAt": ago(100)});
    let pod = container(pod, json!({ "terminated": end }));
    with(pod, "/status/phase", json!(if code == 0 { "Succeeded" } else { "Failed" }))
}

fn event(kind: &str, name: &str, reason: &str, message: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.1"), "namespace": "team-a", "creationTimestamp": ago(10)},
        "involvedObject": {"kind": kind, "name": name, "namespace": "team-a"}, "reason": reason, "message": message,
        "type": "Warning", "eventTime": null, "firstTimestamp": ago(10), "lastTimestamp": ago(1), "count": 3})
}

/// The Indexed Job, and one of its pods.
fn indexed(status: Value) -> Value {
    let mut job = job("abc", status);
    job["metadata"]["name"] = json!("gpt-abc");
    job["metadata"]["labels"] = labels("abc", "worker");
    job["spec"]["completionMode"] = json!("Indexed");
    job["spec"]["completions"] = json!(2);
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = json!({"nvidia.com/gpu": "8"});
    job
}

fn index(index: u32) -> Value {
    let pod = pod(&format!("gpt-abc-{index}-x1"), "worker");
    with(pod, "/metadata/labels/batch.kubernetes.io~1job-completion-index", json!(index.to_string()))
}

fn training() -> Value {
    json!({"phase": "training", "since": NOW - 1200, "attempt": 1, "failures": 0, "retries": 3, "held": 1500, "trained": 1200})
}

fn all_ready(count: u32) -> Vec<Value> {
    (0..count).map(|index| ready(worker(index))).chain([ready(launcher())]).collect()
}

fn objects(items: &[Value]) -> Objects {
    let mut objects = Objects::default();
    objects.add(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    objects
}

fn state_of(items: &[Value]) -> State {
    diagnose(&objects(items), Subject { job: "gpt", namespace: None, run: None }, Time(NOW))
}

/// Checks the phase and the sentence for each list of objects.
fn check(cases: &[(&str, Vec<Value>, Phase, &str)]) {
    for (name, items, phase, message) in cases {
        let state = state_of(items);
        assert_eq!((state.phase, state.message.as_str()), (*phase, *message), "{name}");
    }
}

const NO_GPU: &str = "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient \
    nvidia.com/gpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";

#[test]
fn before_the_training() {
    let base = |rest: Vec<Value>| [vec![current("abc"), set(8), job("abc", active())], rest].concat();
    let first = |count: u32| (0..count).map(|index| ready(worker(index))).collect::<Vec<_>>();
    let quota = "pods \"gpt-abc-worker-5\" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=40, limited: requests.nvidia.com/gpu=40";
    check(&[
        ("nothing applied", vec![], Phase::Absent, "nothing is applied"),
        (
            "launcher pending",
            base(vec![unschedulable(launcher(), "0/3 nodes are available: 3 Insufficient cpu. preemption: none.")]),
            Phase::Waiting,
            "waiting for the launcher: Pending for \"insufficient cpu\"",
        ),
        ("no pod yet", base(vec![]), Phase::Waiting, "waiting for the launcher: not created yet"),
        (
            "no quota for the launcher",
            base(vec![event("Job", "gpt-abc-launcher", "FailedCreate", "Error creating: pods \"gpt-abc-launcher-\" is forbidden: exceeded quota: cpu")]),
            Phase::Waiting,
            "waiting for the launcher: not created: exceeded quota: cpu",
        ),
        (
            "3 of 8 workers",
            base([
                first(5),
                vec![
                    ready(launcher()),
                    unschedulable(worker(5), NO_GPU),
                    unschedulable(worker(6), NO_GPU),
                    waiting(worker(7), "ContainerCreating", ""),
                    event("Pod", "gpt-abc-worker-7", "Pulling", "Pulling image \"gpt:1\""),
                ],
            ]
            .concat()),
            Phase::Waiting,
            "waiting for 3 of 8 workers: 2 Pending for \"had untolerated taint {node-role.kubernetes.io/control-plane: }, insufficient nvidia.com/gpu\", \
             1 pulling the image",
        ),
        (
            "image cannot be pulled",
            base([
                first(7),
                vec![
                    ready(launcher()),
                    waiting(worker(7), "ImagePullBackOff", "Back-off pulling image \"gpt:2\": ErrImagePull: not found"),
                    event("Pod", "gpt-abc-worker-7", "Failed", "Failed to pull image \"gpt:2\": not found"),
                ],
            ]
            .concat()),
            Phase::Waiting,
            "waiting for 1 of 8 workers: 1 cannot pull the image: Failed to pull image \"gpt:2\": not found",
        ),
        (
            "no events",
            base([first(7), vec![ready(launcher()), waiting(worker(7), "ErrImagePull", "not found")]].concat()),
            Phase::Waiting,
            "waiting for 1 of 8 workers: 1 cannot pull the image: not found",
        ),
        (
            "a Secret is missing",
            base(vec![waiting(launcher(), "CreateContainerConfigError", "secret \"wandb\" not found")]),
            Phase::Waiting,
            "waiting for the launcher: cannot start: secret \"wandb\" not found",
        ),
        (
            "a volume cannot be mounted",
            base(vec![
                waiting(launcher(), "ContainerCreating", ""),
                event("Pod", "gpt-abc-launcher-x1", "FailedMount", "MountVolume.SetUp failed for volume \"keys\" : secret \"gpt-abc-ssh\" not found"),
            ]),
            Phase::Waiting,
            "waiting for the launcher: cannot start yet: MountVolume.SetUp failed for volume \"keys\" : secret \"gpt-abc-ssh\" not found",
        ),
        (
            "a claim is unbound",
            base(vec![
                unschedulable(launcher(), "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/3"),
                json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "gpt-data"}, "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"}}),
            ]),
            Phase::Waiting,
            "waiting for the launcher: Pending for \"pod has unbound immediate PersistentVolumeClaims\" (claim gpt-data of storage class fast is Pending)",
        ),
        (
            "quota exceeded",
            base([
                first(5),
                vec![
                    ready(launcher()),
                    event("StatefulSet", "gpt-abc-worker", "FailedCreate", &format!("create Pod gpt-abc-worker-5 in StatefulSet gpt-abc-worker failed error: {quota}")),
                ],
            ]
            .concat()),
            Phase::Waiting,
            "waiting for 3 of 8 workers: 3 not created: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=40, \
             limited: requests.nvidia.com/gpu=40",
        ),
        (
            "a worker fails again and again",
            base([
                first(7),
                vec![
                    ready(launcher()),
                    with(
                        waiting(worker(7), "CrashLoopBackOff", "back-off 40s restarting failed container"),
                        "/status/containerStatuses/0/lastState",
                        json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "12:00 khorovod: a\nthe image has no sshd: install openssh-server\n"}}),
                    ),
                ],
            ]
            .concat()),
            Phase::Waiting,
            "waiting for 1 of 8 workers: 1 fails again and again: the image has no sshd: install openssh-server",
        ),
        (
            "held back by a gate",
            base(vec![with(launcher(), "/spec/schedulingGates", json!([{"name": "kueue.x-k8s.io/admission"}]))]),
            Phase::Waiting,
            "waiting for the launcher: held back by the scheduling gate kueue.x-k8s.io/admission",
        ),
        (
            "suspended by Kueue",
            vec![current("abc"), with(with(indexed(json!({})), "/spec/suspend", json!(true)), "/metadata/labels/kueue.x-k8s.io~1queue-name", json!("gpus"))],
            Phase::Queued,
            "waiting for Kueue to admit it to the queue gpus",
        ),
        (
            "suspended",
            vec![current("abc"), with(indexed(json!({})), "/spec/suspend", json!(true))],
            Phase::Queued,
            "suspended: waiting for the controller or the person that set spec.suspend of its Job",
        ),
    ]);
}

#[test]
fn while_it_trains() {
    let base =
        |report: Value, rest: Vec<Value>| [vec![current("abc"), set(2), reporting(active(), report)], rest].concat();
    let report = |fields: Value| {
        let mut report = training();
        report.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        report
    };
    let lost = with(
        with(
            ready(worker(1)),
            "/status/conditions",
            json!([{"type": "Ready", "status": "False"}, {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}]),
        ),
        "/metadata/deletionTimestamp",
        json!(ago(1)),
    );
    let end = "lost worker gpt-abc-worker-1.gpt";
    check(&[
        ("first attempt", base(training(), all_ready(2)), Phase::Training, "training, attempt 1 of 4"),
        (
            "attempt 2 of 4",
            base(report(json!({"attempt": 2, "failures": 1})), all_ready(2)),
            Phase::Training,
            "training, attempt 2 of 4",
        ),
        (
            "attempts that cost no retry",
            base(report(json!({"attempt": 5, "failures": 1})), all_ready(2)),
            Phase::Training,
            "training, attempt 5 (1 of 3 retries used)",
        ),
        (
            "recovering from a lost node",
            base(
                report(json!({"phase": "waiting", "attempt": 2, "failures": 1, "lastEnd": end})),
                vec![ready(launcher()), ready(worker(0)), lost],
            ),
            Phase::Recovering,
            "recovering, attempt 2 of 4: lost worker gpt-abc-worker-1.gpt; waiting for 1 of 2 workers: 1 on node n3, which does not answer",
        ),
        (
            "saving",
            base(report(json!({"phase": "saving", "message": "past its deadline of 600 s"})), all_ready(2)),
            Phase::Saving,
            "saving a checkpoint: past its deadline of 600 s",
        ),
        (
            "uploading",
            base(report(json!({"phase": "uploading"})), all_ready(2)),
            Phase::Uploading,
            "uploading the S3 volumes",
        ),
        (
            "preparing",
            base(report(json!({"phase": "preparing", "message": "checking MPI on 2 hosts"})), all_ready(2)),
            Phase::Preparing,
            "preparing: checking MPI on 2 hosts",
        ),
        (
            "a stall is reported",
            base(
                report(json!({"message": "no output for 1200 s: 31 ranks in all_reduce (train.py:88)"})),
                all_ready(2),
            ),
            Phase::Training,
            "training, attempt 1 of 4; it reports: no output for 1200 s: 31 ranks in all_reduce (train.py:88)",
        ),
        (
            "no progress",
            base(report(json!({"step": 10, "progressAt": NOW - 1500})), all_ready(2)),
            Phase::Training,
            "training, attempt 1 of 4; no progress for 25 min",
        ),
        (
            "a spare is missing",
            base(training(), vec![ready(launcher()), ready(worker(0)), unschedulable(worker(1), NO_GPU)]),
            Phase::Training,
            "training, attempt 1 of 4; 1 of 2 workers not Ready: 1 Pending for \"had untolerated taint {node-role.kubernetes.io/control-plane: }, \
             insufficient nvidia.com/gpu\"",
        ),
        (
            "the launcher was killed",
            base(training(), vec![ready(worker(0)), ready(worker(1)), exited(launcher(), 137, "")]),
            Phase::Recovering,
            "recovering: the launcher ended (exit code 137), and Kubernetes starts another one",
        ),
        (
            "another launcher starts",
            base(training(), vec![ready(worker(0)), ready(worker(1)), waiting(launcher(), "ContainerCreating", "")]),
            Phase::Recovering,
            "recovering: waiting for the launcher: starting",
        ),
        (
            "stopping",
            vec![
                current("abc"),
                set(2),
                with(reporting(active(), training()), "/metadata/deletionTimestamp", json!(ago(1))),
                ready(worker(0)),
                ready(launcher()),
            ],
            Phase::Stopping,
            "stopping: 2 pods still run, at most for their grace period",
        ),
        (
            "a torn annotation",
            [
                vec![
                    current("abc"),
                    set(2),
                    with(job("abc", active()), "/metadata/annotations", json!({"khorovod.dev/status": "{\"phase"})),
                ],
                all_ready(2),
            ]
            .concat(),
            Phase::Running,
            "running: all pods are Ready; the state of the training is in the log",
        ),
        (
            "an annotation of a later version",
            base(json!({"phase": "dreaming", "colour": 3}), all_ready(2)),
            Phase::Training,
            "training",
        ),
    ]);
}

#[test]
fn after_its_end() {
    let base = |status: Value, rest: Vec<Value>| [vec![current("abc"), set(2), job("abc", status)], rest].concat();
    let failed = || ended("Failed", "BackoffLimitExceeded");
    let keeps = with(
        current("abc"),
        "/metadata/annotations",
        json!({"khorovod.dev/spec": "{\"spec\":{\"lifecycle\":{\"keepWorkers\":true}}}"}),
    );
    check(&[
        (
            "released",
            base(ended("Complete", "CompletionsReached"), vec![exited(launcher(), 0, "trained")]),
            Phase::Trained,
            "trained in 2 h 25 min; GPUs are released",
        ),
        (
            "its pods are gone",
            base(ended("Complete", "CompletionsReached"), vec![]),
            Phase::Trained,
            "trained in 2 h 25 min; GPUs are released",
        ),
        (
            "workers still end",
            base(ended("Complete", "CompletionsReached"), vec![ready(worker(0)), exited(launcher(), 0, "trained")]),
            Phase::Trained,
            "trained in 2 h 25 min; 1 pod still runs and holds 8 GPUs",
        ),
        (
            "keepWorkers",
            vec![
                keeps,
                set(2),
                job("abc", ended("Complete", "CompletionsReached")),
                ready(worker(0)),
                ready(worker(1)),
                exited(launcher(), 0, "trained"),
            ],
            Phase::Trained,
            "trained in 2 h 25 min; 2 pods still run and hold 16 GPUs, because of lifecycle.keepWorkers",
        ),
        (
            "failed",
            base(
                failed(),
                vec![exited(launcher(), 42, "failed after 4 attempts; the last: training ended with code 1\n")],
            ),
            Phase::Failed,
            "failed (exit code 42): failed after 4 attempts; the last: training ended with code 1; GPUs are released",
        ),
        (
            "superseded",
            base(failed(), vec![exited(launcher(), 43, "superseded: run xyz is current")]),
            Phase::Superseded,
            "ended (exit code 43): superseded: run xyz is current; GPUs are released",
        ),
        (
            "deadline",
            base(failed(), vec![exited(launcher(), 44, "past its deadline of 600 s")]),
            Phase::PastDeadline,
            "ended (exit code 44): past its deadline of 600 s; GPUs are released",
        ),
        (
            "deadline of Kubernetes",
            base(ended("Failed", "DeadlineExceeded"), vec![]),
            Phase::PastDeadline,
            "ended: Job has reached the specified backoff limit; GPUs are released",
        ),
        (
            "a pod that does not start the ranks has ended the Job",
            vec![
                current("abc"),
                indexed(failed()),
                exited(index(0), 143, "received SIGTERM"),
                exited(index(1), 42, "the ranks do not match the spec; see a rank's line above"),
            ],
            Phase::Failed,
            "failed (exit code 42): the ranks do not match the spec; see a rank's line above; GPUs are released",
        ),
        (
            "its Job is deleted",
            vec![current("abc"), set(2)],
            Phase::Stopped,
            "stopped: its Job does not exist; to start it, apply the spec again",
        ),
        (
            "its Job is deleted, and workers run",
            vec![current("abc"), set(2), ready(worker(0))],
            Phase::Stopping,
            "stopped: its Job does not exist; 1 pod still runs and holds 8 GPUs, at most until its first workers notice that no launcher runs",
        ),
    ]);
    let state = state_of(&base(failed(), vec![exited(launcher(), 42, "x")]));
    assert_eq!((state.exit_code, state.is_released, state.since), (Some(42), true, Some(NOW - 300)));
}

#[test]
fn one_indexed_job() {
    let torchrun = |index: u32, pod: fn(Value) -> Value| pod(self::index(index));
    check(&[
        (
            "torchrun without a Role",
            vec![current("abc"), indexed(active()), torchrun(0, ready), torchrun(1, ready)],
            Phase::Running,
            "running: all pods are Ready; the state of the training is in the log",
        ),
        (
            "a pod is missing",
            vec![
                current("abc"),
                indexed(active()),
                torchrun(0, ready),
                unschedulable(index(1), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."),
            ],
            Phase::Waiting,
            "waiting for 1 of 2 workers: 1 Pending for \"insufficient nvidia.com/gpu\"",
        ),
        (
            "none has started",
            vec![
                current("abc"),
                indexed(active()),
                unschedulable(index(0), "0/1 nodes are available: 1 Too many pods."),
                unschedulable(index(1), "0/1 nodes are available: 1 Too many pods."),
            ],
            Phase::Waiting,
            "waiting for 2 of 2 workers: 2 Pending for \"Too many pods\"",
        ),
        (
            "torchrun has failed",
            vec![
                current("abc"),
                indexed(ended("Failed", "PodFailurePolicy")),
                exited(index(0), 42, "failed after 1 attempt; the last: training ended with code 1"),
            ],
            Phase::Failed,
            "failed (exit code 42): failed after 1 attempt; the last: training ended with code 1; GPUs are released",
        ),
    ]);
    let carrying = |spec: &str| {
        with(current("abc"), "/metadata/annotations", json!({"khorovod.dev/spec": format!("{{\"spec\": {spec}}}")}))
    };
    let (fixed, elastic) = (carrying("{}"), carrying(r#"{"workers": {"elastic": {"minReplicas": 1}}}"#));
    let reporting = |report: Value| {
        let mut job = indexed(active());
        job["metadata"]["annotations"] = json!({"khorovod.dev/status": report.to_string()});
        with(job, "/spec/template/spec/containers/0/command", json!(["/bin/bash", "/etc/khorovod/scripts/agent.sh"]))
    };
    let pending = || unschedulable(index(1), "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    let again = json!({"phase": "training", "since": NOW - 60, "attempt": 2, "failures": 1, "retries": 3, "lastEnd": "lost worker gpt-abc-1"});
    check(&[
        (
            "torchrun of index 0 waits for the others",
            vec![fixed.clone(), reporting(training()), torchrun(0, ready), pending()],
            Phase::Waiting,
            "waiting for 1 of 2 workers: 1 Pending for \"insufficient nvidia.com/gpu\"",
        ),
        (
            "also after the loss of a pod",
            vec![fixed.clone(), reporting(again), torchrun(0, ready), pending()],
            Phase::Recovering,
            "recovering, attempt 2 of 4: lost worker gpt-abc-1; waiting for 1 of 2 workers: 1 Pending for \"insufficient nvidia.com/gpu\"",
        ),
        (
            "all pods run",
            vec![fixed.clone(), reporting(training()), torchrun(0, ready), torchrun(1, ready)],
            Phase::Training,
            "training, attempt 1 of 4",
        ),
        (
            "a pod has finished before the first one",
            vec![fixed, reporting(training()), torchrun(0, ready), exited(index(1), 0, "")],
            Phase::Training,
            "training, attempt 1 of 4; 1 of 2 workers not Ready: 1 not created yet",
        ),
        (
            "an elastic job trains with fewer pods",
            vec![elastic, reporting(training()), torchrun(0, ready), pending()],
            Phase::Training,
            "training, attempt 1 of 4; 1 of 2 workers not Ready: 1 Pending for \"insufficient nvidia.com/gpu\"",
        ),
    ]);
    let state = state_of(&[current("abc"), indexed(active()), index(1), ready(index(0))]);
    assert_eq!((state.log_pod.as_deref(), state.has_log), (Some("gpt-abc-0-x1"), true));
    assert_eq!((state.gpus[0].held, state.gpus[0].wanted), (8, 16));
}

#[test]
fn several_runs() {
    let mut old = job("old", ended("Failed", "BackoffLimitExceeded"));
    old["metadata"]["creationTimestamp"] = json!(ago(300));
    let state = state_of(&[vec![current("abc"), old, set(2), job("abc", active())], all_ready(2)].concat());
    assert_eq!((state.run.as_deref(), state.phase), (Some("abc"), Phase::Running));
    assert_eq!(state.other_runs.len(), 1);
    assert_eq!((state.other_runs[0].run.as_str(), state.other_runs[0].phase), ("old", Phase::Failed));
    assert!(state.notes.is_empty(), "{:?}", state.notes);

    // The launcher of the old run has not ended yet.
    let mut trains = ready(launcher());
    trains["metadata"]["labels"]["khorovod.dev/run"] = json!("old");
    let items = [current("abc"), job("old", active()), trains, job("abc", active()), set(2)];
    let state = state_of(&items);
    assert_eq!(
        state.notes,
        ["run old has not ended, beside run abc: running: all pods are Ready; the state of the training is in the log"]
    );
    let subject = Subject { job: "gpt", namespace: None, run: Some("old") };
    let state = diagnose(&objects(&items), subject, Time(NOW));
    assert_eq!(
        (state.phase, state.notes.first().map(String::as_str)),
        (Phase::Running, Some("run abc has not ended, beside run old: waiting for the launcher: not created yet"))
    );
    assert!(state.notes.contains(&"this is not the current run, which is abc".to_owned()));
}

#[test]
fn missing_permissions_are_reported() {
    let mut objects = objects(&[vec![set(2), job("abc", active())], all_ready(2)].concat());
    objects.unreadable = vec!["configmaps".to_owned(), "events".to_owned()];
    let state = diagnose(&objects, Subject { job: "gpt", namespace: Some("team-a"), run: None }, Time(NOW));
    assert_eq!((state.run.as_deref(), state.phase), (Some("abc"), Phase::Running));
    assert_eq!(state.notes.len(), 2);
    assert!(state.notes[1].starts_with("you may not read events, so this may be incomplete"), "{:?}", state.notes);
    // The user may read only pods.
    let mut objects = self::objects(&all_ready(2));
    objects.unreadable = vec!["jobs".to_owned(), "statefulsets".to_owned()];
    let state = diagnose(&objects, Subject { job: "gpt", namespace: None, run: None }, Time(NOW));
    assert_eq!((state.phase, state.workers.ready, state.workers.wanted), (Phase::Running, 2, 2));
}

#[test]
fn other_controllers() {
    let owned = |pod: Value| with(pod, "/metadata/ownerReferences", json!([{"kind": "MPIJob", "name": "gpt"}]));
    let state = state_of(&[current("abc"), owned(ready(worker(0))), owned(ready(launcher()))]);
    assert_eq!(state.phase, Phase::Running);
    assert!(state.notes[0].starts_with("the MPIJob gpt runs this job"), "{:?}", state.notes);
    // Volcano's kind `Job` is also a kind of Kubernetes. Before the first pod exists, only the target names the kind.
    let annotated =
        |target: &str| with(current("abc"), "/metadata/annotations", json!({"khorovod.dev/target": target}));
    for (target, kind) in [("volcano", "Job.batch.volcano.sh"), ("trainjob", "TrainJob"), ("mpijob", "MPIJob")] {
        let state = state_of(&[annotated(target)]);
        assert_eq!(state.phase, Phase::Waiting, "{target}: {}", state.message);
        let wanted = format!("waiting for pods: the {kind} gpt-abc has not created any");
        assert!(state.message.starts_with(&wanted), "{}", state.message);
        assert!(
            state.notes[0].contains(&format!("`kubectl describe {} gpt-abc`", kind.to_lowercase())),
            "{:?}",
            state.notes
        );
    }
    let of_volcano = |pod: Value| with(pod, "/metadata/ownerReferences", json!([{"kind": "Job", "name": "gpt-abc"}]));
    let state = state_of(&[annotated("volcano"), of_volcano(ready(worker(0))), of_volcano(ready(launcher()))]);
    assert_eq!(state.phase, Phase::Running, "{}", state.message);
    let state = state_of(&[current("abc"), owned(exited(launcher(), 42, "failed after 1 attempt"))]);
    assert_eq!(
        (state.phase, state.message.as_str()),
        (Phase::Failed, "failed (exit code 42): failed after 1 attempt; workers are released")
    );
}

#[test]
fn progress_and_remaining_time() {
    let report = |fields: Value| {
        let mut report = training();
        report.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        state_of(&[vec![current("abc"), set(2), reporting(active(), report)], all_ready(2)].concat())
    };
    let state = report(
        json!({"step": 300, "steps": 1000, "unit": "step", "progressAt": NOW - 100, "lastEnd": "lost worker a"}),
    );
    let progress = state.progress.unwrap();
    // 300 steps took 1200 s, so the other 700 steps take 2800 s. 100 s of them have passed since the report.
    assert_eq!((progress.step, progress.steps, progress.seconds_left), (300, Some(1000), Some(2700)));
    assert_eq!(
        (state.held_seconds, state.trained_seconds, state.last_end.as_deref()),
        (Some(1500.0), Some(1200.0), Some("lost worker a"))
    );
    assert_eq!((state.gpus[0].resource.as_str(), state.gpus[0].held, state.gpus[0].wanted), ("nvidia.com/gpu", 16, 16));
    // While the launcher runs, the 40 s since the report count too.
    let state = report(json!({"at": NOW - 40}));
    assert_eq!((state.held_seconds, state.trained_seconds), (Some(1540.0), Some(1240.0)));
    let state = report(json!({"at": NOW - 40, "phase": "waiting"}));
    assert_eq!((state.held_seconds, state.trained_seconds), (Some(1540.0), Some(1200.0)));
    let ended = [
        current("abc"),
        set(2),
        reporting(ended("Complete", "CompletionsReached"), training()),
        exited(launcher(), 0, "trained"),
    ];
    assert_eq!(state_of(&ended).trained_seconds, Some(1200.0));
    // A step took 4 s, and none has passed for 700 s. Steps of an hour may take that long.
    assert_eq!(
        report(json!({"step": 300, "steps": 1000, "progressAt": NOW - 700})).progress.unwrap().seconds_left,
        None
    );
    let slow = report(json!({"step": 2, "steps": 3, "progressAt": NOW - 700, "trained": 7200}));
    assert_eq!(slow.progress.unwrap().seconds_left, Some(2900));
    // Without the total, or before the first step, nothing is estimated.
    assert_eq!(report(json!({"step": 300})).progress.unwrap().seconds_left, None);
    assert_eq!(report(json!({"step": 0, "steps": 9})).progress.unwrap().seconds_left, None);
    assert_eq!(report(json!({"step": 9, "steps": 9})).progress.unwrap().seconds_left, None);
    assert!(report(json!({})).progress.is_none());
}

#[test]
fn durations() {
    for (seconds, text) in [
        (-5, "0 s"),
        (90, "1 min 30 s"),
        (120, "2 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (7380, "2 h 3 min"),
        (90_000, "1 d 1 h"),
    ] {
        assert_eq!(duration(seconds), text);
    }
}
