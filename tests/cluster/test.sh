#!/usr/bin/env bash
# Starts a cluster and runs the tests on it: test.sh [NAME...]. See run.py for the names, and under_test in parts.sh for the
# variables.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
# shellcheck source=tests/launchers/images.sh
. tests/launchers/images.sh
under_test
make_images mpich intelmpi
MPICH=$(part_folder mpich) INTELMPI=$(part_folder intelmpi)
export MPICH INTELMPI
# Tests of lost nodes need nodes of their own, and others for a second try.
[[ ${FAMILY:-4} != 4 || " $* " == *" --quick "* ]] || export NODES=${NODES:-14}
exec "$here/up.sh" python3 "$here/run.py" "$@"
