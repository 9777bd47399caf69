#!/usr/bin/env bash
# Builds the plugin folders, ready to install, into a folder. With Helm 4, also packages them:
#
#   plugin/build.sh OUT
#
# HELM       the Helm 4 program; the default is the `helm` in PATH. Packages go to OUT/packages
# KHOROVOD   a binary to include in the plugin for Helm 3; without it, the plugin runs the khorovod in PATH
# KEY        the name of a PGP key that signs the packages; PASSPHRASE is a file with its passphrase
# KEYRING    the file with that key, in the format of `gpg --export-secret-keys`, which Helm requires
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:?where to}

[[ -d $(rustc --print target-libdir --target wasm32-wasip1) ]] || rustup target add wasm32-wasip1 || {
    echo "Rust's standard library for wasm32-wasip1 is missing; with rustup: rustup target add wasm32-wasip1" >&2
    exit 1
}
echo "compiling the WebAssembly module: about a minute if its dependencies are not compiled yet" >&2
cargo build --locked --profile wasm --target wasm32-wasip1 -p khorovod-helm

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
# Helm 3 requires plugin.yaml at the root of the archive, and checks no signature. Helm 4's packages contain a folder.
mkdir "$out/packages"
version=$(sed -n 's/^version: //p' "$three/plugin.yaml")
(cd "$three" && tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -c -- * | gzip -n9) >"$out/packages/khorovod-helm3-$version.tgz"

helm=${HELM:-$(command -v helm || true)}
if [[ -z $helm ]] || [[ $("$helm" version --short) != v4* ]]; then
    echo "Helm 4 is not installed: no packages for it" >&2
    exit
fi
signed=(--sign=false)
if [[ -n ${KEY:-} ]]; then
    signed=(--key "$KEY" --keyring "${KEYRING:?the file with the key}")
    [[ -z ${PASSPHRASE:-} ]] || signed+=(--passphrase-file "$PASSPHRASE")
fi
for name in helm4-command helm4-post-renderer; do
    "$helm" plugin package "${signed[@]}" --destination "$out/packages" "$out/$name"
done
