#!/usr/bin/env bash
# Compares khorovod with Kubeflow's MPI Operator on one cluster: bench/operator.sh FOLDER [ROUNDS [VERSION...]]
# >bench/operator.md. FOLDER contains the operator's source. The default versions are a Kubernetes whose kubelets poll the
# state of containers once per second, and one whose kubelets receive it as events.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath "$1")
cd "$root"
# shellcheck source=tests/tools.sh
. tests/tools.sh
here=tests/cluster
# shellcheck source=tests/cluster/parts.sh
. "$here/parts.sh"
need go golang version
under_test
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$folder" && CGO_ENABLED=0 go build -o "$work/mpi-operator" ./cmd/mpi-operator)
rounds=${2:-7} versions=("${@:3}")
((${#versions[@]})) || versions=(1.34.3 1.36.3)
cat <<END
# Comparison with the MPI Operator

\`bench/operator.sh FOLDER >bench/operator.md\` runs the same job in the same image on the same cluster of three nodes and
$(nproc) CPUs, alternating between khorovod and the operator. Each run starts when the CPUs are idle. A run during which a
kubelet cleaned up, once per minute, is repeated. All values are seconds: the median, then minimum and maximum.

A launcher needs the addresses of its workers. Until Kubernetes 1.35, a kubelet polls its containers once per second, and
the cluster gets a new pod's address only then. So up to a second passes between the start of the last container and the
first rank, with any launcher. Since 1.36, the kubelet checks immediately (\`PLEGOnDemandRelist\`).

A StatefulSet that khorovod renders starts with one worker, and its launcher scales it up when it runs, so that re-applying
the same spec never occupies devices. \`runsIn: firstWorker\` starts all workers immediately.

With sixteen workers, two CPUs are busy until the first rank: that comparison measures CPU time, most of it used by the
cluster. The operator's job has no NetworkPolicy, and its ssh accepts any host key.

END
for version in "${versions[@]}"; do
    cluster_parts "$version" 3 >&2
    KUBERNETES=$version GOGC=100 tests/cluster/up.sh python3 bench/operator.py "$folder" "$work/mpi-operator" "$rounds" | sed "/^cluster: /d"
done
