#!/usr/bin/env python3
"""Records tests that have passed: results.py [VERSION] <TESTS. The table of features in docs/compatibility.md reads the records.

Each line of the input is a test, as tests/features.rs names it: FILE NAME. VERSION is that of Kubernetes, if the test ran on one.
RESULTS names the file of the records, from the root of the repository; without it, nothing is recorded. Other tests than those that
tests/features.rs names are not recorded.

    RESULTS=tests/results.txt tests/run.sh runtime kueue cluster versions && make bless
"""
import fcntl
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = "# The tests of the table of features that passed: the test, the version of Kubernetes, and the date. Written by tests/results.py.\n"


def main(version="", *_):
    path = os.path.join(ROOT, os.environ.get("RESULTS", ""))
    if not os.environ.get("RESULTS"):
        return
    with open(f"{ROOT}/tests/features.rs") as file:
        features = file.read()
    tests = [line.strip() for line in sys.stdin]
    passed = {(test, version): time.strftime("%Y-%m-%d") for test in tests if f'"{test}"' in features}
    # Several runners may write at the same time.
    with open(path, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        old = [line.rstrip("\n").split(" | ") for line in file if not line.startswith("#")]
        records = {(test, version): date for test, version, date in old} | passed
        file.truncate(0)
        file.write(HEAD + "".join(f"{' | '.join(key)} | {date}\n" for key, date in sorted(records.items())))
    print(f"recorded {len(passed)} of {len(tests)} tests in {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
