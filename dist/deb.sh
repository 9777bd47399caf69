#!/usr/bin/env bash
# Prints a Debian package: deb.sh PARTS VERSION ARCHITECTURE WORK. PARTS is the unpacked archive. Requires ar and tar, but not
# Debian. assemble.py calls it, with SOURCE_DATE_EPOCH, MAINTAINER and HOMEPAGE.
set -euo pipefail
parts=$1 version=$2 architecture=$3 work=$4
data=$work/data control=$work/control

install -Dm 0755 "$parts/khorovod" "$data/usr/bin/khorovod"
install -Dm 0644 "$parts/completions/khorovod.bash" "$data/usr/share/bash-completion/completions/khorovod"
install -Dm 0644 "$parts/completions/_khorovod" "$data/usr/share/zsh/vendor-completions/_khorovod"
install -Dm 0644 "$parts/completions/khorovod.fish" "$data/usr/share/fish/vendor_completions.d/khorovod.fish"
install -d "$data/usr/share/man/man1" "$data/usr/share/doc/khorovod"
for page in "$parts"/man/*.1; do gzip -9nc "$page" >"$data/usr/share/man/man1/${page##*/}.gz"; done
gzip -9nc "$parts/CHANGELOG.md" >"$data/usr/share/doc/khorovod/changelog.gz"
{
    echo 'Licensed under Apache-2.0 or MIT, at your choice.'
    echo 'The first is in /usr/share/common-licenses/Apache-2.0 on Debian. The second:'
    echo
    cat "$parts/LICENSE-MIT"
} >"$data/usr/share/doc/khorovod/copyright"
chmod 0644 "$data/usr/share/man/man1"/* "$data/usr/share/doc/khorovod"/*

mkdir -p "$control"
cat >"$control/control" <<CONTROL
Package: khorovod
Version: $version-1
Architecture: $architecture
Section: utils
Priority: optional
Maintainer: $MAINTAINER
Homepage: $HOMEPAGE
Installed-Size: $(du -sk "$data" | cut -f1)
Description: compile a short training spec into plain Kubernetes objects
 One validated TrainingJob in YAML becomes the objects that run distributed
 training with Horovod, MPI, torchrun or DeepSpeed: no operator, no CRD.
 .
 It sends nothing anywhere; what it prints goes to kubectl or Helm.
CONTROL
(cd "$data" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$control/md5sums"

cd "$work"
echo 2.0 >debian-binary
for part in control data; do
    tar --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$part" -cf - . | gzip -9n >"$part.tar.gz"
done
# The order of the members is fixed; times and owners are left out.
ar rcD package.deb debian-binary control.tar.gz data.tar.gz
cat package.deb
