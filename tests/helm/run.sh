#!/usr/bin/env bash
# The post-renderer under real Helms, which are built once: tests/helm/run.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/tools.sh
. "$here/../tools.sh"
helm3=$(built_helm v3.21.4)
helm4=$(built_helm v4.3.1)
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/main.py" "$1" "$helm3" "$helm4"
