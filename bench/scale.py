"""Runs one job of very many workers, from apply to the end of the last pod: scale.py WORKERS, in a cluster of one real node.

kwok sets the status of the workers to running, but nothing listens on their addresses. So the launcher, which is real, waits
until its timeout, logs it and scales the workers down. Prints a page; fails if an object, a limit or the result is wrong.
"""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "cluster"))
from case import Case, World, job, ready, run  # noqa: E402

A_NODE = 100
# The launcher's timeout in seconds; a small machine must have created all pods by then.
WAIT = max(300, int(sys.argv[1]) // 15)
LIMIT = 1 << 20


def log(*words):
    print(*words, file=sys.stderr, flush=True)


def simulated_nodes(cluster, count):
    for number in range(count):
        name = f"simulated-{number}"
        cluster.call("POST", "/api/v1/nodes", {
            "metadata": {"name": name, "labels": {"khorovod.test/simulated": "yes"}},
            "spec": {"taints": [{"key": "khorovod.test/simulated", "effect": "NoSchedule"}]}})
        room = {"cpu": "200", "memory": "2Ti", "pods": str(A_NODE + 10), "nvidia.com/gpu": str(A_NODE)}
        cluster.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"capacity": room, "allocatable": room}},
                     "application/merge-patch+json")


def requests(cluster):
    """The API server's request counts: all, and those of service accounts, which only the launcher has."""
    text = cluster.text("/metrics")
    every = sum(float(n) for n in re.findall(r"^apiserver_request_total\{.* (\S+)$", text, re.M))
    accounts = sum(float(n) for n in re.findall(
        r'^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="service-accounts".* (\S+)$', text, re.M))
    return every, accounts


def sizes(case):
    listed = json.loads(case.kubectl("get", "statefulset,job,configmap,secret,service,networkpolicy", "-o", "json").stdout)
    return {f"{thing['kind']} {thing['metadata']['name']}": len(json.dumps(thing)) for thing in listed["items"]}


def main(workers):
    world = World()
    with open(f"{os.environ['STATE']}/log/kwok", "w") as log:
        kwok = subprocess.Popen([os.environ["KWOK"], "--kubeconfig", os.environ["KUBECONFIG"], "--config", os.environ["STAGES"],
                                 "--manage-nodes-with-label-selector", "khorovod.test/simulated=yes"], stdout=log, stderr=log)
    simulated_nodes(world.cluster, -(-workers // A_NODE))
    case = Case(world, "scale")
    # The world counts devices at every change of a pod, which is too slow with thousands of pods.
    world.cases.pop("scale")
    where = {"spec": {"template": {"spec": {
        "nodeSelector": {"khorovod.test/simulated": "yes"},
        "tolerations": [{"key": "khorovod.test/simulated", "operator": "Exists"}]}}}}
    text = case.render(job(spec={
        "workers": {"replicas": workers, "gpus": 1, "cpu": "1", "memory": "1Gi"},
        "launcher": {"kind": "mpirun", "memory": "4Gi"}, "lifecycle": {"retries": 0, "startTimeout": f"{WAIT}s"},
        "patches": [{"target": {"kind": "StatefulSet"}, "patch": where}]}))
    time.sleep(5)
    before = requests(world.cluster)
    began = time.time()
    case.apply(text)

    def all_ready():
        up = sum(map(ready, case.workers()))
        log(f"{time.time() - began:.0f} s: {up} workers are Ready")
        time.sleep(4)
        return up == workers
    case.until(f"{workers} Ready workers", all_ready, WAIT)
    came = time.time() - began
    largest = max(sizes(case).items(), key=lambda item: item[1])
    case.check(f"{largest} is larger than 1 MiB", largest[1] < LIMIT)

    case.equal("the end", case.finished(WAIT + 120), "Failed")
    ended = time.time() - began
    log = case.log()
    case.equal("the launcher's code", case.code(case.launcher()), 42)
    case.check("the missing workers", re.search(
        rf"only 0 of {workers} workers answered on port 2222 within {WAIT} s; missing: (\S+ ){{8}}and {workers - 8} more", log))
    case.check("the release", "released the workers" in log)
    case.until("end of all workers", lambda: not case.workers(), 300)
    gone = time.time() - began - ended
    after = requests(world.cluster)
    kwok.kill()

    print(f"""# {workers:,} workers on one API server

`bench/scale.sh {workers} >bench/scale.md`: Kubernetes {os.environ['KUBERNETES']} on {os.cpu_count()} CPUs; kwok simulates
{-(-workers // A_NODE)} nodes and their pods; the launcher is real. Controllers may send {os.environ['QPS']} requests per second.

| | |
|---|---|
| rendered text | {len(text) / 1024:,.0f} KiB |
| largest object | {largest[0].split()[0]}, {largest[1] / 1024:,.0f} KiB of 1,024 |
| from apply to {workers:,} Ready pods | {came:.0f} s |
| from the launcher's end to the last pod's | {gone:.0f} s |
| requests of the launcher | {after[1] - before[1]:.0f} |
| requests of all clients, per worker | {(after[0] - before[0]) / workers:.1f} |""")


main(int(sys.argv[1]))
