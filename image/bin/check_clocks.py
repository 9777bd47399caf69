"""Measures how far each host's clock is from the launcher's. The round-trip time bounds the error."""

import asyncio
import time

from finding import Check, some

CHECK = Check(
    "clocks",
    "Log lines of different hosts appear in the wrong order, and the wrong checkpoint may be taken for the newest. From "
    "five minutes on, signed requests (to S3, for example) and certificates are refused.",
    "Pods use the node's clock: repair chrony or ntpd on the node (`chronyc tracking`), or keep the job off it.",
)
NOTABLE, REFUSED = 0.5, 300  # seconds


async def clocks(crew):
    skews = zip(crew.there, await asyncio.gather(*map(skew, crew.there)))
    skews = [(host, *found) for host, found in skews if found]
    off = [(host, offset, bound) for host, offset, bound in skews if abs(offset) - bound > NOTABLE]
    text = "off from the launcher's: " + some(
        f"{host.pod} by {offset:+.3f} s ± {bound:.3f}" for host, offset, bound in off
    )
    if any(abs(offset) - bound > REFUSED for _, offset, bound in off):
        yield CHECK.fail(text)
    elif off:
        yield CHECK.warn(text)
    elif skews:
        worst = max(abs(offset) + bound for _, offset, bound in skews)
        yield CHECK.ok(f"all within {1000 * worst:.1f} ms of the launcher's")


async def skew(host):
    """The host's clock minus this one, and the maximum error: half of the shortest of five round trips."""
    best = None
    for _ in range(5):
        before = time.time()
        answer = await host.ask("clock", 10)
        after = time.time()
        if "error" in answer:
            return None
        if not best or (after - before) / 2 < best[1]:
            best = (answer["now"] - (before + after) / 2, (after - before) / 2)
    return best
