#!/usr/bin/env python3
"""Runs tests on a running cluster: run.py [NAME...]. The default is all; a name may end in `*`; --quick skips slow tests, and
--long runs only those. See README.md."""
import concurrent.futures
import fnmatch
import os
import subprocess
import sys
import time
import traceback

import commands
import ends
import evictions
import examples
import faults
import gangs
import host_network
import lost_nodes
import lost_servers
import network
import other_mpi
import released
import rows
import topology
import two_faults
import without_ipv4
from case import Case, Failed, TooOld, World, marked

AT_ONCE = int(os.environ.get("AT_ONCE", 3))
# Whether a test that fails beside others does not run again.
ONCE = "ONCE" in os.environ
# Tests that mostly wait run in addition to those.
WAITING = int(os.environ.get("WAITING", 2 * AT_ONCE))
# These start first, so that none of them runs alone at the end.
TAKE_LONG = ("example-elastic", "example-preflight", "example-torchrun", "free-after-deadline-set")
# With QUICK=1, as in `make test`, these do not run. Others test the same part of khorovod with another launcher, MPI or shape of job, or
# the runtime tests do.
ONLY_IN_TEST_ALL = (
    "commands-as-recorded", "commands-stop-in-each-phase", "commands-with-torchrun", "commands-without-a-role",
    "free-after-deadline-job", "free-after-failure-job", "host-network-elastic", "host-network-gloo", "host-network-torchrun",
    "host-network-torchrun-elastic", "intelmpi-in-both-shapes", "intelmpi-on-the-host-network", "mpich-in-both-shapes",
    "mpich-on-the-host-network")


def act(world, play, mark=""):
    """Runs one test and returns whether it passed; prints an explanation if it failed."""
    began, case, failure = time.time(), None, None
    try:
        case = Case(world, play.name + mark, play.level, alone=bool(mark))
        play.act(case)
        if case.release:
            world.releases[play.name] = case.release
    except TooOld:
        world.too_old += 1
        case.notes.append("left out: it requires a newer Kubernetes, and khorovod reported that")
    except Failed as error:
        failure = str(error)
    except Exception:
        failure = traceback.format_exc()
    took = time.time() - began
    notes = f"   {'; '.join(case.notes)}" if case and case.notes else ""
    if failure or not any(note.startswith("left out") for note in case.notes):
        world.results[play.name] = play.test, failure is None
    if failure is None:
        print(f"ok    {took:6.1f} s  {play.name}{mark}{notes}", flush=True)
    else:
        try:
            why = case.explain() if case else ""
        except Exception as error:
            why = f"--- no explanation: {error}"
        # A test that failed beside others runs again by itself.
        word = "FAIL " if play.alone or mark or ONCE else "again"
        print(f"{word} {took:6.1f} s  {play.name}{mark}: {failure}{notes}\n{why}", flush=True)
    try:
        if case:
            case.close()
    except Exception as error:
        print(f"      {play.name}: its namespace stays: {error}", flush=True)
    return failure is None


def note(*words):
    return subprocess.run([os.path.join(os.path.dirname(__file__), "../note.sh"), *words]).returncode == 0


def running(part):
    with open(f"{os.environ['STATE']}/{part}.pid") as file:
        return os.path.exists(f"/proc/{file.read().strip()}/exe")


def main(names):
    every = examples.plays() + ends.plays() + faults.plays() + other_mpi.plays() + two_faults.plays()
    for module in (commands, rows, faults, evictions, lost_nodes, lost_servers, network, host_network, topology,
                   two_faults, gangs):
        every += marked(module)
    missing = {*TAKE_LONG, *ONLY_IN_TEST_ALL} - {p.name for p in every}
    if missing:
        sys.exit(f"TAKE_LONG or ONLY_IN_TEST_ALL names {', '.join(missing)}, which is not a test")
    if os.environ["FAMILY"].startswith("6"):
        every = marked(without_ipv4) + [p for p in every if p.name in without_ipv4.EXAMPLES]
    unknown = [n for n in names if not n.startswith("--") and not any(fnmatch.fnmatch(p.name, n) for p in every)]
    if unknown:
        sys.exit(f"no test is called {', '.join(unknown)}; there are {' '.join(p.name for p in every)}")
    chosen = [p for p in every if not names or ("--long" if p.long else "--quick") in names
              or any(fnmatch.fnmatch(p.name, n) for n in names)]
    if os.environ.get("QUICK") and "--quick" in names:
        chosen = [p for p in chosen if p.name not in ONLY_IN_TEST_ALL]
        print("only in make test-all:", *ONLY_IN_TEST_ALL, flush=True)
    world = World()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool, concurrent.futures.ThreadPoolExecutor(WAITING) as waiting:
        together = sorted((p for p in chosen if not p.alone), key=lambda p: p.name not in TAKE_LONG)
        acts = [(waiting if p.waits else pool).submit(act, world, p) for p in together]
        passed = [it.result() for it in acts]
    # A time limit may be missed on a busy machine, so a test that fails beside others runs once more by itself.
    # tests/flakes.md lists the tests that may need this.
    again = [p for p, went_well in zip(together, passed) if not went_well and not ONCE]
    # The mark is short, because host names with the namespace have at most 64 characters.
    second = [act(world, p, "-2") for p in again]
    passed = passed if ONCE else [True] * (len(together) - len(again)) + second
    passed += [act(world, p) for p in chosen if p.alone]
    flaky = [p.name for p, went_well in zip(again, second) if went_well]
    if os.environ.get("KHOROVOD_BLESS"):
        released.record(world.releases)
    # A test of both shapes must pass in both.
    record = {test for test, _ in world.results.values()} - {test for test, went_well in world.results.values() if not went_well}
    program = os.path.join(os.path.dirname(__file__), "../results.py")
    subprocess.run([program, os.environ["KUBERNETES"]], check=True, text=True, input="\n".join(sorted(record)))
    if not running("policy"):
        print("FAIL  NetworkPolicies were not held to the end; policy.py ended")
        passed.append(False)
    print(f"cluster: {sum(passed) - world.too_old} passed, {world.too_old} left out, {len(passed) - sum(passed)} failed", flush=True)
    if world.too_old:
        note("partly", f"{world.too_old} of {len(passed)} tests need a newer Kubernetes than {os.environ['KUBERNETES']}")
    known = not flaky or note("second-try", "cluster", *flaky)
    if passed and all(passed) and len(passed) == world.too_old:
        sys.exit(77)
    sys.exit(not all(passed) or not known)


main(sys.argv[1:])
