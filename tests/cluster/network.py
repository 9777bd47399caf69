"""Only the job's own pods can reach a worker's ssh port."""
from case import IMAGE, job, play

KNOCK = "exec 3<>/dev/tcp/{host}/{port} && read -r -t 5 -u 3 line && echo \"$line\""


def stranger(case, name, namespace, labels=None):
    """A pod that is not a part of the job."""
    case.cluster.call("POST", f"/api/v1/namespaces/{namespace}/pods", {
        "metadata": {"name": name, "labels": labels or {}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
            "name": "shell", "image": IMAGE, "command": ["sleep", "600"]}]}})


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
            case.until("stranger", lambda: (case.cluster.get(f"/api/v1/namespaces/{namespace}/pods/{name}") or {}).get(
                "status", {}).get("phase") == "Running", 30)
        case.check("the job's own launcher reaches its worker", knock(case, case.namespace, launcher, address).startswith("SSH-2.0"))
        case.equal("the answer to another pod in the namespace", knock(case, case.namespace, "stranger", address), "")
        case.equal("the answer to a pod with the same label in another namespace", knock(case, "default", "khorovod-stranger", address), "")
        case.kubectl("delete", "networkpolicy", "sum")
        case.until("an answer once the policy is gone", lambda: knock(case, case.namespace, "stranger", address).startswith("SSH-2.0"), 20)
        case.delete("sum")
    finally:
        case.kubectl("-n", "default", "delete", "pod", "khorovod-stranger", check=False)
