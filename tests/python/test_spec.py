"""The classes of a spec: names, mistakes, YAML, and that nothing is lost on the way to YAML and back."""

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import khorovod
from conftest import ROOT
from khorovod import Storage, TrainingJob, Workers, _binary
from khorovod._base import lines

EXAMPLES = sorted(ROOT.glob("examples/*/job.yaml"))


def test_a_job_in_yaml(mnist: TrainingJob) -> None:
    mnist.namespace = "team-a"
    mnist.security = khorovod.Security(run_as_user=1000, pod_security_level="baseline")
    assert mnist.to_yaml() == (
        "apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata:\n  name: mnist\n  namespace: team-a\nspec:\n"
        "  image: ghcr.io/acme/mnist:1.4\n  command: [python, train.py]\n  workers:\n    replicas: 2\n    gpus: 8\n"
        "    memory: 64Gi\n  security:\n    podSecurityLevel: baseline\n    runAsUser: 1000\n"
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_each_example_survives(path: Path) -> None:
    job = TrainingJob.from_file(path)
    again = TrainingJob.from_yaml(job.to_yaml())
    assert again == job
    # The compiler reads the same spec: the name of the run is a hash of it.
    runs = [
        json.loads(_binary.call(["plan", "-", "-o", "json"], text).stdout)["jobs"][0]["run"]
        for text in (path.read_text(), job.to_yaml())
    ]
    assert runs[0] == runs[1]


def test_every_field_of_the_schema_has_its_name() -> None:
    schema = json.loads((ROOT / "schema/training-job.v1alpha1.schema.json").read_text())["$defs"]
    tried = 0
    for name, shape in schema.items():
        if name in ("TrainingJob", "Free"):
            continue
        prefix = {"Metadata": "metadata.", "Body": "spec."}.get(name, "")
        cls = khorovod.spec.TrainingJobFields if prefix else getattr(khorovod, name)
        paths = {cls._names.get(field, field) for field in cls.__dataclass_fields__}
        for key in shape["properties"]:
            assert prefix + key in paths, f"{name}.{key}"
            tried += 1
    assert tried > 150
    assert Storage._names["mount_path"] == "mountPath" and khorovod.Metrics._names["from_"] == "from"


def test_a_wrong_name_gets_the_right_one() -> None:
    with pytest.raises(TypeError, match=r"Workers has no field 'gpu': did you mean 'gpus'\?"):
        Workers(replicas=2, gpu=8)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"Workers has no field 'slotsPerWorker': did you mean 'slots_per_worker'\?"):
        Workers(replicas=2, slotsPerWorker=8)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="Cooldown has no field 'zzz': its fields are min, max"):
        khorovod.Cooldown(min="1m", max="2m", zzz=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"Workers takes fields by name, such as Workers\(replicas=…\)"):
        Workers(2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="^TrainingJob needs image$"):
        TrainingJob(name="a", workers=Workers(replicas=1))  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    workers = Workers(replicas=2)
    with pytest.raises(AttributeError, match=r"Workers has no field 'gpu': did you mean 'gpus'\?"):
        workers.gpu = 8  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    workers.gpus = 8
    assert repr(workers) == "Workers(replicas=2, gpus=8)"


def test_a_wrong_class() -> None:
    storage = Storage(name="data", mount_path="/data", existing_claim="x")
    workers = Workers(replicas=1)
    with pytest.raises(TypeError, match=r"TrainingJob.storage is a list: write storage=\[Storage\(…\)\]"):
        TrainingJob(name="a", image="a", workers=workers, storage=storage)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match=r"TrainingJob.workers takes Workers\(…\), not 4"):
        TrainingJob(name="a", image="a", workers=4)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="TrainingJob.launcher takes Launcher, not Workers"):
        TrainingJob(name="a", image="a", workers=workers, launcher=workers)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="TrainingJob.image takes ImageParts, not Workers"):
        TrainingJob(name="a", image=workers, workers=workers)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert TrainingJob(name="a", image="a", workers=workers, launcher="torchrun", command=["a"]).storage is None


class Number(int):
    """Like the integers of numpy."""


def test_values_are_those_of_json(mnist: TrainingJob) -> None:
    mnist.workers.replicas = Number(3)
    mnist.env = {"A": "b"}
    mnist.args = ("x", "y")  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    assert mnist.to_dict()["spec"]["args"] == ["x", "y"]
    for value, message in [
        (Path("/data"), r"TrainingJob.working_dir is of type \w*Path: pass a string"),
        ({1: "a"}, "TrainingJob.working_dir has the key 1, which is not a string: write '1'"),
        (float("nan"), "TrainingJob.working_dir is a number that is not finite"),
        ([{"a": {1, 2}}], r"TrainingJob.working_dir\[0\]\['a'\] is of type set"),
    ]:
        mnist.working_dir = value  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(TypeError, match=message):
            mnist.to_yaml()


def test_copies(mnist: TrainingJob) -> None:
    twin = copy.deepcopy(mnist)
    twin.workers.replicas = 9
    assert mnist.workers.replicas == 2 and twin != mnist
    assert pickle.loads(pickle.dumps(mnist)) == mnist


HARD = [
    "", " ", "a b", "yes", "No", "null", "~", "1", "1.0", "0x1", "1e3", "08", "1:30", "8Gi", "a:", "a: b", "a #b", "#a", "- a", "-", "?",
    "{a}", "[a", "&a", "*a", "!a", "%a", "@a", "`a", "'", '"', "\\", "\\n", "a\nb", "a\nb\n", "a\n\n", "\n", "\na", " a\nb", "a\n  b\n",
    "\ta\nb", "a \nb", "a\n---\nb", "---", "...", "a\r\nb", "\x00", "\x7f", "\x85", "\u2028", "a\u2028b\nc", "\ufeff", "é", "😀", "😀\nb",
    "=", "<<", "on", "y", ".inf", "/a/b:c", "a,b", "a]b", "trailing ", "a\tb", "x" * 200,
]  # fmt: skip


def test_hard_texts_survive() -> None:
    """Each text as a value, as a key and in lists, through the compiler's own YAML parser."""
    random.seed(1)
    mixed = ["".join(random.choice(["a", " ", "\n", ":", "#", "-", "'", '"', "\\", "\t", "é", "1"]) for _ in range(8)) for _ in range(300)]
    texts = [*HARD, *mixed]
    value: dict[str, Any] = {
        "apiVersion": "khorovod.dev/v1alpha1",
        "kind": "TrainingJob",
        "values": texts,
        "nested": [[text, {"a": text, "b": [text]}] for text in texts],
        "keys": {text: {"inner": text} for text in texts},
        "empty": [[], {}, [[]], [{}], None, True, 1, -1, 0.5, 1e21],
    }
    text = "".join(f"{line}\n" for line, _ in lines(value))
    output = _binary.call(["fmt", "-", "-o", "json"], text)
    assert output.code == 0, output.stderr
    assert json.loads(output.stdout)["jobs"] == [value]


def test_the_path_of_each_line(mnist: TrainingJob) -> None:
    mnist.storage = [Storage(name="data", mount_path="/data", claim=khorovod.Claim(size="1Ti"))]
    numbered = [(line.strip(), path) for line, path in lines(mnist.to_dict())]
    assert ("mountPath: /data", "spec.storage[0].mountPath") in numbered
    assert ("size: 1Ti", "spec.storage[0].claim.size") in numbered


def test_reading_yaml(tmp_path: Path) -> None:
    two = "kind: ConfigMap\napiVersion: v1\n---\n" + "---\n".join(
        f"kind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\nmetadata: {{name: {name}}}\nspec: {{image: a, workers: {{replicas: 1}}}}\n"
        for name in ("a", "b")
    )
    assert TrainingJob.from_yaml(two, "b").name == "b"
    with pytest.raises(ValueError, match="<text> has 2 TrainingJobs: choose one by name: a, b"):
        TrainingJob.from_yaml(two)
    with pytest.raises(ValueError, match="<text> has no TrainingJob 'c': it has a, b"):
        TrainingJob.from_yaml(two, "c")
    (tmp_path / "x.yaml").write_text("kind: ConfigMap\napiVersion: v1\n")
    with pytest.raises(ValueError, match="x.yaml has 0 TrainingJobs: it needs a document of kind TrainingJob"):
        TrainingJob.from_file(tmp_path / "x.yaml")
    with pytest.raises(khorovod.Problems, match="unknown-field"):
        TrainingJob.from_yaml(two.replace("replicas", "replica"), "a")
    with pytest.raises(khorovod.Problems, match="wrong-type"):
        TrainingJob.from_yaml("kind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\nmetadata: a\nspec: {}\n")
    with pytest.raises(khorovod.Problems, match="yaml-ambiguous"):
        TrainingJob.from_yaml(two.replace("image: a,", "image: a, env: {A: on},"), "a")
    with pytest.raises(khorovod.Problems, match="yaml-syntax"):
        TrainingJob.from_yaml("kind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\nspec: {\n")
    with pytest.raises(TypeError, match="workers.replica is not a field: the fields are replicas, elastic"):
        TrainingJob.from_dict({**TrainingJob.from_yaml(two, "a").to_dict(), "spec": {"image": "a", "workers": {"replica": 1}}})
