"""Whether /dev/shm is there, writable, and large enough for the ranks of its host."""

from finding import Check, some

CHECK = Check(
    "shm",
    "NCCL, MPI and PyTorch's data loaders talk through it within a host; where it is full they die of SIGBUS.",
    "Set `workers.shm`, and `workers.memory` above it: what is in it counts as memory.",
)
MIB = 1 << 20
UNASKED = 64 * MIB  # what container engines give when nobody asks
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
