#!/usr/bin/env python3
"""Holds the cluster's NetworkPolicies: translates ingress rules into nftables on the node of each pod.

What it does not understand makes it stop, and the cluster's tests with it: a rule must not seem to hold. It calls nftables'
library: a program for each node and change took as much of the processors as a small job's start.
"""
import ctypes
import os
import re
import sys
import time

import api

STATE = os.environ["STATE"]
# How nftables calls the families of the pods' addresses.
FAMILIES = [{"4": "ip", "6": "ip6"}[family] for family in os.environ["FAMILIES"].split()]


def chosen(selector, labels):
    unknown = set(selector) - {"matchLabels"}
    if unknown:
        raise SystemExit(f"a selector has {unknown}, which policy.py does not know")
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def address(pod, family):
    if pod["spec"].get("hostNetwork"):
        return None
    return next((a["ip"] for a in pod.get("status", {}).get("podIPs", []) if (":" in a["ip"]) == (family == "ip6")), None)


def ports(rule, pod):
    """nftables matches of a rule's ports."""
    if not rule.get("ports"):
        return [""]
    named = {p.get("name"): p["containerPort"] for c in pod["spec"]["containers"] for p in c.get("ports", [])}
    return [f"{p.get('protocol', 'TCP').lower()} dport {named.get(p['port'], p['port'])} " for p in rule["ports"]]


def sources(rule, namespace, pods, family):
    """nftables matches of where a rule lets traffic come from."""
    if "from" not in rule:
        return [""]
    found = set()
    for peer in rule["from"]:
        if set(peer) != {"podSelector"}:
            raise SystemExit(f"a policy lets in {peer}, which policy.py does not know")
        found |= {address(p, family) for p in pods if p["metadata"]["namespace"] == namespace
                  and chosen(peer["podSelector"], p["metadata"].get("labels", {}))}
    found.discard(None)
    return [f"{family} saddr {{ {', '.join(sorted(found))} }} "] if found else []


def ruleset(node, policies, pods, family):
    """What holds the policies of the pods on a node, in a text for nftables."""
    pods = [p for p in pods if address(p, family) and p.get("status", {}).get("phase") in ("Pending", "Running")]
    chains, jumps = [], []
    for pod in sorted((p for p in pods if p["spec"].get("nodeName") == node), key=lambda p: address(p, family)):
        namespace, labels, here = pod["metadata"]["namespace"], pod["metadata"].get("labels", {}), address(pod, family)
        mine = [p["spec"] for p in policies
                if p["metadata"]["namespace"] == namespace and chosen(p["spec"]["podSelector"], labels)]
        if not mine:
            continue
        if any("Egress" in p.get("policyTypes", []) for p in mine):
            raise SystemExit("a policy limits egress, which policy.py does not know")
        rules = [f"{source}{port}accept" for p in mine for rule in p.get("ingress", [])
                 for source in sources(rule, namespace, pods, family) for port in ports(rule, pod)]
        chain = "pod-" + re.sub("[.:]", "-", here)
        chains.append(f"chain {chain} {{ {'; '.join(rules + ['drop'])}; }}")
        jumps.append(f"{here} : jump {chain}")
    verdict = f"{family} daddr vmap {{ {', '.join(jumps)} }};" if jumps else ""
    return (f"table {family} policies {{ }}\ndelete table {family} policies\ntable {family} policies {{\n" + "\n".join(chains) +
            "\nchain pods { type filter hook forward priority 0; ct state established,related accept; "
            + verdict + " }\n}\n")


class Node:
    """A node's nftables."""
    library = ctypes.CDLL("libnftables.so.1")
    library.nft_ctx_new.restype = ctypes.c_void_p
    here = os.open("/proc/self/ns/net", os.O_RDONLY)

    def __init__(self, name):
        self.name, self.held = name, None
        with open(f"{STATE}/nodes/{name}.pid") as file:
            self.process = f"/proc/{file.read().strip()}"
        self.network = os.open(f"{self.process}/ns/net", os.O_RDONLY)
        self.context = ctypes.c_void_p(self.within(lambda: self.library.nft_ctx_new(0)))

    def within(self, act):
        """Does something in the node's network."""
        enter = ctypes.CDLL(None, use_errno=True).setns
        if enter(self.network, 0):
            raise OSError(ctypes.get_errno(), f"cannot enter the network of {self.name}")
        try:
            return act()
        finally:
            enter(self.here, 0)

    def hold(self, wanted):
        if wanted == self.held:
            return
        refused = self.within(lambda: self.library.nft_run_cmd_from_buffer(self.context, wanted.encode()))
        if refused and os.path.exists(self.process):
            sys.exit(f"{self.name} does not take the rules")
        self.held = wanted


def main():
    nodes = [Node(f.removesuffix(".here")) for f in os.listdir(f"{STATE}/nodes") if f.endswith(".here")]
    cluster = api.Cluster()
    pods, policies = cluster.watch("/api/v1/pods"), cluster.watch("/apis/networking.k8s.io/v1/networkpolicies")
    while True:
        now = policies.all(), pods.all()
        for node in nodes:
            node.hold("".join(ruleset(node.name, *now, family) for family in FAMILIES))
        if not (pods.alive() and policies.alive()):
            sys.exit("a watch ended")
        time.sleep(0.1)


main()
