#!/usr/bin/env bash
# Tests the Python package with the oldest Python that it supports and with the newest one here: tests/python/run.sh BINARY
# The tests of pytest run with each, mypy and pyright once. The packages are downloaded once into the cache folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
binary=$(realpath "$1")
# shellcheck source=tests/tools.sh
. "$here/../tools.sh"
need node nodejs

# The paths of Python 3.10 or newer, the oldest first: from pyenv, and in PATH.
pythons() {
    local python
    for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3 $(compgen -c python3 | grep -xE 'python3(\.[0-9]+)?' | sort -u); do
        python=$(command -v "$python") || continue
        "$python" -c 'import sys, ensurepip, venv; v = sys.version_info; v >= (3, 10) and print(v[0], v[1], sys.executable)' 2>/dev/null || true
    done | sort -u -n -k 2,2
}

mapfile -t found < <(pythons)
((${#found[@]})) || { echo "no Python 3.10 or newer with venv; on Debian: apt-get install python3-venv" >&2 && exit 1; }
oldest=${found[0]##* } newest=${found[-1]##* }

# environment PYTHON: creates an environment with the packages of requirements.txt and prints its path. The folder of the package and
# the binary are linked, as pip installs them.
environment() {
    local python=$1 folder
    folder=${tools_cache:?}/python-$({ cat "$here/requirements.txt" && "$python" -VV; } | sha256sum | cut -c1-16)
    if [[ ! -d $folder ]]; then
        echo "installing pytest, mypy and a notebook kernel for $("$python" --version): once, some minutes" >&2
        rm -rf "$folder.new"
        "$python" -m venv "$folder.new" >&2
        "$folder.new/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt" >&2 || return
        mv "$folder.new" "$folder"
    fi
    ln -sf "$binary" "$folder/bin/khorovod"
    echo "$root/dist/python" >"$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/khorovod.pth"
    echo "$folder"
}

export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export IPYTHONDIR=$work/ipython JUPYTER_RUNTIME_DIR=$work/runtime

mapfile -t pythons < <(printf '%s\n' "$oldest" "$newest" | uniq)
venvs=()
for python in "${pythons[@]}"; do
    venv=$(environment "$python")
    venvs+=("$venv")
done

# The types, checked beside the tests.
export MYPYPATH=$root/dist/python
types() {
    "$venv/bin/python" -m mypy --strict --cache-dir "$work/mypy" "$root/dist/python/khorovod" "$here"/*.py &&
        "$venv/bin/python" -m pyright --pythonpath "$venv/bin/python" --project "$here/pyrightconfig.json"
}
types >"$work/types" 2>&1 &
types=$!
for venv in "${venvs[@]}"; do
    "$venv/bin/python" --version
    "$venv/bin/python" -m pytest -q -p no:cacheprovider "$here"
done
if [[ $oldest == "$newest" ]]; then
    "$root/tests/note.sh" partly "only one Python from 3.10 on is here: $("$newest" --version)"
fi

code=0
wait "$types" || code=$?
cat "$work/types"
exit "$code"
