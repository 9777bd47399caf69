#!/usr/bin/env bash
# Runs examples with the operators and schedulers of the targets: operators.sh FOLDER. FOLDER contains their sources as
# mpi-operator, jobset, trainer and volcano; missing ones are skipped with a message.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sources=$(realpath "$1")
cd "$here/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
need go golang version
under_test
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT

# build NAME PACKAGE...
build() {
    local name=$1
    shift
    if [[ ! -d $sources/$name ]]; then
        "$here/../note.sh" partly "$sources has no $name"
        return
    fi
    (cd "$sources/$name" && GOFLAGS=-mod=mod CGO_ENABLED=0 nice go build -trimpath -o "$programs/$name/" "$@")
}

build mpi-operator ./cmd/mpi-operator
build jobset .
build trainer ./cmd/trainer-controller-manager
build volcano ./cmd/controller-manager ./cmd/scheduler
NODES=3 tests/cluster/up.sh python3 "$here/operators.py" "$sources" "$programs"
