#!/usr/bin/env python3
"""Checks the content of the packages without installing them: look.py FOLDER VERSION MACHINE."""

import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

COMMANDS = ["completions", "explain", "import", "init", "keygen", "krm", "man", "plan", "post-render", "render", "schema", "validate"]


def names(archive):
    for entry in archive:
        assert entry.uid == entry.gid == 0 and not entry.uname, f"{entry.name} has the name of a user"
    return {entry.name.removeprefix("./").rstrip("/") for entry in archive if not entry.isdir()}


def main(folder, version, machine):
    folder = Path(folder)
    name = f"khorovod-{version}-{machine}-linux"
    pages = {"khorovod.1", *(f"khorovod-{command}.1" for command in COMMANDS)}
    with tarfile.open(folder / f"{name}.tar.gz") as archive:
        wanted = {"khorovod", "README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", *(f"man/{page}" for page in pages)}
        wanted |= {f"completions/{file}" for file in ("khorovod.bash", "_khorovod", "khorovod.fish")}
        assert names(archive) == {f"{name}/{file}" for file in wanted}, names(archive)

    debian = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
    package = folder / f"khorovod_{version}_{debian}.deb"
    # Uses ar, because not every system has dpkg.
    assert subprocess.run(["ar", "t", package], check=True, capture_output=True, text=True).stdout.split() == [
        "debian-binary", "control.tar.gz", "data.tar.gz"
    ]  # fmt: skip
    data = subprocess.run(["ar", "p", package, "data.tar.gz"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        held = names(archive)
        assert {f"usr/share/man/man1/{page}.gz" for page in pages} <= held and "usr/share/doc/khorovod/copyright" in held, held

    krew = (folder / "khorovod.yaml").read_text()
    archive = folder / f"kubectl-{name}.tar.gz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert f"sha256: {digest}" in krew and f"uri: https://example.com/khorovod/v{version}/{archive.name}" in krew, krew
    assert f"version: v{version}" in krew and not re.search(r"\b(DOWNLOAD|ARCHIVE|SUM|VERSION|ARCHITECTURE)\b", krew), krew
    short = re.search(r"shortDescription: (.*)", krew)[1]
    assert len(short) <= 50, f"krew refuses more than 50 letters: {short}"

    bill = json.loads((folder / f"khorovod-{version}-{machine}.spdx.json").read_text())
    parts = {package["name"] for package in bill["packages"]}
    assert {"khorovod", "clap", "granit-parser", "ssh-key"} <= parts and not parts & {"insta", "k8s-openapi", "serde_derive"}, parts
    unhashed = [package["name"] for package in bill["packages"] if "checksums" not in package]
    assert unhashed == ["khorovod"], unhashed
    known = {package["SPDXID"] for package in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    assert all({link["spdxElementId"], link["relatedSpdxElement"]} <= known for link in bill["relationships"])

    plugins = {file: f"{file.name.split('-', 2)[2].removesuffix('.tar.gz')}/plugin.yaml" for file in folder.glob("khorovod-*-helm*.tar.gz")}
    # Helm 3 requires it at the root of the archive.
    plugins[folder / f"khorovod-helm3-{version}-{machine}-linux.tgz"] = "plugin.yaml"
    for file, wanted in plugins.items():
        with gzip.open(file) as text, tarfile.open(fileobj=text) as archive:
            assert wanted in names(archive), f"{file.name} has no {wanted}"
    print(f"{len(bill['packages'])} crates in the bill of materials, {len(plugins)} plugins of Helm")


if __name__ == "__main__":
    main(*sys.argv[1:])
