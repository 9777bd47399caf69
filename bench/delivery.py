"""Measures how long a pod takes until its container prints a line, for each way to deliver what runs in it: delivery.py SCRIPTS
PROGRAM ROUNDS, in a cluster. SCRIPTS is the ConfigMap of a run as JSON, and PROGRAM the program of delivery.c.

Times count from the request that creates the ConfigMap, or the pod in ways without a ConfigMap.
"""
import base64
import json
import os
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "cluster"))
import api  # noqa: E402

IMAGE, HELPER = os.environ["IMAGE"], "khorovod.test/delivery:1"
SPACE = "/api/v1/namespaces/default"
FOLDER = "/etc/delivery"
STARTED = {"scripts": ["/bin/bash", "-c", 'set -- /etc/delivery/*; cat "$@" >/dev/null; echo "first $EPOCHREALTIME"']}
WAYS = {
    "scripts": "scripts in a ConfigMap",
    "configmap": "program in a ConfigMap",
    "init": "init container that copies the program",
    "image": "image volume",
}


def pod(way, name):
    """A pod that prints the time."""
    volume, init = {
        "scripts": ({"configMap": {"name": name, "defaultMode": 0o555}}, []),
        "configmap": ({"configMap": {"name": name, "defaultMode": 0o555}}, []),
        "init": ({"emptyDir": {}}, [{"name": "copy", "image": HELPER, "command": ["/delivery", f"{FOLDER}/delivery"]}]),
        "image": ({"image": {"reference": HELPER, "pullPolicy": "IfNotPresent"}}, []),
    }[way]
    mounts = {"volumeMounts": [{"name": "delivery", "mountPath": FOLDER}], "securityContext": {"allowPrivilegeEscalation": False}}
    command = STARTED.get(way, [f"{FOLDER}/delivery"])
    return {"metadata": {"name": name}, "spec": {
        "restartPolicy": "Never", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsUser": 65532, "fsGroup": 65532},
        "volumes": [{"name": "delivery"} | volume],
        "initContainers": [container | mounts for container in init],
        "containers": [{"name": "main", "image": IMAGE, "command": command} | mounts]}}


def once(cluster, way, name, content):
    """The seconds until the first line, or the reason why the pod does not start."""
    began = time.time()
    if way in content:
        cluster.call("POST", f"{SPACE}/configmaps", {"metadata": {"name": name}, "immutable": True} | content[way])
    cluster.call("POST", f"{SPACE}/pods", pod(way, name))
    try:
        while (now := cluster.get(f"{SPACE}/pods/{name}"))["status"]["phase"] not in ("Succeeded", "Failed"):
            if time.time() - began > 60:
                states = now["status"].get("containerStatuses", [{}])[0].get("state", {})
                return states.get("waiting", {}).get("message") or json.dumps(states)
            time.sleep(0.1)
        if now["status"]["phase"] == "Failed":
            return now["status"]["containerStatuses"][0]["state"]["terminated"].get("message", "the container failed")
        return float(cluster.text(f"{SPACE}/pods/{name}/log?container=main").split()[1]) - began
    finally:
        cluster.call("DELETE", f"{SPACE}/pods/{name}")
        if way in content:
            cluster.call("DELETE", f"{SPACE}/configmaps/{name}")
        while cluster.get(f"{SPACE}/pods/{name}"):
            time.sleep(0.1)
        # kubelet looks at its containers once per second: without this, all rounds would start at the same moment of that second.
        time.sleep(1 + random.random())


def main(scripts, program, rounds):
    cluster = api.Cluster()
    with open(scripts) as file:
        content = {"scripts": {"data": json.load(file)["data"]}}
    with open(program, "rb") as file:
        content["configmap"] = {"binaryData": {"delivery": base64.b64encode(file.read()).decode()}}
    found, broken = {way: [] for way in WAYS}, {}
    for number in range(rounds + 1):
        for way in [w for w in WAYS if w not in broken][:: 1 if number % 2 else -1]:
            took = once(cluster, way, f"{way}-{number}", content)
            print(number, way, took, file=sys.stderr, flush=True)
            if isinstance(took, str):
                broken[way] = took
            elif number:  # the first round fills the caches
                found[way].append(took)
    print(f"## Kubernetes {os.environ['KUBERNETES']}, {os.environ['CONTAINERD']}, {rounds} rounds\n")
    print("| | Seconds until the first line: median | Minimum | Maximum |\n|---|---|---|---|")
    for way, words in WAYS.items():
        if way in broken:
            print(f"| {words} | does not start: {' '.join(broken[way].split())[-160:]} | | |")
        else:
            print(f"| {words} | {statistics.median(found[way]):.2f} | {min(found[way]):.2f} | {max(found[way]):.2f} |")
    print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
