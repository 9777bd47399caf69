#!/usr/bin/env python3
"""Enforces the cluster's NetworkPolicies on every node, with the rules of policy_rules.py."""
import ctypes
import os
import sys
import threading

import api
from policy_rules import ruleset

STATE = os.environ["STATE"]
# The nftables names of the families of pod addresses.
FAMILIES = [{"4": "ip", "6": "ip6"}[family] for family in os.environ["FAMILIES"].split()]


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
