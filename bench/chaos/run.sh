#!/usr/bin/env bash
# Runs one segment of the chaos bench: bench/chaos/run.sh SEED SEGMENT [FOLDER]. With FOLDER, which contains the source of Kubeflow's
# MPI Operator, it runs with that. See README.md.
set -euo pipefail
seed=$1 segment=$2 folder=${3:+$(realpath "$3")}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
here=tests/cluster
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
under_test
COMMIT=$(git rev-parse --short=8 HEAD)
# The data of earlier segments does not make a difference.
git diff --quiet HEAD -- . ':!bench/chaos/data' || COMMIT+=-dirty
export COMMIT
data=bench/chaos/data/$seed-$segment.jsonl operator=()
if [[ -n $folder ]]; then
    need go golang version
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    (cd "$folder" && CGO_ENABLED=0 nice go build -trimpath -o "$work/mpi-operator" ./cmd/mpi-operator)
    data=bench/chaos/data/mpi-operator-$seed-$segment.jsonl operator=("$folder" "$work/mpi-operator")
fi
mkdir -p bench/chaos/data
# The file is complete only if the segment is.
NODES=${NODES:-19} tests/cluster/up.sh python3 bench/chaos/chaos.py "$seed" "$segment" "$data.part" "${operator[@]}"
mv "$data.part" "$data"
