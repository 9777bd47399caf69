#!/usr/bin/env python3
"""Writes the archive of one target: pack.py BINARY TRIPLE OUT.

The archive contains the binary, completions, manual pages, README, changelog and licences. It runs on every system that builds
a binary; assemble.py makes the other packages of these archives, on Linux.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import archive
from project import REPOSITORY, ROOT, VERSION, Target

COMPLETIONS = {"bash": "khorovod.bash", "zsh": "_khorovod", "fish": "khorovod.fish", "powershell": "khorovod.ps1"}


def readme():
    """Returns README.md with complete links, for readers who do not have the repository."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^\]]*\])\((?![a-z]+:|#)", rf"\1({REPOSITORY}/raw/v{VERSION}/", text)
    return re.sub(r"(?<=\]\()(?![a-z]+:|#)", f"{REPOSITORY}/blob/v{VERSION}/", text)


def parts(binary, target):
    """Returns the files of the archive."""
    said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    if said != f"khorovod {VERSION}":
        sys.exit(f"{binary} is {said}, not khorovod {VERSION}")
    files = {target.program: (Path(binary).read_bytes(), 0o755), "README.md": (readme().encode(), 0o644)}
    for name in ("CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"):
        files[name] = ((ROOT / name).read_bytes(), 0o644)
    for shell, name in COMPLETIONS.items():
        files[f"completions/{name}"] = (subprocess.run([binary, "completions", shell], check=True, capture_output=True).stdout, 0o644)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "man", "--dir", folder], check=True)
        files |= {f"man/{page.name}": (page.read_bytes(), 0o644) for page in Path(folder).iterdir()}
    return files


def main(binary, triple, out):
    target = Target(triple)
    files = {f"{target.folder}/{name}": held for name, held in parts(binary, target).items()}
    make = archive.zipped if target.archive.endswith(".zip") else archive.tar_gz
    Path(out).mkdir(parents=True, exist_ok=True)
    (Path(out) / target.archive).write_bytes(make(files))


if __name__ == "__main__":
    main(*sys.argv[1:])
