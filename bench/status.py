#!/usr/bin/env python3
"""Measures `khorovod status` and `khorovod list` of large jobs: bench/status.py KHOROVOD >bench/status.md

kubectl is replaced by a script that prints files. They contain the objects of a job as `kubectl get -o json` prints them: those that
khorovod renders, and for each worker a Ready pod with the whole template, its conditions and its container. An eighth of the workers is
Pending, so that `status` also reads their events.
"""
import copy
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES, ROUNDS, ALLOWED = (8, 256, 1024), 30, 0.4
STAMP = "2026-11-26T07:00:00Z"
KUBECTL = """#!/bin/sh
case "$*" in
*logs*) exec cat "$FAKE/log" ;;
*events*) exec cat "$FAKE/events" ;;
*"get configmaps "*) exec cat "$FAKE/configmaps" ;;
*get*configmaps*) exec cat "$FAKE/objects" ;;
*get*) exec cat "$FAKE/workloads" ;;
esac
"""


def rendered(khorovod, workers):
    """The objects of the smallest example with a number of workers."""
    words = [khorovod, "render", "-q", "--ssh-seed", str(ROOT / "examples/ssh.seed"), "--set", f"workers.replicas={workers}", "-n", "team-a",
             "-o", "json", str(ROOT / "examples/smallest/job.yaml")]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = json.loads(text)
    return found["items"] if "items" in found else found


def pod(template, name, is_ready):
    """A pod of a template, as the API server returns it."""
    template = copy.deepcopy(template)
    conditions = [{"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": STAMP, "observedGeneration": 1}
                  for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")]
    status = {"phase": "Running", "conditions": conditions, "hostIP": "10.0.0.1", "podIP": "10.88.1.7", "podIPs": [{"ip": "10.88.1.7"}],
              "qosClass": "Burstable", "startTime": STAMP, "containerStatuses": [
                  {"name": one["name"], "image": one["image"], "imageID": f"{one['image']}@sha256:{'0' * 64}", "containerID": f"containerd://{'0' * 64}",
                   "ready": True, "started": True, "restartCount": 0, "lastState": {}, "state": {"running": {"startedAt": STAMP}}}
                  for one in template["spec"]["containers"]]}
    if not is_ready:
        status = {"phase": "Pending", "qosClass": "Burstable", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/99 nodes are available: 99 Insufficient nvidia.com/gpu.",
             "lastTransitionTime": STAMP}]}
    else:
        template["spec"]["nodeName"] = "gpu-node-17"
    metadata = template.get("metadata", {}) | {"name": name, "namespace": "team-a", "creationTimestamp": STAMP, "uid": "0" * 36, "resourceVersion": "1"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": status}


def prepare(khorovod, workers, folder):
    objects = [one for one in rendered(khorovod, workers) if one["kind"] in ("ConfigMap", "Job", "StatefulSet")]
    for one in objects:
        one["metadata"] |= {"creationTimestamp": STAMP, "uid": "0" * 36}
    (stateful_set,) = [one for one in objects if one["kind"] == "StatefulSet"]
    (job,) = [one for one in objects if one["kind"] == "Job"]
    job["status"] = {"active": 1, "startTime": STAMP}
    name, pending = stateful_set["metadata"]["name"], workers // 8
    pods = [pod(stateful_set["spec"]["template"], f"{name}-{number}", number >= pending) for number in range(workers)]
    pods.append(pod(job["spec"]["template"], f"{job['metadata']['name']}-x7k2p", True))
    events = [{"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{one['metadata']['name']}.1", "namespace": "team-a", "creationTimestamp": STAMP},
               "involvedObject": {"kind": "Pod", "name": one["metadata"]["name"]}, "reason": "FailedScheduling", "type": "Warning",
               "message": "0/99 nodes are available: 99 Insufficient nvidia.com/gpu.", "lastTimestamp": STAMP} for one in pods[:pending]]
    maps = [one for one in objects if one["kind"] == "ConfigMap"]
    workloads = [stateful_set, job, *pods]
    current = [one for one in maps if one["metadata"]["name"].endswith("-current")]
    for file, items in (("objects", maps + workloads), ("workloads", workloads), ("configmaps", current), ("events", events)):
        (folder / file).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=4))
    (folder / "log").write_text("".join(f"[1,{rank}]<stdout>:step {rank}\n" for rank in range(8)))
    return (folder / "objects").stat().st_size


def main(khorovod):
    khorovod, rows, wrong = os.path.realpath(khorovod), [], False
    for workers in SIZES:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            size = prepare(khorovod, workers, folder)
            kubectl = folder / "kubectl"
            kubectl.write_text(KUBECTL)
            kubectl.chmod(0o755)
            environment = {"PATH": "/usr/bin:/bin", "KUBECTL": str(kubectl), "FAKE": work, "HOME": work}
            for words in ("status", "mnist", "-n", "team-a"), ("list", "-n", "team-a"):
                took, used = [], []
                for _ in range(ROUNDS):
                    before, began = os.times(), time.perf_counter()
                    done = subprocess.run([khorovod, *words], env=environment, cwd=work, capture_output=True, text=True)
                    took.append(time.perf_counter() - began)
                    after = os.times()
                    used.append(after.children_user + after.children_system - before.children_user - before.children_system)
                    assert done.returncode == 0 and f"{workers - workers // 8} of {workers}" in done.stdout.replace("/", " of "), done
                rows.append(f"| {workers} | `khorovod {words[0]}` | {size / 2**20:.1f} | {1000 * min(took):.0f} | {1000 * statistics.median(took):.0f} | "
                            f"{1000 * max(took):.0f} | {1000 * statistics.median(used):.0f} |")
                wrong = wrong or workers == 256 and statistics.median(took) > ALLOWED
    print(f"""# `khorovod status` of large jobs

`bench/status.py KHOROVOD >bench/status.md` measures whole processes, from spawn to exit, {ROUNDS} rounds each. A script that prints files
replaces kubectl, so the times are those of khorovod alone, without kubectl and the API server. The limit is {ALLOWED} s for 256 workers.

{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Linux {platform.release()}

| workers | command | objects, MiB | min, ms | median, ms | max, ms | CPU, ms |
|---|---|---|---|---|---|---|
""" + "\n".join(rows))
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
