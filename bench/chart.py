"""What our post-renderer costs `helm template` of the chart: chart.py BINARY HELM...

Whole processes, in pairs: each round runs every command once, and the ratio is the median over the rounds. `cat` as the
post-renderer shows what Helm itself takes for having one. Writes chart.md beside this file; ends with 1 where the target
is missed.
"""

import re
import statistics
import sys
import tempfile
from pathlib import Path

import measure
from inputs import ROOT
from measure import Command
from run import machine

HERE = Path(__file__).resolve().parent
CHART = ROOT / "charts/training-job"
ROUNDS, TARGET = 60, 1.1


def post_renderers(folder, binary):
    """The words that name ours and `cat`, for Helm 3 and for Helm 4, which finds plugins in a folder of their own."""
    (folder / "bin").mkdir()
    (folder / "bin/khorovod").symlink_to(Path(binary).resolve())
    plugin = (ROOT / "plugin/helm4-post-renderer/plugin.yaml").read_text()
    same = plugin.replace("name: khorovod-post-render", "name: same").replace("command: khorovod", "command: cat")
    same = re.sub(r"  platformHooks:.*", "", same, flags=re.S).replace("args: [post-render]", "")
    for name, text in (("khorovod-post-render", plugin), ("same", same)):
        (folder / "plugins" / name).mkdir(parents=True)
        (folder / "plugins" / name / "plugin.yaml").write_text(text)
    measure.ENVIRONMENT.update(PATH=f"{folder}/bin:{measure.ENVIRONMENT['PATH']}", HOME=str(folder))
    three = {"khorovod": ["khorovod", "--post-renderer-args", "post-render"], "cat": ["cat"]}
    return {3: three, 4: {"khorovod": ["khorovod-post-render"], "cat": ["same"]}}


def paired(one, other):
    """The median of the ratios, round by round: both halves of a pair saw the same machine."""
    return statistics.median(a / b for a, b in zip(one, other, strict=True))


def main(binary, *helms):
    rows, missed = [], 0
    with tempfile.TemporaryDirectory(prefix="khorovod-bench-") as folder:
        known = post_renderers(Path(folder), binary)
        for helm in helms:
            version = Path(helm).parent.name.removeprefix("helm-v")
            words = [helm, "template", "mnist", CHART, "-f", CHART / "examples/smallest.yaml", "--kube-version", "1.34.3"]
            major = int(version.split(".")[0])
            # Helm 3 would complain of Helm 4's plugins.
            measure.ENVIRONMENT["HELM_PLUGINS"] = f"{folder}/{'plugins' if major > 3 else 'none'}"
            commands = [Command("without", words)]
            commands += [Command(name, [*words, "--post-renderer", *post]) for name, post in known[major].items()]
            times = measure.interleaved(commands, ROUNDS)
            base = times["without"]
            for name, one in times.items():
                wall, cpu = paired(one.runs, base.runs), paired(one.cpu, base.cpu)
                rows.append(f"| {version} | {name} | {one.least:.1f} | {one.median:.1f} | {wall:.3f} | {cpu:.3f} |")
                print(f"Helm {version}, {name}: {one.median:.1f} ms, {wall:.3f} times without")
                missed += name == "khorovod" and wall > TARGET
    head = [
        "# The chart under Helm, with and without the post-renderer\n",
        "Written by `bench/run.sh chart`: `helm template` of `charts/training-job` with `examples/smallest.yaml`, whole processes,",
        f"{ROUNDS} rounds of one run each; × is the median of the ratios within a round. Target: at most {TARGET} times.\n",
        machine() + "\n",
        "| Helm | Post-renderer | min ms | median ms | wall × | CPU × |",
        "|---|---|---|---|---|---|",
    ]
    (HERE / "chart.md").write_text("\n".join([*head, *rows]) + "\n")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
