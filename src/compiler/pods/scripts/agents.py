"""agents.py INDEX HOST LAUNCHER [ADDRESS]: connects the agents of a job while their ranks run, so that all of them stop soon if one
is lost, and all ranks get the signal for a checkpoint if one is about to end. torchrun itself notices neither.

The agent with index 0, on HOST, serves the others. Each side sends a line at least every two seconds. When an agent is lost or
leaves, its name is written to the file `lost` or `leaves` of every agent, and this program ends. If its ranks have failed, its name is
written to `lost`, too, and there is also the file `ranks-failed`, because a failure costs a retry. Ranks have failed if those of JAX or
TensorFlow end with an error, or if torchrun starts them again, because it does not start those of the others. If another agent has just
been lost, that one counts as lost. SIGUSR1 reports that this agent leaves, SIGUSR2 that its ranks have succeeded, SIGTERM that they
have failed.

In an elastic job torchrun notices the end of all agents but the first one, which serves its rendezvous. LAUNCHER is then `elastic`, and
only the loss of this agent counts.
"""
import asyncio
import glob
import os
import signal
import socket
import sys
import time

INDEX, HOST, LAUNCHER = int(sys.argv[1]), sys.argv[2], sys.argv[3]
PORT = 29401
FOLDER = "/horovod/generated"
SILENT = 10  # seconds without a line, after which an agent is lost
FIRST = 30  # seconds in which the first agent must answer; it already answers at the port of torchrun, if it is not an earlier pod that ends
AFTER_FAILURE = 5  # seconds in which torchrun of the other agents may notice a failure
MYSELF = f"{os.getpid()}-{time.time()}"


def end(what, index):
    if what == "failed":
        open(f"{FOLDER}/ranks-failed", "w").close()
        what = "lost"
    with open(f"{FOLDER}/{what}.new", "w") as file:
        file.write(f"{HOST.split('.')[0].removesuffix('-0')}-{index}\n")
    os.rename(f"{FOLDER}/{what}.new", f"{FOLDER}/{what}")
    os._exit(0)


async def read_line(reader):
    """The words of the next line, or None at the end of the connection or after silence."""
    try:
        line = await asyncio.wait_for(reader.readline(), SILENT)
    except (OSError, asyncio.TimeoutError):
        return None
    return line.decode().split() if line.endswith(b"\n") else None


def send(writer, *words):
    if not writer.is_closing():
        writer.write((" ".join(map(str, words)) + "\n").encode())


def has_restarted():
    """Whether torchrun has started ranks of this pod again."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:
            continue
        if any(v.startswith(b"TORCHELASTIC_RESTART_COUNT=") and not v.endswith(b"=0") for v in variables):
            return True
    return False


class Agent:
    """Another agent, as the server sees it."""

    def __init__(self, name):
        self.name, self.writer, self.missing_since, self.ended, self.failed = name, None, None, False, False


def listen():
    try:
        return socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True)
    except (OSError, ValueError):
        return socket.create_server(("", PORT))


class Server:
    def __init__(self):
        self.agents = {}

    async def run(self):
        async with await asyncio.start_server(self.serve, sock=listen()):
            while True:
                await asyncio.sleep(1)
                self.judge()

    async def serve(self, reader, writer):
        words = await read_line(reader)
        if not words or len(words) != 3:
            return writer.close()
        index, name, known = words
        if known not in ("-", MYSELF):
            # This agent still watches the last attempt, which it will end now. It does not belong to this one.
            send(writer, MYSELF)
            return writer.close()
        agent = self.agents.setdefault(index, Agent(name))
        if agent.name != name and not agent.ended and LAUNCHER != "elastic":
            # Another process of the same agent: the ranks of the first have ended.
            await self.announce("lost", index)
        agent.name, agent.writer, agent.missing_since = name, writer, None
        send(writer, MYSELF)
        while (words := await read_line(reader)) is not None:
            send(writer)
            if LAUNCHER == "elastic":
                continue
            if words == ["leaves"]:
                await self.announce("leaves", index)
            if words == ["succeeded"]:
                agent.ended = True
            if words == ["restarted"] or words == ["failed"] and LAUNCHER != "torchrun":
                agent.failed = True
                await self.blame(index)
            elif words == ["failed"]:
                agent.ended, agent.failed, agent.missing_since = True, True, time.time() + AFTER_FAILURE - SILENT
        if agent.writer is writer:
            writer.close()
            agent.writer = None
            agent.missing_since = agent.missing_since or (None if agent.ended else time.time())

    def judge(self):
        missing = {i: a.missing_since for i, a in self.agents.items() if a.missing_since}
        # If most end without a report, the network of this agent has failed.
        silent = [index for index in missing if not self.agents[index].failed]
        if LAUNCHER == "elastic" or 2 * len(silent) > max(2, len(self.agents)):
            return
        for index, since in missing.items():
            if time.time() - since > SILENT:
                asyncio.ensure_future(self.blame(index) if self.agents[index].failed else self.announce("lost", index))

    async def blame(self, failed):
        """Announces that the ranks of an agent have failed, or that another agent is lost, which ranks may notice first."""
        # The connection of an agent that was lost may end a little later than its ranks.
        await asyncio.sleep(0.2)
        missing = [index for index, agent in self.agents.items() if agent.missing_since and not agent.failed]
        await (self.announce("lost", missing[0]) if missing else self.announce("failed", failed))

    async def announce(self, what, index):
        writers = [a.writer for a in self.agents.values() if a.writer]
        for writer in writers:
            send(writer, what, index)
        await asyncio.wait([asyncio.ensure_future(w.drain()) for w in writers] or [asyncio.ensure_future(asyncio.sleep(0))], timeout=1)
        end(what, index)

    def report(self, what):
        if what == "succeeded":
            os._exit(0)
        if what in ("failed", "restarted") and LAUNCHER != "elastic":
            return asyncio.ensure_future(self.blame(INDEX))
        asyncio.ensure_future(self.announce("leaves" if what == "leaves" else "lost", INDEX))


class Client:
    def __init__(self):
        self.writer = self.server = None
        self.address = " ".join(sys.argv[4:]) or HOST

    async def run(self):
        since = time.time()
        while time.time() - since < (SILENT if self.server else FIRST):
            try:
                reader, self.writer = await asyncio.wait_for(asyncio.open_connection(self.address, PORT), 2)
            except (OSError, asyncio.TimeoutError):
                await asyncio.sleep(1)
                continue
            await self.follow(reader)
            self.writer.close()
            since = time.time()
            await asyncio.sleep(1)
        end("lost", 0)

    async def follow(self, reader):
        send(self.writer, INDEX, MYSELF, self.server or "-")
        words = await read_line(reader)
        if not words:
            return
        if self.server not in (None, words[0]):
            # Another process of the first agent: its ranks have ended.
            end("lost", 0)
        self.server = words[0]
        # Another connection must need no DNS, and not lead to another pod.
        self.address = self.writer.get_extra_info("peername")[0]
        beat = asyncio.ensure_future(self.beat())
        while (words := await read_line(reader)) is not None:
            if len(words) == 2:
                end(*words)
        beat.cancel()

    async def beat(self):
        while True:
            send(self.writer)
            await asyncio.sleep(2)

    def report(self, what):
        if self.writer:
            send(self.writer, what)
        if what in ("succeeded", "failed"):
            # Time to send it.
            asyncio.get_running_loop().call_later(0.2, os._exit, 0)


async def main():
    if os.path.exists(f"{FOLDER}/ranks-failed"):
        os.remove(f"{FOLDER}/ranks-failed")
    here = Client() if INDEX else Server()
    loop = asyncio.get_running_loop()
    for number, what in (signal.SIGUSR1, "leaves"), (signal.SIGUSR2, "succeeded"), (signal.SIGTERM, "failed"):
        loop.add_signal_handler(number, here.report, what)
    running = asyncio.ensure_future(here.run())
    while not running.done():
        await asyncio.sleep(3)
        if LAUNCHER != "elastic" and has_restarted():
            here.report("restarted")


asyncio.run(main())
