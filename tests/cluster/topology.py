"""The order of ranks by the topology: labels of nodes, read with the ClusterRole of the job, and labels of pods."""
from case import MINOR, job, owner, play

LEVEL = "example.com/rack"
APART = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": {
    "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "worker"}}}}]}}


def in_order(case, levels, *words):
    """Runs a job on three nodes, and checks that the hostfile lists the racks of its workers in order. Returns the objects."""
    # The nodes that have no taint. Their racks are not in the order of their names.
    racks = {"node-1": "r10", "node-2": "r2", "node-3": "r9"}
    for node, rack in racks.items():
        case.cluster.call("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {
            LEVEL: rack, "topology.kubernetes.io/zone": "zone-" + rack}}}, "application/merge-patch+json")
    # They need no devices, which nodes announce late.
    spec = {"workers": {"replicas": 3, "gpus": 0}, "placement": {"topology": {"rankOrder": levels}},
            "patches": [{"target": {"kind": "StatefulSet"}, "patch": {"spec": {"template": {"spec": {"affinity": APART}}}}}]}
    text = case.render(job(seconds=8, spec=spec), words=words)
    case.apply(text)
    case.wait_for_line("launching: ", 90)
    hosts = case.execute(case.launcher()["metadata"]["name"], "cat /horovod/generated/hostfile").stdout.split("\n")[:-1]
    place = {pod["metadata"]["name"]: racks[pod["spec"]["nodeName"]] for pod in case.pods() if owner(pod) == "worker"}
    found = [place[line.split(".")[0]] for line in hosts]
    case.notes.append(f"{len(hosts)} hosts in the racks {' '.join(found)}")
    case.equal("the racks of the hosts", found, sorted(found, key=lambda rack: int(rack[1:])))
    case.check("the workers are on several nodes", len(set(found)) > 1)
    case.equal("the end", case.finished(90), "Complete")
    return text


@play()
def rank_order_by_racks(case):
    text = in_order(case, [LEVEL])
    name = f"khorovod-{case.namespace}-sum"
    case.check("a ClusterRole", f"name: {name}\n" in text)
    # As `khorovod plan` prints it.
    selector = f"khorovod.dev/job=sum,khorovod.dev/namespace={case.namespace}"
    said = case.kubectl("delete", "-l", selector, "clusterrole,clusterrolebinding").stdout
    case.equal("objects outside of namespaces", said.count(f'"{name}" deleted'), 2)


@play()
def rank_order_by_zones(case):
    if MINOR < 35:
        case.notes.append("left out: pods have no label of their zone before Kubernetes 1.35")
        return
    in_order(case, ["zone"])
