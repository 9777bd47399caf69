"""`TrainingJob`: a spec with the commands of khorovod as methods."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from . import _binary, _cluster, _problems
from ._base import Mismatch, Text, _from_fields, lines
from ._cluster import State, Status
from ._problems import Problem, Problems, SpecWarning
from .spec import TrainingJobFields

API_VERSION = "khorovod.dev/v1alpha1"

Target = Literal["plain", "slurm", "mpijob", "trainjob", "jobset", "volcano"]


@dataclass(frozen=True, repr=False)
class Rendered:
    """The objects of a job. `print(rendered)` shows them as YAML."""

    text: str
    """The objects as YAML, or a batch script for the target `slurm`."""
    _spec: str = field(compare=False)
    _options: tuple[str, ...] = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Rendered: {len(self.text.splitlines())} lines; print it, or use .objects>"

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Each object as a dictionary."""
        if self.text.startswith("#!"):
            raise ValueError("the target slurm renders a batch script, which has no objects: use .text")
        output = _binary.call(["render", "-", *self._options, "-o", "json"], self._spec)
        if output.code:
            raise Problems(_message(output.stderr, "job.to_yaml()"))
        items: list[dict[str, Any]] = json.loads(output.stdout)["items"]
        return items


@dataclass(frozen=True, repr=False)
class Plan:
    """The pods and ranks that a job would run. `print(plan)` shows it as `khorovod plan` does."""

    text: str
    fields: Mapping[str, Any]
    """The fields of the job in `khorovod plan -o json`."""
    changes: list[dict[str, Any]] | None
    """The effects of a change on the running job, if the plan has a spec to compare with."""

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def run(self) -> str:
        """The name of the run. A change that starts a new run changes it."""
        return str(self.fields["run"])

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return int(self.fields["ranks"])

    @property
    def pods(self) -> int:
        """The number of pods."""
        return int(self.fields["pods"])

    @property
    def gpus(self) -> int:
        """The number of GPUs."""
        return int(self.fields["cost"]["gpus"])

    @property
    def command(self) -> list[str]:
        """The command that starts the ranks."""
        return list(self.fields["launch"])


class TrainingJob(TrainingJobFields):
    """A training job. `help(khorovod.spec.TrainingJobFields)` lists its fields; only name, image and workers are required.

    >>> TrainingJob(name="mnist", image="ghcr.io/acme/mnist:1.4", command=["python", "train.py"], workers=Workers(replicas=4, gpus=8))
    """

    __slots__ = ()

    @classmethod
    def from_yaml(cls, text: str, name: str | None = None) -> TrainingJob:
        """Read the TrainingJob of a YAML text; with `name`, the one of that name. Other objects in the text are not read."""
        return _from_yaml(text, name, "<text>")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], name: str | None = None) -> TrainingJob:
        """Read the TrainingJob of a YAML file; with `name`, the one of that name. Other objects in the file are not read."""
        return _from_yaml(Path(path).read_text(encoding="utf-8"), name, os.fspath(path))

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> TrainingJob:
        """Return the job of a dictionary with apiVersion, kind, metadata and spec."""
        fields = {"apiVersion": None, "kind": None, "metadata": {}, "spec": {}, **value}
        if (fields.pop("apiVersion"), fields.pop("kind")) != (API_VERSION, "TrainingJob"):
            raise Mismatch(f"the dictionary is not a TrainingJob: it needs apiVersion {API_VERSION} and kind TrainingJob")
        flat: dict[str, Any] = {}
        for part in ("metadata", "spec"):
            inner = fields.pop(part)
            if not isinstance(inner, Mapping):
                raise Mismatch(f"{part} is not a dictionary")
            flat.update({f"{part}.{key}": item for key, item in inner.items()})
        return _from_fields(cls, {**fields, **flat}, "")

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as a dictionary, with the names that its fields have in YAML."""
        return {"apiVersion": API_VERSION, "kind": "TrainingJob", **super(TrainingJob, self).to_dict()}

    def to_yaml(self) -> Text:
        """Return the spec as YAML. `khorovod render` and the other commands read it."""
        return Text("".join(f"{line}\n" for line, _ in lines(self.to_dict())))

    def validate(self, *, target: Target = "plain", kube_version: str | None = None) -> list[Problem]:
        """Return each problem of the spec; an empty list if there is none."""
        return _validate(self, _settings(None, target, kube_version))

    def render(
        self,
        *,
        namespace: str | None = None,
        target: Target = "plain",
        kube_version: str | None = None,
        keys: bool = True,
        ssh_seed: str | os.PathLike[str] | None = None,
    ) -> Rendered:
        """Return the objects of the job, or raise `Problems`.

        `keys=False` leaves out the ssh Secret. `ssh_seed` is a file with 32 bytes, from which the keys derive; without it,
        they derive from your own seed, which khorovod creates in your home folder.
        """
        __tracebackhide__ = True
        settings = _settings(namespace, target, kube_version)
        secret = ["--no-keys"] if not keys else ["--ssh-seed", os.fspath(ssh_seed)] if ssh_seed is not None else []
        return Rendered(_checked(self, "render", settings, secret), self.to_yaml(), (*settings, *secret))

    def plan(
        self,
        *,
        namespace: str | None = None,
        target: Target = "plain",
        kube_version: str | None = None,
        against: TrainingJob | str | os.PathLike[str] | None = None,
    ) -> Plan:
        """Return what the job would run, or raise `Problems`.

        `against` is an earlier job, or the text or the `Path` of a spec or of rendered objects: the plan then has the changes.
        """
        __tracebackhide__ = True
        settings = _settings(namespace, target, kube_version)
        with tempfile.TemporaryDirectory() as folder:
            old: list[str] = []
            if isinstance(against, os.PathLike):
                old = ["--against", os.fspath(against)]
            elif against is not None:
                file = Path(folder, "against")
                file.write_text(against.to_yaml() if isinstance(against, TrainingJob) else against, encoding="utf-8")
                old = ["--against", str(file)]
            text = _checked(self, "plan", settings, old)
            fields = json.loads(_checked(self, "plan", settings, [*old, "-o", "json"], warn=False))
        return Plan(text.rstrip("\n"), fields["jobs"][0], fields.get("changes"))

    def picture(self, *, target: Target = "plain") -> str:
        """Return a picture of the job as SVG, or raise `Problems`. A notebook shows it if the job is the value of a cell."""
        __tracebackhide__ = True
        return _checked(self, "plan", _settings(None, target, None), ["-o", "svg"], warn=False)

    def _repr_html_(self) -> str:
        try:
            # In an image, because the style of a picture would change the other pictures of the notebook.
            data = base64.b64encode(self.picture().encode()).decode()
            return f'<img alt="the training job {html.escape(str(self.name))}" src="data:image/svg+xml;base64,{data}">'
        except Exception as error:  # A notebook would print the traceback of the picture instead of the job.
            return f"<pre>{html.escape(repr(self))}\n\n{html.escape(str(error))}</pre>"

    def run(self, *, namespace: str | None = None, context: str | None = None) -> Text:
        """Start the job in the cluster, and return what `khorovod run --detach` prints.

        `context` is a context of your kubeconfig; without it, the current one.
        """
        __tracebackhide__ = True
        _checked(self, "plan", _settings(namespace, "plain", None), [])
        return _cluster.run(self.to_yaml(), namespace=namespace, context=context)

    def run_local(self, *, workers: int | None = None) -> None:
        """Run the job on this machine until it ends, as `khorovod run --local` does, and print its output. Needs Linux.

        `workers` limits the number of workers. A failed job raises a `CommandError`, and an interrupt ends the job.
        """
        __tracebackhide__ = True
        _checked(self, "plan", _settings(None, "plain", None), [])
        _cluster.run_local(self.to_yaml(), workers=workers)

    def status(self, *, namespace: str | None = None, context: str | None = None) -> Status:
        """Return what the job does, since when, and what it waits for."""
        __tracebackhide__ = True
        return _cluster.status(self.name, namespace=namespace or self.namespace, context=context)

    def logs(
        self,
        *,
        namespace: str | None = None,
        context: str | None = None,
        follow: bool = False,
        rank: int | None = None,
        failed: bool = False,
        tail: int | None = None,
    ) -> Iterator[str]:
        """Yield each line of the log. With `follow`, until the run ends.

        `rank` selects the lines of one rank, `failed` the pods that have failed, and `tail` the last lines of each pod.
        """
        return _cluster.logs(
            self.name,
            namespace=namespace or self.namespace,
            context=context,
            follow=follow,
            rank=rank,
            failed=failed,
            tail=tail,
        )

    def stop(self, *, namespace: str | None = None, context: str | None = None, now: bool = False) -> Text:
        """Stop the job, and return what the command prints. The ranks can save a checkpoint first, except with `now`."""
        __tracebackhide__ = True
        return _cluster.stop(self.name, namespace=namespace or self.namespace, context=context, now=now)

    def wait(
        self, *, namespace: str | None = None, context: str | None = None, until: State = "trained", timeout: str | None = None
    ) -> Text:
        """Wait until the job has reached a state. A failed job raises a `CommandError`. A timeout is a duration such as `2h`."""
        __tracebackhide__ = True
        return _cluster.wait(self.name, namespace=namespace or self.namespace, context=context, until=until, timeout=timeout)


def _settings(namespace: str | None, target: str, kube_version: str | None) -> list[str]:
    return [
        *(["--namespace", namespace] if namespace else []),
        *(["--target", target] if target != "plain" else []),
        *(["--kube-version", kube_version] if kube_version else []),
    ]


def _validate(job: TrainingJob, settings: list[str]) -> list[Problem]:
    numbered = list(lines(job.to_dict()))
    text = "".join(f"{line}\n" for line, _ in numbered)
    report = _binary.call(["validate", "-", "-o", "json", *settings], text).stdout
    return _problems.read(report, [path for _, path in numbered])


def _checked(job: TrainingJob, command: str, settings: list[str], options: list[str], warn: bool = True) -> str:
    """Run a command with the spec, and return its output. Raise `Problems` if the spec has errors, and warn of its warnings."""
    __tracebackhide__ = True
    output = _binary.call([command, "-", *settings, *options], job.to_yaml())
    if output.code:
        raise Problems(_message(output.stderr, "job.to_yaml()"), _validate(job, settings))
    if warn and output.stderr.strip():
        warnings.warn(f"\n{_message(output.stderr, 'job.to_yaml()')}", SpecWarning, stacklevel=3)
    return output.stdout


def _message(text: str, source: str) -> str:
    """Return the message of a command with the name of the text that it has read as its standard input."""
    return re.sub(r"--> (<stdin>|\S+/(against)):", lambda match: f"--> {match[2] or source}:", text.strip())


def _from_yaml(text: str, name: str | None, source: str) -> TrainingJob:
    output = _binary.call(["fmt", "-", "-o", "json"], text)
    if output.code:
        raise Problems(_message(output.stderr, source))
    found = json.loads(output.stdout)["jobs"]
    metadata = [job.get("metadata") for job in found]
    names = [str(part.get("name")) if isinstance(part, dict) else "a job without a name" for part in metadata]
    if name is not None and name not in names:
        raise ValueError(f"{source} has no TrainingJob {name!r}: it has {', '.join(names) or 'none'}")
    if name is None and len(found) != 1:
        advice = f"choose one by name: {', '.join(names)}" if found else "it needs a document of kind TrainingJob"
        raise ValueError(f"{source} has {len(found)} TrainingJobs: {advice}")
    try:
        return TrainingJob.from_dict(found[names.index(name)] if name is not None else found[0])
    except Mismatch as mismatch:
        # The compiler describes the same mistake with its line.
        report = _binary.call(["validate", "-"], text)
        raise (Problems(_message(report.stdout + report.stderr, source)) if report.code else mismatch) from None
