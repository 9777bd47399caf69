#!/usr/bin/env bash
# Starts a Kubernetes cluster for the duration of one command; without a command, of a shell.
#
#   tests/cluster/up.sh [COMMAND...]
#
#   NODES=4               the number of nodes; 0 starts only the API server
#   IMAGES="ARCHIVE..."   images on the nodes
#   KUBERNETES=1.34.3     the version
#   FAMILY=4              the address families: 4, 6, 64 (IPv6, and IPv4 for outgoing traffic only) or 46 (both)
#   QPS=500               requests per second of controllers and scheduler; the default is theirs
#   GANGS=1              gang scheduling by Kubernetes itself, which is off by default; Kubernetes 1.36 or newer
#   GRACE=120s            how long a node may be silent until it is NotReady; the default is Kubernetes'. For simulated nodes only
#
# The cluster has nodes with kubelet and containerd, a control plane and DNS. From the fourth on, a node runs only pods that
# tolerate its taint. Everything is in its own mount, network and process namespaces and on a memory disk, which end with the command.
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
COREDNS=$(coredns_program)
export BIN=$CACHE/kubernetes-$KUBERNETES COREDNS
STATE=$(mktemp -d "${TMPDIR:-/tmp}/$name.XXXX")
export STATE

# Cleans up what is outside the namespaces: the folder, and the pods' cgroups.
# shellcheck disable=SC2317
clean() {
    local group tries=0
    trap '' INT TERM
    [[ -z ${cluster:-} ]] || kill -KILL "$cluster" 2>/dev/null || true
    wait
    for group in /sys/fs/cgroup/*/"$name" /sys/fs/cgroup/"$name"; do
        [[ -d $group ]] || continue
        # The kernel may need a moment until the cgroup is empty.
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
