#!/usr/bin/env bash
# Tests the schema in yaml-language-server, as editors use it: tests/editor/run.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/tools.sh
. "$here/../tools.sh"
need node nodejs && need npm npm

home=${tools_cache:?}/editor-$(sha256sum <"$here/package-lock.json" | cut -c1-16)
if [[ ! -d $home ]]; then
    rm -rf "$home.new" && mkdir -p "$home.new" && cp "$here"/package*.json "$home.new"
    (cd "$home.new" && npm ci --no-audit --no-fund --loglevel=error)
    mv "$home.new" "$home"
fi
node "$here/run.mjs" "$(realpath "$1")" "$home/node_modules/yaml-language-server/bin/yaml-language-server"
