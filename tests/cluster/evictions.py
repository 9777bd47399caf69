"""Evictions, deletions and signals of launchers and workers, and changes of a job during its run."""
import os
import signal
import time

import outages
from case import IMAGE, job, label, merge, play
from faults import evict, first_process
from lost_nodes import on_node, tolerating, victim_on
from ranks import Ranks

CHECKPOINT = {"lifecycle": {"checkpoint": {"signal": "SIGUSR1", "gracePeriod": "10s"}}}


def started(case, spec=None, fields=None, size=2, number=None):
    """Applies a job and waits until its ranks run. With a number, or several, the pods of its Job tolerate these nodes."""
    ranks = Ranks(case, size)
    text = case.render_new(job(spec=ranks.spec(spec)), fields or {})
    case.apply(tolerating(number, text) if number else text)
    ranks.until_running(1, 120)
    time.sleep(2)
    return ranks


def completes(case, ranks, launches):
    """Lets the ranks end with success, and checks the end of the run."""
    ranks.end()
    case.equal("the end", case.finished(90), "Complete")
    case.equal("launches", len(ranks.launches()), launches)
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.until("freed devices", case.freed, 30)


def uids(pods):
    return sorted(p["metadata"]["uid"] for p in pods)


def another_launcher(case, than, allowed=120):
    case.until("another launcher", lambda: case.launcher() and case.launcher()["metadata"]["uid"] != than["metadata"]["uid"], allowed)


@play(long=True)
def launcher_drained(case):
    """The workers keep their devices, and the next launcher continues with them."""
    ranks = started(case)
    workers, first = uids(case.workers()), case.launcher()
    evict(case, first)
    another_launcher(case, first)
    starts = ranks.until_running(2, 120)
    case.notes.append(f"ranks run {max(e.time for e in starts) - ranks.last_beat(ranks.launches()[0][0].launch):.1f} s after those of the first launcher")
    case.equal("workers", uids(case.workers()), workers)
    completes(case, ranks, 2)


@play(long=True)
def worker_drained(case):
    """Every rank gets the signal for a checkpoint, and has its grace period to write one."""
    ranks = started(case, fields=CHECKPOINT)
    victim = case.workers()[0]["metadata"]["name"]
    evict(case, case.workers()[0])
    # A pod that is evicted by itself is not the end of the training.
    case.until("second launch", lambda: len(ranks.launches()) > 1, 120)
    signals = signals_of(case, ranks)
    last = ranks.last_beat(ranks.launches()[0][0].launch, victim)
    case.notes.append(f"the ranks of the worker lived {last - signals[0]:.1f} s after the signal")
    case.check(f"ranks live {last - signals[0]:.1f} s after the signal, not 10 s", last - signals[0] >= 9)
    ranks.until_running(2, 120)
    completes(case, ranks, 2)


def signals_of(case, ranks):
    """The times at which ranks got the signal for a checkpoint, which each rank must have got."""
    got = ranks.events("SIGUSR1")
    case.equal("ranks that got SIGUSR1", sorted({e.rank for e in got}), list(range(ranks.size)))
    if len(got) > ranks.size:
        case.notes.append(f"{len(got)} signals to {ranks.size} ranks")
    return sorted(e.time for e in got)


@play(long=True)
def deadline_with_checkpoint(case):
    """Every rank gets the signal before the end."""
    ranks = started(case, {"lifecycle": {"deadline": "50s"}}, CHECKPOINT)
    case.equal("the end", case.finished(120), "Failed")
    case.equal("the launcher's code", case.code(case.launcher()), 44)
    signals = signals_of(case, ranks)
    last = ranks.last_beat()
    case.check(f"ranks live {last - signals[0]:.1f} s after the signal, not 10 s", last - signals[0] >= 9)
    case.until("freed devices", case.freed, 15)


@play(waits=True)
def launcher_cannot_return(case):
    """The launcher is killed and its Secret is gone, so no other launcher starts: the workers free their devices."""
    ranks = started(case, fields={"launcher": {"lostTimeout": "1m"}})
    case.kubectl("delete", "secret", next(v["secret"]["secretName"] for v in case.launcher()["spec"]["volumes"] if "secret" in v))
    killed = time.time()
    os.kill(first_process(case.launcher()), signal.SIGKILL)
    case.freed_after(killed, 120, settle=180)
    scale = case.get("apps/v1", "statefulsets", f"sum-{label(case.launcher(), 'khorovod.dev/run')}-worker")["spec"]["replicas"]
    case.equal("replicas of the workers", scale, 0)
    case.equal("launches", len(ranks.launches()), 1)


@play(waits=True)
def first_pod_of_indexed_job_cannot_return(case):
    """The pod that launches is killed and its Secret is gone, so it cannot start again: another pod ends the Job."""
    ranks = started(case, {"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}}, {"launcher": {"lostTimeout": "1m"}})
    first = case.launcher()
    case.kubectl("delete", "secret", next(v["secret"]["secretName"] for v in first["spec"]["volumes"] if "secret" in v))
    killed = time.time()
    os.kill(first_process(first), signal.SIGKILL)
    case.freed_after(killed, 120, settle=180)
    case.equal("the end", case.finished(30), "Failed")
    case.equal("the deadline of the Job", case.jobs()[0]["spec"].get("activeDeadlineSeconds"), 1)
    case.equal("launches", len(ranks.launches()), 1)


def delete_by_force(case, ranks):
    """Deletes the launcher by force, so that Kubernetes starts the next one at once; checks that the ranks of the first launcher end
    before those of the second start."""
    first = case.launcher()
    case.kubectl("delete", "pod", first["metadata"]["name"], "--force", "--grace-period=0", "--wait=false")
    # Without a kubelet, the finalizer of the Job controller keeps the pod, until an administrator removes it.
    case.kubectl("patch", "pod", first["metadata"]["name"], "--type=merge", "-p", '{"metadata": {"finalizers": null}}', check=False)
    another_launcher(case, first)
    starts = ranks.until_running(2, 120)
    time.sleep(1)
    last, start = ranks.last_beat(ranks.launches()[0][0].launch), min(e.time for e in starts)
    case.notes.append(f"{start - last:.1f} s between the ranks of both launchers")
    case.check(f"ranks of the first launcher ran {last - start:.1f} s after the start of the second's", last < start)


@play(long=True)
def launcher_deleted_by_force(case):
    ranks = started(case)
    delete_by_force(case, ranks)
    completes(case, ranks, 2)


@play(long=True)
def two_launchers(case):
    """The kubelet of the first launcher's node is away, so this launcher continues although its pod is deleted. It does not start
    ranks beside those of the second launcher."""
    number = case.take_node(back=True)
    ranks = started(case, on_node(number, "Job"), number=number)
    victim_on(case, number, "launcher")
    # Or the second launcher waits on that node.
    case.kubectl("cordon", f"node-{number}")
    try:
        with outages.kubelet_away(number):
            delete_by_force(case, ranks)
            # Time for the first launcher to notice that its ranks are gone, and to try again.
            time.sleep(30)
            completes(case, ranks, 2)
    finally:
        case.kubectl("uncordon", f"node-{number}")


@play(waits=True)
def retries_reread(case):
    """The number of retries is raised in the spec, which is applied again during the run."""
    ranks = started(case, {"lifecycle": {"retries": 0}})
    case.apply(case.render(job(spec=ranks.spec({"lifecycle": {"retries": 2}}))))
    name = case.launcher()["metadata"]["name"]
    case.until("the new number in the launcher", lambda: case.execute(name, "cat /etc/khorovod/current/retries").stdout.strip() == "2", 180, every=1)
    ranks.end(1)
    case.until("end of the ranks", lambda: ranks.events("end 1"), 20)
    time.sleep(0.5)
    ranks.do_not_end()
    ranks.until_running(2, 60)
    completes(case, ranks, 2)


def pod_of_indexed_job_killed(case, index):
    """Kills the first process of a pod, as the kernel does if memory is short. Kubernetes starts another pod after 10 s."""
    ranks = started(case, {"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}})
    pod = next(p for p in case.workers() if label(p, "batch.kubernetes.io/job-completion-index") == index)
    os.kill(first_process(pod), signal.SIGKILL)
    killed = time.time()
    took = max(e.time for e in ranks.until_running(2, 120)) - killed
    case.notes.append(f"ranks run {took:.1f} s after the pod was killed")
    completes(case, ranks, 2)
    case.check(f"ranks run {took:.1f} s after the pod was killed, allowed are 40 s", took <= 40)


@play(long=True)
def first_pod_of_indexed_job_killed(case):
    pod_of_indexed_job_killed(case, "0")


@play(long=True)
def other_pod_of_indexed_job_killed(case):
    pod_of_indexed_job_killed(case, "1")


@play(long=True)
def signal_without_training(case):
    """The launcher relays SIGUSR1 to the training; before the training it ignores the signal."""
    case.apply(case.render(job(spec={"workers": {"gpus": 64, "replicas": 20}, "lifecycle": {"startTimeout": "90s"}})))
    case.wait_for_line(r"\d of 20 workers answer; waiting", 60)
    launcher = case.launcher()
    case.equal("the code of kill", case.execute(launcher["metadata"]["name"], "kill -USR1 1").returncode, 0)
    time.sleep(25)
    case.equal("the launcher", case.launcher()["metadata"]["uid"], launcher["metadata"]["uid"])
    case.check("it waits on", case.code(case.launcher()) is None)
    case.delete("sum")


@play(long=True)
def applied_with_other_keys(case):
    """The same spec, rendered with another seed, is applied during the run. Kubernetes refuses the keys, which are immutable, and
    the launcher can still log in to a worker that is replaced later."""
    ranks = Ranks(case)
    spec = job(spec=ranks.spec())
    case.apply(case.render(spec))
    ranks.until_running(1, 120)
    refused = case.kubectl("apply", "-f", "-", text=case.render(spec, seed="6" * 64), check=False)
    case.check("kubectl did not refuse the other keys", refused.returncode and "immutable" in refused.stderr)
    evict(case, case.workers()[0])
    case.until("second launch", lambda: len(ranks.launches()) > 1, 120)
    ranks.until_running(2, 120)
    completes(case, ranks, 2)


@play(long=True)
def keys_of_workers(case):
    """A worker has no key that lets it log in to others. docs/security.md states this for the StatefulSet shape only."""
    case.apply(case.render(job(seconds=600)))
    case.wait_for_line("launching: ", 90)
    name = max(p["metadata"]["name"] for p in case.workers())
    said = case.execute(name, "find /etc/khorovod/keys/ /horovod/generated/keys/ -name 'id_*'")
    case.equal("private keys in workers", said.stdout.split(), [])


@play(waits=True)
def torchrun_first_pod_evicted(case):
    """The agent with index 0 is evicted, which ends the rendezvous of all: they train again within two minutes."""
    ranks = Ranks(case, 6)
    sleeper = "import os, time\nwhile not os.path.exists('/record/end'): time.sleep(0.2)\n"
    spec = {"launcher": {"kind": "torchrun"}, "workers": {"replicas": 6}, "code": {"files": {"sleep.py": sleeper}},
            "command": ["python3", "/programs/record.py", "/programs/sleep.py"]}
    case.apply(case.render(job(spec=ranks.spec(spec))))
    # Six agents load PyTorch.
    ranks.until_running(1, 300)
    evicted = time.time()
    evict(case, case.launcher())

    def again():
        later = {e.rank for e in ranks.events("start") if e.time > evicted + 1}
        return len(later) == 6 and max(e.time for e in ranks.events("start"))
    took = case.until("ranks again", again, 300) - evicted
    case.notes.append(f"ranks run {took:.0f} s after the eviction")
    ranks.end()
    case.equal("the end", case.finished(120), "Complete")
    case.check(f"ranks run {took:.0f} s after the eviction, allowed are 120 s", took <= 120)


def lasted(case, what, began, pod):
    """Checks that a pod ends within the grace period of CHECKPOINT and the seconds that Kubernetes needs to notice it."""
    uid = pod["metadata"]["uid"]
    case.until(f"end of the pod after {what}", lambda: not case.held.get(uid) and uid not in uids(
        p for p in case.pods() if p["status"].get("phase") == "Running"), 60)
    took = time.time() - began
    case.notes.append(f"the pod ended {took:.1f} s after {what}")
    case.check(f"the pod ended {took:.1f} s after {what}, allowed are 20 s", took <= 20)


@play(long=True)
def worker_preempted_by_priority(case):
    """A pod of a higher priority needs the devices of a worker: every rank gets the signal, and the run continues elsewhere."""
    number = case.take_node(back=True)
    ranks = started(case, on_node(number, "StatefulSet"), CHECKPOINT)
    victim = victim_on(case, number, "worker")
    urgent = f"{case.namespace}-urgent"
    case.cluster.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": urgent}, "value": 1000})
    began = time.time()
    case.cluster.call("POST", f"/api/v1/namespaces/{case.namespace}/pods", {"metadata": {"name": "urgent"}, "spec": {
        "priorityClassName": urgent, "terminationGracePeriodSeconds": 0, "nodeSelector": {"kubernetes.io/hostname": f"node-{number}"},
        "tolerations": [{"key": "khorovod.test/doomed", "operator": "Exists"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "urgent", "image": IMAGE, "command": ["sleep", "600"], "resources": {"limits": {"nvidia.com/gpu": "256"}},
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}})
    lasted(case, "the preemption", began, victim)
    case.until("start of the urgent pod", lambda: any(
        p["metadata"]["name"] == "urgent" and p["status"].get("phase") == "Running" for p in case.pods()), 30)
    signals_of(case, ranks)
    starts = ranks.until_running(2, 120)
    case.notes.append(f"ranks run {max(e.time for e in starts) - began:.1f} s after the preemption")
    case.check("a rank on the node of the urgent pod", all(
        p["spec"].get("nodeName") != f"node-{number}" for p in case.workers() if p["metadata"]["name"] in {e.host for e in starts}))
    case.kubectl("delete", "pod", "urgent", "--force", "--grace-period=0")
    completes(case, ranks, 2)


def suspended(case, fields):
    """Kueue preempts a job: it suspends the Job, and resumes it later. That costs no retry, because `retries` is 0."""
    ranks = started(case, merge({"lifecycle": {"retries": 0}}, fields), CHECKPOINT)
    name = case.jobs()[0]["metadata"]["name"]
    began = time.time()
    case.patch("batch/v1", "jobs", name, {"spec": {"suspend": True}})
    case.freed_after(began, 20, settle=60)
    signals = signals_of(case, ranks)
    last = ranks.last_beat()
    case.check(f"ranks live {last - signals[0]:.1f} s after the signal, not 10 s", last - signals[0] >= 9)
    case.until("end of all pods", lambda: not [p for p in case.pods() if p["status"].get("phase") == "Running"], 30)
    time.sleep(10)
    case.equal("launches of a suspended Job", len(ranks.launches()), 1)
    resumed = time.time()
    case.patch("batch/v1", "jobs", name, {"spec": {"suspend": False}})
    case.notes.append(f"ranks run {max(e.time for e in ranks.until_running(2, 120)) - resumed:.1f} s after the Job was resumed")
    completes(case, ranks, 2)


@play(long=True)
def suspended_indexed_job(case):
    suspended(case, {"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}})


def node_drained(case, component, spec, number):
    """`kubectl drain` of the node of a worker or of the launcher ends within the grace period, and the run continues."""
    ranks = started(case, spec, CHECKPOINT, number=number if component == "launcher" else None)
    victim_on(case, number, component)
    workers = uids(case.workers())
    began = time.time()
    try:
        case.kubectl("drain", f"node-{number}", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
        took = time.time() - began
        signals_of(case, ranks)
        starts = ranks.until_running(2, 120)
    finally:
        case.kubectl("uncordon", f"node-{number}")
    case.notes.append(f"kubectl drain took {took:.1f} s; ranks run {max(e.time for e in starts) - began:.1f} s after its start")
    if component == "launcher":
        case.equal("workers", uids(case.workers()), workers)
    completes(case, ranks, 2)
    case.check(f"kubectl drain took {took:.1f} s, allowed are 20 s", took <= 20)


@play(long=True)
def node_of_worker_drained(case):
    number = case.take_node(back=True)
    node_drained(case, "worker", on_node(number, "StatefulSet"), number)


@play(long=True)
def node_of_launcher_drained(case):
    number = case.take_node(back=True)
    node_drained(case, "launcher", on_node(number, "Job"), number)
