"""relay.py relay FILE [PATTERN [RANKS]]: passes on standard input to standard output, and descriptor 3 to standard error. Writes the progress
that it finds in the lines to FILE, as `STEP STEPS UNIT`, with `-` for unknown STEPS.

relay.py read [PATTERN]: prints the progress that it finds in standard input.

Without PATTERN, it recognises the lines that common frameworks print. A second process looks at the lines, and gets only what its
pipe has room for, so that neither a slow PATTERN nor much output delays the training. RANKS is `hydra` if the launcher writes the
ranks of the lines like Intel MPI and MPICH.
"""
import contextlib
import json
import os
import re
import select
import signal
import sys
import time

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08")
# The rank before a line: mpirun, horovodrun and torchrun. mpirun writes it before the carriage return of a bar.
RANK = re.compile(r"\[(?:\d+,)?(\d+)\]<std(?:out|err)>: ?|\[(?:default|rank)?(\d+)\]: ?")
HYDRA = re.compile(r"\[(\d+)\] ")
# A bar of tqdm, also those of Lightning and of the Trainer of Hugging Face.
BAR = re.compile(r"\b\d{1,3}%\|[^|]*\|\s*(\d{1,15}\.?\d{0,9})([kMGTP]?)/(\d{1,15}\.?\d{0,9})([kMGTP]?)\s{1,8}\[([^\]]*)")
COUNT = re.compile(r"\b(\d{1,15})(?:it|step|epoch)s? \[(\d\d:[^\]/]*/[^\]]*)")
# A bar of Rich, as Lightning prints it.
RICH = re.compile(r"Epoch (\d{1,9})/(\d{1,9})\s{1,8}[━╸╺ ]+(\d{1,12})/(\d{1,12})\s")
# Bars that count something else than steps of the training.
OTHER = re.compile(
    r"(?i)\b(?:cach|check|collat|compil|conver|copy|creat|decod|download|encod|eval|extract|fetch|filter|flatten|generat|infer|load|map|"
    r"pack|predict|prepar|preproc|process|push|read|resolv|sanity|sav|scan|shard|split|test|token|unpack|upload|valid|verif|warm|writ)"
)
OTHER_RATE = re.compile(r"[\d.?][kMGTP]?i?B/s|(?:examples|files|tables|rows|docs|tokens|shards)/s")
EPOCHS = re.compile(r"(?i)\bepochs?[^\w/]{0,3}(\d{1,9})\s?(?:/|of\b)\s{0,8}(\d{1,9})(?![\d/.])")
EPOCH = re.compile(r"(?i)\bepoch\W{0,3}(\d{1,9})\b")
STEPS = re.compile(r"(?i)\b(?:step|iter|iteration|batch)s?[^\w/]{1,12}(\d{1,12})\s?(?:/|of\b)\s{0,12}(\d{1,12})(?![\d/.])")
KERAS_EPOCH = re.compile(r"Epoch (\d{1,9})/(\d{1,9})\s*$")
KERAS = re.compile(r"\s{0,12}(\d{1,12})/(\d{1,12}) (?:\[[=>.]+\]|[━╸╺=]| ?- \d+m?s)")
UNITS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "": 1}
FORGOTTEN = 1800  # seconds without a change, after which another bar may be the training


def number(text, unit=""):
    return int(float(text.replace(",", "").replace("_", "")) * UNITS[unit])


class Progress:
    """Finds the progress in one line after the other. `value` is the last one: step, steps or None, and unit."""

    def __init__(self, pattern="", ranks=""):
        self.value = None
        self.prefix = HYDRA if ranks == "hydra" else RANK
        self.pattern = re.compile(pattern) if pattern else None
        self.rank = self.bar = self.inner = self.outer = self.done = self.keras = None
        self.within = set()
        self.bar_at = self.inner_total = 0
        self.from_zero = self.has_bars = False

    def look(self, line):
        line = ESCAPES.sub("", line)
        found = self.prefix.match(line)
        rank, self.rank = (found.group(1) or found.group(2) if found else self.rank), None
        if found:
            line = line[found.end():]
            if not line:
                self.rank = rank
                return
        for found in self.prefix.finditer(line):
            if found.end() == len(line):
                self.rank = found.group(1) or found.group(2)
                line = line[:found.start()]
                break
        if rank not in (None, "0"):
            return
        found = self.match(line) if self.pattern else self.recognise(line)
        if found and found[0] >= 0 and (not found[1] or found[0] <= found[1]) and max(found[0], found[1] or 0) < 10**15:
            self.value = found

    def match(self, line):
        found = self.pattern.search(line)
        if not found:
            return None
        names = found.groupdict()
        unit = "epoch" if "epoch" in names else "step"
        groups = found.groups() + (None, None)
        step = names.get(unit) or groups[0]
        steps = names.get(unit + "s") or names.get("total") or (None if names else groups[1])
        try:
            return number(step), number(steps) if steps else None, unit
        except (AttributeError, ValueError):
            return None

    def recognise(self, line):
        found = BAR.search(line)
        if found:
            n, n_unit, total, total_unit, rest = found.groups()
            name = line[:found.start()].split("|")[-1]
            return self.see_bar(name, number(n, n_unit), number(total, total_unit), rest)
        found = RICH.search(line)
        if found:
            epoch, last, n, total = map(int, found.groups())
            self.has_bars = True
            return epoch * total + n, (last + 1) * total, "step"
        found = COUNT.search(line)
        if found:
            return self.see_bar(line[:found.start()], int(found.group(1)), None, found.group(2))
        found = KERAS_EPOCH.match(line)
        if found and not self.has_bars:
            self.keras = [int(found.group(1)), int(found.group(2)), None]
            return self.keras[0], self.keras[1], "epoch"
        found = KERAS.match(line)
        if found and self.keras:
            n, total = map(int, found.groups())
            epoch, epochs, first = self.keras
            # Another total is an evaluation.
            self.keras[2] = first or total
            return ((epoch - 1) * total + n, epochs * total, "step") if self.keras[2] == total else None
        return None if self.has_bars else self.see_text(line)

    def see_text(self, line):
        epochs, steps = EPOCHS.search(line), STEPS.search(line)
        if epochs:
            epoch, last = map(int, epochs.groups())
            if not steps:
                return epoch, last, "epoch"
            return self.in_epoch(epoch, last, *map(int, steps.groups()))
        # Few are more likely the steps of a preparation.
        return (int(steps.group(1)), int(steps.group(2)), "step") if steps and int(steps.group(2)) >= 20 else None

    def in_epoch(self, epoch, epochs, n, total):
        """Steps over all epochs, which count from 0 or 1."""
        self.from_zero = self.from_zero or epoch == 0
        if n > total:
            return None
        step, steps = (epoch if self.from_zero else epoch - 1) * total + n, epochs * total if epochs else None
        # Lightning shows an empty bar with the name of the epoch before.
        return None if n == 0 and self.value and self.value[1] == steps and self.value[0] > step else (step, steps, "step")

    def see_bar(self, name, n, total, rest):
        name = name.strip().rstrip(":")
        if OTHER.search(name) or OTHER_RATE.search(rest):
            return None
        self.has_bars = True
        epochs, epoch = EPOCHS.search(name), EPOCH.search(name)
        is_outer = re.search(r"(?i)\bepochs?\W*$", name) or re.search(r"epoch/s|s/epoch", rest)
        key = re.sub(r"\d+", "#", name), None if epoch else total
        now = time.monotonic()
        if self.bar not in (None, key) and now - self.bar_at < FORGOTTEN:
            # The first bar within one that counts epochs has the steps of an epoch.
            if self.outer and total and self.inner in (None, key):
                self.inner, self.inner_total = key, total
                return self.in_outer(*self.outer, n)
            self.within.add(key)
            return None
        if self.bar not in (None, key):
            self.within.clear()
        # A bar that ran within another one, or that counts less, is an evaluation.
        if key in self.within or self.done and self.done[0] == key[0] and not epoch and (total or 0) < self.done[1]:
            return None
        is_done = total is not None and n >= total
        if is_done:
            self.done = key[0], total
        self.bar, self.bar_at = None if is_done else key, now
        self.outer = (n, total) if is_outer and total and not is_done else None
        if epochs and total:
            return self.in_epoch(int(epochs.group(1)), int(epochs.group(2)), n, total)
        if epoch and total:
            return self.in_epoch(int(epoch.group(1)), None, n, total)
        if is_outer and self.inner and total:
            return self.in_outer(n, total, 0)
        return n, total, "epoch" if is_outer else "step"

    def in_outer(self, epoch, epochs, n):
        """Steps of the inner bar over all epochs. The outer bar may be shown late."""
        step, steps = epoch * self.inner_total + n, epochs * self.inner_total
        return max(step, self.value[0] if self.value[1] == steps else 0), steps, "step"

    def text(self):
        step, steps, unit = self.value
        return f"{step} {steps or '-'} {unit}\n"


def split(text):
    return re.split(r"[\r\n]+", text)


def scan(readers, file, pattern, ranks):
    """Reads lines from the pipes until their end."""
    progress, tails, written, written_at, is_new = Progress(pattern, ranks), dict.fromkeys(readers, b""), None, 0.0, False
    poll = select.poll()
    for reader in readers:
        poll.register(reader, select.POLLIN)
    while tails:
        ready = poll.poll(1000 if is_new else None)
        is_new = bool(ready)
        for reader, _ in ready:
            data = os.read(reader, 65536)
            *lines, tail = re.split(rb"[\r\n]+", tails[reader] + data)
            tails[reader] = tail[-1024:]
            if not data:
                poll.unregister(reader)
                lines.append(tails.pop(reader))
            for line in lines:
                progress.look(line[:1024].decode("utf-8", "replace"))
        if not ready:
            # The last line of a bar has no end.
            rank = progress.rank
            for tail in tails.values():
                progress.look(tail.decode("utf-8", "replace"))
            progress.rank = rank
        if progress.value != written and (time.monotonic() - written_at >= 1 or not ready or not tails):
            written, written_at = progress.value, time.monotonic()
            with open(file + ".new", "w") as new:
                new.write(progress.text())
            os.replace(file + ".new", file)


def write(sink, data):
    while data:
        try:
            data = data[os.write(sink, data):]
        except BlockingIOError:
            select.select([], [sink], [])


def offer(pipe, data):
    """Writes what a pipe has room for. Returns the last lines of the rest."""
    try:
        rest = data[os.write(pipe, data):]
    except BlockingIOError:
        rest = data
    except OSError:
        return b""
    return rest if len(rest) <= 4096 else b"\n" + rest[-4096:].partition(b"\n")[2]


def relay(file, pattern="", ranks=""):
    try:
        re.compile(pattern)
    except re.error as error:
        write(2, f"khorovod: observability.progress.pattern is not a regular expression of Python: {error}\n".encode())
        pattern = "(?!)()"
    pipes = {0: os.pipe(), 3: os.pipe()}
    child = os.fork()
    if child == 0:
        # Holds no pipe of the training open.
        os.nice(19)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in 0, 1, 2, 3:
            os.dup2(nothing, descriptor)
        for _, writer in pipes.values():
            os.close(writer)
        try:
            scan([reader for reader, _ in pipes.values()], file, pattern, ranks)
        finally:
            os._exit(0)
    poll = select.poll()
    for source, (reader, writer) in pipes.items():
        os.close(reader)
        os.set_blocking(writer, False)
        poll.register(source, select.POLLIN)
    rests = dict.fromkeys(pipes, b"")
    while pipes:
        for source, _ in poll.poll():
            data = os.read(source, 65536)
            writer = pipes[source][1]
            if not data:
                poll.unregister(source)
                select.select([], [writer], [], 0.5)
                offer(writer, rests[source])
                os.close(writer)
                del pipes[source]
                continue
            write(1 if source == 0 else 2, data)
            rests[source] = offer(writer, rests[source] + data)
    until = time.monotonic() + 1
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            break
        time.sleep(0.01)


def read(pattern):
    progress, text = Progress(pattern), sys.stdin.buffer.read().decode("utf-8", "replace")
    lines = [line for line in split(text) if line.strip()]
    value = None
    # One object, or one in each line.
    for part in lines[-1:] + [text]:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(part)
            break
    if isinstance(value, dict):
        unit = "step" if "step" in value or "epoch" not in value else "epoch"
        try:
            steps = value.get(unit + "s") or value.get("total")
            progress.value = int(value[unit]), int(steps) if steps else None, unit
        except (KeyError, TypeError, ValueError):
            pass
    else:
        numbers = re.match(r"\s*(\d+)(?:\s*(?:/|,|\s|of\b)\s*(\d+))?\s*$", lines[-1]) if lines else None
        if numbers:
            progress.value = int(numbers.group(1)), int(numbers.group(2)) if numbers.group(2) else None, "step"
        else:
            for line in lines:
                progress.look(line)
    if progress.value:
        print(progress.text(), end="")


if __name__ == "__main__":
    try:
        if sys.argv[1] == "relay":
            relay(*sys.argv[2:5])
        else:
            read("".join(sys.argv[2:3]))
    except KeyboardInterrupt:
        pass
