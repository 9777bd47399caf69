#!/usr/bin/env python3
"""Draws the pictures of the docs that show no certain job: `draw.py` writes them, `draw.py --check` compares them.

`khorovod plan -o svg` draws a job instead.
"""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

FOLDER = Path(__file__).parent
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1a2530}.small{font-size:11px;fill:#566472}.strong{font-weight:600}"
    ".middle{text-anchor:middle}.box{fill:#fff;stroke:#1b5f8c;stroke-width:1.5}.head{fill:#dcebf7;stroke:#1b5f8c;stroke-width:1.5}"
    ".frame{fill:#f6f8fa;stroke:#cfd8e0}.rank{fill:#c9ddec;stroke:none}.gone{fill:none;stroke:#566472;stroke-dasharray:4 3}"
    ".wire{fill:none;stroke:#1b5f8c;stroke-width:1.5}.tip{fill:#1b5f8c}"
    "@media(prefers-color-scheme:dark){text{fill:#e3eaf0}.small{fill:#9fb0bf}.box{fill:#12181f;stroke:#7fb8de}"
    ".head{fill:#1d3a50;stroke:#7fb8de}.frame{fill:#1a212a;stroke:#3a4652}.rank{fill:#2a4a63}.gone{stroke:#9fb0bf}"
    ".wire{stroke:#7fb8de}.tip{fill:#7fb8de}}"
)
LINE = 17


class Picture:
    """An SVG of boxes with lines of text and of arrows between them."""

    def __init__(self, width, height, title):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>',
        ]

    def text(self, x, y, line, kind=""):
        self.parts.append(f'<text x="{x}" y="{y}" class="{kind}">{escape(line)}</text>')

    def box(self, x, y, width, height, lines=(), kind="box"):
        """A box with its lines in the middle; the first is strong, the others are small."""
        self.parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="5"/>')
        top = y + height / 2 + 5 - LINE * (len(lines) - 1) / 2
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + LINE * number, line, "middle small" if number else "middle strong")

    def frame(self, x, y, width, height, line):
        self.box(x, y, width, height, kind="frame")
        self.text(x + 10, y + 19, line, "small")

    def arrow(self, *points, label=None):
        """An arrow along points, with a label above the middle of its first line."""
        path = "L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path class="wire" d="M{path}" marker-end="url(#tip)"/>')
        if label:
            (left, top), (right, bottom) = points[:2]
            self.text((left + right) / 2, (top + bottom) / 2 - 6, label, "middle small")

    def __str__(self):
        return "\n".join([*self.parts, "</svg>", ""])


def flow():
    picture = Picture(760, 190, "A spec is rendered on your machine; the cluster gets only objects of Kubernetes")
    picture.frame(5, 5, 395, 180, "your machine or pipeline")
    picture.frame(440, 5, 315, 180, "the cluster")
    picture.box(25, 70, 90, 56, ["job.yaml", "the spec"])
    picture.box(165, 45, 120, 106, ["khorovod", "checks the spec,", "plans the run,", "renders objects"], "head")
    picture.box(320, 70, 65, 56, ["YAML", "objects"])
    picture.arrow((115, 98), (163, 98))
    picture.arrow((285, 98), (318, 98))
    picture.arrow((385, 98), (463, 98))
    picture.text(25, 172, "Apply with khorovod run, kubectl, Helm or GitOps.", "small")
    picture.text(465, 172, "Nothing else is installed.", "small")
    picture.box(465, 70, 110, 56, ["API server", "no CRD"])
    picture.box(625, 45, 115, 40, ["launcher"])
    picture.box(625, 108, 115, 40, ["workers"])
    picture.arrow((575, 90), (623, 66))
    picture.arrow((575, 106), (623, 128))
    return picture


def terms():
    picture = Picture(700, 220, "One job with two workers, two slots on each and the ranks 0 to 3")
    picture.frame(5, 5, 690, 210, "job: one spec; run: one execution of it; world: all ranks, here of the size 4")
    picture.box(25, 80, 130, 62, ["launcher", "starts the ranks"], "head")
    for worker in range(2):
        left = 235 + 230 * worker
        picture.box(left, 40, 210, 160, kind="box")
        picture.text(left + 12, 62, f"worker-{worker}", "strong")
        picture.text(left + 90, 62, "a pod", "small")
        for slot in range(2):
            x = left + 12 + 96 * slot
            picture.box(x, 78, 90, 82, [f"rank {2 * worker + slot}", f"local rank {slot}", "one GPU"], "rank")
            picture.text(x + 45, 180, f"slot {slot}", "middle small")
    picture.arrow((155, 100), (233, 100), label="ssh")
    picture.arrow((155, 126), (195, 126), (195, 208), (570, 208), (570, 201))
    return picture


def shapes():
    picture = Picture(760, 265, "The two shapes of a job")
    picture.frame(5, 5, 400, 255, "StatefulSet and launcher: launcher.runsIn: ownPod")
    picture.box(25, 85, 130, 76, ["launcher", "Job with one pod,", "no GPU"], "head")
    for worker in range(3):
        picture.box(240, 50 + 58 * worker, 140, 44, [f"worker-{worker}", "ranks"])
        picture.arrow((155, 115 + 8 * worker), (238, 72 + 58 * worker))
    picture.text(205, 86, "ssh", "small")
    picture.text(25, 216, "StatefulSet of the workers.", "small")
    picture.text(25, 234, "At the end the launcher scales it to 0,", "small")
    picture.text(25, 250, "and its own Job is complete.", "small")
    picture.frame(425, 5, 330, 255, "one Indexed Job: launcher.runsIn: firstWorker")
    picture.box(445, 102, 120, 60, ["pod 0", "launches, ranks"], "head")
    for pod in range(1, 3):
        picture.box(625, 10 + 64 * pod, 110, 44, [f"pod {pod}", "ranks"])
        picture.arrow((565, 116 + 18 * (pod - 1)), (623, 32 + 64 * pod))
    picture.text(445, 216, "ssh, or torchrun, jax and tensorflow", "small")
    picture.text(445, 234, "without ssh: an agent in each pod.", "small")
    picture.text(445, 250, "The end of pod 0 ends the Job.", "small")
    return picture


def phases():
    picture = Picture(860, 232, "The phases of a run")
    steps = [
        ("workers start", "sshd answers", "box"),
        ("launcher waits", "for all workers", "head"),
        ("checks", "hosts, MPI, GPUs", "head"),
        ("ranks train", "one attempt", "head"),
        ("GPUs released", "scaled to 0", "box"),
    ]
    for number, (title, what, kind) in enumerate(steps):
        picture.box(10 + 172 * number, 70, 140, 60, [title, what], kind)
        if number:
            picture.arrow((172 * number - 22, 100), (172 * number + 8, 100))
    picture.arrow((596, 130), (596, 168), (252, 168), (252, 132))
    picture.text(424, 186, "a failed attempt: lifecycle.retries, with another worker for a lost one", "middle small")
    picture.arrow((252, 70), (252, 38), (768, 38), (768, 68))
    picture.text(510, 28, "startTimeout or deadline is over, no attempt is left, or a newer run is current", "middle small")
    picture.text(424, 216, "an eviction, a deadline or khorovod stop: the ranks get lifecycle.checkpoint's signal first, and save", "middle small")
    return picture


def main():
    check, stale = "--check" in sys.argv[1:], []
    for draw in (flow, phases, shapes, terms):
        path, text = FOLDER / f"{draw.__name__}.svg", str(draw())
        if check and (not path.exists() or path.read_text() != text):
            stale.append(f"{path.name} is not what docs/pictures/draw.py draws: run it")
        elif not check:
            path.write_text(text)
    print("\n".join([*stale, f"4 pictures, {len(stale)} stale"]))
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
