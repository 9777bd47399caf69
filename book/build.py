#!/usr/bin/env python3
"""Builds the book into target/book/html, with the `mdbook` that is in PATH.

mdBook reads target/book/src, a copy of the repository as far as docs/SUMMARY.md and links lead: so a link means the same
on GitHub, in a checkout and in the book, and no page is changed. A folder that is linked gets a list of its files.
Where the preview page is built, it is in the book, and docs/preview.md shows it.
"""

import html
import shutil
import subprocess
import sys
from pathlib import Path

from links import LINK, links

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "target/book/src"
SUMMARY = ROOT / "docs/SUMMARY.md"
PREVIEW = ROOT / "web/dist"
LIVE = """
<p><a href="../web/dist/index.html">Open it in a window of its own.</a></p>
<iframe src="../web/dist/index.html" title="The preview" style="width: 100%; height: 80vh; border: 1px solid"></iframe>
"""


def tracked(folder):
    """What of a folder belongs to the project."""
    command = ["git", "-C", folder, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "."]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(Path(name) for name in names if name and (folder / name).is_file())


def put(path, text):
    target = SOURCE / path.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        shutil.copyfile(path, target)
    else:
        target.write_text(text)


def put_folder(folder, chapters):
    """A folder's files and, unless its README.md is a chapter, a page that lists them."""
    files = tracked(folder)
    for file in files:
        if folder / file not in chapters:
            put(folder / file, None)
    if folder / "README.md" in chapters:
        return
    name = html.escape(str(folder.relative_to(ROOT)))
    items = "".join(f'<li><a href="{html.escape(str(file))}">{html.escape(str(file))}</a></li>\n' for file in files)
    style = "<style>body { font: 16px/1.6 sans-serif; margin: 2em auto; max-width: 50em; color-scheme: light dark }</style>"
    page = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{name}</title>{style}\n'
    put(folder / "index.html", f"{page}<h1>{name}</h1>\n<ul>\n{items}</ul>\n</html>\n")


def targets(page):
    """The files and folders a page leads to."""
    return [target for _, target, _ in links(page)]


def pages():
    """What SUMMARY lists, in its order."""
    return list(dict.fromkeys(targets(SUMMARY)))


def stage():
    """Writes what mdBook reads. Answers with what is wrong."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    chapters = pages()
    unlisted = [page for page in ROOT.glob("docs/**/*.md") if page not in chapters and page != SUMMARY]
    wrong = [f"{page.relative_to(ROOT)} is not in docs/SUMMARY.md" for page in unlisted]
    summary = LINK.sub(lambda link: f"]({(SUMMARY.parent / link[1]).resolve().relative_to(ROOT)})", SUMMARY.read_text())
    (SOURCE / "SUMMARY.md").write_text(summary)
    live = (PREVIEW / "index.html").exists()
    for page in chapters:
        text = page.read_text()
        put(page, text.replace("<!-- live -->\n", LIVE if live else ""))
        for target in set(targets(page)) - {page, *chapters}:
            if target.suffix == ".md":
                wrong.append(f"{page.relative_to(ROOT)} leads to {target.relative_to(ROOT)}, which is not in docs/SUMMARY.md")
            elif target.is_dir():
                put_folder(target, chapters)
            else:
                put(target, None)
    if live:
        shutil.copytree(PREVIEW, SOURCE / PREVIEW.relative_to(ROOT))
    return wrong


def main():
    wrong = stage()
    if wrong:
        sys.exit("\n".join(wrong))
    # mdBook looks for nothing else in there, and would keep what an earlier build left.
    shutil.rmtree(ROOT / "target/book/html", ignore_errors=True)
    subprocess.run(["mdbook", "build", ROOT / "book"], check=True)
    print(f"{len(pages())} pages in target/book/html, {'with' if (PREVIEW / 'index.html').exists() else 'without'} the preview")


if __name__ == "__main__":
    main()
