#!/usr/bin/env python3
"""Publishes a release like .github/workflows/release.yaml, to local servers, and installs what it has published.

replay.sh starts it, as root. HELM, ORAS, REGISTRY, KREW and MISE are the paths of these programs, SIGNING_KEY is a PGP key.

Each `run:` of the workflow runs as a user without rights, in a clone of this working tree in which the address is that of the local
servers. This user's HOME has the path of root's, so that compiled dependencies can be used again; it is another folder, in a mount
namespace. `gh` and `cosign` are replacements that check their arguments, because both need an account. The archives of targets that
this machine cannot build contain its own binary.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml
from registry import Registry
from servers import Server

ROOT = Path(__file__).resolve().parents[2]

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())
TAG = "v0.1.0"
USER = 65534
# Actions that need GitHub, and jobs that other stages test.
EXTERNAL = {"sigstore/cosign-installer", "actions/attest-build-provenance", "rust-lang/crates-io-auth-action", "actions/setup-node"}
EXTERNAL |= {"actions/upload-pages-artifact", "actions/deploy-pages"}
# Jobs that can run again after a failure in another job.
AGAIN = {"release", "npm"}
ELSEWHERE = {"book": "the stages web and site build the book; the release has a page in its place"}

# Makes HOME a folder of the user; root's compilers are visible in it.
ENTER = r"""
set -euo pipefail
if ((USER_ID == 0)); then exec bash --noprofile --norc -eo pipefail -c "$STEP"; fi
mount --bind -o ro "$COMPILERS" "$USER_HOME/.rustup"
mount --rbind "$USER_HOME" "$HOME"
exec setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups bash --noprofile --norc -eo pipefail -c "$STEP"
"""


class Replay:
    def __init__(self, work):
        self.work = work
        self.home, self.origin, self.artifacts = work / "home", work / "origin", work / "artifacts"
        self.server = Server(work / "server")
        self.outputs, self.ran, self.left = {}, 0, []

    def prepare(self, registry):
        """Clones the working tree with the addresses of the local servers, and fills the user's HOME."""
        self.artifacts.mkdir()
        copy_tree(ROOT, self.origin)
        git = ["git", "-C", self.origin, "-c", "user.name=test", "-c", "user.email=test@khorovod.invalid"]
        for command in (["init", "--quiet"], ["add", "."]):
            subprocess.run([*git, *command], check=True)
        program = self.origin / "dist/project.py"
        refused = subprocess.run([program, "check", TAG], capture_output=True, text=True, check=False)
        assert refused.returncode == 1 and "Cargo.toml contains khorovod.invalid" in refused.stderr, f"released without an address: {refused}"
        local = self.server.address, f"{self.server.address}/project/khorovod", f"{registry}/project", "maintainers@localhost.localdomain"
        subprocess.run([program, "address", *local], check=True, stdout=subprocess.DEVNULL)
        changelog = self.origin / "CHANGELOG.md"
        changelog.write_text(changelog.read_text().replace("] - unreleased", "] - 2026-01-01", 1))
        for command in (["add", "."], ["commit", "--quiet", "-m", "Release"], ["tag", TAG]):
            subprocess.run([*git, *command], check=True)
        self.server.receive_repository(self.origin)
        own(self.server.root)
        self.fill_home()

    def fill_home(self):
        source = Path.home()
        for name in (".cargo/bin", ".cargo/registry", ".npmrc", ".config/pip"):
            if (source / name).exists():
                (self.home / name).parent.mkdir(parents=True, exist_ok=True)
                subprocess.run(["cp", "-a", "--reflink=auto", source / name, self.home / name], check=True)
        (self.home / ".rustup").mkdir()
        cached = self.home / ".cache/khorovod"
        cached.mkdir(parents=True)
        for program in ("ORAS", "HELM"):
            folder = Path(os.environ[program]).parent
            shutil.copytree(folder, cached / folder.name)
        if (kept := ROOT / "target").exists():
            (self.home / "target").mkdir()
            # The targets, and what was built for this machine to build them: macros and build scripts.
            for part in [*kept.glob("*-*"), kept / "release", kept / "wasm"]:
                if part.exists():
                    subprocess.run(["cp", "-a", "--reflink=auto", part, self.home / "target"], check=True)
        npmrc = f"registry={self.server.address}/npm/\n//127.0.0.1:{self.server.port}/npm/:_authToken=test\n"
        (self.home / ".npmrc").write_text(npmrc)
        (self.home / "stubs").mkdir()
        for stub in (ROOT / "tests/dist/stubs").iterdir():
            shutil.copy(stub, self.home / "stubs")
        (self.home / "stubs/helm").symlink_to(os.environ["HELM"])
        own(self.home)

    def run(self, name, step, env, folder, as_root=False):
        """Runs the script of a step. Returns the outputs that it sets."""
        output = self.work / "output"
        output.write_text("")
        output.chmod(0o666)
        home = str(Path.home())
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("CARGO_TARGET", "XDG_", "PYENV"))},
            "PATH": f"{home}/stubs:{home}/.cargo/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "CARGO_TARGET_DIR": str(self.home / "target") if as_root else f"{home}/target",
            "SUDO_UID": str(USER),
            "GITHUB_REF_NAME": TAG,
            "GITHUB_ACTOR": "test",
            "GITHUB_OUTPUT": str(output),
            "UV_PUBLISH_URL": f"{self.server.address}/legacy/",
            "UV_PUBLISH_TOKEN": "test",
            "RELEASES": str(self.work / "server/releases"),
            "USER_HOME": str(self.home),
            "USER_ID": "0" if as_root else str(USER),
            "COMPILERS": str(Path.home() / ".rustup"),
            **env,
            "STEP": step,
        }
        done = subprocess.run(["unshare", "--mount", "bash", "-c", ENTER], cwd=folder, env=environment, stdin=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"the job {name} of release.yaml ends with {done.returncode} in this step:\n{step}")
        if as_root:
            own(self.home)
        self.ran += 1
        return dict(line.split("=", 1) for line in output.read_text().splitlines())

    def action(self, name, step, folder, values):
        """Does what an action of GitHub would do in this folder."""
        action, digest = step["uses"].split("@")
        assert re.fullmatch(r"[0-9a-f]{40}", digest), f"{step['uses']} is not pinned by a digest"
        given = {key: fill(value, values) for key, value in step.get("with", {}).items()}
        match action:
            case "actions/checkout":
                subprocess.run(["git", "clone", "--quiet", "--branch", TAG, self.origin, folder], check=True, capture_output=True)
            case "actions/upload-artifact":
                copy(folder / given["path"], self.artifacts / given["name"])
            case "actions/download-artifact":
                names = [given["name"]] if "name" in given else [path.name for path in self.artifacts.glob(given["pattern"])]
                for artifact in names:
                    copy(self.artifacts / artifact, folder / given["path"])
            case _:
                assert action in EXTERNAL, f"the replay does not have {action}"
                self.left.append(f"{name}: {action}")
        own(folder)

    def job(self, name):
        job = WORKFLOW["jobs"][name]
        assert job["permissions"] != "write-all" and "permissions" in job, f"{name} has all permissions"
        needed = job.get("needs", [])
        needs = {need: self.outputs[need] for need in ([needed] if isinstance(needed, str) else needed)}
        values = {"needs": needs, "steps": {}}
        if "strategy" in job:
            return self.targets(name, job, json.loads(needs["check"]["matrix"])["include"], values)
        self.steps(name, job, values)
        self.outputs[name] = {key: fill(value, values) for key, value in job.get("outputs", {}).items()}

    def targets(self, name, job, entries, values):
        """Runs the job for the target of this machine; writes substitutes for the others."""
        host = re.search(r"^host: (.*)$", subprocess.check_output(["rustc", "-vV"], text=True), re.M)[1]
        (own_entry,) = [entry for entry in entries if entry["target"] == host]
        folder = self.steps(name, job, {**values, "matrix": own_entry})
        binary = f"{Path.home()}/target/{host}/release/khorovod"
        (wheel,) = (self.artifacts / f"target-{host}").glob("*.whl")
        tags = {"aarch64-unknown-linux-gnu": "manylinux2014_aarch64", "x86_64-apple-darwin": "macosx_10_12_x86_64"}
        tags |= {"aarch64-apple-darwin": "macosx_11_0_arm64", "x86_64-pc-windows-msvc": "win_amd64"}
        for entry in entries:
            if (other := entry["target"]) != host:
                self.run(name, f'dist/pack.py "{binary}" {other} substitute', {}, folder)
                copy(folder / "substitute", self.artifacts / f"target-{other}")
                shutil.copy(wheel, self.artifacts / f"target-{other}" / f"{wheel.name.rsplit('-', 1)[0]}-{tags[other]}.whl")
                shutil.rmtree(folder / "substitute")
                self.left.append(f"{name}: the build for {other}")
        self.outputs[name] = {}

    def substitute_book(self):
        """Writes a book of few pages, as the job `book` would."""
        folder = self.artifacts / "target-book"
        folder.mkdir()
        text = "<!doctype html><html lang=en><head><title>khorovod</title></head><body><main><p>A book.</p></main></body></html>"
        with tarfile.open(folder / f"khorovod-{TAG[1:]}.book.tar.gz", "w:gz") as packed:
            for page in ("index.html", "404.html", "web/dist/index.html"):
                entry = tarfile.TarInfo(page)
                entry.size = len(text)
                packed.addfile(entry, io.BytesIO(text.encode()))
        self.outputs["book"] = {}

    def steps(self, name, job, values):
        folder = self.work / "jobs" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        own(folder)
        for step in job["steps"]:
            if "uses" in step:
                self.action(name, step, folder, values)
                values["steps"][step.get("id")] = {"outputs": {"token": "test"}}
                continue
            script, as_root = step["run"], False
            assert "${{" not in script, f"an expression in a script: {script}"
            if script.startswith("sudo --preserve-env"):
                script, as_root = script.replace('sudo --preserve-env env "PATH=$PATH" ', ""), True
            elif "sudo" in script:
                self.left.append(f"{name}: {script.strip()}")
                continue
            env = {key: fill(value, values) for key, value in step.get("env", {}).items()}
            values["steps"][step.get("id")] = {"outputs": self.run(name, script, env, folder, as_root)}
        return folder


def fill(text, values):
    """Replaces GitHub's expressions in a value."""

    def value(expression):
        path = expression[1].strip()
        if path == "steps.auth.outputs.token || secrets.CARGO_TOKEN":
            path = "steps.auth.outputs.token"
        if path in ("github.token", "secrets.NPM_TOKEN"):
            return "test"
        if path == "secrets.HELM_SIGNING_KEY":
            return os.environ["SIGNING_KEY"]
        found = values
        for key in path.split("."):
            found = found[key]
        return str(found)

    return re.sub(r"\$\{\{(.*?)\}\}", value, str(text))


def copy_tree(source, target):
    """Copies the files that git tracks or does not ignore."""
    names = subprocess.check_output(["git", "-C", source, "ls-files", "-coz", "--exclude-standard"], text=True).split("\0")
    for name in names:
        if name and (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name, follow_symlinks=False)


def copy(source, target):
    """Copies a file or the content of a folder into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    if source.is_file():
        shutil.copy2(source, target)
    else:
        shutil.copytree(source, target, dirs_exist_ok=True)


def own(path):
    """Gives a folder to the user."""
    subprocess.run(["chown", "--recursive", "--no-dereference", f"{USER}:{USER}", path], check=True)


def main():
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        work = Path(folder)
        work.chmod(0o755)
        with Registry(os.environ["REGISTRY"], work) as address:
            # ORAS uses HTTP with a server of this name only.
            registry = address.replace("127.0.0.1", "localhost")
            replay = Replay(work)
            replay.prepare(registry)
            for name in WORKFLOW["jobs"]:
                if name in ELSEWHERE:
                    replay.left.append(f"{name}: {ELSEWHERE[name]}")
                    replay.substitute_book()
                    continue
                print(f"-- the job {name}", flush=True)
                replay.job(name)
                if name in AGAIN:
                    replay.job(name)
            shutil.copytree(work / "jobs/site/target/site", work / "server/site")
            # The clone's copy of the test reads the pages with the local addresses.
            published = [sys.executable, replay.origin / "tests/dist/published.py", replay.server.address, registry, work]
            subprocess.run(published, check=True)
        print(f"{replay.ran} steps of release.yaml ran. Not here:", *replay.left, sep="\n  ")


if __name__ == "__main__":
    main()
