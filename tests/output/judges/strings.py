"""Property test: every string that a user writes, in every field that allows any string, arrives unchanged.

Renders seeded random specs with strings that are special in YAML, in a shell or on a terminal. libyaml and
Go's parser must agree on the output, and each string must be in its place: an environment value in its
container, a command word in the launch array as bash reads it, a script in a ConfigMap. khorovod may reject
a spec, but only with a problem, and only if the string cannot work.
"""

import json
import os
import random
import re
import subprocess
from collections import Counter

import yaml

from .corpus import SEED, Verdict, pod_templates
from .parsers import differences, read_go, read_libyaml, read_ruamel

CASES = int(os.environ.get("OUTPUT_CASES", "300"))
RUAMEL_CASES = 8  # pure Python and slow

YAML_TRAPS = [
    "y", "n", "Y", "yes", "no", "on", "off", "ON", "true", "False", "null", "Null", "~", "", "-", "?", "=", "<<",
    "1", "-1", "+1", "0", "00", "017", "0o17", "0x1F", "0b11", "1_000", "1e3", "1E5", "1.", ".5", "1.0", "6.02e23",
    "1:30", "190:20:30", "1:1.5", "2001-01-01", "2001-01-01T00:00:00Z", ".inf", "-.INF", ".nan", ".NaN", "0.1.2",
    "!", "!!str x", "!x", "&a", "*a", "%YAML 1.1", "@x", "`x`", "- a", "---", "--- a", "...", "? a", ": ", ":", "a: b",
    "a:", "a #b", "#x", "a#b", "[a]", "[", "]", "{a: b}", "{", "}", ",", "'", "''", '"', "\\", "\\n", "|", "|-", ">", ">+",
    " ", "  ", " x", "x ", "x  y", "\t", "\tx", "x\t", "a: |\n  b\n---\nkind: Secret\n",
]  # fmt: skip
LINES = [
    "\n", "\n\n", "x\n", "\nx", "\n\nx\n\n", " x\ny", "x\n y\n", "x \ny \n", "\tx\ny", "x\n\ty\n", "x\n\n\n", "  \nx", "#x\ny\n",
    "x\r\ny\r\n", "x\ry", "\r", "---\nx\n", "x\n---\ny\n", "x\n...\ny", "- x\n- y\n", "x:\n  - y\n", "if x:\n\tpass\n",
    "x" * 300 + "\n" + "y" * 300,
]  # fmt: skip
UNICODE = [
    "é", "漢字", "😀", "\U0010fffd", "\u0085", "a\u0085b", "\u2028", "a\u2029b", "\ufeff", "x\ufeffy", "\u00a0", "\u200b", "\u202e",
    "e\u0301", "\ud7ff", "\ue000", "\ufffd",
]  # fmt: skip
CONTROL = ["\x07", "\x1b[31mred", "\x7f", "\x01", "\x1f", "\x80", "\x9b31m", "\ufffe", "\uffff"]
SHELL = [
    "$HOME", "$(id)", "`id`", "${x}", "$(HOME)", "$$(HOME)", "$$", "$", "'; exit 7; '", "\"; exit 7; \"", "a'b", "a\"b", "*", "?", "~/x",
    "!!", "\\'", "&& false", "a;b", "a|b", "<x", ">x", "(", ")", "-n", "--", "-x", "{a,b}", "a\\\nb", "%s", "%%",
    "{{x}}", "{{{x}}}", "{{#if x}}", "&lt;", "&", "<b>", "a=b", "==", "x" * 3000, "word " * 60,
]  # fmt: skip
POOL = YAML_TRAPS + LINES + UNICODE + CONTROL + SHELL
LABELS = [word for word in YAML_TRAPS if re.fullmatch(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", word)]


def text(chance):
    """A random string: one special string, or several joined."""
    if chance.random() < 0.5:
        return chance.choice(POOL)
    return chance.choice(["", " ", "\n", ": ", " #"]).join(chance.choices(POOL, k=chance.randint(2, 4)))


def spec_for(chance, number):
    """(spec, expected strings) for one case."""
    launcher = chance.choice(["mpirun", "torchrun", {"kind": "mpirun", "runsIn": "firstWorker"}])
    env = {f"E{index}": text(chance) for index in range(chance.randint(1, 6))}
    command = ["python", *(text(chance) for _ in range(chance.randint(0, 5)))]
    files = {f"{chance.choice(['a', 'no', '1e3', 'on', '0x1', '1_0'])}{index}.py": text(chance) for index in range(2)}
    annotations = {f"x.dev/{chance.choice(['y', 'no', 'null', '012'])}{index}": text(chance) for index in range(2)}
    labels = {chance.choice(["y", "on", "no", "null", "1", "0x1F", "1e3", "x.dev/y"]): chance.choice(LABELS)}
    spec = {
        "image": "ghcr.io/acme/train:1.4",
        "command": command,
        "env": env,
        "code": {"files": files, "mountPath": "/code"},
        "workers": {"replicas": 2},
        "launcher": launcher,
        "runTag": chance.choice(YAML_TRAPS),
        "placement": {"nodeSelector": {"x.dev/pool": chance.choice(LABELS)}},
        "patches": [
            {"target": {"kind": "Service"}, "patch": {"metadata": {"annotations": {"x.dev/patched": text(chance)}}}}
        ],
    }
    if chance.random() < 0.5:
        spec["args"] = [text(chance) for _ in range(2)]
    if chance.random() < 0.3:
        spec["command"] = chance.choice(["python a.py && ", "true; "]) + text(chance)
    if chance.random() < 0.3:
        spec["workingDir"] = "/" + chance.choice(["y", "a b", "a'b", "$HOME", "a: b", "#", "é", "😀", "x\ty"])
    name = f"case-{number}"
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    return {"apiVersion": "khorovod.dev/v1alpha1", "kind": "TrainingJob", "metadata": metadata, "spec": spec}


class Blocks(yaml.SafeDumper):
    """Writes strings as literal blocks if possible, otherwise in double quotes, which are unambiguous."""


Blocks.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else '"'),
)


def write(spec, chance):
    """The spec as a tool may write it: JSON, or PyYAML's blocks."""
    if chance.random() < 0.5:
        plain = json.dumps(spec, ensure_ascii=False)
        # Characters that YAML defines as not printable must be escaped; JSON does not escape them.
        return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda m: f"\\u{ord(m[0]):04x}", plain).encode()
    return yaml.dump(spec, Dumper=Blocks, allow_unicode=False, sort_keys=False, width=1 << 20).encode()


def arrays(folder):
    """The arrays that bash reads from job.sh, by name."""
    program = (
        "PATH=; . ./job.sh || exit 9; for name in $(compgen -A arrayvar); do [[ $name == BASH* || $name == DIRSTACK || "
        "$name == FUNCNAME || $name == GROUPS || $name == PIPESTATUS ]] && continue; declare -n array=$name; "
        'printf "%s\\0" "$name" "${#array[@]}" "${array[@]}"; done'
    )
    done = subprocess.run(["bash", "-c", program], cwd=folder, capture_output=True)
    if done.returncode or done.stderr:
        return f"job.sh ends with {done.returncode}: {done.stderr.decode(errors='replace')[:300]}"
    words, found = done.stdout.decode().split("\0")[:-1], {}
    while words:
        name, count = words[0], int(words[1])
        found[name], words = words[2 : 2 + count], words[2 + count :]
    return found


def _holds(array, words):
    return any(array[at : at + len(words)] == words for at in range(len(array) - len(words) + 1))


def expanded(value):
    """The value of a variable as the kubelet passes it on: `$$` stands for `$`, and `$(NAME)` for another variable."""
    parts = value.split("$$")
    return None if any(re.search(r"\$\([^)]*\)", part) for part in parts) else "$".join(parts)


def lost(spec, documents, folder):
    """The strings of the spec that are not in their place."""
    meant, found = spec["spec"], []
    for document in documents:
        for field in ("labels", "annotations"):
            seen = document["metadata"].get(field) or {}
            for key, value in spec["metadata"][field].items():
                if seen.get(key) != value:
                    found.append(f"{document['kind']}: {field}.{key}: {seen.get(key)!r} for {value!r}")
    for document, template in pod_templates(documents):
        container = template["spec"]["containers"][0]
        env = {variable["name"]: variable.get("value", "") for variable in container.get("env") or []}
        working_dir = meant.get("workingDir", meant["code"]["mountPath"])
        if container.get("workingDir") != working_dir:
            found.append(f"{document['kind']}: workingDir {container.get('workingDir')!r} for {working_dir!r}")
        if template["spec"].get("nodeSelector", {}) not in ({}, meant["placement"]["nodeSelector"]):
            found.append(f"{document['kind']}: nodeSelector {template['spec']['nodeSelector']!r}")
        for name, value in meant["env"].items():
            if expanded(env.get(name, "")) != value:
                found.append(f"{document['kind']}: env {name}: {env.get(name)!r} for {value!r}")
    data = {}
    for document in documents:
        patched = (document["metadata"].get("annotations") or {}).get("x.dev/patched")
        if (
            document["kind"] == "Service"
            and patched != meant["patches"][0]["patch"]["metadata"]["annotations"]["x.dev/patched"]
        ):
            found.append(f"a patch arrives as {patched!r}")
        if document["kind"] == "ConfigMap":
            data.update(document.get("data") or {})
    for name, value in meant["code"]["files"].items():
        if data.get(name) != value:
            found.append(f"code file {name}: {data.get(name)!r} for {value!r}")
    if "job.sh" not in data:
        return [*found, "no job.sh"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.sh").write_text(data["job.sh"], newline="")
    sourced = arrays(folder)
    if isinstance(sourced, str):
        return [*found, sourced]
    # A command that is a string runs with bash -c; args follow unchanged.
    written, args = meant["command"], meant.get("args") or []
    words = written if isinstance(written, list) else [written]
    if not any(_holds(array, words) for array in sourced.values()):
        found.append(f"command {words!r} in none of {sourced!r:.600}")
    if args and not any(_holds(array, args) for array in sourced.values()):
        found.append(f"args {args!r} in none of {sourced!r:.600}")
    return found


def judge(corpus):
    """Uses a fixed seed, so that failures can be reproduced: the message contains the number of the case."""
    verdict, refused, rendered = Verdict("nasty strings arrive as meant", ""), Counter(), []
    for number in range(CASES):
        chance = random.Random(number)
        spec = spec_for(chance, number)
        source = write(spec, chance)
        done = corpus.binary.run("render", "--ssh-seed", SEED, "-", stdin=source)
        if done.returncode == 0:
            rendered.append((number, spec, done.stdout))
        elif done.returncode == 1 and not done.stdout:
            said = done.stderr.decode(errors="replace")
            codes = set(re.findall(r"(?:error|warning)\[([a-z0-9-]+)\]", said))
            refused.update(codes)
            if os.environ.get("OUTPUT_REFUSALS"):
                print(f"case {number}: {said}")
            if not codes:
                verdict.failures.append(f"case {number}: refused without a code: {said[:300]}")
        else:
            verdict.failures.append(
                f"case {number}: exit {done.returncode}, {len(done.stdout)} bytes on standard output"
            )
    go = read_go(corpus, [output for _, _, output in rendered])
    for at, ((number, spec, output), seen) in enumerate(zip(rendered, go, strict=True)):
        readings = {"libyaml": read_libyaml(output), "Go": seen}
        if at < RUAMEL_CASES:
            readings["ruamel"] = read_ruamel(output)
        wrong = differences(readings)
        if not wrong:
            wrong = lost(spec, readings["Go"], corpus.scratch / "strings" / str(number))
        verdict.failures += [f"case {number}: {one}" for one in wrong]
    verdict.counted = f"{len(rendered)} of {CASES} specs rendered, {CASES - len(rendered)} refused"
    verdict.notes = [f"refused {count} times for {code}" for code, count in refused.most_common()]
    if len(rendered) < CASES * 0.6:
        verdict.failures.append("too few were accepted for this to mean much")
    return verdict
