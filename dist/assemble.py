#!/usr/bin/env python3
"""Makes all other packages of the archives in a folder: assemble.py DIST [--all].

From the archives that pack.py has written: Debian packages, the container image, the packages for npm and Helm, what krew, Homebrew
and asdf need to find the archives, a bill of materials for each target, and SHA256SUMS of all files. With --all, it fails if the archive or
the wheel of a target is missing. KEY signs the packages for Helm: see helm.py.
"""

import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import channels
import helm
import image
import npm
from archive import tar_gz
from project import HOMEPAGE, MAINTAINER, ROOT, TARGETS, VERSION, epoch


def unpack(archive, folder):
    """Unpacks an archive into a folder."""
    if archive.suffix == ".zip":
        zipfile.ZipFile(archive).extractall(folder)
    else:
        subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)


def debian_packages(dist, targets, work):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "MAINTAINER": MAINTAINER, "HOMEPAGE": HOMEPAGE}
    for target in targets:
        command = [ROOT / "dist/deb.sh", work / target.folder, VERSION, target.architecture, work / f"deb-{target.architecture}"]
        package = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout
        (dist / f"khorovod_{VERSION}_{target.architecture}.deb").write_bytes(package)


def npm_packages(dist, binaries):
    (dist / f"khorovod-npm-{VERSION}.tgz").write_bytes(npm.main_package(TARGETS))
    for target, binary in binaries.items():
        (dist / f"{npm.name(target)}-npm-{VERSION}.tgz").write_bytes(npm.binary_package(target, binary.read_bytes()))


def helm_packages(dist, binaries, work):
    """Packages the chart and the plugins; the plugin for Helm 3 contains the binary, and runs scripts that Windows lacks."""
    plugins = work / "plugins"
    subprocess.run([ROOT / "plugin/build.sh", plugins], check=True, stdout=sys.stderr)
    helm.plugins(plugins, dist)
    helm.chart(dist)
    helm.keyring(dist)
    for target, binary in binaries.items():
        if target.system != "windows":
            folder = plugins / "khorovod-helm3"
            (folder / "bin").mkdir(exist_ok=True)
            (folder / "bin/khorovod").write_bytes(binary.read_bytes())
            (folder / "bin/khorovod").chmod(0o755)
            helm.helm3(folder, dist, f"-{target.triple}")


def bills(dist, targets):
    for target in targets:
        bill = subprocess.run([sys.executable, ROOT / "dist/sbom.py", target.triple], check=True, stdout=subprocess.PIPE).stdout
        (dist / f"{target.folder}.spdx.json").write_bytes(bill)


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def manifests(dist, targets):
    sums = {target: sha256(dist / target.archive) for target in targets}
    (dist / "khorovod.yaml").write_text(channels.krew(sums))
    (dist / "khorovod.rb").write_text(channels.homebrew(sums))
    (dist / "asdf-khorovod.tar.gz").write_bytes(tar_gz(channels.asdf()))


def missing(dist):
    """Returns the files of targets that are not in the folder."""
    wheels = [wheel.name for wheel in dist.glob("*.whl")]
    part = {"linux": "linux", "darwin": "macosx", "windows": "win"}
    processor = {"amd64": ("x86_64", "amd64"), "arm64": ("aarch64", "arm64")}
    found = io.StringIO()
    for target in TARGETS:
        if not (dist / target.archive).exists():
            print(target.archive, file=found)
        fits = [w for w in wheels if part[target.system] in w and any(name in w for name in processor[target.architecture])]
        if len(fits) != 1:
            print(f"a wheel for {target.triple}", file=found)
    return found.getvalue()


def main(dist, *options):
    dist = Path(dist)
    if options == ("--all",) and (absent := missing(dist)):
        sys.exit(f"{dist} lacks:\n{absent}")
    targets = [target for target in TARGETS if (dist / target.archive).exists()]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for target in targets:
            unpack(dist / target.archive, work)
        binaries = {target: work / target.folder / target.program for target in targets}
        linux = [target for target in targets if target.system == "linux"]
        debian_packages(dist, linux, work)
        image.main(dist / f"khorovod-{VERSION}.oci.tar", *(f"{target.architecture}={binaries[target]}" for target in linux))
        npm_packages(dist, binaries)
        helm_packages(dist, binaries, work)
    bills(dist, targets)
    manifests(dist, targets)
    files = sorted(file for file in dist.iterdir() if file.name != "SHA256SUMS")
    (dist / "SHA256SUMS").write_text("".join(f"{sha256(file)}  {file.name}\n" for file in files))
    print(*(f"{file.stat().st_size:>9}  {file.name}" for file in files), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
