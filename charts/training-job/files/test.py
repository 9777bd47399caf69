"""The program of `helm test`: checks whether the current run's workers can reach each other.

While the run has its workers, this runs the checks of the preflight on them, except the check that starts ranks, because
the training uses the GPUs. After the run has ended, the status of its Job decides.
"""

import asyncio
import importlib.machinery
import importlib.util
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import time
import types
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"
JOB, WORKERS, PATIENCE = os.environ["JOB"], int(os.environ["WORKERS"]), float(os.environ["PATIENCE"])
SSH = os.environ.get("SSH_USER")


def read(path):
    with open(path) as file:
        return file.read().strip()


def job_of(run):
    """The Job of a run, or None."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    path = f"/apis/batch/v1/namespaces/{read(ACCOUNT + 'namespace')}/jobs?labelSelector=khorovod.dev/run%3D{run}"
    request = urllib.request.Request(f"https://{host}:{port}{path}", headers={"Authorization": f"Bearer {read(ACCOUNT + 'token')}"})
    with urllib.request.urlopen(request, timeout=10, context=ssl.create_default_context(cafile=ACCOUNT + "ca.crt")) as answer:
        return next(iter(json.load(answer)["items"]), None)


def end_of(job):
    """Returns `Complete` or `Failed` with the message of that condition; `None` for a Job that has not ended."""
    for condition in job.get("status", {}).get("conditions", []):
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return condition["type"], condition.get("message", "")
    return None, ""


def workers(run):
    """The host names of the run's workers, from the DNS records of the job's headless Service."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(JOB, None, proto=socket.IPPROTO_TCP)}
    except socket.gaierror:
        return []
    names = set()
    for address in found:
        try:
            names.add(socket.gethostbyaddr(address)[0].partition(".")[0])
        except OSError:
            pass  # the pod has ended in the meantime
    return sorted(f"{name}.{JOB}" for name in names if name.startswith(f"{JOB}-{run}-") and not name.endswith("-launcher"))


def set_up_ssh():
    """Puts an ssh that uses the job's keys first in PATH."""
    os.makedirs("/tmp/bin", exist_ok=True)
    for name in ("id_ed25519", "known_hosts"):
        # A copy, because ssh requires that its user owns the private key.
        with open(os.open(f"/tmp/{name}", os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(read(f"/keys/{name}") + "\n")
    options = ["IdentityFile=/tmp/id_ed25519", "IdentitiesOnly=yes", "HostKeyAlias=khorovod-worker", "BatchMode=yes",
               "UserKnownHostsFile=/tmp/known_hosts", "GlobalKnownHostsFile=/dev/null", "StrictHostKeyChecking=yes",
               "ConnectTimeout=10", "LogLevel=ERROR", f"User={SSH}", f"Port={os.environ['SSH_PORT']}"]
    program = shutil.which("ssh")
    with open(os.open("/tmp/bin/ssh", os.O_WRONLY | os.O_CREAT, 0o755), "w") as file:
        file.write(f"#!/bin/sh\nexec {program} -F /dev/null {' '.join('-o ' + option for option in options)} \"$@\"\n")
    os.environ["PATH"] = f"/tmp/bin:{os.environ['PATH']}"


def preflight(program, hostfile):
    """Runs those checks of khorovod-preflight that do not disturb the training. Returns whether all passed."""
    sys.path.insert(0, os.path.dirname(os.path.realpath(program)))
    loader = importlib.machinery.SourceFileLoader("preflight", program)
    checks = importlib.util.module_from_spec(importlib.util.spec_from_loader("preflight", loader))
    loader.exec_module(checks)

    async def check():
        crew, found = checks.Crew(checks.read_hostfile(hostfile), 30), []
        try:
            async for finding in checks.cheap(crew, types.SimpleNamespace(gpus=None)):
                print(finding.told(found[-1] if found else None), flush=True)
                found.append(finding)
        finally:
            await crew.stop()
        return all(finding.verdict != "FAIL" for finding in found)

    return asyncio.run(check())


def reach(hosts):
    """Returns whether ssh can reach every host: for images without the preflight."""
    print("the image has no khorovod-preflight: testing ssh only")
    failed = [host for host in hosts if subprocess.run(["ssh", host, "true"]).returncode]
    print(f"ssh reaches {len(hosts) - len(failed)} of {len(hosts)} workers" + "".join(f", not {host}" for host in failed))
    return not failed


def main():
    run, end = read("/current/run"), time.time() + PATIENCE
    while True:
        job, hosts = job_of(run), workers(run)
        if job is None:
            sys.exit(f"there is no Job of run {run}: it may have ended and been deleted (lifecycle.ttlAfterFinished)")
        how, why = end_of(job)
        if how == "Complete":
            return print(f"run {run} of {JOB} succeeded; its workers are released")
        if how == "Failed":
            sys.exit(f"run {run} of {JOB} failed: {why}\nsee: kubectl logs job/{job['metadata']['name']}")
        if len(hosts) >= WORKERS:
            break
        if time.time() > end:
            sys.exit(f"{len(hosts)} of {WORKERS} workers of run {run} are running after {PATIENCE:.0f} s. To see why: "
                     f"kubectl describe pods -l khorovod.dev/run={run}")
        time.sleep(1)
    print(f"run {run} of {JOB}: {len(hosts)} workers are running", flush=True)
    if not SSH:
        return None
    set_up_ssh()
    hostfile = "/tmp/hostfile"
    with open(hostfile, "w") as file:
        file.writelines(f"{host} slots=1\n" for host in hosts)
    program = shutil.which("khorovod-preflight")
    if not (preflight(program, hostfile) if program else reach(hosts)):
        sys.exit(1)


main()
