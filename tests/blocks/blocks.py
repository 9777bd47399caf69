#!/usr/bin/env python3
"""Runs the shell blocks of the docs that need no cluster: `blocks.py KHOROVOD`. Each other block must have a reason.

A line before a ```sh block defines how it is run:
  <!-- run -->                 this script runs it, in a folder with the files that a reader of the page has
  <!-- run: holds NAME -->     … and the files that tests/blocks/holds/NAME.sh creates
  <!-- run by STAGE -->        a stage of tests/run.sh reads this page and runs it
  <!-- run by STAGE: WHEN -->  … in the part WHEN of the stage
  <!-- not run: REASON -->
  <!-- file: PATH -->          the block is a file; docs.py checks it
`, ends with CODE` may precede the colon or the end. Blocks of one page run in one folder, in their order.
A ```text block after `<!-- prints -->` is the output of the block before: `…` matches any text, or any lines if it is
alone on a line; `<run>` matches the name of a run.

In the tables "What you typed", each command of khorovod is run, in a folder with the files that tests/migration/NAME.sh
creates.

kubectl, helm and sbatch are replacements (tests/blocks/bin), which check their input.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from typed import documents, rows

ROOT = Path(__file__).resolve().parents[2]
SHELL = re.compile(r"^(?:<!-- ((?:run|not run|file)[^\n]*?) -->\n)?```(?:sh|console|bash)\n(.*?)^```$(?:\n\n<!-- prints -->\n```text\n(.*?)^```$)?", re.M | re.S)
MARK = re.compile(r"(?:(?P<run>run)(?:: holds (?P<holds>\w+))?|run by (?P<by>\w+)(?:: (?P<when>\w+))?|not run: (?P<reason>\S.{10,})|file: (?P<file>\S+))(?:, ends with (?P<code>\d+))?")


@dataclass
class Block:
    page: Path
    line: int
    text: str
    prints: str | None
    mark: re.Match | None

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def code(self):
        return int(self.mark["code"] or 0)


def pages():
    """Returns the pages of the repository; the README and the docs come first."""
    first = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-coz", "--exclude-standard", "*.md"], check=True, capture_output=True, text=True)
    return list(dict.fromkeys([*first, *(ROOT / name for name in sorted(listed.stdout.split("\0")) if (ROOT / name).is_file() and name)]))


def blocks(page):
    text = page.read_text()
    for found in SHELL.finditer(text):
        mark = MARK.fullmatch(found[1] or "")
        yield Block(page, text.count("\n", 0, found.start(2)) + 1, found[2], found[3], mark)


def as_printed(expected):
    """Converts a `<!-- prints -->` block to a pattern."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
            continue
        line = re.escape(line).replace("…", ".*?").replace("<run>", "[a-z0-9]{6}")
        # The width of columns depends on their content.
        pattern += re.sub(r"(?:\\ )+", r" +", line) + r" *\n"
    return re.compile(pattern)


def run(block, folder, environment, limit=120):
    """Runs a block in the working folder in which the block before it ended. Returns an error, or None."""
    place = folder / ".place"
    here = place.read_text().strip() if place.exists() else folder
    text = f"trap 'pwd >{place}' EXIT\n{block.text}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], cwd=here, env=environment, timeout=limit,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode != block.code:
        return f"{block}: ends with {done.returncode}, not {block.code}\n{done.stdout}"
    if block.prints and not as_printed(block.prints).fullmatch(done.stdout):
        return f"{block}: prints\n{done.stdout}\nand not\n{block.prints}"
    return None


def unmarked(page):
    """Blocks without a line that defines how they are run."""
    stages = re.findall(r"^(\w+)\(\)", (ROOT / "tests/run.sh").read_text(), re.M)
    for block in blocks(page):
        if not block.mark:
            yield f"line {block.line}: a shell block without `<!-- run … -->` or `<!-- not run: REASON -->` (a reason has at least eleven characters)"
        elif block.mark["by"] and block.mark["by"] not in stages:
            yield f"line {block.line}: there is no stage {block.mark['by']} in tests/run.sh"
        elif block.mark["holds"] and not (ROOT / f"tests/blocks/holds/{block.mark['holds']}.sh").exists():
            yield f"line {block.line}: there is no tests/blocks/holds/{block.mark['holds']}.sh"


def path(folder, binary, stand_ins):
    """Creates a folder of programs: khorovod, and replacements for others."""
    programs = folder / ".bin"
    programs.mkdir()
    (programs / "khorovod").symlink_to(Path(binary).resolve())
    for stand_in in (ROOT / "tests/blocks" / stand_ins).iterdir():
        (programs / stand_in.name).symlink_to(stand_in)
    return programs


def desk(folder, binary):
    """Creates the files that a reader of a page has: this repository, a job, programs in PATH. Returns the environment."""
    for name in ("examples", "charts", "image", "docs"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "examples/smallest/job.yaml", folder / "job.yaml")
    home = folder / ".home"
    home.mkdir()
    programs = path(folder, binary, "bin")
    return {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def run_tables(binary, counts):
    """Runs khorovod's commands in the tables "What you typed". Returns the errors."""
    wrong = []
    for commands, page in documents():
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            environment = desk(folder, binary)
            script = commands.with_suffix(".sh")
            subprocess.run(["bash", "-eu", script], cwd=folder, env={**environment, "MIGRATION": str(script.parent)}, check=True)
            blocks = [Block(page, row.line, command, None, MARK.fullmatch("run")) for row in rows(page) for command in row.runs]
            counts["cells"] += len(blocks)
            wrong += filter(None, [run(block, folder, environment) for block in blocks])
            wrong += [] if blocks else [f"{page.name}: no command of khorovod in its table"]
    return wrong


def run_page(page, binary):
    """Runs the blocks of a page. Returns what went wrong, and the number of its blocks of each kind."""
    wrong, counts = [], Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        environment, held = desk(folder, binary), set()
        for block in blocks(page):
            mark = block.mark
            if mark and mark["file"]:
                counts["file"] += 1
            elif not mark or mark["reason"]:
                counts["not"] += 1
            elif mark["by"]:
                counts["by", mark["by"]] += 1
            else:
                if mark["holds"] and mark["holds"] not in held:
                    held.add(mark["holds"])
                    subprocess.run(["bash", "-eu", ROOT / f"tests/blocks/holds/{mark['holds']}.sh"], cwd=folder, env=environment, check=True)
                counts["run"] += 1
                wrong += filter(None, [run(block, folder, environment)])
    return wrong, counts


def main(binary):
    wrong, counts = [], Counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found, number in pool.map(lambda page: run_page(page, binary), pages()):
            wrong += found
            counts += number
    wrong += run_tables(binary, counts)
    others = "".join(f", {count} by the stage {stage[1]}" for stage, count in counts.items() if stage[0] == "by")
    print("\n".join([*wrong, f"shell blocks: {counts['run']} run here{others}, {counts['cells']} commands in tables, {counts['file']} files, {counts['not']} not run, with a reason; {len(wrong)} went wrong"]))
    return bool(wrong) or counts["run"] < 10


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
