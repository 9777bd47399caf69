#!/usr/bin/env bash
# Side by side with Kubeflow's MPI Operator on one cluster: bench/operator.sh FOLDER [ROUNDS [VERSION...]]
# >bench/operator.md, where FOLDER holds the operator's source. On a Kubernetes whose kubelets look once a second what became of
# their containers, and on one whose look at once.
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
# Side by side with the MPI Operator

\`bench/operator.sh FOLDER >bench/operator.md\`: the same job in the same image on the same cluster of three nodes, $(nproc) CPUs in
all, in turns, each begun when the processors had nothing to do, and again where a kubelet's clearing up, once a minute, fell into
it. Seconds: the median of some runs, least and most behind.

A launcher needs its workers' addresses. Until Kubernetes 1.35 a kubelet looks once a second what became of its containers,
and only then the cluster has a new pod's address: most of that second stands between a last container and any first
rank, whoever launches. From 1.36 on it looks at once (\`PLEGOnDemandRelist\`).

A StatefulSet of ours is born with one worker, and its launcher asks for the others once it runs: so applying the same
text again never takes devices. \`controller: Job\` makes all at once.

Sixteen workers keep two processors busy to the first rank: what is compared there is processor time, most of it the
cluster's own. The operator's job has no NetworkPolicy, and its ssh takes any host key.

END
for version in "${versions[@]}"; do
    cluster_parts "$version" 3 >&2
    KUBERNETES=$version GOGC=100 tests/cluster/up.sh python3 bench/operator.py "$folder" "$work/mpi-operator" "$rounds" | sed "/^cluster: /d"
done
