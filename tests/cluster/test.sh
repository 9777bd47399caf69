#!/usr/bin/env bash
# Starts a cluster and plays the tests on it: test.sh [NAME...]; see run.py for the names.
#
#   KHOROVOD   the program under test, else the one to ship, built
#   IMAGES     archives of images that the nodes get, else the worker image of image/; IMAGE: the one that jobs run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
KHOROVOD=${KHOROVOD:-$(shipped)}
IMAGES=${IMAGES:-$(worker_image)}
export KHOROVOD IMAGES IMAGE=${IMAGE:-khorovod-worker:cpu} PYTHONDONTWRITEBYTECODE=1
exec "$here/up.sh" python3 "$here/run.py" "$@"
