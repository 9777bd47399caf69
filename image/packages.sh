#!/bin/bash
# Installs Debian packages with the versions and hashes of a list; runs during the build of the image.
#
#   packages.sh LIST NAME…        LIST has one line `name version sha256` per package, including dependencies
#
# Debian's mirrors delete a version when a fix replaces it. Then this script fails, unless DRIFT=allow is set: then it installs
# the version in the mirror. It writes a list of the installed packages to /usr/share/khorovod/debian.txt.
set -euo pipefail
list=$1
shift
export DEBIAN_FRONTEND=noninteractive
declare -A version=() hash=()
while read -r name text sum; do
  [[ $name == '#'* ]] || version[$name]=$text hash[$name]=$sum
done <"$list"

# Excludes documentation, tests, and AMD's runtime with its compiler (230 MB), which only UCX's plugins for AMD GPUs use.
cat >/etc/dpkg/dpkg.cfg.d/khorovod <<'EXCLUDE'
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/lib/libtorch-test/*
path-exclude=/usr/lib/*/libLLVM*
path-exclude=/usr/lib/*/libamd*
path-exclude=/usr/lib/*/libhsa-*
path-exclude=/usr/lib/*/ucx/*rocm*
EXCLUDE
apt-get update -qq
# Do not pin a version that the mirror has deleted. If the base image has that version, the pin would prevent the
# installation of packages that depend on the new one.
apt-cache madison "${!version[@]}" | while IFS=' |' read -r name text _; do
  [[ ${version[$name]} != "$text" ]] || printf 'Package: %s\nPin: version %s\nPin-Priority: 1001\n\n' "$name" "$text"
done >/etc/apt/preferences.d/khorovod

# Also changes the packages of the base image to the listed versions.
apt-get dist-upgrade -y -qq --no-install-recommends --allow-downgrades --download-only >/dev/null
apt-get install -y -qq --no-install-recommends --download-only "$@" >/dev/null

strange=()
for file in /var/cache/apt/archives/*.deb; do
  [[ -e $file ]] || continue
  # shellcheck disable=SC2016 # dpkg expands these, not the shell
  read -r name text < <(dpkg-deb --showformat='${Package} ${Version}\n' -W "$file")
  if [[ ${version[$name]:-none} != "$text" ]]; then
    strange+=("$name $text (listed: ${version[$name]:-none})")
  elif ! sha256sum --status -c - <<<"${hash[$name]}  $file"; then
    echo "the hash of $file differs from the listed one" >&2
    exit 1
  fi
done
if ((${#strange[@]})); then
  printf 'not as listed: %s\n' "${strange[@]}" >&2
  [[ ${DRIFT:-} == allow ]] || { echo "build with --relist to update the list, or with --drift to accept these versions once" >&2; exit 1; }
fi
apt-get dist-upgrade -y -qq --no-install-recommends --allow-downgrades >/dev/null
apt-get install -y -qq --no-install-recommends "$@" >/dev/null

mkdir -p /usr/share/khorovod
# shellcheck disable=SC2016
dpkg-query --show --showformat='${Package}:${Architecture}=${Version}\n' >/tmp/installed
{
  echo '# name version sha256, of every package that the mirror has'
  xargs apt-cache show --no-all-versions 2>/dev/null </tmp/installed |
    awk '/^Package: / { name = $2 } /^Version: / { version = $2 } /^SHA256: / { print name, version, $2 }' | sort -u
} >/usr/share/khorovod/debian.txt
rm /tmp/installed

rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/log/{apt,*.log} \
  /etc/apt/preferences.d/khorovod
