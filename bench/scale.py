"""Runs one job of very many workers, from apply to the end of the last pod: scale.py WORKERS, in a cluster of one real node.

kwok sets the status of the workers to running. This program answers on their addresses as a worker's sshd answers probes, so the launcher,
which is real, finds all workers, runs its training, which is a script, and releases the workers. Prints a page with the time of each phase,
and with the requests to the API server and the DNS queries of the launcher in it; fails if an object, a limit or the result is wrong.
"""
import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "cluster"))
from case import Case, World, job, ready  # noqa: E402

A_NODE = 100
# The launcher's timeout in seconds; a small machine must have created all pods by then.
WAIT = max(300, int(sys.argv[1]) // 15)
# How long the training runs.
TRAINS = 30
LIMIT = 1 << 20
# The addresses of the simulated pods: each packet to them ends in this network namespace, whose bridge connects the nodes.
PODS = "10.110.0.1/16"


def log(*words):
    print(*words, file=sys.stderr, flush=True)


def answer(known):
    """Sends to each connection to a worker's address the greeting of that worker's sshd. The file has a line for each worker: ADDRESS GREETING."""
    greetings = {}
    server = socket.create_server(("0.0.0.0", 2222), backlog=4096)
    with open(known) as lines:
        while True:
            connection, _ = server.accept()
            address = connection.getsockname()[0]
            if address not in greetings:
                greetings.update(line.rstrip("\n").split(" ", 1) for line in lines)
            try:
                if address in greetings:
                    connection.sendall(greetings[address].encode() + b"\r\n")
                connection.close()
            except OSError:
                pass


def receive_packets(known):
    """Makes this network namespace receive the packets to all simulated pods, and count the DNS queries of real pods."""
    open(known, "w").close()
    network = PODS.replace("0.1/", "0.0/")
    subprocess.run(["ip", "route", "add", "local", network, "dev", "lo"], check=True)
    subprocess.run(["nft", "-f", "-"], check=True, text=True, input="""table ip queries {
        counter sent { }
        chain arrive { type filter hook input priority 0; ip saddr 10.101.0.0/16 udp dport 53 counter name sent; }
    }""")
    multiprocessing.get_context("fork").Process(target=answer, args=(known,), daemon=True).start()


def simulated_nodes(cluster, count):
    for number in range(count):
        name = f"simulated-{number}"
        cluster.call("POST", "/api/v1/nodes", {
            "metadata": {"name": name, "labels": {"khorovod.test/simulated": "yes"}},
            "spec": {"taints": [{"key": "khorovod.test/simulated", "effect": "NoSchedule"}]}})
        room = {"cpu": "200", "memory": "2Ti", "pods": str(A_NODE + 10), "nvidia.com/gpu": str(A_NODE)}
        cluster.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"capacity": room, "allocatable": room}},
                     "application/merge-patch+json")


def counts(cluster):
    """Counts until now: requests to the API server, those of service accounts, which only the launcher has, and DNS queries."""
    text = cluster.text("/metrics")
    every = sum(float(n) for n in re.findall(r"^apiserver_request_total\{.* (\S+)$", text, re.M))
    accounts = sum(float(n) for n in re.findall(
        r'^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="service-accounts".* (\S+)$', text, re.M))
    listed = subprocess.run(["nft", "-j", "list", "counter", "ip", "queries", "sent"], check=True, text=True, capture_output=True).stdout
    queries = next(each["counter"]["packets"] for each in json.loads(listed)["nftables"] if "counter" in each)
    return every, accounts, queries


def sizes(case):
    listed = json.loads(case.kubectl("get", "statefulset,job,configmap,secret,service,networkpolicy", "-o", "json").stdout)
    return {f"{thing['kind']} {thing['metadata']['name']}": len(json.dumps(thing)) for thing in listed["items"]}


def main(workers):
    known = f"{os.environ['STATE']}/workers"
    receive_packets(known)
    world = World()
    with open(f"{os.environ['STATE']}/log/kwok", "w") as output:
        kwok = subprocess.Popen([os.environ["KWOK"], "--kubeconfig", os.environ["KUBECONFIG"], "--config", os.environ["STAGES"],
                                 "--manage-nodes-with-label-selector", "khorovod.test/simulated=yes", "--cidr", PODS],
                                stdout=output, stderr=output)
    simulated_nodes(world.cluster, -(-workers // A_NODE))
    case = Case(world, "scale")
    # The world counts devices at every change of a pod, which is too slow with thousands of pods.
    world.cases.pop("scale")
    where = {"spec": {"template": {"spec": {
        "nodeSelector": {"khorovod.test/simulated": "yes"},
        "tolerations": [{"key": "khorovod.test/simulated", "operator": "Exists"}]}}}}
    text = case.render(job(spec={
        "command": ["bash", "-c", f"echo the training starts; sleep {TRAINS}"],
        "workers": {"replicas": workers, "gpus": 1, "cpu": "1", "memory": "1Gi"},
        "launcher": {"kind": "shell", "memory": "4Gi"}, "lifecycle": {"retries": 0, "startTimeout": f"{WAIT}s"},
        "patches": [{"target": {"kind": "StatefulSet"}, "patch": where}]}))
    time.sleep(5)
    phases, last = [], [time.time(), *counts(world.cluster)]

    def end(phase, moment=None):
        """Ends a phase at a moment, by default now. The launcher may see the last worker before this program does."""
        now = [max(moment or time.time(), last[0]), *counts(world.cluster)]
        phases.append((phase, *(new - old for new, old in zip(now, last))))
        last[:] = now
        log(f"{phases[-1][1]:.0f} s {phase}")

    case.apply(text)
    end("until `kubectl apply` returns")
    answering = set()

    def all_ready():
        with open(known, "a") as lines:
            for pod in case.workers():
                name, address = pod["metadata"]["name"], pod.get("status", {}).get("podIP")
                if name not in answering and address and ready(pod):
                    answering.add(name)
                    node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
                    lines.write(f"{address} SSH-2.0-OpenSSH_9.2 khorovod {name} none {address} {node} {uid[:8]}-{int(time.time())}\n")
        log(f"{len(answering)} workers are Ready")
        time.sleep(1)
        return len(answering) == workers
    case.until(f"{workers} Ready workers", all_ready, WAIT)
    end(f"until {workers:,} pods are Ready")
    largest = max(sizes(case).items(), key=lambda item: item[1])
    case.check(f"{largest} is larger than 1 MiB", largest[1] < LIMIT)

    def line(pattern, allowed, phase):
        """Ends a phase at a line of the launcher."""
        def look():
            time.sleep(0.5)
            return case.launcher() and re.search(pattern, case.log(), re.M)
        case.until(f"line /{pattern}/", look, allowed)
        end(phase, case.log_times(pattern)[0])
    line(rf"khorovod: {workers} of {workers} workers answer after", WAIT, "until all answer")
    line("^the training starts$", 60, "until the training starts")
    line(r"khorovod: trained$", TRAINS + 60, f"the training, which sleeps {TRAINS} s")
    line(r"khorovod: released the workers$", 120, "until the workers are scaled to 0")
    case.until("end of all workers", lambda: time.sleep(1) or not case.workers(), 600)
    end("until the last pod has ended")
    case.equal("the end", case.finished(60), "Complete")
    case.equal("the launcher's code", case.code(case.launcher()), 0)
    kwok.kill()
    rows = "\n".join(f"| {phase} | {took:.1f} | {accounts:.0f} | {queries:.0f} |" for phase, took, _, accounts, queries in phases)
    total = [sum(phase[i] for phase in phases) for i in range(1, 5)]

    print(f"""# {workers:,} workers on one API server

`bench/scale.sh {workers} >bench/scale.md`: Kubernetes {os.environ['KUBERNETES']} on {os.cpu_count()} CPUs; kwok simulates
{-(-workers // A_NODE)} nodes and their pods, and the bench answers the launcher's probes in their place. The launcher is real, with
`launcher: shell`: how ranks start is in [launch.md](launch.md). Controllers may send {os.environ['QPS']} requests per second.

| phase | seconds | requests of the launcher | DNS queries of the launcher |
|---|---|---|---|
{rows}
| all | {total[0]:.1f} | {total[2]:.0f} | {total[3]:.0f} |

| | |
|---|---|
| rendered text | {len(text) / 1024:,.0f} KiB |
| largest object | {largest[0].split()[0]}, {largest[1] / 1024:,.0f} KiB of 1,024 |
| requests of all clients, per worker | {total[1] / workers:.1f} |

A query asks for one address of one name: a look-up of IPv4 and IPv6 is two. The launcher stays at 0 queries as long as the API server lists all
addresses, which it does for up to 1,000.""")


main(int(sys.argv[1]))
