#!/bin/bash
# The order of the ranks by the topology of their nodes. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks and the pods expand; `work`, `job` and `run` come from lib.sh

# nodes LINE...: gives the node of a pod labels: `worker-0 block=b1 rack=r2`.
nodes() {
  mkdir -p "$work"
  printf '%s\n' "$@" | sed 's| \([a-z]*=\)| topology.kubernetes.io/\1|g' >"$work/nodes"
}

# A program that prints the host of each rank.
hosts='echo rank $OMPI_COMM_WORLD_RANK on $(hostname).'

# ranks POD...: checks the hosts of rank 0, 1 and so on.
ranks() {
  local rank=0 pod
  for pod; do logged launcher "rank $((rank++)) on $job-$run-$pod."; done
}

# Racks of two blocks, read from nodes. The block comes first, and a number is sorted as a number.
case_rank_order() {
  nodes 'worker-0 block=b2 rack=r1' 'worker-1 block=b1 rack=r10' 'worker-2 block=b2 rack=r1' 'worker-3 block=b1 rack=r9' \
    'worker-4 block=b1 rack=r10'
  train "$hosts" 'workers: {replicas: 5, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: [block, rack]}}'
  expect 0 "ranks follow the topology: b1/r9 (1), b1/r10 (2), b2/r1 (2)" trained
  ranks worker-3 worker-1 worker-4 worker-0 worker-2
  released
}

# Zones, which pods read from their own labels, without a permission.
case_rank_order_zones() {
  nodes 'worker-0 zone=b' 'worker-1 zone=a' 'worker-2 zone=b'
  spec "$hosts" 'workers: {replicas: 3, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: [zone]}}'
  start -n team-a --kube-version 1.35 "$work/job.yaml"
  ! grep -q "ClusterRole\|spec.nodeName" "$work/objects.yaml" || fail "it can read nodes"
  expect 0 "ranks follow the topology: a (1), b (2)" trained
  ranks worker-1 worker-0 worker-2
}

# Without labels, and without the permission to read them, the ranks keep the order of the workers.
case_rank_order_unknown() {
  spec "$hosts" 'workers: {replicas: 2, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: [rack]}}'
  nodes 'worker-0 rack=r2' 'worker-1 rack=r1'
  cluster
  "$KHOROVOD" render -q --ssh-seed examples/ssh.seed -n team-a "$work/job.yaml" | sed 's/kind: ClusterRoleBinding/kind: Unbound/' >"$work/objects.yaml"
  job=$(label job) run=$(label run)
  kube POST /apply "@$work/objects.yaml" >/dev/null || fail "not applied"
  expect 0 "no node of a worker has one of the labels topology.kubernetes.io/rack: ranks follow the numbers of the workers" trained
  logged worker-1 "cannot read the labels of the node node-of-worker-1 (HTTP 403); its ServiceAccount needs get on nodes"
  ranks worker-0 worker-1
}

# Rank 0 is in the launcher's pod, so the launcher's rack comes first, and then the rest of its block. Labels may be numbers.
case_rank_order_of_an_indexed_job() {
  nodes '0 block=2 rack=3' '1 block=1 rack=1' '2 block=2 rack=2' '3 block=2 rack=3' '4'
  train 'echo rank $OMPI_COMM_WORLD_RANK on $(hostname)' 'workers: {replicas: 5, slotsPerWorker: 1}' \
    'launcher: {kind: mpirun, runsIn: firstWorker}' 'placement: {topology: {rankOrder: [block, rack]}}'
  expect 0 "ranks follow the topology: 2/3 (2), 2/2 (1), 1/1 (1), -/- (1)" trained
  logged 0 "rank 0 on $job-$run-0" "rank 1 on $job-$run-3" "rank 2 on $job-$run-2" "rank 3 on $job-$run-1" "rank 4 on $job-$run-4"
}

# A launcher that runs ranks, and groups: each group is sorted by itself, so that its ranks have the numbers of the plan.
case_rank_order_of_groups() {
  nodes 'launcher rack=r2' 'worker-a-0 rack=r1' 'worker-a-1 rack=r2' 'worker-b-0 rack=r2' 'worker-b-1 rack=r1'
  train "$hosts" 'workers: {slotsPerWorker: 1, groups: [{name: a, replicas: 2}, {name: b, replicas: 2}]}' \
    'launcher: {kind: mpirun, runsRanks: true}' 'placement: {topology: {rankOrder: [rack]}}'
  expect 0 "ranks follow the topology: r2 (1), r1 (1), r2 (1), r1 (1)" trained
  ranks launcher worker-a-1 worker-a-0 worker-b-0 worker-b-1
}

# other_hosts_stay RANKS: worker-1 is lost, worker-4 takes its place with its ranks, and nothing is sorted again.
other_hosts_stay() {
  sleep 4
  cut_network worker-1
  expect 0 "$job-$run-worker-4.$job takes the place of $job-$run-worker-1.$job" trained
  [[ $(grep "rank . on" "$work/launcher.log" | tail -n 3 | grep -o "rank.*" | sort | sed "s/$job-$run-//; s/[.]//" | tr '\n' ' ') == "$1 " ]] ||
    fail "the other hosts changed their ranks"
  [[ $(grep -c "ranks follow" "$work/launcher.log") == 1 ]] || fail "the hosts were sorted again"
}

# A replacement takes the ranks of the lost host; a spare in the rack of that host is preferred, and the others keep their ranks.
case_rank_order_after_a_loss() {
  nodes 'worker-0 rack=r2' 'worker-1 rack=r1' 'worker-2 rack=r1' 'worker-3 rack=r2' 'worker-4 rack=r1'
  image prepare '[[ $POD != worker-[34] ]] || sleep 3'
  train "$hosts; [[ -e /tmp/again || \$HOSTNAME == *-worker-4 ]] || { touch /tmp/again; sleep 300; }" \
    'workers: {replicas: 3, spares: 2, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: [rack]}}' 'lifecycle: {retries: 2}'
  wait_for launcher "ranks follow the topology: r1 (2), r2 (1)" || return
  ranks_started() { (($(grep -c "rank . on" "$work/launcher.log") >= $1)); }
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    ranks_started 3 && break
    sleep 0.2
  done
  ranks worker-1 worker-2 worker-0
  other_hosts_stay "rank 0 on worker-4 rank 1 on worker-2 rank 2 on worker-0"
}
