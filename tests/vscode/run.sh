#!/usr/bin/env bash
# Builds the extension for VS Code from web/pkg and tries it in code-server, with Chromium: tests/vscode/run.sh
#
# OUT is a folder for screenshots. The first run on a machine takes some minutes to build code-server's native modules.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
need node nodejs && need npm npm && need g++ g++ && need make make
node=$(dirname "$(dirname "$(node -p process.execPath)")")
need test libnode-dev -e "$node/include/node/node.h"

version=$(node -p 'require("./tests/vscode/package.json").dependencies["code-server"]')
home=${tools_cache:?}/code-server-$version
if [[ ! -d $home ]]; then
    echo "building code-server $version: once, some minutes" >&2
    rm -rf "$home.new" && mkdir -p "$home.new" && cp tests/vscode/package.json "$home.new"
    # Its install script downloads programs and builds modules that the test does not use.
    install=(npm install --no-audit --no-fund --loglevel=error --ignore-scripts)
    export npm_config_nodedir=$node
    server=$home.new/node_modules/code-server
    (cd "$home.new" && "${install[@]}" && npm rebuild --loglevel=error argon2)
    (cd "$server/lib/vscode" && "${install[@]}" --omit=dev && npm rebuild --loglevel=error @vscode/spdlog native-watchdog)
    (cd "$server/lib/vscode/extensions" && "${install[@]}" --omit=dev)
    mv "$home.new" "$home"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dist/vscode.py "$work"
OUT=${OUT:-$work} node tests/vscode/run.mjs "$work"/khorovod-*.vsix "$home/node_modules/code-server/out/node/entry.js"
