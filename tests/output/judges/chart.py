"""Runs checkov and kube-score on the output of the chart, which also contains the pods of hooks. HELM is Helm 3.

Runs only if it is named, because the other checks need no Helm.
"""

import os
import subprocess

from . import scan, score
from .corpus import ROOT, Verdict
from .excuses import CHART


def output(corpus):
    """The output of `helm template` with the values of the smallest example, and resources for its workers."""
    chart = ROOT / "charts/training-job"
    words = ["template", "mnist", chart, "-n", "ml", "-f", chart / "examples/smallest.yaml", "--kube-version", "1.34.3"]
    words += ["--set", "spec.workers.cpu=8", "--set", "spec.workers.memory=64Gi"]
    words += ["--post-renderer", corpus.binary.path, "--post-renderer-args", "post-render"]
    done = subprocess.run([os.environ["HELM"], *map(str, words)], capture_output=True)
    if done.returncode:
        raise RuntimeError(f"helm template: {done.stderr.decode()[-1000:]}")
    return done.stdout


def judge(corpus):
    text, verdict = output(corpus), Verdict("chart", "")
    folder = corpus.scratch / "chart"
    folder.mkdir()
    (folder / f"{CHART}.yaml").write_bytes(text)
    found = [*scan.findings(scan.scan(folder))], [*score.findings(score.score(text), CHART)]
    excused = [tool.excuses().apply(verdict, list_, chart=True) for tool, list_ in zip((scan, score), found)]
    verdict.counted = f"checkov found {len(found[0])}, kube-score {len(found[1])}, {sum(excused)} are excused"
    if not all(found):
        verdict.failures.append("a scanner found nothing in the chart")
    return verdict
