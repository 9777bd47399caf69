"""Whether every host can look up every other, and the launcher."""

import asyncio

from finding import Check, some

CHECK = Check(
    "names",
    "Ranks find each other by name.",
    "Look at the job's headless Service (`kubectl get endpointslices`) and at DNS on the nodes of those who ask.",
)
ASTRAY = Check(
    "names",
    "A name that leads to another host puts ranks where nobody expects them.",
    "Compare `getent hosts NAME` with `kubectl get pods -o wide`; look into /etc/hosts, and for another job like this.",
)
SLOW = 1.0  # seconds; a resolver that loses a packet takes 5


async def names(crew):
    for host, answer in zip(crew.talking, await asyncio.gather(*(look_up(host, crew) for host in crew.talking))):
        host.resolved = answer
    missing, slow, slowest, nameless = {}, [], 0, False
    for host in crew.talking:
        for name, answer in host.resolved.items():
            slowest = max(slowest, answer["seconds"])
            if "error" in answer:
                missing.setdefault((name, answer["error"]), []).append(host.pod)
        if any(answer["seconds"] > SLOW for answer in host.resolved.values()):
            slow.append(host.pod)
    for (name, words), askers in missing.items():
        if crew.launcher and name == crew.launcher.name and crew.mpi.startswith("openmpi"):
            nameless = True  # Open MPI calls it by its address
        else:
            yield CHECK.fail(f"{some(askers)} cannot resolve {name}: {words}")
    if slow:
        yield CHECK.warn(
            f"looking up a name takes {slowest:.1f} s on {some(slow)}",
            "Every connection of every rank begins with it; Gloo and PyTorch may give up.",
            "Look at the cluster's DNS pods, and at `search` and `ndots` in /etc/resolv.conf there.",
        )
    if len(missing) == nameless and not slow:
        launcher = " and the launcher" if crew.launcher and not nameless else ""
        yield CHECK.ok(f"all hosts resolve each other{launcher}, slowest in {slowest * 1000:.0f} ms")


async def look_up(host, crew):
    wanted = sorted({peer.name for peer in crew.peers(host)})
    answer = await host.ask("names", crew.patience, names=wanted)
    if "error" in answer:
        return {name: {"error": answer["error"], "seconds": 0} for name in wanted}
    return answer
