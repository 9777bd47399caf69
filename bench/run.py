"""Compares khorovod with /bin/true, `helm template`, `kustomize build` and `cat`, and checks it against its targets.

usage: run.py BINARY HELM KUSTOMIZE [CHARTS]     CHARTS: a folder of more Helm charts to measure
Writes results.md, results.svg and results.json next to this file; exits with 1 if a target is missed.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import inputs
import plot
from inputs import ROOT, render
from measure import Command, instructions, interleaved, peak

HERE = Path(__file__).resolve().parent
TRUE = Command("/bin/true", ["/bin/true"])
STREAMS = (1_000, 10_000)


def machine():
    """One line that describes the machine and the compiler."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} CPUs, load {load:.1f}, {platform.system()} {platform.release()}, {rustc}"


class Bench:
    """Collects figures by name, targets with their results, and the rows of each table."""

    def __init__(self, binary, helm, kustomize, charts, folder):
        self.binary, self.helm, self.kustomize, self.folder = binary, helm, kustomize, folder
        self.charts = sorted(path.parent for path in Path(charts).glob("*/Chart.yaml")) if charts else []
        self.figures, self.targets, self.text, self.plots = {"machine": machine()}, [], [], []

    def target(self, what, value, limit, unit, least=False):
        """Compares a figure with its target: at most `limit`, or at least `limit` if `least`."""
        met = value >= limit if least else value <= limit
        self.targets.append((what, f"{value:,.2f} {unit}", f"{'≥' if least else '≤'} {limit:g} {unit}", met))

    def table(self, title, head, rows):
        lines = [f"\n## {title}\n", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        self.text += lines + [f"| {' | '.join(map(str, row))} |" for row in rows]

    def times(self, title, commands, rounds, beside):
        """Adds a table of interleaved runs, with the ratio of each command to the command named `beside`."""
        times = interleaved(commands, rounds)
        rows = []
        for command in commands:
            one, ratio = times[command.name], times[command.name].median / times[beside].median
            cpu = median(one.cpu)
            spent = [f"{value:.2f}" for value in (one.least, one.median, one.most, cpu)]
            rows.append((command.name, f"`{command}`", *spent, f"{ratio:.2f}"))
            self.figures[f"{title}: {command.name}"] = {
                "median_ms": one.median,
                "min_ms": one.least,
                "max_ms": one.most,
                "cpu_ms": cpu,
            }
        self.plots.append((title, times))
        self.table(f"{title}, {rounds} rounds, ms", ("", "command", "min", "median", "max", "CPU", f"÷ {beside}"), rows)
        return times

    def memory(self, title, commands):
        """Adds a table of memory peaks. Returns {name: (KiB, bytes written)}."""
        peaks = {command.name: peak(command) for command in commands}
        rows = [(name, f"{kib / 1024:.1f}", f"{written / 1024:,.0f}") for name, (kib, written) in peaks.items()]
        self.table(f"{title}: peak memory", ("", "peak MiB", "output KiB"), rows)
        self.figures[f"{title}: peak"] = {
            name: {"kib": kib, "written": written} for name, (kib, written) in peaks.items()
        }
        return peaks

    def smallest(self):
        """Compares the smallest job with a process that does nothing."""
        commands = [TRUE, render(self.binary, "smallest", inputs.SMALLEST)]
        times = self.times("Process start", commands, 200, TRUE.name)
        peaks = self.memory("Process start", commands)
        self.target("smallest: time over /bin/true", times["smallest"].over(times[TRUE.name]), 2, "ms")
        self.target("smallest: memory over /bin/true", (peaks["smallest"][0] - peaks[TRUE.name][0]) / 1024, 10, "MiB")

    def beside_tools(self):
        """Compares with other tools that produce the same objects, and with charts that khorovod replaces."""
        chart, base = inputs.chart(self.folder, self.binary), inputs.kustomization(self.folder, self.binary)
        equal = Command("helm template", [self.helm, "template", "mnist", chart])
        others = [Command(f"helm template {path.name}", [self.helm, "template", "x", path]) for path in self.charts]
        own = render(self.binary, "khorovod", inputs.SMALLEST)
        commands = [own, equal, Command("kustomize build", [self.kustomize, "build", base]), *others, TRUE]
        times = self.times("Beside Helm and Kustomize", commands, 40, own.name)
        peaks = self.memory("Beside Helm and Kustomize", commands)
        version = subprocess.run([self.helm, "version", "--short"], capture_output=True, text=True).stdout.strip()
        self.figures["helm"] = version
        self.text.append(f"\nHelm is {version}; `helm template` and `kustomize build` produce the same objects from a chart and from a base.")
        self.text.append(
            f"\nA fiftieth of `helm template` is {times[equal.name].median / 50:.2f} ms; a process that does nothing takes"
            f"\n{times[TRUE.name].median:.2f} ms."
        )
        for other in [equal, *others]:
            ratio = times[other.name].median / times[own.name].median
            self.target(f"times faster than {other.name}", ratio, 50, "×", least=True)
        self.target("memory of that of helm template", peaks[own.name][0] / peaks[equal.name][0], 0.2, "×")

    def passing(self):
        """Passes other manifests through the post-renderer. Like it, `sponge` writes only after it has read everything."""
        path = inputs.manifests(self.folder)
        size = path.stat().st_size / 1e6

        def through(name, words):
            return Command(name, ["/bin/sh", "-c", f"cat {path} | {words} | cat >/dev/null"])

        own, cat = through("post-render", f"{self.binary} post-render"), through("cat", "cat")
        sponge = through("sponge", "sponge")
        times = self.times(f"{size:.0f} MB that pass, through pipes", [cat, sponge, own], 25, cat.name)
        self.text.append(
            "\nA post-renderer must read and check all input before it writes, so reading and writing cannot overlap as in `cat`."
            "\nPipes of one mebibyte, and splicing the input's pages into the output pipe instead of copying them, compensate for"
            "\nthis."
        )
        self.target("pass-through: time of that of cat", times[own.name].median / times[cat.name].median, 1.2, "×")

    def streams(self):
        """Renders many jobs in one run."""
        files = [inputs.stream(self.folder, count) for count in STREAMS]
        commands = [render(self.binary, f"{count:,} jobs", path) for count, path in zip(STREAMS, files)]
        one_core = Command("10,000 jobs, one core", ["/usr/bin/taskset", "-c", "0", *commands[-1].words])
        few, many = (command.name for command in commands)
        times = self.times("Streams of jobs", [*commands, one_core], 7, few)
        peaks = self.memory("Streams of jobs", commands)
        base = peak(render(self.binary, "smallest", inputs.SMALLEST))[0]
        text = {command.name: path.stat().st_size + peaks[command.name][1] for command, path in zip(commands, files)}
        growth = (peaks[many][0] - base) / max(peaks[few][0] - base, 1) / (text[many] / text[few])
        self.target("10,000 jobs: time", times[many].median / 1000, 2, "s")
        rate = STREAMS[-1] / (median(times[one_core.name].cpu) / 1000)
        self.target("10,000 jobs: a second of one core's time", rate, 8000, "jobs", least=True)
        self.target("10,000 jobs: growth of memory over growth of text", growth, 1.05, "×")
        speed = text[many] / 1e6 / (times[many].median / 1000)
        self.text.append(f"\n{many}: {text[many] / 1e6:.0f} MB of text in and out, {speed:.0f} MB/s.")

    def workers(self):
        """Renders one very large job."""
        counts = (1_000, 10_000, 100_000)
        commands = [render(self.binary, f"{count:,} workers", inputs.workers(self.folder, count)) for count in counts]
        times = self.times("Large jobs", [TRUE, *commands], 40, TRUE.name)
        peaks = self.memory("Large jobs", commands)
        self.target("100,000 workers: time", times["100,000 workers"].median, 50, "ms")
        self.target("100,000 workers: memory", peaks["100,000 workers"][0] / 1024, 64, "MiB")

    def examples(self):
        """Renders every example."""
        specs = sorted(ROOT.glob("examples/*/job.yaml"))
        commands = [render(self.binary, spec.parent.name, spec) for spec in specs]
        self.times("Every example", commands, 20, "smallest")

    def counts(self):
        """Counts instructions and measures the size of the binary."""
        rows = []
        for command in inputs.counted(self.binary, self.folder):
            count = instructions(command)
            rows.append((command.name, f"{count:,}" if count else "not counted: valgrind is missing"))
            self.figures.setdefault("instructions", {})[command.name] = count
        self.table("Instructions, by callgrind", ("", "instructions"), rows)
        size = os.path.getsize(self.binary)
        self.figures["binary_bytes"] = size
        self.target("release binary", size / 2**20, 6, "MiB")

    def write(self):
        """Writes results.md, results.svg and results.json."""
        rows = [(what, value, limit, "met" if met else "**missed**") for what, value, limit, met in self.targets]
        details, self.text = self.text, []
        self.table("Targets", ("", "measured", "target", ""), rows)
        head = [
            "# Last figures\n",
            "Written by `make bench`. Each value is the time of a whole process, from spawn to exit, with output to /dev/null. The",
            "runs of a table are interleaved; min, median and max show the noise of the machine. CPU is the median of user and",
            "system time.\n",
            self.figures["machine"],
            "\n![Medians, with the minimum and maximum of the runs](results.svg)",
        ]
        (HERE / "results.svg").write_text(plot.page(self.plots))
        (HERE / "results.md").write_text("\n".join([*head, *self.text, *details]) + "\n")
        self.figures["targets"] = {
            what: {"value": value, "limit": limit, "met": met} for what, value, limit, met in self.targets
        }
        (HERE / "results.json").write_text(json.dumps(self.figures, indent=2, ensure_ascii=False) + "\n")
        for what, value, limit, met in self.targets:
            print(f"{'ok  ' if met else 'MISS'} {what}: {value} ({limit})")
        missed = sum(not met for *_, met in self.targets)
        print(f"{len(self.targets) - missed} targets met, {missed} missed; figures in bench/results.md")
        return 1 if missed else 0


def main(binary, helm, kustomize, charts=None):
    with tempfile.TemporaryDirectory(prefix="khorovod-bench-") as folder:
        bench = Bench(str(Path(binary).resolve()), helm, kustomize, charts, folder)
        parts = (bench.smallest, bench.beside_tools, bench.passing, bench.streams, bench.workers, bench.examples, bench.counts)
        for part in parts:
            part()
        return bench.write()


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
