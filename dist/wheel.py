#!/usr/bin/env python3
"""Builds the wheel of a target with maturin: wheel.py TRIPLE OUT. It contains the binary that Cargo has built with the same RUSTFLAGS."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from project import ROOT, Target, epoch

# A static binary needs neither glibc nor musl; Python's platform tags require a name of each.
LINUX = ["manylinux2014", "musllinux_1_1"]


def main(triple, out):
    target = Target(triple)
    compatible = [part for name in LINUX for part in ("--compatibility", name)] if target.system == "linux" else []
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        pip = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        subprocess.run([*pip, "--requirement", ROOT / "dist/requirements.txt"], check=True)
        command = [programs / "maturin", "build", "--release", "--locked", "--target", triple, "--out", out, *compatible]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())})


if __name__ == "__main__":
    main(*sys.argv[1:])
