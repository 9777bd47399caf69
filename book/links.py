"""Finds the links of a Markdown page, for the book and for the tests of the docs."""

import re

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(page):
    """Returns a page's text without fenced code blocks."""
    return FENCE.sub("", page.read_text())


def links(page):
    """Yields each link into the repository: the link as written, the file or folder it leads to, and the anchor."""
    for link in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor
