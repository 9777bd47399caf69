#!/usr/bin/env python3
"""Does what docs/install.md says: each of its blocks on a copy of this system that is thrown away. page.py VERSION MACHINE, as root.

The copy is an overlay over /, in a mount namespace of its own; `dist` in the reader's folder is KHOROVOD_DIST, and what is in
PROGRAMS is in PATH, where krew's plugins are too, as krew asks for.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/blocks"))
from blocks import blocks  # noqa: E402

COPY = r"""
set -euo pipefail
copy=$(mktemp -d)
mount -t tmpfs copy "$copy"
mkdir "$copy"/{upper,work,root}
mount -t overlay overlay -o lowerdir=/,upperdir="$copy/upper",workdir="$copy/work" "$copy/root"
mount --rbind /dev "$copy/root/dev"
mount --rbind /sys "$copy/root/sys"
mount -t proc proc "$copy/root/proc"
mkdir -p "$copy/root/desk/dist"
mount --bind "$KHOROVOD_DIST" "$copy/root/desk/dist"
# A program of that name that is here already would prove nothing.
rm -f "$copy/root/usr/local/bin/khorovod" "$copy/root/usr/bin/khorovod"
cp "$PROGRAMS"/* "$copy/root/usr/local/bin/"
# What podman has here already would prove nothing, and its layers cannot lie on an overlay; it asks for no more open files
# than there may be here.
for store in var/lib/containers run/containers; do
    mkdir -p "$copy/root/$store"
    mount -t tmpfs store "$copy/root/$store"
done
printf '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n' >"$copy/root/etc/containers/containers.conf"
exec chroot "$copy/root" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
    PATH=/root/.krew/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -euo pipefail -c "cd /desk; $1"
"""


def main(version, machine):
    ran = 0
    for block in blocks(ROOT / "docs/install.md"):
        if not block.mark or block.mark["by"] != "dist":
            continue
        # The page names the files of one processor.
        text = block.text.replace("x86_64", machine).replace("amd64", {"aarch64": "arm64"}.get(machine, "amd64"))
        command = ["unshare", "--mount", "bash", "-c", COPY, "copy", text]
        done = subprocess.run(command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode or f"khorovod {version}\n" not in done.stdout:
            sys.exit(f"{block}: ends with {done.returncode}\n{done.stdout}")
        ran += 1
    assert ran >= 4, "docs/install.md has no blocks to run"
    print(f"{ran} blocks of docs/install.md, each on a copy of this system")


if __name__ == "__main__":
    main(*sys.argv[1:])
