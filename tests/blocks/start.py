#!/usr/bin/env python3
"""Types what docs/start.md says, and looks at what comes back: start.py BINARY image|page.

`image` runs the block that builds the image, where there is a network; `page` all of them, in a cluster. khorovod, kubectl
and the stand-ins of laptop/ for docker and kind are in PATH; the home is empty.
"""

import os
import sys
import tempfile
from pathlib import Path

from blocks import ROOT, blocks, run


def main(binary, what):
    page = [block for block in blocks(ROOT / "docs/start.md") if block.mark and block.mark["by"] == "start"]
    assert len(page) >= 10, "docs/start.md has lost its blocks"
    if what == "image":
        page = [block for block in page if "docker build" in block.text]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        programs = folder / ".bin"
        programs.mkdir()
        (programs / "khorovod").symlink_to(Path(binary).resolve())
        for stand_in in (ROOT / "tests/blocks/laptop").iterdir():
            (programs / stand_in.name).symlink_to(stand_in)
        kept = ("BUILT", "KUBECONFIG", "TMPDIR", "XDG_RUNTIME_DIR", "http_proxy", "https_proxy", "no_proxy")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        # buildah keeps its images in the home of who builds.
        home = os.environ["HOME"] if what == "image" else str(folder)
        environment |= {"HOME": home, "LC_ALL": "C.UTF-8", "PATH": f"{programs}:{os.environ.get('BIN', '')}:{os.environ['PATH']}"}
        for block in page:
            wrong = run(block, folder, environment, limit=600)
            if wrong:
                sys.exit(wrong)
            print(f"ok: {block}", flush=True)
    print(f"docs/start.md: {len(page)} blocks, line by line")


if __name__ == "__main__":
    main(*sys.argv[1:])
