#!/usr/bin/env python3
"""Checks what search engines, social networks and editors read of a built site: pages.py SITE HOMEPAGE"""

import json
import re
import struct
import sys
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]
from checks import check  # noqa: E402


class Head(HTMLParser):
    """The title, the language, the links and the descriptions of a page."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside, self.title = {}, None, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.inside = tag
        name = attrs.get("name") or attrs.get("property") if tag == "meta" else attrs.get("rel") if tag == "link" else tag if tag == "html" else None
        if name:
            self.found.setdefault(name, []).append(attrs.get("content") or attrs.get("href") or attrs.get("lang"))

    def handle_data(self, data):
        if self.inside == "title":
            self.title += data
            self.inside = None


def page(site, homepage, path, titles):
    head = Head((site / path).read_text())
    one = lambda name: head.found[name][0] if len(head.found.get(name, [])) == 1 else None  # noqa: E731
    where = path.as_posix()
    about = one("description")
    check(bool(about) and 20 <= len(about) <= 160, f"{where}: a description of 20 to 160 letters", head.found.get("description"))
    check(bool(head.title.strip()) and head.title.strip() == one("og:title"), f"{where}: a title", head.title)
    check(one("html") == "en" and bool(one("viewport")), f"{where}: a language and a viewport", head.found)
    check(one("og:description") == about and one("twitter:card") == "summary_large_image", f"{where}: a description for social networks", head.found)
    address = one("canonical") or ""
    own = f"{address}social.png" if path.match("web/dist/index.html") else f"{homepage}/social.png"
    check(one("og:image") == own and bool(one("og:image:alt")), f"{where}: an image for social networks", head.found.get("og:image"))
    check(address == one("og:url") and address.startswith(f"{homepage}/"), f"{where}: a canonical address", address)
    file = site / address.removeprefix(f"{homepage}/")
    file = file / "index.html" if file.is_dir() else file
    check(file.is_file(), f"{where}: its canonical address exists", address)
    if re.match(r"v\d", where):
        rest = Path(*path.parts[1:])
        rest = Path("index.html") if rest == Path("README.html") else rest
        check(not (site / rest).exists() or file == site / rest, f"{where}: the canonical address is in the newest version", address)
    elif where == "README.html":
        check(file == site / "index.html", f"{where}: a copy of the first page", address)
    else:
        check(file == site / path, f"{where}: it has its own canonical address", address)
        titles.setdefault(head.title.strip(), []).append(where)
    return address


def main(site, homepage):
    site = Path(site)
    paths = [path.relative_to(site) for path in sorted(site.rglob("*.html")) if path.name not in ("404.html", "toc.html")]
    titles = {}
    addresses = {page(site, homepage, path, titles) for path in paths}
    same = {title: places for title, places in titles.items() if len(places) > 1}
    check(not same, "each page has its own title", same)
    listed = re.findall(r"<loc>(.*?)</loc>", (site / "sitemap.xml").read_text())
    check(len(listed) == len(set(listed)) and set(listed) == addresses, "the sitemap has each canonical address once", addresses ^ set(listed))
    check(f"Sitemap: {homepage}/sitemap.xml" in (site / "robots.txt").read_text(), "robots.txt names the sitemap")
    image = (site / "social.png").read_bytes()
    check(struct.unpack(">II", image[16:24]) == (1200, 630) and len(image) < 300_000, "the social image has 1200 x 630 pixels")
    for file in (ROOT / "schema").glob("*.schema.json"):
        place = site / json.loads(file.read_text())["$id"].removeprefix(f"{homepage}/")
        check(place.is_file() and place.read_bytes() == file.read_bytes(), f"{file.name} is at its $id")
    (entry,) = json.loads((site / "schema/catalog.json").read_text())["schemas"]
    check({"name", "description", "fileMatch", "url"} == set(entry) and "*.khorovod.yaml" in entry["fileMatch"], "the entry for SchemaStore", entry)
    check((site / entry["url"].removeprefix(f"{homepage}/")).is_file(), "which has the address of the schema", entry)
    versions = json.loads((site / "versions.json").read_text())
    check(versions["versions"] == [versions["newest"], "0.0.9"], "the versions, the newest first", versions)
    check("Read the newest version" in (site / "v0.0.9/docs/install.html").read_text(), "a page of an earlier version leads to the newest")
    check("Read the newest version" not in (site / f"v{versions['newest']}/docs/install.html").read_text(), "a page of the newest does not")
    print("\n".join([*check.wrong, f"{len(paths)} pages: {check.count} checks, {len(check.wrong)} failed"]))
    return bool(check.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
