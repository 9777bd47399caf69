#!/usr/bin/env bash
# Tests the plugins and the KRM function with Helm, Kustomize and WebAssembly hosts: tests/plugin/run.sh BINARY
# The required programs are built or downloaded once.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/tools.sh
. "$here/../tools.sh"
need python3 python3-venv -m ensurepip --version && need gpg gnupg && need wasm-opt binaryen
helm3=$(helm3)
helm4=$(helm4)
oldest=$(built_helm v4.0.0)
kustomize=$(kustomize)
registry=$(registry)

venv=${tools_cache:?}/plugin-$({ cat "$here/requirements.txt"; python3 -VV; } | sha256sum | cut -c1-16)
if [[ ! -d $venv ]]; then
    rm -rf "$venv.new" && python3 -m venv "$venv.new"
    "$venv.new/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
    mv "$venv.new" "$venv"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A key that signs, and the keyring that Helm verifies with.
export GNUPGHOME=$work/gpg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'khorovod test <test@khorovod.invalid>' rsa2048 sign never 2>/dev/null
KHOROVOD=$1 "$here/../../plugin/build.sh" "$work/plugins" >/dev/null
KEY='khorovod test' "$here/../../dist/helm.py" "$work/plugins" "$work/plugins/packages"
mv "$work/plugins/packages/khorovod-keyring.gpg" "$work/public.gpg"
gpgconf --kill all

PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$here/main.py" "$1" "$work" "$helm3" "$helm4" "$oldest" "$kustomize" "$registry"
