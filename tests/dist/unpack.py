#!/usr/bin/env python3
"""Unpacks an OCI archive like a container runtime on this machine: unpack.py ARCHIVE FOLDER. Checks that each blob has the hash in its name.

FOLDER/root is the root file system, FOLDER/entrypoint the entrypoint of the image.
"""

import gzip
import hashlib
import json
import platform
import subprocess
import sys
import tarfile
from pathlib import Path


def main(archive, folder):
    folder = Path(folder)
    with tarfile.open(archive) as outer:
        files = {entry.name: outer.extractfile(entry).read() for entry in outer if entry.isfile()}
    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}

    def blob(descriptor):
        content = files["blobs/" + descriptor["digest"].replace(":", "/")]
        assert hashlib.sha256(content).hexdigest() == descriptor["digest"].partition(":")[2]
        assert len(content) == descriptor["size"]
        return content

    (entry,) = json.loads(files["index.json"])["manifests"]
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    (image,) = [one for one in json.loads(blob(entry))["manifests"] if one["platform"]["architecture"] == architecture]
    manifest = json.loads(blob(image))
    config = json.loads(blob(manifest["config"]))
    root = folder / "root"
    root.mkdir(parents=True)
    root.chmod(0o755)
    for descriptor, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        layer = gzip.decompress(blob(descriptor))
        assert "sha256:" + hashlib.sha256(layer).hexdigest() == diff
        subprocess.run(["tar", "-xf", "-", "-C", root], input=layer, check=True)
    assert config["config"]["User"] == "65532:65532"
    (folder / "entrypoint").write_text(" ".join(config["config"]["Entrypoint"]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
