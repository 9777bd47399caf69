#!/usr/bin/env bash
# Provides images to the nodes without a registry, and without unpacking them per node and start.
#
#   images.sh store ARCHIVE...   unpacks archives once into a containerd root in the cache; prints the folder
#   images.sh node               creates a node's containerd root from it: copies the databases, links the layers
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=/run/images

store() {
    local key folder archive
    # shellcheck source=tests/tools.sh
    . "$here/../tools.sh"
    key=$({ cat "$here/pause.c" "$0"; (($# == 0)) || stat -L -c '%n %s %Y' "$@"; } | sha256sum | cut -c1-16)
    folder=${tools_cache:?}/cluster-images-$key
    if [[ ! -d $folder ]]; then
        echo "unpacking images: once for these" >&2
        # Deletes the files of older images. A running cluster has its own links.
        find "$tools_cache" -maxdepth 1 -name 'cluster-images-*' -mmin +600 -exec rm -rf {} +
        mkdir -p "$folder.new"
        (cd "$folder.new" && pause) || return
        unshare --mount "$here/images.sh" unpack "$folder.new" "$folder.new/pause.tar" "$@" >&2
        mv "$folder.new" "$folder"
    fi
    touch "$folder"
    echo "$folder"
}

# Builds the pause image, which holds a pod's namespaces, as an archive.
pause() {
    need gcc gcc
    mkdir layer
    gcc -static -Os -s -Wall -Wextra -o layer/pause "$here/pause.c"
    tar --owner=0 --group=0 -C layer -cf layer.tar .
    printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/pause"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
        "$(sha256sum <layer.tar | cut -d' ' -f1)" >config.json
    echo '[{"Config":"config.json","RepoTags":["khorovod.test/pause:1"],"Layers":["layer.tar"]}]' >manifest.json
    tar -cf pause.tar manifest.json config.json layer.tar
    rm -r layer layer.tar config.json manifest.json
}

# unpack FOLDER ARCHIVE...: runs in its own mount namespace.
unpack() {
    local folder=$1 daemon archive
    shift
    mount -t tmpfs images /run
    printf 'version = 2\nroot = "%s"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' "$folder" >/run/containerd.toml
    containerd --config /run/containerd.toml >/run/log 2>&1 &
    daemon=$!
    until ctr version >/dev/null 2>&1; do kill -0 "$daemon" || { cat /run/log; exit 1; }; sleep 0.1; done
    for archive; do ctr -n k8s.io images import "$archive"; done
    kill "$daemon"
    wait "$daemon" || true
    rm "$folder/pause.tar"
}

node() {
    local layers=io.containerd.snapshotter.v1.overlayfs blobs=io.containerd.content.v1.content/blobs/sha256
    local database=io.containerd.metadata.v1.bolt
    mkdir -p "$root/$layers/snapshots" "$root/$blobs"
    cp -r "$IMAGES/$database" "$root/"
    cp "$IMAGES/$layers/metadata.db" "$root/$layers/"
    ln -s "$IMAGES/$layers/snapshots"/* "$root/$layers/snapshots/"
    ln -s "$IMAGES/$blobs"/* "$root/$blobs/"
}

"$@"
