#!/usr/bin/env bash
# The preview page, built and tried in a real Chromium beside the native command.
#
#   KHOROVOD=BINARY tests/web/run.sh [CASE]     # of another binary, or one case
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools.sh

need chromium chromium && need brotli brotli && need fc-list fontconfig && web/build.sh
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
KHOROVOD=${KHOROVOD:-$(shipped)} OUT=$OUT node tests/web/run.mjs "$@" && echo "screenshots and figures: $OUT"
