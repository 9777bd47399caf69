#!/usr/bin/env python3
"""Prints a binary's bill of materials in SPDX 2.3: sbom.py TRIPLE. It has every linked crate with its version, licence and hash.

It does not list dependencies of tests and of the build. The same Cargo.lock gives the same bytes.
"""

import hashlib
import json
import re
import sys
import time

from crates import reached
from project import HOMEPAGE, ROOT, VERSION, epoch


def linked(triple):
    """Returns the id of the binary's package, the ids of all linked packages, their dependencies, and all packages."""
    # Procedural macros run in the compiler and are not linked.
    macro = lambda package: any("proc-macro" in target["kind"] for target in package["targets"])  # noqa: E731
    root, edges, packages = reached(["--filter-platform", triple], lambda package, kinds: None in kinds and not macro(package))
    found = sorted({root, *(there for _, there in edges)}, key=lambda id: (packages[id]["name"], packages[id]["version"]))
    return root, found, edges, packages


def main(triple):
    root, found, edges, packages = linked(triple)
    lock = (ROOT / "Cargo.lock").read_text()
    stanzas = re.findall(r'name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"', lock)
    sums = {(name, number): digest for name, number, digest in stanzas}

    def ref(id):
        return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{packages[id]['name']}-{packages[id]['version']}")

    def entry(id):
        package = packages[id]
        purl = f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"
        licence = (package["license"] or "NOASSERTION").replace("/", " OR ")
        digest = sums.get((package["name"], package["version"]))
        return {
            "SPDXID": ref(id),
            "name": package["name"],
            "versionInfo": package["version"],
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            "licenseDeclared": licence,
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
            **({"checksums": [{"algorithm": "SHA256", "checksumValue": digest}]} if digest else {}),
        }

    entries = [entry(id) for id in found]
    digest = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", ref(root))] + [(ref(a), "DEPENDS_ON", ref(b)) for a, b in sorted(edges)]
    print(json.dumps({
        "spdxVersion": "SPDX-2.3",
        "SPDXID": "SPDXRef-DOCUMENT",
        "dataLicense": "CC0-1.0",
        "name": f"khorovod-{VERSION}-{triple}",
        "documentNamespace": f"{HOMEPAGE}/spdx/{VERSION}/{triple}/{digest}",
        "creationInfo": {"created": created, "creators": ["Tool: khorovod-dist-sbom"]},
        "packages": entries,
        "relationships": [dict(zip(("spdxElementId", "relationshipType", "relatedSpdxElement"), relation)) for relation in relations],
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
