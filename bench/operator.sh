#!/usr/bin/env bash
# Side by side with Kubeflow's MPI Operator on one cluster: bench/operator.sh FOLDER [ROUNDS]
# >bench/operator.md, where FOLDER holds the operator's source.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath "$1")
cd "$root"
# shellcheck source=tests/tools.sh
. tests/tools.sh
need go golang version
KHOROVOD=${KHOROVOD:-$(shipped)}
IMAGES=${IMAGES:-$(worker_image)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$folder" && CGO_ENABLED=0 go build -o "$work/mpi-operator" ./cmd/mpi-operator)
export KHOROVOD IMAGES IMAGE=${IMAGE:-khorovod-worker:cpu} PYTHONDONTWRITEBYTECODE=1
tests/cluster/up.sh python3 bench/operator.py "$folder" "$work/mpi-operator" "${2:-7}"
