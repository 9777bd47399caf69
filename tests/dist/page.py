#!/usr/bin/env python3
"""Runs each block of docs/install.md on a temporary copy of this system: page.py VERSION MACHINE, as root.

The copy is an overlay on /, in its own mount namespace. `dist` in the working folder is KHOROVOD_DIST. The programs in PROGRAMS
are in PATH, and so is krew's folder of plugins, as krew requires.
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
# Removes an installed khorovod, which would hide errors.
rm -f "$copy/root/usr/local/bin/khorovod" "$copy/root/usr/bin/khorovod"
cp "$PROGRAMS"/* "$copy/root/usr/local/bin/"
# podman gets an empty store, because existing images would hide errors and its layers cannot be on an overlay. Its limit of open
# files must not exceed that of this system.
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
        # The page has the file names of one architecture.
        text = block.text
        if machine == "aarch64":
            text = text.replace("x86_64", machine).replace("amd64", "arm64").replace("x64", "arm64")
        command = ["unshare", "--mount", "bash", "-c", COPY, "copy", text]
        done = subprocess.run(command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode or f"khorovod {version}\n" not in done.stdout:
            sys.exit(f"{block}: ends with {done.returncode}\n{done.stdout}")
        ran += 1
    assert ran >= 6, "docs/install.md has no blocks to run"
    print(f"{ran} blocks of docs/install.md, each on a copy of this system")


if __name__ == "__main__":
    main(*sys.argv[1:])
