"""Fits the model to the measurements of measure.py, and writes the report to standard output and the plot beside it: report.py LINES"""
import json
import statistics
import sys

FITTED = [16, 64, 256, 512]
TITLES = {
    "khorovod-flat": "khorovod, without the tree", "khorovod": "khorovod, tree", "mpirun-flat": "bare mpirun, flat",
    "mpirun-tree": "bare mpirun, tree spawn", "flat": "flat ssh, no-op", "srun": "khorovod's tree, no-op",
    "floor": "floor: ssh tree, no-op", "slurm": "Slurm's srun, no-op",
}
MPIS = {"openmpi5": "Open MPI 5.0.11", "mpich": "MPICH 5.0.2", "intelmpi": "Intel MPI 2021.19"}
COLOURS = {
    "khorovod-flat": "#9a3412", "khorovod": "#1d4ed8", "mpirun-flat": "#a3a3a3", "mpirun-tree": "#0f766e", "srun": "#7c3aed",
    "floor": "#404040", "flat": "#d97706", "slurm": "#be185d",
}
RADIX, FAR = 32, 10000


def solve(rows, values):
    """The least squares solution, with each row weighted by its value, so that small sizes count as much as large ones."""
    rows = [[x / v for x in row] for row, v in zip(rows, values)]
    size = len(rows[0])
    matrix = [[sum(r[i] * r[j] for r in rows) for j in range(size)] + [sum(r[i] for r in rows)] for i in range(size)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(matrix[k][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for k in range(size):
            if k != i:
                factor = matrix[k][i] / matrix[i][i]
                matrix[k] = [a - factor * b for a, b in zip(matrix[k], matrix[i])]
    return [matrix[i][size] / matrix[i][i] for i in range(size)]


def opened(variant, workers):
    """How many sessions the launcher opens."""
    if variant in ("khorovod", "srun", "floor"):
        return min(workers, RADIX)
    if variant == "slurm":
        return 0
    return min(workers, 64) if variant == "mpirun-tree" else workers


def row(variant, workers):
    return [1, workers] if variant == "slurm" else [1, opened(variant, workers), workers]


def levels(workers):
    """The number of sessions that each host of the longest path opens, one after the other."""
    fans = []
    while workers > 0:
        fans.append(min(RADIX, workers))
        workers = -(-workers // RADIX) - 1
    return fans


def main():
    with open(sys.argv[1]) as file:
        lines = [json.loads(line) for line in file]
    runs, other = {}, {}
    for line in lines:
        which = other if line.get("mpi") in MPIS else runs
        which.setdefault((line.get("mpi"), line["variant"], line["workers"]) if which is other else (line["variant"], line["workers"]), []).append(line)
    sizes = sorted({workers for variant, workers in runs if variant in TITLES})

    def median(variant, workers, what):
        found = runs.get((variant, workers))
        return statistics.median(line[what] for line in found) if found else None

    def predicted(variant, workers):
        return sum(c * x for c, x in zip(costs[variant], [1, opened(variant, workers), workers]))

    # The launches of each group share the costs.
    groups = [["khorovod", "khorovod-flat"], ["mpirun-flat", "mpirun-tree"], ["srun"], ["floor", "flat"], ["slurm"]]
    costs, errors = {}, {}
    for group in groups:
        points = [(v, n) for v in group for n in sizes if n in FITTED and median(v, n, "cpu")]
        fitted = solve([row(v, n) for v, n in points], [median(v, n, "cpu") for v, n in points])
        if group == ["slurm"]:
            fitted = [fitted[0], 0, fitted[1]]
        for variant in group:
            costs[variant] = fitted
            errors[variant] = [
                (n, predicted(variant, n) / median(variant, n, "cpu") - 1)
                for n in sizes if n not in FITTED and median(variant, n, "cpu")]

    def error(variant):
        """The largest error at a size that the model is not fitted to."""
        return max(abs(e) for _, e in errors[variant])

    def server(variant):
        """The processor time of a worker for its own session: what is left without the sessions that workers open."""
        return statistics.median(
            (median(variant, n, "workers_cpu") - (n - opened(variant, n)) * costs[variant][1]) / n
            for n in sizes if n > RADIX and median(variant, n, "workers_cpu"))

    def path(variant, workers):
        fans = levels(workers)
        return costs[variant][0] + workers * costs[variant][2] + sum(fans) * costs[variant][1] + len(fans) * server(variant)

    print("# How jobs of many workers start\n")
    print(f"""`bench/launch/run.sh` starts the workers of a job as processes on one machine: each is the job's `worker.sh` with a real sshd, in
namespaces of its own and at its own address of the loopback interface. It then launches one rank per worker, which prints a line, with
Open MPI 4.1.4. All values are medians of 1 to {max(len(r) for r in runs.values())} launches.

A launch is measured from the line "all answer" of the launcher, or from the start of another program, to the line of the last
rank. All variants but Slurm's use the same ssh configuration. The machine has two cores and 24 GiB. The cores do the work of all hosts and of
other programs, so the times of the launches are reported but mean little; processor time is what a change can be judged by. For the same
reason the bench gives connections 200 seconds, and no worker counts as lost.

A worker with Open MPI's daemon and its sessions takes 15 MiB. 768 of them are the most that fit; with 1,024, the launches that start a
no-op instead are measured, and the others are predicted: 1,024 workers used 15 GiB before all of their daemons ran. Slurm's nodes are a slurmd each, with a port of its own, and `srun` starts the no-op in
an allocation that exists already. Slurm needs no ssh.
""")
    print("## Processor time of the launcher, in seconds\n")
    print("| workers | " + " | ".join(TITLES.values()) + " |")
    print("|---|" + "---|" * len(TITLES))
    for n in sizes:
        values = [median(v, n, "cpu") for v in TITLES]
        print(f"| {n:,} | " + " | ".join("" if v is None else f"{v:.2f}" for v in values) + " |")
    for n in [1024]:
        print(f"| {n:,}, predicted | " + " | ".join("" if median(v, n, "cpu") else f"{predicted(v, n):.2f}" for v in TITLES) + " |")
    print(f"| {FAR:,}, predicted | " + " | ".join(f"{predicted(v, FAR):.1f} ± {100 * error(v):.0f} %" for v in TITLES) + " |")
    print("\n![processor time of the launcher by workers](launch.svg)\n")
    print("Lines are the model, and points are measured. The bar at 10,000 workers is the largest error of the model at a size that it was not fitted to.\n")
    for n, tree, flat in (256, "khorovod", "khorovod-flat"), (768, "khorovod", "khorovod-flat"), (1024, "srun", "flat"):
        tree, flat = median(tree, n, "cpu"), median(flat, n, "cpu")
        if tree and flat:
            print(f"- With {n:,} workers the launcher uses {100 * tree / flat:.0f} % of the processor time that it uses without the tree"
                  + (", if both start a no-op." if n == 1024 else "."))
    print("""
The part that still grows with the workers is mostly the work of mpirun itself: all daemons that `srun` starts connect to mpirun, which also takes an
open file for each of them. With tree spawn each daemon reports to its parent, but then each worker needs a key for all others.
""")
    sections(runs, other, median)
    print("## The other values\n")
    print("| workers | launch | sessions of the launcher | all sessions | peak memory of the launcher, MiB | open files of one process | first line, s | last line, s | processor time per worker, ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sizes:
        for v, title in TITLES.items():
            if not median(v, n, "cpu"):
                continue
            shown = [f"{median(v, n, what):.0f}" if v != "slurm" or what != "all_sessions" else "0" for what in ("all_sessions", "peak_mib", "open_files")]
            shown += [f"{median(v, n, what):.1f}" for what in ("first", "last")]
            theirs = median(v, n, "workers_cpu")
            print(f"| {n:,} | {title} | {opened(v, n):,} | " + " | ".join(shown) + f" | {1000 * theirs / n:.0f} |")
    print(f"""
The sessions of the launcher are counted by the key that opened them, for the launches of khorovod. For the others they follow from the
radix: {RADIX} for the floor, and 64, Open MPI's default, for tree spawn.

## The model

The processor time of the launcher is `a + h · sessions + d · workers`: `a` for the launch, `h` for each session that the launcher opens,
and `d` for each worker: its daemon connects to mpirun, and its name is in the list of hosts. It is fitted to the sizes {", ".join(map(str, FITTED))}.
""")
    print("| launches | a, ms | h, ms | d, ms | error at other sizes |")
    print("|---|---|---|---|---|")
    for group in groups:
        fitted = costs[group[0]]
        far = "; ".join(f"{TITLES[v]}: " + ", ".join(f"{100 * e:+.0f} % at {n:,}" for n, e in errors[v]) for v in group)
        print(f"| {' and '.join(TITLES[v] for v in group)} | {1000 * fitted[0]:.0f} | {1000 * fitted[1]:.1f} | "
              + f"{1000 * fitted[2]:.2f} | {far} |")
    print("""
The longest path of a tree is the time until the last command starts if each host has a core of its own: `a` and `d` of the launcher, then on each level `h` for
every session that a host opens, and once the processor time of a worker for its own session.
""")
    print("| workers | levels | khorovod's tree, s | floor, s | ratio |")
    print("|---|---|---|---|---|")
    for n in [256, 1024, FAR]:
        ours, least = path("srun", n), path("floor", n)
        print(f"| {n:,} | {len(levels(n))} | {ours:.2f} | {least:.2f} | {ours / least:.1f} |")
    print(f"\nA worker's own session takes {1000 * server('srun'):.0f} ms in khorovod's tree, and {1000 * server('floor'):.0f} ms in the floor.")
    plot(sys.argv[1].replace(".jsonl", ".svg"), sizes, median, predicted, error)


def sections(runs, other, median):
    print("## Other MPIs\n")
    print("The launcher's processor time in seconds, from the line \"all answer\" to its end, because the launcher asks all hosts about lost daemons of Open "
          "MPI 5 after a launch without the tree.\n")
    print("| MPI | workers | without the tree | tree |")
    print("|---|---|---|---|")
    for mpi, title in MPIS.items():
        for n in sorted({n for m, _, n in other if m == mpi}):
            flat, tree = (statistics.median(line["cpu_to_end"] for line in other[mpi, v, n]) for v in ("khorovod-flat", "khorovod"))
            print(f"| {title} | {n:,} | {flat:.2f} | {tree:.2f} |")
    inits = sorted(n for v, n in runs if v == "init")
    if inits:
        print("\n## Ranks that join MPI\n")
        print("The ranks above only print a line. These first call `MPI_Init`, in which all ranks wait for each other at full load, so with two cores it takes "
          "minutes. 512 workers are the most that were tried.\n")
        print("| workers | processor time of the launcher, s | first line, s | last line, s | processor time per worker, ms |")
        print("|---|---|---|---|---|")
        for n in inits:
            print(f"| {n:,} | {median('init', n, 'cpu'):.2f} | {median('init', n, 'first'):.1f} | {median('init', n, 'last'):.1f} | {1000 * median('init', n, 'workers_cpu') / n:.0f} |")
    commands(runs, median)
    retries = sorted((n, v) for v, n in runs if v.startswith("retry"))
    if retries:
        print("""
## A lost worker

A worker that has started others is killed when all ranks run. Another one starts at its address after five seconds, as a StatefulSet would
start it. The times begin when the launcher has noticed the loss, which a broken session reports. A node that stops without closing its
connections is noticed by the probes instead, ten seconds after the first round of them that it misses; with 1,024 workers the rounds are 35
seconds apart.
""")
        print("| workers | ranks | noticed after, s | all answer, s | swept and chosen, s | last rank, s | whole retry, s | processor time of the launcher, s | its sessions |")
        print("|---|---|---|---|---|---|---|---|---|")
        for n, v in retries:
            times = " | ".join(f"{median(v, n, what):.1f}" for what in ("detected", "answered", "swept", "last", "whole"))
            used = sum(median(v, n, what) for what in ("cpu_answered", "cpu_swept", "cpu_launched"))
            print(f"| {n:,} | {'no-op' if v == 'retry' else 'Open MPI 4.1.4'} | {times} | {used:.1f} | {median(v, n, 'launcher_sessions'):,.0f} |")
    print()


def commands(runs, median):
    """Prints the cost of the commands that khorovod itself runs on all hosts."""
    measured = [(title, v, what, n) for title, v, what in (("health check", "check", "cpu_before"), ("evidence of a stall", "stall", "cpu"))
                for n in sorted(n for variant, n in runs if variant == v)]
    if not measured:
        return
    radix = runs[measured[0][1], measured[0][3]][0]["radix"]
    print(f"""
## Health checks and evidence

From the line "all answer" to the launch, and from the line "asking all hosts" to the list of the ranks. Each host opens {radix} sessions here, not
{RADIX}, so that few processes have the shape of a larger tree: `RADIX={radix} bench/launch/run.sh {measured[0][3]} 3 check check-flat`, and the same with `stall stall-flat`.
""")
    print("| workers | command | sessions of the launcher, without the tree | tree | its processor time, without the tree, s | tree, s |")
    print("|---|---|---|---|---|---|")
    for title, v, what, n in measured:
        sessions = []
        for variant, opened in (f"{v}-flat", n), (v, min(n, radix)):
            # The launch after the check opens as many again.
            sessions.append(median(variant, n, "launcher_sessions") - (opened if v == "check" else 0))
        print(f"| {n} | {title} | {sessions[0]:.0f} | {sessions[1]:.0f} | {median(v + '-flat', n, what):.2f} | {median(v, n, what):.2f} |")
    for n in sorted(n for v, n in runs if v == "probe"):
        times = [1000 * median(v, n, "cpu") / n for v in ("probe", "probe-in-turn")]
        print(f"""
The launcher waits for workers, and watches them, without sessions: it connects, and reads the greeting of sshd. With {n} workers, that takes
{times[0]:.2f} ms of processor time for each worker while it waits, and {times[1]:.2f} ms while ranks run, when one process probes all workers
(`bench/launch/run.sh {n} 3 probe probe-in-turn`).""")


def plot(path, sizes, median, predicted, error):
    """Both axes are logarithmic. Points are measured, lines are the model."""
    from math import log10
    width, height, left, bottom = 760, 440, 60, 50
    low, high = 0.01, 400

    def x(n):
        return left + (width - left - 210) * log10(n / sizes[0]) / log10(FAR / sizes[0])

    def y(value):
        return height - bottom - (height - bottom - 20) * log10(max(value, low) / low) / log10(high / low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for tick in [0.01, 0.1, 1, 10, 100]:
        parts.append(f'<path d="M{left} {y(tick):.1f}H{x(FAR):.1f}" stroke="#e5e5e5"/><text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g} s</text>')
    for n in [16, 64, 256, 1024, FAR]:
        parts.append(f'<text x="{x(n):.1f}" y="{height - bottom + 18}" text-anchor="middle">{n:,}</text>')
    parts.append(f'<text x="{x(256):.1f}" y="{height - 12}" text-anchor="middle">workers</text><text x="{left}" y="14">processor time of the launcher</text>')
    steps = [round(10 ** (log10(sizes[0]) + i * log10(FAR / sizes[0]) / 60)) for i in range(61)]
    labels = []
    for variant, title in TITLES.items():
        colour = COLOURS[variant]
        line = " ".join(f"{x(n):.1f},{y(predicted(variant, n)):.1f}" for n in steps)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for n in sizes:
            if median(variant, n, "cpu"):
                parts.append(f'<circle cx="{x(n):.1f}" cy="{y(median(variant, n, "cpu")):.1f}" r="3.5" fill="{colour}"/>')
        far, share = predicted(variant, FAR), error(variant)
        parts.append(f'<path d="M{x(FAR):.1f} {y(far * (1 + share)):.1f}V{y(far * max(0.01, 1 - share)):.1f}" stroke="{colour}" stroke-width="3"/>')
        labels.append([y(predicted(variant, FAR)), title, colour])
    labels.sort()
    for before, label in zip(labels, labels[1:]):
        label[0] = max(label[0], before[0] + 15)
    for place, title, colour in labels:
        parts.append(f'<text x="{x(FAR) + 8:.1f}" y="{place + 4:.1f}" fill="{colour}">{title}</text>')
    with open(path, "w") as file:
        file.write("\n".join([*parts, "</svg>", ""]))


main()
