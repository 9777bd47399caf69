#!/usr/bin/python3
"""A kubectl for `khorovod status` after the end of a case. It prints the objects that were applied, the state of the Jobs, and the pod
that launched.

WORK is the folder of the case, JOB the Job, and POD the name of the launching pod in that folder.
"""
import json
import os
import sys
import time
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
    labels = template["metadata"]["labels"] | ({"batch.kubernetes.io/job-completion-index": "0"} if pod == "0" else {})
    ended = {"exitCode": int(code), "reason": "Error", "message": (work / "pods" / pod / "termination").read_text(), "startedAt": STAMP, "finishedAt": STAMP}
    container = {"name": template["spec"]["containers"][0]["name"], "restartCount": 0, "state": {"terminated": ended}}
    found.append({"kind": "Pod", "metadata": {"name": f"{name}-x", "namespace": "team-a", "creationTimestamp": STAMP, "labels": labels},
                  "spec": template["spec"] | {"nodeName": "node"}, "status": {"phase": "Failed", "containerStatuses": [container]}})
    return found


if "logs" not in sys.argv:
    print(json.dumps({"items": [] if "events" in sys.argv else items()}))
