#!/usr/bin/env python3
"""Installs what a replay has published, with each package manager that runs here: published.py ADDRESS REGISTRY WORK

ADDRESS is that of the local server and REGISTRY that of the OCI registry; WORK has the server's files. HELM, ORAS, KREW and MISE are
the paths of these programs, and PROGRAMS is a folder with those of page.py; npm, ruby and git are in PATH. The commands of
docs/install.md and docs/helm.md run on copies of this system.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import page

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "dist")]
from checks import check  # noqa: E402
from project import TARGETS  # noqa: E402

VERSION = "0.1.0"
SAYS = f"khorovod {VERSION}\n"
JOB = (ROOT / "examples/smallest/job.yaml").read_text()


class Place:
    """A user with an empty HOME. `run` returns the standard output of a command that must succeed."""

    def __init__(self, home):
        self.home = home
        home.mkdir()
        kept = {"LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}
        self.env = {name: value for name, value in os.environ.items() if name in kept}
        self.env |= {"HOME": str(home), "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def run(self, *command, stdin="", folder=None, fails=False, **env):
        done = subprocess.run(command, input=stdin, text=True, capture_output=True, cwd=folder or self.home, env=self.env | env)
        check((done.returncode != 0) == fails, " ".join(map(str, command))[:100], done.stdout + done.stderr)
        return done.stdout


def downloads(server):
    """The files of the release are complete, and the manifests have the checksums of all archives."""
    files = {file.name: file.read_bytes() for file in (server / "releases").iterdir()}
    listed = dict(reversed(line.split("  ")) for line in files.pop("SHA256SUMS").decode().splitlines())
    check("SHA256SUMS.sigstore.json" in files, "the checksums are signed")
    del files["SHA256SUMS.sigstore.json"]
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    check(listed == sums, "SHA256SUMS has each file of the release", sums)
    for name, targets in {"khorovod.yaml": TARGETS, "khorovod.rb": [target for target in TARGETS if target.system != "windows"]}.items():
        text = files[name].decode()
        check(all(target.archive in text and sums[target.archive] in text for target in targets), f"{name} has all targets", text)
    notes = (server / "notes.md").read_text()
    check(notes.startswith("The first version.") and "## " not in notes, "the notes are those of this version", notes)


def krew(place, address):
    manifest = place.home / "khorovod.yaml"
    manifest.write_text(place.run("curl", "-fsS", f"{address}/project/khorovod/releases/download/v{VERSION}/khorovod.yaml"))
    place.run(os.environ["KREW"], "install", f"--manifest={manifest}")
    check(place.run(place.home / ".krew/bin/kubectl-khorovod", "--version") == SAYS, "krew installs the plugin from its URL")


def homebrew(place, address):
    """A replacement for Homebrew evaluates the formula for each system, and installs that for this one."""
    formula = place.home / "khorovod.rb"
    formula.write_text(place.run("curl", "-fsS", f"{address}/project/khorovod/releases/download/v{VERSION}/khorovod.rb"))
    for system, processor in (("macos", "arm"), ("macos", "intel"), ("linux", "arm")):
        place.run("ruby", ROOT / "tests/dist/formula.rb", formula, system, processor)
    place.run("ruby", ROOT / "tests/dist/formula.rb", formula, "linux", "intel", place.home / "brew")
    check(place.run(place.home / "brew/bin/khorovod", "--version") == SAYS, "the formula installs the binary")
    check((place.home / "brew/zsh_completion/_khorovod").exists(), "and completions")


def npm(place, address):
    (place.home / ".npmrc").write_text(f"registry={address}/npm/\n")
    project = place.home / "project"
    project.mkdir()
    place.run("npm", "init", "--yes", folder=project)
    place.run("npm", "install", "khorovod", folder=project)
    installed = sorted(path.name for path in (project / "node_modules").glob("khorovod*"))
    check(installed == ["khorovod", "khorovod-linux-x64"], "npm installs the binary of this system only", installed)
    check(place.run("npx", "khorovod", "--version", folder=project) == SAYS, "npx runs it")
    place.run("npx", "khorovod", "validate", "-", stdin=JOB.replace("gpus", "gpu"), folder=project, fails=True)
    check("kind: StatefulSet" in place.run("npx", "khorovod", "render", "-", "--no-keys", stdin=JOB, folder=project), "with its input")


def pypi(place, address):
    place.run("/usr/bin/python3", "-m", "venv", "venv")
    pip = place.home / "venv/bin/pip"
    place.run(pip, "install", "--index-url", f"{address}/simple/", "khorovod")
    check(place.run(place.home / "venv/bin/khorovod", "--version") == SAYS, "pip installs the wheel")
    shown = place.run(pip, "show", "--verbose", "khorovod")
    check(f"Source Code, {address}/project/khorovod" in shown, "which names the repository", shown)


def site(place, address):
    """The site has the schema at its `$id`, a Helm repository, and the earlier version that the stub of gh has."""
    schema = json.loads(place.run("curl", "-fsS", f"{address}/schema/training-job.v1alpha1.schema.json"))
    check(schema["$id"] == f"{address}/schema/training-job.v1alpha1.schema.json", "the schema is at its $id", schema["$id"])
    place.run(os.environ["HELM"], "repo", "add", "khorovod", f"{address}/charts")
    place.run(os.environ["HELM"], "pull", "khorovod/training-job", "--version", VERSION)
    packed = (place.home / f"training-job-{VERSION}.tgz").read_bytes()
    listed = place.run("curl", "-fsS", f"{address}/packages/v{VERSION}/SHA256SUMS")
    check(f"{hashlib.sha256(packed).hexdigest()}  training-job-{VERSION}.tgz" in listed, "the Helm repository has the chart of the release")
    versions = json.loads(place.run("curl", "-fsS", f"{address}/versions.json"))
    check(versions == {"newest": VERSION, "versions": [VERSION, "0.0.9"]}, "the site has the versions", versions)
    check("Read the newest version" in place.run("curl", "-fsS", f"{address}/v0.0.9/index.html"), "and marks the earlier one")


def mise(place, address):
    """mise chooses among the files of the release, and it also runs the plugin for asdf."""
    config = f'[tools]\n"github:project/khorovod" = {{ version = "{VERSION}", api_url = "{address}/api" }}\n'
    (place.home / "one").mkdir()
    (place.home / "one/mise.toml").write_text(config)
    env = {"MISE_YES": "1", "MISE_TRUSTED_CONFIG_PATHS": str(place.home)}
    place.run(os.environ["MISE"], "install", folder=place.home / "one", **env)
    check(place.run(os.environ["MISE"], "exec", "--", "khorovod", "--version", folder=place.home / "one", **env) == SAYS, "mise installs the archive")
    plugin = place.home / "asdf-khorovod"
    plugin.mkdir()
    archive = place.home / "asdf-khorovod.tar.gz"
    place.run("curl", "-fsS", "-o", archive, f"{address}/project/khorovod/releases/download/v{VERSION}/asdf-khorovod.tar.gz")
    place.run("tar", "-xzf", archive, "-C", plugin)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@khorovod.invalid"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Plugin"]):
        place.run(*git, *command, folder=plugin)
    place.run(os.environ["MISE"], "plugin", "install", "khorovod", f"file://{plugin}", **env)
    said = place.run(os.environ["MISE"], "exec", f"khorovod@{VERSION}", "--", "khorovod", "--version", **env)
    check(said == SAYS, "the plugin for asdf installs the archive", said)


def registry(place, registry, server):
    """Helm installs the signed plugins from the registry and pulls the signed chart; the image is there for both processors."""
    helm, oras, keyring = os.environ["HELM"], os.environ["ORAS"], server / "releases/khorovod-keyring.gpg"
    oci = f"oci://{registry}/project"
    for plugin in ("khorovod", "khorovod-post-render"):
        source = f"{oci}/plugins/{plugin}:{VERSION}"
        place.run(helm, "plugin", "install", source, "--plain-http", "--keyring", "/dev/null", fails=True)
        path = f"{place.home}/venv/bin:{place.env['PATH']}"
        place.run(helm, "plugin", "install", source, "--plain-http", "--keyring", keyring, PATH=path)
    check("kind: StatefulSet" in place.run(helm, "khorovod", "render", "--no-keys", stdin=JOB), "helm khorovod renders")
    place.run(helm, "pull", f"{oci}/charts/training-job", "--version", VERSION, "--plain-http", "--verify", "--keyring", keyring)
    check((place.home / f"training-job-{VERSION}.tgz").exists(), "the chart's signature is that of its package")
    place.run(helm, "lint", f"training-job-{VERSION}.tgz")
    index = json.loads(place.run(oras, "manifest", "fetch", "--plain-http", f"{registry}/project/khorovod:{VERSION}"))
    processors = [manifest["platform"]["architecture"] for manifest in index["manifests"]]
    check(processors == ["amd64", "arm64"], "the image is there for both processors", processors)
    signed = (server / "signed").read_text().splitlines()
    check(len(signed) == 4, "four artifacts of the registry are signed", signed)
    for name, digest in (line.split("@") for line in signed):
        check(place.run(oras, "resolve", "--plain-http", f"{name}:{VERSION}").strip() == digest, f"with the digest of {name}", digest)


def commands(address, registry, work):
    """Runs the commands with which the docs install a release. Helm's test registry has no TLS, so a wrapper adds an option."""
    programs = Path(os.environ["PROGRAMS"])
    (programs / "cosign").write_text((ROOT / "tests/dist/stubs/cosign").read_text())
    (programs / "helm").write_text(f'#!/bin/sh\n[ "$1 $2" != "plugin install" ] || set -- "$@" --plain-http\nexec {os.environ["HELM"]} "$@"\n')
    for name in ("cosign", "helm"):
        (programs / name).chmod(0o755)
    os.environ["REGISTRY_ADDRESS"] = registry
    variables = [f"PIP_INDEX_URL={address}/simple/", f"npm_config_registry={address}/npm/", f"RELEASE_REPOSITORY={address}/project/khorovod"]
    printed = {"docs/install.md": SAYS, "docs/helm.md": ""}
    for name, expected in printed.items():
        ran = 0
        if name == "docs/helm.md":
            archive = work / "jobs/release/release" / next(target.archive for target in TARGETS if target.triple.startswith(f"{platform.machine()}-unknown"))
            subprocess.run(["tar", "-xzf", archive, "-C", programs, "--strip-components=1", "--wildcards", "*/khorovod"], check=True)
        for block, code, output in page.run(ROOT / name, "published", platform.machine(), *variables):
            verifies = "cosign" in block.text
            check(code == 0 and (expected in output or verifies), f"{name}:{block.line} installs from the release", output)
            ran += 1
        check(ran >= (7 if name == "docs/install.md" else 2), f"{name} has commands that install a release")


def main(address, registry_address, work):
    server = Path(work) / "server"
    place = Place(Path(work) / "user")
    downloads(server)
    pypi(place, address)
    npm(place, address)
    krew(place, address)
    homebrew(place, address)
    registry(place, registry_address, server)
    mise(place, address)
    site(place, address)
    commands(address, registry_address, Path(work))
    print("\n".join([*check.wrong, f"published: {check.count} checks, {len(check.wrong)} failed"]))
    return bool(check.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
