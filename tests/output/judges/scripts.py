"""shellcheck and `bash -n` on every script in every ConfigMap, each distinct text once."""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

from .corpus import Verdict, label

# Disabled checks of shellcheck.
SETTINGS = pathlib.Path(__file__).parents[3] / "src" / "compiler" / "pods" / "scripts" / ".shellcheckrc"


def is_script(name, text):
    """Whether a file is a shell script, by its name or its first line."""
    return name.endswith(".sh") or re.match(r"#!\s*\S*(/|\s)(ba|da)?sh\b", text) is not None


def _quoted_names(text):
    """The names that a settings file assigns, which a script that sources it may use."""
    return tuple(sorted(set(re.findall(r"^(?:export |declare \S+ )?(\w+)=", text, re.M))))


def scripts(documents):
    """Every (ConfigMap, its files) that contains a script."""
    for document in documents:
        data = document.get("data") or {} if document.get("kind") == "ConfigMap" else {}
        if any(is_script(name, text) for name, text in data.items()):
            yield document, data


def check(folder, names):
    """The errors of bash and shellcheck for the scripts in a folder, including sourced files."""
    found = []
    shutil.copy(SETTINGS, folder)
    for name in names:
        done = subprocess.run(["bash", "-n", name], cwd=folder, capture_output=True, text=True)
        found += [f"bash -n: {line}" for line in done.stderr.splitlines()]
        if done.returncode and not done.stderr:
            found.append(f"bash -n {name} ended with {done.returncode}")
    done = subprocess.run(
        ["shellcheck", "--shell=bash", "--external-sources", "--source-path=SCRIPTDIR", "--format=gcc", *names],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    found += [f"shellcheck: {line}" for line in (done.stdout + done.stderr).splitlines()]
    if done.returncode and not found:
        found.append(f"shellcheck ended with {done.returncode}")
    return found


def judge(corpus):
    """Checks scripts in a folder with the other files of their ConfigMap, as in a pod."""
    verdict = Verdict("shellcheck and bash -n", "")
    seen, all_scripts, checks = set(), 0, []
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    for example, document in corpus.objects:
        for _, data in scripts([document]):
            names = [name for name, text in data.items() if is_script(name, text)]
            all_scripts += len(names)
            settings = tuple(_quoted_names(data[name]) for name in names if not data[name].startswith("#!"))
            fresh = [name for name in names if (data[name], settings) not in seen]
            seen |= {(data[name], settings) for name in names}
            if not fresh:
                continue
            folder = corpus.scratch / "scripts" / hashlib.sha256(repr(data).encode()).hexdigest()[:16]
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in data.items():
                (folder / name).write_text(text, newline="")
            checks.append((f"{example.name}: {label(document)}", pool.submit(check, folder, fresh)))
    verdict.failures += [f"{place}: {wrong}" for place, found in checks for wrong in found.result()]
    verdict.counted = f"{len(seen)} distinct of {all_scripts} scripts"
    if not all_scripts:
        verdict.failures.append("no script found at all")
    return verdict
