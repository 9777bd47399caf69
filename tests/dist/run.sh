#!/usr/bin/env bash
# Checks the packages in a folder, installs each and runs it in its own root: tests/dist/run.sh DIST
#
# Runs the commands of docs/install.md on a temporary copy of this system (an overlay). The static binary and that of the image
# run in roots that contain nothing else.
set -euo pipefail
dist=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
version=$(dist/project.py get version)
host=$(host_target)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
ok() { checks=$((checks + 1)) && echo "ok: $1"; }

(cd "$dist" && sha256sum --check --strict --quiet SHA256SUMS)
listed=$(wc -l <"$dist/SHA256SUMS")
((listed == $(find "$dist" -type f ! -name 'SHA256SUMS*' | wc -l)))
ok "$listed files, each in SHA256SUMS"

need wasm-opt binaryen
mkdir "$work/again"
cp "$dist"/khorovod-"$version"-*-*.{tar.gz,zip} "$dist"/*.whl "$dist"/*.{book.tar.gz,vsix} "$work/again/" 2>/dev/null || true
dist/assemble.py "$work/again" 2>/dev/null
# Signatures contain the time.
diff <(grep -Ev 'prov$|keyring' "$dist/SHA256SUMS") "$work/again/SHA256SUMS"
ok "the same bytes a second time"

python3 tests/dist/look.py "$dist"
ok "the archives' contents, the manifests and the bills of materials"

if [[ $(id -u) != 0 ]]; then
    exec tests/note.sh partly "nothing was installed: a chroot needs root"
fi

# run_in_root ROOT COMMAND...: runs a command in a root as a user without a passwd entry, with job.yaml on standard input.
run_in_root() { chroot --userspec=65532:65532 "$1" "${@:2}" <examples/smallest/job.yaml; }

# A root that contains only the binary: no shell, no library, no /tmp.
mkdir "$work/empty"
tar -xzf "$dist/khorovod-$version-$host.tar.gz" -C "$work/empty" --strip-components=1 "khorovod-$version-$host/khorovod"
chmod 0755 "$work" "$work/empty"
[[ $(run_in_root "$work/empty" /khorovod --version) == "khorovod $version" ]]
run_in_root "$work/empty" /khorovod render - --no-keys >"$work/objects"
grep -q '^kind: StatefulSet$' "$work/objects"
ok "the static binary renders in an empty root"

python3 tests/dist/unpack.py "$dist/khorovod-$version.oci.tar" "$work/image"
read -r -a entry <"$work/image/entrypoint"
run_in_root "$work/image/root" "${entry[@]}" render - --no-keys | cmp - "$work/objects"
ok "the image's root file system renders the same"

# The blocks of the page, each on a new copy of this system.
need podman podman && need node nodejs && need npm npm && need /usr/bin/python3 python3-venv -m ensurepip --version
mkdir "$work/bin"
tests/dist/programs.sh "$work/bin"
# The blocks unpack an archive there.
cp -r "$dist" "$work/dist"
KHOROVOD_DIST=$work/dist PROGRAMS=$work/bin python3 tests/dist/page.py "$(uname -m)"
ok "the commands of docs/install.md"
echo "packages: $checks checks"
