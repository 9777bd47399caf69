#!/usr/bin/env bash
# Builds the preview page into web/dist, a folder for any web server. Installs the tools that it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/tools.sh

cargo_tool wasm-bindgen-cli 0.2.130 wasm-bindgen

target=${CARGO_TARGET_DIR:-$PWD/target}
RUSTFLAGS=$(remapped) wasm_cargo build --locked --profile web --package khorovod-web --package khorovod-web-import --package khorovod-web-timeline \
    --package khorovod-web-texts --package khorovod-web-keys
cd web
# shellcheck source=web/packages.sh
. ./packages.sh
for module in khorovod_web khorovod_web_import khorovod_web_timeline khorovod_web_texts khorovod_web_keys; do
    wasm-bindgen --target web --out-dir pkg --remove-name-section --remove-producers-section \
        "$target/wasm32-unknown-unknown/web/$module.wasm"
done
npm run --silent build
