#!/usr/bin/env python3
"""Writes the table of docs/failures.md about the release of devices from released.txt: released.py [--check].

`KHOROVOD_BLESS=1 tests/cluster/test.sh NAME...` measures: it replaces the lines of the tests that passed.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.join(HERE, "released.txt")
PAGE = os.path.join(HERE, "..", "..", "docs", "failures.md")
BEGIN, END = "<!-- released: tests/cluster/released.py -->\n", "\n<!-- end of released -->"
HEAD = "# How long devices stayed in use, in seconds, and how long the test allows. Written by tests/cluster/run.py.\n"
# Each row: an event, the pod that releases the devices, and the tests in both shapes. A text in the place of the tests has no measurement.
ROWS = [
    ("the training succeeds", "the launcher", "free-after-success"),
    ("the training fails, and no retry is left", "the launcher", "free-after-failure"),
    ("`lifecycle.deadline` passes", "the launcher", "free-after-deadline"),
    ("you delete the run", "the launcher", "free-after-deletion"),
    ("Kueue suspends the Job; the grace period was 10 s", "none: Kubernetes ends the pods", (None, "suspended-indexed-job")),
    ("the Job of the launcher is deleted, and S3 does not answer", "the launcher", ("job-deleted-while-uploading", None)),
    ("the launcher is killed", "the next launcher, when the run ends", "as above"),
    ("the launcher is killed and cannot start again: its Secret is gone, a quota, the image; `launcher.lostTimeout` was one minute",
     "one of the first workers", ("launcher-cannot-return", "first-pod-of-indexed-job-cannot-return")),
    ("the node of a worker fails", "none: Kubernetes counts its devices until you delete the node", "devices of the node: never"),
]


def read():
    with open(FIGURES) as file:
        lines = [line.strip().split(" | ") for line in file if not line.startswith("#")]
    return {name: (float(took), float(allowed)) for name, took, allowed in lines}


def tests_of(row):
    """The tests of a row, in both shapes. None if it has no measurement."""
    if not isinstance(row[2], str):
        return row[2]
    return (f"{row[2]}-set", f"{row[2]}-job") if row[2].startswith("free-after-") else None


def record(figures):
    """Replaces the figures of those of these tests that have a row: `{name: (seconds, the seconds that the test allows)}`."""
    wanted = {test for row in ROWS for test in tests_of(row) or ()}
    figures = read() | {name: figure for name, figure in figures.items() if name in wanted}
    with open(FIGURES, "w") as file:
        file.write(HEAD + "".join(f"{name} | {took:.1f} | {allowed:.0f}\n" for name, (took, allowed) in sorted(figures.items())))


def table():
    figures = read()
    lines = ["| What happens | Releases the devices | StatefulSet | Indexed Job | At most |", "|---|---|---|---|---|"]
    for row in ROWS:
        what, pod, words = row
        if not tests_of(row):
            lines.append(f"| {what} | {pod} | {words} | | |")
            continue
        found = [figures[test] if test else None for test in tests_of(row)]
        cells = [f"{it[0]:.1f} s" if it else "" for it in found]
        lines.append(f"| {what} | {pod} | {' | '.join(cells)} | {max(it[1] for it in found if it):.0f} s |")
    return "\n".join(lines)


def main():
    with open(PAGE) as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    text = before + BEGIN + "\n" + table() + "\n" + END + rest.split(END, 1)[1]
    if "--check" in sys.argv:
        sys.exit(page != text and "docs/failures.md is not what tests/cluster/released.py writes")
    with open(PAGE, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
