#!/usr/bin/env bash
# Builds what has to be built on a machine of each target, into a folder: dist/target.sh OUT
#
# The archive and the wheel, both with the same binary. Runs on Linux, macOS, and Windows with Git's bash.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/tools.sh
out=${1:?where to}
python=$(command -v python3 || command -v python)

binary=$(shipped)
[[ -e $binary ]] || binary+=.exe
rm -rf "$out"
"$python" dist/pack.py "$binary" "$(host_target)" "$out"
RUSTFLAGS=$(shipped_flags) "$python" dist/wheel.py "$(host_target)" "$out"
"$python" dist/try_wheel.py "$(host_target)" "$out"
