#!/usr/bin/env python3
"""The recorded session of the README: docs/session.cast, for asciinema, and docs/session.svg, an animated picture of it.

`record` runs the commands below in a terminal, on a cluster. tests/cluster/commands.py calls it. Without arguments, this script checks
that the picture is that of the recording, and with a binary also that it still has the commands: record.py [KHOROVOD]
"""
import json
import re
import subprocess
import sys
from pathlib import Path

import terminal

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "tests/session/job.yaml"
CAST, PICTURE = ROOT / "docs/session.cast", ROOT / "docs/session.svg"
COMMANDS = ["khorovod run --detach job.yaml", "khorovod status --watch", "khorovod list"]
SIZE = (100, 24)
LABEL = "A terminal: khorovod run starts a job, status --watch shows it until it is trained and its GPUs are released, and list has a line for it"
# The seconds between two keys, before a command runs, and after its end.
KEY, RETURN, END = 0.04, 0.5, 1.5


def record(environment, folder):
    """Runs the commands in a folder with job.yaml. Returns the output as a list of times and texts."""
    now, events = 0.0, []
    for command in COMMANDS:
        events.append((now, "$ "))
        now += RETURN
        for key in command:
            now += KEY
            events.append((now, key))
        now += RETURN
        events.append((now, "\r\n"))
        texts, code = terminal.run(["bash", "-c", command], SIZE, environment, folder)
        if code:
            raise SystemExit(f"{command} ended with {code}:\n{''.join(text for _, text in texts)}")
        events += [(now + at, text) for at, text in texts]
        now += max((at for at, _ in texts), default=0) + END
    events.append((now, "$ "))
    return [(round(at, 2), text) for at, text in events]


def write(events):
    header = {"version": 2, "width": SIZE[0], "height": SIZE[1], "idle_time_limit": 2, "title": "khorovod: from a spec to a trained job",
              "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps(header), *(json.dumps([at, "o", text], ensure_ascii=False) for at, text in events)]
    CAST.write_text("\n".join(lines) + "\n")
    PICTURE.write_text(terminal.film(events, SIZE, terminal.DARK, LABEL))


def recorded():
    return [(at, text) for at, _, text in map(json.loads, CAST.read_text().splitlines()[1:])]


def normal(text):
    """A text without what differs from run to run."""
    text = re.sub(r"\b(mnist(?:-| +)|run )[a-z0-9]{6}\b(-launcher-\w{5}\b)?", r"\1RUN", text)
    text = re.sub(r"\d+ %: trained .* of .* with", "SHARE: trained TIME of TIME with", text)
    return re.sub(r"\d+ (?:s|min)\b(?: \d+ s)?", "TIME", re.sub(r" {2,}", "  ", text))


def gist(events):
    """Returns the parts that are the same in each recording: the states of the live view, the names of its facts, and the lines after its end."""
    screen, first, facts = terminal.Screen(*SIZE), [], set()
    for _, text in events:
        screen.feed(text)
        lines = screen.lines()
        if screen.saved and lines[-1].startswith("Ctrl-C"):
            state = re.search(r"^● mnist, run \w+: (waiting|preparing|training)", lines[0])
            if state and state[1] not in first:
                first.append(state[1])
            facts |= set(re.findall(r"^ (workers|GPUs|progress|goodput)  ", "\n".join(lines), re.M))
    # Preparing takes less time than the view takes between two looks, on a fast machine.
    states = [state for state in first if state != "preparing"]
    log = re.compile(r"^    ")
    return states, sorted(facts), [normal(line) for line in screen.lines() if line and not log.match(line)]


def check(binary=None):
    """The differences between the recording, its picture and the commands, as sentences."""
    events, wrong = recorded(), []
    if terminal.film(events, SIZE, terminal.DARK, LABEL) != PICTURE.read_text():
        wrong.append("docs/session.svg is not the picture of docs/session.cast")
    screen = "".join(text for _, text in events)
    wrong += [f"docs/session.cast lacks the command: {command}" for command in COMMANDS if f"$ {command}\r\n" not in screen]
    if not re.search(r"mnist, run \w+: trained in [^;]+; GPUs are released", screen):
        wrong.append("docs/session.cast does not end with a trained job")
    binary = binary and Path(binary).resolve()
    for command in COMMANDS if binary else []:
        done = subprocess.run([binary, *command.split()[1:], "--dry-run"], cwd=JOB.parent, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "KHOROVOD_SSH_SEED": "5" * 64})
        if done.returncode or "kubectl" not in done.stdout:
            wrong.append(f"`{command}` of docs/session.cast fails: {done.stdout}{done.stderr}")
    return wrong


if __name__ == "__main__":
    found = check(*sys.argv[1:])
    for line in found:
        print(line)
    if found:
        print("to record it again: KHOROVOD_BLESS=1 tests/cluster/test.sh commands-as-recorded")
    sys.exit(bool(found))
