"""Specs near Kubernetes' limits: the rendered objects must stay within them.

Checks every example, jobs of 1 to 100,000 workers with the longest names that khorovod accepts, and random
specs that are large in some way, which khorovod may reject.
"""

import json
import os
import random
import re

from .corpus import SEED, Verdict, load
from .limits import stream_breaks

CASES = int(os.environ.get("OUTPUT_CASES", "300")) // 3
WORKERS = (1, 2, 9, 10, 11, 64, 100, 999, 1_000, 1_001, 9_999, 10_000, 10_001, 65_536, 99_999, 100_000)


def spec_of(name, workers, shape):
    """A job of a given shape; JSON is YAML."""
    spec = {"image": "ghcr.io/acme/train:1.4", "command": ["python", "train.py"], "workers": {"replicas": workers}}
    if shape == "job":
        spec["launcher"] = {"kind": "mpirun", "runsIn": "firstWorker"}
    elif shape == "torchrun":
        spec["launcher"] = {"kind": "torchrun"}
    elif shape == "elastic":
        spec["launcher"] = {"kind": "horovodrun"}
        spec["workers"]["elastic"] = {"minReplicas": 1, "maxReplicas": workers}
    elif shape == "groups":
        first = max(workers // 2, 1)
        spec["workers"] = {
            "groups": [{"name": "big", "replicas": first, "gpus": 8}, {"name": "g" * 8, "replicas": workers}]
        }
        if workers * 2 > 100_000:
            return None
    job = {"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name}, "spec": spec}
    return json.dumps(job).encode()


def longest_name(corpus, workers, shape):
    """The longest name that khorovod accepts for such a job, its render, and the message for a name one character longer."""
    best, low, high, refusal = None, 1, 64, ""
    while low < high:
        middle = (low + high) // 2
        text = spec_of("n" * middle, workers, shape)
        done = corpus.binary.run("render", "--ssh-seed", SEED, "-", stdin=text)
        if done.returncode == 0:
            best, low = (middle, done.stdout), middle + 1
        else:
            high, refusal = middle, done.stderr.decode(errors="replace")
    return best, refusal


def large_spec(chance):
    """A job that is large in some random ways."""

    def size(*choices):
        return chance.choice(choices) + chance.randint(-60, 60)

    def name(most):
        return "n" * chance.randint(1, most)

    shape = chance.choice(["statefulset", "job", "torchrun", "elastic", "groups"])
    job = json.loads(spec_of(name(40), chance.choice([1, 3, 100, 10_000, 50_000]), shape))
    spec = job["spec"]
    for way in chance.sample(
        ["env", "variables", "code", "files", "command", "annotations", "labels", "storage"], k=chance.randint(1, 3)
    ):
        if way == "env":
            spec["env"] = {"E": "x" * size(1_000, 100_000, 131_072, 250_000)}
        elif way == "variables":
            spec["env"] = {f"E{number}": "x" * chance.choice([10, 1_000]) for number in range(size(100, 1_000, 3_000))}
        elif way == "code":
            files = {
                "a.py": "x" * size(100, 262_144, 600_000, 1_048_576),
                "b.py": chance.choice(['"\n', "<&>"]) * size(100, 40_000, 130_000),
            }
            spec["code"] = {"files": files, "mountPath": "/code"}
        elif way == "files":
            files = {f"{number}.py": "é" * chance.choice([100, 20_000]) for number in range(size(70, 100, 200))}
            spec["code"] = {"files": files, "mountPath": "/code"}
        elif way == "command":
            spec["command"] = ["x" * size(100, 100_000, 131_072), "y'" * size(100, 60_000)]
        elif way == "annotations":
            job["metadata"]["annotations"] = {"x.dev/a": "x" * size(1_000, 130_000, 200_000, 262_144)}
        elif way == "labels":
            job["metadata"]["labels"] = {"x.dev/" + name(70): name(70)}
        else:
            claims = [
                {"name": f"v{number}{name(60)}", "mountPath": f"/v{number}"} for number in range(chance.randint(1, 40))
            ]
            kinds = [{"claim": {"size": "1Gi", "accessModes": ["ReadWriteMany"]}}, {"emptyDir": {}}]
            spec["storage"] = [{**claim, **chance.choice(kinds)} for claim in claims]
    return json.dumps(job).encode()


def judge_examples(corpus, verdict):
    """Checks every object of every example."""
    for example in corpus.examples:
        verdict.failures += [f"{example.name}: {wrong}" for wrong in stream_breaks(example.documents)]
    return f"{len(corpus.objects)} objects of examples"


def judge_names(corpus, verdict):
    """Checks the longest accepted name for each shape and number of workers."""
    renders, lengths = 0, {}
    for shape in ("statefulset", "job", "torchrun", "elastic", "groups"):
        for workers in WORKERS:
            if spec_of("n", workers, shape) is None:
                continue
            best, refusal = longest_name(corpus, workers, shape)
            what = f"{shape} of {workers} workers"
            if best is None or best[0] < 8:
                verdict.failures.append(f"{what}: no name of 8 characters is accepted: {refusal[:400]}")
                continue
            if "name" not in refusal:
                verdict.failures.append(f"{what}: the refusal past {best[0]} characters names no name: {refusal[:400]}")
            renders += 1
            lengths.setdefault(shape, []).append(best[0])
            verdict.failures += [f"{what}, name of {best[0]}: {wrong}" for wrong in stream_breaks(load(best[1]))]
    verdict.notes += [
        f"longest names, {shape}: {max(found)} to {min(found)} characters" for shape, found in lengths.items()
    ]
    return f"{renders} jobs of up to {WORKERS[-1]:,} workers with the longest names"


def judge_sizes(corpus, verdict):
    """Checks random large specs with a fixed seed; the message contains the number of the case."""
    accepted, codes = 0, set()
    for number in range(CASES):
        done = corpus.binary.run("render", "--ssh-seed", SEED, "-", stdin=large_spec(random.Random(number)))
        if done.returncode == 0:
            accepted += 1
            verdict.failures += [f"large case {number}: {wrong}" for wrong in stream_breaks(load(done.stdout))]
        elif done.returncode == 1 and not done.stdout:
            codes |= set(re.findall(r"(?:error|warning)\[([a-z0-9-]+)\]", done.stderr.decode(errors="replace")))
        else:
            verdict.failures.append(f"large case {number}: exit {done.returncode}, {len(done.stdout)} bytes printed")
    if not CASES * 0.1 <= accepted <= CASES * 0.95:
        verdict.failures.append(f"{accepted} of {CASES} large specs accepted: too few for a result")
    verdict.notes.append(f"large specs refused for: {', '.join(sorted(codes))}")
    return f"{accepted} of {CASES} large specs rendered"


def judge(corpus):
    """Runs all three checks as one verdict."""
    verdict = Verdict("Kubernetes limits", "")
    parts = (judge_examples, judge_names, judge_sizes)
    verdict.counted = ", ".join(part(corpus, verdict) for part in parts)
    return verdict
