#!/usr/bin/env python3
"""Runs blocks of docs/install.md, each on a temporary copy of this system: page.py MACHINE, as root.

The copy is an overlay on /, in its own mount namespace. `dist` in the working folder is KHOROVOD_DIST. The programs in PROGRAMS
are in PATH, and so is krew's folder of plugins, as krew requires. published.py runs the blocks that install a published release.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/blocks"), str(ROOT / "dist")]
from blocks import blocks  # noqa: E402
from project import VERSION  # noqa: E402

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
[[ -z ${KHOROVOD_DIST:-} ]] || mount --bind "$KHOROVOD_DIST" "$copy/root/desk/dist"
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
# The registry of a test has no TLS.
mkdir -p "$copy/root/etc/containers/registries.conf.d"
printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "${REGISTRY_ADDRESS:-localhost}" >"$copy/root/etc/containers/registries.conf.d/test.conf"
exec chroot "$copy/root" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
    PATH=/root/.krew/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${@:2}" bash -euo pipefail -c "cd /desk; $1"
"""


def run(page, when, machine, *variables):
    """Runs the blocks of a page that are marked with this part of the stage. Yields each, its exit status and its output. `variables` are
    environment variables, as NAME=VALUE."""
    for block in blocks(page):
        if not block.mark or block.mark["by"] != "dist" or block.mark["when"] != when:
            continue
        # The page has the file names of one architecture.
        text = block.text
        if machine == "aarch64":
            text = text.replace("x86_64", machine).replace("amd64", "arm64").replace("x64", "arm64")
        command = ["unshare", "--mount", "bash", "-c", COPY, "copy", text, *variables]
        done = subprocess.run(command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        yield block, done.returncode, done.stdout


def main(machine):
    ran = 0
    for block, code, printed in run(ROOT / "docs/install.md", None, machine):
        if code or f"khorovod {VERSION}\n" not in printed:
            sys.exit(f"{block}: ends with {code}\n{printed}")
        ran += 1
    assert ran >= 6, "docs/install.md has no blocks to run"
    print(f"{ran} blocks of docs/install.md, each on a copy of this system")


if __name__ == "__main__":
    main(*sys.argv[1:])
