"""Fits the model to the measurements of measure.py, and writes the report to standard output and the plot beside it: report.py LINES"""
import json
import statistics
import sys

FITTED = [16, 64, 256, 512]
TITLES = {
    "khorovod-flat": "khorovod, without the tree", "khorovod": "khorovod, tree", "mpirun-flat": "bare mpirun, flat",
    "mpirun-tree": "bare mpirun, tree spawn", "srun": "khorovod's tree, no-op", "floor": "floor: ssh tree, no-op",
}
COLOURS = {
    "khorovod-flat": "#9a3412", "khorovod": "#1d4ed8", "mpirun-flat": "#a3a3a3", "mpirun-tree": "#0f766e", "srun": "#7c3aed",
    "floor": "#404040",
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
    return min(workers, 64) if variant == "mpirun-tree" else workers


def row(variant, workers):
    return [1, opened(variant, workers), workers]


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
    runs = {}
    for line in lines:
        runs.setdefault((line["variant"], line["workers"]), []).append(line)
    sizes = sorted({workers for _, workers in runs})

    def median(variant, workers, what):
        found = runs.get((variant, workers))
        return statistics.median(line[what] for line in found) if found else None

    # The launches of each group share the costs.
    groups = [["khorovod", "khorovod-flat"], ["mpirun-flat", "mpirun-tree"], ["srun"], ["floor"]]
    costs, errors = {}, {}
    for group in groups:
        points = [(v, n) for v in group for n in sizes if n in FITTED and median(v, n, "cpu")]
        fitted = solve([row(v, n) for v, n in points], [median(v, n, "cpu") for v, n in points])
        for variant in group:
            costs[variant] = fitted
            errors[variant] = [
                (n, sum(c * x for c, x in zip(fitted, row(variant, n))) / median(variant, n, "cpu") - 1)
                for n in sizes if n not in FITTED and median(variant, n, "cpu")]

    def predicted(variant, workers):
        return sum(c * x for c, x in zip(costs[variant], row(variant, workers)))

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
Open MPI 4.1.4. All values are medians of {min(len(r) for r in runs.values())} to {max(len(r) for r in runs.values())} launches.

A launch is measured from the line "all answer" of the launcher, or from the start of a bare `mpirun`, to the line of the last
rank. All variants use the same ssh configuration. The machine has two cores, which do the work of all hosts and of other programs,
so the times of the launches are reported but mean little; processor time is what a change can be judged by. For the same reason the
bench gives connections 200 seconds, and no worker counts as lost. A worker with
Open MPI's daemon takes 9 MiB. 1,024 of them would fill 10 GiB, and are predicted, not measured. `srun` of a real Slurm is not
measured either.
""")
    print("## Processor time of the launcher, in seconds\n")
    print("| workers | " + " | ".join(TITLES.values()) + " |")
    print("|---|" + "---|" * len(TITLES))
    for n in sizes:
        values = [median(v, n, "cpu") for v in TITLES]
        print(f"| {n:,} | " + " | ".join("" if v is None else f"{v:.2f}" for v in values) + " |")
    for n in [n for n in [1024] if n not in sizes]:
        print(f"| {n:,}, predicted | " + " | ".join(f"{predicted(v, n):.2f}" for v in TITLES) + " |")
    print(f"| {FAR:,}, predicted | " + " | ".join(f"{predicted(v, FAR):.1f}" for v in TITLES) + " |")
    print("\n![processor time of the launcher by workers](launch.svg)\n")
    for n in sizes:
        tree, flat = median("khorovod", n, "cpu"), median("khorovod-flat", n, "cpu")
        if n in (256, 1024) and tree and flat:
            print(f"- With {n:,} workers the launcher uses {100 * tree / flat:.0f} % of the processor time that it uses without the tree.")
    print("""
The part that still grows with the workers is the work of mpirun itself: all daemons that `srun` starts connect to mpirun, which also takes an open
file for each of them. With tree spawn each daemon reports to its parent, but then each worker needs a key for all others.
""")
    print("## The other values\n")
    print("| workers | launch | sessions of the launcher | all sessions | peak memory of the launcher, MiB | open files of one process | first line, s | last line, s | processor time per worker, ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sizes:
        for v, title in TITLES.items():
            if not median(v, n, "cpu"):
                continue
            shown = [f"{median(v, n, what):.0f}" for what in ("all_sessions", "peak_mib", "open_files")]
            shown += [f"{median(v, n, what):.1f}" for what in ("first", "last")]
            theirs = median(v, n, "workers_cpu")
            print(f"| {n:,} | {title} | {opened(v, n)} | " + " | ".join(shown) + f" | {1000 * theirs / n:.0f} |")
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
    plot(sys.argv[1].replace(".jsonl", ".svg"), sizes, median, predicted)


def plot(path, sizes, median, predicted):
    """Both axes are logarithmic. Points are measured, lines are the model."""
    from math import log10
    width, height, left, bottom = 760, 440, 60, 50
    low, high = 0.1, 400

    def x(n):
        return left + (width - left - 210) * log10(n / sizes[0]) / log10(FAR / sizes[0])

    def y(value):
        return height - bottom - (height - bottom - 20) * log10(max(value, low) / low) / log10(high / low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for tick in [0.1, 1, 10, 100]:
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
        labels.append([y(predicted(variant, FAR)), title, colour])
    labels.sort()
    for before, label in zip(labels, labels[1:]):
        label[0] = max(label[0], before[0] + 15)
    for place, title, colour in labels:
        parts.append(f'<text x="{x(FAR) + 8:.1f}" y="{place + 4:.1f}" fill="{colour}">{title}</text>')
    with open(path, "w") as file:
        file.write("\n".join([*parts, "</svg>", ""]))


main()
