"""Tests each row of the table "Changing and repeating" in docs/runtime.md."""
import re
import time

from case import job, merge, play

TWO_MINUTES = 120


def name_of(text):
    return re.search(r'khorovod.dev/run: "?([a-z0-9]+)', text)[1]


def changed(said):
    return sorted(line.rsplit(" ", 1)[0] for line in said.splitlines() if not line.endswith(" unchanged"))


@play(long=True)
def same_text_every_second(case):
    """Applies the same text before the run, during it, at its end and afterwards, like a GitOps controller."""
    text = case.render(job(seconds=20))
    case.apply(text)
    began, rounds = time.time(), 0
    while time.time() - began < 60:
        case.equal("objects that the same text changed", changed(case.apply(text)), [])
        rounds += 1
        time.sleep(max(0, began + rounds - time.time()))
    case.equal("the end", case.finished(1), "Complete")
    case.equal("pods that started", sorted(re.sub("-[a-z0-9]{5}$", "", name) for _, name in case.starts),
               [f"sum-{name_of(text)}-{rest}" for rest in ("launcher", "worker-0", "worker-1")])
    case.notes.append(f"applied {rounds} times")
    case.freed_after(case.ranks_end())


@play(long=True)
def changed_text(case):
    """A new run starts, the old one ends as superseded, and the new one gets its devices."""
    # There is room for one of the two.
    spec = {"workers": {"gpuResource": "habana.ai/gaudi", "gpus": 8, "replicas": 3}}
    old = case.render(job(seconds=600, spec=spec))
    case.apply(old)
    case.wait_for_line("launching: ", 90)
    new = case.render(job(seconds=1, spec=merge(spec, {"env": {"LEARNING_RATE": "0.2"}})))
    began = time.time()
    case.apply(new)
    case.equal("the old run's end", case.finished(TWO_MINUTES + 20, name_of(old)), "Failed")
    took = time.time() - began
    case.check(f"superseded after {took:.0f} s", took <= TWO_MINUTES)
    case.equal("the old launcher's code", case.code(case.launcher(name_of(old))), 43)
    case.check("the old launcher's message", "superseded: run " + name_of(new) in case.log(case.launcher(name_of(old))))
    case.equal("the new run's end", case.finished(60, name_of(new)), "Complete")
    case.check("the new run's sum", "sum of 3 ranks: 3" in case.log(case.launcher(name_of(new))))
    case.equal("runs", len(case.jobs()), 2)
    case.equal("pods of the new run", sum(name_of(new) in name for _, name in case.starts), 4)
    case.notes.append(f"superseded after {took:.0f} s")
    case.until("freed devices", case.freed, 10)


@play(long=True)
def changed_limits(case):
    """A label and a deadline change while a run continues; and the new deadline applies."""
    case.apply(case.render(job(seconds=600)))
    case.wait_for_line("launching: ", 90)
    pods = {p["metadata"]["uid"] for p in case.pods()}
    text = case.render(job(seconds=600, spec={"lifecycle": {"deadline": "30s"}}), metadata={"labels": {"team": "vision"}})
    began = time.time()
    case.check("nothing was configured", changed(case.apply(text)))
    case.equal("the end", case.finished(TWO_MINUTES + 60), "Failed")
    case.equal("the launcher's code", case.code(case.launcher()), 44)
    case.equal("pods", {p["metadata"]["uid"] for p in case.pods("launcher")} - pods, set())
    case.equal("pods that started", len(case.starts), 3)
    case.equal("restarts", [c["restartCount"] for p in case.pods() for c in p["status"]["containerStatuses"] if c["restartCount"]], [])
    case.notes.append(f"the new deadline was seen after {time.time() - began:.0f} s")
    case.until("freed devices", case.freed, 10)


@play()
def pruned(case):
    """With a tool that prunes, the old run's objects are deleted immediately, which frees its devices."""
    old = case.render(job(seconds=600))
    case.apply(old)
    case.wait_for_line("launching: ", 90)
    new = case.render(job(seconds=1, spec={"env": {"LEARNING_RATE": "0.2"}}))
    began = time.time()
    case.apply(new, "--prune", "-l", "khorovod.dev/job=sum", *(f"--prune-allowlist={kind}" for kind in (
        "core/v1/ConfigMap", "core/v1/Secret", "core/v1/ServiceAccount", "rbac.authorization.k8s.io/v1/Role",
        "rbac.authorization.k8s.io/v1/RoleBinding", "apps/v1/StatefulSet", "batch/v1/Job")))
    case.until("end of the old run's pods", lambda: not [p for p in case.pods() if name_of(old) in p["metadata"]["name"]], 60)
    case.notes.append(f"the old run's pods were gone after {time.time() - began:.1f} s")
    case.equal("objects of the old run", [o for o in case.objects() if name_of(old) in o], [])
    case.equal("the new run's end", case.finished(90, name_of(new)), "Complete")
    case.until("freed devices", case.freed, 10)


@play(long=True)
def back_to_an_old_text(case):
    """Nothing starts, because that run already exists; `runTag` runs it again."""
    first, second = case.render(job()), case.render(job(spec={"env": {"LEARNING_RATE": "0.2"}}))
    for text in (first, second):
        case.apply(text)
        case.equal("the end", case.finished(90, name_of(text)), "Complete")
    starts = len(case.starts)
    case.equal("what going back changes", changed(case.apply(first)), ["configmap/sum-current"])
    time.sleep(5)
    case.equal("pods that going back starts", case.starts[starts:], [])
    again = case.render(job(spec={"runTag": "2"}))
    case.apply(again)
    case.equal("the end of the second run", case.finished(90, name_of(again)), "Complete")
    case.check("three runs have names of their own", len({name_of(t) for t in (first, second, again)}) == 3)


@play()
def deleted(case):
    """Deletes everything except claims, of a run that has ended and of a running one."""
    spec = {"storage": [{"name": "data", "mountPath": "/data", "claim": {
        "size": "1Gi", "storageClassName": "no-provisioner", "accessModes": ["ReadWriteMany"]}}]}
    case.apply(case.render(job()))
    case.finished(90)
    text = case.render(job(seconds=600, spec=spec))
    case.apply(text)
    case.until("a second run", lambda: len(case.jobs()) == 2, 10)
    case.clear("sum")
    case.equal("left", case.objects(), ["persistentvolumeclaim/sum-data"])
