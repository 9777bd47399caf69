"""The job's hosts in the hostfile, and a connection to a probe on each of them. Both programs use this module; the checks
evaluate the facts.
"""

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

HOSTFILE = "/horovod/generated/hostfile"
# The folder of khorovod's ssh, for shells that do not inherit the launcher's PATH.
os.environ["PATH"] = "/horovod/generated/bin:" + os.environ.get("PATH", os.defpath)
PROBE = Path(__file__).with_name("probe.py").read_text()


class Host:
    """A host and its probe. After `start`, either `facts` are set or `failure` is the reason."""

    def __init__(self, name, slots, local=False):
        self.name, self.slots, self.local = name, slots, local
        self.pod = name if name.replace(".", "").isdigit() else name.partition(".")[0]
        self.address = name  # check_ports sets the launcher's when it has reached other hosts
        self.facts, self.failure, self.process = None, None, None
        self.silent = False
        self.reached = {}  # name of another host → the result of connecting to it

    async def start(self, patience):
        command = [sys.executable, "-u", "-c", PROBE]
        if not self.local:
            command = ["ssh", self.name, "exec python3 -u -c " + shlex.quote(PROBE)]
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 24
        )
        try:
            self.facts = await asyncio.wait_for(self.hear(), patience)
        except asyncio.TimeoutError:
            self.failure = f"no answer within {patience} s"
        except EOFError:
            words = (await self.process.stderr.read()).decode(errors="replace").strip().splitlines()
            self.failure = words[-1] if words else f"it ended with {await self.process.wait()} without output"
            self.failure = re.sub("^real-ssh: ", "", self.failure)

    async def hear(self):
        """Reads the next line of JSON; skips the output of a shell's start-up files."""
        async for line in self.process.stdout:
            if line.startswith(b"{"):
                return json.loads(line)
        raise EOFError

    async def ask(self, what, patience=30, **more):
        """Sends a request and returns the answer. After a timeout, returns `error` for this and all later requests, because a
        late answer would be taken for the next one."""
        if self.silent:
            return {"error": "the probe stopped answering"}
        try:
            self.process.stdin.write(json.dumps(dict(more, ask=what)).encode() + b"\n")
            return await asyncio.wait_for(self.hear(), patience)
        except (asyncio.TimeoutError, EOFError, OSError):
            self.silent = True
            return await self.ask(what)

    def addresses(self):
        return {address for one in self.facts["interfaces"] for address in (one["address"], *one["six"])}

    async def stop(self):
        """Closes the standard input of the probe, which ends it. Kills it if it does not end, such as an ssh that waits."""
        if self.process:
            self.process.stdin.close()
            await end(self.process, signal.SIGKILL, 2)


async def end(process, number, patience):
    """Waits for a process to end, and sends it a signal after a timeout. Does not use the method of the process, which may
    consume its exit code before asyncio does.
    """
    try:
        return await asyncio.wait_for(process.wait(), patience)
    except asyncio.TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
    return await process.wait()


def read_hostfile(path):
    """Reads lines `host slots=N` (Open MPI, Horovod) or `host:N` (MPICH, Intel MPI) as (name, slots)."""
    if not Path(path).exists():
        raise ValueError(f"there is no hostfile {path}: run this in a job's launcher, or set --hostfile")
    hosts = []
    for line in Path(path).read_text().splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([^\s:]+)(?:\s+slots\s*=\s*|:|\s*$)(\d+)?.*", line)
        if not match:
            raise ValueError(f"{path}: not a host: {line}")
        hosts.append((match.group(1), int(match.group(2) or 1)))
    if not hosts:
        raise ValueError(f"{path} names no host")
    return hosts


def own_name(hosts):
    """This pod's name in the job's headless Service, as other hosts look it up."""
    name = hosts[0][0]
    service = "" if name.replace(".", "").isdigit() else "".join(name.partition(".")[1:])
    return socket.gethostname().partition(".")[0] + service


def mpirun(hostfile, hosts):
    """The command line that starts one rank per slot, like khorovod's mpirun launcher."""
    words = ["mpirun", "-np", str(sum(slots for _, slots in hosts))]
    about = subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
    if b"Open MPI" in about.stdout:
        return [*words, "--hostfile", hostfile, "--bind-to", "none"]
    if b"Intel(R) MPI" in about.stdout:
        return [*words, "-machinefile", hostfile]  # with -f it would start one rank per core
    return [*words, "-f", hostfile, "-localhost", own_name(hosts)]
