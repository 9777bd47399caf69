#!/usr/bin/env bash
# Checks the page's TypeScript without a browser and without its WebAssembly module: format, lint, types, unit tests.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=tests/tools.sh
. ../tests/tools.sh
# shellcheck source=web/packages.sh
. ./packages.sh

npm run --silent check
npm test --silent
