"""Renders the chart with each Helm, without a cluster: chart.py BINARY HELM...

The chart's values files for the examples must render to the same objects as `khorovod render` of the examples.
"""
import glob
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from main import ROOT, SEED, Helm, check

CHART = ROOT / "charts/training-job"
# The Kubernetes version. A Helm that is built from source assumes a very old one by default.
CLUSTER = ["--kube-version", "1.34.3"]
METADATA = yaml.safe_load((CHART / "Chart.yaml").read_text())
STORED = "khorovod.dev/spec"
# In the order of Helm, which sorts maps.
LABELS = {"app.kubernetes.io/version": METADATA["appVersion"], "helm.sh/chart": f"training-job-{METADATA['version']}"}


def objects(text):
    """Objects by kind and name, without hooks and the objects of `helm test`."""
    found = [with_spec(each) for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in found
            if "helm.sh/hook" not in each["metadata"].get("annotations", {})
            and each["metadata"].get("labels", {}).get("app.kubernetes.io/component") != "test"}


def with_spec(item):
    """The object with its stored spec as a map, because Helm sorts maps, and with `image` as a map, as the chart writes it."""
    annotations = item["metadata"].get("annotations", {})
    if STORED in annotations:
        job = annotations[STORED] = json.loads(annotations[STORED])
        image = job["spec"]["image"]
        job["spec"]["image"] = {"name": image} if isinstance(image, str) else image
    return item


def hooks(text):
    return [each for each in yaml.load_all(text, yaml.CSafeLoader)
            if each and "helm.sh/hook" in each["metadata"].get("annotations", {})]


def rendered(binary, job, overlay):
    """The objects of `khorovod render` for an example, with the namespace and labels of the chart. Helm sorts maps."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(overlay, file)
        file.flush()
        done = subprocess.run([binary, "render", "-q", "-", "--overlay", file.name], input=json.dumps(job, sort_keys=True),
                              capture_output=True, text=True, env={"KHOROVOD_SSH_SEED": SEED}, check=False)
    return objects(done.stdout)


def examples(helm, binary, post):
    """The chart adds a namespace, three labels, and the name of the Secret that its hook creates. Everything else is the same."""
    count = 0
    for path in sorted(glob.glob(f"{ROOT}/examples/*/job.yaml")):
        name, job = Path(path).parent.name, yaml.safe_load(Path(path).read_text())
        release, space = job["metadata"]["name"], job["metadata"].get("namespace", "ml")
        values = CHART / "examples" / f"{name}.yaml"
        done = helm.run("template", release, CHART, "-n", space, "-f", values, *CLUSTER, *post)
        labels = {"app.kubernetes.io/instance": release, **LABELS}
        overlay = {"metadata": {"namespace": space, "labels": labels}}
        own = "secretName" not in job["spec"].get("ssh", {}) and job["spec"].get("launcher") not in ("torchrun", "jax", "tensorflow")
        if own:
            overlay["spec"] = {"ssh": {"secretName": f"{release}-ssh"}}
        same = done.returncode == 0 and objects(done.stdout) == rendered(binary, job, overlay)
        check(same, f"{helm.name}: {name} renders as its example", done.stderr)
        kinds = {each["kind"] for each in hooks(done.stdout)}
        check(("Job" in kinds) == own, f"{helm.name}: {name} makes keys where it needs them", str(kinds))
        secrets = {volume["secret"]["secretName"] for each in hooks(done.stdout) if each["kind"] == "Pod"
                   for volume in each["spec"]["volumes"] if "secret" in volume}
        given = job["spec"].get("ssh", {}).get("secretName")
        expected = {f"{release}-ssh"} if own else {given} - {None}
        check(secrets == expected, f"{helm.name}: {name}: the Secret of `helm test`", str(secrets))
        if helm.name.startswith("helm-v3"):
            lint = helm.run("lint", "--strict", CHART, "-f", values, *CLUSTER)
            check(lint.returncode == 0, f"{helm.name}: lint of {name}", lint.stdout + lint.stderr)
        count += 1
    check(count >= 25, f"{count} examples")


SPEC = {"command": ["a"], "workers": {"replicas": 2}}
IMAGE = {"repository": "acme/mnist", "tag": "1.4"}


def made(helm, **values):
    """The rendered objects, Helm's error output and the rendered text for some values."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"spec": SPEC, **values}, file)
        file.flush()
        done = helm.run("template", "mnist", CHART, "-n", "ml", "-f", file.name, *CLUSTER)
    return (objects(done.stdout) if done.returncode == 0 else {}), done.stderr, done.stdout


def conveniences(helm):
    """Values outside `spec` are merged into it, or rejected."""
    def job(**values):
        found, said, _ = made(helm, **values)
        return next((each for (kind, _), each in found.items() if kind == "TrainingJob"), {"spec": {}, "metadata": {}}), said

    said = ""

    def holds(what, is_, should):
        check(is_ == should, f"{helm.name}: {what}", f"{is_!r}, not {should!r}; {said}")

    given, said = job(
        image={**IMAGE, "registry": "ghcr.io", "digest": "sha256:" + "0" * 64, "pullSecrets": ["a"]},
        **{"global": {"imagePullSecrets": [{"name": "b"}, "a"], "other": 1}}, nodeSelector={"pool": "a"},
        tolerations=[{"key": "k", "operator": "Exists"}], priorityClassName="high", schedulerName="mine",
        affinity={"podAffinity": {}}, serviceAccount={"name": "trainer"}, existingSecret="keys", nameOverride="two",
        extraEnv=[{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        commonLabels={"team": "vision"}, commonAnnotations={"a/b": "c"},
    )
    holds("the spec", given["spec"], {
        **SPEC, "image": {"name": "ghcr.io/acme/mnist:1.4", "digest": "sha256:" + "0" * 64, "pullSecrets": ["a", "b"]},
        "placement": {"nodeSelector": {"pool": "a"}, "tolerations": [{"key": "k", "operator": "Exists"}],
                      "affinity": {"podAffinity": {}}, "priorityClassName": "high"},
        "scheduling": {"schedulerName": "mine"}, "security": {"serviceAccountName": "trainer"}, "ssh": {"secretName": "keys"},
        "env": {"A": "1", "B": {"secretKeyRef": {"name": "s", "key": "k"}}}})
    holds("the metadata", given["metadata"], {
        "name": "mnist-two", "namespace": "ml", "annotations": {"a/b": "c"}, "labels": {
            "app.kubernetes.io/instance": "mnist", **LABELS, "team": "vision"}})
    mirror = {"imageRegistry": "mirror.example.com:5000"}
    given, said = job(image={**IMAGE, "registry": "ghcr.io"}, **{"global": mirror})
    holds("a registry for all", given["spec"].get("image"), {"name": "mirror.example.com:5000/acme/mnist:1.4"})
    given, said = job(image=IMAGE, fullnameOverride="other")
    holds("another name", (given["metadata"].get("name"), given["spec"].get("ssh")), ("other", {"secretName": "other-ssh"}))
    given, said = job(image=IMAGE, test=None, hooks=None, serviceAccount=None, commonLabels=None)
    holds("defaults taken away", given["spec"], job(image=IMAGE)[0]["spec"])
    found, said, text = made(helm, image=IMAGE, extraDeploy=[
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}-a'}",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}])
    holds("more objects", sorted(found), [("ConfigMap", "b"), ("ConfigMap", "mnist-a"), ("TrainingJob", "mnist")])
    spec = {**SPEC, "image": "a:1"}
    for what, values, why in [
        ("two images", {"image": IMAGE, "spec": spec}, "image.repository and spec.image are the same setting"),
        ("a tag alone", {"image": {"tag": "2"}, "spec": spec}, "image.tag requires image.repository"),
        ("a registry alone", {"global": mirror, "spec": spec}, "global.imageRegistry requires image.repository"),
        ("no image", {}, "the image is missing"),
        ("a spec without a line", {"image": IMAGE, "spec": None}, "spec.workers is missing"),
        ("two selectors", {"image": IMAGE, "nodeSelector": {"a": "b"}, "spec": {**SPEC, "placement": {"nodeSelector": {"a": "b"}}}},
         "nodeSelector and spec.placement.nodeSelector are the same setting"),
        ("two Secrets", {"image": IMAGE, "existingSecret": "a", "spec": {**SPEC, "ssh": {"secretName": "b"}}},
         "existingSecret and spec.ssh.secretName are the same setting"),
        ("two values", {"image": IMAGE, "extraEnv": [{"name": "A", "value": "1"}], "spec": {**SPEC, "env": {"A": "2"}}},
         "A is set twice, in extraEnv and spec.env"),
        ("a value of another chart", {"image": IMAGE, "replicaCount": 3}, "replicaCount"),
        ("a mistyped field", {"image": IMAGE, "spec": {**SPEC, "comand": ["a"]}}, "comand"),
        ("too many GPUs", {"image": IMAGE, "spec": {"workers": {"replicas": 1, "gpus": 65}}}, "64"),
    ]:
        _, said, _ = made(helm, **values)
        check(why in said, f"{helm.name} refuses {what}", said)
    nasty = {"a.py": "print('{{ .Release }}')\n  # odd \n\n\ttab", "b": "yes", "c": "0777\n", "d": " x\n y\n"}
    given, said = job(image=IMAGE, spec={**SPEC, "env": {"A": "on", "B": "1e3", "C": "1:30"}, "code": {"files": nasty}})
    holds("texts", (given["spec"].get("code"), given["spec"].get("env")), ({"files": nasty}, {"A": "on", "B": "1e3", "C": "1:30"}))


def notes(helm, binary):
    """The command in NOTES.txt that prints the log selects the pod that `khorovod plan` selects."""
    chart = helm.home / "chart-with-notes"
    shutil.copytree(CHART, chart)
    (chart / "templates/notes.yaml").write_text('notes: {{ include (print $.Template.BasePath "/NOTES.txt") . | toJson }}\n')
    base = {"image": "a:1", **SPEC}
    specs = {Path(path).parent.name: yaml.safe_load(Path(path).read_text())["spec"] for path in glob.glob(f"{ROOT}/examples/*/job.yaml")}
    specs |= {f"gang {gang}": {**base, "scheduling": {"gang": gang}} for gang in ("none", "volcano", "coscheduling", "native")}
    specs |= {
        "suspend": {**base, "scheduling": {"suspend": True}},
        "no token": {**base, "security": {"apiAccess": False}},
        "no token, kept workers": {**base, "security": {"apiAccess": False}, "lifecycle": {"keepWorkers": True}},
    }
    for name, spec in specs.items():
        job = {"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mnist"}, "spec": spec}
        plan = subprocess.run([binary, "plan", "-q", "-o", "json", "--kube-version", "1.37", "-"], input=json.dumps(job),
                              capture_output=True, text=True, check=True)
        follow = json.loads(plan.stdout)["jobs"][0]["commands"]["follow"]
        values = helm.home / "notes.json"
        values.write_text(json.dumps({"spec": spec if isinstance(spec["image"], dict) else {**spec, "image": {"name": spec["image"]}}}))
        done = helm.run("template", "mnist", chart, "-n", "ml", "-f", values, "-s", "templates/notes.yaml", *CLUSTER)
        lines = yaml.safe_load(done.stdout)["notes"].splitlines() if done.returncode == 0 else []
        logs = next((line for line in lines if "kubectl logs" in line), "")
        # With torchrun, `khorovod plan` selects all pods and the notes the first one.
        launcher = "app.kubernetes.io/component=launcher"
        right = logs.endswith(launcher if launcher in follow else "batch.kubernetes.io/job-completion-index=0")
        check(right, f"{helm.name}: the pod in the notes of {name}", f"{logs}; khorovod: {follow}\n{done.stderr}")


def migration(helm, post):
    """The values that docs/from-stable-horovod.md shows for this chart."""
    blocks = re.findall(r"```yaml\n(# values.yaml of training-job\n.*?)```", (ROOT / "docs/from-stable-horovod.md").read_text(), re.S)
    check(len(blocks) == 2, "blocks of values in docs/from-stable-horovod.md", str(len(blocks)))
    for block in blocks:
        values = helm.home / "values.yaml"
        values.write_text(block)
        done = helm.run("template", "mnist", CHART, "-n", "ml", "-f", values, *CLUSTER, *post)
        check("kind: StatefulSet" in done.stdout, f"{helm.name}: the values of docs/from-stable-horovod.md", done.stderr)


def ci_values(helm, post):
    """The values in ci/, with which chart-testing lints and installs the chart."""
    files = sorted(CHART.glob("ci/*-values.yaml"))
    check(len(files) == 2, "values in ci/", str(files))
    for file in files:
        lint = helm.run("lint", "--strict", CHART, "-f", file, *CLUSTER)
        check(lint.returncode == 0, f"{helm.name}: lint of {file.name}", lint.stdout + lint.stderr)
        done = helm.run("template", "mnist", CHART, "-n", "ml", "-f", file, *CLUSTER, *post)
        check(done.returncode == 0 and "TrainingJob" not in kinds_of(done.stdout), f"{helm.name}: {file.name}", done.stderr)
        versions = {each["metadata"].get("labels", {}).get("app.kubernetes.io/version") for each in objects(done.stdout).values()}
        check(versions == {METADATA["appVersion"]}, f"{helm.name}: {file.name} has the version in labels", str(versions))


def kinds_of(text):
    return {each["kind"] for each in yaml.load_all(text, yaml.CSafeLoader) if each}


def packaged(helm):
    """The package has the licence and no links that lead nowhere outside the repository."""
    done = helm.run("package", CHART, "-d", helm.home)
    check(done.returncode == 0, f"{helm.name}: the package", done.stderr)
    with tarfile.open(helm.home / f"training-job-{METADATA['version']}.tgz") as archive:
        names = {name.removeprefix("training-job/") for name in archive.getnames()}
        readme = archive.extractfile("training-job/README.md").read().decode()
    check({"LICENSE", "README.md", "values.schema.json"} <= names, f"{helm.name}: files in the package", str(sorted(names)))
    check(not [name for name in names if name.startswith("ci/")], f"{helm.name}: no ci/ in the package")
    lead = [link for link in re.findall(r"\]\(([^)#]+)", readme) if "://" not in link]
    check(lead and set(lead) <= names, f"{helm.name}: links in the package", str(lead))


def main(binary, *helms):
    for path in helms:
        with tempfile.TemporaryDirectory(prefix="khorovod-helm-") as home:
            helm = Helm(path, binary, home)
            helm.name = Path(path).parent.name
            post = ["--post-renderer", "khorovod", "--post-renderer-args", "post-render"]
            if not helm.name.startswith("helm-v3"):
                helm.run("plugin", "install", ROOT / "plugin/helm4-post-renderer")
                post = ["--post-renderer", "khorovod-post-render"]
            bare = helm.run("lint", "--strict", CHART, *CLUSTER)
            check(bare.returncode == 0, f"{helm.name}: lint without values", bare.stdout + bare.stderr)
            packaged(helm)
            ci_values(helm, post)
            examples(helm, binary, post)
            conveniences(helm)
            notes(helm, binary)
            migration(helm, post)
    print("\n".join([*check.wrong, f"the chart: {check.count - len(check.wrong)} passed, {len(check.wrong)} failed"]))
    return bool(check.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
