"""Finds and runs the program `khorovod`. Everything that the package does beside building a spec passes through `call`."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ._problems import CommandError

NAME = "khorovod.exe" if os.name == "nt" else "khorovod"


def _beside_package() -> Iterator[Path]:
    """Yield where pip installs the program of this package: in an environment, for a user, or with `pip install --target`."""
    yield Path(sysconfig.get_path("scripts"))
    yield Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    package = Path(__file__).resolve().parent
    yield package.parent / ("Scripts" if os.name == "nt" else "bin")


@functools.lru_cache(maxsize=1)
def find() -> str:
    """Return the path of the program: that of the wheel, else one in PATH that has the version of this package."""
    for folder in _beside_package():
        if (folder / NAME).is_file():
            return str(folder / NAME)
    path = shutil.which("khorovod")
    if path is None:
        raise CommandError("the program khorovod is not installed: run `pip install --force-reinstall khorovod`")
    try:
        wanted = version("khorovod")
    except PackageNotFoundError:
        # The package is used from a checkout.
        return path
    found = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.split()[-1:]
    if found != [wanted]:
        raise CommandError(
            f"{path} has the version {' '.join(found) or 'unknown'}, and the Python package {wanted}: "
            f"run `pip install --force-reinstall khorovod=={wanted}`, which installs the program too"
        )
    return path


@dataclass(frozen=True)
class Output:
    """The output of a command, and its exit code."""

    stdout: str
    stderr: str
    code: int


def call(arguments: Sequence[str], text: str | None = None) -> Output:
    """Run a command of khorovod with a text as its standard input, and return its output. An exit code above 1 raises an error."""
    __tracebackhide__ = True
    # Without a shell: the arguments reach the program unchanged.
    command = [find(), "--color", "never", *arguments]
    try:
        done = subprocess.run(command, input=text or "", capture_output=True, encoding="utf-8", check=False)
    except OSError as error:
        raise CommandError(
            f"{command[0]} cannot be run: {error.strerror}; `pip install --force-reinstall khorovod` installs the one for this machine"
        ) from None
    if done.returncode not in (0, 1):
        # Without the advice to try `--help`.
        message = re.sub(r"\s+(Usage: |For more information, ).*", "", done.stderr, flags=re.S).strip()
        raise CommandError(message or f"khorovod {arguments[0]} ended with {done.returncode}", done.returncode)
    return Output(done.stdout, done.stderr, done.returncode)


def follow(arguments: Sequence[str]) -> Iterator[str]:
    """Run a command of khorovod and yield each line that it prints. The command ends with the iteration."""
    # The command would block on a pipe that is not read.
    with tempfile.TemporaryFile() as errors:
        command = [find(), "--color", "never", *arguments]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", errors="replace"
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    yield line.rstrip("\n")
            except BaseException:
                process.terminate()
                raise
        if process.returncode:
            errors.seek(0)
            message = errors.read().decode("utf-8", "replace").strip()
            raise CommandError(message or f"khorovod {arguments[0]} ended with {process.returncode}", process.returncode)


def main() -> int:
    """Run the program in place of Python, for `python -m khorovod`."""
    try:
        command = [find(), *sys.argv[1:]]
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    if os.name == "nt":
        return subprocess.run(command, check=False).returncode
    os.execv(command[0], command)
