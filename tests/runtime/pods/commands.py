"""Answers the calls of kubectl by `khorovod stop` and `khorovod status` from the cluster, while a case runs: see ../kubectl.py."""
import time


def stamp(seconds=None):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def answer(cluster, words):
    """The exit code and the output of a call with these arguments, without options for all calls."""
    verb, what = words[0], words[1]
    if verb == "get":
        return 0, {"items": [] if what == "events" else objects(cluster)}
    if (verb, what) == ("delete", "jobs.batch"):
        return delete_jobs(cluster, "--cascade=foreground" in words)
    if (verb, what) == ("scale", "statefulsets"):
        with cluster.lock:
            for (kind, _), owner in cluster.owners.items():
                if kind == "StatefulSet":
                    owner.scale(0)
        return 0, None
    if (verb, what) == ("delete", "pods"):
        with cluster.lock:
            for pod in cluster.pods():
                pod.delete(int(dict(word.split("=", 1) for word in words if "=" in word)["--grace-period"]))
        return 0, None
    if (verb, what) == ("wait", "pods"):
        return (0 if until(lambda: not cluster.pods(), 20) else 1), None
    raise NotImplementedError(words)


def until(is_done, seconds):
    end = time.monotonic() + seconds
    while not is_done() and time.monotonic() < end:
        time.sleep(0.1)
    return is_done()


def delete_jobs(cluster, waits):
    """In the foreground, a Job exists until its pods have ended."""
    with cluster.lock:
        found = [(name, owner) for (kind, name), owner in cluster.owners.items() if kind == "Job" and cluster.find(kind, name)]
        for name, owner in found:
            if not waits:
                del cluster.objects["Job", name]
            else:
                cluster.find("Job", name)["metadata"]["deletionTimestamp"] = stamp()
            owner.delete()
    for name, owner in found if waits else []:
        until(lambda owner=owner: not owner.pods and not owner.terminating, 200)
        cluster.objects.pop(("Job", name), None)
    return 0, None


def objects(cluster):
    with cluster.lock:
        found = []
        for (kind, name), obj in cluster.objects.items():
            owner = cluster.owners.get((kind, name))
            obj = {**obj, "metadata": {**obj["metadata"], "namespace": cluster.namespace, "creationTimestamp": stamp()}}
            if kind == "StatefulSet":
                obj["spec"] = {**obj["spec"], "replicas": owner.replicas}
            if kind == "Job":
                obj["status"] = owner.status()
            if kind in ("ConfigMap", "Job", "StatefulSet"):
                found.append(obj)
        return found + [of_pod(pod) for pod in cluster.pods()]


def of_pod(pod):
    container = pod.spec["containers"][0]
    index = {"batch.kubernetes.io/job-completion-index": str(pod.index)} if pod.owner.indexed else {}
    meta = {"name": pod.name, "namespace": pod.cluster.namespace, "creationTimestamp": stamp(), "labels": pod.meta["labels"] | index}
    state = {"running": {"startedAt": stamp()}} if pod.runs == container["name"] else {"waiting": {"reason": "PodInitializing"}}
    return {
        "kind": "Pod",
        "metadata": meta | ({"deletionTimestamp": stamp()} if pod.deleted else {}),
        "spec": {**pod.spec, "nodeName": pod.field("spec.nodeName")},
        "status": {
            "phase": "Running" if "running" in state else "Pending",
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(pod.ready)}],
            "containerStatuses": [{"name": container["name"], "restartCount": 0, "state": state}],
        },
    }
