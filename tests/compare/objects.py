#!/usr/bin/env python3
"""Compares what two khorovod binaries render, object by object.

    tests/compare/objects.py OLD NEW

Renders every example for every target with both binaries and compares the results as data. `allowed.txt` beside this
file lists the differences that are intended, each as a regular expression over one line of the report, with a reason.
Every other difference is printed, and the exit code is 1. An allowed difference that does not occur is an error too.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGETS = ["plain", "slurm", "mpijob", "trainjob", "jobset", "volcano"]

def render(binary, spec, target):
    """The rendered text, or the codes of the problems."""
    arguments = ["--target", target, "--ssh-seed", ROOT / "examples" / "ssh.seed", "-n", "ml"]
    done = subprocess.run([binary, "render", *arguments, spec], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    return sorted(set(re.findall(r"^error\[([\w-]+)\]", done.stderr, re.M))) or done.stderr


def run_of(text):
    """The run's name in a rendered text."""
    found = re.search(r"khorovod\.dev/run: [\"']?(\w+)", text)
    return found and found[1]


def objects(text):
    """The objects by kind and name, with the run's name replaced."""
    run = run_of(text)
    if run:
        text = text.replace(run, "RUN")
    found = {(one["kind"], one["metadata"]["name"]): one for one in yaml.load_all(text, yaml.CSafeLoader) if one}
    for one in found.values():
        # The words of the settings, however they are quoted.
        if "job.sh" in one.get("data", {}):
            one["data"]["job.sh"] = shlex.split(one["data"]["job.sh"], comments=True)
    return found


def differences(old, new, path=""):
    """Every place at which two values differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{path}[{at}]")
    elif old != new:
        yield path, old, new


def short(value):
    """A value on one line."""
    text = json.dumps(value, default=str)
    return text if len(text) < 160 else f"{text[:150]}… ({len(text)} characters)"


def compare(name, target, old, new):
    """The lines of the report for one example and target."""
    if isinstance(old, list) or isinstance(new, list):
        if old != new:
            yield f"{name} {target}: problems {short(old)} → {short(new)}"
    elif target == "slurm":
        if old != new:
            yield f"{name} {target}: script differs"
    else:
        before, after = objects(old), objects(new)
        for key in [*before, *(key for key in after if key not in before)]:
            for path, a, b in differences(before.get(key), after.get(key)):
                yield f"{name} {target}: {'/'.join(key)} {path}: {short(a)} → {short(b)}"


def main(old, new):
    rows = [line for line in (HERE / "allowed.txt").read_text().splitlines() if line and not line.startswith("#")]
    allowed = [(re.compile(pattern.strip()), reason) for pattern, reason in (row.split(" # ", 1) for row in rows)]
    used, wrong, pairs = set(), [], 0
    for spec in sorted(ROOT.glob("examples/*/job.yaml")):
        for target in TARGETS:
            pairs += 1
            for line in compare(spec.parent.name, target, render(old, spec, target), render(new, spec, target)):
                hits = [at for at, (pattern, _) in enumerate(allowed) if pattern.search(line)]
                used.update(hits)
                if not hits:
                    wrong.append(line)
    print("\n".join(wrong))
    for at, (pattern, reason) in enumerate(allowed):
        if at not in used:
            wrong.append(pattern.pattern)
            print(f"allowed, but does not occur: {pattern.pattern} ({reason})")
    print(f"{pairs} pairs compared, {len(wrong)} differences that are not allowed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*(Path(path).resolve() for path in sys.argv[1:3])))
