#!/usr/bin/env python3
"""Renders every example for each Kubernetes target and submits the objects to an API server with the published custom resources
in the folder KHOROVOD_CORPUS, as a dry run with strict validation. tests/targets/refused.txt lists the expected errors. Also submits the
objects with which the chaos bench runs its jobs on other systems."""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGETS = {"mpijob": "mpijob.kubeflow.org/", "jobset": "jobset.jobset.x-k8s.io/", "trainjob": "trainjob.trainer.kubeflow.org/",
           "volcano": "job.batch.volcano.sh/"}
os.environ.setdefault("IMAGE", "localhost/worker:1")
sys.path.append(f"{ROOT}/bench/chaos")
from peers import SYSTEMS  # noqa: E402
from training import Training  # noqa: E402


def kubectl(*words, text=None):
    return subprocess.run(["kubectl", *words], input=text, capture_output=True, text=True)


def main():
    said = kubectl("apply", "--server-side", "--force-conflicts", "-f", os.path.join(os.environ["KHOROVOD_CORPUS"], "crds"))
    if said.returncode:
        sys.exit(f"the custom resources were not taken: {said.stderr}")
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    kubectl("create", "namespace", "accept")
    kubectl("-n", "accept", "create", "serviceaccount", "default")
    bogus = kubectl("apply", "-n", "accept", "--dry-run=server", "--validate=strict", "-f", "-", text="{apiVersion: jobset.x-k8s.io/v1alpha2, "
                    "kind: JobSet, metadata: {name: bogus}, spec: {replicatedJobs: [], succesPolicy: {operator: All}}}")
    if "succesPolicy" not in bogus.stderr:
        sys.exit(f"an unknown field passes: {bogus.stdout}{bogus.stderr}")
    with open(f"{ROOT}/tests/targets/refused.txt") as file:
        refused = {line.split(":")[0] for line in file}
    accepted, failures = dict.fromkeys(TARGETS, 0), 0
    for file in sorted(glob.glob(f"{ROOT}/examples/*/job.yaml")):
        name = os.path.basename(os.path.dirname(file))
        for target, kind in TARGETS.items():
            rendered = subprocess.run([os.environ["KHOROVOD"], "render", "-q", "-n", "accept", "--target", target, file],
                                      capture_output=True, text=True, env=dict(os.environ, KHOROVOD_SSH_SEED="5" * 64))
            if rendered.returncode:
                if f"{target} {name}" not in refused:
                    failures += 1
                    print(f"FAIL  {target} {name}: {rendered.stderr}")
                continue
            said = kubectl("apply", "-n", "accept", "--dry-run=server", "--validate=strict", "-f", "-", text=rendered.stdout)
            if said.returncode or "Warning" in said.stderr or kind not in said.stdout:
                failures += 1
                print(f"FAIL  {target} {name}: {said.stdout} {said.stderr.strip()}")
            else:
                accepted[target] += 1
    for system, peer in SYSTEMS.items():
        text = Training.without_cluster("plain", "set", 0, False, system).text()
        said = kubectl("apply", "-n", "accept", "--dry-run=server", "--validate=strict", "-f", "-", text=text)
        if said.returncode or "Warning" in said.stderr or f"\n{peer.kind}." not in said.stdout:
            failures += 1
            print(f"FAIL  the job of the chaos bench for {peer.title}: {said.stdout} {said.stderr.strip()}")
    print("accepted:", ", ".join(f"{count} for {target}" for target, count in accepted.items()), f"- {failures} failed")
    return bool(failures or min(accepted.values()) < 20)


sys.exit(main())
