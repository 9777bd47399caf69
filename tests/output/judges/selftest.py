"""Tests the checks: each must report an object that is invalid on purpose, and accept a valid one."""

import copy

from . import limits, parsers, podsecurity, schema, scripts, strings
from .corpus import Verdict, load

SOUND = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: j-abc-worker, labels: {a: b}, annotations: {khorovod.dev/replicas: "4"}}
spec:
  serviceName: j
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      securityContext: {runAsUser: 65532, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: worker
          image: x:1
          env: [{name: A, value: b}]
          ports: [{name: ssh, containerPort: 2222}]
          volumeMounts: [{name: tmp, mountPath: /tmp}]
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
      volumes: [{name: tmp, emptyDir: {}}]
"""
# (judge, path in the object, the value that breaks it)
POD, CONTAINER = "spec.template.spec", "spec.template.spec.containers.0"
BROKEN = [
    ("schema", f"{CONTAINER}.imagePolicy", "Always"),
    ("schema", "spec.replicas", "4"),
    ("schema", f"{CONTAINER}.env.0.value", 1),
    ("baseline", f"{POD}.hostNetwork", True),
    ("baseline", f"{POD}.hostPID", True),
    ("baseline", f"{POD}.volumes.0", {"name": "tmp", "hostPath": {"path": "/x"}}),
    ("baseline", f"{POD}.securityContext.seccompProfile", {"type": "Unconfined"}),
    ("baseline", f"{POD}.securityContext.sysctls", [{"name": "kernel.msgmax", "value": "1"}]),
    ("baseline", f"{POD}.securityContext.seLinuxOptions", {"role": "x"}),
    ("baseline", f"{POD}.securityContext.windowsOptions", {"hostProcess": True}),
    ("baseline", f"{CONTAINER}.securityContext.privileged", True),
    ("baseline", f"{CONTAINER}.securityContext.capabilities.add", ["IPC_LOCK"]),
    ("baseline", f"{CONTAINER}.securityContext.procMount", "Unmasked"),
    ("baseline", f"{CONTAINER}.securityContext.appArmorProfile", {"type": "Unconfined"}),
    ("baseline", f"{CONTAINER}.ports.0.hostPort", 22),
    ("baseline", f"{CONTAINER}.readinessProbe", {"tcpSocket": {"port": 1, "host": "10.0.0.1"}}),
    ("restricted", f"{POD}.volumes.0", {"name": "tmp", "nfs": {"server": "x", "path": "/"}}),
    ("restricted", f"{POD}.securityContext.runAsUser", 0),
    ("restricted", f"{POD}.securityContext.runAsNonRoot", None),
    ("restricted", f"{POD}.securityContext.seccompProfile", {}),
    ("restricted", f"{CONTAINER}.securityContext.runAsUser", 0),
    ("restricted", f"{CONTAINER}.securityContext.allowPrivilegeEscalation", None),
    ("restricted", f"{CONTAINER}.securityContext.capabilities", {"drop": ["NET_RAW"]}),
    ("restricted", f"{CONTAINER}.securityContext.capabilities.add", ["CHOWN"]),
    ("limits", "metadata.name", "J"),
    ("limits", "metadata.name", "j" * 53),
    ("limits", "metadata.annotations", {"a": "x" * 262144}),
    ("limits", "metadata.labels", {"a": "x" * 64}),
    ("limits", "metadata.labels", {"a": True}),
    ("limits", "spec.template.metadata.labels", {"a": "other"}),
    ("limits", f"{CONTAINER}.env.0.value", "x" * 131072),
    ("limits", f"{CONTAINER}.env.0.name", "1 x"),
    ("limits", f"{CONTAINER}.ports.0.name", "sixteen-letters-"),
    ("limits", f"{CONTAINER}.volumeMounts.0.name", "other"),
    ("limits", f"{POD}.subdomain", "a.b"),
]
# Parsers differ in `on` (true), `1:30` (90), a date and a tag; the last text is not valid YAML.
BROKEN_TEXTS = ["a: on", "a: 1:30", "a: 2001-01-01", "on: a", "a: 0o17", "a: =", "a: !x b", "a: b: c", "a: 1\na: 2"]


def _objections(judge, document):
    if judge == "schema":
        return [wrong for _, wrong in schema.objections(document) if wrong]
    if judge == "baseline":
        return podsecurity.baseline_breaks(document["spec"]["template"])
    if judge == "restricted":
        return podsecurity.restricted_breaks(document["spec"]["template"])
    return list(limits.breaks(document))


def _break(document, path, value):
    document = copy.deepcopy(document)
    *parents, last = path.split(".")
    at = document
    for step in parents:
        at = at[int(step) if isinstance(at, list) else step]
    at[int(last) if isinstance(at, list) else last] = value
    return document


def judge(corpus):
    """Runs first, because a check that never fails is useless."""
    verdict = Verdict("the judges object when they should", "")
    (sound,) = load(SOUND)
    for name in ("schema", "baseline", "restricted", "limits"):
        verdict.failures += [f"{name} objects to a sound object: {wrong}" for wrong in _objections(name, sound)]
    for name, path, value in BROKEN:
        if not _objections(name, _break(sound, path, value)):
            verdict.failures.append(f"{name} does not object to {path}: {value!r:.60}")
    for text, seen in zip(BROKEN_TEXTS, parsers.read_go(corpus, [text.encode() for text in BROKEN_TEXTS])):
        readings = {"libyaml": parsers.read_libyaml(text), "Go": seen, "ruamel": parsers.read_ruamel(text.encode())}
        if not parsers.differences(readings):
            verdict.failures.append(f"the readers agree on {text!r}: {seen!r}")
    folder = corpus.scratch / "selftest"
    folder.mkdir()
    for name, text in {"a.sh": "if true; then\n", "b.sh": "#!/bin/bash\necho $1\n"}.items():
        (folder / name).write_text(text)
        if not scripts.check(folder, [name]):
            verdict.failures.append(f"shellcheck and bash -n let {text!r} pass")
    (folder / "job.sh").write_text("launch=('a b' $'c\\n')\n")
    if strings.arrays(folder).get("launch") != ["a b", "c\n"]:
        verdict.failures.append(f"bash's arrays are misread: {strings.arrays(folder)}")
    verdict.counted = f"{len(BROKEN) + len(BROKEN_TEXTS) + 3} broken inputs"
    return verdict
