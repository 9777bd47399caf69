#!/usr/bin/env bash
# Builds all packages into a folder: `make dist`.
#
#   dist/build.sh OUT BINARY
#
# From the static BINARY: an archive with completions, manual pages and licences, a Debian package, a container image, a
# kubectl plugin, the Helm plugins (if Rust can compile for wasm32-wasip1), a bill of materials, and SHA256SUMS of all files.
# The same commit, compiler and zlib give the same bytes.
#
# DOWNLOAD   the URL of the folder with the archives, for krew's manifest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m "${1:?where to}") binary=$(realpath "${2:?which binary}")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
[[ $("$binary" --version) == "khorovod $version" ]] || { echo "$binary is not khorovod $version" >&2; exit 1; }
machine=$(uname -m)
case $machine in
    x86_64) debian=amd64 ;;
    aarch64) debian=arm64 ;;
    *) echo "there are no packages for $machine" >&2 && exit 1 ;;
esac
download=${DOWNLOAD:-https://example.com/khorovod/v$version}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out" && mkdir -p "$out"

# archive FOLDER NAME...: prints a reproducible archive of these files in a folder.
archive() {
    tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$1" -cf - "${@:2}" | gzip -9n
}

# The files for all packages.
parts=$work/parts
mkdir -p "$parts"/{completions,man}
for shell in bash zsh fish; do "$binary" completions "$shell" >"$parts/completions/khorovod.$shell"; done
mv "$parts/completions/khorovod.zsh" "$parts/completions/_khorovod"
"$binary" man --dir "$parts/man"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$parts"
install -m 0755 "$binary" "$parts/khorovod"

name=khorovod-$version-$machine-linux
cp -r "$parts" "$work/$name"
archive "$work" "$name" >"$out/$name.tar.gz"

dist/deb.sh "$parts" "$version" "$debian" "$work/deb" >"$out/khorovod_${version}_$debian.deb"
dist/image.py "$binary" "$version" "$debian" "$out/khorovod-$version-$machine.oci.tar"

mkdir "$work/krew"
cp LICENSE-APACHE LICENSE-MIT "$work/krew"
install -m 0755 "$binary" "$work/krew/kubectl-khorovod"
archive "$work/krew" . >"$out/kubectl-$name.tar.gz"
sum=$(sha256sum <"$out/kubectl-$name.tar.gz" | cut -d' ' -f1)
sed "s|VERSION|$version|g; s|ARCHITECTURE|$debian|; s|DOWNLOAD|$download|; s|ARCHIVE|kubectl-$name.tar.gz|; s|SUM|$sum|" \
    dist/krew.yaml >"$out/khorovod.yaml"

if [[ -d $(rustc --print target-libdir --target wasm32-wasip1) ]]; then
    KHOROVOD=$binary HELM=false plugin/build.sh "$work/plugins" >&2
    for plugin in "$work"/plugins/helm4-*/; do
        name=$(basename "$plugin")
        archive "$work/plugins" "$name" >"$out/khorovod-$version-$name.tar.gz"
    done
    # The plugin for Helm 3 contains the binary; the others run on any system.
    mv "$work/plugins/packages/khorovod-helm3-$version.tgz" "$out/khorovod-helm3-$version-$machine-linux.tgz"
else
    echo "Helm's plugins are not built; they require: rustup target add wasm32-wasip1" >&2
fi

dist/sbom.py "$version" >"$out/khorovod-$version-$machine.spdx.json"
(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
ls -l "$out" >&2
