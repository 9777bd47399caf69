#!/usr/bin/env python3
"""Builds the book into target/book/html, with the `mdbook` in PATH.

mdBook reads target/book/src, a copy of the pages in docs/SUMMARY.md and of all files they link to. The copy has the folders of
the repository, so each link works on GitHub, in a checkout and in the book. For a linked folder, the book has a page that
lists its files. Links to other Markdown files, which only contributors need, lead to the repository. If the preview page is built, the book contains it: docs/preview.md shows it, and other pages show pictures of examples.
"""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

from links import ADDRESS, LINK, links, relative

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "target/book/src"
SUMMARY = ROOT / "docs/SUMMARY.md"
PREVIEW = ROOT / "web/dist"
LIVE = """
<p><a href="../web/dist/index.html">Open it in a separate window.</a></p>
<iframe src="../web/dist/index.html" title="The preview" style="width: 100%; height: 80vh; border: 1px solid"></iframe>
"""
# A picture of an example: `<!-- picture: elastic -->`.
PICTURE = re.compile(r"^<!-- picture: (\S+) -->\n", re.M)
ELEMENT = """
<script type="module" src="../web/dist/khorovod-preview.js"></script>
<khorovod-preview spec="../examples/{name}/job.yaml" view="picture"></khorovod-preview>
"""


def tracked(folder):
    """Returns the files in a folder that git tracks or does not ignore."""
    command = ["git", "-C", folder, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "."]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(Path(name) for name in names if name and (folder / name).is_file())


def put(path, text):
    """Writes a file of the repository to the copy: with this text, or unchanged if the text is None."""
    target = SOURCE / path.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        shutil.copyfile(path, target)
    else:
        target.write_text(text)


def put_folder(folder, chapters):
    """Copies a folder's files and writes a page that lists them. A file that is a chapter is listed with the chapter's page."""
    files = tracked(folder)
    for file in files:
        if folder / file not in chapters:
            put(folder / file, None)
    name = html.escape(str(folder.relative_to(ROOT)))
    places = {file: file.with_suffix(".html") if folder / file in chapters else file for file in files}
    items = "".join(f'<li><a href="{html.escape(str(place))}">{html.escape(str(file))}</a></li>\n' for file, place in places.items())
    style = "<style>:root { color-scheme: light dark; background: Canvas; color: CanvasText } body { font: 16px/1.6 sans-serif; margin: 2em auto; padding: 0 1em; max-width: 50em; overflow-wrap: anywhere }</style>"
    metas = f'<meta name="viewport" content="width=device-width"><meta name="description" content="The files in {name} of khorovod\'s repository">'
    page = f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">{metas}<title>{name}</title>{style}</head>\n'
    put(folder / "index.html", f"{page}<body><main>\n<h1>{name}</h1>\n<ul>\n{items}</ul>\n</main></body></html>\n")


def targets(page):
    """Returns the files and folders that a page links to."""
    return [target for _, target, _ in links(page)]


def outward(text, page, chapters):
    """Returns the text of a page in which links to Markdown files that are not in the book lead to the repository."""
    for link, target, anchor in links(page):
        if target.suffix == ".md" and target not in chapters:
            place = f"{ADDRESS}{target.relative_to(ROOT)}"
            text = text.replace(f"]({link})", f"]({place}#{anchor})" if anchor else f"]({place})")
    return text


def folders(text, page):
    """Returns the text of a page in which links to folders lead to their pages. Not every server adds the slash to their address."""
    for link, target, anchor in links(page):
        if target.is_dir() and not anchor:
            text = text.replace(f"]({link})", f"]({link.rstrip('/')}/index.html)")
    return text


def pages():
    """Returns the pages in SUMMARY.md, in order."""
    return list(dict.fromkeys(targets(SUMMARY)))


def stage():
    """Writes the files that mdBook reads. Returns a list of errors."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    chapters = pages()
    unlisted = [page for page in ROOT.glob("docs/**/*.md") if page not in chapters and page != SUMMARY]
    wrong = [f"{page.relative_to(ROOT)} is not in docs/SUMMARY.md" for page in unlisted]
    summary = LINK.sub(lambda link: f"]({(SUMMARY.parent / link[1]).resolve().relative_to(ROOT)})", SUMMARY.read_text())
    (SOURCE / "SUMMARY.md").write_text(summary)
    live = (PREVIEW / "index.html").exists()
    for page in chapters:
        text = folders(outward(relative(page.read_text(), page), page, chapters), page)
        text = text.replace("<!-- live -->\n", LIVE if live else "")
        put(page, PICTURE.sub(lambda found: ELEMENT.format(name=found[1]) if live else "", text))
        for target in set(targets(page)) - {page, *chapters}:
            if target.is_dir():
                put_folder(target, chapters)
            elif target.suffix != ".md":
                put(target, None)
    if live:
        shutil.copytree(PREVIEW, SOURCE / PREVIEW.relative_to(ROOT))
    return wrong


def main():
    wrong = stage()
    if wrong:
        sys.exit("\n".join(wrong))
    # mdBook does not delete the files of an earlier build.
    shutil.rmtree(ROOT / "target/book/html", ignore_errors=True)
    subprocess.run(["mdbook", "build", ROOT / "book"], check=True)
    print(f"{len(pages())} pages in target/book/html, {'with' if (PREVIEW / 'index.html').exists() else 'without'} the preview")


if __name__ == "__main__":
    main()
