#!/usr/bin/env python3
"""Packages the plugins and the chart for Helm: helm.py PLUGINS OUT. PLUGINS is a folder that plugin/build.sh has written.

KEY          the name of the PGP key that signs the packages; without it, they have no signature
PASSPHRASE   a file with the passphrase of that key, if gpg cannot ask for it

Helm itself packages too, but the names of the building user and the times of files get into its archives.
"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

from archive import tar_gz, tree
from project import ROOT

CHART = ROOT / "charts/training-job"
PLUGINS = ["helm4-command", "helm4-post-renderer"]


def write(out, metadata, files):
    """Writes the package of a plugin or a chart, and its signature if there is a key. The folder in it has the name of the plugin or
    chart, as Helm requires."""
    name, version = (re.search(rf"^{field}: (\S+)$", metadata, re.M)[1] for field in ("name", "version"))
    package = out / f"{name}-{version}.tgz"
    package.write_bytes(tar_gz({f"{name}/{path}": file for path, file in files.items()}))
    if key := os.environ.get("KEY"):
        Path(f"{package}.prov").write_bytes(provenance(package, metadata, key))
    return package


def provenance(package, metadata, key):
    """Returns Helm's signature of a package: its metadata and its checksum, signed as text."""
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    text = f"{metadata}\n...\nfiles:\n  {package.name}: sha256:{digest}\n"
    command = ["gpg", "--batch", "--yes", "--local-user", key, "--digest-algo", "SHA512", "--clearsign"]
    if passphrase := os.environ.get("PASSPHRASE"):
        command[1:1] = ["--pinentry-mode", "loopback", "--passphrase-file", passphrase]
    return subprocess.run(command, input=text.encode(), check=True, capture_output=True).stdout


def chart(out):
    """Writes the package of the chart, without `ci/`, as .helmignore excludes it."""
    names = subprocess.check_output(["git", "-C", CHART, "ls-files"], text=True).split()
    names = [name for name in names if not name.startswith("ci/")]
    files = {name: ((CHART / name).read_bytes(), 0o644) for name in names}
    return write(out, (CHART / "Chart.yaml").read_text(), files)


def plugins(folder, out):
    """Writes the packages of the plugins for Helm 4."""
    for name in PLUGINS:
        write(out, (folder / name / "plugin.yaml").read_text(), tree(folder / name))


def keyring(out):
    """Writes the public key of the signatures, for `helm … --keyring`."""
    if key := os.environ.get("KEY"):
        (out / "khorovod-keyring.gpg").write_bytes(subprocess.check_output(["gpg", "--batch", "--export", key]))


def helm3(folder, out, extra=""):
    """Writes the package of the plugin for Helm 3, which requires plugin.yaml at the root of the archive and checks no signature. Helm
    makes only the folders that the archive names."""
    version = re.search(r"^version: (\S+)$", (folder / "plugin.yaml").read_text(), re.M)[1]
    files = tree(folder)
    folders = sorted({parent.as_posix() for name in files for parent in PurePosixPath(name).parents if parent.name})
    (out / f"khorovod-helm3-{version}{extra}.tgz").write_bytes(tar_gz(files, folders))


def main(folder, out):
    folder, out = Path(folder), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    plugins(folder, out)
    helm3(folder / "khorovod-helm3", out)
    chart(out)
    keyring(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
