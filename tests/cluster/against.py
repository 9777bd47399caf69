#!/usr/bin/env python3
"""The tests of the defects that a review found in the commit 4a23c3f. against.sh runs them with khorovod as it was then.

    against.py names [PATTERN...]       prints the names of the tests, all or those that match
    against.py render NAME...           renders the specs of tests with the program KHOROVOD, without a cluster
    against.py verdicts LOG NAME...     judges the tests by the log of test.sh
    against.py check                    checks this file and old_names.py with the present version, KHOROVOD; needs no cluster
"""
import fnmatch
import os
import re
import sys
import tempfile
from types import SimpleNamespace

# Per test: the finding of the review, and the message of the test if it fails because of that defect. Two more findings have a
# test, which that version passes: A16, an earlier text that is applied again starts nothing, which `plan` describes now; and C17,
# which keys pods mount, where the docs were wrong.
LAUNCHED_AGAIN = r"launches: [2-9], not 1|the end: 'Failed', not 'Complete'"
NO_SIGNAL = r"ranks that got SIGUSR1: \[\], not \[0, 1\]"
DEFECTS = {
    # A lost node ends the run.
    "node-of-worker-fails-without-spare": ("A1", "no another start of 2 ranks within"),
    "node-of-worker-fails-with-spare": ("A1", "no another start of 2 ranks within"),
    "node-of-indexed-job-fails": ("A1", "no launch 2 of 2 ranks within"),
    # Devices stay in use if the launcher is gone.
    "node-of-launcher-fails": ("A2", "no another launcher within"),
    "launcher-cannot-return": ("A2", "no freed devices within"),
    "job-deleted-while-uploading": ("A2", "no freed devices within|devices free .* s later"),
    # An outage of DNS ends the attempt.
    "dns-servfail-while-training": ("A3", LAUNCHED_AGAIN),
    "dns-refused-while-training": ("A3", LAUNCHED_AGAIN),
    "dns-silent-while-training": ("A3", LAUNCHED_AGAIN),
    "dns-servfail-while-elastic": ("A3", "starts of rank 0: [2-9], not 1|the end: 'Failed', not 'Complete'|no end of the job within"),
    # A training that has ended with success is started again.
    "finished-run-is-not-trained-again": ("A4", LAUNCHED_AGAIN),
    # The eviction of index 0 ends all agents, and Kubernetes starts them late.
    "torchrun-first-pod-evicted": ("A5", "no ranks again within|ranks run .* after the eviction"),
    # Ranks get no signal for a checkpoint.
    "worker-drained": ("A6", NO_SIGNAL),
    "deadline-with-checkpoint": ("A6", NO_SIGNAL),
    # The results are not uploaded.
    "results-are-uploaded-at-the-deadline": ("A7", "the results: None, not"),
    # The eviction of the launcher ends the workers.
    "launcher-drained": ("A8", r"workers: \["),
    # The launcher reads the number of retries only once.
    "retries-reread": ("A9", "no launch 2 of 2 ranks within"),
    # The keys of a run change.
    "applied-with-other-keys": ("A11", "kubectl did not refuse the other keys"),
    # SIGUSR1 ends a launcher that waits for workers.
    "signal-without-training": ("A12", "the launcher: |it waits on"),
    # The launcher waits for the API server for 60 seconds only.
    "api-server-away-at-start": ("A13", "no ranks after the outage within|the launcher that waited: "),
    # Open MPI ends the ranks if it does not reach them for 8 seconds.
    "network-of-launcher-lost": ("A14", LAUNCHED_AGAIN),
    # Two launchers start ranks at the same time.
    "two-launchers": ("A15", "ranks of the first launcher ran|launches: [3-9], not 2"),
    # The upload is tried for 16 seconds only.
    "s3-away-at-the-end": ("C18", "the end: 'Failed', not 'Complete'"),
}
# Messages that show no defect.
UNCLEAR = [
    "khorovod render ended with 1: error[wrong-type]: `spec.launcher` is text",
    "`spec.workers` has no field `slotsPerWorker`; `spec.lifecycle` has no field `retries`",
    "no launch 1 of 2 ranks within 120 s",
    "no start of 2 ranks within 120 s",
    "0 Jobs with tolerations",
    "no end of all pods within 130 s",
    "kubectl -n sum delete secret sum-ssh ended with 1: Error from server (NotFound)",
    "Traceback (most recent call last):",
]
RESULT = re.compile(r"(ok   |FAIL ) +([0-9.]+ s)  ([a-z0-9-]+):? *(.*)")


def names(patterns):
    """The tests that match at least one of the patterns."""
    unknown = [p for p in patterns if not fnmatch.filter(DEFECTS, p)]
    if unknown:
        sys.exit(f"against.py does not define how these tests fail with an old version: {' '.join(unknown)}. It does for "
                 f"{' '.join(DEFECTS)}")
    return [name for name in DEFECTS if not patterns or any(fnmatch.fnmatch(name, p) for p in patterns)]


def verdict(name, lines):
    """Judges one test by the lines of the log with its result: `failed`, `passed` or `unclear`, the time, and the message."""
    _, pattern = DEFECTS[name]
    if len(lines) != 1:
        return "unclear", "", f"the log has {len(lines)} results of this test"
    word, took, _, message = lines[0]
    if word == "ok   ":
        return "unclear" if "left out: " in message else "passed", took, message
    return "failed" if re.match(pattern, message) else "unclear", took, message


def judge(log, chosen):
    """Prints a line per test; returns whether all failed because of their defects."""
    with open(log) as file:
        lines = [found.groups() for found in map(RESULT.match, file) if found]
    verdicts = []
    for name in chosen:
        word, took, message = verdict(name, [line for line in lines if line[2] == name])
        print(f"{word:7}  {DEFECTS[name][0]:3}  {name:36} {took:>8}  {message}".rstrip())
        verdicts.append(word)
    print(f"{verdicts.count('failed')} of {len(verdicts)} tests fail because of their defects, "
          f"{verdicts.count('passed')} pass, {verdicts.count('unclear')} are unclear")
    return all(word == "failed" for word in verdicts)


def render(chosen, state):
    """Renders the specs of tests; returns whether the program accepts all of them, and the rows of old_names.py that they use."""
    os.environ |= {"STATE": state, "HOME_URL": "s3", "SERVER": "https://none", "IMAGE": "localhost/worker:1", "KUBERNETES": "1.34.3"}
    import case
    import evictions
    import lost_nodes
    import lost_servers
    import old_names

    class Rendered(Exception):
        """The test has rendered its objects."""

    class WithoutCluster(case.Case):
        """A case whose test ends when it applies its first objects."""
        used = set()

        def __init__(self, name):
            self.namespace, self.overlay, self.notes, self.lent_nodes = name, os.path.join(state, name), [], []
            self.world = SimpleNamespace(spare_nodes=[4, 5, 6])
            self.cluster = SimpleNamespace(call=lambda *words: {})

        def kubectl(self, *words, text=None, check=True):
            return SimpleNamespace(returncode=0, stdout="", stderr="")

        def render(self, job, *words, **more):
            text = super().render(job, *words, **more)
            WithoutCluster.used |= old_names.renamed_fields(job["spec"])
            return text

        def apply(self, text, *words):
            raise Rendered

    lost_servers.request = lambda *words, **more: None
    plays = {play.name: play for module in (evictions, lost_nodes, lost_servers) for play in case.marked(module)}
    passed = True
    for name in chosen:
        test, failure = WithoutCluster(name), "the test applied no objects"
        try:
            plays[name].act(test)
        except Rendered:
            failure = None
        except case.Failed as error:
            failure = str(error)
        print(f"FAIL  {name}: {failure}" if failure else "   ".join([f"ok    {name}", *test.notes]))
        passed = passed and not failure
    return passed, WithoutCluster.used


def check(state):
    """Checks that the present version accepts the specs, that these have each field of old_names.py, which may have yet another name
    now, and that a message that shows no defect counts as unclear. Returns whether all of this holds."""
    import old_names
    passed, used = render(names([]), state)
    for name in (name for name, _, _ in old_names.OLD_NAMES if name not in used):
        print(f"FAIL  no test uses the field {name} of old_names.py: it may have another name now")
        passed = False
    for name, message in ((name, message) for name in DEFECTS for message in UNCLEAR):
        line = RESULT.match(f"FAIL     7.0 s  {name}: {message}").groups()
        if verdict(name, [line])[0] != "unclear":
            print(f"FAIL  {name}: this message does not show the defect: {message}")
            passed = False
    return passed


def main(act, *words):
    if act == "names":
        print(*names(words), sep="\n")
    elif act == "render":
        with tempfile.TemporaryDirectory() as state:
            sys.exit(not render(words or names([]), state)[0])
    elif act == "check":
        with tempfile.TemporaryDirectory() as state:
            sys.exit(not check(state))
    elif act == "verdicts":
        sys.exit(not judge(words[0], words[1:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*(sys.argv[1:] or [""]))
