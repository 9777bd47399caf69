#!/usr/bin/env bash
# The first process of a cluster's namespaces: starts the control plane and the nodes, then the command. See up.sh.
# API server, DNS and, on port 9000, S3 have the address `home` of addresses.sh.
set -euo pipefail
# shellcheck source=tests/cluster/addresses.sh
. "$HERE/addresses.sh"
nodes=${NODES:?}
mount -t tmpfs -o mode=755 cluster "$STATE"
mkdir -p "$STATE"/{log,pki,claims,nodes,buckets,known}
began=$(date +%s%N)

# start NAME COMMAND...: starts a program in the background, with a log, and with its pid in a file for faults.py.
start() {
    local name=$1
    shift
    "$@" >>"$STATE/log/$name" 2>&1 </dev/null &
    echo $! >"$STATE/$name.pid"
}

# soon WHAT COMMAND...: waits until a command succeeds.
soon() {
    local what=$1 tries=0
    shift
    until "$@" >/dev/null 2>&1; do
        ((++tries < 600)) || {
            echo "cluster: no $what after a minute; the end of its logs:" >&2
            tail -n 5 "$STATE"/log/* >&2
            exit 1
        }
        sleep 0.1
    done
}

ip link set lo up
# The bridge has a fixed MAC address. By default it has the lowest one of its ports, which changes when nodes start, and hosts
# that cached the old one cannot reach it any more.
ip link add nodes address 02:00:00:00:00:01 type bridge
ip link set nodes up
services=''
for family in $FAMILIES; do
    join_network "$family" "$(home_of "$family")" nodes
    services+=${services:+,}$(services_of "$family")
done

openssl genrsa -out "$STATE/pki/accounts.key" 2048 2>/dev/null
{
    echo 'admin,admin,admin,"system:masters"'
    for ((n = 1; n <= nodes; n++)); do echo "node-$n,system:node:node-$n,node-$n,\"system:nodes\""; done
} >"$STATE/pki/tokens"

# kubeconfig TOKEN FILE
kubeconfig() {
    cat >"$2" <<EOF
apiVersion: v1
kind: Config
clusters: [{name: khorovod, cluster: {server: "$SERVER", certificate-authority: $STATE/pki/apiserver.crt}}]
users: [{name: $1, user: {token: $1}}]
contexts: [{name: khorovod, context: {cluster: khorovod, user: $1}}]
current-context: khorovod
EOF
}
export SERVER=https://$home_url:6443
kubeconfig admin "$STATE/kubeconfig"
# Memory is less scarce than CPU time: kubectl and the control plane collect garbage less often than by default.
export GOGC=${GOGC:-300}
export HOME_URL=$home_url KUBECONFIG=$STATE/kubeconfig KUBECACHEDIR=$STATE/kubectl PATH=$BIN:$PATH HOME=${HOME:-/root}

# As docs/scheduling.md has them.
gang_api=() gang_gates=()
if [[ -n ${GANGS:-} ]]; then
    case ${BIN##*-} in
    1.36.*) gang_api=(--runtime-config=scheduling.k8s.io/v1alpha2=true) gang_gates=("--feature-gates=GenericWorkload=true,GangScheduling=true") ;;
    *) gang_api=(--runtime-config=scheduling.k8s.io/v1beta1=true) gang_gates=(--feature-gates=GenericWorkload=true) ;;
    esac
fi

cat >"$STATE/apiserver" <<EOF
exec $BIN/kube-apiserver --etcd-servers=http://127.0.0.1:2379 --advertise-address=$home --cert-dir=$STATE/pki \\
    --service-cluster-ip-range=$services --token-auth-file=$STATE/pki/tokens --authorization-mode=Node,RBAC \\
    --kubelet-preferred-address-types=InternalIP --enable-admission-plugins=NodeRestriction --allow-privileged \\
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=$STATE/pki/accounts.key \\
    --service-account-signing-key-file=$STATE/pki/accounts.key ${gang_api[*]} ${gang_gates[*]}
EOF
# The configuration of most managed clusters. The latest versions of kubeadm also turn off the cache for `cluster.local`. Instead
# of forwarding other names, a template denies them.
cat >"$STATE/Corefile" <<EOF
cluster.local:53 $reverse:53 {
    bind $home
    errors
    kubernetes {
        kubeconfig $STATE/kubeconfig
        pods insecure
        ttl 30
    }
    cache 30
    loadbalance
}
.:53 {
    bind $home
    errors
    template ANY ANY {
        rcode NXDOMAIN
    }
    cache 30
}
EOF

start etcd etcd --data-dir="$STATE/etcd" --unsafe-no-fsync --listen-peer-urls=http://127.0.0.1:2380 --logger=zap
start apiserver bash "$STATE/apiserver"
for ((n = 1; n <= nodes; n++)); do
    kubeconfig "node-$n" "$STATE/nodes/$n.kubeconfig"
    start "node-$n" unshare --mount --net --uts --pid --fork --kill-child --mount-proc "$HERE/node.sh" "$n"
    soon "network namespace of node $n" test -e "$STATE/nodes/$n.here"
    pgrep -P "$(<"$STATE/node-$n.pid")" >"$STATE/nodes/$n.pid"
    ip link add "node-$n" type veth peer name eth0 netns "$(<"$STATE/nodes/$n.pid")"
    ip link set "node-$n" master nodes up
    for family in $FAMILIES; do ip route add "$(pods_of "$family" "$n")" via "$(node_of "$family" "$n")"; done
done
soon 'API server' kubectl get --raw /readyz
kubectl apply --server-side -f "$CACHE/cluster-types-1" -f "$HERE/volcano-podgroup.yaml" -f "$HERE/compute-domain.yaml" >/dev/null
# Without nodes, only the API server runs, which validates objects.
if ((nodes)); then
    qps=("--kube-api-qps=${QPS:-}" "--kube-api-burst=${QPS:-}")
    start controllers "$BIN/kube-controller-manager" --kubeconfig="$KUBECONFIG" --leader-elect=false \
        --root-ca-file="$STATE/pki/apiserver.crt" --service-account-private-key-file="$STATE/pki/accounts.key" \
        --terminated-pod-gc-threshold=500 ${GRACE:+"--node-monitor-grace-period=$GRACE"} ${QPS:+"${qps[@]}"}
    start scheduler "$BIN/kube-scheduler" --kubeconfig="$KUBECONFIG" --leader-elect=false "${gang_gates[@]}" ${QPS:+"${qps[@]}"}
    start dns "$COREDNS" -conf "$STATE/Corefile"
    start policy python3 "$HERE/policy.py"
    # Stores the metadata of objects in files, because a memory disk may not support extended attributes.
    start s3 env ROOT_ACCESS_KEY=s3-user ROOT_SECRET_KEY=s3-secret "$BUCKETS" --port "$home_url:9000" --region eu-central-1 \
        --health /ready posix --sidecar "$STATE/known" "$STATE/buckets"
    for ((n = 1; n <= nodes; n++)); do soon "node-$n" kubectl get node "node-$n"; done
    "$HERE/devices.sh" "$nodes"
    soon 'Ready nodes' kubectl wait --for=condition=Ready nodes --all --timeout=30s
    soon 'default account' kubectl get serviceaccount default
    soon 'server of buckets' curl -sf "http://$home_url:9000/ready"
fi

took=$((($(date +%s%N) - began) / 100000000))
printf 'cluster: Kubernetes %s, %d nodes Ready after %d.%d s; KUBECONFIG=%s\n' \
    "${BIN##*-}" "$nodes" $((took / 10)) $((took % 10)) "$KUBECONFIG" >&2
if (($#)); then "$@"; else bash -i; fi
