#!/usr/bin/env bash
# Starts a cluster and plays the tests on it: test.sh [NAME...]; see run.py for the names.
#
#   KHOROVOD   the program under test, else the release build
#   IMAGES     archives of images that the nodes get, else the one of image.sh; IMAGE: the one that jobs run
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export KHOROVOD=${KHOROVOD:-${CARGO_TARGET_DIR:-$here/../../target}/release/khorovod} PYTHONDONTWRITEBYTECODE=1
[[ -x $KHOROVOD ]] || {
    echo "no program at $KHOROVOD: cargo build --release" >&2
    exit 1
}
export IMAGES=${IMAGES:-$("$here/image.sh")} IMAGE=${IMAGE:-khorovod.test/worker:1}
exec "$here/up.sh" python3 "$here/run.py" "$@"
