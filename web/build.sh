#!/usr/bin/env bash
# Builds the preview page into web/dist, a folder for any web server. Installs the tools that it needs. With WEB_PROFILE=web-quick,
# builds it with little optimization into target/web-quick, for tests that measure nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/tools.sh

target=${CARGO_TARGET_DIR:-$PWD/target}
# The program that makes the JavaScript of the modules.
bindgen=$tools_cache/web-bindgen-$(cat web/bindgen/{Cargo.toml,Cargo.lock,src/main.rs} | sha256sum | cut -c1-16)/bin/khorovod-web-bindgen
if [[ ! -x $bindgen ]]; then
    echo "building the generator of JavaScript: once, half a minute" >&2
    cargo install --locked --path web/bindgen --target-dir "$target/bindgen" --root "${bindgen%/bin/*}"
fi

RUSTFLAGS=$(remapped) wasm_cargo build --locked --profile "${WEB_PROFILE:=web}" --package khorovod-web --package khorovod-web-import --package khorovod-web-timeline \
    --package khorovod-web-texts --package khorovod-web-keys --package khorovod-web-targets
cd web
# shellcheck source=web/packages.sh
. ./packages.sh
modules=$target/wasm32-unknown-unknown/$WEB_PROFILE
named=()
for module in khorovod_web{,_import,_timeline,_texts,_keys}; do named+=("$module=$modules/$module.wasm"); done
"$bindgen" pkg "${named[@]}"
# The module with every target has the same functions, so both modules share one JavaScript file. `initSync` must accept the second one.
"$bindgen" pkg/targets "khorovod_web=$modules/khorovod_web_targets.wasm"
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
if [[ $WEB_PROFILE = web ]]; then
    npm run --silent build
else
    npm run --silent build -- --outDir "$target/$WEB_PROFILE" --emptyOutDir
    # Only optimized modules are packed for npm.
    rm -r pkg
fi
