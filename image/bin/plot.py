"""Formats the rows of a measurement as a table, as a plot in characters, and as an SVG. A row has bytes, seconds, alg, bus and
wrong; bandwidths are in GB/s, 10⁹ bytes per second.
"""

from html import escape
from math import log10

COLUMNS = "{:>9} {:>11} {:>9} {:>9} {:>6}"
HEAD = (
    COLUMNS.format("size", "time", "algbw", "busbw", "wrong") + "\n" + COLUMNS.format("", "", "GB/s", "GB/s", "ranks")
)


def size(number):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:g} {unit}"
        number /= 1024


def time(seconds):
    for unit, scale in (("µs", 1e6), ("ms", 1e3), ("s", 1)):
        if seconds * scale < 1000 or unit == "s":
            return f"{seconds * scale:.{2 if seconds * scale < 100 else 0}f} {unit}"


def rate(gigabytes):
    return f"{gigabytes:.{3 if gigabytes < 10 else 1}f}"


def line(row):
    return COLUMNS.format(size(row["bytes"]), time(row["seconds"]), rate(row["alg"]), rate(row["bus"]), row["wrong"])


def summary(rows):
    """The summary of a table: latency, and the highest bus bandwidth."""
    best = max(rows, key=lambda row: row["bus"])
    half = next(row for row in rows if row["bus"] * 2 >= best["bus"])
    return (
        f"latency {time(rows[0]['seconds'])} at {size(rows[0]['bytes'])}; bus bandwidth {rate(best['bus'])} GB/s at "
        f"{size(best['bytes'])}, half of it from {size(half['bytes'])} on"
    )


def bars(rows, height=8):
    """Bus bandwidth by size, with one column per size."""
    top = max(row["bus"] for row in rows) or 1
    lines = ["bus bandwidth, GB/s"]
    for level in range(height, 0, -1):
        cells = ""
        for row in rows:
            eighths = max(0, min(8, round(row["bus"] / top * height * 8) - (level - 1) * 8))
            cells += " " + " ▁▂▃▄▅▆▇█"[eighths] * 4
        mark = rate(top * level / height) if level in (height, height // 2) else ""
        lines.append(f"{mark:>8} │{cells}")
    lines.append(f"{'0':>8} └" + "─" * 5 * len(rows))
    lines.append(" " * 10 + "".join(f"{size(row['bytes']).replace(' ', '').rstrip('iB') or '0':>5}" for row in rows))
    return "\n".join(line.rstrip() for line in lines)


def svg(rows, title, width=860, height=360):
    """An SVG with two panels by size: bus bandwidth, and time on a logarithmic scale."""
    left = panel(rows, "bus bandwidth, GB/s", [row["bus"] for row in rows], (70, 60, 330, 230), False)
    right = panel(rows, "time, µs", [row["seconds"] * 1e6 for row in rows], (500, 60, 330, 230), True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n'
        f'<text x="20" y="28" font-size="15">{escape(title)}</text>\n{left}{right}</svg>\n'
    )


def panel(rows, label, values, box, powers):
    left, top, wide, high = box
    place = log10 if powers else float
    marks = ticks(values, powers)
    low, span = place(marks[0]), place(marks[-1]) - place(marks[0])
    across = lambda at: left + wide * at / max(1, len(rows) - 1)
    down = lambda value: top + high - high * (place(value) - low) / span
    parts = [f'<text x="{left}" y="{top - 12}" fill="#555">{label}</text>']
    for mark in marks:
        y = down(mark)
        parts.append(f'<line x1="{left}" x2="{left + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{mark:,.10g}</text>')
    for at, row in enumerate(rows):
        x, y = across(at), top + high + 12
        turned = f'text-anchor="end" transform="rotate(-45 {x:.1f} {y})"'
        parts.append(f'<text x="{x:.1f}" y="{y}" {turned}>{size(row["bytes"])}</text>')
        parts.append(f'<circle cx="{x:.1f}" cy="{down(values[at]):.1f}" r="3" fill="#0a6cbd"/>')
    points = " ".join(f"{across(at):.1f},{down(value):.1f}" for at, value in enumerate(values))
    parts.append(f'<polyline points="{points}" fill="none" stroke="#0a6cbd" stroke-width="2"/>')
    return "\n".join(parts) + "\n"


def ticks(values, powers):
    """Powers of ten, from below the smallest value to above the largest."""
    if powers:
        low, high = int(log10(min(values)) // 1), int(-(-log10(max(values)) // 1))
        return [10.0**power for power in range(low, max(high, low + 1) + 1)]
    top = max(values) or 1
    step = 10 ** (log10(top) // 1)
    step = next(step * part for part in (0.1, 0.2, 0.5, 1, 2) if top / (step * part) <= 6)
    return [step * many for many in range(int(-(-top // step)) + 1)]
