"""The nftables rules that enforce NetworkPolicies on a node. A pure function: `ruleset`.

Raises SystemExit on a rule that it does not support, which ends the tests: a rule must not appear to be enforced if it is not.
"""
import ipaddress


def chosen(selector, labels):
    unknown = set(selector) - {"matchLabels"}
    if unknown:
        raise SystemExit(f"a selector has {unknown}, which policy_rules.py does not support")
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
            raise SystemExit(f"a policy lets in {peer}, which policy_rules.py does not support")
        found |= {address(p, family) for p in pods if p["metadata"]["namespace"] == namespace
                  and chosen(peer["podSelector"], p["metadata"].get("labels", {}))}
    found.discard(None)
    return [f"{family} saddr {{ {', '.join(sorted(found))} }} "] if found else []


def destinations(rule, namespace, pods, family):
    """The nftables matches for a rule's destinations."""
    if not rule.get("to"):
        return [""]
    matches = []
    for peer in rule["to"]:
        if peer == {"namespaceSelector": {}} or set(peer) == {"podSelector"}:
            found = {address(p, family) for p in pods if "namespaceSelector" in peer or p["metadata"]["namespace"] == namespace
                     and chosen(peer["podSelector"], p["metadata"].get("labels", {}))} - {None}
            matches += [f"{family} daddr {{ {', '.join(sorted(found))} }} "] if found else []
        elif set(peer) == {"ipBlock"}:
            block = peer["ipBlock"]
            if {4: "ip", 6: "ip6"}[ipaddress.ip_network(block["cidr"]).version] == family:
                # A prefix of no bits is not an address in nftables.
                inside = "" if block["cidr"].endswith("/0") else f"{family} daddr {block['cidr']} "
                outside = f"{family} daddr != {{ {', '.join(block['except'])} }} " if block.get("except") else ""
                matches.append(inside + outside)
        else:
            raise SystemExit(f"a policy lets out to {peer}, which policy_rules.py does not support")
    return matches


def egress(policies, pod, pods, family):
    """The rules of a pod for outgoing connections; None if no policy limits them. A connection that they allow goes on to the rules
    of its destination."""
    limiting = [p for p in policies if "Egress" in p.get("policyTypes", [])]
    if not limiting:
        return None
    if any(isinstance(port["port"], str) for p in limiting for rule in p.get("egress", []) for port in rule.get("ports", [])):
        raise SystemExit("a policy lets out to a named port, which policy_rules.py does not support")
    return "; ".join([f"{to}{port}return" for p in limiting for rule in p.get("egress", [])
                      for to in destinations(rule, pod["metadata"]["namespace"], pods, family) for port in ports(rule, pod)] + ["drop"])


def ruleset(policies, pods, family):
    """The rules of a node for all its pods, in the syntax of nftables."""
    pods = [p for p in pods if address(p, family) and p.get("status", {}).get("phase") in ("Pending", "Running")]
    # Pods of the same job usually have the same rules.
    chains, to, out = {}, [], []

    def jump(pod, rules):
        return f"{address(pod, family)} : jump {chains.setdefault(rules, f'pods-{len(chains)}')}"
    for pod in sorted(pods, key=lambda p: address(p, family)):
        namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels", {})
        mine = [p["spec"] for p in policies
                if p["metadata"]["namespace"] == namespace and chosen(p["spec"]["podSelector"], labels)]
        if not mine:
            continue
        to.append(jump(pod, "; ".join([f"{source}{port}accept" for p in mine for rule in p.get("ingress", [])
                                       for source in sources(rule, namespace, pods, family) for port in ports(rule, pod)] + ["drop"])))
        rules = egress(mine, pod, pods, family)
        if rules:
            out.append(jump(pod, rules))
    verdicts = "".join(f"{family} {side} vmap {{ {', '.join(jumps)} }}; " for side, jumps in (("saddr", out), ("daddr", to)) if jumps)
    return (f"table {family} policies {{ }}\ndelete table {family} policies\ntable {family} policies {{\n" +
            "\n".join(f"chain {chain} {{ {rules}; }}" for rules, chain in chains.items()) +
            "\nchain pods { type filter hook forward priority 0; ct state established,related accept; "
            + verdicts + "}\n}\n")
