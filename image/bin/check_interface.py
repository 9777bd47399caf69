"""Which network interface leads to the other hosts, which would mislead, and what to set for NCCL, Gloo and MPI."""

from collections import defaultdict
from ipaddress import ip_network

from finding import Check, groups, some, told

CHECK = Check("interface")
CHOSEN = Check(
    "interface",
    "The library that reads it finds no interface and fails, or takes one that leads nowhere.",
    "Name one that leads to the others on all hosts, or leave `collective.interface` out.",
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
            f'Set `collective: {{interface: "{",".join(names)}"}}`; for Open MPI alone a network does as well: '
            f"`OMPI_MCA_btl_tcp_if_include={network(next(iter(used.values())))}`."
        )
    quiet = True
    mtus = groups(used, lambda host: used[host]["mtu"])
    if len(mtus) > 1:
        quiet = False
        yield CHECK.warn(
            f"MTUs differ: {told(mtus)}",
            "Where long packets get lost short ones still pass: training hangs at its first large tensor.",
            "Give the nodes' networks one MTU.",
        )
    traps = misleading(used)
    outward = outside(used)
    if outward and not chosen(crew):
        quiet = False
        yield CHECK.warn(
            f"{say}, by IPv6, but nobody answered by the IPv4 addresses of {some(outward)}",
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
        yield CHECK.warn(f"names differ: {say}", "One name cannot choose the interface of all hosts.", do)
    if quiet:
        rdma = sorted({device for host in used for device in host.facts["rdma"]})
        where = network(next(iter(used.values())))
        yield CHECK.ok(f"{say} ({where}, mtu {mtus[0][0]})" + (f"; RDMA by {some(rdma)}" if rdma else ""))


def leading(host):
    """The interface whose address the host had when it reached another one."""
    addresses = {answer["local"] for answer in host.reached.values() if "local" in answer}
    for one in host.facts["interfaces"]:
        if not one["loopback"] and addresses & {one["address"], *one["six"]}:
            return one
    return None


def network(one):
    return ip_network(f"{one['address']}/{one['prefix']}", strict=False) if one["address"] else "IPv6"


def misleading(used):
    """Interfaces with one address on several hosts: bridges of a container engine and the like."""
    found = {}
    for host, leads in used.items():
        for one in host.facts["interfaces"]:
            if one["up"] and one["address"] and not one["loopback"] and one is not leads:
                found.setdefault((one["name"], one["address"]), []).append(host.pod)
    return {key: hosts for key, hosts in found.items() if len(hosts) > 1}


def outside(used):
    """Interfaces with an IPv4 address where those that lead to other hosts have none."""
    there = [(one, leads) for host, leads in used.items() for one in host.facts["interfaces"]]
    return sorted({one["name"] for one, leads in there if one["up"] and one["address"] and not one["loopback"] and not leads["address"]})


def chosen(crew):
    return any(name.endswith(KNOBS) for host in crew.there for name in host.facts["environment"])


def wrongly_chosen(crew):
    """What the environment names that a host does not have, or that leads nowhere."""
    wrong = defaultdict(list)
    for host in crew.there:
        have = [one["name"] for one in host.facts["interfaces"]]
        for knob, value in host.facts["environment"].items():
            if knob.endswith("exclude") or not knob.endswith(KNOBS) or value.startswith("^"):
                continue
            words = [word.lstrip("=").partition(":")[0] for word in value.split(",")]
            words = [word for word in words if word and not word[0].isdigit()]  # no networks such as 10.0.0.0/8
            # NCCL takes beginnings of names.
            fits = str.startswith if knob.startswith("NCCL") else str.__eq__
            found = {name for name in have for word in words if fits(name, word)}
            if words and not found:
                wrong[f"{knob}={value}, but there is only {some(have, 8)}"].append(host.pod)
            elif found == {"lo"} and len(crew.there) > 1:
                wrong[f"{knob}={value}, and lo leads to no other host"].append(host.pod)
    for text, hosts in wrong.items():
        yield CHOSEN.fail(f"{text}: on {some(hosts)}")
