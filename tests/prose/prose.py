#!/usr/bin/env python3
"""Checks the project's prose with Vale and the rules in styles/: `prose.py VALE [PATH...]`.

Prose is Markdown, comments, message strings, help texts and the text of the preview page. `paragraphs` finds it; each
paragraph becomes one line of a text file, so that a phrase is found across line breaks, and Vale checks those files.
A finding under a path in pending.txt is counted but does not fail the check.
"""

import doctest
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# Fixtures, and files that `make bless` writes from other files: the sources of their text are checked.
SKIPPED = re.compile(
    r"^tests/(problems|import|targets|launchers/pins)/.*(?<!\.rs)$|^tests/prose/examples\.txt$|/snapshots/"
    r"|^charts/training-job/examples/|^examples/.*/(objects\.yaml|plan\.txt)$|^fuzz/regressions/|^dist/python/khorovod/spec\.py$|^image/pins/|^web/src/wire/types\.ts$|package-lock\.json$|\.seed$|^LICENSE"
)

# One pattern per language: it consumes comments and strings, so that neither hides in the other. `text` is a string.
C_COMMENT = r"(?P<comment>//[^\n]*|/\*.*?\*/)"
LEXERS = {
    "rust": C_COMMENT
    + r"""|\bb?r(?P<hashes>\#*)"(?P<text>.*?)"(?P=hashes)|"(?P<text2>(?:\\.|[^"\\])*)"|'(?:\\[^\n]+?|[^'\\])'""",
    "typescript": C_COMMENT + r"""|"(?P<text>(?:\\.|[^"\\\n])*)"|'(?P<text2>(?:\\.|[^'\\\n])*)'|`(?P<text3>(?:\\.|[^`\\])*)`""",
    "python": r"""(?P<comment>\#[^\n]*)|\"\"\"(?P<text>.*?)\"\"\"|"(?P<text2>(?:\\.|[^"\\\n])*)"|'(?P<text3>(?:\\.|[^'\\\n])*)'""",
    "shell": r"""(?<![^\s;&|()])(?P<comment>\#[^\n]*)|<<-?(['"]?)(?P<end>\w+)\2[^\n]*\n(?P<text>.*?)\n\t*(?P=end)$"""
    r"""|"(?P<text2>(?:\\.|[^"\\])*)"|'(?P<text3>[^']*)'|\\.""",
    "hash": r"(?<![^\s])(?P<comment>\#[^\n]*)",
    "go": C_COMMENT + r'|"(?:\\.|[^"\\\n])*"',
}
LEXERS = {name: re.compile(pattern, re.S | re.M) for name, pattern in LEXERS.items()}
LANGUAGES = {
    ".rs": "rust",
    ".ts": "typescript",
    ".js": "typescript",
    ".mjs": "typescript",
    ".css": "typescript",
    ".py": "python",
    ".sh": "shell",
    ".go": "go",
    ".c": "go",
    ".yaml": "hash",
    ".yml": "hash",
    ".toml": "hash",
    "Makefile": "hash",
    "Dockerfile": "hash",
    ".md": "markdown",
    ".hbs": "hash",
    ".txt": "plain",
    ".tpl": "plain",
    ".html": "plain",
}
# The characters that begin a line of a comment or of a block comment.
MARK = re.compile(r"\s*(?:///?|//!|/\*\*?|\*/|\*(?= |$)|#+!?)?")
NEW_PARAGRAPH = re.compile(r"[-*+|>] |\||#+ |\d+\. ")
# Code and variables in a text, which become one word.
CODE = re.compile(r"(`+)(?!`)[^`]+?\1|\{\{.*?\}\}|\$?\{[^{}\n]*\}|\$\w+")
# The markup around words in Markdown, templates and HTML.
MARKUP = re.compile(
    r"<!--.*?-->|</?[a-zA-Z][^<>]*>|(?<=\])\([^()\s]*\)|(?<!\w)[\[*_]{1,2}|[\[\]*_]{1,2}(?!\w)|\\n|\\(?=\n|$)", re.S
)
STRINGS = ("text", "text2", "text3")


def language(path):
    """The language of a file by its name, or of a script by its first line; None if it has no prose."""
    found = LANGUAGES.get(path.name) or LANGUAGES.get(path.suffix)
    if found or path.suffix:
        return found
    with path.open("rb") as file:
        first = file.readline()
    return ("python" if b"python" in first else "shell") if first.startswith(b"#!") else None


def prose_lines(text, language, strings):
    """Yields (line number, text) for each line that has prose; an empty text ends a paragraph."""
    if language in ("markdown", "plain"):
        yield from enumerate(map(str.strip, text.split("\n")), 1)
        return
    for match in LEXERS[language].finditer(text):
        found = match.groupdict()
        comment = found["comment"]
        piece = comment or (strings and next((found[name] for name in STRINGS if found.get(name)), ""))
        # One word is a name, not a message.
        if not piece or not (comment or re.search(r"\w[^\w\s]* [^\w\s]*\w", piece)):
            continue
        number = text.count("\n", 0, match.start() + match[0].index(piece)) + 1
        if not comment:
            yield number, ""
        for number, line in enumerate(piece.split("\n"), number):
            yield number, MARK.sub("", line, count=1).strip() if comment else line.strip()
        if not comment:
            yield number, ""


def paragraphs(text, language, strings=True):
    r"""Yields each paragraph of prose in a file: the numbers of its lines, and its text with as many lines.

    >>> def show(*file): print(*paragraphs(*file), sep="\n")
    >>> show('/// A `b`\n/// c.\nlet d = "e f", g = "h";', "rust")
    ([1, 2], 'A XXX\nc.')
    ([3], 'e f')
    >>> show('let c = \'"\'; // "it\nlet s = r#"say "no" now"#;', "rust")
    ([1], '"it')
    ([2], 'say "no" now')
    >>> show('a # b "c\n"# d e"', "shell")
    ([1], 'b "c')
    ([2], '# d e')
    >>> show("cat <<EOF\nit's one\nEOF\necho 'is two'", "shell")
    ([2], "it's one")
    ([4], 'is two')
    >>> show('# A\n\nb\n```sh\nc\n```\n| d | e |\n- [f g](h)\n  *i*', "markdown")
    ([1], '# A')
    ([3], 'b')
    ([7], '| d | e |')
    ([8, 9], '- f g\ni')
    """
    numbers, lines, fenced = [], [], False
    for number, line in [*prose_lines(text, language, strings), (0, "")]:
        if lines and (not line or fenced or line.startswith("```") or NEW_PARAGRAPH.match(line) or number > numbers[-1] + 1):
            joined = CODE.sub(lambda code: re.sub(r"[^\n]", "X", code[0]), "\n".join(lines))
            yield numbers, MARKUP.sub(lambda markup: "\n" * markup[0].count("\n"), joined)
            numbers, lines = [], []
        if line.startswith("```"):
            fenced = not fenced
        elif line and not fenced:
            numbers.append(number)
            lines.append(line)


def sources():
    """Every file of the repository that has prose, with its language."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted(filter(None, names.split("\0"))):
        path = ROOT / name
        if not SKIPPED.search(name) and path.is_file() and (kind := language(path)):
            yield name, kind


def vale(program, files):
    """Checks files, each a list of lines by name; yields (name, index of the line, offset in it, message) for each finding."""
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in files.items():
            path = Path(folder, name + ".txt")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(lines) + "\n")
        command = [program, "--no-global", f"--config={HERE / '.vale.ini'}", "--output=JSON", "."]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if run.returncode > 1 or not run.stdout:
            sys.exit(f"vale failed:\n{run.stdout}{run.stderr}")
        for name, findings in json.loads(run.stdout).items():
            for finding in findings:
                yield name.removesuffix(".txt"), (finding["Line"] - 1) // 2, finding["Span"][0] - 1, finding["Message"]


def wrong_examples(program):
    """Yields the sentences in examples.txt that the rules should refuse but accept, or the other way round."""
    examples = [line.partition(": ") for line in (HERE / "examples.txt").read_text().splitlines() if line[:1] not in ("", "#")]
    refused = {index: message for _, index, _, message in vale(program, {"examples": [text for _, _, text in examples]})}
    for index, (verdict, _, text) in enumerate(examples):
        if (verdict == "bad") != (index in refused):
            yield f"tests/prose/examples.txt: {verdict}: {text}\n    {refused.get(index, 'no rule refuses it')}"


def main():
    program, *only = sys.argv[1:]
    if doctest.testmod().failed:
        return 1
    pending = [line for line in (HERE / "pending.txt").read_text().splitlines() if line and line[0] != "#"]
    found = {}
    for name, kind in sources():
        if not only or name.startswith(tuple(only)):
            # The strings in Rust tests are input and output, not messages.
            strings = not (name.endswith(".rs") and "tests" in name)
            found[name] = list(paragraphs((ROOT / name).read_text(), kind, strings))
    files = {name: [text.replace("\n", " ") for _, text in texts] for name, texts in found.items() if texts}
    findings = []
    for name, index, offset, message in vale(program, files):
        numbers, text = found[name][index]
        findings.append((name, numbers[text.count("\n", 0, offset)], message))
    later = Counter()
    wrong = list(wrong_examples(program))
    for name, number, message in sorted(findings):
        path = next((path for path in pending if name.startswith(path)), None)
        if path and not only:
            later[path] += 1
        else:
            wrong.append(f"{name}:{number}: {message}")
    print("\n".join(wrong))
    if not only:
        for path in pending:
            print(f"pending: {path}: {later[path] or 'clean: remove the line from tests/prose/pending.txt'}")
    print(f"prose: {len(files)} files, {len(wrong)} findings, {sum(later.values())} more in folders that are pending")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
