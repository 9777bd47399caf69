#!/usr/bin/env python3
"""Tests install, upgrade, test and uninstall of the chart with Helm on a Kubernetes: lifecycle.py BINARY HELM...

Runs in tests/cluster/up.sh. Each Helm has its own namespace with the Pod Security level `restricted`.
"""
import base64
import concurrent.futures
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))
from case import IMAGE, KINDS, Case, Failed, World, job, merge  # noqa: E402

from main import ROOT, Helm  # noqa: E402

CHART = ROOT / "charts/training-job"
REGISTRY = "127.0.0.1:5000"
ENTRIES = ["authorized_keys", "host_key", "id_ed25519", "known_hosts"]
NO_KIND = 'no matches for kind "TrainingJob" in version "khorovod.dev/v1alpha1"'


class Release:
    """A Helm with its own home folder, and one release of the chart in a case's namespace."""

    def __init__(self, helm, binary, case, home):
        self.case, self.helm = case, Helm(helm, binary, home)
        self.version = self.helm.run("version", "--template", "{{.Version}}").stdout.strip()
        self.major = int(Path(helm).parent.name.removeprefix("helm-v").split(".")[0])
        # There is no seed: the chart must not need one.
        del self.helm.env["KHOROVOD_SSH_SEED"]
        self.helm.env["KUBECONFIG"] = os.environ["KUBECONFIG"]
        self.post = ["--post-renderer", "khorovod", "--post-renderer-args", "post-render"]
        if self.major > 3:
            self.post = ["--post-renderer", "khorovod-post-render"]
            self.must("plugin", "install", ROOT / "plugin/helm4-post-renderer")

    def run(self, *words):
        return self.helm.run(words[0], *words[1:], "--namespace", self.case.namespace)

    def must(self, *words):
        done = self.run(*words)
        if done.returncode:
            said = self.helm.said.read_text() if self.helm.said.exists() else ""
            raise Failed(f"helm {' '.join(map(str, words[:3]))} ended with {done.returncode}: {done.stderr}{done.stdout}{said}")
        return done.stdout

    def refused(self, what, pattern, *words):
        """Checks that Helm fails and prints a reason that matches the pattern."""
        done = self.run(*words)
        said = done.stderr + done.stdout
        self.case.check(f"{what}: {done.returncode} {said}", done.returncode and re.search(pattern, said))

    def values(self, spec=None, **more):
        """A file of values for a small training."""
        given = merge(job(seconds=600)["spec"], spec or {})
        del given["image"]
        name, tag = IMAGE.rsplit(":", 1)
        image = {"repository": name, "tag": tag, "pullPolicy": "Never"}
        file = Path(os.environ["STATE"]) / f"values-{time.monotonic_ns()}.json"
        file.write_text(json.dumps({"spec": given, "image": image, **more}))
        return file

    def upgrade(self, name, values, *words, chart=CHART):
        return self.must("upgrade", "--install", name, chart, "-f", values, *self.post, *words)

    def revision(self, name):
        return json.loads(self.must("history", name, "-o", "json"))[-1]["revision"]

    def stored(self, name):
        """The release that Helm stores in the cluster, as text."""
        found = self.case.kubectl("get", "secret", "-l", f"owner=helm,name={name}", "-o", "json")
        texts = [base64.b64decode(base64.b64decode(item["data"]["release"])) for item in json.loads(found.stdout)["items"]]
        return "\n".join(gzip.decompress(text).decode() for text in texts)

    def versions(self):
        """All objects except Helm's own, with their resourceVersion."""
        found = self.case.kubectl("get", KINDS + ",pvc", "-o", "json")
        return {f"{item['kind']}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
                for item in json.loads(found.stdout)["items"] if "sh.helm.release" not in item["metadata"]["name"]}

    def steady(self):
        """The same, after controllers have updated the objects."""
        def same():
            before = self.versions()
            time.sleep(3)
            return before == self.versions() and before
        return self.case.until("end of controllers' writing", same, 60)

    def uninstall(self, name, *leaves):
        """Checks that exactly these objects are left, except pods, which take time to end."""
        def left():
            return [thing for thing in self.case.objects() if not thing.startswith("pod/")]
        self.must("uninstall", name)
        self.case.until(f"end of all but {leaves}", lambda: left() == list(leaves), 20)

    def run_name(self, name):
        return self.case.get("v1", "configmaps", f"{name}-current")["data"]["run"]


def forgotten(helm):
    """Without the post-renderer nothing is installed, and Helm prints the error in the docs."""
    helm.refused("an install without the post-renderer", NO_KIND, "install", "forgotten", CHART, "-f", helm.values())
    helm.case.equal("objects of an install without the post-renderer", helm.case.objects(), [])


def bad_values(helm):
    """Helm prints which value is wrong, and its location."""
    for spec, pattern in [({"workers": {"gpus": 65}}, r"spec[./]workers[./]gpus.*\n?.*64"), ({"comand": "a"}, "comand")]:
        helm.refused(f"bad values {spec}", pattern, "install", "bad", CHART, "-f", helm.values(spec), *helm.post)
    helm.refused("no values", "spec.workers is missing", "install", "bad", CHART, *helm.post)


def trained(helm):
    """Install, test, upgrade with the same values, upgrade with a changed spec, rollback, uninstall."""
    case, notes = helm.case, helm.case.notes
    began = time.time()
    helm.must("install", "sum", f"oci://{REGISTRY}/charts/training-job", "--plain-http", "-f", helm.values(), *helm.post)
    notes.append(f"install {time.time() - began:.0f} s")
    secret = case.get("v1", "secrets", "sum-ssh")
    case.equal("what the Secret holds", sorted(secret["data"]), ENTRIES)
    private = base64.b64decode(secret["data"]["id_ed25519"]).decode()
    case.check("no private key", "OPENSSH PRIVATE KEY" in private)
    stored = helm.stored("sum")
    case.check("the release is not stored", "make-keys.sh" in stored)
    case.check("a private key is in the stored release", "OPENSSH PRIVATE KEY" not in stored)
    case.check("a key is in the stored release", secret["data"]["id_ed25519"][200:240] not in stored)
    first = helm.run_name("sum")
    case.wait_for_line("launching: ", 120)

    said = helm.must("test", "sum", "--logs")
    for line in ["ok    ssh        the launcher reaches 2 of 2 hosts", "ok    ports", "ok    software"]:
        case.check(f"`helm test` does not print `{line}`:\n{said}", line in said)
    case.check(f"`helm test` starts ranks:\n{said}", "allreduce" not in said)
    case.equal("the end of the run that was tested", [c["type"] for j in case.jobs() for c in j["status"].get("conditions", [])], [])

    before = helm.steady()
    helm.upgrade("sum", helm.values(), "--wait")
    case.equal("what an upgrade with the same values changes", helm.versions(), before)
    case.equal("the revision", helm.revision("sum"), 2)

    quick = {"env": {"SUM_SECONDS": "0", "LEARNING_RATE": "0.2"}}
    helm.upgrade("sum", helm.values(quick))
    second = helm.run_name("sum")
    case.check("the changed spec has no run of its own", second != first)
    case.equal("the new run's end", case.finished(120, second), "Complete")
    case.until("end of the old run's pods", lambda: not [p for p in case.pods() if first in p["metadata"]["name"]], 90)
    case.equal("objects of the old run", [o for o in case.objects() if first in o], [])
    case.equal("the Secret after upgrades", case.get("v1", "secrets", "sum-ssh")["metadata"]["resourceVersion"],
               secret["metadata"]["resourceVersion"])
    said = helm.must("test", "sum", "--logs")
    case.check(f"`helm test` of a run that is over:\n{said}", f"run {second} of sum succeeded" in said)
    helm.upgrade("sum", helm.values(quick), "--wait")
    case.equal("pods that the same values start", [n for _, n in case.starts if second in n and "launcher" in n][1:], [])

    helm.must("rollback", "sum", "1")
    case.equal("the run after the rollback", helm.run_name("sum"), first)
    case.until("launcher of the first run, again", lambda: len([n for _, n in case.starts if f"{first}-launcher" in n]) == 2, 60)
    case.wait_for_line("launching: ", 120)

    helm.must("uninstall", "sum")
    case.until("end of all pods but the test's", lambda: len(case.pods()) == 1, 150)
    case.kubectl("delete", "pod", "sum-test")
    case.equal("what uninstall leaves", case.objects(), [])


def claims(helm):
    """An upgrade that would have to change a claim fails before it changes anything."""
    def storage(spec=None, **claim):
        claim = {"size": "2Gi", "storageClassName": "no-provisioner", "accessModes": ["ReadWriteMany"]} | claim
        spec = spec or {"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}, "scheduling": {"suspend": True}}
        return helm.values(spec | {"storage": [
            {"name": "data", "mountPath": "/data", "claim": {key: value for key, value in claim.items() if value}},
            {"name": "disk", "mountPath": "/disk", "persistentVolume": {"size": "1Gi", "source": {"hostPath": {"path": helm.path}}}}]})
    case = helm.case
    helm.path = "/mnt/one"
    helm.upgrade("held", storage())
    def bound():
        return case.kubectl("get", "pvc", "held-disk", "-o", "jsonpath={.status.phase}").stdout == "Bound"
    # If the controller runs before its volume exists, it retries after a while.
    case.until("the disk's claim with its volume", bound, 60)
    # The objects that both runs use must not change.
    before, revision = helm.steady(), helm.revision("held")
    for claim, pattern in [
        ({"accessModes": ["ReadWriteOnce"]}, "claim held-data: accessModes: ReadWriteMany cannot become ReadWriteOnce"),
        ({"storageClassName": "other"}, "claim held-data: storageClassName: no-provisioner cannot become other"),
        ({"size": "1500Mi"}, "claim held-data: size: 2Gi cannot become 1500Mi"),
    ]:
        helm.refused(f"a claim with {claim}", pattern, "upgrade", "held", CHART, "-f", storage(**claim), *helm.post)
    helm.path = "/mnt/two"
    helm.refused("another volume", f"volume {case.namespace}-held-disk: it cannot become", "upgrade", "held", CHART, "-f",
                 storage(), *helm.post)
    helm.path = "/mnt/one"
    case.equal("what refused upgrades change", helm.versions(), before)
    case.equal("the revision after them", helm.revision("held"), revision)
    # The default access mode is khorovod's for two workers.
    helm.upgrade("held", storage(accessModes=None, size="2048Mi"))
    # Also for one worker that elastic training may scale to two; the pod waits for its claim.
    one = {"workers": {"replicas": 1, "elastic": {"minReplicas": 1, "maxReplicas": 2}}, "launcher": "horovodrun"}
    helm.upgrade("held", storage(one, accessModes=None))
    helm.uninstall("held", "persistentvolumeclaim/held-data", "persistentvolumeclaim/held-disk")
    if "v4-0" in case.namespace:
        # Helm 4.0 cannot adopt existing objects with server-side apply; newer versions and Helm 3 can.
        again = ["install", "held", CHART, "-f", storage(), *helm.post]
        helm.refused("Helm 4.0 takes over claims; docs/helm.md documents that it cannot", "managedFields must be nil", *again)
        helm.must("uninstall", "held")
        helm.must(*again, "--server-side=false")
    else:
        helm.upgrade("held", storage())
    helm.must("uninstall", "held")
    case.kubectl("delete", "pvc", "held-data", "held-disk")
    case.kubectl("delete", "pv", f"{case.namespace}-held-disk")


def shapes(helm):
    """`helm test` of the other shapes, of a failed run, and of a run that does not start."""
    case = helm.case
    helm.upgrade("one", helm.values({"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}}))
    case.wait_for_line("launching: ", 90)
    said = helm.must("test", "one", "--logs")
    case.check(f"`helm test` of a Job:\n{said}", "ok    ssh        the launcher reaches 2 of 2 hosts" in said)
    sleep = {"command": ["python3", "/programs/sum.py"], "launcher": {"kind": "torchrun"},
             "code": {"files": {"sum.py": "import time; time.sleep(600)"}}}
    helm.upgrade("one", helm.values(sleep))
    case.equal("what torchrun needs no more", [o for o in case.objects() if o.endswith("-keys")], [])
    said = helm.must("test", "one", "--logs")
    case.check(f"`helm test` of torchrun:\n{said}", "2 workers are running" in said)
    sleep["code"]["files"]["sum.py"] = "exit(1)"
    helm.upgrade("one", helm.values(sleep))
    case.equal("the end", case.finished(120, helm.run_name("one")), "Failed")
    # Helm 4.0 reports a failed test only after its timeout.
    logs = ["--logs", "--timeout", "40s"]
    helm.refused("a test of a run that failed", f"run {helm.run_name('one')} of one failed", "test", "one", *logs)
    suspended = {"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}, "scheduling": {"suspend": True}}
    helm.upgrade("one", helm.values(suspended, test={"patience": 2}))
    helm.refused("a test of a run that does not begin", "0 of 2 workers of run", "test", "one", *logs)
    helm.uninstall("one")
    case.kubectl("delete", "pod", "one-test", "--wait=false")


def own_keys(helm):
    """The chart uses existing keys and does not change them."""
    case, suspended = helm.case, {"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}, "scheduling": {"suspend": True}}
    secret = subprocess.run([os.environ["KHOROVOD"], "keygen", "team-keys"], capture_output=True, text=True, check=True).stdout
    case.apply(secret)
    helm.upgrade("own", helm.values(suspended, existingSecret="team-keys"))
    case.equal("Secrets beside it", [o for o in case.objects() if o.startswith("secret/") and "helm" not in o], ["secret/team-keys"])
    helm.uninstall("own", "secret/team-keys")
    # A Secret with the chart's name that does not belong to the release: neither install nor uninstall changes it.
    case.apply(secret.replace("team-keys", "own-ssh"))
    helm.refused("a Secret of another release", "own-ssh exists and belongs to another release|failed|BackoffLimitExceeded",
                 "install", "own", CHART, "-f", helm.values(suspended), *helm.post, "--timeout", "60s")


def play(world, binary, helm):
    name = Path(helm).parent.name.replace(".", "-")
    began, case = time.time(), Case(world, name)
    try:
        with tempfile.TemporaryDirectory(prefix="khorovod-helm-") as home:
            release = Release(helm, binary, case, home)
            for part in (forgotten, bad_values, trained, shapes, claims, own_keys):
                since = time.time()
                part(release)
                case.notes.append(f"{part.__name__} {time.time() - since:.0f} s")
        print(f"ok    {time.time() - began:6.1f} s  {name}   {'; '.join(case.notes)}", flush=True)
        return True
    except Exception as error:
        print(f"FAIL  {time.time() - began:6.1f} s  {name}: {error!r}\n{case.explain()}", flush=True)
        return False
    finally:
        case.close()


def main(binary, registry, *helms):
    world = World()
    with tempfile.TemporaryDirectory(prefix="khorovod-registry-") as folder:
        config = Path(folder) / "config.yml"
        config.write_text(f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\nhttp: {{addr: {REGISTRY}}}\n")
        server = subprocess.Popen([registry, "serve", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            (Path(folder) / "home").mkdir()
            packer = Helm(helms[0], binary, f"{folder}/home")
            for words in (["package", CHART, "-d", folder], ["push", f"{folder}/training-job-0.1.0.tgz", f"oci://{REGISTRY}/charts", "--plain-http"]):
                done = packer.run(*words)
                if done.returncode:
                    sys.exit(f"helm {words[0]} ended with {done.returncode}: {done.stderr}")
            with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("AT_ONCE", len(helms)))) as pool:
                passed = list(pool.map(lambda helm: play(world, binary, helm), helms))
        finally:
            server.kill()
            server.wait()
    print(f"the chart's life: {sum(passed)} Helms passed, {len(passed) - sum(passed)} failed")
    return not all(passed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
