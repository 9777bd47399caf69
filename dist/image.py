#!/usr/bin/env python3
"""Writes a container image for several processors as an OCI archive, without a builder.

    image.py OUT ARCHITECTURE=BINARY...

The image has one layer with only the binary. It runs as an unprivileged user and reads standard input.
"""

import gzip
import hashlib
import json
import sys
import time
from pathlib import Path

from archive import tar
from project import HOMEPAGE, LICENSE, REPOSITORY, SUMMARY, VERSION, epoch

LABELS = {
    "org.opencontainers.image.title": "khorovod",
    "org.opencontainers.image.description": SUMMARY,
    "org.opencontainers.image.version": VERSION,
    "org.opencontainers.image.licenses": LICENSE,
    "org.opencontainers.image.url": HOMEPAGE,
    "org.opencontainers.image.source": REPOSITORY,
}


def document(content):
    return json.dumps(content, sort_keys=True).encode()


class Layout:
    """An OCI image layout in memory."""

    def __init__(self):
        self.blobs = {}

    def blob(self, content, kind, **more):
        """Adds a blob and returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[f"blobs/sha256/{digest}"] = (content, 0o644)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content), **more}

    def image(self, architecture, binary):
        """Adds the image for one processor and returns the descriptor of its manifest."""
        layer = tar({"khorovod": (Path(binary).read_bytes(), 0o755)})
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))
        platform = {"architecture": architecture, "os": "linux"}
        config = {
            **platform,
            "created": created,
            "config": {"Entrypoint": ["/khorovod"], "User": "65532:65532", "WorkingDir": "/", "Labels": LABELS},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
            "history": [{"created": created, "created_by": "dist/image.py"}],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self.blob(document(config), "config.v1+json"),
            "layers": [self.blob(gzip.compress(layer, 9, mtime=0), "layer.v1.tar+gzip")],
            "annotations": LABELS,
        }
        return self.blob(document(manifest), "manifest.v1+json", platform=platform)

    def archive(self, image):
        """Returns the archive whose only image is that of the descriptor."""
        names = {"org.opencontainers.image.ref.name": VERSION, "io.containerd.image.name": f"docker.io/library/khorovod:{VERSION}"}
        files = {
            "oci-layout": (document({"imageLayoutVersion": "1.0.0"}), 0o644),
            "index.json": (document(index([{**image, "annotations": names}])), 0o644),
        }
        return tar(files | dict(sorted(self.blobs.items())))


def index(manifests):
    return {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}


def main(out, *binaries):
    layout = Layout()
    images = [layout.image(*binary.split("=", 1)) for binary in binaries]
    both = {**index(images), "annotations": LABELS}
    Path(out).write_bytes(layout.archive(layout.blob(document(both), "index.v1+json")))


if __name__ == "__main__":
    main(*sys.argv[1:])
