#!/usr/bin/env python3
"""Prints the notes of a release, the section of a version in CHANGELOG.md: notes.py VERSION"""

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


class Missing(Exception):
    """There are no notes of this version."""


def section(version):
    """Returns the section of a version without its heading. Raises `Missing` if it does not exist, is empty or has no date."""
    sections = re.split(r"^## ", CHANGELOG.read_text(encoding="utf-8"), flags=re.M)[1:]
    found = next((text for text in sections if text.startswith(f"[{version}]")), None)
    if found is None:
        raise Missing(f"CHANGELOG.md has no section [{version}]")
    heading, _, text = found.partition("\n")
    if not re.fullmatch(r"\[[^\]]+\] - \d{4}-\d\d-\d\d", heading):
        raise Missing(f"CHANGELOG.md has no date for {version}: ## {heading}")
    if not text.strip():
        raise Missing(f"CHANGELOG.md describes nothing for {version}")
    return text.strip() + "\n"


if __name__ == "__main__":
    try:
        print(section(sys.argv[1]), end="")
    except Missing as missing:
        sys.exit(str(missing))
