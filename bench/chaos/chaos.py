"""Runs a segment of the chaos bench: chaos.py SEED SEGMENT FILE [SYSTEM FOLDER PROGRAM...], in a cluster. See README.md.

FILE gets a line of JSON for the segment, one for each fault, and one for each job. FOLDER and PROGRAM are the source and the program
of each controller of another system.
"""
import concurrent.futures
import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "tests", "cluster")]
import outages  # noqa: E402
from bounds import API, CONTINUES, CONTINUES_NODE, CUT, DETECTION, DNS, PAUSES, PULL, TRAINED, bound, cost  # noqa: E402
from case import ROOT, IMAGE, Failed, FieldMissing, World, job, merge  # noqa: E402
from faults import evict, first_process, processes  # noqa: E402
from peers import SYSTEMS  # noqa: E402
from training import RANKS, STALL_FIELD, JobCase, Training, backoff  # noqa: E402

# The jobs: shape, spares and nodes. A node that ends stays dead, so each job has a node more than it needs.
JOBS = {"spare-1": ("set", 1, 5), "spare-2": ("set", 1, 5), "plain": ("set", 0, 5), "indexed": ("job", 0, 4)}
NODES = sum(nodes for _, _, nodes in JOBS.values())
# Faults that hit all jobs, and those of which each segment has more than one.
GLOBAL = {"dns-refused": (outages.dns_refused, DNS), "dns-silent": (outages.dns_silent, DNS), "api-away": (outages.api_away, API)}
TWICE = ("worker-node", "launcher-node")
CHEAP = ("worker-killed", "launcher-killed", "rank-crashed", "eviction")
# Faults that end the pod that they hit.
POD_ENDS = ("worker-killed", "worker-node", "launcher-killed", "launcher-node", "eviction", "image-pull")
# A cut needs a launcher that is on another node than both ranks.
SET_ONLY = ("cut-workers", "cut-launcher")
# No fault starts after this time, so that a segment takes less than 30 minutes.
LIMIT = int(os.environ.get("LIMIT", 22 * 60))


def plan(rng, stall):
    """The faults of each job, in their order, and those of all jobs."""
    kinds = [k for k in (*DETECTION, "cut-workers") if stall or k != "rank-stopped"]
    kinds += [*TWICE, *rng.sample(CHEAP, 2)]
    rng.shuffle(kinds)
    chosen = {name: [] for name in JOBS}
    # A job loses at most one node.
    for kind in sorted(kinds, key=lambda k: (k not in TWICE, k not in SET_ONLY)):
        fit = [name for name in JOBS if (kind not in TWICE or not set(chosen[name]) & set(TWICE))
               and (kind not in SET_ONLY or JOBS[name][0] == "set")]
        chosen[rng.choice([n for n in fit if len(chosen[n]) == min(len(chosen[m]) for m in fit)])].append(kind)
    for kinds in chosen.values():
        rng.shuffle(kinds)
    return chosen, rng.sample(list(GLOBAL), len(GLOBAL))


# The faults of one job: each gets the training, the pod that it hits, another pod, and a stack for what is repaired when the
# ranks run again.


def number(pod):
    return int(pod["spec"]["nodeName"].removeprefix("node-"))


def kill(training, pod, *_):
    os.kill(first_process(pod), signal.SIGKILL)


def kill_node(training, pod, *_):
    outages.kill_node(number(pod))
    training.case.note_lost_node(number(pod))


def rank_process(pod):
    return next(process for process, _, command in processes(pod) if command.split()[1:] == ["/programs/train.py"])


def to_rank(what):
    return lambda training, pod, *_: os.kill(rank_process(pod), what)


def fill_disk(training, pod, *_):
    """Fills the disk until the rank has ended."""
    rank = rank_process(pod)
    training.case.execute(pod["metadata"]["name"], "cat /dev/zero >/dev/shm/full")
    training.case.until("end of the rank", lambda: not outages.is_running(rank), 60)
    training.case.execute(pod["metadata"]["name"], "rm -f /dev/shm/full")


def delete(training, pod, *_):
    """Deletes a worker, and lets no node of the job pull the image of its replacement."""
    living = [n for n in training.nodes if f"node-{n}" not in training.case.dead]
    with outages.image_missing(living, IMAGE):
        training.case.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false")
        time.sleep(PULL)


def cut_workers(training, pod, other, stack):
    with outages.cut(number(pod), number(other)):
        time.sleep(CUT)


def cut_launcher(training, pod, other, stack):
    if number(training.launcher()) == number(pod):
        raise Failed("the launcher runs on the node of the worker")
    stack.enter_context(outages.cut(number(training.launcher()), number(pod)))


INJECT = {
    "worker-killed": kill, "worker-node": kill_node, "launcher-killed": kill, "launcher-node": kill_node,
    "rank-crashed": to_rank(signal.SIGKILL), "rank-stopped": to_rank(signal.SIGSTOP), "disk-full": fill_disk,
    "eviction": lambda training, pod, *_: evict(training.case, pod), "image-pull": delete,
    "cut-workers": cut_workers, "cut-launcher": cut_launcher}


def victims(training, kind, rng):
    """The pod that a fault hits, and that of another rank."""
    pods = [training.rank_pod(rank) for rank in range(RANKS)]
    launcher = training.launcher()
    if kind.startswith("launcher-"):
        return launcher, pods[0]
    if kind == "disk-full":
        # The rank that saves the checkpoint.
        return pods
    rng.shuffle(pods)
    # A worker that does not share its node with the launcher, if there is one.
    return sorted(pods, key=lambda p: training.shape == "set" and number(p) == number(launcher))


def strike(training, kind, rng):
    """Injects a fault into a job, and waits until the job trains again; returns the line of data."""
    pod, other = victims(training, kind, rng)
    hosts = [number(training.rank_pod(rank)) for rank in range(RANKS)]
    how = {"shape": training.shape, "spare": training.has_spare(), "backoff": backoff(training, kind, pod),
           "shared": training.shape == "set" and kind == "launcher-node" and number(pod) in hosts}
    before, _ = training.launch()
    lost_launcher = kind in POD_ENDS and pod["metadata"]["uid"] == training.launcher()["metadata"]["uid"]
    struck = time.time()
    with contextlib.ExitStack() as stack:
        INJECT[kind](training, pod, other, stack)
        lasts = time.time()
        allowed = CONTINUES_NODE if kind.endswith("-node") else CONTINUES

        def again():
            launch, first = training.launch()
            if training.ended():
                return "ended"
            return training.made[-1][0] > lasts if kind in PAUSES else launch != before and first > struck
        end = time.time() + allowed
        while not (found := again()) and time.time() < end:
            time.sleep(0.3)
    survived = found is True and training.until_trained(time.time(), rng.uniform(*TRAINED), CONTINUES)
    line = {"fault": kind, "job": training.name} | how | {"time": struck, "survived": survived}
    line |= effect(training, struck)
    line["detected"] = after(training.detected(struck, lost_launcher), struck) if kind in DETECTION else None
    line |= {"bound": bound(kind, **how), "idle": idle(training, struck)}
    training.cost += cost(kind, **how)
    return line if survived else line | {"why": intervene(training, struck)}


def idle(training, since):
    """The share of the processor time since then that was idle: on a busy machine, everything takes longer."""
    was_idle, all = training.case.world.idled(since, time.time())
    return round(was_idle / all, 2)


def intervene(training, struck):
    """Lets a person start a lost run again; returns what explains the loss."""
    why = training.case.explain()[-3000:]
    try:
        training.intervene(struck)
    except Failed as error:
        why += f"\n{error}"
    return why


def after(moment, since):
    return None if moment is None else round(moment - since, 2)


def effect(training, struck):
    """The effects of a fault on the steps of a job: launches, lost steps, the last first step, and the longest time between two."""
    made = training.steps()
    first = next((i for i, step in enumerate(made) if step[0] > struck), len(made))
    seen = made[max(0, first - 1):]
    starts = [(a, b) for a, b in zip(seen, seen[1:]) if a[1] != b[1]]
    return {"launches": len(starts), "lost": sum(max(0, a[2] - b[2] + 1) for a, b in starts),
            "again": after(starts[-1][1][0], struck) if starts else None,
            "pause": round(max((b[0] - a[0] for a, b in zip(seen, seen[1:])), default=0), 2)}


def strike_all(trainings, kind, rng):
    """Injects a fault into the cluster; returns a line with the worst that it did to a job."""
    outage, seconds = GLOBAL[kind]
    struck = time.time()
    with outage():
        time.sleep(seconds)
    back = time.time()
    # Controllers and kubelets may judge a pod after the outage.
    time.sleep(20)
    survived = {t: t.until_trained(back, rng.uniform(*TRAINED), CONTINUES) for t in trainings}
    effects = [effect(t, struck) for t in trainings]
    line = {"fault": kind, "job": "all", "time": struck, "survived": all(survived.values()), "bound": bound(kind)}
    line |= {key: max((e[key] for e in effects if e[key] is not None), default=None) for key in effects[0]}
    for training in (t for t in trainings if not survived[t]):
        line["why"] = intervene(training, struck)
    return line | {"idle": idle(trainings[0], struck)}


def has_stall(world):
    """Whether this khorovod ends an attempt that hangs."""
    case = JobCase(world, "chaos-fields")
    try:
        case.render(job(spec=merge({"lifecycle": {"checkpoint": {"signal": "SIGUSR1", "gracePeriod": "10s"}}}, STALL_FIELD)))
        return True
    except FieldMissing:
        return False
    finally:
        case.close()


def main(seed, segment, path, system="khorovod", *parts):
    world, began, lock = World(), time.time(), threading.Lock()
    if parts:
        SYSTEMS[system].start(*zip(parts[::2], parts[1::2]))
        time.sleep(8)
    stall = has_stall(world)
    with open(path, "w") as file:
        def write(line):
            with lock:
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(f"{time.time() - began:6.0f} s  " + json.dumps({k: v for k, v in line.items() if k != "why"}), flush=True)
        local, common = plan(random.Random(f"{seed}/{segment}"), stall)
        write({"segment": segment, "seed": seed, "system": system, "commit": os.environ["COMMIT"],
               "kubernetes": os.environ["KUBERNETES"], "cpus": os.cpu_count(), "left_out": [] if stall else ["rank-stopped"]})
        nodes, trainings = list(range(1, NODES + 1)), []
        for name, (shape, spares, count) in JOBS.items():
            # Jobs of other systems have one shape, and no spares.
            how = ("set", 0) if parts else (shape, spares)
            trainings.append(Training(world, name, *how, nodes[:count], stall and not parts, system))
            del nodes[:count]
        for training in trainings:
            training.begin()

        def act(training):
            rng = random.Random(f"{seed}/{segment}/{training.name}")
            training.until_trained(time.time(), rng.uniform(*TRAINED), CONTINUES)
            for kind in local[training.name]:
                if time.time() - began < LIMIT:
                    try:
                        write(strike(training, kind, rng))
                    except Exception:
                        # A fault that could not be injected or measured is not a result, but is reported.
                        write({"error": kind, "job": training.name, "why": traceback.format_exc().replace(f"{ROOT}/", "")})
                        training.until_trained(time.time(), rng.uniform(*TRAINED), CONTINUES)
        with concurrent.futures.ThreadPoolExecutor(len(trainings)) as pool:
            list(pool.map(act, trainings))
        rng = random.Random(f"{seed}/{segment}/all")
        for kind in common:
            if time.time() - began < LIMIT:
                write(strike_all(trainings, kind, rng))
        until = time.time()
        with concurrent.futures.ThreadPoolExecutor(len(trainings)) as pool:
            for line in pool.map(lambda training: training.end(until), trainings):
                write(line)


main(*sys.argv[1:])
