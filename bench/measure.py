"""Measures whole processes. Runs of several commands are interleaved, so that noise affects all of them."""

import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# A clean environment, so that shell settings do not change the figures.
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "LC_ALL": "C.UTF-8"}


def short(word):
    """A short form of a path, for tables: `helm`, `smallest/job.yaml`."""
    path = Path(word)
    return f"{path.parent.name}/{path.name}" if path.name == "job.yaml" else path.name or word


@dataclass
class Command:
    """A program, its arguments, and the file it reads as standard input."""

    name: str
    words: list
    stdin: str = "/dev/null"

    def __str__(self):
        words = " ".join(short(str(word)) for word in self.words)
        return words if self.stdin == "/dev/null" else f"{words} < {short(self.stdin)}"


@dataclass
class Times:
    """Milliseconds of each run, in the order of the rounds: elapsed time and CPU time. Load affects CPU time less."""

    runs: list
    cpu: list

    @property
    def median(self):
        return statistics.median(self.runs)

    @property
    def least(self):
        return min(self.runs)

    @property
    def most(self):
        return max(self.runs)

    def over(self, other):
        """The median of the differences within each round: both runs of a round had the same load."""
        return statistics.median(one - two for one, two in zip(self.runs, other.runs, strict=True))


def once(command):
    """Milliseconds of one run, from spawn to wait, and of CPU time. Raises if the command fails."""
    read, write = os.O_RDONLY, os.O_WRONLY
    files = [
        (os.POSIX_SPAWN_OPEN, 0, command.stdin, read, 0),
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", write, 0),
        (os.POSIX_SPAWN_OPEN, 2, "/dev/null", write, 0),
    ]
    words = [str(word) for word in command.words]
    start = time.perf_counter()
    child = os.posix_spawn(words[0], words, ENVIRONMENT, file_actions=files)
    _, status, used = os.wait4(child, 0)
    spent = (time.perf_counter() - start) * 1000
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
    return spent, (used.ru_utime + used.ru_stime) * 1000


def interleaved(commands, rounds):
    """Runs each command once per round, after one round to fill the caches. Returns {name: Times}."""
    for command in commands:
        once(command)
    runs = {command.name: [] for command in commands}
    for _ in range(rounds):
        for command in commands:
            runs[command.name].append(once(command))
    return {name: Times(*map(list, zip(*spent, strict=True))) for name, spent in runs.items()}


def peak(command):
    """Returns (peak resident KiB, bytes written). Uses GNU time, because a child of this process would inherit its peak."""
    if not Path("/usr/bin/time").exists():
        raise RuntimeError("peak memory needs /usr/bin/time (Debian package: time)")
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile("r") as report, open(command.stdin) as stdin:
        words = ["/usr/bin/time", "-o", report.name, "-f", "%M", *map(str, command.words)]
        subprocess.run(words, stdin=stdin, stdout=out, stderr=subprocess.DEVNULL, env=ENVIRONMENT, check=True)
        return int(report.read().split()[-1]), os.path.getsize(out.name)


def instructions(command):
    """The number of instructions that the process executes, by callgrind. Load does not affect it."""
    if not shutil.which("valgrind"):
        return None
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command.words)]
    with open(command.stdin) as stdin:
        done = subprocess.run(words, stdin=stdin, capture_output=True, env=ENVIRONMENT)
    if done.returncode:
        raise RuntimeError(f"{command} under callgrind ended with {done.returncode}")
    return int(re.search(rb"Collected : (\d+)", done.stderr)[1])
