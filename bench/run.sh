#!/usr/bin/env bash
# Measures the binary as it is shipped: bench/run.sh [guard [--bless] | chart]
# CHARTS=DIR adds `helm template` of every chart in DIR; HELM=PATH names the helm to use, else the
# one in PATH, else one built once into the cache folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/tools.sh
. "$root/tests/tools.sh"

fail() {
    printf 'bench: %s\n' "$1" >&2
    exit 2
}

find_helm() {
    if [[ -n ${HELM:-} ]]; then
        printf '%s' "$HELM"
    elif command -v helm; then
        :
    else
        helm4 || fail "helm is missing and does not build"
    fi
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
elif [[ -n ${CHARTS:-} ]]; then
    helm=$(find_helm)
    exec python3 "$root/bench/run.py" "$binary" "$helm" "$CHARTS"
else
    exec python3 "$root/bench/run.py" "$binary"
fi
