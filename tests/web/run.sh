#!/usr/bin/env bash
# Builds the preview page and tests it in Chromium, or in Firefox; what it renders is compared with the command.
#
#   KHOROVOD=BINARY tests/web/run.sh [CASE]     # with another binary, or some cases only
#   ONLY=main tests/web/run.sh                 # the main cases
#   BROWSER=firefox tests/web/run.sh            # the main cases in Firefox
#   WEB_PROFILE=web-quick tests/web/run.sh      # with modules that compile faster, and run slower
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/tools.sh

if [[ ${BROWSER:-} == firefox ]]; then need firefox-esr firefox-esr; else need chromium chromium; fi && need brotli brotli && need fc-list fontconfig && web/build.sh
[[ ${WEB_PROFILE:-web} = web ]] || export DIST=${CARGO_TARGET_DIR:-$PWD/target}/$WEB_PROFILE
OUT=${OUT:-$(mktemp -d)}
mkdir -p "$OUT"
KHOROVOD=${KHOROVOD:-$(shipped)} OUT=$OUT node tests/web/run.mjs "$@" && echo "screenshots and figures: $OUT"
