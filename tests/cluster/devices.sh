#!/usr/bin/env bash
# devices.sh NODES: announces devices, which the scheduler counts like real ones, and sets the labels of GPU nodes.
set -euo pipefail
for ((n = 1; n <= $1; n++)); do
    patch=
    for device in nvidia.com/gpu=256 amd.com/gpu=16 nvidia.com/mig-1g.10gb=28 rdma/hca=64 habana.ai/gaudi=8 khorovod.test/scarce=3; do
        path=${device%=*}
        patch+=",{\"op\":\"add\",\"path\":\"/status/capacity/${path/\//\~1}\",\"value\":\"${device#*=}\"}"
    done
    kubectl patch node "node-$n" --subresource=status --type=json -p "[${patch#,}]"
    kubectl label node "node-$n" nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3 topology.kubernetes.io/rack="rack-$(((n + 1) / 2))"
done >/dev/null
