"""Checks that /dev/shm exists, is writable, and is large enough for the ranks of its host."""

from finding import Check, some

CHECK = Check(
    "shm",
    "NCCL, MPI and PyTorch's data loaders use it between processes of a host. If it is full, SIGBUS kills them.",
    "Set `workers.shm`, and set `workers.memory` higher: files in /dev/shm count as memory.",
)
MIB = 1 << 20
UNASKED = 64 * MIB  # the default size in container engines
A_RANK = 256 * MIB


def shm(crew):
    broken = [host for host in crew.there if "error" in host.facts["shm"]]
    room = {host: host.facts["shm"]["free"] for host in crew.there if host not in broken}
    tiny = [host for host, free in room.items() if free <= UNASKED]
    tight = [host for host, free in room.items() if UNASKED < free < A_RANK * host.slots]

    def sizes(hosts):
        return some(f"{room[host] // MIB} MiB on {host.pod}" for host in hosts)

    for host in broken:
        yield CHECK.fail(f"/dev/shm on {host.pod}: {host.facts['shm']['error']}")
    if tiny:
        yield CHECK.fail(f"free in /dev/shm: {sizes(tiny)}")
    if tight:
        yield CHECK.warn(f"free in /dev/shm: {sizes(tight)}, less than {A_RANK // MIB} MiB for each rank")
    if room and not (broken or tiny or tight):
        yield CHECK.ok(f"/dev/shm is writable everywhere, with {min(room.values()) // MIB} MiB or more free")
