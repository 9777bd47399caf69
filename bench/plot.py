"""Draws the tables of the benchmarks as one SVG: one bar per command, whose length is the logarithm of the median, with a
whisker from the minimum to the maximum."""

import math
from xml.sax.saxutils import escape

ROW, LEFT, WIDTH, RIGHT = 22, 250, 420, 90
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.bar{fill:#4c78a8}.whisker{stroke:#222;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.bar{fill:#6ea0d6}.whisker{stroke:#eee}}"
)


def page(plots):
    """Returns an SVG of [(title, {name: Times})], without tables of more than eight rows."""
    lines, y = [], 0
    for title, times in plots:
        if len(times) > 8:
            continue
        low = math.floor(math.log10(min(one.least for one in times.values())))
        high = max(math.ceil(math.log10(max(one.most for one in times.values()))), low + 1)

        def x(value, low=low, high=high):
            return LEFT + WIDTH * (math.log10(value) - low) / (high - low)

        y += ROW * 1.5
        lines.append(f'<text class="title" x="8" y="{y:.0f}">{escape(title)}, ms</text>')
        for name, one in times.items():
            y += ROW
            middle = y - 4
            lines += [
                f'<text x="{LEFT - 8}" y="{y:.0f}" text-anchor="end">{escape(name)}</text>',
                f'<rect class="bar" x="{LEFT}" y="{y - 12:.0f}" width="{x(one.median) - LEFT:.1f}" height="14"/>',
                f'<path class="whisker" d="M{x(one.least):.1f} {middle:.0f}H{x(one.most):.1f}"/>',
                f'<text x="{x(one.most) + 6:.1f}" y="{y:.0f}">{one.median:,.2f}</text>',
            ]
    size = f"{LEFT + WIDTH + RIGHT} {y + ROW:.0f}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}"><style>{STYLE}</style>\n' + "\n".join(lines) + "\n</svg>\n"
