#!/usr/bin/env bash
# Runs one segment of the chaos bench: bench/chaos/run.sh SEED SEGMENT [FOLDER]. See README.md.
#
#   OPERATOR=mpi-operator   runs it with Kubeflow's MPI Operator, whose source is in FOLDER
#   OPERATOR=jobset         runs it with JobSet
#   OPERATOR=trainer        runs it with Kubeflow Trainer and JobSet
#   LIMIT=1320              no fault starts after this number of seconds
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
data=bench/chaos/data/$seed-$segment.jsonl system=${OPERATOR:-${folder:+mpi-operator}} parts=()
if [[ -n $system ]]; then
    need go golang version
    data=bench/chaos/data/$system-$seed-$segment.jsonl
fi
case $system in
mpi-operator)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    (cd "${folder:?the folder of the source is missing}" && CGO_ENABLED=0 nice go build -trimpath -o "$work/mpi-operator" ./cmd/mpi-operator)
    parts=("$folder" "$work/mpi-operator")
    ;;
jobset | trainer) parts=("$(module_folder "$jobset_module")" "$(jobset_controller)") ;;&
trainer) parts+=("$(module_folder "$trainer_module")" "$(trainer_controller)") ;;
'' | jobset) ;;
*)
    echo "OPERATOR is mpi-operator, jobset or trainer" >&2
    exit 2
    ;;
esac
mkdir -p bench/chaos/data
# The file is complete only if the segment is.
NODES=${NODES:-19} tests/cluster/up.sh python3 bench/chaos/chaos.py "$seed" "$segment" "$data.part" ${system:+"$system"} "${parts[@]}"
mv "$data.part" "$data"
