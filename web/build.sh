#!/usr/bin/env bash
# Builds the preview page into web/dist, a folder for any web server. Installs the tools that it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/tools.sh

cargo_tool wasm-bindgen-cli 0.2.130 wasm-bindgen

target=${CARGO_TARGET_DIR:-$PWD/target}
RUSTFLAGS=$(remapped) wasm_cargo build --locked --profile web --package khorovod-web --package khorovod-web-import --package khorovod-web-timeline \
    --package khorovod-web-texts --package khorovod-web-keys --package khorovod-web-targets
cd web
# shellcheck source=web/packages.sh
. ./packages.sh
bindings() {
    local module=$1
    shift
    wasm-bindgen --target web --remove-name-section --remove-producers-section "$@" "$target/wasm32-unknown-unknown/web/$module.wasm"
}
for module in khorovod_web khorovod_web_import khorovod_web_timeline khorovod_web_texts khorovod_web_keys; do
    bindings "$module" --out-dir pkg
done
# The module with every target has the same functions, so both modules share one JavaScript file. `initSync` must accept the second one.
bindings khorovod_web_targets --out-dir pkg/targets --out-name khorovod_web
cmp pkg/khorovod_web.js pkg/targets/khorovod_web.js
mv pkg/targets/khorovod_web_bg.wasm pkg/khorovod_web_targets_bg.wasm
rm -r pkg/targets
loaded='if (wasm !== undefined) return wasm;'
grep -qF "$loaded" pkg/khorovod_web.js
sed -i "/^function initSync/,/^}/{/$loaded/d}" pkg/khorovod_web.js
# The page loads the texts as a file, which is smaller than their module. The npm package has the module.
node --input-type=module <<'JS'
import { readFileSync, writeFileSync } from "node:fs";
import { codes, initSync, scripts } from "./pkg/khorovod_web_texts.js";
initSync({ module: readFileSync("pkg/khorovod_web_texts_bg.wasm") });
writeFileSync("pkg/texts.txt", `${codes()}\n${scripts()}`);
JS
npm run --silent build
