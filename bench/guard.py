"""Compares instruction counts with bench/budget.json and fails if one is more than 3 % higher. Works on a busy machine.

usage: guard.py BINARY [--bless]
The counts depend on the compiler. With another compiler they are printed but not checked.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import inputs
from measure import instructions

BUDGET = Path(__file__).resolve().parent / "budget.json"
SLACK = 0.03


def main(binary, bless=False):
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="khorovod-guard-") as folder:
        commands = inputs.counted(str(Path(binary).resolve()), folder)
        counts = {command.name: instructions(command) for command in commands}
    if None in counts.values():
        print("not counted: valgrind is missing")
        return 1
    if bless:
        BUDGET.write_text(json.dumps({"rustc": rustc, "instructions": counts}, indent=2) + "\n")
        return 0
    budget, failed = json.loads(BUDGET.read_text()), 0
    for name, count in counts.items():
        allowed = budget["instructions"][name]
        over = count / allowed - 1
        failed += over > SLACK
        print(f"{'MISS' if over > SLACK else 'ok  '} {name}: {count:,} instructions, {over:+.1%} of the budget")
    if budget["rustc"] != rustc:
        reason = f"the counts are not compared: the budget is for {budget['rustc']}, and this is {rustc}"
        return subprocess.run([BUDGET.parents[1] / "tests/note.sh", "left-out", reason]).returncode
    print(f"{len(counts) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], "--bless" in sys.argv))
