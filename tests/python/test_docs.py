"""The Python blocks of docs/python.md, and its notebook."""

import contextlib
import importlib
import io
import re
import stat
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from conftest import ROOT
from khorovod import _binary

sys.path.insert(0, str(ROOT / "tests/blocks"))
as_printed: Any = importlib.import_module("blocks").as_printed

BLOCK = re.compile(r"^```python( error)?\n(.*?)^```$(?:\n\n<!-- prints -->\n```text\n(.*?)^```$)?", re.M | re.S)

# The commands for a cluster are answered here; all others are those of the real program.
CLUSTER = """#!/bin/sh
case "$3" in
status) case "$*" in *json*) echo '{"jobs": [{"phase": "training"}]}' ;; *) echo "mnist: training" ;; esac ;;
run | logs | stop | wait) echo "$3 $4" ;;
*) exec "PROGRAM" "$@" ;;
esac
"""


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text(CLUSTER.replace("PROGRAM", _binary.find()))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(_binary, "find", lambda: str(program))
    monkeypatch.setenv("KHOROVOD_SSH_SEED", "07" * 32)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/python.md").read_text()
    scope: dict[str, Any] = {"__name__": "__main__"}
    ran = compared = 0
    for number, (error, text, prints) in enumerate(BLOCK.findall(page)):
        # A file, so that the source of functions can be read.
        file = tmp_path / f"block_{number}.py"
        file.write_text(text)
        printed = io.StringIO()
        failed = False
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                exec(compile(text, str(file), "exec"), scope)
            except Exception as caught:
                if not error:
                    raise
                failed = True
                printed.write("".join(traceback.format_exception_only(type(caught), caught)))
        assert failed == bool(error), text
        if prints:
            assert as_printed(prints).fullmatch(printed.getvalue()), f"{text}\nprints\n{printed.getvalue()}"
            compared += 1
        ran += 1
    assert ran >= 10 and compared >= 6 and ran == page.count("\n```python")


def test_the_notebook() -> None:
    read: Any = nbformat.read
    notebook = read(ROOT / "docs/python.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "docs/python.ipynb has outputs: clear them"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = ["".join(str(output.get("data", output)) for output in cell.outputs) for cell in cells]
    assert "<img" in outputs[0] and "data:image/svg+xml" in outputs[0]
    assert "mnist, run " in outputs[1] and "16" in outputs[1]
    wrong = [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert [output.ename for output in wrong] == ["TypeError", "Problems"]
    assert "did you mean 'gpus'?" in wrong[0].evalue
    assert "out-of-range" in wrong[1].evalue and "invalid-value" in wrong[1].evalue
    # Of the frames of the package, a notebook shows only the last one.
    assert ["".join(output.traceback).count("khorovod/_") for output in wrong] == [1, 1]
    assert "<img" in outputs[-3] and "def train(rate: float" in outputs[-2]


def test_functions_and_classes_in_cells() -> None:
    cells = [
        "import khorovod\nfrom dataclasses import dataclass",
        "class Point: ...",
        "@dataclass\nclass Point:\n    x: int\n\ndef twice(point): return 2 * point.x",
        "@khorovod.job(image='a:1', helpers=[Point, twice], imports=['from dataclasses import dataclass'])\n"
        "def train(): print(twice(Point(2)))",
        "print(train.source)",
        "@khorovod.job(image='a:1')\ndef other(): twice(1)",
    ]
    notebook: Any = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])  # type: ignore[no-untyped-call]
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    printed = notebook.cells[4].outputs[0].text
    assert printed.startswith("# train()") and "@dataclass\nclass Point:\n    x: int\n" in printed
    assert "twice: add helpers=[twice]" in notebook.cells[5].outputs[0].evalue
