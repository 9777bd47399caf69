#!/usr/bin/env bash
# Measures the binary as it is shipped: bench/run.sh [guard [--bless] | chart]
# CHARTS=DIR adds `helm template` of every chart in DIR; HELM=PATH names the helm to use, else one is built once into the
# cache folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/tools.sh
. "$root/tests/tools.sh"

fail() {
    printf 'bench: %s\n' "$1" >&2
    exit 2
}

need valgrind valgrind || fail "valgrind counts the instructions"
need /usr/bin/time time || fail "GNU time tells the peak of memory"
binary=${KHOROVOD:-$(cd "$root" && shipped)}
export PYTHONDONTWRITEBYTECODE=1
if [[ ${1:-} == guard ]]; then
    exec python3 "$root/bench/guard.py" "$binary" "${@:2}"
elif [[ ${1:-} == chart ]]; then
    helm3=$(helm3) && helm4=$(helm4)
    exec python3 "$root/bench/chart.py" "$binary" "$helm3" "$helm4"
else
    need sponge moreutils || fail "sponge is what the post-renderer is measured beside"
    helm=${HELM:-$(helm4)}
    kustomize=$(kustomize)
    exec python3 "$root/bench/run.py" "$binary" "$helm" "$kustomize" ${CHARTS:+"$CHARTS"}
fi
