"""Finds the links of a Markdown page, for the book and for the tests of the docs.

A page that is also published elsewhere, such as the chart's, has links to the address of the repository. They count as links
into the repository.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = re.search(r"^sources: \[(.*)\]", (ROOT / "charts/training-job/Chart.yaml").read_text(), re.M)[1] + "/blob/main/"

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(page):
    """Returns a page's text without fenced code blocks."""
    return FENCE.sub("", page.read_text())


def links(page):
    """Yields each link into the repository: the link as written, the file or folder it leads to, and the anchor."""
    for link in LINK.findall(relative(prose(page), page)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor


def relative(text, page):
    """Returns the text of a page with relative links in place of those to the address of the repository."""
    return text.replace(f"]({ADDRESS}", f"]({os.path.relpath(ROOT, page.parent)}/")
