#!/usr/bin/python3
"""A kubectl for `khorovod status` and `khorovod stop`. WORK is the folder of the case.

While a case runs, the emulated cluster answers: see pods/commands.py. After the end of a job, the variable JOB is the name of its Job, and
POD that of the launching pod in that folder. Then it prints the objects that were applied, the state of the Jobs, and that pod; with index 0, all pods.
"""
import json
import os
import re
import ssl
import sys
import time
import urllib.request
from pathlib import Path

import yaml

STAMP = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def items():
    work, name, pod = Path(os.environ["WORK"]), os.environ["JOB"], os.environ["POD"]
    found = [one for one in yaml.safe_load_all((work / "objects.yaml").read_text()) if one and one["kind"] in ("ConfigMap", "Job", "StatefulSet")]
    for one in found:
        one["metadata"]["creationTimestamp"] = STAMP
    (job,) = [one for one in found if one["metadata"]["name"] == name and one["kind"] == "Job"]
    condition, code = (work / "jobs" / name).read_text().split()
    job["status"] = {"startTime": STAMP, "conditions": [{"type": condition, "status": "True", "reason": "BackoffLimitExceeded", "lastTransitionTime": STAMP}]}
    log = work / "status.log"
    if log.exists():
        job["metadata"].setdefault("annotations", {})["khorovod.dev/status"] = log.read_text().splitlines()[-1]
    template = job["spec"]["template"]
    codes = {pod: int(code)}
    if pod == "0":
        # Each pod of an Indexed Job has its own exit code.
        codes |= {index: int(code) for index, code in re.findall(r"^ *[0-9.]+ ([0-9]+) ended with ([0-9]+)$", (work / "events.log").read_text(), re.M)}
    for pod, code in codes.items():
        labels = template["metadata"]["labels"] | ({"batch.kubernetes.io/job-completion-index": pod} if pod.isdigit() else {})
        ended = {"exitCode": code, "reason": "Error", "message": (work / "pods" / pod / "termination").read_text(), "startedAt": STAMP, "finishedAt": STAMP}
        container = {"name": template["spec"]["containers"][0]["name"], "restartCount": 0, "state": {"terminated": ended}}
        found.append({"kind": "Pod", "metadata": {"name": f"{name}-{pod}", "namespace": "team-a", "creationTimestamp": STAMP, "labels": labels},
                      "spec": template["spec"] | {"nodeName": "node"}, "status": {"phase": "Failed", "containerStatuses": [container]}})
    return found


def ask():
    words = [word for word in sys.argv[1:] if not word.startswith(("--namespace", "--request-timeout"))]
    trust = ssl.create_default_context(cafile=Path(os.environ["WORK"]) / "ca.crt")
    request = urllib.request.Request("https://10.88.255.254:6443/kubectl", json.dumps(words).encode(), {"Authorization": "Bearer admin"})
    with urllib.request.urlopen(request, context=trust) as response:
        return json.load(response)


if "logs" in sys.argv:
    sys.exit()
code, answer = (0, {"items": [] if "events" in sys.argv else items()}) if "JOB" in os.environ else ask()
if answer:
    print(json.dumps(answer))
sys.exit(code)
