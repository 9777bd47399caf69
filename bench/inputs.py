"""The inputs of the benchmarks: the smallest example, streams of it, a very large job, the same objects as a chart and as a
kustomization, and manifests that pass through unchanged."""

import subprocess
from pathlib import Path

from measure import Command

ROOT = Path(__file__).resolve().parents[1]
SEED = ROOT / "examples" / "ssh.seed"
SMALLEST = ROOT / "examples" / "smallest" / "job.yaml"


def render(binary, name, spec):
    """`khorovod render` of a spec file."""
    return Command(name, [binary, "render", "--ssh-seed", SEED, spec])


def stream(folder, count):
    """A file of `count` jobs, the smallest example under different names."""
    name = "name: mnist"
    job = SMALLEST.read_text()
    if job.count(name) != 1:
        raise RuntimeError(f"{SMALLEST} has no one `{name}`")
    path = Path(folder) / f"{count}-jobs.yaml"
    path.write_text("".join(f"---\n{job.replace(name, f'name: job-{number:05}')}" for number in range(count)))
    return path


def workers(folder, count):
    """The smallest example with that many workers."""
    replicas = "replicas: 4"
    job = SMALLEST.read_text()
    if job.count(replicas) != 1:
        raise RuntimeError(f"{SMALLEST} has no one `{replicas}`")
    path = Path(folder) / f"{count}-workers.yaml"
    path.write_text(job.replace(replicas, f"replicas: {count}"))
    return path


def objects(binary):
    """The objects of the smallest example."""
    return subprocess.run([str(word) for word in render(binary, "", SMALLEST).words], capture_output=True, text=True, check=True).stdout


def chart(folder, binary):
    """A chart that renders the same objects as the smallest example, with their name and registry from values."""
    text = objects(binary).replace("{{", '{{ "{{" }}').replace("mnist", "{{ .Release.Name }}")
    text = text.replace("ghcr.io/acme/", "{{ .Values.registry }}/")
    path = Path(folder) / "chart"
    (path / "templates").mkdir(parents=True)
    (path / "Chart.yaml").write_text("apiVersion: v2\nname: job\nversion: 0.1.0\n")
    (path / "values.yaml").write_text("registry: ghcr.io/acme\n")
    (path / "templates/job.yaml").write_text(text)
    return path


def kustomization(folder, binary):
    """The same objects as a base, and an overlay that sets a label and an image tag."""
    path = Path(folder) / "kustomization"
    path.mkdir()
    (path / "objects.yaml").write_text(objects(binary))
    (path / "kustomization.yaml").write_text(
        "resources: [objects.yaml]\nlabels: [{pairs: {team: vision}}]\nimages: [{name: ghcr.io/acme/mnist, newTag: '2'}]\n"
    )
    return path


def manifests(folder, size=100_000_000):
    """A stream of objects without a TrainingJob."""
    path = Path(folder) / "manifests.yaml"
    with path.open("w") as file:
        number = 0
        while file.tell() < size:
            file.write("".join(
                f"---\n# Source: app/templates/map-{one}.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{one}\n"
                "  labels: {app.kubernetes.io/name: app}\ndata:\n  settings: |\n    one line of a file in a chart\n    and one more\n"
                for one in range(number, number + 1000)
            ))
            number += 1000
    return path


def counted(binary, folder):
    """The commands whose instructions are counted, for results.md and for the guard."""
    return [
        render(binary, "smallest", SMALLEST),
        render(binary, "stream of 200 jobs", stream(folder, 200)),
        render(binary, "100,000 workers", workers(folder, 100_000)),
    ]
