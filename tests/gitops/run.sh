#!/usr/bin/env bash
# Applies rendered objects with Flux's controller on a test cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
here=tests/cluster
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
# shellcheck source=tests/gitops/parts.sh
. tests/gitops/parts.sh
under_test
need go golang version
folder=$(flux)
NODES=3 tests/cluster/up.sh python3 tests/gitops/flux.py "$folder"
