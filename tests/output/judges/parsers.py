"""Independent YAML parsers must return the same JSON: libyaml (YAML 1.1), ruamel.yaml (YAML 1.2) and Go's (kubectl)."""

import json
import subprocess

from ruamel.yaml import YAML

from .corpus import Verdict, canonical, load


def read_go(corpus, texts):
    """The result of kubectl's parser for each text: a list of documents, or the error as a string."""
    folder = corpus.scratch / "go"
    folder.mkdir(exist_ok=True)
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}.yaml")
        paths[-1].write_bytes(text)
    asked = "".join(f"{path}\n" for path in paths)
    done = subprocess.run([corpus.goyaml], input=asked, capture_output=True, text=True, check=True)
    # Only "\n" ends an answer: JSON may contain unescaped line separators such as U+2028.
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    return [answer.get("error") or answer["documents"] for answer in answers]


def read_libyaml(text):
    """The result of libyaml, which serde_yaml also uses."""
    try:
        return load(text)
    except Exception as error:  # any exception of a parser is a failure
        return f"{type(error).__name__}: {error}"


def read_ruamel(text):
    """The result of a YAML 1.2 parser in pure Python."""
    reader = YAML(typ="safe", pure=True)
    try:
        return [document for document in reader.load_all(text.decode()) if document is not None]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def differences(readings):
    """The differences between the values of {parser: documents}; empty if there are no differences."""
    wrong = [f"{reader} refuses it: {seen[:300]}" for reader, seen in readings.items() if isinstance(seen, str)]
    if wrong:
        return wrong
    (first, expected), *others = readings.items()
    try:
        for reader, seen in others:
            if len(seen) != len(expected):
                wrong.append(f"{first} sees {len(expected)} documents, {reader} {len(seen)}")
                continue
            for left, right in zip(expected, seen):
                if canonical(left) != canonical(right):
                    wrong.append(f"{first} and {reader} differ at {_place(left, right)}")
                    break
    except (TypeError, ValueError) as error:
        wrong.append(f"not JSON: {error}")
    return wrong


def _place(left, right, path="$"):
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            if key not in left or key not in right:
                return f"{path}: only one has the key {key!r}"
            if canonical(left[key]) != canonical(right[key]):
                return _place(left[key], right[key], f"{path}.{key}")
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right)):
            if canonical(one) != canonical(other):
                return _place(one, other, f"{path}[{index}]")
    return f"{path}: {left!r:.200} against {right!r:.200}"


def judge(corpus):
    """Compares all three parsers on every example."""
    verdict = Verdict("three YAML readers agree", f"{len(corpus.objects)} objects of {len(corpus.examples)} examples")
    go = read_go(corpus, [example.text for example in corpus.examples])
    for example, seen in zip(corpus.examples, go, strict=True):
        readings = {"libyaml": read_libyaml(example.text), "Go": seen, "ruamel": read_ruamel(example.text)}
        verdict.failures += [f"{example.name}: {wrong}" for wrong in differences(readings)]
    return verdict
