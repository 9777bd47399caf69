"""Writes results.md, and the measured times in docs/failures.md and for the timeline, from all files in data/: report.py. Exits with 1 if a limit is not
met. report.py --check writes nothing, and exits with 1 if a page would change."""
import collections
import glob
import json
import os
import re
import statistics
import sys

from bounds import (AFTER_DETECTION, GOODPUT, INTERVENTION, KINDS, PAUSES, RELEASED, RELEASED_AFTER_OUTAGE, allowed, goodput)

HERE = os.path.dirname(os.path.abspath(__file__))
FAILURES = os.path.join(HERE, "..", "..", "docs", "failures.md")
MEASURED = os.path.join(HERE, "..", "..", "src", "compiler", "timeline", "measured.txt")
# The faults that cost a worker, which a spare replaces.
REPLACED = ("worker-killed", "worker-node", "cut-launcher", "image-pull")
# The other systems and their titles, in the order of the report.
PEERS = {"mpi-operator": "MPI Operator", "jobset": "JobSet", "trainer": "Trainer"}
# Remarks on the data of a system.
NOTES = {"jobset": "The segments have only the faults of single jobs. While the first one ran, other test clusters used the same two processors, so its "
                   "times are longer than alone, and its goodput is lower:\n[With other systems](README.md#with-other-systems)."}


def load():
    """The segments by system; each is its first line, its faults and its jobs."""
    systems = collections.defaultdict(list)
    for path in sorted(glob.glob(os.path.join(HERE, "data", "*.jsonl"))):
        with open(path) as file:
            head, *lines = map(json.loads, file)
        systems[head["system"]].append(head | {
            "faults": [line for line in lines if "fault" in line], "jobs": [line for line in lines if "steps" in line],
            "errors": [line for line in lines if "error" in line]})
    return systems


def spread(numbers):
    """The median and the maximum."""
    numbers = [n for n in numbers if n is not None]
    return f"{statistics.median(numbers):.1f} ({max(numbers):.1f})" if numbers else ""


def since_detection(fault):
    return None if None in (fault.get("detected"), fault["again"]) else fault["again"] - fault["detected"]


def is_within(fault):
    """Whether the ranks ran within the bound. A pause of a second is also that of a busy machine."""
    if fault["fault"] in PAUSES:
        return not fault["launches"] and fault["pause"] <= sum(fault["bound"]) + 1
    return fault["survived"] and fault["again"] <= sum(fault["bound"])


def variant(fault):
    if fault["job"] == "all":
        return "all jobs"
    return "Indexed Job" if fault["shape"] == "job" else "with a spare" if fault["spare"] else "without a spare"


def by_kind(faults, bounds=True):
    groups = collections.defaultdict(list)
    for fault in faults:
        groups[KINDS.index(fault["fault"]), variant(fault) if bounds else ""].append(fault)
    lines = ["| Fault | Job | Faults | Runs that went on | Detected after | First step after detection | First step after the fault |"
             + (" Bound | Within it |" if bounds else ""), "|---|---|---|---|---|---|---|" + ("---|---|" if bounds else "")]
    for (kind, job), group in sorted(groups.items()):
        kind = KINDS[kind]
        if kind in PAUSES and not any(fault["launches"] for fault in group):
            after = f"no restart; longest pause {max(fault['pause'] for fault in group):.1f}"
        else:
            after = spread([fault["again"] for fault in group])
        lines.append(f"| `{kind}` | {job} | {len(group)} | {sum(f['survived'] for f in group)} | "
                     f"{spread([f.get('detected') for f in group])} | {spread(map(since_detection, group))} | {after} |"
                     + (f" {max(sum(f['bound']) for f in group):.0f} | {sum(map(is_within, group))} |" if bounds else ""))
    return lines


def total(jobs):
    """The goodput of several jobs, and the allowed one: weighted by the GPU time that they held."""
    held = sum(job["held"] for job in jobs)
    spec = sum(job["held_of_spec"] for job in jobs)
    return sum(goodput(job) * job["held"] for job in jobs) / held, sum(allowed(job) * job["held_of_spec"] for job in jobs) / spec


def by_job(segments):
    groups = collections.defaultdict(list)
    for segment in segments:
        for job in segment["jobs"]:
            groups[f"`{job['job']}`"].append(job)
            groups[f"seed `{segment['seed']}`"].append(job)
            groups["all"].append(job)
    lines = ["| Jobs | Goodput | Allowed | Share of it |", "|---|---|---|---|"]
    for name, jobs in sorted(groups.items(), key=lambda item: (item[0] == "all", item[0])):
        measured, most = total(jobs)
        lines.append(f"| {name} | {measured:.3f} | {most:.3f} | {measured / most:.0%} |")
    return lines


def by_outage(segments):
    """How long after the end of the training the devices of a job were free: whether the API server had been away just before, the
    times, the number of jobs whose devices did not become free, and the bound."""
    groups = {True: [], False: []}
    for segment in segments:
        common = [fault["fault"] for fault in segment["faults"] if fault["job"] == "all"]
        groups[common[-1:] == ["api-away"]] += [job.get("freed") for job in segment["jobs"]]
    for away, words, bound in ((False, "", RELEASED), (True, ", if the API server was away just before", RELEASED_AFTER_OUTAGE)):
        freed = [seconds for seconds in groups[away] if seconds is not None]
        if groups[away]:
            yield words, freed, len(groups[away]) - len(freed), bound


def summary(segments):
    faults = [fault for segment in segments for fault in segment["faults"]]
    jobs = [job for segment in segments for job in segment["jobs"]]
    lost = sum(not fault["survived"] for fault in faults) + sum(job["ended"] != "complete" for job in jobs)
    measured, most = total(jobs)
    spares = [since_detection(f) for f in faults if f["fault"] in REPLACED and f["spare"] and since_detection(f) is not None]
    restarted = sum(fault["launches"] > 0 for fault in faults if fault["fault"] in PAUSES)
    median = statistics.median(spares) if spares else None
    limits = [("runs lost", str(lost), "0", lost == 0),
              ("goodput, share of what the bounds allow", f"{measured / most:.0%}", f"{GOODPUT:.0%}", measured >= GOODPUT * most),
              ("with a spare, from the detection of a lost worker to the first step, median", f"{median} s" if median is None else
               f"{median:.1f} s", f"{AFTER_DETECTION} s", median is not None and median <= AFTER_DETECTION),
              ("outages in which ranks were started again", str(restarted), "0", restarted == 0)]
    for words, freed, never, bound in by_outage(segments):
        limits.append((f"from the end of the training until the GPUs are free{words}, median (maximum) of {len(freed) + never} jobs",
                       f"{spread(freed)} s" + (f", and {never} not within a minute" if never else ""), f"{bound} s",
                       not never and max(freed) <= bound))
    left_out = sorted({kind for segment in segments for kind in segment["left_out"]})
    errors = [error["error"] for segment in segments for error in segment["errors"]]
    seeds, commits = (", ".join(sorted({segment[key] for segment in segments})) for key in ("seed", "commit"))
    lines = [f"{len(faults)} faults in {len(segments)} segments with the seeds {seeds}, on Kubernetes {segments[0]['kubernetes']} and "
             f"{segments[0]['cpus']} CPUs; commits {commits}."]
    lines += [f"Left out: {', '.join(left_out)}, because this version lacks the field that it needs."] if left_out else []
    lines += [f"Could not be injected or measured: {', '.join(errors)}."] if errors else []
    lines += ["", "| What must hold | Measured | Limit | |", "|---|---|---|---|"]
    lines += [f"| {what} | {is_} | {limit} | {'met' if met else '**not met**'} |" for what, is_, limit, met in limits]
    lines += ["", *by_kind(faults), "", "## Goodput", "", *by_job(segments)]
    return lines, all(met for *_, met in limits)


# The words of docs/failures.md for the kinds of faults.
WORDS = {
    "rank-crashed": "a rank is killed", "rank-stopped": "a rank hangs", "worker-killed": "a worker is killed",
    "worker-node": "the node of a worker fails", "eviction": "a worker is evicted",
    "image-pull": "a worker is deleted, and the image of the next one cannot be pulled for 40 s",
    "cut-launcher": "the network between the launcher and a worker fails", "launcher-killed": "the launcher is killed",
    "launcher-node": "the node of the launcher fails", "disk-full": "a checkpoint cannot be written, because the disk is full",
}
# The same for the faults of the whole cluster, and for a pause without a restart.
OUTAGES = {
    "dns-refused": "DNS refuses connections for 30 s", "dns-silent": "DNS does not answer for 30 s", "api-away": "the API server is away for 3 minutes",
    "cut-workers": "the network between two workers fails for 20 s",
}
VARIANTS = ("with a spare", "without a spare", "Indexed Job")


def by_fault(segments):
    """How long after each fault the ranks run again, by the kind of the fault and of the job."""
    times = collections.defaultdict(list)
    for fault in (fault for segment in segments for fault in segment["faults"] if fault["again"] is not None):
        times[fault["fault"], variant(fault)].append(fault["again"])
    return times


def for_timeline(segments):
    """The same table for the timeline of the preview page."""
    lines = ["# How long after a fault the ranks ran again: the median and the maximum, in seconds. Written by bench/chaos/report.py.", ""]
    for (kind, job), found in sorted(by_fault(segments).items()):
        if job in VARIANTS:
            lines.append(f"{kind} | {('spare', 'set', 'job')[VARIANTS.index(job)]} | {statistics.median(found):.1f} | {max(found):.1f}")
    return lines


def for_docs(segments):
    """The table of docs/failures.md: how long after each fault the ranks run again."""
    times = by_fault(segments)
    lines = ["| Fault | With a spare | Without a spare | Indexed Job |", "|---|---|---|---|"]
    for kind, words in WORDS.items():
        cells = [spread(times[kind, each]) for each in VARIANTS]
        if any(cells):
            lines.append(f"| {words} | {' | '.join(cells)} |")
    return lines


def of_peer(name, segments):
    """The section of another system."""
    faults = [fault for segment in segments for fault in segment["faults"]]
    jobs = [job for segment in segments for job in segment["jobs"]]
    errors = [error["error"] for segment in segments for error in segment["errors"]]
    lost = sum(not fault["survived"] for fault in faults)
    lines = ["", f"## {PEERS[name]}", "",
             f"{len(faults)} faults in {len(segments)} segment{'s' if len(segments) > 1 else ''}; {lost} of them needed a person. A person intervenes {INTERVENTION} s after a fault that the run "
             "does not survive. Detected is the start of the next pod. A job that had not\nrecovered from its last fault "
             "when a fault of the whole cluster began counts as lost again.", ""]
    lines += [NOTES[name], ""] if name in NOTES else []
    lines += [f"Could not be injected or measured: {', '.join(errors)}.", ""] if errors else []
    lines += [*by_kind(faults, bounds=False), ""]
    return lines + ([f"Goodput: {total(jobs)[0]:.3f}."] if jobs else [])


def compared(systems):
    """The table of docs/failures.md for all systems: how many runs went on after each fault, and the median time until their ranks ran."""
    names = [name for name in ("khorovod", *PEERS) if systems[name]]
    groups = {name: collections.defaultdict(list) for name in names}
    for name in names:
        for fault in (fault for segment in systems[name] for fault in segment["faults"]):
            groups[name][fault["fault"]].append(fault)

    def cell(group):
        if not group:
            return ""
        again = [fault["again"] for fault in group if fault["survived"] and fault["again"] is not None]
        return f"{sum(fault['survived'] for fault in group)} of {len(group)}" + (f", {statistics.median(again):.1f} s" if again else "")
    lines = ["| Fault | " + " | ".join(PEERS.get(name, name) for name in names) + " |", "|---" * (len(names) + 1) + "|"]
    for kind, words in (WORDS | OUTAGES).items():
        if any(groups[name][kind] for name in names if name != "khorovod"):
            lines.append(f"| {words} | " + " | ".join(cell(groups[name][kind]) for name in names) + " |")
    # Without the goodput, because the data of some systems lack the faults of the whole cluster.
    everything = {name: [fault for group in groups[name].values() for fault in group] for name in names}
    lines.append("| all faults | " + " | ".join(
        f"{sum(fault['survived'] for fault in everything[name])} of {len(everything[name])}" for name in names) + " |")
    return lines


def main():
    systems = load()
    lines = ["# Results of the chaos bench", "",
             "`python3 bench/chaos/report.py` writes this page; [README.md](README.md) explains it. All times are in seconds: the",
             "median, then the maximum.", ""]
    met = True
    if systems["khorovod"]:
        lines_of_summary, met = summary(systems["khorovod"])
        lines += lines_of_summary
    for name in PEERS:
        if systems[name]:
            lines += of_peer(name, systems[name])
    with open(FAILURES) as file:
        docs = file.read()
    tables = iter((for_docs(systems["khorovod"]), compared(systems)))
    docs = re.sub(r"(<!-- measured: bench/chaos/report\.py -->\n).*?(\n<!-- end of measured -->)",
                  lambda found: found[1] + "\n" + "\n".join(next(tables)) + "\n" + found[2], docs, flags=re.S)
    pages = {os.path.join(HERE, "results.md"): "\n".join(lines) + "\n",
             MEASURED: "\n".join(for_timeline(systems["khorovod"])) + "\n", FAILURES: docs}
    for path, text in pages.items():
        with open(path) as file:
            changed = file.read() != text
        if "--check" not in sys.argv:
            with open(path, "w") as file:
                file.write(text)
        elif changed:
            sys.exit(f"{os.path.relpath(path)} is not what bench/chaos/report.py writes")
    sys.exit(not met and "--check" not in sys.argv)


main()
