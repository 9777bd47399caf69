"""Fixtures: a job, and a replacement for the program that records how it is called."""

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import khorovod
from khorovod import _binary

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for the seed of the ssh keys."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def mnist() -> khorovod.TrainingJob:
    return khorovod.TrainingJob(
        name="mnist",
        image="ghcr.io/acme/mnist:1.4",
        command=["python", "train.py"],
        workers=khorovod.Workers(replicas=2, gpus=8, memory="64Gi"),
    )


class Fake:
    """A program that prints what a test asks for, and records its arguments and its standard input."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "khorovod"
        self.program.write_text(
            f"#!{sys.executable}\n"
            "import json, sys\n"
            f"folder = {str(folder)!r}\n"
            "call = {'arguments': sys.argv[1:], 'input': '' if sys.argv[3] == 'logs' else open(sys.argv[5]).read() if '--local' in sys.argv else sys.stdin.read()}\n"
            "open(folder + '/calls', 'a').write(json.dumps(call) + '\\n')\n"
            "answer = json.load(open(folder + '/answer.json'))\n"
            "answer = answer.get('json' if 'json' in sys.argv else 'text') if 'text' in answer else answer\n"
            "sys.stdout.write(answer['stdout']); sys.stderr.write(answer['stderr']); sys.exit(answer['code'])\n"
        )
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def answers(self, stdout: str = "", stderr: str = "", code: int = 0, as_json: str | None = None) -> None:
        answer: dict[str, Any] = {"stdout": stdout, "stderr": stderr, "code": code}
        if as_json is not None:
            answer = {"text": answer, "json": {**answer, "stdout": as_json}}
        (self.folder / "answer.json").write_text(json.dumps(answer))

    @property
    def calls(self) -> list[list[str]]:
        return [call["arguments"] for call in self._calls()]

    @property
    def inputs(self) -> list[str]:
        return [call["input"] for call in self._calls()]

    def _calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    folder = tmp_path / "fake"
    folder.mkdir()
    made = Fake(folder)
    monkeypatch.setattr(_binary, "find", lambda: str(made.program))
    yield made


Write = Callable[[str], Any]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Imports a text as a module, as a file of a user."""

    def write(text: str) -> Any:
        name = f"user_{len(list(tmp_path.glob('user_*.py')))}_{os.getpid()}_{abs(hash(tmp_path))}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        return __import__(name)

    return write
