"""The problems of a spec, and the errors that the package raises."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Place:
    """A part of the text of a spec. Lines and columns count from 1, and the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    """The description of this place; empty for the main place of a problem."""


@dataclass(frozen=True)
class Fix:
    """An edit that solves a problem: `text` replaces the part of the spec between the two ends."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True)
class Problem:
    """A problem of a spec. Lines are those of `TrainingJob.to_yaml()`."""

    code: str
    """The stable name of this kind of problem, such as `unknown-field`. `khorovod.explain` describes it."""
    severity: Literal["error", "warning", "note"]
    message: str
    field: str | None
    """The path of the field in the spec, such as `spec.workers.slotsPerWorker`, if the problem has a place."""
    places: tuple[Place, ...]
    hint: str | None
    """The advice for you."""
    fix: Fix | None
    """An edit that solves the problem, if there is one that is safe."""

    @property
    def line(self) -> int | None:
        """The line of the main place."""
        return self.places[0].line if self.places else None

    def __str__(self) -> str:
        place = f" ({self.field})" if self.field else ""
        hint = f"\n  help: {self.hint}" if self.hint else ""
        return f"{self.severity}[{self.code}]: {self.message}{place}{hint}"


def read(report: str, paths: Sequence[str]) -> list[Problem]:
    """Return the problems of a report that `khorovod validate -o json` has printed. `paths` has the field of each line."""
    return [_problem(found, paths) for found in json.loads(report)["problems"]]


def _problem(found: Mapping[str, Any], paths: Sequence[str]) -> Problem:
    places = tuple(Place(*_ends(label), label["text"]) for label in found["labels"])
    fix = found["fix"] and Fix(*_ends(found["fix"]), found["fix"]["text"])
    field = paths[places[0].line - 1] if places and places[0].line <= len(paths) else None
    return Problem(found["code"], found["severity"], found["message"], field, places, found["hint"], fix)


def _ends(found: Mapping[str, Any]) -> tuple[int, int, int, int]:
    return found["line"], found["column"], found["endLine"], found["endColumn"]


class Error(Exception):
    """An error of khorovod."""

    __module__ = "khorovod"


class CommandError(Error):
    """A command of khorovod failed for another reason than problems in a spec."""

    __module__ = "khorovod"

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message.removeprefix("error: "))
        self.code = code
        """The exit code of the command, if it ran."""


class Problems(Error):
    """A spec has errors. The message is the text that the command line prints."""

    __module__ = "khorovod"

    def __init__(self, text: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(text)
        self.problems = list(problems)
        """Each problem, the warnings included."""

    def __str__(self) -> str:
        # Python prints the name of the class before the text, which has several lines.
        return f"the spec has errors\n{self.args[0]}"


class SpecWarning(UserWarning):
    """A spec has warnings or notes. The message is the text that the command line prints."""

    __module__ = "khorovod"
