"""Renders a chart that contains a TrainingJob with Helm 3 and Helm 4: main.py BINARY HELM3 HELM4"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
from checks import check, on_terminal  # noqa: E402

SEED = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
JOB, OTHERS = "# Source: training/templates/job.yaml\n", "# Source: training/templates/others.yaml\n"
KINDS = ["NetworkPolicy", "ServiceAccount", "Secret", "ConfigMap", "Service", "ConfigMap", "Role", "RoleBinding"]
KINDS += ["StatefulSet", "Job"]


class Helm:
    """One Helm with its own home folder, and with `khorovod` in PATH."""

    def __init__(self, helm, binary, home):
        self.helm, self.home = helm, Path(home)
        (self.home / "bin").mkdir()
        (self.home / "bin/khorovod").symlink_to(Path(binary).resolve())
        self.env = {"HOME": home, "PATH": f"{home}/bin:{os.environ['PATH']}", "KHOROVOD_SSH_SEED": SEED}
        self.said = self.home / ".local/state/khorovod/post-render.txt"

    def run(self, *args, **env):
        command = [self.helm, *map(str, args)]
        return subprocess.run(command, env={**self.env, **env}, capture_output=True, text=True, check=False)

    def template(self, *args, **env):
        return self.run("template", "mnist", HERE / "chart", "--namespace", "ml", *args, **env)


def documents(text, source):
    """The documents of one template."""
    return [part for part in re.split(r"^---\n", text, flags=re.M) if part.startswith(source)]


def kinds(parts):
    return [re.search(r"^kind: (\w+)", part, re.M).group(1) for part in parts]


def helm3(helm):
    ours = ["--post-renderer", "khorovod", "--post-renderer-args", "post-render"]
    plain, done = helm.template(), helm.template(*ours)
    check(done.returncode == 0, "Helm 3 runs", done.stderr)
    check(kinds(documents(done.stdout, JOB)) == KINDS, "Helm 3 has all objects, in order", done.stdout)
    # All bytes except those of the TrainingJob are the chart's.
    parts = re.split(r"^---\n", done.stdout, flags=re.M)
    objects = "---\n".join(part for part in parts if part.startswith(JOB))
    (job,) = documents(plain.stdout, JOB)
    check(plain.stdout.replace(job, objects) == done.stdout, "Helm 3: other documents pass", done.stdout)
    shown = helm.template(*ours, "--show-only", "templates/job.yaml")
    check(kinds(documents(shown.stdout, JOB)) == KINDS, "Helm 3 finds the objects by their template", shown.stderr)
    strict = helm.template(*ours, "--post-renderer-args", "--no-keys")
    check("kind: Secret" not in strict.stdout and strict.returncode == 0, "Helm 3 hands options on", strict.stderr)
    failed = helm.template(*ours, "--set", "gpus=-1")
    check(failed.returncode == 1 and not failed.stdout, "Helm 3 stops", failed.stdout)
    check("error[out-of-range]" in failed.stderr, "Helm 3 shows what is wrong", failed.stderr)
    check("(training/templates/job.yaml):" in failed.stderr, "and in which template", failed.stderr)


def helm4(helm):
    installed = helm.run("plugin", "install", ROOT / "plugin/helm4-post-renderer")
    check(installed.returncode == 0, "the plugin installs", installed.stderr)
    check("post-render.txt" in installed.stdout, "and prints where messages are", installed.stdout)
    missing = helm.run("plugin", "install", ROOT / "plugin/helm4-post-renderer", PATH="/nowhere", HELM_PLUGINS=helm.home / "x")
    check(missing.returncode != 0 and "khorovod" in missing.stderr, "and reports that khorovod is missing", missing.stderr)
    # Helm 4 reformats the input of post-renderers: the output is compared with that of a post-renderer that changes nothing.
    same = helm.home / ".local/share/helm/plugins/same"
    same.mkdir(parents=True)
    text = (ROOT / "plugin/helm4-post-renderer/plugin.yaml").read_text()
    text = re.sub(r"  platformHooks:.*", "", text, flags=re.S).replace("name: khorovod-post-render", "name: same")
    (same / "plugin.yaml").write_text(text.replace("command: khorovod", "command: cat").replace("args: [post-render]", ""))
    ours = ["--post-renderer", "khorovod-post-render"]
    plain, done = helm.template("--post-renderer", "same"), helm.template(*ours)
    check(done.returncode == 0 and not done.stderr, "Helm 4 runs", done.stderr)
    found = documents(done.stdout, JOB)
    check(sorted(kinds(found)) == sorted(KINDS), "Helm 4 has the template of each object", done.stdout)
    check("postrenderer.helm.sh" not in done.stdout, "Helm 4 takes its annotation back", done.stdout)
    others = documents(plain.stdout, OTHERS)
    check(len(others) == 3 and documents(done.stdout, OTHERS) == others, "Helm 4: other documents pass", done.stdout)
    shown = helm.template(*ours, "--show-only", "templates/job.yaml")
    check(len(documents(shown.stdout, JOB)) == len(KINDS), "Helm 4 finds the objects by their template", shown.stderr)
    bare = helm.template(*ours, "--post-renderer-args", "--no-keys")
    check("kind: Secret" not in bare.stdout and bare.returncode == 0, "Helm 4 hands options on", bare.stderr)
    for args, why in [
        (["--set", "gpus=-1"], "error[out-of-range]"),
        (["--set", "annotations.helm\\.sh/hook=test"], "error[job-is-hook]"),
        (["--post-renderer-args", "post-render"], "unexpected argument 'post-render'"),
    ]:
        failed = helm.template(*ours, *args)
        check(failed.returncode == 1 and not failed.stdout, f"Helm 4 stops: {why}", failed.stdout)
        check(helm.said.exists() and why in helm.said.read_text(), f"what Helm 4 hides is kept: {why}", failed.stderr)
    check(str(helm.said) in on_terminal([helm.helm, "template", "mnist", HERE / "chart", *ours, "--set", "gpus=-1"], helm.env), "a terminal shows where")
    helm.template(*ours)
    check(not helm.said.exists(), "and it is gone once all is well")


def main(binary, *helms):
    for helm, judge in zip(helms, (helm3, helm4)):
        with tempfile.TemporaryDirectory(prefix="khorovod-helm-") as home:
            judge(Helm(helm, binary, home))
    print("\n".join([*check.wrong, f"{check.count - len(check.wrong)} passed, {len(check.wrong)} failed"]))
    return bool(check.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
