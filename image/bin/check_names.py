"""Checks that every host can look up the names of all other hosts and of the launcher."""

import asyncio

from finding import Check, fails, some

CHECK = Check(
    "names",
    "Ranks find each other by name.",
    "Check the job's headless Service (`kubectl get endpointslices`), and DNS on the nodes where look-ups fail.",
)
ASTRAY = Check(
    "names",
    "If a name leads to another host, ranks start on the wrong host.",
    "Compare `getent hosts NAME` with `kubectl get pods -o wide`; check /etc/hosts, and for another job of this name.",
)
SLOW = 1.0  # seconds; a resolver that loses a packet takes 5


async def names(crew):
    for host, answer in zip(crew.talking, await asyncio.gather(*(look_up(host, crew) for host in crew.talking))):
        host.resolved = answer
    answers = [(host, name, answer) for host in crew.talking for name, answer in host.resolved.items()]
    missing = [(host.pod, name, answer["error"]) for host, name, answer in answers if "error" in answer]
    # Open MPI connects to the launcher by its address.
    optional = crew.launcher.name if crew.launcher and crew.mpi.startswith("openmpi") else None
    failed = [failure for failure in missing if failure[1] != optional]
    slowest = max((answer["seconds"] for _, _, answer in answers), default=0)
    for finding in fails(
        CHECK,
        failed,
        lambda many, host, name, words: f"{many} of {len(answers)} look-ups fail, such as {name} on {host}: {words}",
        lambda hosts, names: f"{hosts} cannot resolve {names}",
    ):
        yield finding
    if slowest > SLOW:
        slow = sorted({host.pod for host, _, answer in answers if answer["seconds"] > SLOW})
        yield CHECK.warn(
            f"looking up a name takes {slowest:.1f} s on {some(slow)}",
            "Every connection of every rank begins with a look-up; Gloo and PyTorch may time out.",
            "Check the cluster's DNS pods, and `search` and `ndots` in /etc/resolv.conf on that host.",
        )
    elif not failed:
        launcher = " and the launcher" if crew.launcher and not missing else ""
        yield CHECK.ok(f"all hosts resolve each other{launcher}, slowest in {slowest * 1000:.0f} ms")


async def look_up(host, crew):
    wanted = sorted({peer.name for peer in crew.peers(host)})
    answer = await host.ask("names", crew.patience, names=wanted)
    if "error" in answer:
        return {name: {"error": answer["error"], "seconds": 0} for name in wanted}
    return answer
