#!/usr/bin/env python3
"""Holds the layers of ARCHITECTURE.md: a phase knows only those before it, and the core touches nothing outside.

The command (src/cli, src/main.rs) may do what it likes; tests too.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "compiler"
# Each may use those before it.
LAYERS = ["problem", "yaml", "job", "plan", "pods", "report", "kubernetes", "targets", "api", "pipeline", "lib"]
# Crates whose layers Cargo holds; they touch nothing outside either.
BESIDE = [ROOT / "src" / "import", ROOT / "src" / "show"]
OUTSIDE = re.compile(
    r"\bstd::(fs|env|io|net|os|process|thread|time)\b|\b(e?print(ln)?|dbg)!|\b(getrandom|tempfile|anstream|clap\w*)::"
)
# The one file that may use threads; it says why.
THREADS = SRC / "pipeline" / "lanes.rs"
KNOWN = re.compile(r"\bcrate::(?:\{([^}]*)\}|(\w+))")


def code(path):
    """A file's lines without its tests and comments, numbered."""
    text = re.split(r"^#\[cfg\(test\)\]\s*mod \w+ \{", path.read_text(), flags=re.M)[0]
    return [(number, line.split("//")[0]) for number, line in enumerate(text.splitlines(), 1)]


def slips(path, layer):
    """What is wrong in one file."""
    for number, line in code(path):
        place = f"{path.relative_to(ROOT)}:{number}"
        found = OUTSIDE.search(line)
        if found and not (path == THREADS and found.group() == "std::thread"):
            yield f"{place}: `{found.group()}` reaches outside; only adapters may"
        for group, name in KNOWN.findall(line) if layer else []:
            for used in re.findall(r"(\w+)(?:::[\w:{}, *]+)?", group) if group else [name]:
                if used in LAYERS and LAYERS.index(used) > LAYERS.index(layer):
                    yield f"{place}: {layer} must not know {used}"


def main():
    wrong, seen = [], 0
    for path in sorted(path for folder in [SRC, *BESIDE] for path in folder.rglob("*.rs")):
        if path.stem == "tests" or "tests" in path.parts[-2:]:
            continue
        layer = path.relative_to(SRC).parts[0].removesuffix(".rs") if path.is_relative_to(SRC) else None
        if layer and layer not in LAYERS:
            wrong.append(f"{path.relative_to(ROOT)}: {layer} has no place among the layers in tests/layers.py")
            continue
        seen += 1
        wrong += slips(path, layer)
    print("\n".join([*wrong, f"{seen} files, {len(wrong)} slips"]))
    return bool(wrong) or not seen


if __name__ == "__main__":
    sys.exit(main())
