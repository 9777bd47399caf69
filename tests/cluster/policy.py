#!/usr/bin/env python3
"""Enforces the cluster's NetworkPolicies: translates ingress rules into nftables on every node.

Exits on a rule that it does not support, which ends the tests: a rule must not appear to be enforced if it is not.
"""
import ctypes
import os
import sys
import threading

import api

STATE = os.environ["STATE"]
# The nftables names of the families of pod addresses.
FAMILIES = [{"4": "ip", "6": "ip6"}[family] for family in os.environ["FAMILIES"].split()]


def chosen(selector, labels):
    unknown = set(selector) - {"matchLabels"}
    if unknown:
        raise SystemExit(f"a selector has {unknown}, which policy.py does not support")
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def address(pod, family):
    if pod["spec"].get("hostNetwork"):
        return None
    return next((a["ip"] for a in pod.get("status", {}).get("podIPs", []) if (":" in a["ip"]) == (family == "ip6")), None)


def ports(rule, pod):
    """The nftables matches for a rule's ports."""
    if not rule.get("ports"):
        return [""]
    named = {p.get("name"): p["containerPort"] for c in pod["spec"]["containers"] for p in c.get("ports", [])}
    return [f"{p.get('protocol', 'TCP').lower()} dport {named.get(p['port'], p['port'])} " for p in rule["ports"]]


def sources(rule, namespace, pods, family):
    """The nftables matches for a rule's sources."""
    if "from" not in rule:
        return [""]
    found = set()
    for peer in rule["from"]:
        if set(peer) != {"podSelector"}:
            raise SystemExit(f"a policy lets in {peer}, which policy.py does not support")
        found |= {address(p, family) for p in pods if p["metadata"]["namespace"] == namespace
                  and chosen(peer["podSelector"], p["metadata"].get("labels", {}))}
    found.discard(None)
    return [f"{family} saddr {{ {', '.join(sorted(found))} }} "] if found else []


def ruleset(policies, pods, family):
    pods = [p for p in pods if address(p, family) and p.get("status", {}).get("phase") in ("Pending", "Running")]
    # Pods of the same job usually have the same rules.
    chains, jumps = {}, []
    for pod in sorted(pods, key=lambda p: address(p, family)):
        namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels", {})
        mine = [p["spec"] for p in policies
                if p["metadata"]["namespace"] == namespace and chosen(p["spec"]["podSelector"], labels)]
        if not mine:
            continue
        if any("Egress" in p.get("policyTypes", []) for p in mine):
            raise SystemExit("a policy limits egress, which policy.py does not support")
        rules = "; ".join([f"{source}{port}accept" for p in mine for rule in p.get("ingress", [])
                           for source in sources(rule, namespace, pods, family) for port in ports(rule, pod)] + ["drop"])
        jumps.append(f"{address(pod, family)} : jump {chains.setdefault(rules, f'pods-{len(chains)}')}")
    verdict = f"{family} daddr vmap {{ {', '.join(jumps)} }};" if jumps else ""
    return (f"table {family} policies {{ }}\ndelete table {family} policies\ntable {family} policies {{\n" +
            "\n".join(f"chain {chain} {{ {rules}; }}" for rules, chain in chains.items()) +
            "\nchain pods { type filter hook forward priority 0; ct state established,related accept; "
            + verdict + " }\n}\n")


class Node:
    """A node's nftables, through the library, because one process per change would use too much CPU time."""
    library = ctypes.CDLL("libnftables.so.1")
    library.nft_ctx_new.restype = ctypes.c_void_p
    library.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)

    def __init__(self, name):
        with open(f"{STATE}/nodes/{name}.pid") as pid:
            self.inside = f"/proc/{pid.read().strip()}"
        self.name, self.network = name, os.open(f"{self.inside}/ns/net", os.O_RDONLY)
        self.enter(self.network)
        self.rules = ctypes.c_void_p(self.library.nft_ctx_new(0))
        self.enter(self.home)

    def enter(self, network):
        if self.libc.setns(network, 0):
            raise OSError(ctypes.get_errno(), "no way into a network")

    def hold(self, wanted):
        self.enter(self.network)
        failed = self.library.nft_run_cmd_from_buffer(self.rules, wanted.encode())
        self.enter(self.home)
        if failed and os.path.exists(self.inside):
            sys.exit(f"node {self.name} does not take the rules")


def main():
    changed = threading.Event()
    cluster = api.Cluster()

    def seen(*_):
        changed.set()
    pods = cluster.watch("/api/v1/pods", seen=seen)
    policies = cluster.watch("/apis/networking.k8s.io/v1/networkpolicies", seen=seen)
    nodes = [Node(f.removesuffix(".here")) for f in os.listdir(f"{STATE}/nodes") if f.endswith(".here")]
    held = None
    while pods.alive() and policies.alive():
        changed.wait(1)
        changed.clear()
        wanted = "".join(ruleset(policies.all(), pods.all(), family) for family in FAMILIES)
        if wanted != held:
            for node in nodes:
                node.hold(wanted)
            held = wanted
    sys.exit("a watch ended")


main()
