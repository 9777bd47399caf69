"""Checks that `khorovod post-render` passes other manifests through byte for byte: identity.py BINARY FOLDER.

FOLDER is Go's module cache, which the stages with a Kubernetes have filled. All YAML files of a module (manifests, values,
templates, invalid fixtures) form one stream, which is tested alone and with a TrainingJob before, within and after it.
"""
import collections
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
JOB = (ROOT / "examples/smallest/job.yaml").read_bytes()
# The limits per module.
FILES = 400


def rendered(binary, stream):
    words = [binary, "post-render", "-q", "--ssh-seed", ROOT / "examples/ssh.seed"]
    done = subprocess.run(words, input=stream, capture_output=True)
    return done.stdout if done.returncode == 0 else done.stderr


def modules(folder):
    """{module: the texts of its files}, each with a line end at its end."""
    found = collections.defaultdict(list)
    for path in sorted(folder.rglob("*.yaml")):
        module = str(path.relative_to(folder)).split("@")[0]
        if "@" in str(path) and path.is_file() and len(found[module]) < FILES:
            text = path.read_bytes()
            found[module].append(text if text.endswith(b"\n") else text + b"\n")
    return found


def stream(texts):
    return b"---\n".join(texts)


def changes(binary, ours, texts):
    """The differences between these texts and the output."""
    if rendered(binary, stream(texts)) != stream(texts):
        yield "alone"
    for at in (0, len(texts) // 2, len(texts)):
        before, after = texts[:at], texts[at:]
        if rendered(binary, stream([*before, JOB, *after])) != stream([*before, ours, *after]):
            yield f"around a TrainingJob after {at} files"


def main(binary, folder):
    ours, found = rendered(binary, JOB), modules(folder)
    wrong = {module: places for module, texts in found.items() if (places := list(changes(binary, ours, texts)))}
    size = sum(len(stream(texts)) for texts in found.values())
    print(f"{len(found)} modules' manifests, {size / 1e6:.0f} MB: {len(found) - len(wrong)} pass as they are")
    for module, places in wrong.items():
        print(f"{module} is changed: {', '.join(places)}")
    return bool(wrong) or len(found) < 10


sys.exit(main(sys.argv[1], Path(sys.argv[2])))
