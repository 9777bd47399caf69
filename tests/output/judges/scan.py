"""Runs checkov on all examples: only checks that checkov-skips.yaml lists may fail."""

import json
import os
import subprocess
import sys
from pathlib import Path

from .corpus import Verdict
from .excuses import Excuses, Finding


def scan(folder):
    """checkov's report on a folder of manifests, without any download."""
    command = [str(Path(sys.executable).parent / "checkov"), "--directory", str(folder), "--framework", "kubernetes"]
    command += ["--skip-download", "--compact", "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LOG_LEVEL": "ERROR"})
    if done.returncode not in (0, 1):
        raise RuntimeError(f"checkov ended with {done.returncode}: {done.stderr[-1000:]}")
    report = json.loads(done.stdout)
    if report["summary"]["parsing_errors"]:
        raise RuntimeError(f"checkov could not parse {report['results']['parsing_errors']}")
    return report


def findings(report):
    """The failed checks of a report on files that are named after examples."""
    for failed in report["results"]["failed_checks"]:
        example = Path(failed["file_path"]).stem
        yield Finding(failed["check_id"], failed["check_name"], failed["resource"].split(".")[0], example)


def excuses():
    return Excuses("checkov-skips.yaml", lambda row: row.startswith("| `CKV"))


def judge(corpus):
    """Writes one file per example and runs checkov once."""
    folder = corpus.scratch / "checkov"
    folder.mkdir()
    for example in corpus.examples:
        (folder / f"{example.name}.yaml").write_bytes(example.text)
    report, skips, verdict = scan(folder), excuses(), Verdict("checkov", "")
    excused, summary = skips.apply(verdict, findings(report)), report["summary"]
    verdict.counted = (
        f"{summary['passed']} checks passed on {summary['resource_count']} resources, "
        f"{summary['failed'] - excused} failed, {excused} excused by {len(skips.skips)} open skips"
    )
    if not summary["passed"]:
        verdict.failures.append("checkov checked nothing")
    return verdict
