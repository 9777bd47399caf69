"""Failures in clusters, and the end of each run: as documented in docs/runtime.md, within the time limit, with devices freed."""
import os
import re
import signal
import time

import outages
from case import SHAPES, Failed, Play, job, merge, play


def evict(case, pod):
    name = pod["metadata"]["name"]
    case.cluster.call("POST", f"/api/v1/namespaces/{case.namespace}/pods/{name}/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": case.namespace}})


def running(case, spec=None, seconds=15):
    """Applies a job and waits until its ranks run."""
    text = case.render(job(seconds=seconds, spec=merge({"lifecycle": {"retries": 2}}, spec or {})))
    case.apply(text)
    case.wait_for_line("launching: ", 90)
    time.sleep(2)


def trained(case, within=120):
    case.equal("the end", case.finished(within), "Complete")
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.freed_after(case.ranks_end())


def failed(case, within, *words):
    """Checks that a run has failed permanently, that its log has the reason, and that no device is in use."""
    case.equal("the end", case.finished(within), "Failed")
    case.equal("the launcher's code", case.code(case.launcher()), 42)
    for pattern in words:
        case.check(f"the launcher's log does not match /{pattern}/", re.search(pattern, case.log()))
    case.until("freed devices", case.freed, 10)


def worker_evicted(case, shape):
    running(case, shape)
    launching = case.launcher()["metadata"]["uid"]
    victim = next(p for p in case.workers() if p["metadata"]["uid"] != launching)
    evict(case, victim)
    case.wait_for_line("attempt 1 of 3 failed", 60)
    trained(case)


def launcher_evicted(case, shape):
    running(case, shape)
    evicted = case.launcher()
    evict(case, evicted)
    case.until("another launcher", lambda: case.launcher() and case.launcher()["metadata"]["uid"] != evicted["metadata"]["uid"], 60)
    trained(case)


@play(long=True)
def launcher_killed_again_and_again(case):
    """The launcher is killed as if out of memory: each kill counts as an attempt, and the last launcher frees the devices."""
    running(case, {"lifecycle": {"retries": 1}}, seconds=600)
    for deaths in (1, 2):
        victim = case.launcher()
        os.kill(first_process(victim), signal.SIGKILL)
        case.until("another launcher", lambda: case.launcher()["metadata"]["uid"] != victim["metadata"]["uid"], 90)
        case.equal("the exit code", case.until("its code", lambda: case.code(next(
            p for p in case.pods("launcher") if p["metadata"]["uid"] == victim["metadata"]["uid"])), 10), 137)
        if deaths == 1:
            case.wait_for_line("launching: ", 90)
    failed(case, 90, "2 launchers failed, and lifecycle.retries is 1", "released the workers")


def processes(pod):
    """The processes of a pod's container: their pids on this machine, whether each is the first, and its command."""
    uid = pod["metadata"]["uid"]
    for folder in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{folder}/cgroup") as groups, open(f"/proc/{folder}/status") as status, \
                    open(f"/proc/{folder}/cmdline") as command:
                command = command.read().replace("\0", " ")
                if uid in groups.read() and command and not command.startswith("/pause"):
                    yield int(folder), bool(re.search(r"^NSpid:.*\t1$", status.read(), re.M)), command
        except OSError:
            continue


def first_process(pod):
    """The pid on this machine of the first process of a pod's container."""
    for process, is_first, _ in processes(pod):
        if is_first:
            return process
    raise Failed(f"no process of pod {pod['metadata']['name']}")


@play(waits=True)
def launcher_hangs(case):
    """The launcher's script is stopped, so it does not react to SIGTERM either. Its liveness probe ends it, the next launcher trains,
    and the log of the first one and an event have its processes."""
    running(case, {"lifecycle": {"checkpoint": {"gracePeriod": "5s"}}}, seconds=10)
    victim = case.launcher()
    os.kill(first_process(victim), signal.SIGSTOP)
    began = time.time()
    case.until("another launcher", lambda: case.launcher()["metadata"]["uid"] != victim["metadata"]["uid"], 400)
    case.notes.append(f"another launcher after {time.time() - began:.0f} s")
    events = str(case.cluster.call(
        "GET", f"/api/v1/namespaces/{case.namespace}/events?fieldSelector=involvedObject.name={victim['metadata']['name']}"))
    case.check("no event has the processes", re.search(r"Liveness probe failed: .*the script of this pod hangs since .*process 1 of 0, state T", events))
    case.check("the log lacks the processes", "state T, in the kernel" in case.log(victim))
    trained(case, 150)


@play()
def image_missing(case):
    """The image of the workers does not exist, that of the launcher does. The launcher waits, names the workers and deletes the
    first worker, which the StatefulSet has created."""
    image = job()["spec"]["image"]
    case.apply(case.render(job(spec={"image": "khorovod.test/nowhere:1", "launcher": {"image": image}, "lifecycle": {"startTimeout": "15s"}})))
    failed(case, 60, r"only 0 of 2 workers answered on port 2222 within 15 s; missing: sum-\w+-worker-0.sum sum-\w+-worker-1.sum")


@play(long=True)
def devices_not_enough(case):
    """Only half of the workers can be scheduled. The job waits until its timeout, names the missing workers and frees the rest."""
    case.apply(case.render(job(spec={"workers": {"gpuResource": "khorovod.test/scarce", "gpus": 2, "replicas": 8}, "lifecycle": {"startTimeout": "20s"}})))
    case.wait_for_line(r"\d of 8 workers answer; waiting for sum-", 60)
    failed(case, 90, r"only \d of 8 workers answered on port 2222 within 20 s; missing: sum-")


@play()
def claim_unbound(case):
    """No pod starts, the scheduler counts no device, and Kubernetes ends the Job some time after the deadline."""
    storage = [{"name": "data", "mountPath": "/data", "claim": {
        "size": "1Gi", "storageClassName": "no-provisioner", "accessModes": ["ReadWriteMany"]}}]
    case.apply(case.render(job(spec={"storage": storage, "lifecycle": {"deadline": "5s"}})))
    pod = case.until("pending launcher", case.launcher, 10)
    case.until("an event with the reason", lambda: "unbound" in str(case.cluster.call(
        "GET", f"/api/v1/namespaces/{case.namespace}/events?fieldSelector=involvedObject.name={pod['metadata']['name']}")), 20)
    held = case.jobs()[0]
    case.equal("the Job's own deadline", held["spec"]["activeDeadlineSeconds"], 305)
    # The test does not wait for that.
    case.patch("batch/v1", "jobs", held["metadata"]["name"], {"spec": {"activeDeadlineSeconds": 6}})
    case.equal("the end", case.finished(30), "Failed")
    case.equal("devices that the scheduler counted", case.most, 0)


@play(long=True)
def twenty_jobs(case):
    """Twenty small jobs at the same time in one namespace."""
    texts = [case.render(job(name=f"small-{n}", spec={"workers": {"replicas": 1}, "env": {"N": str(n)}})) for n in range(20)]
    began = time.time()
    case.apply("\n---\n".join(texts))

    def ends():
        found = [c["type"] for j in case.jobs() for c in j.get("status", {}).get("conditions", []) if c["type"] in ("Complete", "Failed")]
        return found if len(found) == 20 else None
    case.equal("the ends", case.until("end of twenty jobs", ends, 240), ["Complete"] * 20)
    case.notes.append(f"all done after {time.time() - began:.0f} s")
    case.until("freed devices", case.freed, 10)


@play()
def quota(case):
    """A quota with room for one worker of two."""
    case.kubectl("create", "quota", "few", "--hard=requests.nvidia.com/gpu=4")
    case.apply(case.render(job(spec={"lifecycle": {"startTimeout": "15s"}})))
    failed(case, 60, r"only 1 of 2 workers answered on port 2222 within 15 s; missing: sum-\w+-worker-1.sum")


@play()
def no_right_to_create_roles(case):
    """The launcher logs what it lacks; a job without a Role runs."""
    case.kubectl("create", "rolebinding", "kim", "--clusterrole=edit", "--user=kim")
    refused = case.kubectl("apply", "--as=kim", "-f", "-", text=case.render(job(name="roles")), check=False)
    case.check("kubectl did not refuse the Role", refused.returncode and re.search(r'cannot (get|create) resource "roles"', refused.stderr))
    case.apply(case.render(job(spec={"security": {"apiAccess": False}})), "--as=kim")
    case.until("end of a job", lambda: [j for j in case.jobs() if j.get("status", {}).get("conditions")], 90)
    case.until("the launcher's hint", lambda: any(
        "its ServiceAccount needs get and patch on statefulsets/scale" in case.log(p) for p in case.pods("launcher")), 60)
    case.check("the sum in the Job shape", any("sum of 2 ranks: 1" in case.log(p) for p in case.workers() if "sum-" in p["metadata"]["name"]))


@play(alone=True, long=True)
def names_down(case):
    """DNS does not answer for ten seconds while workers start, and again while ranks run."""
    with outages.dns_silent():
        case.apply(case.render(job(seconds=20, spec={"command": ["sh", "-c", "echo a rank starts; exec python3 /programs/sum.py"]})))
        time.sleep(10)
    case.wait_for_line("a rank starts", 90)
    with outages.dns_silent():
        time.sleep(10)
    trained(case)


@play()
def negative_dns_cache(case):
    """DNS caches for half a minute that a worker has no address yet; the launcher does not wait for that."""
    running(case, seconds=1)
    case.check("the wait", re.search(r"2 of 2 workers answer after \d s", case.log()))
    trained(case)


@play(alone=True)
def server_restarted(case):
    """The API server is down for three seconds while ranks run."""
    # The longer it is down, the longer controllers and kubelets wait before they retry: up to 13 s here.
    running(case, seconds=22)
    with outages.api_away():
        time.sleep(3)
    stamp = case.wait_for_line(r"ranks end at ([0-9.]+)", 60)
    case.equal("the end", case.finished(90), "Complete")
    case.freed_after(float(stamp[1]))


def plays():
    return [Play(f"{act.__name__.replace('_', '-')}-{name}", lambda case, act=act, shape=shape: act(case, shape), long=True)
            for act in (worker_evicted, launcher_evicted) for name, shape in SHAPES.items()]
