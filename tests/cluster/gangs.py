"""Gang scheduling by Kubernetes itself: `scheduling.gang: native`. It needs a cluster with GANGS=1, see up.sh."""
import os
import re
import time

from case import MINOR, job, merge, play
from lost_nodes import node_of_worker_fails, on_node

# Each of three nodes has room for one such worker: see devices.sh.
WORKERS = {"gpus": 3, "gpuResource": "khorovod.test/scarce"}
GANG = {"scheduling": {"gang": "native"}}
SETS = merge(GANG, {"launcher": {"kind": "mpirun", "runsIn": "ownPod"}})
CLASS = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: gangs}\nvalue: 1000\n"


def has_gangs(case):
    if os.environ.get("GANGS") and MINOR >= 36:
        return True
    case.notes.append("left out: it needs GANGS=1 and Kubernetes 1.36")
    return False


def nodes(case):
    """The nodes of the workers; None for each worker without a node."""
    return [pod["spec"].get("nodeName") for pod in case.workers()]


def start(case, name, count, spec, workers):
    """Applies a job, and waits for its worker pods, which must all name their group."""
    new = job(name, spec=spec)
    new["spec"]["workers"] = workers
    case.apply(case.render(new))
    case.until(f"{count} workers", lambda: len(case.workers()) == count, 60)
    case.check("the workers name their group", all("schedulingGroup" in pod["spec"] for pod in case.workers()))


def none_starts(case, name, count, spec, workers):
    """Runs a job that does not fit: without the gang, three of the workers would have nodes within a second."""
    start(case, name, count, spec, workers)
    time.sleep(20)
    case.equal(f"nodes of the workers of {name}", nodes(case), [None] * count)
    reasons = {condition.get("message", "") for pod in case.workers() for condition in pod.get("status", {}).get("conditions", [])}
    case.notes.append(f"{name}: {'; '.join(sorted(reasons - {''}))[:150]}")


def some_start(case, name, count, least, spec, workers):
    """Runs a job whose gang fits, but not all of its workers: the gang starts, and the others wait."""
    start(case, name, count, spec, workers)
    case.until(f"{least} workers of {name} with a node", lambda: sum(map(bool, nodes(case))) >= least, 30)


def completes(case):
    case.equal("the end", case.finished(90), "Complete")
    case.until("the end of all pods", lambda: case.freed(), 60)


@play(alone=True)
def native_gang(case):
    if not has_gangs(case):
        return
    none_starts(case, "large", 4, GANG, WORKERS | {"replicas": 4})
    case.clear("large")
    case.kubectl("apply", "-f", "-", text=CLASS)
    start(case, "fits", 3, GANG | {"placement": {"priorityClassName": "gangs"}}, WORKERS | {"replicas": 3})
    completes(case)


@play(alone=True)
def native_gang_of_stateful_sets(case):
    """The launcher starts before its gang, which contains the workers only."""
    if not has_gangs(case):
        return
    none_starts(case, "large", 4, SETS, WORKERS | {"replicas": 4})
    case.check("the launcher has no group", "schedulingGroup" not in case.launcher()["spec"])
    case.wait_for_line("0 of 4 workers answer: their gang waits until the nodes have room for 4 of them", 30)
    case.clear("large")
    start(case, "fits", 3, SETS, WORKERS | {"replicas": 3})
    completes(case)
    case.clear("fits")
    # The gang does not fit within startTimeout.
    spec = merge(SETS, {"lifecycle": {"startTimeout": "20s"}})
    start(case, "late", 4, spec, WORKERS | {"replicas": 4})
    case.equal("the end", case.finished(60), "Failed")
    case.check("the reason", re.search("only 0 of 4 workers answered .*: their gang waits", case.log()))


@play(alone=True)
def native_gang_of_some_workers(case):
    """Worker groups are one gang. Spares, and the workers of an elastic job above its minimum, start when there is room for them."""
    if not has_gangs(case):
        return
    groups = [WORKERS | {"name": "a", "replicas": 2}, WORKERS | {"name": "b", "replicas": 2}]
    none_starts(case, "groups", 4, SETS, {"groups": groups})
    case.clear("groups")
    groups[1]["replicas"] = 1
    start(case, "groups", 3, SETS, {"groups": groups})
    completes(case)
    case.clear("groups")
    some_start(case, "spares", 5, 3, SETS, WORKERS | {"replicas": 3, "spares": 2})
    completes(case)
    case.clear("spares")
    spec = merge(SETS, {"launcher": {"kind": "horovodrun"}})
    elastic = {"elastic": {"minReplicas": 2, "maxReplicas": 5}}
    some_start(case, "elastic", 5, 3, spec, WORKERS | {"replicas": 5} | elastic)
    case.clear("elastic")
    elastic["elastic"]["minReplicas"] = 4
    none_starts(case, "elastic", 5, spec, WORKERS | {"replicas": 5} | elastic)


@play(waits=True)
def native_gang_loses_a_node(case):
    """The worker with a higher index joins the gang, whose other workers already run."""
    if not has_gangs(case):
        return
    number = case.take_node()
    node_of_worker_fails(case, [number], on_node(number, "StatefulSet"), SETS)
    case.check("the lost worker has a group", all("schedulingGroup" in pod["spec"] for pod in case.workers()))
