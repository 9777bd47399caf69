"""The first check: whether the launcher reaches every host over ssh. Starts the probes that all other checks use."""

import asyncio
import time

from check_names import ASTRAY
from finding import Check, groups, some

CHECK = Check("ssh", "The launcher starts the ranks over ssh.")

# Parts of error messages of ssh, or of the remote shell, and the advice for each.
ADVICE = (
    ("resolve", "Do the job's headless Service and the pod of this name exist? `kubectl get service,pods`"),
    ("refused", "The pod runs, but its sshd does not: see `kubectl logs POD`."),
    ("timed out", "Packets are dropped: check for NetworkPolicies, and the state of the pod's node."),
    ("no answer", "ssh works, but python3 does not start there: does a file system hang, or is the node overloaded?"),
    ("Host key", "The host that answers is not a worker of this job: does the name lead to another pod?"),
    ("Permission denied", "The worker does not accept the launcher's key. Was the Secret replaced while the job ran?"),
    ("not found", "The preflight needs python3 on every host: add it to the image."),
    ("", "Run `ssh HOST true` in the launcher."),
)


async def ssh(crew):
    """Starts a probe on every host. The following checks skip hosts that do not answer."""
    limit = asyncio.Semaphore(64)

    async def start(host):
        async with limit:
            began = time.perf_counter()
            await host.start(crew.patience)
            return time.perf_counter() - began

    took = await asyncio.gather(*map(start, crew.all))
    if crew.launcher and crew.launcher.failure:
        raise OSError(f"the probe does not run in this pod: {crew.launcher.failure}")
    lost = [host for host in crew.hosts if host.failure]
    for words, names in groups(lost, lambda host: host.failure):
        yield CHECK.fail(f"{some(names)}: {words}", do=next(advice for sign, advice in ADVICE if sign in words))
    twins = [(host, names) for host, names in groups(crew.there, lambda host: host.facts["host"]) if len(names) > 1]
    for host, names in twins:
        yield ASTRAY.fail(f"{some(names)} lead to the same host, {host}")
    if not lost and not twins:
        yield CHECK.ok(
            f"the launcher reaches {len(crew.hosts)} of {len(crew.hosts)} hosts, slowest in {max(took):.1f} s"
        )
