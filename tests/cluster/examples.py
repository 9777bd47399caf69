"""Runs every example of examples/ on the cluster, as defined in examples.toml."""
import json
import os
import re
import time
import tomllib

from case import HERE, IMAGE, KHOROVOD, PROGRAMS, ROOT, Failed, Play, merge, run
from other_mpi import fields_of_mpi, claim
from without_ipv4 import IN_FULL

SCENARIOS = os.path.join(HERE, "examples.toml")


def scenarios():
    with open(SCENARIOS) as file:
        said = tomllib.loads(file.read().replace("HOME_URL", os.environ["HOME_URL"]).replace("TEST_IMAGE", IMAGE))
    there = {name for name in os.listdir(os.path.join(ROOT, "examples")) if os.path.isdir(os.path.join(ROOT, "examples", name))}
    for name in sorted(there | set(said)):
        yield name, said.get(name) if name in there else None


def overlay(scenario):
    """The overlay on the example: an image of this cluster, and a test program if the example's own program is not available."""
    spec = dict(scenario.get("spec", {}))
    if "dry" not in scenario:
        spec["image"] = IMAGE
        # Many ranks share two cores here: a rank that waits must not use the CPU. And a pod's CPU share depends on its request: a
        # pod that requests 64 cores would leave nothing to pods without a request.
        spec["workers"] = {"cpu": "1"} | spec.get("workers", {})
        # Ranks run as long as a kubelet may take to set the last worker Ready, because launchers do not wait for that.
        spec["env"] = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1", "SUM_SECONDS": "2.5"} | spec.get("env", {})
        if os.environ["FAMILY"] == "6" and scenario.get("program") == "sum.py":
            spec = merge(IN_FULL, spec)
    if "mpi" in scenario:
        spec = merge(spec, fields_of_mpi(scenario["mpi"]))
    if "program" in scenario:
        with open(os.path.join(PROGRAMS, scenario["program"])) as file:
            code = {"mountPath": "/programs", "files": {scenario["program"]: file.read()}}
        spec["code"] = merge(code, spec.get("code", {}))
        spec.setdefault("command", ["python3", f"/programs/{scenario['program']}"])
    return spec


def example(name, scenario):
    """The case of one example."""
    def play(case):
        if scenario is None:
            raise Failed("examples/ and examples.toml do not name the same")
        if "given" in scenario:
            case.kubectl("apply", "-f", "-", text=scenario["given"])
        volumes(case, **scenario.get("volumes", {}))
        if "mpi" in scenario:
            claim(case, scenario["mpi"])
        buckets = scenario.get("buckets", {"given": {}, "stored": {}})
        # They may exist from an earlier attempt.
        for bucket in {key.split("/")[0] for key in buckets["given"] | buckets["stored"]}:
            request("PUT", bucket, check=False)
        for key in buckets["stored"]:
            request("DELETE", key)
        for key, text in buckets["given"].items():
            request("PUT", key, text)
        if scenario.get("does") == "keygen":
            case.kubectl("apply", "-f", "-", text=run(KHOROVOD, "keygen", "mnist-keys").stdout)
        there = case.objects()
        text = case.render(os.path.join(ROOT, "examples", name, "job.yaml"), overlay(scenario))
        case.dry_run(text)
        if "dry" in scenario:
            case.notes.append(f"dry run only: {scenario['dry']}")
            return
        if scenario.get("does") == "let_go":
            suspended(case, text)
        case.apply(text)
        live(case, scenario)
        case.equal("what the buckets hold", {key: stored(key) for key in buckets["stored"]}, buckets["stored"])
        again(case, text)
        case.delete(re.search(r"khorovod.dev/job: (\S+)", text)[1])
        case.until("end of all pods", lambda: not case.pods(), 40)
        left = [re.sub("-[a-z0-9]{6}-worker", "-RUN-worker", thing) for thing in case.objects() if thing not in there]
        case.equal("what deletion leaves", left, scenario.get("left", []))

    return Play(f"example-{name}", play, scenario.get("level", "restricted") if scenario else "restricted")


def live(case, scenario):
    """Checks an example from apply to freed devices."""
    if scenario.get("does") in DOES:
        DOES[scenario["does"]](case)
    ends = case.finished(scenario.get("within", 240))
    log = case.log()
    case.equal("the end", ends, scenario.get("ends", "Complete"))
    for pattern in scenario["prints"]:
        case.check(f"the launcher's log does not match /{pattern}/", re.search(pattern, log))
    # A run does not wait for its spares.
    ready = range(scenario["ready"] - scenario.get("spares", 0), scenario["ready"] + 1)
    case.check(f"workers that became Ready: {case.most_ready}, not {scenario['ready']}", case.most_ready in ready)
    case.equal("devices that the scheduler counted", case.most, scenario.get("devices", 0))
    end = case.ranks_end()
    if end and case.most:
        case.freed_after(end)


def volumes(case, count=0, **of):
    """Volumes for claims of a class without a provisioner: folders that all nodes share."""
    for index in range(count):
        name = f"{case.namespace}-{index}"
        case.cluster.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": {
            "capacity": {"storage": of["size"]}, "accessModes": [of.get("mode", "ReadWriteOnce")],
            "storageClassName": of["class"], "hostPath": {"path": folder(name)}}})


def folder(name):
    path = os.path.join(os.environ["STATE"], "claims", name)
    os.makedirs(path)
    os.chmod(path, 0o777)
    return path


def request(method, key, text="", check=True):
    """A client of the S3 server, with the user that control.sh sets up."""
    run("curl", "-sSf", "--user", "s3-user:s3-secret", "--aws-sigv4", "aws:amz:eu-central-1:s3", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
        "-X", method, "--data-binary", "@-", f"http://{os.environ['HOME_URL']}:9000/{key}", text=text, check=check)


def stored(key):
    """The content of an object, from the file in which the server stores it."""
    path = os.path.join(os.environ["STATE"], "buckets", key)
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return file.read()


def work_by_hand(case):
    """Runs mpirun in the launcher, with only the hostfile as an option."""
    case.wait_for_line("ready: 2 workers", 60)
    name = case.launcher()["metadata"]["name"]
    said = case.execute(name, "mpirun --hostfile /horovod/generated/hostfile hostname")
    case.equal("hosts that answer by hand", sorted(h[-8:] for h in said.stdout.split()), ["worker-0", "worker-1"])


def scale_to_three(case):
    case.wait_for_line("rank 0 of 2", 90)
    name = case.workers()[0]["metadata"]["ownerReferences"][0]["name"]
    case.kubectl("scale", "statefulset", name, "--replicas=3")


def suspended(case, text):
    """Like Kueue's webhook: creates the Job suspended, whatever its manifest contains."""
    job = next(document for document in text.split("\n---\n") if "\nkind: Job\n" in document)
    job = json.loads(case.kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", text=job).stdout)
    job["spec"]["suspend"] = True
    case.kubectl("create", "-f", "-", text=json.dumps(job))


def let_go(case):
    """Like Kueue when the quota has room: resumes the Job."""
    job = case.until("suspended Job", case.jobs, 10)[0]
    time.sleep(2)
    case.equal("pods of a suspended Job", case.pods(), [])
    case.patch("batch/v1", "jobs", job["metadata"]["name"], {"spec": {"suspend": False}})


DOES = {act.__name__: act for act in (work_by_hand, scale_to_three, let_go)}


def again(case, text):
    """Applies the same text again after the end: nothing changes and nothing starts."""
    before, starts = case.objects(), len(case.starts)
    changed = [line for line in case.apply(text).splitlines() if not line.endswith(" unchanged")]
    case.equal("objects that the same text changed", changed, [])
    case.equal("pods that it started", case.starts[starts:], [])
    # Pods of a run that has ended may still be terminating.
    case.equal("objects that it made", sorted(set(case.objects()) - set(before)), [])


def plays():
    return [example(name, scenario) for name, scenario in scenarios()]
