"""Applies rendered objects with Flux: flux.py FOLDER, the folder of its kustomize-controller, in a cluster.

An artifact contains the output of `khorovod render -o`, and a Kustomization with pruning applies it every few seconds. This test
creates the artifact, as an ExternalArtifact of Flux; Flux's controller applies it. Checks that a run starts once and ends, that
Flux does not change the number of its workers, that a changed spec starts one new run, and which objects are left in the end.
"""
import functools
import glob
import hashlib
import http.server
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from case import Case, World, job, run  # noqa: E402
from examples import volumes  # noqa: E402

FOLDER = sys.argv[1]
STATE = os.environ["STATE"]
LOG = f"{STATE}/log/kustomize-controller"
ARTIFACTS = f"{STATE}/artifacts"
PORT = 9090
SOURCE = "/apis/source.toolkit.fluxcd.io/v1"
# The interval in which Flux compares and applies.
INTERVAL = 5
KEPT = {"size": "1Gi", "class": "shared-fast", "mode": "ReadWriteMany"}
STORAGE = {
    "storage": [{"name": "results", "mountPath": "/results",
                 "claim": {"size": KEPT["size"], "storageClassName": KEPT["class"], "accessModes": [KEPT["mode"]]}}]}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def controller():
    """Flux's controller, its custom resources, and a server for artifacts."""
    os.makedirs(ARTIFACTS)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), functools.partial(Quiet, directory=ARTIFACTS))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for types in glob.glob(f"{FOLDER}/*.yaml"):
        run("kubectl", "apply", "--server-side", "-f", types)
    while run("kubectl", "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s", check=False).returncode:
        time.sleep(0.5)
    with open(LOG, "w") as log:
        return subprocess.Popen([f"{FOLDER}/kustomize-controller", "--feature-gates=ExternalArtifact=true"], stdout=log, stderr=log)


class Flux:
    """An artifact in place of a repository, and a Kustomization that applies it to the namespace of a case."""

    def __init__(self, case, **settings):
        self.case, self.revision = case, 0
        self.namespace = f"{case.namespace}-flux"
        run("kubectl", "create", "namespace", self.namespace)
        self.kustomization = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "jobs"}, "spec": {
            "interval": f"{INTERVAL}s", "sourceRef": {"kind": "ExternalArtifact", "name": "jobs"}, "path": "./",
            "prune": True, "force": False} | settings}
        self.kubectl("apply", "-f", "-", text=json.dumps(
            {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact", "metadata": {"name": "jobs"}, "spec": {}}))

    def kubectl(self, *words, text=None):
        return run("kubectl", "-n", self.namespace, *words, text=text).stdout

    def publish(self, spec):
        """Replaces the artifact by the rendered objects of a spec, like a merge to a repository."""
        self.revision += 1
        name = f"{self.namespace}-{self.revision}.tar.gz"
        with tempfile.TemporaryDirectory() as folder:
            self.case.render(spec, words=("-o", f"{folder}/"))
            with tarfile.open(f"{ARTIFACTS}/{name}", "w:gz") as archive:
                archive.add(folder, ".")
        with open(f"{ARTIFACTS}/{name}", "rb") as file:
            digest = f"sha256:{hashlib.sha256(file.read()).hexdigest()}"
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.case.cluster.call("PATCH", f"{SOURCE}/namespaces/{self.namespace}/externalartifacts/jobs/status", {"status": {
            "artifact": {"url": f"http://127.0.0.1:{PORT}/{name}", "path": name, "digest": digest, "lastUpdateTime": now,
                         "revision": f"main@{digest}"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": now}],
        }}, "application/merge-patch+json")

    def begin(self):
        self.kubectl("apply", "-f", "-", text=json.dumps(self.kustomization))

    def applied(self):
        """The actions of each reconciliation so far: `{object: action}`."""
        with open(LOG) as log:
            lines = [json.loads(line) for line in log if line.startswith("{") and line.endswith("}\n")]
        return [line["output"] for line in lines if line["msg"] == "server-side apply completed" and line["namespace"] == self.namespace]

    def quiet(self, what, times=3):
        """Waits for some reconciliations and checks that they change nothing."""
        before = len(self.applied())
        self.case.until(f"{times} reconciliations {what}", lambda: len(self.applied()) >= before + times, 12 * INTERVAL)
        changed = {name: action for done in self.applied()[before:] for name, action in done.items() if action != "unchanged"}
        self.case.equal(f"what Flux changed {what}", changed, {})

    def end(self):
        self.kubectl("delete", "kustomization", "jobs", "--timeout=60s")


def workers(case):
    """Every StatefulSet as `{name: (generation, replicas)}`."""
    sets = json.loads(case.kubectl("get", "statefulset", "-o", "json").stdout)["items"]
    return {s["metadata"]["name"]: (s["metadata"]["generation"], s["spec"]["replicas"]) for s in sets}


def runs(case):
    return sorted({j["metadata"]["labels"]["khorovod.dev/run"] for j in case.jobs()})


def once(case, flux):
    """A run that Flux applies trains to its end; nothing starts it or scales its workers again."""
    flux.publish(job(seconds=25, spec=STORAGE))
    flux.begin()
    case.wait_for_line("launching: ", 120)
    during = workers(case)
    case.equal("workers while it trains", [replicas for _, replicas in during.values()], [2])
    flux.quiet("while it trains", 2)
    case.equal("the StatefulSet meanwhile", workers(case), during)
    case.equal("the end", case.finished(120), "Complete")
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.freed_after(case.ranks_end())
    case.until("workers gone", lambda: not [p for p in case.workers() if p["status"]["phase"] == "Running"], 60)
    after, starts = workers(case), len(case.starts)
    case.equal("workers at the end", [replicas for _, replicas in after.values()], [0])
    flux.quiet("after the end")
    case.equal("the StatefulSet after the end", workers(case), after)
    case.equal("pods started after the end", case.starts[starts:], [])


def scaled(case, flux):
    """Flux keeps a number of workers that a user sets with `kubectl scale`, as in docs/elastic.md."""
    name = list(workers(case))[0]
    case.kubectl("scale", "statefulset", name, "--replicas=1")
    flux.quiet("after kubectl scale", 2)
    case.equal("workers after it", workers(case)[name][1], 1)
    case.kubectl("scale", "statefulset", name, "--replicas=0")
    case.until("end of the worker", lambda: not case.workers(), 60)


def changed(case, flux):
    """A changed variable starts one new run; the old run ends, and its objects are deleted."""
    flux.publish(job(seconds=600, spec=STORAGE))
    first = runs(case)
    second = case.until("second run", lambda: set(runs(case)) - set(first), 60).pop()
    case.wait_for_line("launching: ", 120, case.until("its launcher", lambda: case.launcher(second), 60))
    starts = len(case.starts)
    flux.publish(job(seconds=5, spec=STORAGE | {"env": {"ROUND": "3"}}))
    third = case.until("third run", lambda: set(runs(case)) - {second} - set(first), 60).pop()
    case.until("end of the second run's objects", lambda: not [n for n in case.objects() if second in n], 120)
    case.equal("the third run's end", case.finished(180, third), "Complete")
    flux.quiet("after the third run")
    case.equal("runs", runs(case), [third])
    started = [name for _, name in case.starts[starts:]]
    case.equal("pods that started since", [name for name in started if third not in name], [])
    case.equal("pods of the third run", len(started), 3)
    case.freed_after(case.ranks_end())


def kept(case, flux):
    """Deleting the Kustomization deletes everything except the claim."""
    flux.end()
    case.until("end of all pods", lambda: not case.pods(), 120)
    case.until("end of the objects", lambda: not [n for n in case.objects() if not n.startswith("persistentvolumeclaim")], 60)
    case.equal("what stays", case.objects(), ["persistentvolumeclaim/sum-results"])
    # A claim that is being deleted may still exist for a moment.
    case.check("the claim is being deleted", "deletionTimestamp" not in case.get("v1", "persistentvolumeclaims", "sum-results")["metadata"])


def main():
    program = controller()
    case = Case(World(), "flux", alone=True)
    volumes(case, 1, **KEPT)
    flux = Flux(case)
    try:
        for act in (once, scaled, changed, kept):
            began = time.time()
            act(case, flux)
            print(f"ok    {time.time() - began:6.1f} s  {act.__doc__}", flush=True)
    except Exception as error:
        with open(LOG) as log:
            print(f"FAIL  {act.__doc__}: {error!r}\n{case.explain()}\n--- Flux\n{log.read()[-6000:]}", flush=True)
        return True
    finally:
        program.kill()
    return False


sys.exit(main())
