"""A training job of the chaos bench: its objects, its pods, and its record of steps."""
import http.client
import json
import os
import time
from types import SimpleNamespace

from bounds import CHECKPOINT, GRACE, INTERVENTION, STALL, STEP
from case import IMAGE, Case, Failed, ended, label, merge, ready
from examples import volumes
from lost_nodes import APART
from peers import AFFINITY, SYSTEMS

GPUS, RANKS = 4, 2
FOLDER = os.path.dirname(os.path.abspath(__file__))
# The field that ends an attempt without progress. A khorovod without it does not get the faults that need it.
STALL_FIELD = {"lifecycle": {"stall": {"timeout": f"{STALL}s"}}}
DETECTED = r"khorovod: .*(lost worker|attempt \d+ of \d+ failed|attempt ended|ends, because|no (output|change of))"


def affinity(shape):
    """The affinity of the pods of each kind of object."""
    return {"Job": APART} if shape == "job" else {"StatefulSet": AFFINITY["worker"], "Job": AFFINITY["launcher"]}


class JobCase(Case):
    """A case whose devices on dead nodes are lost, and do not count as held."""

    def __init__(self, world, name):
        self.dead = set()
        super().__init__(world, name)

    def hear(self, now, event, pod):
        super().hear(now, "DELETED" if pod["spec"].get("nodeName") in self.dead else event, pod)

    def note_lost_node(self, number):
        self.dead.add(f"node-{number}")
        for pod in self.pods():
            self.hear(time.time(), "MODIFIED", pod)

    def living(self, component=None):
        return [p for p in self.pods(component) if p["spec"].get("nodeName") not in self.dead and not ended(p)]


class Training:
    def __init__(self, world, name, shape, spares, nodes, stall=False, system="khorovod"):
        self.describe(name, shape, spares, stall, system)
        self.nodes = nodes
        self.case = JobCase(world, f"chaos-{name}")
        self.folder = os.path.join(os.environ["STATE"], "claims", f"{self.case.namespace}-0")
        volumes(self.case, 1, **{"size": "1Gi", "class": self.case.namespace, "mode": "ReadWriteMany"})
        for number in nodes:
            self.case.kubectl("label", "node", f"node-{number}", f"khorovod.test/pool={name}")
        # The steps made: (time, launch, number). `offset` is how much of the file has been read.
        self.made, self.offset = [], 0
        # The seconds of a person's interventions that are counted and not waited for, and the GPU seconds held meanwhile.
        self.counted, self.counted_held = 0, 0
        self.cost = 0

    # The objects.

    def describe(self, name, shape, spares, stall, system):
        self.name, self.shape, self.spares, self.stall = name, shape, spares, stall
        # The other system that runs the job, and the ssh keys of a job that has its own.
        self.peer, self.ranks, self.keys = SYSTEMS.get(system), RANKS, None

    @classmethod
    def without_cluster(cls, *how):
        """A training of which only the objects are needed."""
        training = cls.__new__(cls)
        training.describe(*how)
        training.case = SimpleNamespace(namespace="chaos")
        return training

    def spec(self):
        with open(os.path.join(FOLDER, "train.py")) as file:
            program = file.read()
        spec = {
            "image": IMAGE, "command": ["python3", "/programs/train.py"],
            "code": {"mountPath": "/programs", "files": {"train.py": program}},
            "env": {"RECORD": "/record", "STEP": str(STEP), "CHECKPOINT": str(CHECKPOINT)},
            "workers": {"replicas": RANKS, "gpus": GPUS, "slotsPerWorker": 1, "cpu": "1", "memory": "1Gi", "shm": "64Mi"},
            "lifecycle": {"checkpoint": {"signal": "SIGUSR1", "gracePeriod": f"{GRACE}s"}, "retries": 5, "retriesResetAfter": "10s"},
            "storage": [{"name": "record", "mountPath": "/record", "claim": {
                "size": "1Gi", "storageClassName": self.case.namespace, "accessModes": ["ReadWriteMany"]}}],
            "placement": {"nodeSelector": {"khorovod.test/pool": self.name},
                          "tolerations": [{"key": "khorovod.test/doomed", "operator": "Exists"}]},
            "patches": [{"target": {"kind": kind}, "patch": {"spec": {"template": {"spec": {"affinity": of}}}}}
                        for kind, of in affinity(self.shape).items()]}
        if self.spares:
            spec["workers"]["spares"] = self.spares
        if self.shape == "job":
            spec["launcher"] = {"kind": "mpirun", "runsIn": "firstWorker"}
        return merge(spec, STALL_FIELD if self.stall else {})

    def text(self):
        if self.peer:
            return "\n---\n".join(map(json.dumps, self.peer.objects(self)))
        return self.case.render({"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "train"},
                                 "spec": self.spec()})

    def apply(self):
        text, tries = self.text(), []

        def applied():
            tries.append(self.case.kubectl("apply", "-f", "-", text=text, check=False))
            return not tries[-1].returncode
        try:
            # Trainer refuses a TrainJob until it has read its runtime, and a webhook may not answer at once.
            self.case.until("admission", applied, 30 if self.peer else 0)
        except Failed:
            raise Failed(tries[-1].stderr.strip()) from None

    def intervene(self, since):
        """All that a person does for a run that does not continue: deletes its objects and applies them again. By then, Kubernetes
        has noticed which nodes are dead, and starts no pods on them."""
        self.case.until("end of the lease of dead nodes", lambda: not any(map(self.counts_as_ready, self.case.dead)), 120)
        held, waited = self.case.changes[-1][1], time.time() - since
        self.counted += max(0, INTERVENTION - waited)
        self.counted_held += max(0, INTERVENTION - waited) * held
        if self.peer:
            self.case.kubectl("delete", self.peer.kind, "--all")
        else:
            self.case.delete("train")
        self.case.kubectl("delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        self.case.until("end of the pods", lambda: not self.case.living() and not self.case.jobs() and not (
            self.peer and self.case.kubectl("get", self.peer.gone, "-o", "name").stdout), 60)
        self.apply()
        self.until_trained(time.time(), 5, 240)

    def counts_as_ready(self, node):
        return any(c["type"] == "Ready" and c["status"] == "True" for c in self.case.cluster.get(f"/api/v1/nodes/{node}")["status"]["conditions"])

    # The record.

    def steps(self):
        """The steps made until now."""
        path = os.path.join(self.folder, "steps")
        if os.path.exists(path):
            with open(path) as file:
                file.seek(self.offset)
                text = file.read()
            text = text[:text.rfind("\n") + 1]
            self.offset += len(text)
            for line in text.splitlines():
                when, launch, number = line.split()
                self.made.append((float(when), launch, int(number)))
        return self.made

    def launch(self):
        """The newest launch, and the time of its first step; None before the first."""
        made = self.steps()
        if not made:
            return None, None
        launch = made[-1][1]
        return launch, next(when for when, of, _ in made if of == launch)

    def hosts(self):
        """The host of each rank of the newest launch."""
        found = {}
        with open(os.path.join(self.folder, "starts")) as file:
            for line in file:
                _, rank, host = line.split()
                found[int(rank)] = host.split(".")[0]
        return found

    def rank_pod(self, rank):
        """The pod of a rank."""
        host = self.hosts()[rank]
        found = [p for p in self.case.living() if (p["spec"].get("hostname") or p["metadata"]["name"]) == host]
        if not found:
            raise Failed(f"rank {rank} of {self.name} runs on {host}, which has no living pod")
        return max(found, key=lambda p: p["metadata"]["creationTimestamp"])

    def launcher(self):
        found = self.case.living("launcher") or [
            p for p in self.case.living() if not self.peer and label(p, "batch.kubernetes.io/job-completion-index") == "0"]
        if not found:
            raise Failed(f"{self.name} has no launcher")
        return max(found, key=lambda p: p["metadata"]["creationTimestamp"])

    def has_spare(self):
        return self.shape == "set" and sum(map(ready, self.case.living("worker"))) > RANKS

    def ended(self):
        """How the run has ended, `complete` or `failed`, or None."""
        complete, failed = (self.peer.complete, self.peer.failed) if self.peer else (("Complete", "SuccessCriteriaMet"), ("Failed", "FailureTarget"))
        objects = self.case.jobs()
        if self.peer and self.peer.state:
            try:
                objects = [self.case.cluster.get(self.peer.state.format(self.case.namespace)) or {}]
            except (OSError, http.client.HTTPException):
                # The API server is away.
                return None
        true = {c["type"] for o in objects for c in o.get("status", {}).get("conditions", []) if c["status"] == "True"}
        return "complete" if true & set(complete) else "failed" if true & set(failed) else None

    def until_trained(self, since, seconds, allowed):
        """Waits until the newest launch has trained for some seconds since a time; returns whether it did."""
        end = time.time() + allowed
        while time.time() < end and not self.ended():
            launch, first = self.launch()
            if launch and time.time() - max(first, since) >= seconds and time.time() - self.made[-1][0] < 3 and self.made[-1][0] > since:
                return True
            time.sleep(0.5)
        return False

    def detected(self, since, lost_launcher):
        """When the loss was detected: the time of a line of the launcher, or that at which the next launcher was created."""
        if lost_launcher or self.peer:
            return min((when for when, _ in self.case.starts if when > since), default=None)
        try:
            return min((when for when in self.case.log_times(DETECTED, self.launcher()) if when > since), default=None)
        except (OSError, Failed):
            return None

    # The sums.

    def begin(self):
        """Waits until the job trains, and starts to count."""
        self.apply()
        if not self.until_trained(0, 5, 180):
            raise Failed(f"{self.name} does not train:\n{self.case.explain()}")
        self.began = time.time()

    def end(self, until):
        """Ends the training; returns the line of data of the job."""
        made = [step for step in self.steps() if self.began <= step[0] <= until]
        lengths = sorted(b[0] - a[0] for a, b in zip(made, made[1:]) if a[1] == b[1])
        line = {
            "job": self.name, "shape": self.shape, "spares": self.spares, "gpus": GPUS * RANKS,
            "seconds": until - self.began + self.counted, "steps": made[-1][2] - made[0][2], "step": lengths[len(lengths) // 2],
            "cost": self.cost, "held": self.held(until), "held_of_spec": self.held(until, GPUS * (RANKS + self.spares))}
        asked = time.time()
        with open(os.path.join(self.folder, "end"), "w"):
            pass
        try:
            line["ended"] = self.case.until("end of the run", self.ended, 120)
            self.case.until("freed devices", self.case.freed, 60)
            line["freed"] = self.case.freed() - asked
        except Failed as error:
            line["ended"] = str(error)
        return line

    def held(self, until, most=None):
        """The GPU seconds that were held, or those of them that the spec asks for."""
        total = self.counted_held if most is None else min(self.counted_held, self.counted * most)
        changes = list(self.case.changes)
        for (since, count), (end, _) in zip(changes, [*changes[1:], (until, 0)]):
            total += max(0, min(end, until) - max(since, self.began)) * (count if most is None else min(count, most))
        return total


def backoff(training, kind, pod):
    """How long Kubernetes waits before it starts this pod, or its container, again."""
    index = pod["metadata"].get("annotations", {})
    failures = [int(index.get(f"batch.kubernetes.io/job-index-{name}", 0)) for name in ("failure-count", "ignored-failure-count")]
    if training.peer:
        return 0
    if training.shape == "job":
        return 10 * 2 ** sum(failures)
    if kind.startswith("launcher-"):
        return 10 * 2 ** training.case.jobs()[0].get("status", {}).get("failed", 0)
    restarts = sum(s.get("restartCount", 0) for s in pod["status"].get("containerStatuses", []))
    return 10 * 2 ** (restarts - 1) if kind == "worker-killed" and restarts else 0
