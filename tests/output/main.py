"""Runs the checks on the output of a khorovod binary: prints one line per check, then the count.

usage: main.py BINARY GOYAML [JUDGE...]
"""

import concurrent.futures
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
# Has time limits, so it runs after all others, which have ended by then.
LAST = "bad_input"
SHOWN = int(os.environ.get("OUTPUT_SHOWN", "40"))  # failures per check


def ask(name, corpus):
    """The verdict of a judge, and its seconds."""
    start = time.monotonic()
    try:
        verdict = (JUDGES | NAMED)[name](corpus)
    except Exception:  # a check that raises has failed
        verdict = Verdict(name, "broke", traceback.format_exc().splitlines()[-6:])
    return verdict, time.monotonic() - start


def main(binary, goyaml, *chosen):
    failed, chosen = 0, chosen or tuple(JUDGES)
    # Most judges wait for programs that they start. `scripts` takes as long as all others together, so it starts first.
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    with tempfile.TemporaryDirectory(prefix="khorovod-judges-") as scratch, pool:
        corpus = Corpus(binary, goyaml, scratch)
        order = sorted(chosen, key=lambda name: name != "scripts")
        verdicts = {name: pool.submit(ask, name, corpus) for name in order if name != LAST}
        for name in chosen:
            verdict, seconds = ask(name, corpus) if name == LAST else verdicts[name].result()
            failed += bool(verdict.failures)
            mark = "FAIL" if verdict.failures else "ok  "
            print(f"{mark} {verdict.name}: {verdict.counted} ({seconds:.1f} s)")
            for note in verdict.notes:
                print(f"       {note}")
            for wrong in verdict.failures[:SHOWN]:
                print(f"     - {wrong}")
            if len(verdict.failures) > SHOWN:
                print(f"     - and {len(verdict.failures) - SHOWN} more")
            sys.stdout.flush()
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= {*JUDGES, *NAMED}:
        sys.exit(f"{__doc__}judges: {' '.join([*JUDGES, *NAMED])}")
    sys.exit(main(*sys.argv[1:]))
