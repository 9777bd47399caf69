"""The crates of this project, as cargo tells of them, for packages and for the tests of what they promise."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def reached(options, counts):
    """The package of the command by its id, which packages lead to which from there, and every package by its id.

    `counts(package, kinds)` says whether a dependency on a package is followed; kinds are "dev", "build", or None for one
    that is linked.
    """
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *options]
    data = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    root = next(id for id, package in packages.items() if package["name"] == "khorovod")
    found, edges, todo = {root}, set(), [root]
    while todo:
        here = todo.pop()
        for dependency in nodes[here]["deps"]:
            there = dependency["pkg"]
            if counts(packages[there], {kind["kind"] for kind in dependency["dep_kinds"]}):
                edges.add((here, there))
                if there not in found:
                    found.add(there)
                    todo.append(there)
    return root, edges, packages
