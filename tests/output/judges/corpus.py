"""The input of the checks: every example, rendered once by the binary."""

import json
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
SEED = ROOT / "examples" / "ssh.seed"


@dataclass
class Verdict:
    """The result of one check."""

    name: str
    counted: str
    failures: list = field(default_factory=list)
    notes: list = field(default_factory=list)


class Binary:
    """The khorovod binary under test."""

    def __init__(self, path):
        self.path = str(Path(path).resolve())

    def run(self, *words, stdin=b""):
        """Runs the binary, without checking the exit code."""
        return subprocess.run([self.path, *map(str, words)], input=stdin, capture_output=True, timeout=120)

    def render(self, source, seed=SEED):
        """Renders a spec (a path, or bytes for standard input) and returns the output; raises if that fails."""
        given = isinstance(source, bytes)
        done = self.run("render", "--ssh-seed", seed, "-" if given else source, stdin=source if given else b"")
        if done.returncode:
            raise RuntimeError(f"render ended with {done.returncode}: {done.stderr.decode(errors='replace')[:2000]}")
        return done.stdout


def load(text):
    """A stream's documents by libyaml, without empty ones."""
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document is not None]


def canonical(value):
    """A canonical text of a JSON value. A value that JSON does not support, such as a date, is an error."""
    return json.dumps(value, sort_keys=True, allow_nan=False)


def label(document):
    """`StatefulSet mnist-abc-worker`, for messages."""
    return f"{document.get('kind')} {document.get('metadata', {}).get('name')}"


def pod_templates(documents):
    """Every (object, pod template) of a stream."""
    for document in documents:
        template = document.get("spec", {}).get("template") if isinstance(document.get("spec"), dict) else None
        if document.get("kind") == "Pod":
            yield document, document
        elif isinstance(template, dict) and "containers" in template.get("spec", {}):
            yield document, template


def containers(spec):
    """Every container of a pod spec, as (field, container)."""
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or []:
            yield group, container


class Example:
    """One example and its rendered objects."""

    def __init__(self, binary, path):
        self.binary, self.path, self.name = binary, path, path.parent.name

    @cached_property
    def text(self):
        return self.binary.render(self.path)

    @cached_property
    def documents(self):
        return load(self.text)

    @cached_property
    def plan(self):
        done = self.binary.run("plan", "--ssh-seed", SEED, self.path)
        if done.returncode:
            raise RuntimeError(f"plan ended with {done.returncode}: {done.stderr.decode(errors='replace')[:500]}")
        return done.stdout.decode()


class Corpus:
    """All examples, and the binary to render other specs."""

    def __init__(self, binary, goyaml, scratch):
        self.binary, self.goyaml, self.scratch = Binary(binary), goyaml, Path(scratch)
        self.examples = [Example(self.binary, path) for path in sorted(ROOT.glob("examples/*/job.yaml"))]
        if not self.examples:
            raise RuntimeError("no examples/*/job.yaml found")

    @cached_property
    def objects(self):
        """Every (example, object)."""
        return [(example, document) for example in self.examples for document in example.documents]
