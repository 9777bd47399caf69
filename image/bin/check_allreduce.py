"""Starts all ranks in the same way as training, and checks the result of an all-reduce."""

import asyncio
import json
import os
import signal
from pathlib import Path

from finding import Check
from hosts import end, mpirun

CHECK = Check("allreduce", "This is what training does in every step.")
PROGRAM = Path(__file__).resolve().with_name("khorovod-bandwidth")


async def allreduce(crew, hostfile):
    """Without a hostfile, reports that the check was skipped."""
    if not hostfile:
        yield CHECK.warn("skipped: fix the failures above first", do="")
        return
    if crew.mpi == "none":
        yield CHECK.warn(
            "skipped: there is no mpirun", do="Run khorovod-bandwidth as the command of a torchrun job."
        )
        return
    hosts = [(host.name, host.slots) for host in crew.hosts]
    ranks, patience = sum(slots for _, slots in hosts), 60 + crew.patience
    process = await asyncio.create_subprocess_exec(
        *mpirun(hostfile, hosts), "python3", "-u", str(PROGRAM), "--check", "--json",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    lines = []
    try:
        await asyncio.wait_for(read(process, lines), patience)
    except asyncio.TimeoutError:
        os.kill(process.pid, signal.SIGTERM)  # mpirun then ends its ranks
        await end(process, signal.SIGKILL, 10)
        yield CHECK.fail(
            f"{ranks} ranks did not end within {patience:.0f} s{tail(lines)}",
            do="A library may use an interface that does not reach the other hosts: set `collective.interface`.",
        )
        return
    world, *sums = [json.loads(line) for line in lines if line.startswith("{")] or [None]
    wrong = max((row["wrong"] for row in sums), default=0)
    if not sums or (process.returncode and not wrong):
        yield CHECK.fail(f"mpirun ended with {process.returncode}{tail(lines)}", do=advice("\n".join(lines)))
    elif (world["ranks"], world["hosts"]) != (ranks, len(hosts)):
        yield CHECK.fail(
            f"{world['ranks']} ranks on {world['hosts']} hosts took part, of {ranks} on {len(hosts)}",
            "Training would run on a part of the hosts without an error.",
            f"Compare {hostfile} with mpirun's placement: `mpirun --display-map` (Open MPI).",
        )
    elif wrong:
        yield CHECK.fail(
            f"{wrong} of {ranks} ranks have a wrong sum, by {world['by']}",
            do="A library, driver or network card is broken: run this with fewer hosts to find out which.",
        )
    elif world["by"].startswith(("Horovod", "PyTorch")) and world["by"].endswith("CPUs") and all_have_gpus(crew):
        yield CHECK.warn(
            f"{ranks} ranks have the right sum, but by {world['by']}, though all hosts have GPUs",
            "Training would leave the GPUs idle.",
            "Does the image contain a PyTorch for these GPUs? `python3 -c 'import torch; print(torch.version.cuda)'`",
        )
    else:
        yield CHECK.ok(f"{ranks} ranks on {len(hosts)} hosts have the right sum, by {world['by']}")


def all_have_gpus(crew):
    return all(host.facts["gpus"]["names"] for host in crew.there)


async def read(process, lines):
    async for line in process.stdout:
        lines.append(line.decode(errors="replace").rstrip())
    await process.wait()


def tail(lines):
    """The last lines of a program's output, formatted for a finding."""
    return "".join(f"\n           | {line[:160]}" for line in [line for line in lines if line.strip(" -=*\t")][-6:])


def advice(text):
    if "No such file" in text and PROGRAM.name in text:
        return f"The workers lack {PROGRAM}: use one image for all, or mount the programs by `code`."
    return "The last lines of mpirun are above. To see all, run khorovod-bandwidth --check in the launcher."
