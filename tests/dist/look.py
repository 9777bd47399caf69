#!/usr/bin/env python3
"""Checks the content of the packages without installing them: look.py FOLDER. The folder has the packages of one target or more."""

import gzip
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "dist"))
import npm  # noqa: E402
from project import DOWNLOADS, HOMEPAGE, MAINTAINER, MANIFEST, REPOSITORY, TARGETS, VERSION  # noqa: E402

COMMANDS = """
    completions diff doctor explain fix fmt import init keygen krm list logs man plan post-render render run schema status stop
    validate version wait
""".split()
PAGES = {"khorovod.1", *(f"khorovod-{command}.1" for command in COMMANDS)}


def names(archive):
    for entry in archive:
        assert entry.uid == entry.gid == 0 and not entry.uname, f"{entry.name} has the name of a user"
    return {entry.name.removeprefix("./").rstrip("/") for entry in archive if not entry.isdir()}


def archive(file, target):
    wanted = {target.program, "README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", *(f"man/{page}" for page in PAGES)}
    wanted |= {f"completions/{name}" for name in ("khorovod.bash", "_khorovod", "khorovod.fish", "khorovod.ps1")}
    wanted = {f"{target.folder}/{name}" for name in wanted}
    if file.suffix == ".zip":
        packed = zipfile.ZipFile(file)
        held, readme = set(packed.namelist()), packed.read(f"{target.folder}/README.md").decode()
    else:
        with tarfile.open(file) as packed:
            held, readme = names(packed), packed.extractfile(f"{target.folder}/README.md").read().decode()
    assert held == wanted, held ^ wanted
    links = re.findall(r"\]\(([^)]*)\)", readme)
    assert links and all(link.startswith((REPOSITORY, "https:", "#")) for link in links), links


def debian(package):
    # Uses ar, because not every system has dpkg.
    assert subprocess.run(["ar", "t", package], check=True, capture_output=True, text=True).stdout.split() == [
        "debian-binary", "control.tar.gz", "data.tar.gz"
    ]  # fmt: skip

    def part(name):
        data = subprocess.run(["ar", "p", package, f"{name}.tar.gz"], check=True, capture_output=True).stdout
        return tarfile.open(fileobj=io.BytesIO(data))

    held = names(part("data"))
    assert {f"usr/share/man/man1/{page}.gz" for page in PAGES} <= held and "usr/share/doc/khorovod/copyright" in held, held
    control = part("control").extractfile("./control").read().decode()
    assert f"\nMaintainer: {MAINTAINER}\nHomepage: {HOMEPAGE}\n" in control, control


def binstall(target):
    """The names in Cargo.toml are those of the archives."""
    facts = MANIFEST["package"]["metadata"]["binstall"]
    libraries = [target.triple, *([target.triple.replace("gnu", "musl")] if target.system == "linux" else [])]
    for triple in libraries:
        ours = {**facts, **facts["overrides"].get(triple, {})}
        values = {"repo": REPOSITORY, "version": VERSION, "target": triple, "target-arch": triple.split("-")[0], "bin": "khorovod"}
        values["binary-ext"] = target.program.removeprefix("khorovod")
        fill = lambda text: re.sub(r"\{ ([\w-]+) \}", lambda name: values[name[1]], text)  # noqa: B023, E731
        assert fill(ours["pkg-url"]) == f"{DOWNLOADS}/{target.archive}", triple
        assert fill(ours["bin-dir"]) == f"{target.folder}/{target.program}", triple
        assert {"tgz": ".tar.gz", "zip": ".zip"}[ours["pkg-fmt"]] == target.archive.removeprefix(target.folder), triple


def krew(folder, targets):
    text = (folder / "khorovod.yaml").read_text()
    assert f"version: v{VERSION}" in text and text.count("sha256: ") == len(targets), text
    short = re.search(r"shortDescription: (.*)", text)[1]
    assert len(short) <= 50, f"krew refuses more than 50 letters: {short}"


def bill(file):
    found = json.loads(file.read_text())
    parts = {package["name"] for package in found["packages"]}
    assert {"khorovod", "clap", "granit-parser", "ssh-key"} <= parts and not parts & {"insta", "k8s-openapi", "serde_derive"}, parts
    unhashed = {package["name"] for package in found["packages"] if "checksums" not in package}
    assert unhashed == {"khorovod", "khorovod-compiler", "khorovod-import"}, unhashed
    known = {package["SPDXID"] for package in found["packages"]} | {"SPDXRef-DOCUMENT"}
    assert all({link["spdxElementId"], link["relatedSpdxElement"]} <= known for link in found["relationships"])


def wheel(file, target, binary):
    packed = zipfile.ZipFile(file)
    assert packed.read(f"khorovod-{VERSION}.data/scripts/khorovod") == binary, f"{file.name} does not have the binary of {target.archive}"
    module = {f"khorovod/{path.name}" for path in (ROOT / "dist/python/khorovod").iterdir() if path.is_file()}
    assert "khorovod/py.typed" in module and module <= set(packed.namelist()), module - set(packed.namelist())
    metadata = packed.read(f"khorovod-{VERSION}.dist-info/METADATA").decode()
    assert f"Project-URL: Homepage, {HOMEPAGE}" in metadata and "License: Apache-2.0 OR MIT" in metadata, metadata


def tgz(file):
    with gzip.open(file) as text, tarfile.open(fileobj=text) as packed:
        return names(packed)


def packages(folder, targets):
    held = tgz(folder / f"khorovod-npm-{VERSION}.tgz")
    assert {"package/package.json", "package/bin/khorovod.js"} <= held, held
    for target in targets:
        assert f"package/bin/{target.program}" in tgz(folder / f"{npm.name(target)}-npm-{VERSION}.tgz"), target
    assert "khorovod/plugin.wasm" in tgz(folder / f"khorovod-{VERSION}.tgz")
    assert "khorovod-post-render/plugin.yaml" in tgz(folder / f"khorovod-post-render-{VERSION}.tgz")
    chart = tgz(folder / f"training-job-{VERSION}.tgz")
    assert "training-job/Chart.yaml" in chart and not [name for name in chart if name.startswith("training-job/ci/")], chart
    for target in targets:
        # Helm 3 requires plugin.yaml at the root of the archive.
        if target.system != "windows":
            assert {"plugin.yaml", "bin/khorovod"} <= tgz(folder / f"khorovod-helm3-{VERSION}-{target.triple}.tgz"), target


def main(folder):
    folder = Path(folder)
    targets = [target for target in TARGETS if (folder / target.archive).exists()]
    assert targets, f"no archives in {folder}"
    for target in targets:
        archive(folder / target.archive, target)
        binstall(target)
        bill(folder / f"{target.folder}.spdx.json")
        if target.system == "linux":
            debian(folder / f"khorovod_{VERSION}_{target.architecture}.deb")
    krew(folder, targets)
    packages(folder, targets)
    download = (ROOT / "dist/asdf/bin/download").read_text()
    assert all(target.triple in download for target in TARGETS if target.system != "windows"), "asdf's plugin lacks a target"
    (native,) = [target for target in targets if f"host: {target.triple}\n" in subprocess.check_output(["rustc", "-vV"], text=True)]
    with tarfile.open(folder / native.archive) as packed:
        binary = packed.extractfile(f"{native.folder}/{native.program}").read()
    (file,) = [file for file in folder.glob("*.whl") if "musllinux" in file.name]
    wheel(file, native, binary)
    print(f"the packages for {len(targets)} targets")


if __name__ == "__main__":
    main(*sys.argv[1:])
