#!/usr/bin/env bash
# Builds the plugin folders, ready to install, into a folder:
#
#   plugin/build.sh OUT
#
# KHOROVOD   a binary to include in the plugin for Helm 3; without it, the plugin runs the khorovod in PATH
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/tools.sh
out=${1:?where to}

[[ -d $(rustc --print target-libdir --target wasm32-wasip1) ]] || rustup target add wasm32-wasip1 || {
    echo "Rust's standard library for wasm32-wasip1 is missing; with rustup: rustup target add wasm32-wasip1" >&2
    exit 1
}
echo "compiling the plugin's WebAssembly module: some minutes the first time" >&2
RUSTFLAGS=$(remapped) cargo build --locked --profile wasm --target wasm32-wasip1 -p khorovod-helm

rm -rf "$out" && mkdir -p "$out"
cp -r plugin/helm4-command plugin/helm4-post-renderer "$out"
# Helm 3 names the installed folder after the folder or archive.
three=$out/khorovod-helm3
cp -r plugin/helm3 "$three"
module=${CARGO_TARGET_DIR:-target}/wasm32-wasip1/wasm/khorovod_helm.wasm
smaller=$out/helm4-command/plugin.wasm
if command -v wasm-opt >/dev/null; then
    wasm-opt -Oz --enable-bulk-memory --enable-sign-ext --enable-mutable-globals --enable-nontrapping-float-to-int \
        --enable-multivalue --enable-reference-types "$module" -o "$smaller"
else
    echo "wasm-opt is not in PATH (binaryen): the module is a sixth larger" >&2
    cp "$module" "$smaller"
fi
if [[ -n ${KHOROVOD:-} ]]; then
    mkdir "$three/bin" && cp "$KHOROVOD" "$three/bin/khorovod"
fi
