#!/usr/bin/env bash
# A job of thousands of workers on a real API server, with nodes and pods that kwok simulates, and a real launcher:
# bench/scale.sh [WORKERS] >bench/scale.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
here=tests/cluster
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
under_test
KWOK=$(kwok)
export KWOK NODES=1 QPS=500
tests/cluster/up.sh python3 bench/scale.py "${1:-5000}"
