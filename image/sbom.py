#!/usr/bin/env python3
"""Prints the image's bill of materials in SPDX 2.3: every Debian and Python package with its version and hash.

Runs in the image while it is built, from what dpkg and pip left there; anyone may run it again and compare.
"""

import hashlib
import json
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path


def debian():
    """Yields the Debian packages; with the hash of the .deb, if the mirror has it."""
    listed = Path("/usr/share/khorovod/debian.txt")
    sums = {}
    for line in listed.read_text().splitlines() if listed.exists() else []:
        if not line.startswith("#"):
            name, version, digest = line.split()
            sums[name, version] = digest
    form = "${Package}\t${Version}\t${Architecture}\t${Maintainer}\n"
    for line in subprocess.run(["dpkg-query", "-W", "-f", form], check=True, capture_output=True, text=True).stdout.splitlines():
        name, version, architecture, maintainer = line.split("\t")
        entry = package("deb", name, version, f"pkg:deb/debian/{name}@{version.replace(':', '%3A').replace('+', '%2B')}?arch={architecture}")
        entry["supplier"] = f"Organization: {maintainer}"
        if (name, version) in sums:
            entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sums[name, version]}]
        yield entry


def python():
    """Yields the packages that pip installed; Debian's Python packages are Debian packages."""
    for found in metadata.distributions(path=[f"/usr/local/lib/python{platform.python_version().rsplit('.', 1)[0]}/dist-packages"]):
        name, version = re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower(), found.version
        entry = package("pypi", name, version, f"pkg:pypi/{name}@{version.replace('+', '%2B')}")
        licence = found.metadata.get("License-Expression")
        if licence:
            entry["licenseDeclared"] = licence
        yield entry


def package(kind, name, version, purl):
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{name}-{version}"),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
    }


packages = sorted([*debian(), *python()], key=lambda entry: entry["SPDXID"])
# The same contents give the same document: its name is a hash of them, and its date does not depend on the build.
digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
document = {
    "spdxVersion": "SPDX-2.3",
    "dataLicense": "CC0-1.0",
    "SPDXID": "SPDXRef-DOCUMENT",
    "name": "khorovod-worker",
    "documentNamespace": f"https://khorovod.dev/sbom/{digest}",
    "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: khorovod-sbom"]},
    "packages": packages,
    "relationships": [
        {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": entry["SPDXID"]}
        for entry in packages
    ],
}
print(json.dumps(document, indent=1))
