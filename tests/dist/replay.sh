#!/usr/bin/env bash
# Installs the programs for replay.py, makes a key that signs, and starts it, as root: tests/dist/replay.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
need /usr/bin/python3 python3-venv -m ensurepip --version && need /usr/bin/python3 python3-yaml -c 'import yaml' && need ruby ruby &&
    need gpg gnupg && need node nodejs && need npm npm && need curl curl && need setpriv util-linux && need wasm-opt binaryen
need nix-instantiate nix-bin
facts=$(nix-instantiate --eval --strict --json tests/dist/flake.nix 2>/dev/null)
[[ $facts == *"\"version\":\"$(dist/project.py get version)\""* && $facts == *"\"homepage\":\"$(dist/project.py get homepage)\""* ]]
flake=$(mktemp -d)
mkdir "$flake/source" && cp flake.nix flake.lock Cargo.toml "$flake/source"
nix --store "$flake/store" --extra-experimental-features 'nix-command flakes' flake metadata --offline --no-update-lock-file \
    "path:$flake/source" >/dev/null 2>"$flake/said" || { cat "$flake/said" >&2 && exit 1; }
chmod -R u+w "$flake" && rm -rf "$flake"
echo "ok: the flake has the version and the homepage of Cargo.toml, and flake.lock has its inputs"

# The user of the replay cannot add a target to root's Rust.
[[ -d $(rustc --print target-libdir --target wasm32-wasip1) ]] || rustup target add wasm32-wasip1
# Compiles the dependencies, which the replay then uses again.
shipped >/dev/null
HELM=$(helm4) ORAS=$(oras) REGISTRY=$(registry) KREW=$(krew) MISE=$(mise)
GNUPGHOME=$(mktemp -d) PROGRAMS=$(mktemp -d)
export HELM ORAS REGISTRY KREW MISE GNUPGHOME PROGRAMS
trap 'gpgconf --kill all; rm -rf "$GNUPGHOME" "$PROGRAMS"' EXIT
tests/dist/programs.sh "$PROGRAMS"
gpg --batch --quiet --passphrase '' --quick-generate-key 'khorovod test <test@khorovod.invalid>' rsa2048 sign never 2>/dev/null
SIGNING_KEY=$(gpg --batch --quiet --armor --export-secret-keys)
export SIGNING_KEY
env -u GNUPGHOME /usr/bin/python3 tests/dist/replay.py
