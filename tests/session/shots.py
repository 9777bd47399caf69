#!/usr/bin/env python3
"""Draws the live view of `khorovod status --watch`, to look at it: shots.py KHOROVOD FOLDER

Writes an SVG for each state of a job, for terminals of 80x24 and 200x60 cells, with a dark and a light background. The cluster is
tests/cli/kubectl, which prints the objects below.
"""
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import terminal

ROOT = Path(__file__).resolve().parents[2]
NO_GPU = "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient nvidia.com/gpu. no new claims"
DENIED = 'Back-off pulling image "registry.example.com/team-a/training:2026-11-26-nightly": ErrImagePull: failed to resolve reference: 403 Forbidden'


def stamp(minutes):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60 * minutes))


def job(name, workers, states, report=None, conditions=()):
    """The objects of a job. `states` has a word for each worker."""
    labels = {"khorovod.dev/job": name, "khorovod.dev/run": "mgxbqm"}

    def metadata(suffix, component, **more):
        return {"name": f"{name}-mgxbqm-{suffix}", "namespace": "team-a", "creationTimestamp": stamp(12),
                "labels": labels | {"app.kubernetes.io/component": component}} | more

    def containers(component):
        limits = {"nvidia.com/gpu": "8"} if component == "worker" else {"cpu": "1"}
        return [{"name": component, "command": ["/bin/bash", "x.sh"], "resources": {"limits": limits}}]

    def pod(suffix, component, state):
        running = {"containerStatuses": [{"name": component, "restartCount": 0, "state": {"running": {"startedAt": stamp(10)}}}]}
        status = {
            "ready": running | {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            "pending": {"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_GPU}]},
            "image": {"phase": "Pending", "containerStatuses": [
                {"name": component, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": DENIED}}}]},
            "lost": running | {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"},
                {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}]},
            "failed": {"phase": "Failed", "containerStatuses": [{"name": component, "restartCount": 0, "state": {"terminated": {
                "exitCode": 42, "reason": "Error", "message": "failed after 4 attempts; the last: lost worker gpt-mgxbqm-worker-3.gpt"}}}]},
        }[state]
        node = {} if state == "pending" else {"nodeName": "gpu-node-17"}
        return {"kind": "Pod", "metadata": metadata(suffix, component), "spec": node | {"containers": containers(component)}, "status": status}

    current = {"kind": "ConfigMap", "metadata": {"name": f"{name}-current", "namespace": "team-a", "labels": labels}, "data": {"run": "mgxbqm"}}
    launcher_job = {"kind": "Job", "metadata": metadata("launcher", "launcher"),
                    "spec": {"completionMode": "NonIndexed", "template": {"spec": {"containers": containers("launcher")}}},
                    "status": {"startTime": stamp(12), "conditions": list(conditions)}}
    if report:
        launcher_job["metadata"]["annotations"] = {"khorovod.dev/status": json.dumps(report)}
    stateful_set = {"kind": "StatefulSet", "metadata": metadata("worker", "worker", annotations={"khorovod.dev/replicas": str(workers)}),
                    "spec": {"template": {"spec": {"containers": containers("worker")}}}}
    launcher = "failed" if conditions else "ready"
    return [current, launcher_job, stateful_set, *(pod(f"worker-{number}", "worker", state) for number, state in enumerate(states)),
            pod("launcher-x7k2p", "launcher", launcher)]


def cases():
    now = time.time()
    training = {"phase": "training", "since": now - 500, "attempt": 2, "failures": 1, "retries": 3, "lastEnd": "lost worker gpt-mgxbqm-worker-3.gpt",
                "step": 600, "steps": 1000, "unit": "step", "progressAt": now - 10, "held": 4000, "trained": 3600}
    recovering = training | {"phase": "waiting", "since": now - 20}
    hangs = training | {"step": 601, "progressAt": now - 1500, "since": now - 1800, "message": "no output for 1200 s: 31 ranks in all_reduce (train.py:88)"}
    ended = [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "", "lastTransitionTime": stamp(1)}]
    return {
        "waiting": job("gpt", 8, ["ready"] * 5 + ["pending", "pending", "image"], {"phase": "waiting", "since": now - 250, "attempt": 1, "retries": 3}),
        "training": job("gpt", 4, ["ready"] * 4, training),
        "recovering": job("gpt", 4, ["ready"] * 3 + ["lost"], recovering),
        "stalled": job("gpt", 4, ["ready"] * 4, hangs),
        "failed": job("gpt", 4, ["ready"], training, ended),
    }


def main(program, folder):
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, items in cases().items():
        with tempfile.TemporaryDirectory() as work:
            fake = Path(work, "fake")
            fake.mkdir()
            (fake / "objects.json").write_text(json.dumps({"items": items}))
            log = "".join(f"{stamp(1)} [1,{n % 32}]<stdout>:step {n} of 1000, loss {3 / (n + 1):.4f}, {1400 + n % 7} samples/s\n" for n in range(500, 601))
            (fake / "gpt-mgxbqm-launcher-x7k2p.log").write_text(log.replace(f"{stamp(1)} ", ""))
            environment = {"PATH": "/usr/bin:/bin", "KUBECTL": str(ROOT / "tests/cli/kubectl"), "FAKE": str(fake), "TERM": "xterm-256color", "HOME": work}
            for size in (80, 24), (200, 60):
                texts, _ = terminal.run([program, "status", "gpt", "--watch"], size, environment, work, seconds=2.5)
                screen = terminal.Screen(*size)
                for _, text in texts:
                    # The view leaves its screen at the end.
                    screen.feed(text.partition("\x1b[?7h")[0])
                    if "\x1b[?7h" in text:
                        break
                for theme, colours in (("dark", terminal.DARK), ("light", terminal.LIGHT)):
                    drawing = terminal.picture(screen, colours, f"khorovod status --watch: {name}")
                    (out / f"{name}-{size[0]}x{size[1]}-{theme}.svg").write_text(drawing)


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), sys.argv[2])
