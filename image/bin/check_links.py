"""Measures how fast each worker sends to the next, in parallel, as in the ring of an all-reduce, and finds slow links."""

import asyncio

from finding import Check, some

CHECK = Check(
    "links",
    "An all-reduce passes through all hosts: the slowest link sets the speed of all.",
    "Find what else uses that host's network card, and check the card's speed (`ethtool`). `placement: {pack: LABEL}` "
    "places a job's workers in one domain of this node label.",
)
LAGS = 4  # times slower than the best; smaller differences are normal on a shared network


async def links(crew):
    if len(crew.there) < 2:
        return
    ring = list(zip(crew.there, crew.there[1:] + crew.there[:1]))
    answers = await asyncio.gather(
        *(host.ask("link", 20, peer=(after.name, after.facts["port"]), seconds=1) for host, after in ring)
    )
    speeds = {
        f"{host.pod} to {after.pod}": answer["bytes"] * 8e-9 / answer["seconds"]
        for (host, after), answer in zip(ring, answers)
        if "error" not in answer
    }
    if len(speeds) < len(ring):
        yield CHECK.warn(f"{len(ring) - len(speeds)} of {len(ring)} links could not be measured", do="See `ports`.")
        return
    best = max(speeds.values())
    slow = [f"{link} {speed:.2f} Gbit/s" for link, speed in speeds.items() if speed * LAGS < best]
    if slow:
        yield CHECK.warn(f"slow: {some(slow)}; the best link has {best:.2f} Gbit/s")
    else:
        yield CHECK.ok(
            f"{min(speeds.values()):.1f} to {best:.1f} Gbit/s from each host to the next, one connection each"
        )
