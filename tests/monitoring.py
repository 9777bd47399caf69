#!/usr/bin/env python3
"""Checks the dashboard and the alert rules in examples/observability.

Every metric in them is one that metrics.py serves, with the labels that they use. The PrometheusRule and the ConfigMap have the text of the
rules and of the dashboard: with KHOROVOD_BLESS they are written. If promtool is given as the argument, it checks and tests the rules.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples/observability"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "src/compiler/pods/scripts"))


def indented(text, spaces):
    return "".join(" " * spaces + line if line.strip() else line for line in text.splitlines(True))


def derived():
    """The objects for kubectl, by file."""
    groups = (FOLDER / "alert-rules.yaml").read_text().partition("\ngroups:\n")[2]
    rule = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: khorovod\nspec:\n  groups:\n"
    dashboard = (FOLDER / "dashboard.json").read_text()
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: khorovod-dashboard\n  labels:\n    grafana_dashboard: \"1\"\ndata:\n  khorovod.json: |\n"
    return {
        "prometheus-rule.yaml": "# The rules of alert-rules.yaml, for the Prometheus Operator.\n" + rule + indented(groups, 2),
        "dashboard-configmap.yaml": "# The dashboard, for Grafana with the sidecar that loads dashboards, as in kube-prometheus-stack.\n"
        + config + indented(dashboard, 4),
    }


def main():
    sys.argv[1:2], promtool = [], sys.argv[1:2]
    sys.argv[1:] = ["9401", "job", "run"]
    import metrics

    problems = []
    for name, text in derived().items():
        file = FOLDER / name
        if os.environ.get("KHOROVOD_BLESS"):
            file.write_text(text)
        if not file.exists() or file.read_text() != text:
            problems.append(f"{file} differs from the rules or the dashboard: KHOROVOD_BLESS=1 tests/monitoring.py")

    status = {field: 1 for _, field, _, _ in metrics.METRICS} | {"phase": "training"}
    served = {}
    for line in metrics.metrics(status):
        if not line.startswith("#"):
            name, labels = re.fullmatch(r"(\w+)\{(.*)\} \d+", line).groups()
            served[name] = set(re.findall(r'(\w+)="', labels))
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    texts = {f"panel {panel['title']}": target["expr"] for panel in dashboard["panels"] for target in panel["targets"]}
    texts |= {f"variable {one['name']}": one["query"] for one in dashboard["templating"]["list"]}
    texts["alert-rules.yaml"] = (FOLDER / "alert-rules.yaml").read_text()
    used = set()
    for where, text in texts.items():
        for name, labels in re.findall(r"\b(khorovod_\w+)(?:\{([^}]*)\})?", text):
            used.add(name)
            wanted = set(re.findall(r"(\w+)=", labels))
            if not wanted <= served.get(name, set()) or name not in served:
                problems.append(f"{where} uses {name} {wanted or ''}, which is not served")
    unused = set(served) - used - {"khorovod_attempt", "khorovod_retries"}
    if unused:
        problems.append(f"nothing uses {unused}")

    if promtool:
        for command in ["check", "rules", "alert-rules.yaml"], ["test", "rules", "alert-tests.yaml"]:
            out = subprocess.run(promtool + command, cwd=FOLDER, capture_output=True, text=True)
            if out.returncode:
                problems.append(f"promtool {' '.join(command)}: {out.stdout}{out.stderr}")
        for where, text in texts.items():
            if where.startswith("panel"):
                # The parser of the rules also reads the expressions of the panels.
                rule = {"groups": [{"name": "g", "rules": [{"record": "r", "expr": text.replace("$training_job", "a")}]}]}
                out = subprocess.run(promtool + ["check", "rules"], input=json.dumps(rule), capture_output=True, text=True)
                if out.returncode:
                    problems.append(f"{where}: {out.stdout}{out.stderr}")
    print("\n".join(problems) or f"{len(used)} metrics in {len(texts)} places")
    sys.exit(bool(problems))


main()
