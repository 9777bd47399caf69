#!/usr/bin/env python3
"""Checks the docs: links and headings exist, and marked blocks have the text of the examples.

`<!-- example: NAME -->` before a block: the block is examples/NAME/job.yaml without its first comment.
`<!-- excerpt: NAME -->` before a block: its parts, separated by lines with `…`, are in examples/NAME/objects.yaml in
this order; `<run>` stands for the name of the run.
`<!-- file: PATH -->` before a block: the block is that file without its first comments.
Each shell block is run by a test, or has a reason why not: tests/blocks/blocks.py.
Each command of tests/migration/NAME.txt has a row in the table "What you typed" of docs/from-NAME.md.
`PATH::NAME` in a page names a test, or a function of a test: the file must contain it.
docs/threat-model.md lists the permissions of the pods' token, as the examples are rendered.
The Role in docs/teams.md lets users create each kind of object that an example renders.
docs/supply-chain.md has a reason for each direct dependency, and only for those.
Each page of docs/ has the sections that its kind needs (KINDS), and is in docs/SUMMARY.md and docs/index.md.
The address of the project is in Cargo.toml only.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/blocks"), str(ROOT / "book"), str(ROOT / "dist")]
from blocks import pages as shell_pages, unmarked  # noqa: E402
from typed import missing as missing_commands  # noqa: E402
from links import links, prose  # noqa: E402
from project import copies  # noqa: E402

BLOCK = re.compile(r"^<!-- (example|excerpt|file): (\S+) -->\n```\w+\n(.*?)^```$", re.M | re.S)
SHOWN_BY = re.compile(r"`((?:src|tests|fuzz|web|bench)/[\w./-]+)::(\w[^`]*)`")
HEADING = re.compile(r"^#+ (.*)$", re.M)


# The kinds of the pages in docs/. Each page has a first paragraph that describes its purpose, what the reader needs before, and
# what to read next. A guide also has steps and the output that they print.
KINDS = {
    "guide": """choosing ci debugging elastic from-elastic-horovod from-ffdl from-jobset from-kubeflow-openmpi from-mpijob
        from-pytorchjob from-slurm from-stable-horovod from-tfjob from-trainjob gitops gpu-cluster gpus helm images install kustomize launchers library many-nodes monitoring policies preflight preview production python
        release reviewing running scanners scheduling security spec start storage targets teams tools tuning upgrading""",
    "concept": "failures runtime supply-chain threat-model",
    "reference": "commands compatibility faq fields glossary index problems reference surface",
}
BEFORE, NEXT, STEPS, OUTPUT = "## Before you start", "## What next", "a block with a step", "a block with output"
NEEDS = {"guide": [BEFORE, STEPS, OUTPUT, NEXT], "concept": [BEFORE, NEXT], "reference": [BEFORE, NEXT]}
# Sections that a page does not need, with the reason.
WITHOUT = {
    ("commands", BEFORE): "generated; people look up one command, and its help names what it needs",
    ("commands", NEXT): "generated; its introduction links to the overview and the reference",
    ("fields", BEFORE): "generated; people look up one field",
    ("fields", NEXT): "generated; its introduction links to the guide by task",
    ("problems", BEFORE): "generated; people look up one problem",
    ("problems", NEXT): "generated; each entry has its own fix",
    ("surface", BEFORE): "generated; people search for a name",
    ("surface", NEXT): "generated; its introduction links to the pages with the whole text",
    ("faq", BEFORE): "each answer can be read by itself",
    ("index", BEFORE): "the first page: it links to the installation and the tutorial",
}
FENCE = re.compile(r"^( *)```(\w*)\n.*?^\1```$", re.M | re.S)
# A block of the language `console` has both: a command and its output.
STEP_LANGUAGES, OUTPUT_LANGUAGES = {"sh", "yaml", "toml", "python", "console"}, {"", "text", "console"}
STEP = re.compile(r"^\d+\. ", re.M)
# Output that is not in a block of its own: an imported job, or a section in words.
SHOWN = re.compile(r"^<!-- file: \S+\.job\.yaml -->$|^## Expected output$", re.M)
PURPOSE = re.compile(r"\A# .+\n\n(<!-- .* -->\n\n)?[A-Za-z*`\[].{20,}")


def anchors(page):
    """The anchors that GitHub creates for a page's headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose(page))}


def broken_links(page):
    """The errors in a page's links to files and headings."""
    for link, target, anchor in links(page):
        if not target.exists():
            yield f"{link}: no such file"
        elif anchor and anchor not in anchors(target):
            yield f"{link}: no such heading"


def missing_sections(page, text):
    """The sections that a page of docs/ lacks, and exceptions that it no longer needs."""
    kinds = [kind for kind, names in KINDS.items() if page in names.split()]
    if len(kinds) != 1:
        yield "is in no kind of KINDS in tests/docs.py: add its name" if not kinds else f"is in {len(kinds)} kinds of KINDS in tests/docs.py"
        return
    languages = {language for _, language in FENCE.findall(text)}
    has = {
        BEFORE: f"\n{BEFORE}\n" in text,
        NEXT: bool(re.search(rf"^{NEXT}\n\n(?!#)\S", text, re.M)) and text.rindex("\n## ") == text.index(f"\n{NEXT}\n"),
        STEPS: bool(languages & STEP_LANGUAGES or STEP.search(text)),
        OUTPUT: bool(languages & OUTPUT_LANGUAGES or SHOWN.search(text)),
    }
    if not PURPOSE.match(text):
        yield "no first paragraph that describes the purpose"
    if page != "compatibility" and "\n## What was tested" in text:
        yield "what was tested belongs to docs/compatibility.md"
    for section in NEEDS[kinds[0]]:
        if has[section] and (page, section) in WITHOUT:
            yield f"has {section}: remove the exception from tests/docs.py"
        elif not has[section] and (page, section) not in WITHOUT:
            yield f"a {kinds[0]} without {section}" + (", as the last section" if section == NEXT else "")


def stale_kinds(pages):
    """Names in the tables of sections that are not pages."""
    named = {name for names in KINDS.values() for name in names.split()} | {page for page, _ in WITHOUT}
    yield from (f"tests/docs.py: there is no page {name}" for name in sorted(named - pages))


def missing_tests(page):
    """The tests that a page names but that do not exist."""
    for path, name in SHOWN_BY.findall(prose(page)):
        text = (ROOT / path).read_text() if (ROOT / path).is_file() else ""
        defines = re.escape(name) + r"\(|test\([\"']" + re.escape(name) + r"[\"']"
        if not re.search(rf"^\s*((async )?fn |def )?({defines})", text, re.M):
            yield f"{path} has no {name}"


def unexplained():
    """Dependencies without a reason in docs/supply-chain.md, and reasons without a dependency."""
    page = (ROOT / "docs" / "supply-chain.md").read_text()
    rows = re.findall(r"^\| (`[^|]+`) \|", page, re.M)
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    manifests = [tomllib.loads(path.read_text()) for path in sorted(ROOT.glob("**/Cargo.toml")) if "target" not in path.parts]
    used = set()
    for manifest in manifests:
        for part in [manifest, *manifest.get("target", {}).values()]:
            for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
                used |= set(part.get(kind, {}))
    web = json.loads((ROOT / "web" / "package.json").read_text())
    used |= {*web["dependencies"], *web["devDependencies"]}
    used = {name for name in used if not name.startswith("khorovod")}
    yield from (f"docs/supply-chain.md: no reason for {name}" for name in sorted(used - named))
    yield from (f"docs/supply-chain.md: {name} is not a dependency" for name in sorted(named - used))


def token_permissions():
    """Permissions of the pods' token that docs/threat-model.md lists but no example renders, and the reverse."""
    rendered = set()
    for path in ROOT.glob("examples/*/objects.yaml"):
        objects = path.read_text().split("\n---\n")
        of = lambda kind: [text for text in objects if re.search(rf"^kind: {kind}$", text, re.M)]  # noqa: E731
        rules = [rule for role in of("Role") for rule in re.split(r"^- apiGroups:$", role.partition("\nrules:\n")[2], flags=re.M)[1:]]
        shape = "torchrun, jax and tensorflow"
        if of("StatefulSet"):
            shape = "StatefulSet"
        elif re.search("^  - endpoints$", "".join(rules), re.M):
            shape = "Indexed Job"
        has_token = any("automountServiceAccountToken: true\n" in text for kind in ("StatefulSet", "Job") for text in of(kind))
        if has_token != bool(rules):
            yield f"docs/threat-model.md: the pods of {path.parent.name} have a token without a Role, or a Role without a token"
        for rule in rules:
            parts = re.fullmatch(r"(?s).*\n  resources:(.*)\n  resourceNames:(.*)\n  verbs:(.*)", rule)
            if not parts:
                yield f"docs/threat-model.md: a permission of {path.parent.name} does not name its object"
                continue
            resources, _, verbs = (re.findall(r"^  - (.*)$", part, re.M) for part in parts.groups())
            rendered |= {(shape, resource, ", ".join(f"`{verb}`" for verb in verbs)) for resource in resources}
    page = (ROOT / "docs" / "threat-model.md").read_text().partition("### Permissions of the token\n")[2]
    listed = set(re.findall(r"^\| ([^|`\[]+) \| `([^|]+)` \| ([^|]+) \|$", page.partition("\nEach permission")[0], re.M))
    yield from (f"docs/threat-model.md does not list the permission {' '.join(row)}" for row in sorted(rendered - listed))
    yield from (f"docs/threat-model.md lists a permission that no example has: {' '.join(row)}" for row in sorted(listed - rendered))


# Objects that belong to no namespace.
CLUSTER_WIDE = {"persistentvolumes", "clusterroles", "clusterrolebindings"}


def role_of_users():
    """Kinds that examples render, but that the Role of docs/teams.md does not let a user create."""
    page = (ROOT / "docs/teams.md").read_text()
    allowed = set()
    for groups, resources, verbs in re.findall(r"^- \{apiGroups: \[(.*)\], resources: \[(.*)\], verbs: \[(.*)\]\}$", page, re.M):
        if {"create", "patch", "delete"} <= set(verbs.split(", ")):
            allowed |= {(group.strip('"'), resource) for group in groups.split(", ") for resource in resources.split(", ")}
    rendered = set()
    for path in ROOT.glob("examples/*/objects.yaml"):
        for version, kind in re.findall(r"^apiVersion: (\S+)\nkind: (\S+)$", path.read_text(), re.M):
            plural = re.sub("y$", "ie", kind.lower()) + "s"
            rendered.add((version.rpartition("/")[0], plural))
    needed = {(group, resource) for group, resource in rendered if resource not in CLUSTER_WIDE}
    yield from (f"docs/teams.md: the Role does not let users create {resource} of {group or 'v1'}" for group, resource in sorted(needed - allowed))
    if len(needed) < 10:
        yield f"docs/teams.md: the examples have only {len(needed)} kinds of objects"


def uncommented(path):
    """A file's text after its first comments; None if the file does not exist."""
    return re.sub(r"\A(#(?!!).*\n)+", "", path.read_text()) if path.exists() else None


def stale_blocks(page):
    """Marked blocks that differ from the example."""
    for kind, name, block in BLOCK.findall(page.read_text()):
        if kind == "file":
            if uncommented(ROOT / name) != block:
                yield f"the block is not {name}"
            continue
        folder = ROOT / "examples" / name
        if kind == "example":
            if uncommented(folder / "job.yaml") != block:
                yield f"the example {name} is not examples/{name}/job.yaml"
            continue
        objects = folder / "objects.yaml"
        rest = objects.read_text() if objects.exists() else ""
        for part in filter(None, re.split(r"^ *…\n", block, flags=re.M)):
            found = re.search("^" + re.escape(part).replace("<run>", "[a-z0-9]{6}"), rest, re.M)
            if not found:
                yield f"not in examples/{name}/objects.yaml, or not in this order:\n{part}"
                break
            rest = rest[found.end() :]


def main():
    globs = ("*.md", "docs/**/*.md", "examples/*.md", "bench/*.md", "fuzz/*.md", "image/*.md", "plugin/*.md", "charts/**/*.md")
    pages = sorted(page for glob in globs for page in ROOT.glob(glob))
    looks = (broken_links, stale_blocks, missing_tests)
    wrong = [f"{page.relative_to(ROOT)}: {why}" for page in pages for look in looks for why in look(page)]
    wrong += [f"{page.relative_to(ROOT)}: {why}" for page in shell_pages() for why in unmarked(page)]
    wrong += [*unexplained(), *token_permissions(), *role_of_users(), *missing_commands()]
    # mdBook's table of contents is a list of links.
    guides = {page.stem: page for page in sorted(ROOT.glob("docs/*.md")) if page.stem != "SUMMARY"}
    wrong += [f"docs/{name}.md: {why}" for name, page in guides.items() for why in missing_sections(name, page.read_text())]
    wrong += stale_kinds(set(guides))
    for listing in ("docs/SUMMARY.md", "docs/index.md"):
        listed = {target for _, target, _ in links(ROOT / listing)} | {ROOT / "docs/index.md"}
        wrong += [f"docs/{name}.md is not in {listing}" for name, page in guides.items() if page not in listed]
    wrong += [f"{file} repeats the address of Cargo.toml" for file in copies()]
    marked = sum(len(BLOCK.findall(page.read_text())) for page in pages)
    if (ROOT / "README.md").read_text().count("<!-- ex") < 2 or not marked:
        wrong.append("README.md: its example and excerpt are not marked")
    index = (ROOT / "examples/README.md").read_text()
    for example in sorted(ROOT.glob("examples/*/")):
        if f"({example.name}/job.yaml)" not in index:
            wrong.append(f"examples/README.md does not list {example.name}")
        text = (example / "job.yaml").read_text()
        if not re.match(r"# \S.{20,}", text):
            wrong.append(f"examples/{example.name}/job.yaml: the first line does not describe the example")
    print("\n".join([*wrong, f"{len(pages)} pages, {marked} marked blocks, {len(wrong)} problems"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
