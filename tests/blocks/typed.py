"""Reads the tables "What you typed / What it is now" of the pages for people who come from another system."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEAD = "| What you typed | What it is now |\n|---|---|\n"


@dataclass
class Row:
    line: int
    typed: list[str]
    answer: str

    def has(self, command):
        """Whether the row has a command, or its beginning and `…`."""
        begins = [span[:-1].rstrip() for span in self.typed if span.endswith("…")]
        return command in self.typed or any(len(start) > 3 and command.startswith(start) for start in begins)

    @property
    def runs(self):
        """The commands of khorovod in the answer."""
        return [span for span in spans(self.answer) if span.startswith("khorovod ")]


def spans(cell):
    """The code in a cell of a table."""
    found = re.findall(r"``\s?(.+?)\s?``|`([^`]+)`", cell)
    return [(double or single).replace("\\|", "|") for double, single in found]


def rows(page):
    """The rows of all such tables of a page."""
    text = page.read_text()
    for table in re.finditer(re.escape(HEAD) + r"((?:\|.*\n)+)", text):
        first = text.count("\n", 0, table.start(1)) + 1
        for number, line in enumerate(table[1].splitlines()):
            typed, answer = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            yield Row(first + number, spans(typed), answer.strip())


def documents():
    """The lists of commands, each with its page."""
    for commands in sorted(ROOT.glob("tests/migration/*.txt")):
        yield commands, ROOT / f"docs/from-{commands.stem}.md"


def missing():
    """Commands without a row, and rows without an answer."""
    for commands, page in documents():
        table = list(rows(page))
        for line in commands.read_text().splitlines():
            if not any(row.has(line) for row in table):
                yield f"{page.name}: no row for `{line}`, which {commands.relative_to(ROOT)} lists"
        yield from (f"{page.name}:{row.line}: the row has no answer" for row in table if not row.answer)
