#!/usr/bin/env python3
"""Writes a container image as an OCI archive, without a builder: image.py BINARY VERSION ARCHITECTURE OUT.

The image has one layer with only the binary. It runs as an unprivileged user and reads standard input.
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import time
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])


def tar(files):
    """A reproducible tar archive of (name, bytes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, (content, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, EPOCH
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def main(binary, version, architecture, out):
    blobs = {}

    def blob(content, kind, **more):
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = (content, 0o644)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content), **more}

    def document(content):
        return json.dumps(content, sort_keys=True).encode()

    layer = tar({"khorovod": (Path(binary).read_bytes(), 0o755)})
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    labels = {
        "org.opencontainers.image.title": "khorovod",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
    }
    config = {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": {"Entrypoint": ["/khorovod"], "User": "65532:65532", "WorkingDir": "/", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": created, "created_by": "dist/image.py"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob(document(config), "config.v1+json"),
        "layers": [blob(gzip.compress(layer, 9, mtime=0), "layer.v1.tar+gzip")],
    }
    platform = {"architecture": architecture, "os": "linux"}
    name = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"docker.io/library/khorovod:{version}"}
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [blob(document(manifest), "manifest.v1+json", platform=platform, annotations=name)],
    }
    files = {"oci-layout": (document({"imageLayoutVersion": "1.0.0"}), 0o644), "index.json": (document(index), 0o644)}
    Path(out).write_bytes(tar(files | dict(sorted(blobs.items()))))


if __name__ == "__main__":
    main(*sys.argv[1:])
