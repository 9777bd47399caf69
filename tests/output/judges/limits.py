"""Kubernetes' limits, object by object: names, labels, annotations, sizes, environment."""

import json
import re

from .corpus import containers, label, pod_templates

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
DNS_SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
KEY_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
FILE_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")

ANNOTATIONS = 256 * 1024  # the sum of an object's annotations; kubectl apply writes the object into one
DATA = 1024 * 1024  # the values of a ConfigMap or Secret
REQUEST = 1536 * 1024  # etcd refuses more
ENV_STRING = 128 * 1024  # Linux: one environment string or argument
ENV_TOTAL = 1024 * 1024  # Linux: half of what argv and environment may take by default


def _key_is_sound(key):
    prefix, slash, name = key.rpartition("/")
    return KEY_NAME.fullmatch(name) and (not slash or DNS_SUBDOMAIN.fullmatch(prefix))


def _metadata_breaks(metadata, where):
    for key, value in (metadata.get("labels") or {}).items():
        if not _key_is_sound(key):
            yield f"{where}: label key {key!r}"
        if not isinstance(value, str) or not LABEL_VALUE.fullmatch(value):
            yield f"{where}: label {key}: {value!r}"
    annotations = metadata.get("annotations") or {}
    for key, value in annotations.items():
        if not _key_is_sound(key.lower()):
            yield f"{where}: annotation key {key!r}"
        if not isinstance(value, str):
            yield f"{where}: annotation {key} is not a string: {value!r}"
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items()) > ANNOTATIONS:
        yield f"{where}: annotations over {ANNOTATIONS} bytes"


def _container_breaks(container):
    name, total = container["name"], 0
    if not DNS_LABEL.fullmatch(name):
        yield f"container name {name!r}"
    for variable in container.get("env") or []:
        if not ENV_NAME.fullmatch(variable["name"]):
            yield f"{name}: env name {variable['name']!r}"
        size = len(f"{variable['name']}={variable.get('value', '')}".encode()) + 1
        total += size
        if size > ENV_STRING:
            yield f"{name}: env {variable['name']} of {size} bytes"
    for word in [*(container.get("command") or []), *(container.get("args") or [])]:
        total += len(word.encode()) + 1
        if len(word.encode()) >= ENV_STRING:
            yield f"{name}: an argument of {len(word.encode())} bytes"
    if total > ENV_TOTAL:
        yield f"{name}: {total} bytes of environment and arguments"
    for port in container.get("ports") or []:
        if "name" in port and not PORT_NAME.fullmatch(port["name"]):
            yield f"{name}: port name {port['name']!r}"
    mounts = [mount["mountPath"] for mount in container.get("volumeMounts") or []]
    if len(set(mounts)) != len(mounts):
        yield f"{name}: two mounts at one path: {sorted(mounts)}"
    names = [variable["name"] for variable in container.get("env") or []]
    if len(set(names)) != len(names):
        yield f"{name}: a variable twice: {sorted(name for name in names if names.count(name) > 1)}"


def _template_breaks(template, claims=()):
    spec = template["spec"]
    yield from _metadata_breaks(template.get("metadata") or {}, "pod template")
    volumes = [volume["name"] for volume in spec.get("volumes") or []]
    for name in volumes:
        if not DNS_LABEL.fullmatch(name):
            yield f"volume name {name!r}"
    if len(set(volumes)) != len(volumes):
        yield f"a volume name twice: {sorted(volumes)}"
    for field in ("hostname", "subdomain"):
        if field in spec and not DNS_LABEL.fullmatch(spec[field]):
            yield f"{field} {spec[field]!r}"
    names = [container["name"] for _, container in containers(spec)]
    if len(set(names)) != len(names):
        yield f"a container name twice: {sorted(names)}"
    for _, container in containers(spec):
        yield from _container_breaks(container)
        for mount in container.get("volumeMounts") or []:
            if mount["name"] not in volumes and mount["name"] not in claims:
                yield f"{container['name']}: mounts {mount['name']}, which is not a volume"


def _workload_breaks(document):
    kind, name, spec = document["kind"], document["metadata"]["name"], document.get("spec") or {}
    if kind == "StatefulSet":
        annotations = document["metadata"].get("annotations") or {}
        replicas = int(spec.get("replicas") or annotations.get("khorovod.dev/replicas") or 1)
        # The controller labels pods `controller-revision-hash: <name>-<up to 10 characters>`.
        if len(name) > 52:
            yield f"name of {len(name)} characters: the pods' revision label takes 52"
        last = f"{name}-{max(replicas - 1, 0)}"
    elif kind == "Job":
        last = name
        if spec.get("completionMode") == "Indexed":
            last = f"{name}-{spec['completions'] - 1}"
            if spec.get("parallelism", 1) > 100_000:
                yield f"an Indexed Job of {spec['parallelism']} pods at once: 100000 is the most"
    else:
        return
    if not DNS_LABEL.fullmatch(last):
        yield f"its last pod's name {last!r} is not a DNS label"
    selector = (spec.get("selector") or {}).get("matchLabels") or {}
    labels = spec["template"]["metadata"].get("labels") or {}
    for key, value in selector.items():
        if labels.get(key) != value:
            yield f"its selector has {key}={value}, its pods have {labels.get(key)!r}"


def breaks(document):
    """The limits that an object exceeds."""
    kind, metadata = document["kind"], document["metadata"]
    allowed = DNS_1035 if kind == "Service" else DNS_SUBDOMAIN
    if not allowed.fullmatch(metadata["name"]):
        yield f"name {metadata['name']!r}"
    if "namespace" in metadata and not DNS_LABEL.fullmatch(metadata["namespace"]):
        yield f"namespace {metadata['namespace']!r}"
    yield from _metadata_breaks(metadata, "metadata")
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode())
    if size > REQUEST:
        yield f"{size} bytes: the API server takes {REQUEST}"
    # kubectl apply copies the object into an additional annotation; Go's JSON encodes <, > and & as
    # six characters each.
    copied = size + 5 * sum(map(text.count, "<>&"))
    own = sum(
        len(key.encode()) + len(str(value).encode()) for key, value in (metadata.get("annotations") or {}).items()
    )
    if copied + own + len("kubectl.kubernetes.io/last-applied-configuration") > ANNOTATIONS:
        yield f"{copied} bytes of JSON: kubectl apply has room for {ANNOTATIONS}"
    if kind in ("ConfigMap", "Secret"):
        values = {
            **(document.get("data") or {}),
            **(document.get("stringData") or {}),
            **(document.get("binaryData") or {}),
        }
        if sum(len(key) + len(value.encode()) for key, value in values.items()) > DATA:
            yield f"data over {DATA} bytes"
        for key in values:
            if not FILE_KEY.fullmatch(key) or key in (".", "..") or key.startswith(".."):
                yield f"key {key!r}"
    for _, template in pod_templates([document]):
        spec = document["spec"] if kind != "Pod" else {}
        claims = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates") or []]
        yield from _template_breaks(template, claims)
    yield from _workload_breaks(document)


def stream_breaks(documents):
    """Checks the limits of each object, and that each object is unique."""
    for document in documents:
        yield from (f"{label(document)}: {wrong}" for wrong in breaks(document))
    names = [(d["apiVersion"], d["kind"], d["metadata"].get("namespace"), d["metadata"]["name"]) for d in documents]
    yield from (f"{name} is there twice" for name in {name for name in names if names.count(name) > 1})
