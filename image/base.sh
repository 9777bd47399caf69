#!/usr/bin/env bash
# Builds the base image from Debian packages, with the content of `debian:trixie-slim`. Use it if no registry can be reached.
#
#   image/base.sh [NAME]      the default NAME is localhost/debian:trixie-slim
#
# Requires root, buildah and debootstrap, which verifies Debian's signatures. MIRROR selects another mirror.
set -euo pipefail
name=${1:-localhost/debian:trixie-slim}
mirror=${MIRROR:-http://deb.debian.org}

for program in debootstrap buildah; do
  command -v "$program" >/dev/null || { echo "'$program' is missing; on Debian: apt-get install $program" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
# Not the mktemp folder itself, whose mode 0700 would become the mode of the image's root folder.
mkdir -m 0755 "$root"
debootstrap --variant=minbase --include=ca-certificates trixie "$root" "$mirror/debian" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }

rm "$root/etc/apt/sources.list"
cat >"$root/etc/apt/sources.list.d/debian.sources" <<SOURCES
Types: deb
URIs: $mirror/debian
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: $mirror/debian-security
Suites: trixie-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
SOURCES
# Packages must not start services in an image.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 0755 "$root/usr/sbin/policy-rc.d"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/* "$root"/usr/share/{man,info,locale}/* \
  "$root"/etc/{hostname,resolv.conf,machine-id}
find "$root/usr/share/doc" -type f ! -name copyright -delete
find "$root/usr/share/doc" -type d -empty -delete

container=$(buildah from scratch)
buildah add --quiet "$container" "$root" / >/dev/null
buildah config --cmd bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
buildah commit --quiet --rm "$container" "$name" >/dev/null
echo "$name"
