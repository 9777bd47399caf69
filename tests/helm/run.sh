#!/usr/bin/env bash
# Tests the post-renderer and the chart with Helm 3 and Helm 4, which are built once: tests/helm/run.sh BINARY
# The tests on a Kubernetes require root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
need /usr/bin/python3 python3-yaml -c 'import yaml'
helm3=$(helm3)
helm4=$(helm4)
oldest=$(built_helm v4.0.0)
export PYTHONDONTWRITEBYTECODE=1
binary=$(realpath "$1")
python3 "$here/main.py" "$binary" "$helm3" "$helm4"
/usr/bin/python3 "$here/chart.py" "$binary" "$helm3" "$helm4" "$oldest"
HELM=$helm3 tests/output/run.sh "$binary" chart
if [[ $(id -u) != 0 ]]; then
    exec tests/note.sh partly "the chart was not installed: a cluster needs root"
fi
# shellcheck source=tests/cluster/parts.sh
here=$here/../cluster && . "$here/parts.sh"
KHOROVOD=$binary under_test
NODES=${NODES:-2} tests/cluster/up.sh /usr/bin/python3 tests/helm/lifecycle.py "$binary" "$(registry)" "$helm3" "$helm4" "$oldest"
