#!/usr/bin/env python3
"""Tests agents.py with one process per agent: whether ranks have failed, which costs a retry, or an agent is lost."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).parents[3] / "src/compiler/pods/scripts/agents.py"


class Agents(unittest.TestCase):
    def start(self, launcher, count=3):
        """Starts agents, and waits until all are connected."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folders, self.agents = [], []
        for index in range(count):
            folder = pathlib.Path(work.name) / str(index)
            folder.mkdir()
            text = SCRIPT.read_text().replace("29401", str(port)).replace("/horovod/generated", str(folder))
            # Processes of other tests do not count.
            text = text.replace("/proc/[0-9]*/environ", f"{folder}/*/environ")
            # A line for each agent that the first one serves.
            text = text.replace("        agent.name, agent.writer", f"        open('{folder}/connected', 'a').write('.')\n        agent.name, agent.writer")
            (folder / "agents.py").write_text(text)
            agent = subprocess.Popen([sys.executable, folder / "agents.py", str(index), "mnist-0.localhost", launcher, "127.0.0.1"])
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)
            self.folders.append(folder)
            self.agents.append(agent)
        connected = self.folders[0] / "connected"
        self.until(lambda: connected.exists() and len(connected.read_text()) >= count - 1)

    def until(self, holds):
        end = time.time() + 60
        while not holds():
            self.assertLess(time.time(), end)
            time.sleep(0.05)

    def send(self, index, number):
        os.kill(self.agents[index].pid, number)

    def lost(self, index=0):
        """The agent in the file `lost` of an agent, and whether its ranks have failed."""
        folder = self.folders[index]
        self.until((folder / "lost").exists)
        return (folder / "lost").read_text().strip(), (folder / "ranks-failed").exists()

    def test_ranks_fail_on_another_pod(self):
        for launcher in ("jax", "torchrun"):
            with self.subTest(launcher):
                self.start(launcher)
                self.send(1, signal.SIGTERM)
                self.assertEqual(self.lost(0), ("mnist-1", True))
                self.assertEqual(self.lost(2), ("mnist-1", True))

    def test_ranks_fail_on_the_first_pod(self):
        for launcher in ("jax", "torchrun"):
            with self.subTest(launcher):
                self.start(launcher)
                self.send(0, signal.SIGTERM)
                self.assertEqual(self.lost(0), ("mnist-0", True))
                self.assertEqual(self.lost(1), ("mnist-0", True))

    def test_ranks_notice_a_lost_agent_first(self):
        for launcher in ("jax", "torchrun"):
            for first in (0, 2):
                with self.subTest(launcher, first=first):
                    self.start(launcher)
                    self.agents[1].kill()
                    time.sleep(1)
                    self.send(first, signal.SIGTERM)
                    self.assertEqual(self.lost(0), ("mnist-1", False))

    def test_an_agent_is_lost(self):
        self.start("torchrun")
        self.agents[1].kill()
        self.assertEqual(self.lost(0), ("mnist-1", False))
        self.assertEqual(self.lost(2), ("mnist-1", False))

    def test_the_first_agent_never_answers(self):
        """Its ranks would try the address of an earlier pod for a quarter of an hour."""
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        text = SCRIPT.read_text().replace("29401", str(port)).replace("/horovod/generated", work.name).replace("FIRST = 30 ", "FIRST = 2 ")
        agent = subprocess.Popen([sys.executable, "-c", text, "1", "mnist-0.localhost", "torchrun", "127.0.0.1"])
        self.addCleanup(agent.kill)
        self.assertEqual(agent.wait(20), 0)
        self.assertEqual((pathlib.Path(work.name) / "lost").read_text(), "mnist-0\n")

    def test_the_file_of_an_earlier_failure_is_removed(self):
        self.start("torchrun")
        (self.folders[0] / "ranks-failed").touch()
        self.agents[0].kill()
        self.agents[0].wait()
        again = subprocess.Popen(self.agents[0].args)
        self.addCleanup(again.wait)
        self.addCleanup(again.kill)
        self.until(lambda: not (self.folders[0] / "ranks-failed").exists())


if __name__ == "__main__":
    unittest.main()
