"""egress.py KHOROVOD FOLDER: enforces rendered NetworkPolicies with nftables in network namespaces, and connects from a pod of the job.

Prints each connection that is open but should be closed, and the reverse, and exits with 1 if there is one.
"""
import os
import subprocess
import sys

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from policy_rules import ruleset  # noqa: E402

# A pod of the job, another one of the job, and one of another namespace.
POD, OWN, PEER = "198.51.100.2", "198.51.100.4", "198.51.100.3"
POD6, OWN6, PEER6 = "2001:db8:1::2", "2001:db8:1::4", "2001:db8:2::2"
PORT = 8443
# The servers outside the cluster: the metadata services, private addresses, and public ones.
METADATA, PRIVATE, PUBLIC = "169.254.169.254", "172.20.5.5", "203.0.113.5"
METADATA6, PRIVATE6, PUBLIC6 = "fd00:ec2::254", "fd12::5", "2001:db8:99::5"
OUTSIDE = (METADATA, PRIVATE, PUBLIC, METADATA6, PRIVATE6, PUBLIC6)
JOB = {(OWN, PORT), (OWN6, PORT)}
PODS = JOB | {(PEER, PORT), (PEER6, PORT)}
DNS = {(server, 53) for server in OUTSIDE}
OPEN = {
    "open": PODS | DNS | {(server, PORT) for server in OUTSIDE},
    "noMetadata": PODS | DNS | {(server, PORT) for server in (PRIVATE, PUBLIC, PRIVATE6, PUBLIC6)},
    "private": PODS | DNS | {(PRIVATE, PORT), (PRIVATE6, PORT)},
    f"private, egressTo: [{{ipBlock: {{cidr: {PUBLIC}/32}}}}]": PODS | DNS | {(PRIVATE, PORT), (PRIVATE6, PORT), (PUBLIC, PORT)},
    "listed": JOB | DNS,
    f"listed, egressTo: [{{ipBlock: {{cidr: {PUBLIC}/32}}}}, {{namespaceSelector: {{}}}}]": PODS | DNS | {(PUBLIC, PORT)},
    'listed, egressTo: [{ipBlock: {cidr: 0.0.0.0/0, except: [169.254.169.254/32]}}]': JOB | DNS | {(PRIVATE, PORT), (PUBLIC, PORT), (PEER, PORT)},
}
SERVE = """
import socket, sys, threading
def serve(server):
    while True: server.accept()[0].close()
for port in sys.argv[1:]:
    server = socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
    threading.Thread(target=serve, args=[server]).start()
print("up", flush=True)
"""
CONNECT = """
import concurrent.futures, socket, sys
def connect(word):
    address, port = word.rsplit("/", 1)
    try: socket.create_connection((address, int(port)), 2).close()
    except OSError: return
    return word
with concurrent.futures.ThreadPoolExecutor(32) as pool: print(*filter(None, pool.map(connect, sys.argv[1:])))
"""


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def attach(name, addresses):
    """Creates a network namespace whose default routes lead to this one."""
    ip(f"netns add {name}")
    ip(f"link add v-{name} type veth peer name eth0 netns {name}")
    ip(f"link set v-{name} up")
    for words in ("link set lo up", "link set eth0 up"):
        ip(f"-n {name} {words}")
    for address in addresses:
        family, length = ("-6", 128) if ":" in address else ("-4", 32)
        gateway = "fe80::1" if family == "-6" else "169.254.1.1"
        ip(f"-n {name} addr add {address}/{length} dev eth0" + (" nodad" if family == "-6" else ""))
        ip(f"{family} route add {address}/{length} dev v-{name}")
        if subprocess.run(["ip", "-n", name, family, "route", "show", "default"], stdout=subprocess.PIPE, check=True).stdout:
            continue
        ip(f"addr add {gateway}/{length} dev v-{name}" + (" nodad" if family == "-6" else ""))
        ip(f"-n {name} {family} route add {gateway} dev eth0")
        ip(f"-n {name} {family} route add default via {gateway} dev eth0")


def serve(name, *ports):
    server = subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-c", SERVE, *map(str, ports)], stdout=subprocess.PIPE)
    server.stdout.readline()


def pod(name, namespace, addresses, labels):
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": {"containers": []},
            "status": {"phase": "Running", "podIPs": [{"ip": address} for address in addresses]}}


def main(program, folder):
    for path in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        with open(f"/proc/sys/net/{path}", "w", encoding="ascii") as file:
            file.write("1")
    attach("pod", [POD, POD6])
    attach("own", [OWN, OWN6])
    attach("peer", [PEER, PEER6])
    attach("world", OUTSIDE)
    serve("own", PORT)
    serve("peer", PORT)
    serve("world", 53, PORT)
    wrong = 0
    for value, wanted in OPEN.items():
        rendered = subprocess.run([program, "render", "-q", "--no-keys", "-n", "team-a", "--set", f"security={{egress: {value}}}", f"{folder}/job.yaml"],
                                  stdout=subprocess.PIPE, check=True).stdout
        policy = next(o for o in yaml.safe_load_all(rendered) if o and o["kind"] == "NetworkPolicy")
        labels = policy["spec"]["podSelector"]["matchLabels"]
        pods = [pod("pod", "team-a", [POD, POD6], labels), pod("own", "team-a", [OWN, OWN6], labels), pod("peer", "team-b", [PEER, PEER6], {})]
        for family in ("ip", "ip6"):
            subprocess.run(["nft", "-f", "-"], input=ruleset([policy], pods, family).encode(), check=True)
        every = sorted(f"{address}/{port}" for address, port in OPEN["open"])
        found = subprocess.run(["ip", "netns", "exec", "pod", sys.executable, "-c", CONNECT, *every], stdout=subprocess.PIPE, check=True)
        found, wanted = set(found.stdout.decode().split()), {f"{address}/{port}" for address, port in wanted}
        for word in sorted(found ^ wanted):
            print(f"egress {value}: {word} is {'open' if word in found else 'closed'}", file=sys.stderr)
            wrong = 1
    # The rules also close the pod to others, so the enforcement works in both directions.
    serve("pod", PORT)
    closed = subprocess.run(["ip", "netns", "exec", "peer", sys.executable, "-c", CONNECT, f"{POD}/{PORT}"], stdout=subprocess.PIPE, check=True)
    if closed.stdout.split():
        print("a pod of another namespace connects to the job", file=sys.stderr)
        wrong = 1
    os._exit(wrong)


main(*sys.argv[1:])
