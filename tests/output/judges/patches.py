"""Property test: `spec.patches` change objects as Kubernetes' own strategic merge patches do.

Adds seeded random patches to the examples, renders them, and applies the same patches to the objects of the example with
`strategicpatch.StrategicMergePatch` of apimachinery. The results must be equal, also in the order of lists. One difference is
intended: new containers come after the existing ones, so Go gets this order as `$setElementOrder/containers`.
"""

import copy
import json
import os
import random
import re
import subprocess
from collections import Counter

from .corpus import SEED, Verdict, canonical, load, pod_templates

CASES = int(os.environ.get("PATCH_CASES", "80"))
PATCHES = 3  # per case: each changes the result of the one before
JOB, RUN, COMPONENT, GROUP = "khorovod.dev/job", "khorovod.dev/run", "app.kubernetes.io/component", "khorovod.dev/group"
NAMES = ["alpha", "beta", "gamma", "delta"]


def some(chance, items, least=0):
    """A random part of a list, in random order."""
    return chance.sample(items, chance.randint(min(least, len(items)), len(items)))


def names_of(items, key="name"):
    """The keys of the items of a list."""
    return [item[key] for item in items or []]


def merged(chance, present, key, values, fields, deletable=()):
    """A patch of a list that merges by a key: changed, new and deleted items."""
    used = []
    for value in some(chance, sorted({*present, *values}, key=str), 1)[:3]:
        item = {key: value}
        if value in deletable and chance.random() < 0.3:
            item["$patch"] = "delete"
        else:
            item.update(fields(value))
        used.append(item)
    return used


def order(chance, patch, present, name, key):
    """Adds an order of some items to a patch, which must agree with the order of the patch. Not if the patch deletes an item:
    then apimachinery writes the first new item into the list by which it sorts (it appends to a shortened slice)."""
    if any("$patch" in item for item in patch[name]):
        return
    new = names_of(patch[name], key)
    others = [value for value in some(chance, present) if value not in names_of(patch[name], key)]
    for value in others:
        new.insert(chance.randint(0, len(new)), value)
    patch[f"$setElementOrder/{name}"] = [{key: value} for value in new]


def container_patch(chance, container):
    """A patch of khorovod's container."""
    patch = {"name": container["name"]}
    if chance.random() < 0.7:
        env = names_of(container.get("env"))
        plain = [var["name"] for var in container.get("env") or [] if "valueFrom" not in var]
        chosen = merged(chance, plain, "name", NAMES, lambda _: {"value": str(chance.random())}, plain[1:])
        patch["env"] = chosen
        if chance.random() < 0.4:
            order(chance, patch, env, "env", "name")
    if chance.random() < 0.6:
        mounts = [mount["mountPath"] for mount in container.get("volumeMounts") or []]
        own = [
            mount["mountPath"] for mount in container.get("volumeMounts") or [] if mount["name"].startswith("khorovod-")
        ]
        free = [path for path in mounts if path not in own]
        paths = [f"/new/{name}" for name in NAMES]
        patch["volumeMounts"] = merged(
            chance,
            free,
            "mountPath",
            paths,
            lambda path: (
                {"name": path.split("/")[-1], "mountPropagation": chance.choice(["None", "HostToContainer"])}
                if path in paths
                else {"mountPropagation": "None"}
            ),
            free,
        )
        if chance.random() < 0.3:
            order(chance, patch, mounts, "volumeMounts", "mountPath")
    if chance.random() < 0.4:
        ports = [port["containerPort"] for port in container.get("ports") or []]
        patch["ports"] = merged(
            chance, ports, "containerPort", [7000, 7001], lambda port: {"hostPort": chance.choice([port, None])}
        )
    if chance.random() < 0.3:
        patch["volumeDevices"] = merged(chance, [], "devicePath", ["/dev/a", "/dev/b"], lambda _: {"name": "block"})
    if chance.random() < 0.3:
        patch["args"] = chance.sample(NAMES, 2)
    elif container.get("args") and chance.random() < 0.6:
        patch["$deleteFromPrimitiveList/args"] = [container["args"][0]]
    if chance.random() < 0.4:
        patch["resources"] = chance.choice(
            [
                {"limits": {"cpu": "7"}},
                {"limits": None},
                {"$patch": "replace", "requests": {"cpu": "1"}} if "resources" in container else {},
            ]
        )
    if chance.random() < 0.4:
        patch["securityContext"] = chance.choice(
            [{"capabilities": {"add": ["CHOWN"]}}, {"$retainKeys": ["capabilities"]}, {"$patch": "delete"}]
        )
    if chance.random() < 0.4:
        patch[chance.choice(["tty", "stdin"])] = chance.choice([True, False, None])
    if chance.random() < 0.3:
        patch["readinessProbe"] = chance.choice(
            [None, {"periodSeconds": 9}, {"$patch": "delete"}, {"httpGet": {"path": "/", "port": 1, "host": None}}]
        )
    return patch


def pod_patch(chance, pod):
    """A patch of a pod template."""
    spec, patch = pod["spec"], {}
    main = spec["containers"]
    own = next(item for item in main if item["name"] in ("worker", "launcher"))
    chosen = [container_patch(chance, own)] if chance.random() < 0.8 else []
    for name in some(chance, NAMES[:3]):
        known = next((item for item in main if item["name"] == name), None)
        chosen.append(
            {"name": name, "$patch": "delete"}
            if known and chance.random() < 0.4
            else {"name": name, "image": f"x:{chance.random()}", "args": None if known else [name]}
        )
    if chosen:
        chance.shuffle(chosen)
        patch["containers"] = chosen
        if chance.random() < 0.3:
            order(chance, patch, names_of(main), "containers", "name")
    if chance.random() < 0.4:
        patch["initContainers"] = merged(
            chance, [], "name", NAMES[:2], lambda name: {"image": "y:1", "env": [{"name": name, "value": "1"}]}
        )
    if chance.random() < 0.7:
        sources = {"emptyDir": {"medium": "Memory"}, "secret": {"secretName": "s"}, "nfs": {"server": "x", "path": "/"}}
        present = [volume["name"] for volume in spec.get("volumes") or [] if not volume["name"].startswith("khorovod-")]

        def volume(name):
            source = chance.choice(list(sources))
            kept = {"$retainKeys": ["name", source]} if name in present else {}
            return {**kept, source: copy.deepcopy(sources[source])}

        patch["volumes"] = merged(chance, present, "name", NAMES, volume)
        if chance.random() < 0.5:
            order(chance, patch, names_of(spec.get("volumes")), "volumes", "name")
    lists = {
        "imagePullSecrets": ("name", NAMES, lambda _: {}),
        "hostAliases": ("ip", ["10.0.0.1", "10.0.0.2"], lambda _: {"hostnames": chance.sample(NAMES, 2)}),
        "topologySpreadConstraints": ("topologyKey", ["kubernetes.io/hostname", "zone", "rack"], lambda _: {"maxSkew": chance.randint(1, 9), "whenUnsatisfiable": "ScheduleAnyway"}),
        "resourceClaims": ("name", NAMES, lambda _: {"resourceClaimName": chance.choice(NAMES)}),
        "schedulingGates": ("name", ["a.dev/x", "a.dev/y"], lambda _: {}),
        "ephemeralContainers": ("name", NAMES[2:], lambda name: {"image": "z:1", "volumeMounts": [{"mountPath": "/z", "name": name}]}),
    }  # fmt: skip
    for name, (key, values, fields) in lists.items():
        if chance.random() < 0.3:
            present = names_of(spec.get(name), key)
            patch[name] = merged(chance, present, key, values, fields, present)
            if chance.random() < 0.2:
                order(chance, patch, present, name, key)
            elif chance.random() < 0.2:
                patch[name].append({"$patch": "replace"})
    if chance.random() < 0.4:
        patch["tolerations"] = [{"key": chance.choice(NAMES), "operator": "Exists"}]
    if chance.random() < 0.4:
        patch["nodeSelector"] = {chance.choice(NAMES): chance.choice(["x", None])}
    if chance.random() < 0.4:
        patch["dnsConfig"] = chance.choice(
            [None, {"options": [{"name": "ndots", "value": "1"}]}, {"searches": ["a", "b"]}]
        )
    if chance.random() < 0.2:
        patch["affinity"] = chance.choice(
            [{"$patch": "delete"}, {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}]
        )
    metadata = {}
    if chance.random() < 0.5:
        metadata["finalizers"] = [f"a.dev/{name}" for name in some(chance, NAMES, 1)]
    elif (pod["metadata"].get("finalizers")) and chance.random() < 0.7:
        metadata["$deleteFromPrimitiveList/finalizers"] = some(chance, pod["metadata"]["finalizers"])
    if chance.random() < 0.3:
        metadata["ownerReferences"] = merged(chance, [], "uid", ["u1", "u2"], lambda _: {"name": chance.choice(NAMES)})
    if chance.random() < 0.4:
        metadata["annotations"] = {f"a.dev/{chance.choice(NAMES)}": chance.choice(["x", None])}
    return {"spec": patch, **({"metadata": metadata} if metadata else {})}


def for_go(patch, pod):
    """The patch with the order of containers that khorovod documents, unless it has an order."""
    patch = copy.deepcopy(patch)
    spec = patch.get("spec", {})
    chosen = spec.get("containers")
    if chosen and "$setElementOrder/containers" not in spec:
        present = names_of(pod["spec"]["containers"])
        place = lambda item: present.index(item["name"]) if item["name"] in present else len(present)  # noqa: E731
        chosen.sort(key=place)
        deleted = {item["name"] for item in chosen if "$patch" in item}
        names = [*present, *(item["name"] for item in chosen if item["name"] not in present)]
        spec["$setElementOrder/containers"] = [{"name": name} for name in names if name not in deleted]
    return patch


class Kubernetes:
    """The Go program, which answers each line with a line."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def apply(self, kind, patch, target):
        """The patched object. Raises if the program refuses the patch."""
        self.process.stdin.write(json.dumps({"kind": kind, "object": target, "patch": patch}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["object"]


def plain(value, run):
    """A value without nulls, which the API server drops, without the directives that Go leaves in new items, and without the
    name of the run."""
    if isinstance(value, dict):
        return {key: plain(below, run) for key, below in value.items() if below is not None and not key.startswith("$")}
    if isinstance(value, list):
        return [plain(item, run) for item in value]
    return re.sub(rf"\b{run}\b", "RUN", value) if run and isinstance(value, str) else value


def labels_of(pod):
    """The labels of a pod."""
    return pod["metadata"]["labels"]


def pattern(pod):
    """The name of a pod template in `target`, for any run."""
    labels = labels_of(pod)
    return "-".join(filter(None, [labels[JOB], "*", labels[COMPONENT], labels.get(GROUP)]))


def judge(corpus):
    """Uses a fixed seed, so that failures can be reproduced: the message contains the number of the case."""
    verdict, refused, applied = Verdict("patches merge as in Kubernetes", ""), Counter(), 0
    unpatched = [example for example in corpus.examples if "patches" not in load(example.path.read_bytes())[0]["spec"]]
    examples = [example for example in unpatched if list(pod_templates(example.documents))]
    with Kubernetes(os.environ["STRATEGIC"]) as kubernetes:
        for number in range(CASES):
            chance = random.Random(number)
            example = chance.choice(examples)
            workload, pod = chance.choice(list(pod_templates(example.documents)))
            try:
                patches, expected = patched(chance, kubernetes, workload, pod)
            except ValueError as error:
                verdict.failures.append(f"case {number}: apimachinery refuses the patch: {error}")
                continue
            spec = load(example.path.read_bytes())[0]
            spec["spec"]["patches"] = patches
            # Random patches have volumes and ports that a stricter level does not allow.
            spec["spec"].setdefault("security", {}).setdefault("podSecurityLevel", "privileged")
            done = corpus.binary.run("render", "--ssh-seed", SEED, "-", stdin=json.dumps(spec).encode())
            if done.returncode:
                said = done.stderr.decode(errors="replace")
                refused.update(re.findall(r"error\[[a-z0-9-]+\]: .*", said)[:1] or [said[:200]])
                continue
            for _, seen in pod_templates(load(done.stdout)):
                if pattern(seen) == pattern(pod):
                    applied += PATCHES
                    ours, theirs = plain(seen, labels_of(seen)[RUN]), plain(expected, labels_of(pod)[RUN])
                    if canonical(ours) != canonical(theirs):
                        verdict.failures.append(f"case {number}, {example.name}: {difference(ours, theirs)}")
    verdict.counted = f"{applied} patches, {sum(refused.values())} of {CASES} specs refused"
    verdict.notes = [f"refused {count} times: {code}" for code, count in refused.most_common()]
    if applied < 200 * CASES / 80:
        verdict.failures.append("too few were accepted for this to mean much")
    return verdict


def patched(chance, kubernetes, workload, pod):
    """Random patches of a pod template, and the pod template that Kubernetes makes of them."""
    patches, expected = [], copy.deepcopy(pod)
    whole = chance.random() < 0.3 and workload["kind"] in ("StatefulSet", "Job")
    for _ in range(PATCHES):
        patch = pod_patch(chance, expected)
        if whole:
            name = workload["metadata"]["name"].replace(labels_of(pod)[RUN], "*")
            patches.append({"target": {"kind": workload["kind"], "name": name}, "patch": {"spec": {"template": patch}}})
            template = {"spec": {"template": for_go(patch, expected)}}
            expected = kubernetes.apply(workload["kind"], template, {"spec": {"template": expected}})["spec"][
                "template"
            ]
        else:
            patches.append({"target": {"kind": "Pod", "name": pattern(pod)}, "patch": patch})
            expected = kubernetes.apply("Pod", for_go(patch, expected), expected)
        expected = plain(expected, None)
    return patches, expected


def difference(ours, theirs, path="$"):
    """The first place at which two values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted({*ours, *theirs}):
            if canonical(ours.get(key)) != canonical(theirs.get(key)):
                return difference(ours.get(key), theirs.get(key), f"{path}.{key}")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs)):
            if canonical(one) != canonical(other):
                return difference(one, other, f"{path}[{index}]")
    return f"{path}: {json.dumps(ours)[:300]}, and in Kubernetes {json.dumps(theirs)[:300]}"
