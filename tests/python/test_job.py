"""The methods of a job that call the program: render, validate, plan, picture, and the commands for a cluster."""

import json
import subprocess
import sys
import time
import warnings
import xml.etree.ElementTree as ElementTree
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import get_args

import pytest

import khorovod
from conftest import Fake
from khorovod import Problems, TrainingJob, Workers, _binary
from khorovod._job import Target


def cli(arguments: list[str], job: TrainingJob) -> subprocess.CompletedProcess[str]:
    command = [_binary.find(), "--color", "never", *arguments]
    return subprocess.run(command, input=job.to_yaml(), capture_output=True, text=True, check=False)


def test_rendered_text_and_objects(mnist: TrainingJob) -> None:
    rendered = mnist.render(namespace="team-a", keys=False)
    assert rendered.text == cli(["render", "-", "--no-keys", "-n", "team-a"], mnist).stdout
    objects = rendered.objects
    assert {"StatefulSet", "Job", "ConfigMap", "Service"} <= {one["kind"] for one in objects}
    assert "Secret" not in {one["kind"] for one in objects}
    assert {one["metadata"]["namespace"] for one in objects} == {"team-a"}
    workers = next(one for one in objects if one["kind"] == "StatefulSet")
    assert workers["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert str(rendered) == rendered.text
    assert repr(rendered) == f"<Rendered: {len(rendered.text.splitlines())} lines; print it, or use .objects>"


def test_keys_come_from_a_seed(mnist: TrainingJob, tmp_path: Path) -> None:
    (tmp_path / "seed").write_bytes(bytes(range(32)))
    (tmp_path / "seed").chmod(0o600)
    objects = mnist.render(ssh_seed=tmp_path / "seed").objects
    assert [one for one in objects if one["kind"] == "Secret"]
    assert objects == mnist.render(ssh_seed=tmp_path / "seed").objects


def test_targets(mnist: TrainingJob) -> None:
    assert mnist.render(target="mpijob").objects[-1]["kind"] == "MPIJob"
    mnist.slurm = khorovod.Slurm(partition="ml")
    script = mnist.render(target="slurm")
    assert script.text.startswith("#!")
    with pytest.raises(ValueError, match=r"renders a batch script, which has no objects: use \.text"):
        _ = script.objects


def test_problems_are_objects(mnist: TrainingJob) -> None:
    assert mnist.validate() == []
    mnist.workers.replicas = 0
    mnist.storage = [khorovod.Storage(name="data", mount_path="data", existing_claim="x")]
    problems = {problem.field: problem for problem in mnist.validate() if problem.severity == "error"}
    replicas = problems["spec.workers.replicas"]
    assert replicas.code == "out-of-range" and "0" in replicas.message
    assert replicas.line is not None and mnist.to_yaml().splitlines()[replicas.line - 1].strip() == "replicas: 0"
    assert "spec.storage[0].mountPath" in problems
    assert replicas.hint is None or replicas.hint in str(replicas)


def test_a_fix_is_an_edit(mnist: TrainingJob) -> None:
    text = mnist.to_yaml().replace("replicas: 2", "replica: 2")
    with pytest.raises(Problems):
        TrainingJob.from_yaml(text)
    mnist.workers = {"replica": 2}  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    fixes = [problem.fix for problem in mnist.validate() if problem.fix]
    assert fixes and "replicas" in fixes[0].text


def test_an_error_is_the_text_of_the_command_line(mnist: TrainingJob) -> None:
    mnist.workers.gpus = 100
    with pytest.raises(Problems) as caught:
        mnist.render()
    shown = cli(["render", "-"], mnist)
    assert shown.returncode == 1 and "out-of-range" in shown.stderr
    text = shown.stderr.strip().replace("<stdin>", "job.to_yaml()")
    assert str(caught.value) == f"the spec has errors\n{text}" and "--> job.to_yaml():10:" in text
    assert [problem.code for problem in caught.value.problems if problem.severity == "error"] == ["out-of-range"]
    for method in (mnist.plan, mnist.picture, mnist.run, mnist.run_local):
        with pytest.raises(Problems):
            method()


def test_warnings_are_warnings(mnist: TrainingJob) -> None:
    mnist.command = ["python", "train.py", "--data", "$DATA"]
    with pytest.warns(khorovod.SpecWarning, match="literal-word") as caught:
        mnist.render(keys=False)
    assert caught[0].filename == __file__
    with pytest.warns(khorovod.SpecWarning) as caught:
        mnist.plan()
    assert len(caught) == 1 and caught[0].filename == __file__
    assert [problem.severity for problem in mnist.validate()] == ["warning"]


def test_plan(mnist: TrainingJob, tmp_path: Path) -> None:
    plan = mnist.plan()
    assert (plan.ranks, plan.pods, plan.gpus) == (16, 3, 16)
    assert plan.text == cli(["plan", "-"], mnist).stdout.rstrip("\n") == str(plan) == repr(plan)
    assert plan.run in plan.text and plan.command[0] == "mpirun" and plan.changes is None
    assert plan.fields == json.loads(cli(["plan", "-", "-o", "json"], mnist).stdout)["jobs"][0]
    old = TrainingJob.from_yaml(mnist.to_yaml())
    mnist.workers.replicas = 4
    changed = mnist.plan(against=old)
    assert changed.changes and changed.changes[0]["effect"] == "restarts"
    assert "workers.replicas" in changed.text
    with pytest.raises(Problems, match=r"--> against:1:1"):
        mnist.plan(against="nonsense")
    (tmp_path / "old.yaml").write_text(old.to_yaml())
    assert mnist.plan(against=tmp_path / "old.yaml") == changed
    same = mnist.plan(against=mnist.to_yaml()).changes
    assert same and same[0]["effect"] == "nothing"


def test_picture(mnist: TrainingJob) -> None:
    picture = mnist.picture()
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert picture == cli(["plan", "-", "-o", "svg"], mnist).stdout
    shown = mnist._repr_html_()
    assert "<img" in shown
    mnist.workers.gpus = 100
    assert "<img" not in mnist._repr_html_() and "out-of-range" in mnist._repr_html_()


def test_a_wrong_option(mnist: TrainingJob) -> None:
    with pytest.raises(khorovod.CommandError, match="invalid value 'new'") as caught:
        mnist.render(kube_version="new")
    assert caught.value.code == 2 and not str(caught.value).startswith("error") and "--help" not in str(caught.value)


def test_the_targets_are_those_of_the_program() -> None:
    help_text = " ".join(_binary.call(["plan", "--help"]).stdout.split())
    assert f"[possible values: {', '.join(get_args(Target))}]" in help_text


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    khorovod.explain("workers.shm")
    assert "/dev/shm" in capsys.readouterr().out
    with pytest.raises(khorovod.CommandError, match="workers.shn"):
        khorovod.explain("workers.shn")


def test_run(mnist: TrainingJob, fake: Fake) -> None:
    fake.answers("started mnist\n")
    assert mnist.run(namespace="team-a", context="lab") == "started mnist"
    # The spec is checked first, so that its problems are objects.
    assert fake.calls[0][2] == "plan"
    assert fake.calls[-1] == ["--color", "never", "run", "-", "--detach", "--namespace", "team-a", "--context", "lab"]
    assert fake.inputs[-1] == mnist.to_yaml()


def test_run_local(mnist: TrainingJob, fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake.answers("launching\ntrained\n")
    mnist.run_local(workers=1)
    assert capsys.readouterr().out == "launching\ntrained\n"
    assert fake.calls[0][2] == "plan" and fake.inputs[-1] == mnist.to_yaml()
    *start, path, option, number = fake.calls[-1][2:]
    assert (start, option, number) == (["run", "--local"], "--workers", "1") and not Path(path).exists()
    fake.answers(stderr="note: mnist: the launcher ended with code 42\n", code=42)
    with pytest.raises(khorovod.CommandError, match="the launcher ended with code 42") as caught:
        mnist.run_local()
    assert caught.value.code == 42


def test_status(mnist: TrainingJob, fake: Fake) -> None:
    mnist.namespace = "team-a"
    fake.answers("mnist: training\n", as_json='{"jobs": [{"phase": "training"}]}')
    status = mnist.status()
    assert status["phase"] == "training" and str(status) == repr(status) == "mnist: training"
    assert fake.calls == [
        ["--color", "never", "status", "mnist", "--namespace", "team-a", "-o", "json"],
        ["--color", "never", "status", "mnist", "--namespace", "team-a"],
    ]
    khorovod.status("other")
    assert fake.calls[-1] == ["--color", "never", "status", "other"]


def test_stop_and_wait(mnist: TrainingJob, fake: Fake) -> None:
    fake.answers("stopped\n", "note: the claim mnist-data stays\n")
    assert repr(mnist.stop()) == "stopped\nnote: the claim mnist-data stays"
    mnist.stop(now=True, context="lab")
    mnist.wait(timeout="2h")
    khorovod.wait("other", until="released", namespace="team-a")
    assert [call[2:] for call in fake.calls] == [
        ["stop", "mnist"],
        ["stop", "mnist", "--context", "lab", "--now"],
        ["wait", "mnist", "--for", "trained", "--timeout", "2h"],
        ["wait", "other", "--namespace", "team-a", "--for", "released"],
    ]
    fake.answers(stderr="error: mnist has failed: rank 3 ended with 1\n", code=1)
    with pytest.raises(khorovod.CommandError, match="^mnist has failed: rank 3 ended with 1$") as caught:
        mnist.wait()
    assert caught.value.code == 1


def test_logs(mnist: TrainingJob, fake: Fake) -> None:
    fake.answers("[0] a\n[1] b\n")
    assert list(mnist.logs(follow=True)) == ["[0] a", "[1] b"]
    assert fake.calls[-1][2:] == ["logs", "mnist", "--follow"]
    list(mnist.logs(rank=0, failed=True, tail=9))
    assert fake.calls[-1][2:] == ["logs", "mnist", "--rank", "0", "--failed", "--tail", "9"]
    fake.answers(stderr="error: there is no job mnist\n", code=3)
    with pytest.raises(khorovod.CommandError, match="there is no job mnist"):
        list(khorovod.logs("mnist"))


def test_logs_end_the_program_if_the_caller_stops(mnist: TrainingJob, fake: Fake) -> None:
    fake.program.write_text(f"#!{sys.executable}\nimport time\nprint('a', flush=True)\ntime.sleep(60)\n")
    start = time.monotonic()
    for line in mnist.logs(follow=True):
        assert line == "a"
        break
    assert time.monotonic() - start < 30


def test_a_program_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "khorovod"
    program.write_text("#!/bin/sh\necho khorovod 0.0.9\n")
    program.chmod(0o755)
    monkeypatch.setattr(_binary, "_beside_package", lambda: iter(()))
    monkeypatch.setenv("PATH", str(tmp_path))
    find = _binary.find.__wrapped__
    # The package is not installed, so it has no version.
    monkeypatch.setattr(_binary, "version", _not_installed)
    assert find() == str(program)
    monkeypatch.setattr(_binary, "version", lambda _: "0.1.0")
    with pytest.raises(khorovod.CommandError, match=r"has the version 0.0.9, and the Python package 0.1.0: run `pip install"):
        find()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(khorovod.CommandError, match="the program khorovod is not installed"):
        find()


def test_a_program_that_cannot_be_run(mnist: TrainingJob, fake: Fake) -> None:
    fake.program.write_bytes(b"\x7fELF for another processor")
    with pytest.raises(khorovod.CommandError, match="khorovod cannot be run: Exec format error; `pip install --force-reinstall khorovod`"):
        mnist.render()


def _not_installed(name: str) -> str:
    raise PackageNotFoundError(name)


def test_the_program_as_a_module() -> None:
    shown = subprocess.run([sys.executable, "-m", "khorovod", "--version"], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("khorovod ")


def test_no_shell_reads_a_value(mnist: TrainingJob, tmp_path: Path) -> None:
    mnist.command = f"touch {tmp_path}/created; $(touch {tmp_path}/created)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mnist.render(keys=False)
        with pytest.raises(khorovod.Error):
            mnist.render(keys=False, namespace=f"$(touch {tmp_path}/created)")
    assert not (tmp_path / "created").exists()


def test_equal_jobs_render_equal_objects(mnist: TrainingJob) -> None:
    twin = TrainingJob(name="mnist", image=mnist.image, command=mnist.command, workers=Workers(replicas=2, gpus=8, memory="64Gi"))
    assert twin == mnist and twin.render(keys=False) == mnist.render(keys=False)
