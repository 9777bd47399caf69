"""Gang scheduling by Kubernetes itself: `scheduling.gang: native`. It needs a cluster with GANGS=1, see up.sh."""
import os
import time

from case import MINOR, job, play

# Three nodes have room for three such workers; see devices.sh.
GPUS = 200


@play(alone=True)
def native_gang(case):
    if not os.environ.get("GANGS") or MINOR < 36:
        case.notes.append("left out: it needs GANGS=1 and Kubernetes 1.36")
        return
    fields = {"workers": {"gpus": GPUS}, "scheduling": {"gang": "native"}}
    text = case.render(job("large", spec=fields | {"workers": {"gpus": GPUS, "replicas": 4}}))
    case.apply(text)
    case.until("four pods", lambda: len(case.pods()) == 4, 30)
    case.check("the pods name their group", all("schedulingGroup" in pod["spec"] for pod in case.pods()))
    # Without the gang, three of the pods would have nodes within a second.
    time.sleep(20)
    case.equal("nodes of the pods of a gang that is too large", [pod["spec"].get("nodeName") for pod in case.pods()], [None] * 4)
    reasons = {condition.get("message", "") for pod in case.pods() for condition in pod.get("status", {}).get("conditions", [])}
    case.notes.append("; ".join(sorted(reasons - {""}))[:300])
    case.clear("large")
    case.apply(case.render(job("fits", spec=fields | {"workers": {"gpus": GPUS, "replicas": 3}})))
    case.equal("the end", case.finished(90), "Complete")
    case.until("the end of all pods", lambda: case.freed(), 60)
