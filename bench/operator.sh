#!/usr/bin/env bash
# Side by side with Kubeflow's MPI Operator on one cluster: bench/operator.sh FOLDER [ROUNDS]
# >bench/operator.md, where FOLDER holds the operator's source.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath "$1")
cd "$root"
# shellcheck source=tests/tools.sh
. tests/tools.sh
here=tests/cluster
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
need go golang version
under_test
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$folder" && CGO_ENABLED=0 go build -o "$work/mpi-operator" ./cmd/mpi-operator)
tests/cluster/up.sh python3 bench/operator.py "$folder" "$work/mpi-operator" "${2:-7}"
