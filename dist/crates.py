"""The crates of this project, from `cargo metadata`: for packages, and for tests of the dependencies."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def reached(options, counts):
    """Returns the id of the command's package, the dependencies of each package that it leads to, and all packages by id.

    `counts(package, kinds)` returns whether a dependency on a package is followed. A kind is "dev", "build", or None for a
    linked dependency.
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
