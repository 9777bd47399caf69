#!/usr/bin/env bash
# Measures how long a pod takes until it runs what khorovod delivers to it: bench/delivery.sh [ROUNDS] >bench/delivery.md. Compares scripts
# in a ConfigMap, as today, with the ways to deliver a helper program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/tools.sh
. tests/tools.sh
here=tests/cluster
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
under_test
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
need gcc gcc && need jq jq

# Builds an image with only the program, as an archive in `built`, once: the nodes' copy of the images has its path in the name.
built=$tools_cache/delivery-$(sha256sum <bench/delivery.c | cut -c1-16)
image() {
    [[ ! -e $built ]] || return 0
    mkdir -p "$work/image/layer"
    gcc -static -Os -s -Wall -Wextra -o "$work/image/layer/delivery" bench/delivery.c
    (
        cd "$work/image"
        tar --owner=0 --group=0 -C layer -cf layer.tar .
        printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/delivery"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
            "$(sha256sum <layer.tar | cut -d' ' -f1)" >config.json
        echo '[{"Config":"config.json","RepoTags":["khorovod.test/delivery:1"],"Layers":["layer.tar"]}]' >manifest.json
        tar -cf delivery.tar manifest.json config.json layer.tar
    )
    mv "$work/image" "$built"
}

# containerd 1.6, which Debian has, mounts no image volumes.
containerd=2.1.5
newer_containerd() (
    home=$tools_cache/containerd-$containerd module=github.com/containerd/containerd/v2
    [[ ! -x $home/containerd ]] || exit 0
    echo "building containerd $containerd: once, some minutes"
    cd "$(mktemp -d "$work/build.XXXX")"
    go mod init delivery 2>/dev/null
    go mod edit -require="$module@v$containerd"
    CGO_ENABLED=0 nice go build -mod=mod -trimpath -tags no_btrfs,no_zfs,no_devmapper -ldflags '-s -w' -o bin/ \
        "$module/cmd/"{containerd,containerd-shim-runc-v2,ctr}
    mv bin "$home"
)

image
"$KHOROVOD" render -q --no-keys -n default -o json examples/smallest/job.yaml |
    jq '.items[] | select(.kind == "ConfigMap" and .immutable)' >"$work/scripts.json"
cluster_parts "$kubernetes" 1 >&2
cluster_parts 1.37.2 1 >&2
newer_containerd >&2
cat <<END
# How pods get what runs in them

\`bench/delivery.sh >bench/delivery.md\` starts pods one after the other on one node, with the worker image, in a
[test cluster](../tests/cluster/README.md) on $(nproc) CPUs. Each prints a line when it runs what was delivered. The seconds count from the
request that creates the pod, or its ConfigMap. The ways alternate. The scripts are those of a run; the program
has $(($(stat -c %s "$built/layer/delivery") / 1000)) kB, the size of a static program in Rust with an HTTPS client. All images are on the node before the start.

END
# measure VERSION: prints the table for a version of Kubernetes.
measure() {
    CONTAINERD="containerd $(containerd --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)" NODES=1 KUBERNETES=$1 \
        IMAGES="$IMAGES $built/delivery.tar" tests/cluster/up.sh python3 bench/delivery.py "$work/scripts.json" "$built/layer/delivery" "${rounds:?}" |
        sed '/^cluster: /d'
}
rounds=${1:-9}
measure "$kubernetes"
PATH=$tools_cache/containerd-$containerd:$PATH measure 1.37.2
