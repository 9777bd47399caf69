"""kubernetes-validate --strict: validates every object against the OpenAPI schemas of three Kubernetes versions."""

import json
from collections import Counter
from functools import cache

from kubernetes_validate import utils

from .corpus import Verdict, canonical, label

# The oldest version that supports all rendered fields, the default of --kube-version, and the newest version in the package.
VERSIONS = ("1.31", "1.34", "1.37")

# Kinds that the oldest version lacks, and the first version that has them. `--kube-version` refuses what needs them before.
SINCE = {"ResourceClaimTemplate": "1.34"}

# The package would read a file of 1.5 MB for every object.
utils.schema_contents = cache(utils.schema_contents)


def built_in(api_version):
    """Whether a group is built into Kubernetes, such as `apps` and `networking.k8s.io`, but not `kueue.x-k8s.io`."""
    group = api_version.rpartition("/")[0]
    return "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))


@cache
def _objection(text, version):
    if not built_in(json.loads(text)["apiVersion"]):
        return None  # the package ignores domains and could treat a CRD as a built-in kind
    try:
        utils.validate(json.loads(text), version, strict=True)
    except utils.SchemaNotFoundError:
        return None
    except utils.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message[:300]}"
    return ""


def objections(document):
    """Yields (version, errors) for one object; None instead of errors if there is no schema for the kind."""
    return [(version, _objection(canonical(document), version)) for version in VERSIONS]


def judge(corpus):
    """Validates all objects of all examples. Names the kinds without a schema (CRDs), which do not count as passed."""
    verdict = Verdict("kubernetes-validate --strict", "")
    covered, unknown = 0, Counter()
    for example, document in corpus.objects:
        for version, wrong in objections(document):
            if wrong is None:
                if version < SINCE.get(document["kind"], VERSIONS[0]):
                    continue
                unknown[f"{document['kind']} {document['apiVersion']}"] += version == VERSIONS[0]
                if built_in(document["apiVersion"]):
                    verdict.failures.append(f"{example.name}: {label(document)}: no such built-in kind in {version}")
                continue
            covered += 1
            if wrong:
                verdict.failures.append(f"{example.name}: {label(document)}: Kubernetes {version}: {wrong}")
    verdict.counted = f"{covered} checks of {len(corpus.objects)} objects, Kubernetes {', '.join(VERSIONS)}"
    verdict.notes = [f"not covered, a CRD: {kind} ({count} objects)" for kind, count in sorted(unknown.items())]
    return verdict
