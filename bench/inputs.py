"""What the bench feeds khorovod: the smallest example, streams of it, and a very large job."""

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


def counted(binary, folder):
    """What callgrind counts, for results and for the guard."""
    return [
        render(binary, "smallest", SMALLEST),
        render(binary, "stream of 200 jobs", stream(folder, 200)),
        render(binary, "100,000 workers", workers(folder, 100_000)),
    ]
