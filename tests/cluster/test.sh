#!/usr/bin/env bash
# Starts a cluster and plays the tests on it: test.sh [NAME...]; see run.py for the names.
#
#   KHOROVOD   the program under test, else the release build
#   IMAGES     archives of images that the nodes get, else the worker image of image/; IMAGE: the one that jobs run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export KHOROVOD=${KHOROVOD:-${CARGO_TARGET_DIR:-$here/../../target}/release/khorovod} PYTHONDONTWRITEBYTECODE=1
[[ -x $KHOROVOD ]] || {
    echo "no program at $KHOROVOD: cargo build --release" >&2
    exit 1
}
cd "$here/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
IMAGES=${IMAGES:-$(worker_image)}
export IMAGES IMAGE=${IMAGE:-khorovod-worker:cpu}
exec "$here/up.sh" python3 "$here/run.py" "$@"
