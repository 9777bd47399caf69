"""A registry of OCI artifacts on a free port."""

import os
import re
import subprocess
import time
from pathlib import Path


class Registry:
    """A registry for the duration of a test."""

    def __init__(self, program, work):
        self.program, self.config = program, work / "registry.yaml"
        self.config.write_text(
            f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {work}/registry}}}}\n"
            "http: {addr: '127.0.0.1:0'}\n"
        )
        self.log = work / "registry.log"

    def __enter__(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen([self.program, "serve", self.config], stdout=log, stderr=log)
        for _ in range(200):
            for port in ports(self.process.pid):
                return f"127.0.0.1:{port}"
            time.sleep(0.1)
        raise RuntimeError(f"the registry does not listen: {self.log.read_text()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def ports(pid):
    """The ports on which a process listens."""
    links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()]
    sockets = {match.group(1) for link in links if (match := re.match(r"socket:\[(\d+)\]", link))}
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            yield int(fields[1].split(":")[1], 16)
