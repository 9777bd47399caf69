"""Nodes that end, and nodes that cannot be reached. Kubernetes marks them NotReady after 50 seconds and deletes their pods 300
seconds later. No test taints them, as an administrator could."""
import re
import time

import outages
from case import IS_OLD, Failed, devices, job, label, merge, play, ready
from other_mpi import claim, fields_of_mpi
from ranks import Ranks, with_program

# Workers run on nodes of their own, and one of them, or the launcher, on the node that the test ends.
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
    "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "worker"}}}]}}


def on_nodes(numbers):
    """The spec field that makes all workers of a StatefulSet run on nodes that only the test uses, each on its own."""
    names = [f"node-{number}" for number in numbers]
    pod = merge({"affinity": APART}, {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": names}]}]}}},
        "tolerations": [{"key": "khorovod.test/doomed", "value": name, "effect": "NoSchedule"} for name in names]})
    return {"patches": [{"target": {"kind": "StatefulSet"}, "patch": {"spec": {"template": {"spec": pod}}}}]}


def on_node(number, kind, apart=False):
    """The spec field that makes one pod of a StatefulSet or Job run on a node, or one pod on each of several. With `apart`, all workers
    of a Job run on nodes of their own, as those of a StatefulSet do. The objects of a Job also need `tolerating`."""
    names = [f"node-{n}" for n in ([number] if isinstance(number, int) else number)]
    pod = {"affinity": {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {
            "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": names}]}}]}}}
    if kind == "StatefulSet":
        pod["tolerations"] = [{"key": "khorovod.test/doomed", "value": name, "effect": "NoSchedule"} for name in names]
    if kind == "StatefulSet" or apart:
        pod = merge(pod, {"affinity": APART})
    return {"patches": [{"target": {"kind": kind}, "patch": {"spec": {"template": {"spec": pod}}}}]}


def tolerating(number, text):
    """The objects with one more toleration in the Job, or one for each of several nodes. A patch would replace those that khorovod
    renders."""
    place, more = r"(\n( *)tolerations:\n)(?= *- key: node.kubernetes.io)", ""
    if IS_OLD:
        # That version renders no tolerations. Only the pods of a Job have this policy.
        place, more = r"(\n( *)restartPolicy: Never\n)", r"\2tolerations:\n"
    more = rf"\1{more}"
    for n in [number] if isinstance(number, int) else number:
        more += rf'\2- key: khorovod.test/doomed\n\2  value: "node-{n}"\n\2  effect: NoSchedule\n'
    changed, count = re.subn(place, more, text)
    if count != 1:
        raise Failed(f"{count} Jobs with tolerations")
    return changed


def victim_on(case, number, component):
    found = [p for p in case.pods(component) if p["spec"].get("nodeName") == f"node-{number}"]
    case.equal(f"the {component}s on node {number}", len(found), 1)
    return found[0]


def kill_node(case, number):
    """Ends a node; returns the time."""
    began = time.time()
    outages.kill_node(number)
    return began


def freed_on_other_nodes(case, number, allowed):
    """Waits until no device of another node than this one is in use. The scheduler counts those of the dead node until
    its pods or the node are deleted."""
    case.until("freed devices on living nodes", lambda: not sum(
        devices(p) for p in case.pods() if p["spec"].get("nodeName") != f"node-{number}"), allowed)


def sum_is_printed(case):
    case.check("the ranks' sum", re.search(r"sum (of 2 ranks: )?1\b", case.log()))


def node_of_worker_fails(case, numbers, place, fields, launcher=None):
    """Ends one of the nodes with these numbers, on which a rank runs. `launcher` are the fields of another launcher than mpirun."""
    ranks = Ranks(case)
    case.apply(case.render_new(job(spec=with_launcher(ranks.spec(place), launcher)), fields))
    hosts = {event.host for event in ranks.until_started(0, 120)}
    # With a spare, if khorovod has this field.
    wanted = case.get("apps/v1", "statefulsets", case.workers()[0]["metadata"]["ownerReferences"][0]["name"])["spec"]["replicas"]
    case.until("ready workers", lambda: len(case.workers()) == wanted and all(map(ready, case.workers())), 60)
    places = {int(p["spec"]["nodeName"].removeprefix("node-")): p["metadata"]["name"] for p in case.workers()}
    number = next((n for n in numbers if places.get(n) in hosts), None)
    case.check("no rank on a node that the test may end", number)
    victim = places[number]
    case.lent_nodes += [n for n in numbers if n != number]
    died = kill_node(case, number)
    starts = ranks.until_started(died, 120)
    took = max(event.time for event in starts) - died
    case.check(f"the dead {victim} is in use", victim not in {event.host for event in starts})
    detected = min((t for t in case.log_times("lost worker") if t > died), default=None)
    launched = min((t for t in case.log_times("launching: ") if t > died), default=None)
    case.check("a line 'lost worker'", detected)
    case.notes.append(f"detected after {detected - died:.1f} s, launched {launched - detected:.1f} s later, ranks run after {took:.1f} s")
    ranks.end()
    case.equal("the end", case.finished(60), "Complete")
    sum_is_printed(case)
    freed_on_other_nodes(case, number, 15)
    case.check(f"ranks run {took:.1f} s after the death of the node, allowed are 60 s", took <= 60)
    return launched - detected


def with_launcher(spec, launcher):
    """A spec with the fields of another launcher, whose volumes are added."""
    both = merge(spec, launcher or {})
    return both | {"storage": spec["storage"] + (launcher or {}).get("storage", [])}


@play(waits=True)
def node_of_worker_fails_without_spare(case):
    """The launcher starts a worker with a higher index on another node, and the ranks run again within a minute."""
    number = case.take_node()
    node_of_worker_fails(case, [number], on_node(number, "StatefulSet"), {})


@play(waits=True)
def node_of_worker_fails_with_spare(case):
    """A spare worker replaces the lost one within ten seconds."""
    # A spare must not be on the only node that may end.
    numbers = [case.take_node() for _ in range(3)]
    took = node_of_worker_fails(case, numbers, on_nodes(numbers), {"workers": {"spares": 1}})
    case.check(f"launched {took:.1f} s after the detection, allowed are 10 s", took <= 10)


def succeeded(case, allowed):
    """Waits until the Job has succeeded. It is not Complete as long as the pod on the dead node is terminating."""
    case.until("success of the job", lambda: any(
        c["type"] in ("SuccessCriteriaMet", "Complete") for j in case.jobs() for c in j.get("status", {}).get("conditions", [])), allowed)


@play(waits=True)
def node_of_launcher_fails(case):
    """The node is NotReady after 50 s and the launcher tolerates that for 30 s; then another launcher continues."""
    number, ranks = case.take_node(), Ranks(case)
    case.apply(tolerating(number, case.render(job(spec=ranks.spec(on_node(number, "Job"))))))
    ranks.until_running(1, 120)
    victim = victim_on(case, number, "launcher")
    workers = {p["metadata"]["uid"] for p in case.workers()}
    died = kill_node(case, number)
    case.until("another launcher", lambda: case.launcher()["metadata"]["uid"] != victim["metadata"]["uid"], 120)
    case.notes.append(f"another launcher after {time.time() - died:.0f} s")
    starts = ranks.until_running(2, 90)
    case.notes.append(f"ranks run after {max(event.time for event in starts) - died:.0f} s")
    if {p["metadata"]["uid"] for p in case.workers()} == workers:
        case.notes.append("on the same workers")
    ranks.end()
    succeeded(case, 60)
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    case.until("freed devices", case.freed, 15)


@play(waits=True)
def node_of_indexed_job_fails(case):
    """The Job shape, in which Kubernetes replaces the pod: the node is NotReady after 50 s and pods tolerate that for 30 s. The Service
    still lists the address of the dead pod, under the name of the new one. The victim may be the pod that launches."""
    number, ranks = case.take_node(), Ranks(case)
    spec = merge(on_node(number, "Job", apart=True), {"launcher": {"kind": "mpirun", "runsIn": "firstWorker"}})
    case.apply(tolerating(number, case.render(job(spec=ranks.spec(spec)))))
    ranks.until_running(1, 120)
    victim = victim_on(case, number, "worker")
    died = kill_node(case, number)
    starts = ranks.until_running(2, 240)
    took = max(event.time for event in starts) - died
    case.notes.append(f"index {label(victim, 'batch.kubernetes.io/job-completion-index')} was lost; ranks run after {took:.0f} s")
    ranks.end()
    succeeded(case, 60)
    case.check("the ranks' sum", "sum of 2 ranks: 1" in case.log())
    freed_on_other_nodes(case, number, 15)
    case.check(f"ranks run {took:.0f} s after the death of the node, allowed are 180 s", took <= 180)


GLOO = merge(with_program("horovod_sum.py"), {"launcher": {"kind": "horovodrun", "args": ["--gloo"]}})
SHELL = {"launcher": {"kind": "shell"}, "command": "mpirun -np 2 --bind-to none python3 /programs/record.py /programs/sum.py"}
TORCHRUN = merge(with_program("torch_sum.py"), {"launcher": {"kind": "torchrun"}})
# The first of the two workers may continue alone.
ELASTIC = merge(TORCHRUN, {"workers": {"elastic": {"minReplicas": 1, "maxReplicas": 2}}})


@play(waits=True)
def node_of_worker_fails_horovodrun(case):
    number = case.take_node()
    node_of_worker_fails(case, [number], on_node(number, "StatefulSet"), {}, GLOO)


@play(waits=True)
def node_of_worker_fails_shell(case):
    number = case.take_node()
    node_of_worker_fails(case, [number], on_node(number, "StatefulSet"), {}, SHELL)


@play(waits=True)
def node_of_worker_fails_mpich(case):
    number = case.take_node()
    claim(case, "mpich")
    node_of_worker_fails(case, [number], on_node(number, "StatefulSet"), {}, merge(fields_of_mpi("mpich"), {"launcher": {"mpi": "mpich"}}))


@play(waits=True)
def node_of_worker_fails_horovodrun_elastic(case):
    """One more worker takes the place of the lost one, and the training continues from its last commit."""
    number = case.take_node()
    fields = merge(with_program("elastic.py"), {
        "command": ["python3", "/programs/elastic.py"], "env": {"STEPS": "100000"}, "launcher": {"kind": "horovodrun"},
        "workers": {"elastic": {"minReplicas": 2, "maxReplicas": 2, "cooldown": {"min": "1s", "max": "2s"}}}})
    case.apply(case.render(job(spec=merge(on_node(number, "StatefulSet"), fields))))
    case.wait_for_line("from step 0: rank 1 of 2", 180)
    victim = victim_on(case, number, "worker")["metadata"]["name"].rsplit("-", 2)[1:]
    time.sleep(10)
    died = kill_node(case, number)
    case.wait_for_line(r"from step [1-9]\d*: rank \d of 2 on worker-2", 240)
    lines = re.findall(r"from step ([1-9]\d*): rank \d of 2 on (\S+)", case.log())
    case.check(f"the lost {'-'.join(victim)} is in use", all(host != "-".join(victim) for _, host in lines))
    took = max(case.log_times("from step [1-9]")) - died
    case.notes.append(f"ranks run after {took:.0f} s")
    case.delete("sum")
    freed_on_other_nodes(case, number, 60)
    case.check(f"ranks run {took:.0f} s after the death of the node, allowed are 120 s", took <= 120)


def node_of_agent_fails(case, index, fields):
    """Ends the node of the agent with an index. Kubernetes starts another one as in every Indexed Job, and the others wait for it."""
    numbers, ranks = [case.take_node(), case.take_node()], Ranks(case)
    # Nodes announce their devices late.
    case.until("devices of the nodes", lambda: all("nvidia.com/gpu" in case.cluster.get(f"/api/v1/nodes/node-{n}")["status"].get(
        "allocatable", {}) for n in numbers), 60)
    spec = with_launcher(ranks.spec(on_node(numbers, "Job", apart=True)), fields)
    case.apply(tolerating(numbers, case.render(job(spec=spec))))
    # PyTorch takes a while to start.
    ranks.until_started(0, 180)
    pods = {label(p, "batch.kubernetes.io/job-completion-index"): int(p["spec"]["nodeName"].removeprefix("node-")) for p in case.workers()}
    number = pods[index]
    case.equal("the nodes of the agents", sorted(pods.values()), sorted(numbers))
    case.lent_nodes += [n for n in numbers if n != number]
    time.sleep(5)
    died = kill_node(case, number)
    took = max(event.time for event in ranks.until_started(died, 240)) - died
    case.notes.append(f"ranks run after {took:.0f} s")
    ranks.end()
    succeeded(case, 90)
    sum_is_printed(case)
    freed_on_other_nodes(case, number, 15)
    case.check(f"ranks run {took:.0f} s after the death of the node, allowed are 180 s", took <= 180)


@play(waits=True)
def node_of_agent_fails_torchrun(case):
    node_of_agent_fails(case, "1", TORCHRUN)


@play(waits=True)
def node_of_first_agent_fails_torchrun(case):
    node_of_agent_fails(case, "0", TORCHRUN)


@play(waits=True)
def node_of_agent_fails_torchrun_elastic(case):
    node_of_agent_fails(case, "1", ELASTIC)


@play(waits=True)
def node_of_first_agent_fails_torchrun_elastic(case):
    node_of_agent_fails(case, "0", ELASTIC)


@play(waits=True)
def kubelet_killed(case):
    """A node stops answering while its containers continue: the training continues, and the devices are free when the node is
    back."""
    number, ranks = case.take_node(back=True), Ranks(case)
    case.apply(case.render(job(spec=ranks.spec(on_node(number, "StatefulSet")))))
    ranks.until_running(1, 120)
    victim_on(case, number, "worker")
    with outages.kubelet_away(number):
        case.until("NotReady node", lambda: not is_ready(case, number), 90)
        time.sleep(10)
        case.equal("launches", len(ranks.launches()), 1)
        ranks.end()
        case.wait_for_line("sum of 2 ranks: 1", 30)
        case.wait_for_line("released the workers", 20)
    case.equal("the end", case.finished(30), "Complete")
    case.until("freed devices", case.freed, 90)


@play(waits=True)
def node_of_worker_comes_back(case):
    """The node of a worker cannot be reached until it is NotReady, and another worker replaces this one. When the node is back, its
    ranks end, the training continues with the replacement, and the devices are free after the end."""
    number, ranks = case.take_node(back=True), Ranks(case)
    case.apply(case.render(job(spec=ranks.spec(on_node(number, "StatefulSet")))))
    ranks.until_running(1, 120)
    victim = victim_on(case, number, "worker")["metadata"]["name"]
    with outages.node_unreachable(number):
        ranks.until_running(2, 120)
        case.until("NotReady node", lambda: not is_ready(case, number), 90)
    back = time.time()
    case.until("Ready node", lambda: is_ready(case, number), 60)
    case.until("end of the old ranks", lambda: ranks.last_beat(ranks.launches()[0][0].launch) < time.time() - 5, 60)
    case.notes.append(f"the old ranks end {ranks.last_beat(ranks.launches()[0][0].launch) - back:.0f} s after the network is back; "
                      f"{victim} {'runs' if victim in [p['metadata']['name'] for p in case.workers()] else 'is gone'}")
    case.equal("launches", len(ranks.launches()), 2)
    ranks.end()
    case.equal("the end", case.finished(60), "Complete")
    sum_is_printed(case)
    case.freed_after(case.ranks_end(), 60, settle=90)


def is_ready(case, number):
    conditions = case.cluster.get(f"/api/v1/nodes/node-{number}")["status"]["conditions"]
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


@play(waits=True)
def network_of_launcher_lost(case):
    """The node of the launcher cannot be reached for 40 s, as when a switch restarts: the ranks continue. After 50 s, Kubernetes would
    mark the node NotReady, and start another launcher. The case `outlasts_outages` of tests/runtime lasts longer."""
    number, ranks = case.take_node(back=True), Ranks(case)
    case.apply(tolerating(number, case.render(job(spec=ranks.spec(on_node(number, "Job"))))))
    ranks.until_running(1, 120)
    victim_on(case, number, "launcher")
    time.sleep(5)
    with outages.node_unreachable(number):
        time.sleep(40)
    time.sleep(30)
    ranks.end()
    case.equal("the end", case.finished(60), "Complete")
    case.equal("launches", len(ranks.launches()), 1)
    case.until("freed devices", case.freed, 30)
