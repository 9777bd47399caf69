#!/usr/bin/env python3
"""The shell blocks of the docs: each is run, or says why not. `blocks.py KHOROVOD` runs those that need no cluster.

Before a ```sh block stands one of
  <!-- run -->                 run here, in a folder that holds what a reader of the page would have
  <!-- run: holds NAME -->     … and what tests/blocks/holds/NAME.sh makes
  <!-- run by STAGE -->        a stage of tests/run.sh reads this page and runs it
  <!-- not run: REASON -->
  <!-- file: PATH -->          the block is a file, as docs.py sees to
and before the colon or at the end may stand `, ends with CODE`. Blocks of one page run in one folder, in their order.
A ```text block behind `<!-- prints -->` is what the block before printed: `…` is any text, on a line of its own any
lines; `<run>` is a run's name.

kubectl, helm and sbatch are stand-ins (tests/blocks/bin): they take what is given to them and look at it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHELL = re.compile(r"^(?:<!-- ((?:run|not run|file)[^\n]*?) -->\n)?```(?:sh|console|bash)\n(.*?)^```$(?:\n\n<!-- prints -->\n```text\n(.*?)^```$)?", re.M | re.S)
MARK = re.compile(r"(?:(?P<run>run)(?:: holds (?P<holds>\w+))?|run by (?P<by>\w+)|not run: (?P<reason>\S.{10,})|file: (?P<file>\S+))(?:, ends with (?P<code>\d+))?")


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
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("charts/*/README.md"))]


def blocks(page):
    text = page.read_text()
    for found in SHELL.finditer(text):
        mark = MARK.fullmatch(found[1] or "")
        yield Block(page, text.count("\n", 0, found.start(2)) + 1, found[2], found[3], mark)


def as_printed(expected):
    """What a `<!-- prints -->` block stands for, as a pattern."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
            continue
        line = re.escape(line).replace("…", ".*?").replace("<run>", "[a-z0-9]{6}")
        # Columns are as wide as what stands in them.
        pattern += re.sub(r"(?:\\ )+", r" +", line) + r" *\n"
    return re.compile(pattern)


def run(block, folder, environment, limit=120):
    """Runs a block, where the one before it went to. Answers with what is wrong, or nothing."""
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
    """Blocks that neither run nor say why not."""
    stages = re.findall(r"^(\w+)\(\)", (ROOT / "tests/run.sh").read_text(), re.M)
    for block in blocks(page):
        if not block.mark:
            yield f"line {block.line}: a shell block without `<!-- run … -->` or `<!-- not run: REASON -->`"
        elif block.mark["by"] and block.mark["by"] not in stages:
            yield f"line {block.line}: there is no stage {block.mark['by']} in tests/run.sh"
        elif block.mark["holds"] and not (ROOT / f"tests/blocks/holds/{block.mark['holds']}.sh").exists():
            yield f"line {block.line}: there is no tests/blocks/holds/{block.mark['holds']}.sh"


def path(folder, binary, stand_ins):
    """A folder of programs: khorovod, and stand-ins for others."""
    programs = folder / ".bin"
    programs.mkdir()
    (programs / "khorovod").symlink_to(Path(binary).resolve())
    for stand_in in (ROOT / "tests/blocks" / stand_ins).iterdir():
        (programs / stand_in.name).symlink_to(stand_in)
    return programs


def desk(folder, binary):
    """What a reader has before a page: this repository at hand, a job, programs in PATH. Answers with the environment."""
    for name in ("examples", "charts", "image", "docs"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "examples/smallest/job.yaml", folder / "job.yaml")
    home = folder / ".home"
    home.mkdir()
    programs = path(folder, binary, "bin")
    return {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


def main(binary):
    wrong, counts = [], {"run": 0, "by": {}, "not": 0, "file": 0}
    for page in pages():
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
                    counts["by"][mark["by"]] = counts["by"].get(mark["by"], 0) + 1
                else:
                    if mark["holds"] and mark["holds"] not in held:
                        held.add(mark["holds"])
                        subprocess.run(["bash", "-eu", ROOT / f"tests/blocks/holds/{mark['holds']}.sh"], cwd=folder, env=environment, check=True)
                    counts["run"] += 1
                    wrong += filter(None, [run(block, folder, environment)])
    others = "".join(f", {count} by the stage {stage}" for stage, count in counts["by"].items())
    print("\n".join([*wrong, f"shell blocks: {counts['run']} run here{others}, {counts['file']} files, {counts['not']} not run, with a reason; {len(wrong)} went wrong"]))
    return bool(wrong) or counts["run"] < 10


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
