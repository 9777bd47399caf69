#!/usr/bin/env bash
# Runs a job of thousands of workers on a real API server, with nodes and pods that kwok simulates, and a real launcher, which finds all
# workers, trains and releases them:
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
# The states that simulated nodes and pods pass through, as published by the kwok project.
STAGES=$(mktemp)
trap 'rm -f "$STAGES"' EXIT
for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready pod/fast/pod-delete; do
    echo ---
    published "$kwok_module" "kustomize/stage/$stage.yaml"
done >"$STAGES"
# Simulated nodes send a heartbeat every ten seconds or more rarely.
export KWOK STAGES NODES=1 QPS=500 GRACE=120s GOGC=100
tests/cluster/up.sh python3 bench/scale.py "${1:-5000}"
