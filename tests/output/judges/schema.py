"""kubernetes-validate --strict: every object against Kubernetes' own OpenAPI schemas, three versions."""

import json
from collections import Counter
from functools import cache

from kubernetes_validate import utils

from .corpus import Verdict, canonical, label

# The oldest that knows all we emit, the default of --kube-version, and the newest known.
VERSIONS = ("1.31", "1.34", "1.37")

# The package reads a 1.5 MB file again for every object; once is enough.
utils.schema_contents = cache(utils.schema_contents)


def built_in(api_version):
    """Whether a group is Kubernetes' own: `apps`, `networking.k8s.io`, but not `kueue.x-k8s.io`."""
    group = api_version.rpartition("/")[0]
    return "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))


@cache
def _objection(text, version):
    if not built_in(json.loads(text)["apiVersion"]):
        return None  # the package ignores domains and could take a CRD for a kind of Kubernetes
    try:
        utils.validate(json.loads(text), version, strict=True)
    except utils.SchemaNotFoundError:
        return None
    except utils.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message[:300]}"
    return ""


def objections(document):
    """(version, what is wrong; None where there is no schema for the kind) for one object."""
    return [(version, _objection(canonical(document), version)) for version in VERSIONS]


def judge(corpus):
    """All objects of all examples. Kinds without a schema (CRDs) are named, not passed."""
    verdict = Verdict("kubernetes-validate --strict", "")
    covered, unknown = 0, Counter()
    for example, document in corpus.objects:
        for version, wrong in objections(document):
            if wrong is None:
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
