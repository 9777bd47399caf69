#!/usr/bin/env python3
"""Installs the wheel in a folder into a new virtual environment, and runs it: try_wheel.py TRIPLE FOLDER [EMULATOR BINARY]

The environment has nothing else, and pip has no index. If the machine is not of the target TRIPLE, EMULATOR runs the program, and the
program renders the same as BINARY, which is of this machine.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

# The first bytes of a program for a target: the format, and the processor at its place in the header.
MAGIC = {
    "x86_64-unknown-linux-gnu": (b"\x7fELF", 18, b"\x3e\x00"),
    "aarch64-unknown-linux-gnu": (b"\x7fELF", 18, b"\xb7\x00"),
    "x86_64-apple-darwin": (b"\xcf\xfa\xed\xfe", 4, b"\x07\x00\x00\x01"),
    "aarch64-apple-darwin": (b"\xcf\xfa\xed\xfe", 4, b"\x0c\x00\x00\x01"),
    "x86_64-pc-windows-msvc": (b"MZ", 0, b"MZ"),
}
PROGRAM = """
import khorovod
job = khorovod.TrainingJob(name="mnist", image="image:1", command=["python", "train.py"], workers=khorovod.Workers(replicas=2, gpus=8))
assert job.validate() == [], job.validate()
assert "StatefulSet" in [one["kind"] for one in job.render(keys=False).objects]
assert job.plan().gpus == 16 and job.picture().startswith("<svg")
print(khorovod.__file__)
"""

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/cpu/job.yaml"


def main(triple, folder, emulator=None, binary=None):
    (wheel,) = Path(folder).glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [name for name in packed.namelist() if "/scripts/khorovod" in name]
        program = packed.read(name)
    start, place, processor = MAGIC[triple]
    assert program.startswith(start) and program[place:].startswith(processor), f"{wheel.name} has a program for another system"
    with tempfile.TemporaryDirectory() as work:
        venv.create(work, with_pip=True)
        programs = Path(work) / ("Scripts" if os.name == "nt" else "bin")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
        environment["PATH"] = os.pathsep.join([str(programs), environment.get("PATH", "")])

        def run(*command):
            done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{wheel.name}: {' '.join(map(str, command))[:100]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
            return done.stdout.strip()
        install = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
        if emulator:
            packages = Path(run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"))
            run(*install, "--platform", f"manylinux2014_{triple.split('-')[0]}", "--only-binary=:all:", "--target", packages, wheel.resolve())
            emulated = [emulator, packages / "bin/khorovod"]
            (programs / "khorovod").write_text(f'#!/bin/sh\nexec {shlex.join(map(str, emulated))} "$@"\n')
            (programs / "khorovod").chmod(0o755)
        else:
            run(*install, wheel.resolve())
        version = run(programs / "khorovod", "--version")
        assert version == f"khorovod {wheel.name.split('-')[1]}", version
        assert run(programs / "python", "-m", "khorovod", "--version") == version
        module = run(programs / "python", "-c", PROGRAM)
        assert Path(module).resolve().is_relative_to(Path(work).resolve()), module
        if emulator:
            render = ["render", "--ssh-seed", EXAMPLE.parents[1] / "ssh.seed", EXAMPLE]
            objects = run(programs / "khorovod", *render)
            assert "kind: StatefulSet" in objects and objects == run(Path(binary).resolve(), *render), "it renders something else"
    print(f"{wheel.name}: installed, and it runs{' in ' + emulator if emulator else ''}")


if __name__ == "__main__":
    main(*sys.argv[1:])
