#!/usr/bin/env python3
"""Builds the wheel of a target with maturin: wheel.py TRIPLE OUT. It contains the binary that Cargo has built with the same RUSTFLAGS."""

import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

import archive
from project import ROOT, Target, epoch


def add_musl(wheel, processor):
    """Adds the platform tag of musl, because a static binary needs no C library. maturin writes the tag of one only."""
    packed = zipfile.ZipFile(wheel)
    files = {entry.filename: (packed.read(entry), entry.external_attr >> 16 & 0o777) for entry in packed.infolist()}
    (name,) = [name for name in files if name.endswith(".dist-info/WHEEL")]
    text = files[name][0] + f"Tag: py3-none-musllinux_1_1_{processor}\n".encode()
    files[name] = (text, 0o644)
    digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
    record = name.replace("WHEEL", "RECORD")
    lines = files[record][0].decode().splitlines()
    lines = [f"{name},sha256={digest},{len(text)}" if line.startswith(f"{name},") else line for line in lines]
    files[record] = ("\n".join(lines).encode() + b"\n", 0o644)
    wheel.unlink()
    wheel.with_name(f"{wheel.stem}.musllinux_1_1_{processor}.whl").write_bytes(archive.zipped(files))


def main(triple, out):
    linux = Target(triple).system == "linux"
    compatible = ["--compatibility", "manylinux2014"] if linux else []
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        pip = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        subprocess.run([*pip, "--requirement", ROOT / "dist/requirements.txt"], check=True)
        command = [programs / "maturin", "build", "--release", "--locked", "--target", triple, "--out", out, *compatible]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())})
    if linux:
        (wheel,) = Path(out).glob("*.whl")
        add_musl(wheel, triple.split("-")[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
