"""A case: one namespace of the cluster, its events, and the functions that tests use in it."""
import calendar
import json
import os
import re
import subprocess
import threading
import time

import api
from old_names import in_old_names

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(ROOT, "tests", "programs")
KHOROVOD = os.environ["KHOROVOD"]
IMAGE = os.environ["IMAGE"]
# The minor version of the cluster: 34.
MINOR = int(os.environ["KUBERNETES"].split(".")[1])
# Whether khorovod is an older version, without some fields and with other names of some: against.sh.
IS_OLD = bool(os.environ.get("WITHOUT_NEW_FIELDS"))
# The kinds that khorovod's documentation names for deletion.
KINDS = "statefulset,job,service,configmap,secret,networkpolicy,serviceaccount,role,rolebinding"


class Failed(Exception):
    """A failed check of a test."""


class FieldMissing(Failed):
    """khorovod does not have a field of the test's spec."""


class TooOld(Exception):
    """The cluster is too old for the objects of a test, and khorovod reported it."""


class Play:
    """A test: its name, its function, the Pod Security level of its namespace, whether it disturbs others and therefore runs
    alone, whether it is slow, so that `--quick` skips it, and whether it waits most of the time, so that it starts first, beside
    all others."""

    def __init__(self, name, act, level="restricted", alone=False, long=False, waits=False):
        self.name, self.act, self.level, self.alone, self.long, self.waits = name, act, level, alone, long or waits, waits
        # As tests/features.rs names it. A test of both shapes is a function with two arguments, which is the first default of a lambda.
        function = act.__defaults__[0] if act.__defaults__ and callable(act.__defaults__[0]) else act
        self.test = f"tests/cluster/{function.__module__}.py {function.__name__}"


def play(**how):
    """Marks a function as a Play."""
    def mark(act):
        return Play(act.__name__.replace("_", "-"), act, **how)
    return mark


def marked(module):
    return [thing for thing in vars(module).values() if isinstance(thing, Play)]


def run(*command, text=None, check=True):
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    if check and done.returncode:
        raise Failed(f"{' '.join(command[:6])} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done


def seconds(stamp):
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))


def label(pod, name):
    return pod["metadata"].get("labels", {}).get(name, "")


def owner(pod):
    return label(pod, "app.kubernetes.io/component")


def ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", []))


def ended(pod):
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def devices(pod):
    """The devices that the scheduler counts for a pod: 0 before it has a node and after its end."""
    if ended(pod) or not pod["spec"].get("nodeName"):
        return 0
    asked = (c["resources"].get("requests", {}) for c in pod["spec"]["containers"] if c.get("resources"))
    return sum(int(count) for r in asked for name, count in r.items() if "/" in name and not name.startswith("rdma/"))


def merge(under, over):
    """Applies a JSON merge patch, without removals."""
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    return under | {key: merge(under.get(key), value) for key, value in over.items()}


def job(name="sum", seconds=0, code=0, spec=None):
    """A small job whose ranks add up their numbers, continue for some seconds, and exit with a code."""
    with open(os.path.join(PROGRAMS, "sum.py")) as file:
        program = file.read()
    return {"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name}, "spec": merge({
        "image": IMAGE,
        "command": ["python3", "/programs/sum.py"],
        "code": {"mountPath": "/programs", "files": {"sum.py": program}},
        "env": {"SUM_SECONDS": str(seconds), "SUM_CODE": str(code)},
        "workers": {"replicas": 2, "gpus": 4, "slotsPerWorker": 1, "cpu": "1", "memory": "1Gi"},
        "launcher": {"kind": "mpirun"},
        "lifecycle": {"retries": 0},
    }, spec or {})}


SHAPES = {"set": {}, "job": {"launcher": {"runsIn": "firstWorker"}}}


class World:
    """The common state of all cases: the watches, and the cases that receive their events."""

    def __init__(self):
        # For each Play that ran, its test and whether it passed on its last try.
        self.results = {}
        self.cluster = api.Cluster()
        self.cases, self.too_old = {}, 0
        # How long devices stayed in use, by test.
        self.releases = {}
        # The nodes that tests may end. Each test takes the first of those left.
        self.spare_nodes = list(range(4, int(os.environ["NODES"]) + 1))
        # A time, and the total idle time of all CPUs until then. Processes of low priority give way, so their time is idle time.
        self.idle = []
        threading.Thread(target=self.look, daemon=True).start()
        self.pods = self.cluster.watch("/api/v1/pods", seen=self.handle)
        self.jobs = self.cluster.watch("/apis/batch/v1/jobs")

    def look(self):
        while True:
            with open("/proc/stat") as stat:
                _, _, nice, _, idle = stat.readline().split()[:5]
                self.idle.append((time.time(), (int(nice) + int(idle)) / os.sysconf("SC_CLK_TCK")))
            time.sleep(0.5)

    def idled(self, since, until):
        """The idle time of all CPUs since the last call, and the maximum possible."""
        seen = [(when, idle) for when, idle in self.idle if since - 1 <= when <= until + 1]
        (began, before), (ended, after) = seen[0], seen[-1]
        return after - before, os.cpu_count() * (ended - began)

    def busy(self, since, until):
        """Returns whether the CPUs were less than a tenth idle, because of this machine or of others on the same host."""
        idle, all = self.idled(since, until)
        return idle < 0.1 * all

    def rest(self):
        """Waits until the CPUs are idle, for at most half a minute."""
        until = time.time() + 30
        while time.time() < until:
            time.sleep(0.5)
            idle, all = self.idled(time.time(), time.time())
            if idle > 0.8 * all:
                return

    def handle(self, now, event, pod):
        case = self.cases.get(pod["metadata"]["namespace"])
        if case:
            case.hear(now, event, pod)


class Case:
    def __init__(self, world, name, level="restricted", alone=False):
        self.alone = alone
        self.world, self.cluster, self.namespace = world, world.cluster, name
        self.held, self.most, self.changes = {}, 0, [(time.time(), 0)]
        self.starts, self.most_ready = [], 0
        self.overlay = os.path.join(os.environ["STATE"], f"overlay-{name}.json")
        self.notes = []
        # How long devices stayed in use, and how long the test allows.
        self.release = None
        self.lent_nodes = []
        world.cases[name] = self
        self.cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": {
            "pod-security.kubernetes.io/enforce": level}}})
        # kubectl fails until the object exists.
        self.until("the namespace's account", lambda: self.get("v1", "serviceaccounts", "default"), 20)

    # State from the watch.

    def hear(self, now, event, pod):
        name = pod["metadata"]["uid"]
        if event == "ADDED" and name not in self.held:
            self.starts.append((now, pod["metadata"]["name"]))
        self.held[name] = 0 if event == "DELETED" else devices(pod)
        total = sum(self.held.values())
        if total != self.changes[-1][1]:
            self.changes.append((now, total))
        self.most = max(self.most, total)
        self.most_ready = max(self.most_ready, sum(map(ready, self.workers())))

    def freed(self):
        """The last time at which the number of devices that the scheduler counts for this case became 0."""
        return self.changes[-1][0] if self.changes[-1][1] == 0 else None

    def pods(self, component=None):
        return [p for p in self.world.pods.all(self.namespace) if component in (None, owner(p))]

    def workers(self):
        return self.pods("worker")

    def jobs(self):
        return self.world.jobs.all(self.namespace)

    def launcher(self, run=None):
        """The newest launching pod: the launcher, or index 0 of an Indexed Job."""
        found = [p for p in self.pods() if (owner(p) == "launcher" or label(p, "batch.kubernetes.io/job-completion-index") == "0")
                 and run in (None, label(p, "khorovod.dev/run"))]
        return max(found, key=lambda p: p["metadata"]["creationTimestamp"], default=None)

    # Actions of a user.

    def render(self, job, spec=None, sets=(), metadata=None, words=(), seed="5" * 64):
        """The objects that khorovod renders from a job file or a spec for this cluster, with additional arguments."""
        if IS_OLD:
            job, spec = job | {"spec": in_old_names(job["spec"])}, in_old_names(spec or {})
        command = [KHOROVOD, "render", "-q", "-n", self.namespace, "--kube-version", f"1.{MINOR}", *words]
        overlay = {key: value for key, value in (("metadata", metadata), ("spec", spec)) if value}
        if overlay:
            with open(self.overlay, "w") as file:
                json.dump(overlay, file)
            command += ["--overlay", self.overlay]
        for item in sets:
            command += ["--set", item]
        environment = dict(os.environ, KHOROVOD_SSH_SEED=seed)
        done = subprocess.run(command + [job if isinstance(job, str) else "-"], capture_output=True, text=True, env=environment,
                              input=None if isinstance(job, str) else json.dumps(job))
        missing = re.findall(r"^error\[unknown-field\]: (.*)", done.stderr, re.M)
        if missing:
            raise FieldMissing("; ".join(missing))
        if MINOR < 31 and "error[kube-version]: `launcher.runsIn: firstWorker` needs" in done.stderr:
            raise TooOld
        if done.returncode:
            raise Failed(f"khorovod render ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def render_new(self, job, fields):
        """The objects of a job with fields that older versions of khorovod do not have. Then the job is rendered without them, so
        that the test shows how an older version behaves."""
        try:
            return self.render(job | {"spec": merge(job["spec"], fields)})
        except FieldMissing as error:
            if not IS_OLD:
                raise
            self.notes.append(f"field missing: {error}")
            return self.render(job)

    def take_node(self, back=False):
        """The number of a node that runs only this test's pods, which tolerate its taint. It is not used again, unless the test
        gives it back at its end."""
        if not self.world.spare_nodes:
            raise Failed("no node is left for this test: set NODES")
        number = self.world.spare_nodes.pop(0)
        if back:
            self.lent_nodes.append(number)
        return number

    def kubectl(self, *words, text=None, check=True):
        return run("kubectl", "-n", self.namespace, *words, text=text, check=check)

    def apply(self, text, *words):
        before = self.specs() if MINOR < 34 else None
        said = self.kubectl("apply", "--validate=strict", "-f", "-", *words, text=text).stdout
        if before is not None and before == self.specs():
            # This Kubernetes version returns fields that were not set, which kubectl treats as a change: docs/faq.md.
            said = re.sub(r"^((job\.batch|statefulset\.apps)/\S+) configured$", r"\1 unchanged", said, flags=re.M)
        return said

    def specs(self):
        found = json.loads(self.kubectl("get", "jobs,statefulsets", "-o", "json").stdout)["items"]
        return {one["metadata"]["name"]: one["spec"] for one in found}

    def dry_run(self, text):
        return self.apply(text, "--dry-run=server")

    def delete(self, job):
        """Deletes the job with the command in docs/runtime.md."""
        return self.kubectl("delete", "-l", f"khorovod.dev/job={job}", KINDS)

    def clear(self, job):
        """Deletes the namespace and waits until its pods are gone."""
        self.delete(job)
        self.until("end of all pods", lambda: not self.pods(), 130)

    def execute(self, pod, script, container=None):
        return self.kubectl("exec", pod, *(["-c", container] if container else []), "--", "/bin/bash", "-c", script,
                            check=False)

    def get(self, version, kind, name):
        root = "/api/" if version == "v1" else "/apis/"
        return self.cluster.get(f"{root}{version}/namespaces/{self.namespace}/{kind}/{name}")

    def patch(self, version, kind, name, change, subresource=""):
        root = "/api/" if version == "v1" else "/apis/"
        return self.cluster.call("PATCH", f"{root}{version}/namespaces/{self.namespace}/{kind}/{name}{subresource}", change,
                                 "application/merge-patch+json")

    # Functions that wait.

    def until(self, what, holds, allowed, every=0.1):
        """Waits until a function returns something true, and returns it. A longer `every` is for functions that start programs or
        read logs, because other tests need the CPU."""
        end = time.time() + allowed
        while True:
            found = holds()
            if found:
                return found
            if time.time() > end:
                raise Failed(f"no {what} within {allowed} s")
            time.sleep(every)

    def finished(self, allowed, run=None):
        """Waits for the end of the Job of a run, or of the only Job; returns `Complete` or `Failed`."""
        def look():
            jobs = [j for j in self.jobs() if run in (None, j["metadata"]["labels"].get("khorovod.dev/run"))]
            for condition in (c for j in jobs for c in j.get("status", {}).get("conditions", [])):
                if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
                    return condition["type"]
            return None
        return self.until("end of the job", look, allowed)

    def log(self, pod=None):
        pod = pod or self.launcher()
        if pod is None:
            return ""
        return self.cluster.text(f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}/log")

    def log_times(self, pattern, pod=None):
        """The times of the lines of a pod's log that match a pattern."""
        pod = pod or self.launcher()
        log = self.cluster.text(f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}/log?timestamps=true")
        lines = (line.split(" ", 1) for line in log.splitlines() if " " in line)
        return [seconds(stamp[:19] + "Z") + float("0." + (stamp[20:-1] or "0")) for stamp, text in lines if re.search(pattern, text)]

    def ranks_end(self):
        """The time at which the ranks of the last attempt logged their end, or None. With torchrun, the time at which torchrun
        ended, because that takes some seconds."""
        log = self.log()
        said = re.findall(r"ranks end at ([0-9.]+)", log)
        ended = re.search(r"^([0-9:]{8}) khorovod: trained", log, re.M)
        if ended and "launching: 'torchrun'" in log:
            return seconds(time.strftime(f"%Y-%m-%dT{ended[1]}Z", time.gmtime()))
        return float(said[-1]) if said else None

    def code(self, pod):
        for status in pod["status"].get("containerStatuses", []):
            ended = status["state"].get("terminated")
            if ended:
                return ended["exitCode"]
        return None

    def wait_for_line(self, pattern, allowed, pod=None):
        """Waits until the launching pod's log matches; returns the match."""
        def look():
            try:
                return re.search(pattern, self.log(pod))
            except Exception:
                return None
        return self.until(f"line /{pattern}/ of the launcher", look, allowed, every=0.3)

    def check(self, what, holds):
        if not holds:
            raise Failed(what)

    def equal(self, what, is_, should):
        self.check(f"{what}: {is_!r}, not {should!r}", is_ == should)

    def objects(self):
        """All objects in the namespace except those of Kubernetes, as kind/name."""
        found = self.kubectl("get", KINDS + ",pod,pvc", "-o", "name").stdout.split()
        return sorted(n for n in found if n not in ("configmap/kube-root-ca.crt", "serviceaccount/default"))

    def freed_after(self, moment, allowed=5, settle=20):
        """Fails unless the devices were free soon after a given time; returns the seconds it took."""
        self.until("freed devices", self.freed, settle)
        took = max(0, self.freed() - moment)
        self.release = (took, allowed)
        # Only in a second attempt alone: a time limit is never extended for a test that runs with others.
        busy = self.alone and took > allowed and self.world.busy(moment, self.freed())
        self.check(f"devices free {took:.1f} s later, allowed are {allowed} s", took <= allowed or busy)
        self.notes.append(f"{self.most} devices free {took:.1f} s later{', on a machine too busy to judge' if busy else ''}")
        return took

    # Functions that explain a failure.

    def explain(self):
        lines = []
        for pod in sorted(self.pods(), key=lambda p: p["metadata"]["creationTimestamp"])[-12:]:
            lines.append(f"--- pod {pod['metadata']['name']}: {pod.get('status', {}).get('phase')}"
                         f"{' Ready' if ready(pod) else ''} on {pod['spec'].get('nodeName')}")
            try:
                lines += ["    " + line for line in self.log(pod).splitlines()[-80:]]
            except Exception as error:
                lines.append(f"    no log: {error}")
        events = self.cluster.call("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        events.sort(key=lambda e: e.get("lastTimestamp") or e.get("eventTime") or "")
        lines.append("--- events")
        lines += [f"    {e['involvedObject']['kind']}/{e['involvedObject']['name']}: {e['reason']}: {e['message'][:300]}"
                  for e in events[-25:] if e["reason"] not in ("Scheduled", "Pulled", "Created", "Started", "SuccessfulCreate")]
        return "\n".join(lines)

    def close(self):
        self.world.cases.pop(self.namespace, None)
        self.world.spare_nodes += self.lent_nodes
        self.cluster.call("DELETE", f"/api/v1/namespaces/{self.namespace}", {"gracePeriodSeconds": 0})
