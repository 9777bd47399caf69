#!/usr/bin/env bash
# Builds the preview page and tests it in Chromium; what it renders is compared with the command.
#
#   KHOROVOD=BINARY tests/web/run.sh [CASE]     # with another binary, or some cases only
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools.sh

need chromium chromium && need brotli brotli && need fc-list fontconfig && web/build.sh
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
KHOROVOD=${KHOROVOD:-$(shipped)} OUT=$OUT node tests/web/run.mjs "$@" && echo "screenshots and figures: $OUT"
