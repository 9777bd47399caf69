"""The links of a Markdown page, for the book and for the tests of the docs."""

import re

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(page):
    """A page's text without code blocks."""
    return FENCE.sub("", page.read_text())


def links(page):
    """Yields the links to files of the repository: the text of the link, the target path, and the heading."""
    for link in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor
