#!/usr/bin/env python3
"""Submits every object of every example, and of every spec in tests/problems that renders, to an API server as a dry run with
strict validation."""
import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    minor = ".".join(os.environ["KUBERNETES"].split(".")[:2])
    fixtures = [path for path in glob.glob(f"{ROOT}/tests/problems/*/*.yaml") if not path.endswith(".right.yaml")]
    files = sorted(glob.glob(f"{ROOT}/examples/*/job.yaml") + fixtures)
    subprocess.run(["kubectl", "create", "namespace", "accept"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["kubectl", "-n", "accept", "create", "serviceaccount", "default"], capture_output=True)
    objects = failures = texts = old = 0
    for file in files:
        rendered = subprocess.run([os.environ["KHOROVOD"], "render", "-q", "-n", "accept", "--kube-version", minor, file],
                                  capture_output=True, text=True, env=dict(os.environ, KHOROVOD_SSH_SEED="5" * 64))
        if minor < "1.31" and "error[kube-version]: `launcher.runsIn: firstWorker` needs" in rendered.stderr:
            old += 1
            continue
        if rendered.returncode:
            # khorovod refuses most fixtures of tests/problems.
            if "/examples/" in file:
                failures += 1
                print(f"FAIL  {file}: {rendered.stderr}")
            continue
        said = subprocess.run(["kubectl", "apply", "-n", "accept", "--dry-run=server", "--validate=strict", "-f", "-"],
                              input=rendered.stdout, capture_output=True, text=True)
        if "/unknown-patch-field/" in file:
            # khorovod only warns, because Kubernetes may have a field that khorovod lacks. The API server ignores `status`.
            if not file.endswith("/status.yaml") and "strict decoding error: unknown field" not in said.stderr:
                failures += 1
                print(f"FAIL  {os.path.relpath(file, ROOT)}: the API server takes the field")
            continue
        texts += 1
        objects += said.stdout.count("(server dry run)")
        if said.returncode or "Warning" in said.stderr:
            failures += 1
            print(f"FAIL  {os.path.relpath(file, ROOT)}: {said.stderr.strip()}")
    print(f"Kubernetes {minor}: {objects} objects of {texts} specs accepted, {failures} specs failed" +
          (f", {old} refused by khorovod as it is too old for the Job shape" if old else ""))
    return bool(failures or objects < 300)


sys.exit(main())
