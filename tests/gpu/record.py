#!/usr/bin/env python3
"""Records what a run of the cases on a GPU has shown. See README.md.

    record.py FOLDER    on the machine with the GPU: prints, as JSON, its versions and the results of the cases in FOLDER
    record.py           writes the table of results.json into docs/compatibility.md
"""
import json
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/compatibility.md"
BEGIN, END = "<!-- measured: tests/gpu/record.py -->\n", "<!-- end of the table -->\n"


def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    except OSError:
        return ""
    return done.stdout.strip().split("\n")[0]


def versions():
    found = {"kernel": platform.release(), "python": platform.python_version(), "mpi": first_line("mpirun", "--version")}
    query = first_line("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    found["gpu"], _, found["driver"] = query.partition(", ")
    for name, code in (
        ("torch", "import torch; print(torch.__version__)"),
        ("cuda", "import torch; print(torch.version.cuda)"),
        ("nccl", "import torch; print('.'.join(map(str, torch.cuda.nccl.version())))"),
        ("jax", "import jax; print(jax.__version__)"),
    ):
        found[name] = first_line("python3", "-c", code)
    return found


def result(folder):
    seconds, skipped, failed = (folder / "result").read_text().split("\n")[:3]
    facts = folder / "facts"
    return {
        "case": folder.name,
        "result": "skipped" if skipped else "failed" if failed else "passed",
        "seconds": int(seconds),
        "shown": facts.read_text().splitlines() if facts.exists() else [],
        **({"why": skipped or failed} if skipped or failed else {}),
    }


def table(record):
    lines = ["| Case | Seconds | What it showed |", "|---|---|---|"]
    lines += [f"| `{case['case']}` | {case['seconds']} | {'; '.join(case['shown'])} |" for case in record["cases"] if case["result"] == "passed"]
    return "\n" + "\n".join(lines) + "\n\n"


def main():
    if sys.argv[1:]:
        cases = [result(path.parent) for path in sorted(Path(sys.argv[1]).glob("*/result"))]
        print(json.dumps({"date": time.strftime("%Y-%m-%d"), "versions": versions(), "cases": cases}, indent=1))
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + table(json.loads((HERE / "results.json").read_text())) + END + after)


main()
