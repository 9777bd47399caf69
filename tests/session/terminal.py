"""A terminal for recordings and pictures: `Screen` reads the output of a program, and `picture` and `film` draw screens as SVG."""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import unicodedata
from html import escape

# Escape sequences, other characters, and the beginning of a sequence whose rest has not arrived.
PARTS = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|([^\x1b])|(\x1b(?:\[[?0-9;]*)?)\Z")
WIDTH, HEIGHT, SIZE, EDGE = 8.4, 19, 14, 14
DARK = {"back": "#0d1117", "text": "#e6edf3", "dim": "#8b949e", "31": "#ff7b72", "32": "#3fb950", "33": "#d29922"}
LIGHT = {"back": "#ffffff", "text": "#1f2328", "dim": "#59636e", "31": "#cf222e", "32": "#1a7f37", "33": "#9a6700"}


class Screen:
    """The cells of a terminal. A cell is a character and the set of its attributes: `1` bold, `2` dim, `31` to `37` a colour."""

    def __init__(self, columns, rows):
        self.columns, self.height = columns, rows
        self.rows, self.saved, self.rest = self.empty(), None, ""
        self.row = self.column = 0
        self.attributes, self.wraps = frozenset(), True

    def empty(self):
        return [[(" ", frozenset())] * self.columns for _ in range(self.height)]

    def feed(self, text):
        text, self.rest = self.rest + text, ""
        for part in PARTS.finditer(text):
            if part[4]:
                self.rest = part[4]
            elif part[3]:
                self.put(part[3])
            else:
                self.control(part[1], part[2])

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.line()
        elif character == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif character == "\b":
            self.column = max(self.column - 1, 0)
        elif character >= " ":
            cells = 2 if unicodedata.east_asian_width(character) in "WF" else 1
            if self.column + cells > self.columns:
                if self.wraps:
                    self.column = 0
                    self.line()
                else:
                    self.column = self.columns - cells
            self.rows[self.row][self.column] = (character, self.attributes)
            for number in range(1, cells):
                self.rows[self.row][self.column + number] = ("", self.attributes)
            self.column += cells

    def line(self):
        if self.row + 1 < self.height:
            self.row += 1
        else:
            self.rows = [*self.rows[1:], self.empty()[0]]

    def control(self, values, letter):
        blank = (" ", frozenset())
        match letter, values:
            case "m", _:
                for value in values.split(";"):
                    self.attributes = frozenset() if value in ("", "0") else self.attributes | {value}
            case "H", "":
                self.row = self.column = 0
            case "K", "" | "0":
                self.rows[self.row][self.column:] = [blank] * (self.columns - self.column)
            case "J", "" | "0":
                self.rows[self.row][self.column:] = [blank] * (self.columns - self.column)
                self.rows[self.row + 1:] = self.empty()[self.row + 1:]
            case "h", "?1049":
                self.saved = self.rows, self.row, self.column
                self.rows, self.row, self.column = self.empty(), 0, 0
            case "l", "?1049":
                (self.rows, self.row, self.column), self.saved = self.saved, None
            case "h" | "l", "?7":
                self.wraps = letter == "h"
            case "h" | "l", "?25":
                pass
            case _:
                raise ValueError(f"the terminal does not have the escape sequence [{values}{letter}")

    def lines(self):
        return ["".join(character for character, _ in row).rstrip() for row in self.rows]


def run(command, size, environment, folder, seconds=None):
    """Runs a command in a terminal. Returns its output as a list of times and texts, and its exit code. After a number of seconds,
    Ctrl-C ends it."""
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    began, chunks, timer = time.monotonic(), [], None
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    if seconds:
        import threading
        timer = threading.Timer(seconds, process.send_signal, [signal.SIGINT])
        timer.start()
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        chunks.append((time.monotonic() - began, data))
    os.close(terminal)
    if timer:
        timer.cancel()
    # A character may be in two chunks.
    texts, rest = [], b""
    for at, data in chunks:
        rest += data
        try:
            texts.append((at, rest.decode()))
            rest = b""
        except UnicodeDecodeError:
            pass
    return texts, process.wait()


def drawn(row, colours):
    """The text of a row as SVG, with a `text` for each run of cells with the same attributes."""
    runs, column = [], 0
    for character, attributes in row:
        if runs and runs[-1][1] == attributes:
            runs[-1][2].append(character)
        else:
            runs.append((column, attributes, [character]))
        column += 1
    result = ""
    for first, attributes, characters in runs:
        text = "".join(characters)
        start = len(text) - len(text.lstrip())
        cells = len(characters) - start - (len(text) - len(text.rstrip()))
        if not text.strip():
            continue
        colour = next((colours[one] for one in sorted(attributes) if one in colours), colours["dim"] if "2" in attributes else "")
        style = (f' fill="{colour}"' if colour else "") + (' font-weight="bold"' if "1" in attributes else "")
        result += f'<text x="{(first + start) * WIDTH:.1f}" textLength="{cells * WIDTH:.1f}"{style}>{escape(text.strip())}</text>'
    return result


def opened(size, colours, label, style=""):
    width, height = size[0] * WIDTH + 2 * EDGE, size[1] * HEIGHT + 2 * EDGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" '
        f'aria-label="{escape(label)}">\n<style>text{{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;'
        f'font-size:{SIZE}px;white-space:pre}}{style}</style>\n<rect width="100%" height="100%" rx="8" fill="{colours["back"]}"/>\n'
    )


def picture(screen, colours, label):
    """One screen."""
    rows = "".join(
        f'<g transform="translate({EDGE} {EDGE + number * HEIGHT + SIZE})">{drawn(row, colours)}</g>\n'
        for number, row in enumerate(screen.rows)
    )
    return f'{opened((screen.columns, screen.height), colours, label)}<g fill="{colours["text"]}">\n{rows}</g>\n</svg>\n'


def film(events, size, colours, label, pause=1.0, end=6.0):
    """The output of a session, a list of times and texts, as an animated picture. Pauses are shortened, the last screen stays for
    some seconds, and the picture then starts again. Readers who prefer reduced motion see only the last screen."""
    screen, frames, now, before = Screen(*size), [], 0.0, 0.0
    for at, text in events:
        now += min(at - before, pause)
        before = at
        screen.feed(text)
        rows = tuple(drawn(row, colours) for row in screen.rows)
        if frames and now - frames[-1][0] < 0.04:
            frames[-1] = (frames[-1][0], rows)
        elif not frames or frames[-1][1] != rows:
            frames.append((now, rows))
    total, height = now + end, size[1] * HEIGHT
    numbers = {}
    for _, rows in frames:
        for row in rows:
            numbers.setdefault(row, len(numbers))
    defined = "".join(f'<g id="r{number}">{row}</g>\n' for row, number in numbers.items() if row)
    shown = "".join(
        f'<g transform="translate(0 {place * height})">'
        + "".join(f'<use href="#r{numbers[row]}" y="{line * HEIGHT + SIZE}"/>' for line, row in enumerate(rows) if row)
        + "</g>\n"
        for place, (_, rows) in enumerate(frames)
    )
    steps = "".join(f"{100 * at / total:.2f}%{{transform:translateY({-place * height}px)}}" for place, (at, _) in enumerate(frames))
    last = f"translateY({-(len(frames) - 1) * height}px)"
    style = (
        f".film{{transform:{last};animation:film {total:.1f}s step-end infinite}}@keyframes film{{{steps}100%{{transform:{last}}}}}"
        "@media (prefers-reduced-motion:reduce){.film{animation:none}}"
    )
    return (
        f'{opened(size, colours, label, style)}<defs>\n{defined}</defs>\n'
        f'<svg x="{EDGE}" y="{EDGE}" width="{size[0] * WIDTH:.0f}" height="{height}"><g class="film" fill="{colours["text"]}">\n{shown}</g></svg>\n</svg>\n'
    )
