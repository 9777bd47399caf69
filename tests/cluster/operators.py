"""Runs examples with the operators and schedulers of the targets: operators.py SOURCES PROGRAMS, in a cluster.

Each job must print the right sum, fail if its program fails, free its devices in both cases, and not start again if the same
text is applied. The operators' admission webhooks are active.
"""
import json
import os
import re
import sys
import time

import yaml

from case import ROOT, Case, Failed, World, job, owner
from controllers import STATE, install, start, start_jobset, start_mpi_operator, start_trainer
from examples import overlay, scenarios, volumes

SOURCES, PROGRAMS = sys.argv[1:]
# The final states of each target's object: of success and of failure.
ENDS = {"mpijob": (("Succeeded",), ("Failed",)), "jobset": (("Completed",), ("Failed",)),
        "trainjob": (("Complete",), ("Failed",)), "vcjob": (("Completed",), ("Failed", "Terminated", "Aborted"))}
SUM = r"rank 0 of 6 on hello-\w+-worker-\S*0\b"
TORCH = r"rank 0 of 4 on .*: sum 6"
# Operator, target, kind, and examples with a pattern for the launcher's log.
PLAYS = (
    ("mpi-operator", "mpijob", "mpijob", {"cpu": SUM, "smallest": "sum of 32 ranks: 496", "checkpoint": "epoch 19: loss",
                                           "elastic": "counted to 100 with 3 at the end"}),
    ("jobset", "jobset", "jobset", {"cpu": SUM, "worker-groups": "sum of 32 ranks: 496", "indexed-job": "sum of 3 ranks: 3", "torchrun": TORCH}),
    ("trainer", "trainjob", "trainjob", {"cpu": SUM, "indexed-job": "sum of 3 ranks: 3", "torchrun": TORCH}),
    ("volcano", "volcano", "vcjob", {"cpu": SUM, "worker-groups": "sum of 32 ranks: 496", "indexed-job": "sum of 3 ranks: 3", "torchrun": TORCH,
                                   "elastic": "counted to 100 with 3 at the end"}),
)
# The patch with which a user adds a third worker to a running elastic job.
GROW = {"mpijob": ("--type=merge", '{"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 3}}}}'),
        "vcjob": ("--type=json", '[{"op": "replace", "path": "/spec/tasks/1/replicas", "value": 3}]')}


def start_volcano():
    install(f"{SOURCES}/volcano/config/crd/*/bases/*.yaml")
    flags = [f"--kubeconfig={os.environ['KUBECONFIG']}", "--leader-elect=false", "--logtostderr", "-v=3"]
    start("volcano-scheduler", f"{PROGRAMS}/volcano/scheduler", *flags)
    start("volcano", f"{PROGRAMS}/volcano/controller-manager", *flags)


def start_operator(operator):
    if operator == "volcano":
        return start_volcano()
    if operator == "trainer" and not os.path.isdir(f"{PROGRAMS}/jobset"):
        raise Failed("Trainer needs JobSet")
    how, program = {"mpi-operator": (start_mpi_operator, "mpi-operator"), "jobset": (start_jobset, "jobset"),
                    "trainer": (start_trainer, "trainer-controller-manager")}[operator]
    return how(f"{SOURCES}/{operator}", f"{PROGRAMS}/{operator}/{program}")


def true_conditions(case, kind):
    """The status of the only job of a kind: its true conditions, or its phase."""
    found = case.kubectl("get", kind, "-o", "jsonpath={.items[0].status.conditions[?(@.status=='True')].type} {.items[0].status.state.phase}", check=False)
    return set(found.stdout.split())


def launcher(case):
    """The launching pod: the launcher, or index 0."""
    pods = sorted(case.pods(), key=lambda pod: pod["metadata"]["name"])
    own = [pod for pod in pods if owner(pod) == "launcher"]
    return (own or pods or [None])[0]


def logged(case, pod):
    """The current log of a pod; empty if the pod has not started or is gone."""
    try:
        return case.log(pod)
    except Exception:
        return ""


def until_end(case, kind, log):
    """Waits for the end, and returns whether the job succeeded. Stores the launcher's log, because some operators delete its
    pod."""
    good, bad = ENDS[kind]

    def look():
        log.append(logged(case, launcher(case)))
        words = true_conditions(case, kind)
        return "good" if words & set(good) else "bad" if words & set(bad) else None
    return case.until(f"end of the {kind}", look, 240) == "good"


def differences(case, kind, text):
    """The paths of lists in the only job of a kind that differ from the applied text, which kubectl would write again."""
    live = json.loads(case.kubectl("get", kind, "-o", "json").stdout)["items"][0]
    ours = next(object for object in yaml.safe_load_all(text) if object["metadata"]["name"] == live["metadata"]["name"] and object["kind"] == live["kind"])
    found = []

    def compare(path, ours, live, listed):
        if isinstance(ours, dict) and isinstance(live, dict):
            for key in sorted(ours.keys() | live.keys() if listed else ours.keys()):
                compare(f"{path}.{key}", ours.get(key), live.get(key), listed)
        elif isinstance(ours, list) and isinstance(live, list) and len(ours) == len(live):
            for index, (one, other) in enumerate(zip(ours, live)):
                compare(f"{path}[{index}]", one, other, True)
        elif ours != live:
            found.append(f"{path}: {ours!r} became {live!r}")
    compare("spec", ours["spec"], live["spec"], False)
    return found[:20]


def play(case, target, kind, job, spec, pattern):
    text = case.render(job, spec, words=("--target", target))
    # Trainer rejects a TrainJob whose runtime does not exist, and therefore a dry run of both.
    if kind != "trainjob":
        case.dry_run(text)
    # A webhook may not answer immediately.
    tries = []

    def admitted():
        tries.append(case.kubectl("apply", "--validate=strict", "-f", "-", text=text, check=False))
        return tries[-1].returncode == 0
    case.until("admission", admitted, 30)
    if len(tries) > 1:
        case.notes.append(f"taken at try {len(tries)}, before: {tries[-2].stderr.strip()[-300:]}")
    log = []
    grows = isinstance(job, str) and "/elastic/" in job
    if grows:
        case.until("two workers at work", lambda: (pod := launcher(case)) and "rank 0 of 2 on" in logged(case, pod), 120)
        name = case.kubectl("get", kind, "-o", "name").stdout.strip()
        how, patch = GROW[kind]
        case.kubectl("patch", name, how, "-p", patch)
    good = until_end(case, kind, log)
    log = max(log, key=len, default="")
    case.check(f"the end is {'good' if good else 'bad'}: {log[-1500:]}", good == (pattern is not None))
    if pattern:
        case.check(f"the launcher's log does not match /{pattern}/: {log[-1500:]}", re.search(pattern, log))
    if case.most:
        case.until("freed devices", case.freed, 60)
    case.until("end of all workers", lambda: not any(pod["status"].get("phase") == "Running" for pod in case.pods()), 60)
    # Applying it again would reset the number of workers to that in its text.
    if grows:
        return
    starts = len(case.starts)
    differ = differences(case, kind, text)
    changed = [line for line in case.apply(text).splitlines() if not line.endswith(" unchanged")]
    case.equal(f"objects that the same text changed, by {differ}", changed, [])
    time.sleep(3)
    case.equal("pods that it started", case.starts[starts:], [])


def main():
    world, failures, played = World(), 0, 0
    known = dict(scenarios())
    for operator, target, kind, examples in PLAYS:
        if not os.path.isdir(f"{PROGRAMS}/{operator}"):
            continue
        try:
            start_operator(operator)
            time.sleep(8)
        except Failed as error:
            print(f"FAIL  {operator}: {error}", flush=True)
            failures += 1
            continue
        jobs = {name: (os.path.join(ROOT, "examples", name, "job.yaml"), overlay(known[name]), pattern, known[name])
                for name, pattern in examples.items()}
        jobs["failing"] = (job(code=3), {}, None, {})
        for name, (text, spec, pattern, scenario) in jobs.items():
            began, case = time.time(), Case(world, f"{target}-{name}")
            try:
                volumes(case, **scenario.get("volumes", {}))
                play(case, target, kind, text, spec, pattern)
                played += 1
                print(f"ok    {time.time() - began:6.1f} s  {operator}: {name}   {'; '.join(case.notes)}", flush=True)
            except Exception as error:
                failures += 1
                with open(f"{STATE}/log/{operator}") as file:
                    print(f"FAIL  {operator}: {name}: {error}\n{case.explain()}\n--- the operator\n{file.read()[-3000:]}", flush=True)
            case.close()
    print(f"operators: {played} jobs ran as they should, {failures} failed")
    return bool(failures or not played)


sys.exit(main())
