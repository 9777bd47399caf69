#!/usr/bin/env bash
# Runs independent checks of khorovod's output: tests/output/run.sh BINARY [JUDGE...]
# The Python and Go tools are downloaded once into the cache folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=${1:-}
shift || true
# shellcheck source=tests/tools.sh
. "$here/../tools.sh"
cache=${tools_cache:?}

fail() {
    printf 'tests/output: %s\n' "$1" >&2
    printf '0 passed, 1 failed\n'
    exit 1
}

[[ -x $binary ]] || fail "no binary at '$binary'"
need shellcheck shellcheck || fail "shellcheck is missing"
need python3 python3-venv -c 'import ensurepip, venv' || fail "python3 with venv is missing"
command -v go >/dev/null || fail "go is missing: the version that goyaml/go.mod names, or newer"

# The name of a folder contains the hash of its inputs. A folder is renamed into place when it is complete.
key() { cat "$@" | sha256sum | cut -c1-16; }

venv=$cache/judges-$({ cat "$here/requirements.txt"; python3 -VV; } | key)
if [[ ! -d $venv ]]; then
    mkdir -p "$cache"
    rm -rf "$venv.new"
    python3 -m venv "$venv.new"
    "$venv.new/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
        -r "$here/requirements.txt" || fail "pip could not install requirements.txt"
    # The scripts of a venv contain the path of their interpreter.
    sed -i "1s|$venv.new|$venv|" "$venv.new/bin/checkov"
    mv "$venv.new" "$venv"
fi

# go_judge NAME: builds the program in the folder NAME and prints its path.
go_judge() {
    local program
    program=$cache/$1-$(key "$here/$1"/{main.go,go.mod,go.sum})
    if [[ ! -x $program ]]; then
        (cd "$here/$1" && CGO_ENABLED=0 go build -trimpath -o "$program.new" .) >&2 || return
        mv "$program.new" "$program"
    fi
    echo "$program"
}

goyaml=$(go_judge goyaml) || fail "goyaml does not build"
STRATEGIC=$(go_judge strategic) || fail "strategic does not build"
export STRATEGIC

KUBE_SCORE=$(kube_score) || fail "kube-score does not build"
export KUBE_SCORE
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" "$here/main.py" "$binary" "$goyaml" "$@"
