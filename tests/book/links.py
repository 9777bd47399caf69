#!/usr/bin/env python3
"""Checks all links, pictures and anchors within a folder of HTML pages, without network access: links.py FOLDER."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Collects the links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs[name] for name in ("id", "name") if attrs.get(name) and (name == "id" or tag == "a")}
        self.links += [attrs[name] for name in ("href", "src") if attrs.get(name)]


def main():
    root = Path(sys.argv[1]).resolve()
    # Skips the preview page, which its own build checks.
    pages = {path: Page(path) for path in root.rglob("*.html") if "web/dist" not in path.as_posix()}
    links, wrong = 0, []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            # The page for "not found" has links relative to the root of the server.
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            links += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file() or root not in target.parents:
                wrong.append(f"{path.relative_to(root)}: {link}: no such file in the book")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                wrong.append(f"{path.relative_to(root)}: {link}: no such place on that page")
    print("\n".join([*wrong, f"{len(pages)} pages, {links} links, {len(wrong)} of them broken"]))
    return bool(wrong) or links < 1000


if __name__ == "__main__":
    sys.exit(main())
