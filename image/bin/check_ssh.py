"""The first check: whether the launcher reaches every host over ssh. It starts the probes that all others ask."""

import asyncio
import time

from check_names import ASTRAY
from finding import Check, groups, some

CHECK = Check("ssh", "The launcher starts the ranks over ssh.")

# Words of ssh, or of a shell at its other end, and what to do then.
ADVICE = (
    ("resolve", "Are the job's headless Service and the pod of this name there? `kubectl get service,pods`"),
    ("refused", "The pod is there but its sshd is not: `kubectl logs POD` says why."),
    ("timed out", "Something drops packets: look for NetworkPolicies, and whether the pod's node is well."),
    ("no answer", "It takes ssh, but python3 does not start there: a file system that hangs, or a node at its limits?"),
    ("Host key", "Whoever answers is no worker of this job: does the name lead to another pod?"),
    ("Permission denied", "The worker does not know the launcher's key. Was the Secret replaced while the job ran?"),
    ("not found", "The preflight needs python3 on every host: add it to the image."),
    ("", "Try `ssh HOST true` by hand in the launcher."),
)


async def ssh(crew):
    """Hosts that do not answer are left out of all that follows."""
    limit = asyncio.Semaphore(64)

    async def start(host):
        async with limit:
            began = time.perf_counter()
            await host.start(crew.patience)
            return time.perf_counter() - began

    took = await asyncio.gather(*map(start, crew.all))
    if crew.launcher and crew.launcher.failure:
        raise OSError(f"no probe runs in this pod: {crew.launcher.failure}")
    lost = [host for host in crew.hosts if host.failure]
    for words, names in groups(lost, lambda host: host.failure):
        yield CHECK.fail(f"{some(names)}: {words}", do=next(advice for sign, advice in ADVICE if sign in words))
    twins = [(host, names) for host, names in groups(crew.there, lambda host: host.facts["host"]) if len(names) > 1]
    for host, names in twins:
        yield ASTRAY.fail(f"{some(names)} lead to one host, {host}")
    if not lost and not twins:
        yield CHECK.ok(
            f"the launcher reaches {len(crew.hosts)} of {len(crew.hosts)} hosts, slowest in {max(took):.1f} s"
        )
