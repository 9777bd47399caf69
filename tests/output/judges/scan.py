"""Runs checkov on all examples: only checks that checkov-skips.yaml lists may fail."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import yaml

from .corpus import Verdict

DOCS = Path(__file__).resolve().parents[3] / "docs" / "scanners.md"
SKIPS = Path(__file__).resolve().parents[1] / "checkov-skips.yaml"


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


def excuse(failed, skips):
    """The skip for a failed check, or None."""
    kind = failed["resource"].split(".")[0]
    example = Path(failed["file_path"]).stem
    for number, skip in enumerate(skips):
        if skip["check"] != failed["check_id"] or kind not in skip["kinds"]:
            continue
        if example in skip.get("examples", [example]):
            return number
    return None


def undocumented(skips):
    """The rows that differ between docs/scanners.md and the skips."""
    rows = {line for line in DOCS.read_text().splitlines() if line.startswith("| `CKV")}
    meant = {f"| `{skip['check']}` | {skip['title']} | {skip['reason']} |" for skip in skips}
    yield from (f"docs/scanners.md lacks the row {row}" for row in sorted(meant - rows))
    yield from (f"docs/scanners.md has a row of no skip: {row}" for row in sorted(rows - meant))


def judge(corpus):
    """Writes one file per example and runs checkov once. A skip that is not needed is a failure too."""
    folder = corpus.scratch / "checkov"
    folder.mkdir()
    for example in corpus.examples:
        (folder / f"{example.name}.yaml").write_bytes(example.text)
    report, skips, used = scan(folder), yaml.safe_load(SKIPS.read_text()) or [], Counter()
    verdict, unexcused = Verdict("checkov", ""), {}
    for failed in report["results"]["failed_checks"]:
        number = excuse(failed, skips)
        if number is None:
            what = f"{failed['check_id']} {failed['check_name']}, on {failed['resource'].split('.')[0]}"
            unexcused.setdefault(what, []).append(Path(failed["file_path"]).stem)
        used[number] += 1
    for what, examples in sorted(unexcused.items()):
        verdict.failures.append(f"{what}: {len(examples)} times in {', '.join(sorted(set(examples)))}")
    for number, skip in enumerate(skips):
        verdict.notes.append(f"excused {used[number]} times: {skip['check']} {skip['title']}: {skip['reason']}")
        if not used[number]:
            verdict.failures.append(f"checkov-skips.yaml: {skip['check']} excuses nothing any more: remove it")
    verdict.failures += undocumented(skips)
    summary = report["summary"]
    excused = sum(count for number, count in used.items() if number is not None)
    verdict.counted = (
        f"{summary['passed']} checks passed on {summary['resource_count']} resources, "
        f"{summary['failed'] - excused} failed, {excused} excused by {len(skips)} open skips"
    )
    if not summary["passed"]:
        verdict.failures.append("checkov checked nothing")
    return verdict
