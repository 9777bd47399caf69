#!/usr/bin/env bash
# A Kubernetes cluster for as long as one command runs; without a command, for as long as a shell is open.
#
#   tests/cluster/up.sh [COMMAND...]
#
#   NODES=4               how many; without any it is an API server alone
#   IMAGES="ARCHIVE..."   images that the nodes have
#   KUBERNETES=1.34.3     which version
#   FAMILY=4              which addresses it has; 6 is a cluster whose pods have no IPv4, 64 one where it leads out only, 46 one with both
#   QPS=500               how many requests a second controllers and scheduler may make, else what they choose
#   GRACE=12s             how long a node may be silent before its pods go elsewhere
#
# Nodes with kubelet and containerd each, a control plane, DNS; the fourth node takes only pods that tolerate its end.
# All of it lives in mount, network and process namespaces of its own and on a memory disk. They go with the command,
# and with them everything they hold.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/tools.sh
. "$here/../tools.sh"
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"

[[ $(id -u) = 0 ]] || {
    echo "a cluster needs root: it makes namespaces, mounts and bridges" >&2
    exit 1
}
export NODES=${NODES:-4}
export FAMILY=${FAMILY:-4}
export KUBERNETES=${KUBERNETES:-$kubernetes}
cluster_parts "$KUBERNETES" "$NODES"
((NODES == 0)) || BUCKETS=$(versitygw)

# shellcheck disable=SC2086
((NODES == 0)) || IMAGES=$("$here/images.sh" store ${IMAGES:-})
export IMAGES
name=khorovod-cluster-$$
export CLUSTER=$name CACHE=${tools_cache:?} HERE=$here BUCKETS
export BIN=$CACHE/kubernetes-$KUBERNETES COREDNS=$CACHE/coredns-${coredns:?}/coredns
STATE=$(mktemp -d "${TMPDIR:-/tmp}/$name.XXXX")
export STATE

# What no namespace holds: the folder's name, and the kernel's control groups of pods.
# shellcheck disable=SC2317
clean() {
    local group tries=0
    trap '' INT TERM
    [[ -z ${cluster:-} ]] || kill -KILL "$cluster" 2>/dev/null || true
    wait
    for group in /sys/fs/cgroup/*/"$name" /sys/fs/cgroup/"$name"; do
        [[ -d $group ]] || continue
        # The kernel takes a moment to see that nobody is in there.
        until find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || ((++tries > 20)); do sleep 0.2; done
    done
    rmdir "$STATE"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

exec 3<&0
unshare --mount --net --pid --fork --kill-child --mount-proc "$here/control.sh" "$@" <&3 &
cluster=$!
(($#)) || echo "another shell in it: nsenter -t $cluster -m -n env KUBECONFIG=$STATE/kubeconfig PATH=$BIN:\$PATH bash"
wait "$cluster" && code=0 || code=$?
cluster=
exit "$code"
