#!/usr/bin/env python3
"""Builds the hosted site for any static server: site.py OUT RELEASE [EARLIER...]

RELEASE and EARLIER are folders with the files of a release each, of which one is its book (`khorovod-VERSION.book.tar.gz`). The site has

    /                  the book and the preview of RELEASE
    /vVERSION/         the book of each version, with canonical links to the newest
    /versions.html     all versions; versions.json is the same list for programs
    /packages/         the files of each release
    /charts/           a Helm repository
    /schema/           the JSON Schemas at their `$id`, an entry for SchemaStore, and the form of the CRDs catalog

    site.py pack OUT   writes the book in target/book/html as OUT/khorovod-VERSION.book.tar.gz
"""

import hashlib
import html
import json
import re
import shutil
import sys
import tarfile
import time
import tomllib
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import archive
from project import HOMEPAGE, ROOT, SUMMARY, VERSION, epoch

# mdBook gives it to each page.
ABOUT_BOOK = tomllib.loads((ROOT / "book/book.toml").read_text(encoding="utf-8"))["book"]["description"]
BOOK = ROOT / "target/book/html"
SCHEMAS = ROOT / "schema"
IMAGE = ROOT / "book/social.png"
# The image that social networks show for a page.
SOCIAL = {
    "image": f"{HOMEPAGE}/social.png",
    "image:width": "1200",
    "image:height": "630",
    "image:alt": "khorovod: one short training spec in, plain Kubernetes objects out",
}
# Pages without content of their own: the page for missing files, and the table of contents that mdBook frames.
UNLISTED = {"404.html", "toc.html"}
STYLE = (
    "<style>:root { color-scheme: light dark; background: Canvas; color: CanvasText } body { font: 16px/1.6 sans-serif; margin: 2em auto; padding: 0 1em; max-width: 60em; overflow-wrap: anywhere } "
    "td { padding-right: 2em }</style>"
)


def book_name(version):
    return f"khorovod-{version}.book.tar.gz"


def pack(out):
    """Writes the book as a file of the release."""
    if not (BOOK / "web/dist/index.html").exists():
        sys.exit("target/book/html is not a book with the preview: run make web book")
    Path(out).mkdir(parents=True, exist_ok=True)
    (Path(out) / book_name(VERSION)).write_bytes(archive.tar_gz(archive.tree(BOOK)))


class Release:
    """The files of one release."""

    def __init__(self, folder):
        self.folder = Path(folder)
        books = [*self.folder.glob(book_name("*"))]
        if len(books) != 1:
            sys.exit(f"{folder} has {len(books)} books, not one")
        (self.book,) = books
        self.version = self.book.name.removeprefix("khorovod-").removesuffix(".book.tar.gz")
        self.order = tuple(int(part) for part in re.findall(r"\d+", self.version.partition("-")[0]))

    def unpack(self, folder):
        """Unpacks the book into a folder of the site."""
        with tarfile.open(self.book) as packed:
            # Python 3.11.2 of Debian 12 has no filters. The packages are those of this project.
            packed.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))

    def files(self):
        return sorted(path for path in self.folder.iterdir() if path.is_file())


class Site:
    def __init__(self, out, releases):
        self.out, self.releases = Path(out), sorted(releases, key=lambda release: release.order, reverse=True)
        self.newest = self.releases[0]
        # The path of the homepage on its server, with a slash at the end.
        self.base = urlsplit(HOMEPAGE).path.rstrip("/") + "/"

    def build(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        self.newest.unpack(self.out)
        for release in self.releases:
            self.packages(release)
            release.unpack(self.out / f"v{release.version}")
        self.charts()
        self.schemas()
        self.versions()
        shutil.copyfile(IMAGE, self.out / "social.png")
        pages = self.pages(self.out)
        for page in pages:
            self.describe(page)
        self.sitemap([page for page in pages if page.as_posix() != "README.html" and not re.match(r"v\d", page.as_posix())])
        # GitHub Pages leaves out files that begin with `_` otherwise.
        (self.out / ".nojekyll").touch()

    def pages(self, folder):
        """Returns the pages for readers, relative to the site."""
        found = sorted(path.relative_to(folder) for path in folder.rglob("*.html"))
        return [path for path in found if path.name not in UNLISTED]

    def write(self, path, title, body):
        """Writes a page that is not part of the book."""
        file = self.out / path
        file.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * path.count("/")
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,"><title>{title}</title>{STYLE}'
        main = f'<main>\n<h1>{title}</h1>\n{body}<p><a href="{up or "./"}index.html">Documentation</a></p>\n</main>'
        file.write_text(f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{main}\n</body></html>\n', encoding="utf-8")

    def packages(self, release):
        """Copies the files of a release, with a page that lists them."""
        folder = f"packages/v{release.version}"
        (self.out / folder).mkdir(parents=True)
        rows = []
        for file in release.files():
            shutil.copyfile(file, self.out / folder / file.name)
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            name = html.escape(file.name)
            rows.append(f'<tr><td><a href="{name}">{name}</a></td><td>{file.stat().st_size:,}</td><td><code>{digest}</code></td></tr>\n')
        head = "<tr><th>File</th><th>Bytes</th><th>SHA-256</th></tr>\n"
        text = f"<p>The files of khorovod {release.version}, for every system.</p>\n<table>\n{head}{''.join(rows)}</table>\n"
        self.write(f"{folder}/index.html", f"khorovod {release.version}: packages", text)

    def charts(self):
        """Writes the Helm repository. Addresses in its index are relative to it."""
        entries = []
        (self.out / "charts").mkdir(exist_ok=True)
        for release in self.releases:
            for package in release.folder.glob("training-job-*.tgz"):
                for file in release.folder.glob(f"{package.name}*"):
                    shutil.copyfile(file, self.out / "charts" / file.name)
                with tarfile.open(package) as packed:
                    chart = packed.extractfile("training-job/Chart.yaml").read().decode()
                facts = "".join(f"    {line}\n" for line in chart.splitlines() if line and not line.startswith("#"))
                digest = hashlib.sha256(package.read_bytes()).hexdigest()
                added = f"    created: {stamp()}\n    digest: {digest}\n    urls: [{package.name}]\n"
                entries.append("  - " + facts[4:] + added)
        index = f"apiVersion: v1\ngenerated: {stamp()}\nentries:\n  training-job:\n{''.join(entries)}"
        (self.out / "charts/index.yaml").write_text(index, encoding="utf-8")

    def schemas(self):
        """Copies each schema to its `$id`, and to the places where editors and validators of other projects search."""
        catalog = []
        for file in sorted(SCHEMAS.glob("*.schema.json")):
            text = file.read_text(encoding="utf-8")
            schema = json.loads(text)
            path = schema["$id"].removeprefix(f"{HOMEPAGE}/")
            if path != f"schema/{file.name}":
                sys.exit(f"{file} has the $id {schema['$id']}, which is not an address in {HOMEPAGE}")
            (self.out / "schema").mkdir(exist_ok=True)
            (self.out / path).write_text(text, encoding="utf-8")
            if schema["title"] == "TrainingJob":
                group, version = schema["$defs"]["TrainingJob"]["properties"]["apiVersion"]["enum"][0].split("/")
                place = self.out / f"schema/crds/{group}/trainingjob_{version}.json"
                place.parent.mkdir(parents=True)
                # Validators in Go do not have this escape of JavaScript's patterns.
                place.write_text(re.sub(r"\\\\u00([0-9a-f]{2})", r"\\\\x\1", text), encoding="utf-8")
                names = ["*.khorovod.yaml", "*.khorovod.yml"]
                entry = {"name": "khorovod TrainingJob", "description": schema["description"], "fileMatch": names, "url": schema["$id"]}
                catalog.append(entry)
        store = {"$schema": "https://json.schemastore.org/schema-catalog.json", "version": 1, "schemas": catalog}
        (self.out / "schema/catalog.json").write_text(json.dumps(store, indent=2) + "\n", encoding="utf-8")

    def versions(self):
        """Writes the list of versions, for people and for programs."""
        items = "".join(
            f'<li>khorovod {version}{" (newest)" if version == self.newest.version else ""}: <a href="v{version}/index.html">documentation</a>, '
            f'<a href="packages/v{version}/index.html">packages</a></li>\n'
            for version in (release.version for release in self.releases)
        )
        self.write("versions.html", "Versions of khorovod", f"<ul>\n{items}</ul>\n")
        facts = {"newest": self.newest.version, "versions": [release.version for release in self.releases]}
        (self.out / "versions.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")

    def describe(self, path):
        """Adds to a page what search engines and social networks read, and links to the versions."""
        file = self.out / path
        text = file.read_text(encoding="utf-8")
        version, _, rest = path.as_posix().partition("/")
        version = version[1:] if re.match(r"v\d", version) else None
        newest = rest if version and (self.out / rest).exists() else path.as_posix()
        # mdBook writes the first page twice.
        newest = "index.html" if newest == "README.html" else newest
        title = html.unescape(re.search(r"<title>(.*?)</title>", text, re.S)[1]).strip()
        own = re.search(r'<meta\s+name="description"\s+content="([^"]*)"', text)
        about = html.unescape(own[1]) if own and html.unescape(own[1]) != ABOUT_BOOK else description(text)
        address = f"{HOMEPAGE}/{newest.removesuffix('index.html') if newest.endswith('index.html') else newest}"
        # The preview has an image of its own, beside it.
        image = dict(re.findall(r'<meta\s+property="og:(image[a-z:]*)"\s+content="([^"]*)"', text)) or SOCIAL
        image = {**image, "image": urljoin(address, image["image"])}
        quoted = {"title": html.escape(title), "description": html.escape(about)}
        tags = [
            f'<link rel="canonical" href="{html.escape(address)}">',
            f'<meta name="description" content="{quoted["description"]}">',
            '<meta property="og:type" content="website">',
            '<meta property="og:site_name" content="khorovod">',
            *(f'<meta property="og:{name}" content="{value}">' for name, value in quoted.items()),
            f'<meta property="og:url" content="{html.escape(address)}">',
            *(f'<meta property="og:{name}" content="{value}">' for name, value in image.items()),
            '<meta name="twitter:card" content="summary_large_image">',
        ]
        text = re.sub(r'\s*<meta\s+(name="(?:description|twitter:card)"|property="og:[a-z:]+")\s[^>]*?>', "", text)
        text = text.replace("</title>", "</title>\n" + "\n".join(tags), 1)
        up = "../" * path.as_posix().count("/")
        shown = version or self.newest.version
        link = f'<a href="{up}versions.html" title="Other versions" style="padding: 0 1rem; line-height: var(--menu-bar-height); color: var(--fg)">v{shown}</a>'
        text = text.replace('<div class="right-buttons">', f'<div class="right-buttons">\n{link}', 1)
        if version and version != self.newest.version:
            note = f'<p role="note">This page describes khorovod {version}. <a href="{up}{newest}">Read the newest version.</a></p>'
            text = text.replace("<main>", f"<main>\n{note}", 1)
        file.write_text(text, encoding="utf-8")

    def sitemap(self, pages):
        """Writes the list of pages for search engines, and mdBook's page for missing files with the path of the homepage."""
        day = stamp()[:10]
        places = [page.as_posix().removesuffix("index.html") if page.name == "index.html" else page.as_posix() for page in pages]
        urls = "".join(f"<url><loc>{html.escape(f'{HOMEPAGE}/{place}')}</loc><lastmod>{day}</lastmod></url>\n" for place in places)
        head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        (self.out / "sitemap.xml").write_text(f"{head}{urls}</urlset>\n", encoding="utf-8")
        (self.out / "robots.txt").write_text(f"User-agent: *\nAllow: /\nSitemap: {HOMEPAGE}/sitemap.xml\n", encoding="utf-8")
        missing = self.out / "404.html"
        missing.write_text(missing.read_text(encoding="utf-8").replace('<base href="/">', f'<base href="{self.base}">'), encoding="utf-8")


def description(text):
    """Returns the first paragraph of a page, shortened to what search engines show; the project's summary for a page without text."""
    main = re.search(r"<main>(.*?)</main>", text, re.S)
    paragraphs = re.findall(r"<p>(.*?)</p>", main[1], re.S) if main else []
    plain = (" ".join(html.unescape(re.sub(r"<[^>]+>", "", paragraph)).split()) for paragraph in paragraphs)
    first = next((paragraph for paragraph in plain if len(paragraph) > 40), SUMMARY)
    return first if len(first) <= 160 else first[:159].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))


def main(command, *arguments):
    if command == "pack" and len(arguments) == 1:
        pack(*arguments)
    elif arguments:
        site = Site(command, [Release(folder) for folder in arguments])
        site.build()
        total = sum(path.stat().st_size for path in site.out.rglob("*") if path.is_file())
        print(f"{len(site.releases)} versions, {total:,} bytes in {command}")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
