"""Findings of a scanner, and the skips that excuse them: each skip must be needed, and docs/scanners.md must have its row."""

from collections import Counter
from dataclasses import dataclass

import yaml

from .corpus import ROOT

DOCS = ROOT / "docs" / "scanners.md"
# The name in place of an example for the output of the chart.
CHART = "chart"


@dataclass(frozen=True)
class Finding:
    """A check that failed on an object of this kind in this example."""

    check: str
    title: str
    kind: str
    example: str


class Excuses:
    """The skips of one scanner, from a file in tests/output."""

    def __init__(self, file, is_row):
        self.file = file
        self.skips = yaml.safe_load((ROOT / "tests" / "output" / file).read_text())
        self.is_row = is_row

    def excuse(self, finding):
        """The number of the skip for a finding, or None."""
        for number, skip in enumerate(self.skips):
            same = skip["check"] == finding.check and skip.get("finding", finding.title) == finding.title
            if same and finding.kind in skip["kinds"] and finding.example in skip.get("examples", [finding.example]):
                return number
        return None

    def undocumented(self):
        """The rows that differ between docs/scanners.md and the skips."""
        rows = {line for line in DOCS.read_text().splitlines() if line.startswith("| `") and self.is_row(line)}
        meant = {f"| `{skip['check']}` | {skip['title']} | {skip['reason']} |" for skip in self.skips}
        yield from (f"docs/scanners.md lacks the row {row}" for row in sorted(meant - rows))
        yield from (f"docs/scanners.md has a row of no skip: {row}" for row in sorted(rows - meant))

    def apply(self, verdict, findings, chart=False):
        """Adds to a verdict what is not excused, and each skip that excuses nothing. Returns the number of excused findings."""
        used, unexcused = Counter(), {}
        for finding in findings:
            number = self.excuse(finding)
            if number is None:
                unexcused.setdefault(f"{finding.check} {finding.title}, on {finding.kind}", []).append(finding.example)
            used[number] += 1
        for what, examples in sorted(unexcused.items()):
            verdict.failures.append(f"{what}: {len(examples)} times in {', '.join(sorted(set(examples)))}")
        for number, skip in enumerate(self.skips):
            # Without `examples`, a skip is for the examples, and may also excuse findings in the chart.
            if (CHART in skip.get("examples", [])) != chart:
                continue
            verdict.notes.append(f"excused {used[number]} times: {skip['check']} {skip['title']}: {skip['reason']}")
            if not used[number]:
                verdict.failures.append(f"{self.file}: {skip['check']} excuses nothing any more: remove it")
        verdict.failures += self.undocumented()
        return sum(count for number, count in used.items() if number is not None)
