#!/usr/bin/env python3
"""The project's version, address and targets, for everything that packages it.

    project.py get NAME      prints version, homepage, repository, registry or downloads
    project.py matrix        prints the targets and GitHub's runners that build them, as JSON
    project.py check TAG     fails unless this checkout can be released as TAG
    project.py address HOMEPAGE REPOSITORY REGISTRY EMAIL
                             replaces the address of the project, in Cargo.toml and in the files that repeat it

Version and address are in Cargo.toml; the targets are in `RUNNERS` below.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import notes

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
PACKAGE = MANIFEST["workspace"]["package"]
VERSION = PACKAGE["version"]
HOMEPAGE = PACKAGE["homepage"]
REPOSITORY = PACKAGE["repository"]
REGISTRY = MANIFEST["workspace"]["metadata"]["release"]["registry"]
MAINTAINER = PACKAGE["authors"][0]
EMAIL = re.search("<(.*)>", MAINTAINER)[1]
SUMMARY = MANIFEST["package"]["description"]
LICENSE = PACKAGE["license"]
DOWNLOADS = f"{REPOSITORY}/releases/download/v{VERSION}"

# A domain that no server has (RFC 2606), in the place of the address until a maintainer owns one.
PLACEHOLDER = "khorovod.invalid"

# Each target and GitHub's runner that builds it.
RUNNERS = {
    "x86_64-unknown-linux-gnu": "ubuntu-24.04",
    "aarch64-unknown-linux-gnu": "ubuntu-24.04-arm",
    "x86_64-apple-darwin": "macos-15-intel",
    "aarch64-apple-darwin": "macos-15",
    "x86_64-pc-windows-msvc": "windows-2025",
}


@dataclass(frozen=True)
class Target:
    """A target of Rust, and its names elsewhere."""

    triple: str

    @property
    def system(self):
        """The operating system as Go, OCI and krew name it."""
        return next(name for part, name in (("linux", "linux"), ("apple", "darwin"), ("windows", "windows")) if part in self.triple)

    @property
    def architecture(self):
        """The processor as Go, OCI, krew and Debian name it."""
        return {"x86_64": "amd64", "aarch64": "arm64"}[self.triple.split("-")[0]]

    @property
    def node(self):
        """The operating system and the processor as Node.js names them."""
        return {"windows": "win32"}.get(self.system, self.system), {"amd64": "x64"}.get(self.architecture, self.architecture)

    @property
    def program(self):
        """The name of the binary."""
        return "khorovod.exe" if self.system == "windows" else "khorovod"

    @property
    def folder(self):
        """The folder in the archive."""
        return f"khorovod-{VERSION}-{self.triple}"

    @property
    def archive(self):
        """The file name of the archive. `package.metadata.binstall` in Cargo.toml has the same name."""
        return f"{self.folder}.{'zip' if self.system == 'windows' else 'tar.gz'}"


TARGETS = [Target(triple) for triple in RUNNERS]


def epoch():
    """Returns the time stamp of files in packages: SOURCE_DATE_EPOCH, or the time of the last commit."""
    known = os.environ.get("SOURCE_DATE_EPOCH")
    return int(known or subprocess.check_output(["git", "-C", ROOT, "log", "-1", "--format=%ct"]))


# The places that repeat the address, because they are read without this repository or contain commands to paste.
REPEATED = ("charts/", "schema/", "docs/install.md", "docs/helm.md")


def containing(text):
    """Returns the tracked files that contain a text, except tests, which use the placeholder as the name of a server."""
    command = ["git", "-C", ROOT, "grep", "-Il", "--fixed-strings", text, "--", ".", ":!tests", ":!dist/project.py"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


def placeholders():
    """Returns the files that contain the placeholder of the address."""
    return containing(PLACEHOLDER)


def repetitions():
    """Returns the files that contain a part of the address."""
    return sorted({file for part in (HOMEPAGE, REPOSITORY, REGISTRY, EMAIL) for file in containing(part)})


def copies():
    """Returns the files that repeat the address, although they could read Cargo.toml."""
    return [file for file in repetitions() if file != "Cargo.toml" and not file.startswith(REPEATED)]


def move(*address):
    """Replaces the homepage, the repository, the registry and the email address of the project in all files."""
    parts = dict(zip((HOMEPAGE, REPOSITORY, REGISTRY, EMAIL), address, strict=True))
    # The repository may begin with the homepage.
    pattern = re.compile("|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True)))
    for file in repetitions():
        text = (ROOT / file).read_text(encoding="utf-8")
        (ROOT / file).write_text(pattern.sub(lambda found: parts[found[0]], text), encoding="utf-8")
        print(file)


def check(tag):
    """Yields the reasons why this checkout cannot be released as a tag."""
    if tag != f"v{VERSION}":
        yield f"the tag is {tag}, and Cargo.toml has the version {VERSION}"
    for file in placeholders():
        yield f"{file} contains {PLACEHOLDER}, which is not an address"
    try:
        notes.section(VERSION)
    except notes.Missing as missing:
        yield str(missing)


def main(command, *arguments):
    match command, arguments:
        case "get", [name]:
            print(globals()[name.upper()])
        case "matrix", []:
            print(json.dumps({"include": [{"target": triple, "runner": runner} for triple, runner in RUNNERS.items()]}))
        case "address", [_, _, _, _]:
            move(*arguments)
        case "check", [tag]:
            wrong = list(check(tag))
            print("\n".join(wrong) if wrong else f"{tag} can be released", file=sys.stderr)
            return bool(wrong)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
