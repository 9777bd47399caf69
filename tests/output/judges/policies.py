"""The requirements of admission policies that docs/policies.md names, on the smallest example with the fields of that page."""

import re

import yaml

from .corpus import ROOT, Verdict, containers, load, pod_templates

PAGE = ROOT / "docs" / "policies.md"
JOB = ROOT / "examples" / "smallest" / "job.yaml"
PROBES = {"livenessProbe", "readinessProbe", "startupProbe"}


def every_container(documents):
    """Every (pod template, container) of a stream."""
    for _, template in pod_templates(documents):
        for _, container in containers(template["spec"]):
            yield template, container


def has_resource(container, name):
    resources = container.get("resources") or {}
    return name in (resources.get("requests") or {}) and name in (resources.get("limits") or {})


def is_launcher(template):
    return template["metadata"]["labels"].get("app.kubernetes.io/component") == "launcher"


def requires_resources(documents):
    return all(has_resource(container, name) for _, container in every_container(documents) for name in ("cpu", "memory"))


def requires_storage(documents):
    """For workers: the launcher has no such field."""
    found = [container for template, container in every_container(documents) if not is_launcher(template)]
    return bool(found) and all(has_resource(container, "ephemeral-storage") for container in found)


def of_containers(test):
    return lambda documents: all(test(container) for _, container in every_container(documents))


def of_templates(test):
    return lambda documents: all(test(template) for _, template in pod_templates(documents))


def security(container):
    return container.get("securityContext") or {}


POLICIES = {
    "require-requests-limits": requires_resources,
    "require-ephemeral-storage": requires_storage,
    "disallow-default-namespace": lambda documents: all(each["metadata"].get("namespace", "default") != "default" for each in documents),
    "require-image-checksum": of_containers(lambda container: "@sha256:" in container["image"]),
    "restrict-automount-sa-token": of_templates(lambda template: template["spec"].get("automountServiceAccountToken") is False),
    "require-ro-rootfs": of_containers(lambda container: security(container).get("readOnlyRootFilesystem") is True),
    "drop-all-capabilities": of_containers(lambda container: "ALL" in security(container).get("capabilities", {}).get("drop", [])),
    "require-labels": of_templates(lambda template: template["metadata"]["labels"].get("app.kubernetes.io/name")),
    "prevent-bare-pods": lambda documents: all(each["kind"] != "Pod" for each in documents),
    "require-pod-probes": of_containers(lambda container: PROBES & container.keys()),
}


def without(spec, path):
    """A copy of a spec without a field, whose path leaves out `spec.`."""
    keys = path.split(".") if path.startswith("metadata.") else ["spec", *path.split(".")]
    copy = yaml.safe_load(yaml.safe_dump(spec))
    parent = copy
    for key in keys[:-1]:
        parent = parent[key]
    del parent[keys[-1]]
    return copy


def rows(page, heading):
    """The rows of the table after a heading, as lists of cells."""
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell):
    """The names in backquotes in a cell, without those of groups of policies."""
    return [name for name in re.findall(r"`([^`]+)`", cell) if "/" not in name]


def judge(corpus):
    """Renders the spec of the page, also without each of its fields, and applies the policies."""
    page = PAGE.read_text()
    spec = yaml.safe_load(re.search(r"^<!-- policies: spec -->\n```yaml\n(.*?)^```$", page, re.M | re.S)[1])
    overlay = corpus.scratch / "policies.yaml"

    def objects(spec):
        overlay.write_text(yaml.safe_dump(spec))
        done = corpus.binary.run("render", "-q", "--no-keys", "--overlay", overlay, JOB)
        if done.returncode:
            raise RuntimeError(done.stderr.decode()[:1000])
        return load(done.stdout)

    verdict, whole = Verdict("policies", ""), objects(spec)
    verdict.failures += [f"{name} fails with all fields" for name, holds in POLICIES.items() if not holds(whole)]
    fields = rows(page, "Policies that need a field")
    for kyverno, _, field in fields:
        (name,), (path,) = names(kyverno), names(field)
        if POLICIES[name](objects(without(spec, path))):
            verdict.failures.append(f"{name} holds without {path}: the page need not name it")
    passed = [name for row in rows(page, "Policies that every job passes") for name in names(row[0])]
    plain = objects({"spec": {}})
    verdict.failures += [f"{name} fails without any field" for name in passed if not POLICIES[name](plain)]
    named = {*passed, *(names(row[0])[0] for row in fields)}
    verdict.failures += [f"docs/policies.md does not name {name}" for name in sorted(POLICIES.keys() - named)]
    launchers = [container for template, container in every_container(plain) if is_launcher(template)]
    if not launchers or any("readinessProbe" in container for container in launchers):
        verdict.failures.append("the launcher of the smallest job has a readiness probe: the page need not name K8sRequiredProbes")
    verdict.counted = f"{len(POLICIES)} policies, {len(fields)} fields that they need"
    return verdict
