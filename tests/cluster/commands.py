"""The commands run, status, logs, diff, stop, list and wait, as a user types them."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from case import IMAGE, KHOROVOD, MINOR, ROOT, job, merge, play

sys.path.append(os.path.join(ROOT, "tests", "session"))
import record  # noqa: E402

CPU = os.path.join(ROOT, "examples", "cpu", "job.yaml")
# A worker of this cluster has its image, and the ranks share two cores.
HERE = {"spec": {"image": IMAGE, "workers": {"cpu": "1"}, "env": {"OMPI_MCA_mpi_yield_when_idle": "1"}}}


def overlay(case, content):
    with open(case.overlay, "w") as file:
        json.dump(content, file)
    return ["--overlay", case.overlay, "--kube-version", f"1.{MINOR}"]


def khorovod(case, *words, code=0, env=None, namespace=None):
    """Runs a command in the case's namespace or another one, and returns what it printed to each stream."""
    where = [] if "-A" in words else ["-n", namespace or case.namespace]
    environment = dict(os.environ, KHOROVOD_SSH_SEED="5" * 64, **(env or {}))
    done = subprocess.run([KHOROVOD, words[0], *where, *words[1:]], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=environment, timeout=300)
    case.check(f"khorovod {' '.join(words[:3])} ended with {done.returncode}: {done.stderr}{done.stdout}", done.returncode == code)
    return done.stdout, done.stderr


def start(case, spec, name="job"):
    """Applies a job with `run --detach`, and returns the path of its spec."""
    path = f"{case.overlay}.{name}.yaml"
    with open(path, "w") as file:
        json.dump(spec, file)
    khorovod(case, "run", "--detach", "--kube-version", f"1.{MINOR}", path)
    return path


def status(case, *words):
    found = json.loads(khorovod(case, "status", *words, "-o", "json")[0])["jobs"]
    return found[0] if len(found) == 1 else found


def phase(case, name, wanted, allowed=90):
    """Waits until a job has a phase, and returns its status."""
    seen = []

    def look():
        state = status(case, name)
        seen.append(state["message"])
        return state if state["phase"] in wanted else None
    try:
        return case.until(f"phase {wanted}", look, allowed, every=0.5)
    finally:
        case.notes.append(f"saw {len(set(seen))} states")


def check_message(case, state, pattern):
    case.check(f"{state['message']!r} does not match /{pattern}/", re.search(pattern, state["message"]))


@play()
def commands_from_nothing_to_trained(case):
    """`khorovod run examples/cpu/job.yaml`, and what the other commands say about the job afterwards."""
    words = overlay(case, HERE)
    out, err = khorovod(case, "run", *words, CPU)
    case.check(f"no rank in {out}", "rank 5 of 6 on hello-" in out and "khorovod: trained" in out)
    for pattern in (r"hello: new, because", r"creates \d+ objects", r"waiting for", r"trained in .*; workers are released"):
        case.check(f"/{pattern}/ is not in {err}", re.search(pattern, err))
    state = status(case, "hello")
    case.equal("the phase", (state["phase"], state["isReleased"], state["workers"]), ("trained", True, {"wanted": 3, "ready": 0}))
    out, _ = khorovod(case, "logs", "hello", "--rank", "5")
    case.check(f"the lines of rank 5 are {out!r}", "rank 5 of 6" in out and "rank 4 of 6" not in out)
    out, _ = khorovod(case, "list")
    case.check(f"the list is {out}", re.search(r"^hello +\w{6} +trained ", out, re.M))
    khorovod(case, "wait", "hello", "--timeout", "5s")
    out, _ = khorovod(case, "diff", *words, CPU)
    case.check(f"diff of the same spec prints {out}", "No changes." in out)
    out, _ = khorovod(case, "diff", *words, "--set", "workers.slotsPerWorker=1", CPU)
    case.check(f"diff prints {out}", "restarts the run" in out and "slotsPerWorker: 2 → 1" in out)
    # The same spec again is the same run, which has ended.
    _, err = khorovod(case, "run", *words, CPU)
    case.check(f"the second run printed {err}", re.search(r"leaves \d+ objects unchanged", err) and "nothing starts" in err)


@play()
def commands_as_recorded(case):
    """The session of the README shows what the commands print. With KHOROVOD_BLESS, it is recorded again."""
    path, config = f"{case.overlay}.kubeconfig", json.loads(case.kubectl("config", "view", "--raw", "--minify", "-o", "json").stdout)
    config["contexts"][0]["context"]["namespace"] = case.namespace
    with open(path, "w") as file:
        json.dump(config, file)
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/bin")
        os.symlink(KHOROVOD, f"{folder}/bin/khorovod")
        shutil.copy(record.JOB, folder)
        environment = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": folder, "KUBECONFIG": path, "TERM": "xterm-256color",
                       "LANG": "C.UTF-8", "KHOROVOD_SSH_SEED": "5" * 64}
        events = record.record(environment, folder)
    if os.environ.get("KHOROVOD_BLESS"):
        record.write(events)
    case.equal("the session", record.gist(events), record.gist(record.recorded()))


@play()
def commands_in_several_namespaces(case):
    """`list` and `status` of jobs with the same name in two namespaces, and of two jobs in one."""
    other = f"{case.namespace}-b"
    case.kubectl("create", "namespace", other)
    try:
        start(case, job(name="one", seconds=600), "one")
        start(case, job(name="two", spec={"workers": {"cpu": "5000"}}), "two")
        path = f"{case.overlay}.other.yaml"
        with open(path, "w") as file:
            json.dump(job(name="one", code=3), file)
        khorovod(case, "run", "--kube-version", f"1.{MINOR}", path, code=1, namespace=other)
        khorovod(case, "wait", "one", "--for", "running", "--timeout", "90s")

        def listed(*words):
            rows = [line.split() for line in khorovod(case, "list", *words)[0].splitlines()]
            return {tuple(row[:2]): row[3] for row in rows[1:] if row[0] in (case.namespace, other)}
        found = listed("-A")
        case.check(f"the jobs are {found}", found.pop((case.namespace, "one")) in ("training", "running"))
        case.equal("the other jobs", found, {(case.namespace, "two"): "waiting", (other, "one"): "failed"})
        case.equal("the active jobs", sorted(listed("-A", "--active")), [(case.namespace, "one"), (case.namespace, "two")])
        out, _ = khorovod(case, "list")
        case.equal("the jobs of one namespace", [line.split()[0] for line in out.splitlines()], ["JOB", "one", "two"])
        out, _ = khorovod(case, "status", "one", namespace=other)
        case.check(f"the other job: {out}", "failed (exit code 42)" in out)
        # A job is stopped only in its own namespace.
        khorovod(case, "stop", "one", "--now")
        out, _ = khorovod(case, "list", namespace=other)
        case.check(f"the other job: {out}", re.search(r"^one +\w{6} +failed ", out, re.M))
    finally:
        case.kubectl("delete", "namespace", other, "--wait=false")


@play()
def commands_stop_in_each_phase(case):
    """`stop` while the job waits, between two attempts, while it is suspended, and after its end."""
    def stops(name, pattern="is stopped, and its resources are released"):
        out, _ = khorovod(case, "stop", name)
        case.check(f"stop of {name} printed {out}", re.search(pattern, out))
        case.equal(f"pods of {name} that hold resources", status(case, name)["isReleased"], True)

    start(case, job(name="waits", spec={"workers": {"cpu": "5000"}}), "waits")
    phase(case, "waits", ("waiting",))
    stops("waits")
    case.equal("the phase", status(case, "waits")["phase"], "stopped")
    start(case, job(name="fails", code=3, spec={"lifecycle": {"retries": 5}}), "fails")
    state = phase(case, "fails", ("recovering",))
    check_message(case, state, "^recovering, attempt 2 of 6: training ended with code 3; ")
    stops("fails")
    case.equal("the phase", status(case, "fails")["phase"], "stopped")
    start(case, job(name="queued", seconds=600, spec=merge({"launcher": {"runsIn": "firstWorker"}}, {"workers": {"gpus": 0}})), "queued")
    phase(case, "queued", ("training", "running"))
    name = json.loads(case.kubectl("get", "jobs", "-l", "khorovod.dev/job=queued", "-o", "json").stdout)["items"][0]["metadata"]["name"]
    case.patch("batch/v1", "jobs", name, {"spec": {"suspend": True}})
    check_message(case, phase(case, "queued", ("queued",)), "^suspended: waiting for the controller or the person")
    stops("queued")
    start(case, job(name="ends"), "ends")
    khorovod(case, "wait", "ends", "--timeout", "90s")
    stops("ends", "ends has already ended: trained in .*; GPUs are released")
    case.equal("the phase", status(case, "ends")["phase"], "trained")


@play(long=True)
def commands_with_forty_pods(case):
    """The output of 40 pods, each of which prints its own lines: all of them arrive, each with its pod, and none twice."""
    program = "import os, time\nfor line in range(20):\n    print('line', line, 'of', os.environ['JAX_PROCESS_ID'], flush=True)\n    time.sleep(1)\ntime.sleep(600)\n"
    spec = {"launcher": {"kind": "jax"}, "workers": {"replicas": 40, "cpu": "1", "memory": "64Mi"}, "code": {"files": {"lines.py": program}},
            "command": ["python3", "/programs/lines.py"]}
    start(case, job(spec=spec))
    phase(case, "sum", ("training", "running"), 280)
    expected = sorted(f"[worker-{pod}] [rank{pod}]: line {line} of {pod}" for pod in range(40) for line in range(20))

    def lines(text):
        return sorted(re.findall(r"^\[worker-\d+\] .*line \d+ of \d+$", text, re.M))
    path = f"{case.overlay}.followed"
    with open(path, "w") as file:
        follower = subprocess.Popen([KHOROVOD, "logs", "-n", case.namespace, "sum", "-f"], stdout=file, stdin=subprocess.DEVNULL)

    def followed():
        with open(path) as file:
            return lines(file.read())
    case.until("last line of each pod", lambda: len(followed()) >= len(expected), 240)
    case.equal("the lines of logs -f", followed(), expected)
    out, _ = khorovod(case, "logs", "sum")
    case.check(f"without -f, {len(set(expected) - set(lines(out)))} lines are missing: {out[-300:]}", lines(out) == expected)
    out, _ = khorovod(case, "logs", "sum", "--rank", "17")
    case.check(f"rank 17 printed {out}", out.count(" of 17\n") == 20 and " of 16\n" not in out)
    khorovod(case, "stop", "sum", "--now")
    case.equal("the exit code of logs -f after the end", follower.wait(timeout=60), 0)


@play()
def commands_stop_and_run_again(case):
    """A training is stopped: its ranks get a signal, its devices are released, and `run` starts the same run again."""
    path = start(case, job(seconds=600))
    khorovod(case, "wait", "sum", "--for", "running", "--timeout", "90s")
    state = status(case, "sum")
    case.equal("devices held", [(one["held"], one["wanted"]) for one in state["gpus"]], [(8, 8)])
    out, _ = khorovod(case, "status", "sum")
    case.check(f"the page is {out}", "GPUs      8 of 8 held" in out and "2 of 2 Ready" in out)
    began = time.time()
    out, _ = khorovod(case, "stop", "sum")
    case.check(f"stop printed {out}", "is stopped, and its resources are released" in out)
    case.until("freed devices", case.freed, 5)
    case.notes.append(f"stopped after {time.time() - began:.0f} s")
    case.equal("the phase", status(case, "sum")["phase"], "stopped")
    khorovod(case, "wait", "sum", "--timeout", "5s", code=1)
    khorovod(case, "run", "--detach", path)
    phase(case, "sum", ("training", "running"))
    khorovod(case, "stop", "sum", "--now")
    case.until("freed devices", case.freed, 20)
    case.equal("the phase after --now", phase(case, "sum", ("stopped",), 30)["phase"], "stopped")


@play()
def commands_name_what_a_job_waits_for(case):
    """Each reason of the scheduler, the kubelet and admission, as this Kubernetes words it."""
    big = job(name="big", spec={"workers": {"replicas": 2, "cpu": "5000"}})
    start(case, big, "big")
    image = job(name="image", spec={"image": "registry.invalid/none:1", "workers": {"replicas": 1, "gpus": 0}})
    start(case, image, "image")
    secret = job(name="secret", spec={"workers": {"replicas": 1, "gpus": 0}, "env": {
        "KEY": {"secretKeyRef": {"name": "none", "key": "a"}}}})
    start(case, secret, "secret")
    claim = job(name="claim", spec={"workers": {"replicas": 1, "gpus": 0}, "storage": [
        {"name": "data", "mountPath": "/data", "claim": {"size": "1Gi", "storageClassName": "none"}}]})
    start(case, claim, "claim")

    def waits(name, pattern):
        case.until(f"{name}: {pattern} (the state is {status(case, name)['message']!r})",
                   lambda: re.search(pattern, status(case, name)["message"]), 60, every=0.5)
    waits("big", 'waiting for [12] of 2 workers: .*Pending for ".*insufficient cpu')
    waits("image", "waiting for .*cannot pull the image: .*registry.invalid/none:1")
    waits("secret", 'cannot start: secret "none" not found')
    waits("claim", r"Pending for .*PersistentVolumeClaims.*\(claim claim-\S* of storage class none is Pending\)")
    out, _ = khorovod(case, "list", "--active")
    case.equal("jobs in the list", sorted(line.split()[0] for line in out.splitlines()[1:]), ["big", "claim", "image", "secret"])
    for name in ("big", "claim", "image", "secret"):
        khorovod(case, "stop", name, "--now")
    case.kubectl("create", "quota", "few", "--hard=pods=1")
    start(case, job(name="quota", spec={"workers": {"replicas": 3, "gpus": 0}}), "quota")
    case.until("a quota in the status", lambda: "exceeded quota: few" in status(case, "quota")["message"], 60, every=0.5)


@play()
def commands_of_a_failure(case):
    """A job that fails: the exit code of `run`, the reason in the status, and the log of what failed."""
    path = f"{case.overlay}.yaml"
    with open(path, "w") as file:
        json.dump(job(seconds=0, code=3), file)
    out, err = khorovod(case, "run", "--kube-version", f"1.{MINOR}", path, code=1)
    case.check(f"run printed {err}", "failed (exit code 42): failed after 1 attempt; the last: training ended with code 3" in err)
    check_message(case, status(case, "sum"), "training ended with code 3; GPUs are released")
    case.check("the failed pod's log", "failed after 1 attempt" in khorovod(case, "logs", "sum", "--failed")[0])


@play()
def commands_with_torchrun(case):
    """Each pod of torchrun has its own output."""
    sleeper = "import os, time\nprint('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], flush=True)\ntime.sleep(20)\n"
    spec = {"launcher": {"kind": "torchrun"}, "workers": {"replicas": 6}, "code": {"files": {"sleep.py": sleeper}},
            "command": ["python3", "/programs/sleep.py"]}
    start(case, job(spec=spec))
    phase(case, "sum", ("training", "running"), 120)
    out, err = khorovod(case, "logs", "sum", "-f")
    for rank in range(6):
        case.check(f"rank {rank} is not in {out}{err}", f"[worker-{rank}] " in out and re.search(rf"rank {rank} of 6", out))
    out, _ = khorovod(case, "logs", "sum", "--rank", "3")
    case.check(f"rank 3 printed {out}", "rank 3 of 6" in out and "rank 2 of 6" not in out)
    khorovod(case, "wait", "sum", "--timeout", "60s")


@play()
def commands_for_a_reader(case):
    """For a user who may only read pods, the commands name what could not be read."""
    start(case, job(seconds=600))
    khorovod(case, "wait", "sum", "--for", "running", "--timeout", "90s")
    case.kubectl("create", "serviceaccount", "reader")
    case.kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    case.kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={case.namespace}:reader")
    token = case.kubectl("create", "token", "reader").stdout.strip()
    config = json.loads(case.kubectl("config", "view", "--raw", "--minify", "-o", "json").stdout)
    config["users"][0]["user"] = {"token": token}
    path = f"{case.overlay}.kubeconfig"
    with open(path, "w") as file:
        json.dump(config, file)
    words = ("--kubeconfig", path)
    _, err = khorovod(case, "logs", "sum", *words, code=1)
    case.check(f"logs printed {err}", "ask your cluster administrator" in err)
    state = status(case, "sum", *words)
    case.equal("the state", (state["phase"], state["workers"]["ready"]), ("running", 2))
    case.check(f"the notes are {state['notes']}", any("may not read configmaps" in note for note in state["notes"]))
    _, err = khorovod(case, "stop", "sum", *words, code=3)
    case.check(f"stop printed {err}", "ask your cluster administrator" in err)
    _, err = khorovod(case, "run", *words, f"{case.overlay}.job.yaml", code=3)
    case.check(f"run printed {err}", "nothing was applied" in err)
    # The role that Kubernetes has for readers.
    case.kubectl("create", "rolebinding", "viewer", "--clusterrole=view", f"--serviceaccount={case.namespace}:reader")
    state = status(case, "sum", *words)
    case.equal("the notes", state["notes"], [])
    case.check(f"the phase is {state['phase']}", state["phase"] in ("training", "running"))
    case.check("the launcher's log", "launching: " in khorovod(case, "logs", "sum", *words)[0])
    out, _ = khorovod(case, "list", *words)
    case.check(f"the list is {out}", re.search(r"^sum +\w{6} +(training|running) ", out, re.M))
    for stop in ("stop", "sum"), ("stop", "sum", "--now"):
        _, err = khorovod(case, *stop, *words, code=3)
        case.check(f"stop printed {err}", "ask your cluster administrator" in err)
    case.equal("the phase", status(case, "sum")["phase"] in ("training", "running"), True)


@play()
def commands_without_a_role(case):
    """Without permissions, the launcher writes no state, and the phase is derived from the pods."""
    start(case, job(seconds=20, spec=merge({"launcher": {"runsIn": "firstWorker"}}, {"security": {"apiAccess": False}})))
    state = phase(case, "sum", ("running",))
    check_message(case, state, "running: all pods are Ready")
    khorovod(case, "wait", "sum", "--timeout", "90s")
