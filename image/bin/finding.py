"""The result of a check, and its text. Checks yield findings; khorovod-preflight prints them."""

import textwrap
from collections import defaultdict
from dataclasses import dataclass

MANY = 6  # the most lines that are printed individually


@dataclass
class Finding:
    verdict: str  # ok, warn or FAIL
    what: str
    text: str
    why: str = ""
    do: str = ""

    def told(self, last):
        """The finding as lines, without an explanation that the last finding already has."""
        lines = [f"{self.verdict:<5} {self.what:<10} {self.text}"]
        for label, text in (("why:", self.why), ("do: ", self.do)):
            if text and not (last and text in (last.why, last.do)):
                lines += textwrap.wrap(text, 110, initial_indent=f"      {label} ", subsequent_indent=" " * 11)
        return "\n".join(lines)


@dataclass
class Check:
    """Creates the findings of one check. `why` it matters and what to `do` are the defaults for its findings."""

    what: str
    why: str = ""
    do: str = ""

    def ok(self, text):
        return Finding("ok", self.what, text)

    def warn(self, text, why=None, do=None):
        return Finding("warn", self.what, text, self.why if why is None else why, self.do if do is None else do)

    def fail(self, text, why=None, do=None):
        return Finding("FAIL", self.what, text, self.why if why is None else why, self.do if do is None else do)


def some(names, shown=4):
    """The first names of a list, and how many more there are."""
    names = list(map(str, names))
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def groups(hosts, value):
    """Groups hosts by `value(host)`, the largest group first."""
    found = defaultdict(list)
    for host in hosts:
        found[value(host)].append(host.pod)
    return sorted(found.items(), key=lambda group: -len(group[1]))


def merged(failures):
    """Merges failures (from, to, message) into few lines: first by the same target and message, then by the same sources."""
    by_whom, by_who = defaultdict(list), defaultdict(list)
    for who, whom, words in failures:
        by_whom[whom, words].append(who)
    for (whom, words), many in by_whom.items():
        by_who[tuple(many), words].append(whom)
    return [(many, whom, words) for (many, words), whom in by_who.items()]


def fails(check, failures, summary, line):
    """Yields one finding per line of the merged failures; if there are many lines, one finding that names the first failure."""
    lines = merged(failures)
    if len(lines) > MANY:
        yield check.fail(summary(len(failures), *failures[0]))
        return
    for who, whom, words in lines:
        yield check.fail(f"{line(some(who), some(whom))}: {words}")


def told(grouped, say=str):
    """Formats groups: `4.1.4 on a, b; 5.0.1 on c`."""
    return "; ".join(f"{say(value)} on {some(names)}" for value, names in grouped)
