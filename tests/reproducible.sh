#!/usr/bin/env bash
# Builds the release twice from the same sources, in different folders and with different cargo homes: the bytes must be the
# same. Two full builds of the static binary, and of the page's module.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build PLACE: builds the binary and the module in a copy of the sources; prints their paths.
build() {
    local place=$1
    mkdir -p "$place/home" && git ls-files -z | xargs -0 cp --parents -t "$place" || return
    # Uses the same downloads at another path, which must not be in the output.
    ln -s "${CARGO_HOME:-$HOME/.cargo}"/* "$place/home/"
    (
        cd "$place" || exit
        export CARGO_HOME=$place/home CARGO_TARGET_DIR=$place/target
        . tests/tools.sh
        shipped && echo || exit
        RUSTFLAGS=$(remapped) wasm_cargo build --quiet --locked --profile web --package khorovod-web >&2 &&
            echo "$place/target/wasm32-unknown-unknown/web/khorovod_web.wasm"
    )
    local code=$?
    # Deletes the build, because the disk may not have room for both.
    find "$place/target" -name deps -prune -exec rm -rf {} +
    rm -rf "${place:?}/home"
    return $code
}

one=$(build "$work/one") && other=$(build "$work/another/folder") || exit 1
passed=0 failed=0
while read -r first second; do
    if cmp "$first" "$second"; then
        echo "$(sha256sum <"$first" | cut -c1-16) $(basename "$first"): the same, twice"
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    if grep -aq "$work" "$first"; then
        echo "$(basename "$first") contains the folder in which it was built"
        failed=$((failed + 1))
    fi
done < <(paste <(echo "$one") <(echo "$other"))
echo "$passed passed, $failed failed"
((failed == 0 && passed == 2))
