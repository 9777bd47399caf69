#!/usr/bin/env python3
"""Writes the extension for VS Code, khorovod-VERSION.vsix, into a folder: vscode.py OUT

Contains editor/vscode, the schema, and the compiler as the WebAssembly module that web/build.sh has written into web/pkg. A VSIX is a zip
with two manifests; VS Code's own packer would write the times of files into it.
"""

import json
import sys
from pathlib import Path
from xml.sax.saxutils import quoteattr

import archive
from project import HOMEPAGE, REPOSITORY, ROOT, VERSION

FOLDER = ROOT / "editor/vscode"
COMPILER = ROOT / "web/pkg"
SCHEMA = ROOT / "schema/training-job.v1alpha1.schema.json"

TYPES = """\
<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
{}</Types>
"""
KINDS = {"json": "application/json", "js": "application/javascript", "mjs": "application/javascript", "wasm": "application/wasm"}
KINDS |= {"md": "text/markdown", "txt": "text/plain", "png": "image/png", "vsixmanifest": "text/xml"}

MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{display}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Tags>{tags}</Tags>
    <Categories>{categories}</Categories>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/icon.png</Icon>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
      <Property Id="Microsoft.VisualStudio.Services.Links.Source" Value={repository}/>
      <Property Id="Microsoft.VisualStudio.Services.Links.Learn" Value={homepage}/>
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/icon.png" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def files():
    """Returns the files of the extension, and its manifest."""
    facts = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    facts |= {"version": VERSION, "homepage": HOMEPAGE, "repository": {"type": "git", "url": f"{REPOSITORY}.git"}, "icon": "icon.png"}
    found = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.is_file()}
    found["package.json"] = (json.dumps(facts, indent=2) + "\n").encode()
    found["LICENSE.txt"] = b"".join((ROOT / f"LICENSE-{name}").read_bytes() for name in ("MIT", "APACHE"))
    found[f"schema/{SCHEMA.name}"] = SCHEMA.read_bytes()
    for part in ("khorovod_web.js", "khorovod_web_bg.wasm"):
        if not (COMPILER / part).exists():
            sys.exit(f"web/pkg has no {part}: run make web")
        # The extension is a CommonJS module, so an ES module in it needs this suffix.
        found[f"compiler/{part.replace('.js', '.mjs')}"] = (COMPILER / part).read_bytes()
    return found, facts


def manifest(facts):
    """Returns the manifest that VS Code and its marketplace read."""
    attributes = {"name": facts["name"], "version": VERSION, "publisher": facts["publisher"], "engine": facts["engines"]["vscode"]}
    attributes |= {"repository": REPOSITORY, "homepage": HOMEPAGE}
    texts = {"display": facts["displayName"], "description": facts["description"]}
    texts |= {"tags": ",".join(facts["keywords"]), "categories": ",".join(facts["categories"])}
    return MANIFEST.format(**{name: quoteattr(value) for name, value in attributes.items()}, **texts)


def main(out):
    found, facts = files()
    kinds = "".join(f'  <Default Extension=".{suffix}" ContentType="{kind}"/>\n' for suffix, kind in KINDS.items())
    entries = {f"extension/{name}": (content, 0o644) for name, content in found.items()}
    entries["extension.vsixmanifest"] = (manifest(facts).encode(), 0o644)
    entries["[Content_Types].xml"] = (TYPES.format(kinds).encode(), 0o644)
    Path(out).mkdir(parents=True, exist_ok=True)
    (Path(out) / f"khorovod-{VERSION}.vsix").write_bytes(archive.zipped(entries))


if __name__ == "__main__":
    main(*sys.argv[1:])
