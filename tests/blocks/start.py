#!/usr/bin/env python3
"""Runs the blocks of pages that need a cluster, such as docs/start.md, and checks their output: start.py BINARY image|pages.

`image` runs the block that builds the image, which needs a network; `pages` runs all blocks in a cluster, each page in its own
folder. khorovod, kubectl and the replacements for docker and kind in laptop/ are in PATH; the home folder is empty.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from blocks import ROOT, blocks, pages, path, run


def play(page, binary, what):
    """Runs the blocks of one page."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        programs = path(folder, binary, "laptop")
        if page[0].page.name != "start.md":
            shutil.copy(ROOT / "examples/smallest/job.yaml", folder)
        kept = ("BUILT", "KUBECONFIG", "TMPDIR", "XDG_RUNTIME_DIR", "http_proxy", "https_proxy", "no_proxy")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        # buildah stores its images in the home folder.
        home = os.environ["HOME"] if what == "image" else str(folder)
        environment |= {"HOME": home, "LC_ALL": "C.UTF-8", "PATH": f"{programs}:{os.environ.get('BIN', '')}:{os.environ['PATH']}"}
        for block in page:
            wrong = run(block, folder, environment, limit=600)
            if wrong:
                sys.exit(wrong)
            print(f"ok: {block}", flush=True)


def main(binary, what):
    ours = {page: [block for block in blocks(page) if block.mark and block.mark["by"] == "start"] for page in pages()}
    ours = {page: found for page, found in ours.items() if found}
    start = ours[ROOT / "docs/start.md"]
    assert len(start) >= 10, "docs/start.md has lost its blocks"
    if what == "image":
        return play([block for block in start if "docker build" in block.text], binary, what)
    for found in ours.values():
        play(found, binary, what)
    print(f"{len(ours)} pages, {sum(map(len, ours.values()))} blocks, line by line")


if __name__ == "__main__":
    main(*sys.argv[1:])
