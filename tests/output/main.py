"""Runs the checks on the output of a khorovod binary: prints one line per check, then the count.

usage: main.py BINARY GOYAML [JUDGE...]
"""

import os
import sys
import tempfile
import time
import traceback

from judges import bad_input, chart, large, parsers, patches, podsecurity, policies, same, scan, schema, score, scripts, selftest, strings
from judges.corpus import Corpus, Verdict

JUDGES = {
    module.__name__.split(".")[-1]: module.judge
    for module in (selftest, schema, scan, score, podsecurity, policies, scripts, parsers, patches, strings, large, same, bad_input)
}
# A judge that runs only if it is named.
NAMED = {"chart": chart.judge}
SHOWN = int(os.environ.get("OUTPUT_SHOWN", "40"))  # failures per check


def main(binary, goyaml, *chosen):
    failed = 0
    with tempfile.TemporaryDirectory(prefix="khorovod-judges-") as scratch:
        corpus = Corpus(binary, goyaml, scratch)
        for name in chosen or JUDGES:
            start = time.monotonic()
            try:
                verdict = (JUDGES | NAMED)[name](corpus)
            except Exception:  # a check that raises has failed
                verdict = Verdict(name, "broke", traceback.format_exc().splitlines()[-6:])
            failed += bool(verdict.failures)
            mark = "FAIL" if verdict.failures else "ok  "
            print(f"{mark} {verdict.name}: {verdict.counted} ({time.monotonic() - start:.1f} s)")
            for note in verdict.notes:
                print(f"       {note}")
            for wrong in verdict.failures[:SHOWN]:
                print(f"     - {wrong}")
            if len(verdict.failures) > SHOWN:
                print(f"     - and {len(verdict.failures) - SHOWN} more")
            sys.stdout.flush()
    print(f"{len(chosen or JUDGES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= {*JUDGES, *NAMED}:
        sys.exit(f"{__doc__}judges: {' '.join([*JUDGES, *NAMED])}")
    sys.exit(main(*sys.argv[1:]))
