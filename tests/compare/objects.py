#!/usr/bin/env python3
"""Compares what two khorovod binaries render, object by object.

    tests/compare/objects.py OLD NEW [SPEC...]

Renders each SPEC for every target with both binaries, and prints each difference with the number of specs that have it. Without
SPEC, it renders every example. The names of the job and of the run are replaced, so they are not differences. The exit code is 1
if there is a difference. A spec that only NEW accepts is not one, because it may use new fields.
"""

import collections
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ["plain", "slurm", "mpijob", "trainjob", "jobset", "volcano"]


def render(binary, spec, target):
    """The exit code, and the rendered text with placeholders for the job and the run, or the codes of the errors."""
    options = ["--target", target, "--ssh-seed", ROOT / "examples/ssh.seed", "-n", "ml", "--kube-version", "1.37"]
    form = [] if target == "slurm" else ["-o", "json"]
    done = subprocess.run([binary, "render", *options, *form, spec], capture_output=True, text=True, check=False)
    if done.returncode:
        return done.returncode, ", ".join(sorted(set(re.findall(r"^error\[([\w-]+)\]", done.stderr, re.M)))) or done.stderr
    text = done.stdout
    for name, label in [("JOB", "job"), ("RUN", "run")]:
        found = re.search(rf'khorovod\.dev/{label}"?[:=] ?"?([\w.-]+)', text)
        if found:
            text = re.sub(rf"(?<![a-z0-9]){re.escape(found[1])}(?![a-z0-9])", name, text)
    return 0, text


def objects(text):
    """The objects by kind and name."""
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in json.loads(text)["items"]}


def differences(old, new, path=""):
    """Each place at which two values differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from differences(old.get(key), new.get(key), f"{path} {key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{path}[{at}]")
    elif isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        changed = sum(old.splitlines().count(line) != new.splitlines().count(line) for line in {*old.splitlines(), *new.splitlines()})
        if old != new:
            yield f"{path}: {changed or 'the order of'} lines differ"
    elif old != new:
        yield f"{path}: {short(old)} → {short(new)}"


def short(value):
    """A value on one line."""
    if isinstance(value, str) and "\n" in value:
        return f"{len(value.splitlines())} lines"
    text = json.dumps(value)
    return text if len(text) < 160 else f"{text[:150]}… ({len(text)} characters)"


def compare(old, new, spec, target):
    """The differences of one spec for one target. None if OLD refuses the spec."""
    (refused, before), (refused_now, after) = render(old, spec, target), render(new, spec, target)
    if refused:
        return None
    if refused_now:
        return [f"{target}: is refused now: {after}"]
    if target == "slurm":
        return list(differences(before, after, f"{target}: the script"))
    return list(differences(objects(before), objects(after), f"{target}:"))


def main(old, new, *specs):
    specs = [Path(spec) for spec in specs] or sorted(ROOT.glob("examples/*/job.yaml"))
    found = collections.defaultdict(list)
    compared = 0
    for spec in specs:
        for target in TARGETS:
            lines = compare(old, new, spec, target)
            compared += lines is not None
            for line in lines or []:
                found[line].append(spec.parent.name)
    for line, names in found.items():
        print(f"{line} ({names[0]}{f' and {len(names) - 1} others' if names[1:] else ''})")
    print(f"{compared} renderings compared, {len(found)} differences")
    if not compared:
        sys.exit("OLD accepts none of the specs")
    return bool(found)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
