#!/usr/bin/env python3
"""Holds the cluster's NetworkPolicies: translates ingress rules into nftables on every node.

What it does not understand makes it stop, and the cluster's tests with it: a rule must not seem to hold.
"""
import os
import re
import subprocess
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


def ruleset(policies, pods, family):
    pods = [p for p in pods if address(p, family) and p.get("status", {}).get("phase") in ("Pending", "Running")]
    chains, jumps = [], []
    for pod in sorted(pods, key=lambda p: address(p, family)):
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


def main():
    nodes = [f.removesuffix(".here") for f in os.listdir(f"{STATE}/nodes") if f.endswith(".here")]
    cluster = api.Cluster()
    pods, policies = cluster.watch("/api/v1/pods"), cluster.watch("/apis/networking.k8s.io/v1/networkpolicies")
    held = None
    while True:
        wanted = "".join(ruleset(policies.all(), pods.all(), family) for family in FAMILIES)
        if wanted != held:
            for node in nodes:
                inside = open(f"{STATE}/nodes/{node}.pid").read().strip()
                done = subprocess.run(["nsenter", "-t", inside, "-n", "nft", "-f", "-"], input=wanted, text=True)
                if done.returncode and os.path.exists(f"/proc/{inside}"):
                    sys.exit(f"{node} does not take the rules")
            held = wanted
        if not (pods.alive() and policies.alive()):
            sys.exit("a watch ended")
        time.sleep(0.1)


main()
