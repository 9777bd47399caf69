#!/usr/bin/env bash
# An image for jobs with Open MPI, OpenSSH and Python from Debian, where none is given: prints its archive. Made once.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/tools.sh
. "$here/../tools.sh"
archive=${tools_cache:?}/cluster-worker-$(sha256sum <"$0" | cut -c1-16).tar
if [[ ! -e $archive ]]; then
    need debootstrap debootstrap >&2
    echo "making the jobs' image: once, a few minutes" >&2
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$tools_cache"
    # shellcheck disable=SC2016
    debootstrap --variant=minbase --include=openmpi-bin,openssh-server,python3,curl bookworm "$work/root" \
        "$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)" >&2
    rm -r "$work/root/var/cache/apt" "$work/root/etc/ssh"/ssh_host_*
    tar -C "$work/root" -cf "$work/layer.tar" .
    printf '{"architecture":"amd64","os":"linux","config":{"Cmd":["/bin/bash"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
        "$(sha256sum <"$work/layer.tar" | cut -d' ' -f1)" >"$work/config.json"
    echo '[{"Config":"config.json","RepoTags":["khorovod.test/worker:1"],"Layers":["layer.tar"]}]' >"$work/manifest.json"
    tar -C "$work" -cf "$archive.new" manifest.json config.json layer.tar
    mv "$archive.new" "$archive"
fi
echo "$archive"
