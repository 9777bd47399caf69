"""Gang scheduling by Kubernetes itself: `scheduling.gang: native`. It needs a cluster with GANGS=1, see up.sh."""
import os
import time

from case import MINOR, job, play

# Each of three nodes has room for one such worker: see devices.sh.
WORKERS = {"gpus": 3, "gpuResource": "khorovod.test/scarce"}


@play(alone=True)
def native_gang(case):
    if not os.environ.get("GANGS") or MINOR < 36:
        case.notes.append("left out: it needs GANGS=1 and Kubernetes 1.36")
        return
    gang = {"scheduling": {"gang": "native"}}
    case.apply(case.render(job("large", spec=gang | {"workers": WORKERS | {"replicas": 4}})))
    case.until("four pods", lambda: len(case.pods()) == 4, 30)
    case.check("the pods name their group", all("schedulingGroup" in pod["spec"] for pod in case.pods()))
    # Without the gang, three of the pods would have nodes within a second.
    time.sleep(20)
    case.equal("nodes of the pods of a gang that is too large", [pod["spec"].get("nodeName") for pod in case.pods()], [None] * 4)
    reasons = {condition.get("message", "") for pod in case.pods() for condition in pod.get("status", {}).get("conditions", [])}
    case.notes.append("; ".join(sorted(reasons - {""}))[:300])
    case.clear("large")
    case.apply(case.render(job("fits", spec=gang | {"workers": WORKERS | {"replicas": 3}})))
    case.equal("the end", case.finished(90), "Complete")
    case.until("the end of all pods", lambda: case.freed(), 60)
