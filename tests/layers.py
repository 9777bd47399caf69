#!/usr/bin/env python3
"""Holds the layers of ARCHITECTURE.md: a phase knows only those before it, and the core touches nothing outside.

Adapters (src/cli, src/main.rs) may do what they like; tests too.
"""

import re
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parents[1] / "src"
# Each may use those before it.
LAYERS = [
    "problem", "source", "emit", "spec", "plan", "runtime", "objects", "targets", "report", "compile", "import", "show", "lib"
]
ADAPTERS = {"cli", "main"}
OUTSIDE = re.compile(
    r"\bstd::(fs|env|io|net|os|process|thread|time)\b|\b(e?print(ln)?|dbg)!|\b(getrandom|tempfile|anstream|clap\w*)::"
)
# The one file that may use threads; it says why.
THREADS = SRC / "compile" / "lanes.rs"
KNOWN = re.compile(r"\bcrate::(?:\{([^}]*)\}|(\w+))")


def code(path):
    """A file's lines without its tests and comments, numbered."""
    text = re.split(r"^#\[cfg\(test\)\]\s*mod \w+ \{", path.read_text(), flags=re.M)[0]
    return [(number, line.split("//")[0]) for number, line in enumerate(text.splitlines(), 1)]


def slips(path, layer):
    """What is wrong in one file."""
    for number, line in code(path):
        place = f"src/{path.relative_to(SRC)}:{number}"
        found = OUTSIDE.search(line)
        if found and not (path == THREADS and found.group() == "std::thread"):
            yield f"{place}: `{found.group()}` reaches outside; only adapters may"
        for group, name in KNOWN.findall(line):
            for used in re.findall(r"(\w+)(?:::[\w:{}, *]+)?", group) if group else [name]:
                if used in ADAPTERS or used in LAYERS and LAYERS.index(used) > LAYERS.index(layer):
                    yield f"{place}: {layer} must not know {used}"


def main():
    wrong, seen = [], 0
    for path in sorted(SRC.rglob("*.rs")):
        layer = path.relative_to(SRC).parts[0].removesuffix(".rs")
        if layer in ADAPTERS or path.stem == "tests":
            continue
        if layer not in LAYERS:
            wrong.append(f"src/{path.relative_to(SRC)}: {layer} has no place among the layers in tests/layers.py")
            continue
        seen += 1
        wrong += slips(path, layer)
    print("\n".join([*wrong, f"{seen} files, {len(wrong)} slips"]))
    return bool(wrong) or not seen


if __name__ == "__main__":
    sys.exit(main())
