"""The links of a Markdown page, for the book and for the tests of the docs."""

import re

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(page):
    """A page's text without what stands in blocks."""
    return FENCE.sub("", page.read_text())


def links(page):
    """The links that lead into the repository: as they are written, what they lead to, and the heading there."""
    for link in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor
