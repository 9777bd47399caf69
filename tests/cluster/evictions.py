"""Evictions, deletions and signals of launchers and workers, and changes of a job during its run."""
import os
import signal
import time

import outages
from case import job, label, play
from faults import evict, first_process
from lost_nodes import on_node, tolerating, victim_on
from ranks import Ranks

CHECKPOINT = {"lifecycle": {"checkpoint": {"signal": "SIGUSR1", "gracePeriod": "10s"}}}


def started(case, spec=None, fields=None, size=2, number=None):
    """Applies a job and waits until its ranks run. With a number, the pods of its Job tolerate that node."""
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
    case.until("freed devices", case.freed, 180)
    case.notes.append(f"devices free {case.freed() - killed:.0f} s after the launcher was killed")
    case.check("devices free within 120 s", case.freed() - killed <= 120)
    scale = case.get("apps/v1", "statefulsets", f"sum-{label(case.launcher(), 'khorovod.dev/run')}-worker")["spec"]["replicas"]
    case.equal("replicas of the workers", scale, 0)
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
    """The number of retries is raised during the run."""
    ranks = started(case, {"lifecycle": {"retries": 0}})
    case.patch("v1", "configmaps", "sum-current", {"data": {"retries": "2"}})
    name = case.launcher()["metadata"]["name"]
    case.until("the new number in the launcher", lambda: case.execute(name, "cat /etc/khorovod/current/retries").stdout.strip() == "2", 180)
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
