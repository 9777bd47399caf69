"""Jobs in a cluster: each function runs one command of khorovod, which uses your kubectl and its current context."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from . import _binary
from ._base import Text
from ._problems import CommandError


State = Literal["trained", "running", "released"]


class Status(dict[str, Any]):
    """The state of a job, as `khorovod status -o json` prints it in `jobs`. `print(status)` shows it as text."""

    def __init__(self, fields: dict[str, Any], text: str) -> None:
        super().__init__(fields)
        self.text = text
        """The output of `khorovod status`."""

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def explain(word: str) -> None:
    """Print the description of a field, such as `workers.shm`, of a problem code, or of an exit code of a launcher."""
    __tracebackhide__ = True
    print(_run(["explain", word]).stdout.rstrip("\n"))


def _run(arguments: list[str], text: str | None = None) -> _binary.Output:
    __tracebackhide__ = True
    output = _binary.call(arguments, text)
    if output.code:
        raise CommandError(output.stderr.strip() or f"khorovod {arguments[0]} ended with {output.code}", output.code)
    return output


def _printed(arguments: list[str], text: str | None = None) -> Text:
    """Run a command, and return what it prints on both streams."""
    __tracebackhide__ = True
    output = _run(arguments, text)
    return Text("\n".join(filter(None, (output.stdout.rstrip("\n"), output.stderr.rstrip("\n")))))


def _place(namespace: str | None, context: str | None) -> list[str]:
    return [*(["--namespace", namespace] if namespace else []), *(["--context", context] if context else [])]


def run(spec: str, *, namespace: str | None, context: str | None) -> Text:
    """Apply a spec, and return what the command prints. It does not wait for the job."""
    __tracebackhide__ = True
    return _printed(["run", "-", "--detach", *_place(namespace, context)], spec)


def run_local(spec: str, *, workers: int | None) -> None:
    """Run a spec on this machine, and print each line of its output."""
    __tracebackhide__ = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "job.yaml")
        path.write_text(spec, encoding="utf-8")
        limit = ["--workers", str(workers)] if workers is not None else []
        for line in _binary.follow(["run", "--local", str(path), *limit]):
            print(line, flush=True)


def status(name: str, *, namespace: str | None = None, context: str | None = None) -> Status:
    """Return what a job does, since when, and what it waits for."""
    __tracebackhide__ = True
    arguments = ["status", name, *_place(namespace, context)]
    (fields,) = json.loads(_run([*arguments, "-o", "json"]).stdout)["jobs"]
    return Status(fields, _run(arguments).stdout.rstrip("\n"))


def logs(
    name: str,
    *,
    namespace: str | None = None,
    context: str | None = None,
    follow: bool = False,
    rank: int | None = None,
    failed: bool = False,
    tail: int | None = None,
) -> Iterator[str]:
    """Yield each line of the log of a job. With `follow`, until the run ends.

    `rank` selects the lines of one rank, `failed` the pods that have failed, and `tail` the last lines of each pod.
    """
    return _binary.follow(
        [
            *("logs", name, *_place(namespace, context)),
            *(["--follow"] if follow else []),
            *(["--rank", str(rank)] if rank is not None else []),
            *(["--failed"] if failed else []),
            *(["--tail", str(tail)] if tail is not None else []),
        ]
    )


def stop(name: str, *, namespace: str | None = None, context: str | None = None, now: bool = False) -> Text:
    """Stop a job, and return what the command prints. The ranks can save a checkpoint first, except with `now`."""
    __tracebackhide__ = True
    return _printed(["stop", name, *_place(namespace, context), *(["--now"] if now else [])])


def wait(
    name: str, *, namespace: str | None = None, context: str | None = None, until: State = "trained", timeout: str | None = None
) -> Text:
    """Wait until a job has reached a state, and return what the command prints. A failed job raises a `CommandError`.

    The states are `trained` (ended successfully), `running` (its ranks run) and `released` (no resources are held, however it
    ended). `timeout` is a duration such as `2h`.
    """
    __tracebackhide__ = True
    limit = ["--timeout", timeout] if timeout else []
    return _printed(["wait", name, *_place(namespace, context), "--for", until, *limit])
