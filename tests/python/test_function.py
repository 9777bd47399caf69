"""The decorator `job`: what it ships, and the errors for functions that it cannot ship."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import khorovod
from conftest import Write
from khorovod import NotShippable, TrainingJob
from khorovod._function import LIMIT

HEAD = "import khorovod\n"


def run(job: TrainingJob, folder: Path) -> str:
    """Runs the command of a job with its files, as a rank does."""
    assert isinstance(job.command, list) and job.code and job.code.files
    for name, text in job.code.files.items():
        (folder / name).write_text(text)
    command = [sys.executable, *job.command[1:]]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_function_becomes_a_readable_file(module: Write, tmp_path: Path) -> None:
    user = module(
        HEAD
        + '''
@khorovod.job(
    image="ghcr.io/acme/torch:2.8",
    workers=2,
    gpus=8,
    launcher="torchrun",
)
def train_model(rate: float, epochs: int = 3, *, words: list[str] = []) -> None:
    """Train."""
    import math

    # A comment.
    print(rate, epochs, words, math.pi > 3)
'''
    )
    job = user.train_model.job(0.1, words=["a 'b'", "$HOME", "é"])
    assert job.name == "train-model" and job.workers == khorovod.Workers(replicas=2, gpus=8) and job.launcher == "torchrun"
    assert job.command == ["python3", "main.py", r"""{"rate": 0.1, "words": ["a 'b'", "\u0024HOME", "\u00e9"]}"""]
    assert job.code.files["main.py"] == '''# train_model() and what it needs. khorovod runs this file in each rank; the arguments are JSON.

from __future__ import annotations

import json
import sys


def train_model(rate: float, epochs: int = 3, *, words: list[str] = []) -> None:
    """Train."""
    import math

    # A comment.
    print(rate, epochs, words, math.pi > 3)


if __name__ == "__main__":
    train_model(**json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}"))
'''
    assert run(job, tmp_path) == "0.1 3 [\"a 'b'\", '$HOME', 'é'] True\n"
    assert job.validate() == []
    assert job.plan().ranks == 16
    # Jobs of one function are independent.
    other = user.train_model.job(0.2)
    other.workers.replicas = 4
    assert user.train_model.job(0.1).workers.replicas == 2


def test_a_function_runs_here_too(module: Write) -> None:
    user = module(HEAD + "@khorovod.job(image='a')\ndef double(x: int) -> int:\n    return 2 * x\n")
    assert user.double(4) == 8 and user.double.__name__ == "double"
    assert user.double.job(x=4).command == ["python3", "main.py", '{"x": 4}']


def test_imports_helpers_files_and_other_decorators(module: Write, tmp_path: Path) -> None:
    user = module(
        HEAD
        + '''
import functools as ft
from dataclasses import dataclass

@dataclass
class Point:
    x: int

def twice(point):
    return Point(2 * point.x)

@khorovod.job(image="a", python="python", imports=["import functools as ft", "from dataclasses import dataclass"], helpers=[Point, twice],
              files={"settings.py": "STEPS = 7"})
@ft.lru_cache
def train(x: int = 1, **rest: int) -> None:
    from settings import STEPS
    def inner(): return [x + step for step in range(2)]
    print(twice(Point(x)), STEPS, inner(), rest)
'''
    )
    job = user.train.job(2, y=3)
    assert job.command[0] == "python"
    assert run(job, tmp_path) == "Point(x=4) 7 [2, 3] {'y': 3}\n"
    assert run(user.train.job(), tmp_path) == "Point(x=2) 7 [1, 2] {}\n"


REFUSED = {
    "a lambda": ("train = khorovod.job(image='a')(lambda: 1)", "a lambda has no name and no source of its own: write it as `def train"),
    "a method": (
        "class A:\n    @khorovod.job(image='a')\n    def train(self): ...",
        "A.train is a method, whose object is not in the job: write a function outside the class",
    ),
    "a closure": (
        "def outer(n):\n    @khorovod.job(image='a')\n    def train(): print(n)\nouter(1)",
        "train uses n of the function around it, which is not in the job: pass arguments instead",
    ),
    "a coroutine": ("@khorovod.job(image='a')\nasync def train(): ...", "train is a coroutine or a generator"),
    "a generator": ("@khorovod.job(image='a')\ndef train(): yield 1", "train is a coroutine or a generator"),
    "a class": ("@khorovod.job(image='a')\nclass Train: ...", "job needs a function, not type"),
    "a callable": ("khorovod.job(image='a')(print)", "job needs a function, not builtin_function_or_method"),
    "positions": ("@khorovod.job(image='a')\ndef train(*args): ...", r"train takes \*args by position, and a job passes arguments by name"),
    "no source": ("exec(\"@khorovod.job(image='a')\\ndef train(): ...\")", "the source of train cannot be read"),
    "a module": (
        "import os.path as p\n@khorovod.job(image='a')\ndef train(): print(p.sep)",
        r"train uses what is defined outside it, which is not in the job:\n  p: add imports=\['import posixpath as p'\]",
    ),
    "an imported class": (
        "from pathlib import Path\n@khorovod.job(image='a')\ndef train(x=Path('/a')): ...",
        r"  Path: add imports=\['from pathlib import Path'\]",
    ),
    "a function beside it": ("def f(): ...\n@khorovod.job(image='a')\ndef train(): f()", r"  f: add helpers=\[f\]"),
    "a value": ("LR = 1\n@khorovod.job(image='a')\ndef train(): print([LR for _ in 'ab'])", "  LR: pass it as an argument, or define it in"),
    "a default": ("LR = 1\n@khorovod.job(image='a')\ndef train(x=LR): ...", "  LR: pass it as an argument"),
    "nothing": ("@khorovod.job(image='a')\ndef train(): print(foo)", "  foo: it is not defined here either; define it in the function"),
    "too much": (
        f"@khorovod.job(image='a')\ndef train():\n    return '{'x' * 210_000}'",
        "the source of train has 205 KiB, and a file of a spec at most 200 KiB: build large programs into the image",
    ),
    "no import": ("@khorovod.job(image='a', imports=['numpy'])\ndef train(): ...", "imports contains 'numpy', which is not an import statement"),
    "imports as a text": ("@khorovod.job(image='a', imports='import os')\ndef train(): ...", r"imports=\['import os'\]"),
    "its own file": ("@khorovod.job(image='a', files={'main.py': ''})\ndef train(): ...", "files contains main.py"),
    "workers twice": (
        "@khorovod.job(image='a', gpus=1, workers=khorovod.Workers(replicas=1))\ndef train(): ...",
        r"set gpus in Workers\(…\), because workers is a Workers object",
    ),
    "a wrong field": ("@khorovod.job(image='a', launchr='torchrun')\ndef train(): ...", "no field 'launchr': did you mean 'launcher'"),
    "no parameters": ("@khorovod.job\ndef train(): ...", "missing 1 required keyword-only argument: 'image'"),
    "a function as a parameter": ("khorovod.job(print, image='a')", r"write the decorator with parameters: @khorovod.job\(image=…, workers=2\)"),
}


@pytest.mark.parametrize("text, message", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_shipped(text: str, message: str, module: Write) -> None:
    with pytest.raises(TypeError, match=message):
        module(f"{HEAD}{text}\n")


@khorovod.job(image="a")
def train(x: Any, y: int = 0) -> None:
    """A function with annotations that only a type checker reads."""


def test_arguments_are_json() -> None:
    for value, message in [
        ((1, 2), r"JSON would change the argument x from \(1, 2\) to \[1, 2\]: pass the latter"),
        ({1: 2}, r"JSON would change the argument x from \{1: 2\} to \{'1': 2\}"),
        (float("inf"), "the argument x is inf, which JSON cannot hold"),
        (Path("/a"), "the argument x is PosixPath"),
    ]:
        with pytest.raises(NotShippable, match=message):
            train.job(value)
    with pytest.raises(TypeError, match=r"train\(x: Any, y: int = 0\) -> None: missing a required argument: 'x'"):
        train.job()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        train.job(1, z=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_the_limit_is_that_of_the_compiler(module: Write) -> None:
    """A function just below the limit of the package is accepted by the compiler."""
    user = module(f"{HEAD}@khorovod.job(image='a:1')\ndef train():\n    return '{'x' * (LIMIT - 400)}'\n")
    job = user.train.job()
    assert [problem.code for problem in job.validate() if problem.severity == "error"] == []
    job.code.files["main.py"] += "#" * 800
    assert [problem.code for problem in job.validate() if problem.severity == "error"] != []


def test_a_function_in_a_script(tmp_path: Path) -> None:
    """As a user runs it: in `__main__`, with python's own path."""
    script = tmp_path / "launch.py"
    script.write_text(f"{HEAD}@khorovod.job(image='a')\ndef train(x):\n    print(x)\nprint(train.job(x=5).to_yaml())\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment).stdout
    job = TrainingJob.from_yaml(shown)
    assert job.code and job.code.files and "def train(x):" in job.code.files["main.py"]
    assert json.loads(job.command[-1]) == {"x": 5}  # type: ignore[index]  # pyright: ignore[reportOptionalSubscript]
