"""Runs kube-score on all examples: only checks that kube-score-skips.yaml lists may fail."""

import json
import os
import subprocess

from .corpus import Verdict
from .excuses import Excuses, Finding

# kube-score's grades: 1 critical, 5 warning, 7 almost right, 10 right.
RIGHT = 10


def score(text):
    """The objects and checks in kube-score's report on a stream."""
    command = [os.environ["KUBE_SCORE"], "score", "--output-format", "json", "--kubernetes-version", "v1.34", "-"]
    done = subprocess.run(command, input=text, capture_output=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"kube-score ended with {done.returncode}: {done.stderr.decode()[-1000:]}")
    return json.loads(done.stdout)


def findings(report, example):
    """The failed checks of a report, one per comment: a check may compare several things."""
    for item in report:
        for check in item["checks"] or []:
            if not check["skipped"] and check["grade"] < RIGHT:
                for comment in check["comments"] or [{"summary": check["check"]["name"]}]:
                    yield Finding(check["check"]["id"], comment["summary"], item["type_meta"]["kind"], example)


def excuses():
    return Excuses("kube-score-skips.yaml", lambda row: not row.startswith("| `CKV"))


def judge(corpus):
    """Runs kube-score once per example."""
    verdict, skips, found, count = Verdict("kube-score", ""), excuses(), [], 0
    for example in corpus.examples:
        report = score(example.text)
        count += sum(len(item["checks"] or []) for item in report)
        found += findings(report, example.name)
    excused = skips.apply(verdict, found)
    verdict.counted = f"{count} checks, {len(found) - excused} failed, {excused} excused by {len(skips.skips)} open skips"
    if not count:
        verdict.failures.append("kube-score checked nothing")
    return verdict
