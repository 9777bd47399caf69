"""Measures how much time the post-renderer adds to `helm template` of the chart: chart.py BINARY HELM...

Each round runs every command once as a whole process, and the ratio is the median over the rounds. `cat` as the post-renderer
shows the cost of any post-renderer in Helm. `cat FILE`, with a file that contains khorovod's output, shows Helm's cost of that
output. Writes chart.md next to this file. Exits with 1 if khorovod takes more than the target times both the run without a
post-renderer and `cat FILE`: the second excludes Helm's own cost.
"""

import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import measure
from inputs import ROOT
from measure import Command
from run import machine

HERE = Path(__file__).resolve().parent
CHART = ROOT / "charts/training-job"
ROUNDS, TARGET = 40, 1.1


def post_renderers(folder, binary):
    """The arguments that select khorovod and `cat`, for Helm 3 and for Helm 4, which uses plugins in a separate folder."""
    (folder / "bin").mkdir()
    (folder / "bin/khorovod").symlink_to(Path(binary).resolve())
    plugin = (ROOT / "plugin/helm4-post-renderer/plugin.yaml").read_text()
    plugins = {"khorovod-post-render": plugin}
    for name, args in (("same", []), ("file", [f"{folder}/rendered"])):
        text = plugin.replace("name: khorovod-post-render", f"name: {name}").replace("command: khorovod", "command: cat")
        plugins[name] = re.sub(r"  platformHooks:.*", "", text, flags=re.S).replace("args: [post-render]", f"args: {args}")
    for name, text in plugins.items():
        (folder / "plugins" / name).mkdir(parents=True)
        (folder / "plugins" / name / "plugin.yaml").write_text(text)
    measure.ENVIRONMENT.update(PATH=f"{folder}/bin:{measure.ENVIRONMENT['PATH']}", HOME=str(folder))
    three = {"khorovod": ["khorovod", "--post-renderer-args", "post-render"], "cat": ["cat"],
             "cat FILE": ["cat", "--post-renderer-args", f"{folder}/rendered"]}
    return {3: three, 4: {"khorovod": ["khorovod-post-render"], "cat": ["same"], "cat FILE": ["file"]}}


def keep_rendered(folder, words, major):
    """Writes khorovod's output for a Helm to the file for `cat FILE`, with a wrapper in place of khorovod."""
    ours = folder / "bin/khorovod"
    real = ours.resolve()
    ours.unlink()
    ours.write_text(f'#!/bin/sh\n{real} "$@" | tee {folder}/rendered\n')
    ours.chmod(0o755)
    post = ["khorovod-post-render"] if major > 3 else ["khorovod", "--post-renderer-args", "post-render"]
    subprocess.run([*words, "--post-renderer", *post], env=measure.ENVIRONMENT, stdout=subprocess.DEVNULL, check=True)
    ours.unlink()
    ours.symlink_to(real)


def paired(one, other):
    """The median of the ratios within each round: both runs of a round had the same load."""
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def main(binary, *helms):
    rows, missed = [], 0
    with tempfile.TemporaryDirectory(prefix="khorovod-bench-") as folder:
        known = post_renderers(Path(folder), binary)
        for helm in helms:
            version = Path(helm).parent.name.removeprefix("helm-v")
            words = [helm, "template", "mnist", CHART, "-f", CHART / "examples/smallest.yaml", "--kube-version", "1.34.3"]
            major = int(version.split(".")[0])
            # Helm 3 would print warnings about Helm 4's plugins.
            measure.ENVIRONMENT["HELM_PLUGINS"] = f"{folder}/{'plugins' if major > 3 else 'none'}"
            keep_rendered(Path(folder), words, major)
            commands = [Command("without", words)]
            commands += [Command(name, [*words, "--post-renderer", *post]) for name, post in known[major].items()]
            times = measure.interleaved(commands, ROUNDS)
            base = times["without"]
            for name, one in times.items():
                wall, cpu = paired(one.runs, base.runs), paired(one.cpu, base.cpu)
                rows.append(f"| {version} | {name} | {one.least:.1f} | {one.median:.1f} | {wall:.2f} | {min(one.cpu) / min(base.cpu):.2f} | {cpu:.2f} |")
                print(f"Helm {version}, {name}: {one.median:.1f} ms, {wall:.2f} times without; CPU {cpu:.2f} times")
                missed += name == "khorovod" and min(wall, paired(one.runs, times["cat FILE"].runs)) > TARGET
    head = [
        "# The chart under Helm, with and without the post-renderer\n",
        "Written by `bench/run.sh chart`: `helm template` of `charts/training-job` with `examples/smallest.yaml`, whole processes,",
        f"{ROUNDS} rounds of one run each; × is the median of the ratios to `without` within a round, least CPU × that of the least",
        f"runs. Target: at most {TARGET} times.\n",
        "`cat` as the post-renderer shows Helm's cost of any post-renderer, `cat FILE` its cost of khorovod's output. Helm 4",
        "parses and writes all manifests again for any post-renderer, which alone exceeds the target.\n",
        machine() + "\n",
        "| Helm | Post-renderer | min ms | median ms | wall × | least CPU × | CPU × |",
        "|---|---|---|---|---|---|---|",
    ]
    (HERE / "chart.md").write_text("\n".join([*head, *rows]) + "\n")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
