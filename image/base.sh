#!/usr/bin/env bash
# Makes the base image from Debian's packages alone, for where no registry answers: what `debian:trixie-slim` holds.
#
#   image/base.sh [NAME]      NAME is localhost/debian:trixie-slim
#
# Needs root, buildah and debootstrap, which checks Debian's signature on all it fetches. MIRROR names another mirror.
set -euo pipefail
name=${1:-localhost/debian:trixie-slim}
mirror=${MIRROR:-http://deb.debian.org}

for program in debootstrap buildah; do
  command -v "$program" >/dev/null || { echo "'$program' is missing; on Debian: apt-get install $program" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
# From a mktemp folder, which is ours alone, the image's / would be ours alone too.
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
# Nobody in an image starts services.
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
