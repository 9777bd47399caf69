#!/usr/bin/env bash
# node.sh NUMBER: runs one node, with containerd and kubelet in their own mount, network and process namespaces. See control.sh.
set -euo pipefail
n=$1
# shellcheck source=tests/cluster/addresses.sh
. "$HERE/addresses.sh"
# Fixed paths that programs write to are private to this node.
mount --make-rshared /
mount -t tmpfs -o mode=755 node /run
mkdir -p /run/written /run/work /run/containerd /run/kubelet
mount -t overlay -o lowerdir=/var,upperdir=/run/written,workdir=/run/work node /var

# Simulates a large machine, like GPU nodes: kubelet reports these numbers, so that limits are not reached.
mount -t tmpfs node /sys/devices/system/node
mount -t tmpfs node /sys/devices/system/cpu
mkdir /sys/devices/system/cpu/cpu{0..1023}
sed 's/^MemTotal:.*/MemTotal: 34359738368 kB/' /proc/meminfo >/run/meminfo
mount --bind /run/meminfo /proc/meminfo

# Each node has its own host name, because Open MPI treats hosts with the same name as one host.
hostname "node-$n"
touch "$STATE/nodes/$n.here"
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip link set lo up
ip link set eth0 up
addresses='' ranges='' routes=''
for family in $FAMILIES; do
    join_network "$family" "$(node_of "$family" "$n")" eth0
    ip route add default via "$(home_of "$family")"
    addresses+=${addresses:+,}$(node_of "$family" "$n")
    ranges+="${ranges:+, }[{\"subnet\": \"$(pods_of "$family" "$n")\"}]"
    routes+="${routes:+, }{\"dst\": \"$(anywhere_of "$family")\"}"
done
# The only Service with a cluster IP that pods use.
nft -f - <<EOF
table $table services {
    chain pods { type nat hook prerouting priority -100; $table daddr $service tcp dport 443 dnat to $home_url:6443; }
    chain node { type nat hook output priority -100; $table daddr $service tcp dport 443 dnat to $home_url:6443; }
}
EOF

mkdir -p /run/cni /run/plugins
cp -s /usr/lib/cni/* "$HERE/egress.sh" /run/plugins
[[ $FAMILY != 64 ]] || { egress=', {"type": "egress.sh"}' && echo 1 >/proc/sys/net/ipv4/ip_forward; }
cat >/run/cni/pods.conflist <<EOF
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipam": {"type": "host-local", "ranges": [$ranges], "routes": [$routes]}}${egress:-}
]}
EOF
cat >/run/containerd.toml <<EOF
version = 2
root = "/run/images"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "khorovod.test/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/run/plugins"
    conf_dir = "/run/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "/run/container.json"
EOF
# With containerd 2, containers have the limits of a service of systemd: 1,024 open files, which a process may raise. The hard limit
# here is at most that of this machine.
hard=$(ulimit -Hn)
[[ $hard != unlimited ]] && ((hard < 524288)) || hard=524288
ctr oci spec | python3 -c '
import json, sys
spec = json.load(sys.stdin)
spec["process"]["rlimits"] = [{"type": "RLIMIT_NOFILE", "soft": 1024, "hard": int(sys.argv[1])}]
json.dump(spec, sys.stdout)' "$hard" >/run/container.json
cat >/run/kubelet.yaml <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /$CLUSTER/node-$n
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%"}
imageGCHighThresholdPercent: 100
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
clusterDNS: ["$home"]
clusterDomain: cluster.local
resolvConf: /run/resolv.conf
EOF
# From the fourth on, nodes are for tests of node failures: each test tolerates only the taints of its own nodes.
((n < 4)) || echo "registerWithTaints: [{key: khorovod.test/doomed, value: node-$n, effect: NoSchedule}]" >>/run/kubelet.yaml
echo 'options ndots:5' >/run/resolv.conf

for controller in /sys/fs/cgroup/*/; do
    # cgroup v1 has one tree per controller; cgroup v2 has one tree, which kubelet creates.
    [[ ! -e $controller/tasks ]] || mkdir -p "$controller/$CLUSTER/node-$n"
done
[[ ! -e /sys/fs/cgroup/cgroup.controllers ]] || mkdir -p "/sys/fs/cgroup/$CLUSTER/node-$n"
"$HERE/images.sh" node
containerd --config /run/containerd.toml >"$STATE/log/containerd-$n" 2>&1 &
# Before 1.27, the configuration had no field for this.
[[ $KUBERNETES != 1.26.* ]] || endpoint=--container-runtime-endpoint=unix:///run/containerd/containerd.sock
# Restarts kubelet when it exits, like a supervisor. A fault test stops it as long as the file exists.
while :; do
    [[ -e $STATE/nodes/$n.stop ]] || "$BIN/kubelet" --config=/run/kubelet.yaml --hostname-override="node-$n" \
        --node-ip="$addresses" --kubeconfig="$STATE/nodes/$n.kubeconfig" --root-dir=/run/kubelet \
        --cert-dir=/run/kubelet/pki ${endpoint:+"$endpoint"} || true
    sleep 0.5
done
