#!/bin/bash
# Installs Debian packages at the versions and with the hashes of a list; runs while the image is built.
#
#   packages.sh LIST NAME…        LIST has lines `name version sha256`, dependencies and all
#
# Debian's mirrors drop a version once a fix follows it. Then this fails and says so, unless DRIFT=allow lets it take
# what the mirror has. What was installed is written, as such a list, to /usr/share/khorovod/debian.txt.
set -euo pipefail
list=$1
shift
export DEBIAN_FRONTEND=noninteractive
declare -A version=() hash=()
while read -r name text sum; do
  [[ $name == '#'* ]] || version[$name]=$text hash[$name]=$sum
done <"$list"

# Papers nobody reads in an image; tests; and AMD's runtime with its compiler, 230 MB, which only UCX's plugins for AMD
# GPUs load.
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
# A version that the mirror has dropped is not asked for: where the base image has it, it would hold back all that asks
# for the one that follows.
apt-cache madison "${!version[@]}" | while IFS=' |' read -r name text _; do
  [[ ${version[$name]} != "$text" ]] || printf 'Package: %s\nPin: version %s\nPin-Priority: 1001\n\n' "$name" "$text"
done >/etc/apt/preferences.d/khorovod

# The base image's own packages come to their listed versions, too.
apt-get dist-upgrade -y -qq --no-install-recommends --allow-downgrades --download-only >/dev/null
apt-get install -y -qq --no-install-recommends --download-only "$@" >/dev/null

strange=()
for file in /var/cache/apt/archives/*.deb; do
  [[ -e $file ]] || continue
  # shellcheck disable=SC2016 # dpkg's, not the shell's
  read -r name text < <(dpkg-deb --showformat='${Package} ${Version}\n' -W "$file")
  if [[ ${version[$name]:-none} != "$text" ]]; then
    strange+=("$name $text (listed: ${version[$name]:-none})")
  elif ! sha256sum --status -c - <<<"${hash[$name]}  $file"; then
    echo "$file is not the package of that name and version that was listed" >&2
    exit 1
  fi
done
if ((${#strange[@]})); then
  printf 'not as listed: %s\n' "${strange[@]}" >&2
  [[ ${DRIFT:-} == allow ]] || { echo "build with --relist to renew the list, or with --drift to take these once" >&2; exit 1; }
fi
apt-get dist-upgrade -y -qq --no-install-recommends --allow-downgrades >/dev/null
apt-get install -y -qq --no-install-recommends "$@" >/dev/null

mkdir -p /usr/share/khorovod
# shellcheck disable=SC2016
dpkg-query --show --showformat='${Package}:${Architecture}=${Version}\n' >/tmp/installed
{
  echo '# name version sha256, of every package that the mirror knows'
  xargs apt-cache show --no-all-versions 2>/dev/null </tmp/installed |
    awk '/^Package: / { name = $2 } /^Version: / { version = $2 } /^SHA256: / { print name, version, $2 }' | sort -u
} >/usr/share/khorovod/debian.txt
rm /tmp/installed

rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/log/{apt,*.log} \
  /etc/apt/preferences.d/khorovod
