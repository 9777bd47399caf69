"""Two faults in one run, in both shapes: the run continues if it can, and otherwise the devices on living nodes are free. If the API
server was away, times count from the moment at which it answers again."""
import http.client
import os
import signal
import time

import outages
from case import SHAPES, Play, job, merge, play, ready, seconds
from evictions import started
from faults import first_process
from lost_nodes import freed_on_other_nodes, kill_node, on_node, on_nodes, succeeded, sum_is_printed, tolerating
from ranks import Ranks

MPIRUN = {"launcher": {"kind": "mpirun"}}


def until_answers(case):
    """Waits until the API server answers; returns the time."""
    def answers():
        try:
            return case.cluster.text("/readyz")
        except (OSError, http.client.HTTPException):
            return None
    case.until("answer of the API server", answers, 60)
    return time.time()


def launcher_killed_without_api_server(case, shape):
    """The API server is away for 90 s, and the launcher is killed in this time."""
    ranks = started(case, merge(MPIRUN, shape))
    victim = case.launcher()
    process = first_process(victim)
    with outages.api_away():
        time.sleep(30)
        os.kill(process, signal.SIGKILL)
        killed = time.time()
        time.sleep(60)
    back = until_answers(case)
    took = max(e.time for e in ranks.until_started(killed, 180)) - back
    created = seconds(case.launcher()["metadata"]["creationTimestamp"]) - back
    case.notes.append(f"another launching pod was created {created:.0f} s after the API server answers, and ranks run after {took:.0f} s")
    ranks.end()
    case.equal("the end", case.finished(90), "Complete")
    sum_is_printed(case)
    case.until("freed devices", case.freed, 60)
    case.check(f"ranks run {took:.0f} s after the API server answers, allowed are 180 s", took <= 180)


def two_nodes_fail(case, shape):
    """The nodes of the launcher and of a worker fail at the same moment; in an Indexed Job, those of two workers, one of which launches."""
    numbers, ranks = [case.take_node(), case.take_node()], Ranks(case, 2 if not shape else 3)
    fields = merge(MPIRUN, shape)
    if shape:
        fields = merge(fields, {"workers": {"replicas": 3}} | on_node(numbers, "Job", apart=True))
    else:
        both = on_node(numbers[0], "StatefulSet")["patches"] + on_node(numbers[1], "Job")["patches"]
        fields = merge(fields, {"patches": both})
    case.apply(tolerating(numbers if shape else numbers[1], case.render(job(spec=ranks.spec(fields)))))
    ranks.until_started(0, 120)
    time.sleep(5)
    lost = [p for p in case.pods() if p["spec"].get("nodeName") in [f"node-{n}" for n in numbers]]
    case.equal("pods on the nodes", len(lost), 2)
    case.notes.append("lost " + " and ".join(sorted(p["metadata"]["name"] for p in lost)))
    died = time.time()
    for number in numbers:
        kill_node(case, number)
    took = max(e.time for e in ranks.until_started(died, 300)) - died
    case.notes.append(f"ranks run {took:.0f} s after the nodes failed")
    ranks.end()
    succeeded(case, 90)
    case.check("the ranks' sum", f"sum of {ranks.size} ranks: " in case.log())
    case.until("freed devices on living nodes", lambda: not [
        p for p in case.pods() if case.held.get(p["metadata"]["uid"]) and p["spec"].get("nodeName") not in [f"node-{n}" for n in numbers]], 15)
    case.check(f"ranks run {took:.0f} s after the nodes failed, allowed are 180 s", took <= 180)


def deadline_passes_after_node_failed(case, shape):
    """The node of the launching pod fails, and the deadline passes before another launcher can start."""
    # The pods of an Indexed Job are equal: one of its two pods is on each node.
    numbers = [case.take_node() for _ in ("launcher", "worker")[:1 + bool(shape)]]
    spec = merge(merge(MPIRUN, shape), on_node(numbers, "Job", apart=bool(shape)))
    ranks = started(case, merge(spec, {"lifecycle": {"deadline": "60s"}}), number=numbers)
    number = int(case.launcher()["spec"]["nodeName"].removeprefix("node-"))
    case.check(f"the launcher is on node {number}", number in numbers)
    case.lent_nodes += [n for n in numbers if n != number]
    died = kill_node(case, number)
    freed_on_other_nodes(case, number, 200)
    took = time.time() - died
    case.notes.append(f"devices on living nodes free {took:.0f} s after the node failed")
    case.until("failure of the job", lambda: any(
        c["type"] in ("FailureTarget", "Failed") for j in case.jobs() for c in j.get("status", {}).get("conditions", [])), 60)
    case.equal("launches", len(ranks.launches()), 1)
    case.check(f"devices on living nodes free {took:.0f} s after the node failed, allowed are 150 s", took <= 150)


def node_fails_without_api_server(case, shape):
    """The API server is away for 90 s, and the node of a worker fails in this time; in an Indexed Job, that of a pod that does not launch."""
    # The pods of an Indexed Job are equal: one of its two pods is on each node.
    numbers = [case.take_node() for _ in ("worker", "launcher")[:1 + bool(shape)]]
    place = on_node(numbers, "Job", apart=True) if shape else on_node(numbers[0], "StatefulSet")
    ranks = started(case, merge(merge(MPIRUN, shape), place), number=shape and numbers)
    first, number = case.launcher()["spec"]["nodeName"], numbers[0]
    if first == f"node-{number}":
        number = numbers[1]
    case.lent_nodes += [n for n in numbers if n != number]
    with outages.api_away():
        time.sleep(30)
        died = kill_node(case, number)
        time.sleep(60)
    back = until_answers(case)
    took = max(e.time for e in ranks.until_started(died, 240)) - back
    case.notes.append(f"ranks run {took:.0f} s after the API server answers")
    ranks.end()
    succeeded(case, 90)
    sum_is_printed(case)
    freed_on_other_nodes(case, number, 60)
    case.check(f"ranks run {took:.0f} s after the API server answers, allowed are 180 s", took <= 180)


def launcher_and_worker_killed(case, shape):
    """The launcher and a worker are killed at the same moment; in an Indexed Job, both pods."""
    ranks = started(case, merge(MPIRUN, shape))
    victims = [case.launcher(), next(p for p in case.workers() if p["metadata"]["uid"] != case.launcher()["metadata"]["uid"])]
    processes = [first_process(victim) for victim in victims]
    killed = time.time()
    for process in processes:
        os.kill(process, signal.SIGKILL)
    took = max(e.time for e in ranks.until_started(killed, 120)) - killed
    case.notes.append(f"ranks run {took:.0f} s after both were killed")
    ranks.end()
    case.equal("the end", case.finished(90), "Complete")
    sum_is_printed(case)
    case.until("freed devices", case.freed, 30)
    case.check(f"ranks run {took:.0f} s after both were killed, allowed are 60 s", took <= 60)


@play(waits=True)
def nodes_of_worker_and_spare_fail(case):
    """The nodes of a worker and of the only spare fail at the same moment: one more worker starts on another node."""
    numbers, ranks = [case.take_node() for _ in range(4)], Ranks(case)
    case.apply(case.render_new(job(spec=ranks.spec(on_nodes(numbers))), {"workers": {"spares": 1}}))
    hosts = {event.host for event in ranks.until_started(0, 120)}
    case.until("ready workers", lambda: len(case.workers()) == 3 and all(map(ready, case.workers())), 60)
    places = {p["metadata"]["name"]: int(p["spec"]["nodeName"].removeprefix("node-")) for p in case.workers()}
    dead = [next(places[name] for name in places if (name in hosts) == is_host) for is_host in (True, False)]
    case.lent_nodes += [n for n in numbers if n not in dead]
    died = time.time()
    for number in dead:
        kill_node(case, number)
    starts = ranks.until_started(died, 180)
    took = max(e.time for e in starts) - died
    case.check("a dead worker is in use", not [e.host for e in starts if places.get(e.host) in dead])
    case.notes.append(f"ranks run {took:.0f} s after the nodes failed")
    ranks.end()
    case.equal("the end", case.finished(90), "Complete")
    sum_is_printed(case)
    case.until("freed devices on living nodes", lambda: not [p for p in case.pods() if case.held.get(
        p["metadata"]["uid"]) and p["spec"].get("nodeName") not in [f"node-{n}" for n in dead]], 15)
    case.check(f"ranks run {took:.0f} s after the nodes failed, allowed are 90 s", took <= 90)


def plays():
    found = []
    alone, waits = {"alone": True, "long": True}, {"waits": True}
    for act, how in ((launcher_killed_without_api_server, alone), (node_fails_without_api_server, alone), (two_nodes_fail, waits),
                     (deadline_passes_after_node_failed, waits), (launcher_and_worker_killed, waits)):
        for name, shape in SHAPES.items():
            found.append(Play(f"{act.__name__.replace('_', '-')}-{name}", lambda case, act=act, shape=shape: act(case, shape), **how))
    return found
