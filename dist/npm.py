"""The packages for npm: `khorovod`, and one with the binary for each system, of which npm installs the one that fits."""

import json

from archive import tar_gz
from pack import readme
from project import HOMEPAGE, LICENSE, REPOSITORY, ROOT, SUMMARY, VERSION


def package(name, fields, files):
    """Returns a package as npm expects it, an archive with the folder `package`."""
    fields = {
        "name": name,
        "version": VERSION,
        "description": SUMMARY,
        "license": LICENSE,
        "homepage": HOMEPAGE,
        "repository": {"type": "git", "url": f"git+{REPOSITORY}.git"},
        **fields,
    }
    files = {
        **files,
        "package.json": ((json.dumps(fields, indent=2) + "\n").encode(), 0o644),
        "LICENSE-APACHE": ((ROOT / "LICENSE-APACHE").read_bytes(), 0o644),
        "LICENSE-MIT": ((ROOT / "LICENSE-MIT").read_bytes(), 0o644),
    }
    return tar_gz({f"package/{path}": file for path, file in files.items()})


def name(target):
    """The name of the package with the binary for a target."""
    return "-".join(("khorovod", *target.node))


def binary_package(target, binary):
    """Returns the package with the binary for a target."""
    system, processor = target.node
    text = f"The binary of [khorovod](https://www.npmjs.com/package/khorovod) for {system} on {processor}.\n"
    fields = {"os": [system], "cpu": [processor], "preferUnplugged": True}
    return package(name(target), fields, {f"bin/{target.program}": (binary, 0o755), "README.md": (text.encode(), 0o644)})


def main_package(targets):
    """Returns the package that users install."""
    fields = {
        "bin": {"khorovod": "bin/khorovod.js"},
        "engines": {"node": ">=18"},
        "keywords": ["kubernetes", "horovod", "mpi", "gpu", "training"],
        "optionalDependencies": {name(target): VERSION for target in targets},
    }
    launcher = (ROOT / "dist/npm/khorovod.js").read_bytes()
    return package("khorovod", fields, {"bin/khorovod.js": (launcher, 0o755), "README.md": (readme().encode(), 0o644)})
