#!/usr/bin/env bash
# Measures the release binary: bench/run.sh [guard [--bless] | chart]
# CHARTS=DIR adds `helm template` of every chart in DIR. HELM=PATH selects a helm; by default one is built in the cache folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/tools.sh
. "$root/tests/tools.sh"

fail() {
    printf 'bench: %s\n' "$1" >&2
    exit 2
}

need valgrind valgrind || fail "valgrind counts the instructions"
need /usr/bin/time time || fail "GNU time measures the peak of memory"
binary=${KHOROVOD:-$(cd "$root" && shipped)}
export PYTHONDONTWRITEBYTECODE=1
if [[ ${1:-} == guard ]]; then
    exec python3 "$root/bench/guard.py" "$binary" "${@:2}"
elif [[ ${1:-} == chart ]]; then
    helm3=$(helm3) && helm4=$(helm4)
    exec python3 "$root/bench/chart.py" "$binary" "$helm3" "$helm4"
else
    need sponge moreutils || fail "the post-renderer is compared with sponge"
    helm=${HELM:-$(helm4)}
    kustomize=$(kustomize)
    exec python3 "$root/bench/run.py" "$binary" "$helm" "$kustomize" ${CHARTS:+"$CHARTS"}
fi
