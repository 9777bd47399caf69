"""Invalid input: khorovod must exit quickly, with a message, the right exit code, and an empty standard output."""

import os
import resource
import signal
import subprocess
import time

from .corpus import ROOT, SEED, Verdict

QUICK = 5.0  # seconds, on a busy machine
MEMORY = 4 << 30  # bytes of address space; the limit for an input of 100 MB
STACK = 256 << 10
SMALLEST = ROOT / "examples" / "smallest" / "job.yaml"
HEAD = b"apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: x}\n"


def texts():
    """(what, text, allowed exit codes)."""
    job = SMALLEST.read_bytes()
    bomb = b"".join(b"%c: &%c [%s]\n" % (c, c, b", ".join([b"*%c" % (c - 1)] * 9)) for c in range(98, 110))
    yield "no bytes", b"", {1}
    yield "a comment alone", b"# nothing\n", {1}
    yield "binary", bytes(range(256)) * 64, {1, 3}
    yield "not UTF-8", job.replace(b"mnist", b"mn\xff\xfeist"), {1, 3}
    yield "UTF-16", job.decode().encode("utf-16"), {1, 3}
    yield "a NUL", job + b"\0", {1, 3}
    yield "100 MB of [", b"[" * 100_000_000, {1}
    yield "100 MB of {a: ", b"{a: " * 25_000_000, {1}
    yield "100 MB of -", b"- " * 50_000_000, {1}
    yield "1 MB of deep indents", b"".join(b" " * n + b"a:\n" for n in range(1400)), {1}
    yield "100 MB in a string", HEAD + b"spec: {image: '" + b"x" * 100_000_000 + b"'}\n", {1}
    yield "an alias bomb", b"a: &a [x, x, x, x, x, x, x, x, x]\n" + bomb + b"z: *m\n", {1}
    yield (
        "an alias bomb inside a job",
        HEAD + b"spec:\n  a: &a [x]\n" + b"".join(b"  " + line + b"\n" for line in bomb.splitlines()),
        {1},
    )
    yield "an alias to itself", HEAD + b"spec: &a [*a]\n", {1}
    yield "a merge key to itself", HEAD + b"spec: &a {<<: *a}\n", {1}
    yield "3 MB in an apiVersion", b"apiVersion: " + b"x" * 3_000_000 + b"\nkind: TrainingJob\n", {1}
    yield "a tab as indent", HEAD + b"spec:\n\timage: x\n", {1}
    yield "an unclosed quote", HEAD + b"spec: {image: 'x}\n", {1}
    yield "a duplicate key", job + b"kind: TrainingJob\n", {1}
    yield "100,000 unknown keys", HEAD + b"spec:\n" + b"".join(b"  k%d: 1\n" % n for n in range(100_000)), {1}
    yield "10,000 jobs, all wrong", (b"---\n" + HEAD + b"spec: {imag: x}\n") * 10_000, {1}
    yield "a terminal escape in a name", job.replace(b"mnist", b'"\\e[31mred\\e]0;title\\a"', 1), {1}
    yield "a terminal escape in a key", HEAD + b'spec: {"\\e[2Jimage": x}\n', {1}
    yield "CR in a name", job.replace(b"mnist", b'"x\\rerror"', 1), {1}


def limited():
    """Runs in the child process: limits its memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))


def judge_texts(corpus, verdict):
    """Runs render with every text; validate must report the same."""
    count = 0
    for what, text, codes in texts():
        for verb in (["render", "--ssh-seed", str(SEED)], ["validate"]):
            count += 1
            start = time.monotonic()
            command = [corpus.binary.path, *verb, "-"]
            try:
                done = subprocess.run(command, input=text, capture_output=True, timeout=60, preexec_fn=limited)
            except subprocess.TimeoutExpired:
                verdict.failures.append(f"{what}: {verb[0]} still runs after a minute")
                continue
            spent, said = time.monotonic() - start, done.stderr
            wrong = []
            if done.returncode not in codes:
                wrong.append(f"exit {done.returncode}, not {codes}")
            if done.stdout:
                wrong.append(f"{len(done.stdout)} bytes on standard output")
            if not said.strip() or b"panicked" in said:
                wrong.append(f"prints {said[:300]!r}")
            if any(byte in said for byte in (b"\x1b", b"\x07", b"\x00", b"\r")):
                wrong.append(f"control characters reach the terminal: {said[:300]!r}")
            if len(said) > 1_000_000:
                wrong.append(f"{len(said)} bytes of messages")
            if spent > QUICK:
                wrong.append(f"{spent:.1f} s")
            verdict.failures += [f"{what}: {verb[0]}: {one}" for one in wrong]
    return f"{count} bad texts"


def judge_surroundings(corpus, verdict):
    """Runs render with files and pipes that fail."""
    binary, folder = corpus.binary.path, corpus.scratch / "bad"
    folder.mkdir()
    words = [binary, "render", "--ssh-seed", str(SEED)]

    def expect(what, code, done, folder_empty=None):
        said = done.stderr
        if done.returncode != code or b"panicked" in said or (code and not said.strip()):
            verdict.failures.append(f"{what}: exit {done.returncode}, not {code}; prints {said[:300]!r}")
        if folder_empty is not None and folder_empty.exists() and any(folder_empty.iterdir()):
            verdict.failures.append(f"{what}: leaves {sorted(path.name for path in folder_empty.iterdir())}")

    expect("a missing file", 3, subprocess.run([*words, str(folder / "none.yaml")], capture_output=True))
    expect("a folder for a file", 3, subprocess.run([*words, str(folder)], capture_output=True))
    with open("/dev/full", "wb") as full:
        expect("a full disk", 3, subprocess.run([*words, str(SMALLEST)], stdout=full, stderr=subprocess.PIPE))

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    out = folder / "out"
    command = [*words, "-o", f"{out}/", str(SMALLEST)]
    expect("a full disk under -o", 3, subprocess.run(command, capture_output=True, preexec_fn=small_disk), out)
    file = folder / "out.yaml"
    expect(
        "a full disk under -o FILE",
        3,
        subprocess.run([*words, "-o", str(file), str(SMALLEST)], capture_output=True, preexec_fn=small_disk),
    )
    if file.exists():
        verdict.failures.append(f"a full disk under -o FILE: leaves {file.stat().st_size} bytes")
    read, write = os.pipe()
    os.close(read)
    expect("a closed pipe", 0, subprocess.run([*words, str(SMALLEST)], stdout=write, stderr=subprocess.PIPE))
    os.close(write)
    left = [path.name for path in folder.iterdir() if path != out]
    if left:
        verdict.failures.append(f"temporary files stay: {left}")
    return "6 failing files and pipes"


def judge(corpus):
    """Both."""
    verdict = Verdict("bad input", "")
    verdict.counted = ", ".join(part(corpus, verdict) for part in (judge_texts, judge_surroundings))
    return verdict
