"""Only the job's own pods can reach a worker's ssh port, and with `egress: listed` the job reaches only what the spec lists."""
import os

from case import IMAGE, job, play

KNOCK = "exec 3<>/dev/tcp/{host}/{port} && read -r -t 5 -u 3 line && echo \"$line\""


def stranger(case, name, namespace, labels=None, command=("sleep", "600")):
    """A pod that is not a part of the job."""
    case.cluster.call("POST", f"/api/v1/namespaces/{namespace}/pods", {
        "metadata": {"name": name, "labels": labels or {}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
            "name": "shell", "image": IMAGE, "command": command}]}})


def until_running(case, name, namespace):
    """Waits for a stranger; returns its address."""
    def status():
        return (case.cluster.get(f"/api/v1/namespaces/{namespace}/pods/{name}") or {}).get("status", {})
    case.until("stranger", lambda: status().get("phase") == "Running", 30)
    return status()["podIP"]


def knock(case, namespace, pod, host, port=2222):
    done = case.kubectl("-n", namespace, "exec", pod, "--", "timeout", "6", "/bin/bash", "-c", KNOCK.format(host=host, port=port), check=False)
    return done.stdout.strip()


@play(level="baseline")
def ssh_is_closed_to_strangers(case):
    for name, namespace, labels in (("stranger", case.namespace, {}), ("khorovod-stranger", "default", {"khorovod.dev/job": "sum"})):
        stranger(case, name, namespace, labels)
    try:
        case.apply(case.render(job(seconds=600)))
        case.wait_for_line("launching: ", 90)
        worker = case.workers()[0]
        address, launcher = worker["status"]["podIP"], case.launcher()["metadata"]["name"]
        for namespace, name in ((case.namespace, "stranger"), ("default", "khorovod-stranger")):
            until_running(case, name, namespace)
        case.check("the job's own launcher reaches its worker", knock(case, case.namespace, launcher, address).startswith("SSH-2.0"))
        case.equal("the answer to another pod in the namespace", knock(case, case.namespace, "stranger", address), "")
        case.equal("the answer to a pod with the same label in another namespace", knock(case, "default", "khorovod-stranger", address), "")
        case.kubectl("delete", "networkpolicy", "sum")
        case.until("an answer once the policy is gone", lambda: knock(case, case.namespace, "stranger", address).startswith("SSH-2.0"), 20)
        case.delete("sum")
    finally:
        case.kubectl("-n", "default", "delete", "pod", "khorovod-stranger", check=False)


@play(level="baseline")
def egress_is_limited(case):
    """The pods of the job reach each other, DNS, the API server and a listed pod, but no other pod. The job needs all of these but the
    last."""
    serve = ("python3", "-m", "http.server", "8080")
    for name, labels in (("listed", {"registry": "models"}), ("unlisted", {})):
        stranger(case, name, case.namespace, labels, serve)
    api_server = os.environ["HOME_URL"].strip("[]")
    case.apply(case.render(job(seconds=25, spec={"security": {"egress": "listed", "egressTo": [
        {"ipBlock": {"cidr": f"{api_server}/{128 if ':' in api_server else 32}"}}, {"podSelector": {"matchLabels": {"registry": "models"}}}]}})))
    listed, unlisted = (until_running(case, name, case.namespace) for name in ("listed", "unlisted"))
    case.wait_for_line("launching: ", 90)
    launcher = case.launcher()["metadata"]["name"]

    def reaches(host):
        opened = f"exec 3<>/dev/tcp/{host}/8080 && echo open"
        return case.kubectl("-n", case.namespace, "exec", launcher, "--", "timeout", "3", "/bin/bash", "-c", opened, check=False).stdout.strip()
    case.until("the job reaches the listed pod", lambda: reaches(listed) == "open", 20, every=1)
    case.equal("the job reaches another pod", reaches(unlisted), "")
    case.equal("the end", case.finished(120), "Complete")
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.until("freed devices", case.freed, 30)
