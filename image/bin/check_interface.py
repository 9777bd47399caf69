"""Finds the network interface that leads to the other hosts, interfaces that libraries may use by mistake, and the setting
for NCCL, Gloo and MPI."""

from collections import defaultdict
from ipaddress import ip_network

from finding import Check, groups, some, told

CHECK = Check("interface")
CHOSEN = Check(
    "interface",
    "The library finds no interface and fails, or uses one that does not reach the other hosts.",
    "Set an interface that leads to the other hosts on every host, or remove `collective.interface`.",
)
KNOBS = ("IFNAME", "IFACE", "clude")


def interface(crew):
    yield from wrongly_chosen(crew)
    used = {host: leading(host) for host in crew.there if leading(host)}
    if not used:
        if len(crew.there) > 1:
            yield CHECK.warn("found none that leads to another host", do="See `ports`.")
        return
    names = sorted({one["name"] for one in used.values()})
    alike = len(names) == 1
    if alike:
        say = f"{names[0]} leads to the others on every host"
        do = f"Set `collective: {{interface: {names[0]}}}`."
    else:
        say = told(groups(used, lambda host: used[host]["name"]))
        do = (
            f'Set `collective: {{interface: "{",".join(names)}"}}`; for Open MPI only, you can also set a network: '
            f"`OMPI_MCA_btl_tcp_if_include={network(next(iter(used.values())))}`."
        )
    quiet = True
    mtus = groups(used, lambda host: used[host]["mtu"])
    if len(mtus) > 1:
        quiet = False
        yield CHECK.warn(
            f"MTUs differ: {told(mtus)}",
            "If long packets are lost, short ones still arrive: training hangs at its first large tensor.",
            "Set the same MTU on the networks of all nodes.",
        )
    traps = misleading(used)
    outward = outside(used)
    if outward and not chosen(crew):
        quiet = False
        yield CHECK.warn(
            f"{say}, by IPv6, but no host answered by the IPv4 addresses of {some(outward)}",
            "Such addresses lead out of the cluster. NCCL may use them to reach other hosts, and hang.",
            do,
        )
    elif traps and not chosen(crew):
        quiet = False
        listed = "; ".join(f"{name} {address} on {some(hosts)}" for (name, address), hosts in traps.items())
        yield CHECK.warn(
            f"{say}, but one address is on several hosts: {listed}",
            "Open MPI and Gloo may choose such a bridge to reach other hosts, connect to their own host instead, and hang.",
            f"{do} Excluding only docker0 would allow lo again.",
        )
    elif not alike and not chosen(crew):
        quiet = False
        yield CHECK.warn(f"names differ: {say}", "One name cannot select the interface on all hosts.", do)
    if quiet:
        rdma = sorted({device for host in used for device in host.facts["rdma"]})
        where = network(next(iter(used.values())))
        yield CHECK.ok(f"{say} ({where}, mtu {mtus[0][0]})" + (f"; RDMA by {some(rdma)}" if rdma else ""))


def leading(host):
    """The interface with the source address of the host's connections to other hosts."""
    addresses = {answer["local"] for answer in host.reached.values() if "local" in answer}
    for one in host.facts["interfaces"]:
        if not one["loopback"] and addresses & {one["address"], *one["six"]}:
            return one
    return None


def network(one):
    return ip_network(f"{one['address']}/{one['prefix']}", strict=False) if one["address"] else "IPv6"


def misleading(used):
    """Interfaces that have the same address on several hosts, such as bridges of a container engine."""
    found = {}
    for host, leads in used.items():
        for one in host.facts["interfaces"]:
            if one["up"] and one["address"] and not one["loopback"] and one is not leads:
                found.setdefault((one["name"], one["address"]), []).append(host.pod)
    return {key: hosts for key, hosts in found.items() if len(hosts) > 1}


def outside(used):
    """Interfaces with an IPv4 address on hosts that reach each other by IPv6 only."""
    there = [(one, leads) for host, leads in used.items() for one in host.facts["interfaces"]]
    return sorted({one["name"] for one, leads in there if one["up"] and one["address"] and not one["loopback"] and not leads["address"]})


def chosen(crew):
    return any(name.endswith(KNOBS) for host in crew.there for name in host.facts["environment"])


def wrongly_chosen(crew):
    """Findings for interfaces that the environment names but that do not exist or do not reach other hosts."""
    wrong = defaultdict(list)
    for host in crew.there:
        have = [one["name"] for one in host.facts["interfaces"]]
        for knob, value in host.facts["environment"].items():
            if knob.endswith("exclude") or not knob.endswith(KNOBS) or value.startswith("^"):
                continue
            words = [word.lstrip("=").partition(":")[0] for word in value.split(",")]
            words = [word for word in words if word and not word[0].isdigit()]  # skips networks such as 10.0.0.0/8
            # NCCL accepts prefixes of names.
            fits = str.startswith if knob.startswith("NCCL") else str.__eq__
            found = {name for name in have for word in words if fits(name, word)}
            if words and not found:
                wrong[f"{knob}={value}, but there is only {some(have, 8)}"].append(host.pod)
            elif found == {"lo"} and len(crew.there) > 1:
                wrong[f"{knob}={value}, and lo leads to no other host"].append(host.pod)
    for text, hosts in wrong.items():
        yield CHOSEN.fail(f"{text}: on {some(hosts)}")
