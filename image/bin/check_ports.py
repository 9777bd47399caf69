"""Checks that every host can send to every other on a port that the system chooses, as MPI, NCCL and Gloo do: workers to
each other, workers to the launcher, and the launcher to workers. Sends more than one packet, and the receiver identifies itself.
"""

import asyncio

from check_names import ASTRAY
from finding import Check, fails, some

CHECK = Check(
    "ports",
    "MPI, NCCL and Gloo connect hosts to each other on ports that the system picks. ssh uses another port, so it can "
    "work while these are blocked. Training would hang instead of failing.",
    "Let the job's pods reach each other on all ports. Look for other NetworkPolicies than the job's own, mesh sidecars "
    "and firewalls between nodes. If only long messages fail, look for a smaller MTU on the way.",
)


async def ports(crew):
    await reach_all(crew)
    by_name = {host.name: host for host in crew.talking}
    answers = [(host, by_name[name], answer) for host in crew.talking for name, answer in host.reached.items()]
    astray = [
        f"{peer.name} as seen from {host.pod}" for host, peer, answer in answers if leads_astray(host, peer, answer)
    ]
    failed = [
        (host.pod, f"{peer.pod}:{peer.facts['port']}", answer["error"])
        for host, peer, answer in answers
        if "error" in answer and not leads_astray(host, peer, answer)
    ]
    for finding in fails(
        CHECK,
        failed,
        lambda many, sender, taker, words: f"{many} of {len(answers)} fail, such as {sender} to {taker}: {words}",
        lambda senders, takers: f"{senders} cannot send to {takers}",
    ):
        yield finding
    if astray:
        yield ASTRAY.fail(f"not the host of that name: {some(astray)}")
    if answers and not failed and not astray:
        slowest = max(answer["connect"] for _, _, answer in answers)
        yield CHECK.ok(f"{len(answers)} connections on ports that the system chose, slowest in {slowest * 1000:.1f} ms")


def leads_astray(host, peer, answer):
    """Returns whether another host answered, or no host answered at an address that the peer does not have."""
    if "error" not in answer:
        return answer["token"] != peer.facts["token"]
    found = host.resolved.get(peer.name, {}).get("addresses")
    return bool(found) and not peer.addresses() & set(found)


async def reach_all(crew):
    if crew.launcher:
        await reach(crew.launcher, crew.there)
        # Workers connect to the launcher by the source address of its connections.
        shown = [answer["local"] for answer in crew.launcher.reached.values() if "local" in answer]
        crew.launcher.address = shown[0] if shown else None
    await asyncio.gather(*(reach(host, crew.peers(host)) for host in crew.there))


async def reach(host, peers):
    # The check `names` has already reported the names that cannot be looked up.
    peers = [peer for peer in peers if peer.address and (peer.local or "error" not in host.resolved[peer.name])]
    answer = await host.ask("reach", 60, peers=[(peer.address, peer.facts["port"]) for peer in peers])
    for index, peer in enumerate(peers):
        host.reached[peer.name] = answer if "error" in answer else answer["peers"][index]
