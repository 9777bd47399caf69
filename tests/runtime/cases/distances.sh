#!/bin/bash
# The order of the ranks by measured round-trip times. Sourced. The pods are in racks, between which frames take a while.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `job`, `run` and `here` come from lib.sh and run.sh

# racks POD=RACK... -- RACK=BLOCK...: puts pods into racks. Without a rack, a pod is in `pods`. Frames from one rack to another take 2 ms, or
# 8 ms if the rack is in another block.
racks() {
  mkdir -p "$work"
  while [[ $1 != -- ]]; do
    echo "${1/=/ }" >>"$work/racks"
    shift
  done
  cluster
  "$here/pods/racks.py" "${@:2}" >"$work/racks.log" 2>&1 &
  wait_for racks connected
}

# Two racks: their workers alternate, and the ranks do not.
case_measured_order() {
  racks worker-1=far worker-3=far -- pods=b far=b
  train "$hosts; sleep 3" 'workers: {replicas: 5, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: measured}}'
  wait_for launcher "rank 4 on" || return
  [[ $(inside_pod launcher sed 's/.*worker-\([0-9]\).*/\1/' /horovod/generated/hostfile | tr '\n' ' ') == "0 2 4 1 3 " ]] ||
    fail "the hostfile has another order"
  ! grep -q "ClusterRole\|spec.nodeName" "$work/objects.yaml" || fail "it can read nodes"
  expect 0 "ranks follow the measured round-trip times: 2 groups (3, 2 hosts), gaps: " trained
  ranks worker-0 worker-2 worker-4 worker-1 worker-3
  released
}

# Three racks in two blocks. The racks of a block are neighbours.
case_measured_order_of_blocks() {
  racks worker-1=two worker-4=two worker-2=three worker-5=three -- pods=b1 two=b2 three=b1
  train "$hosts" 'workers: {replicas: 6, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: measured}}'
  expect 0 "ranks follow the measured round-trip times: 3 groups (2, 2, 2 hosts), gaps: " trained
  grep -q "gaps: .* ms, .* ms" "$work/launcher.log" || fail "not two levels"
  ranks worker-0 worker-3 worker-2 worker-5 worker-1 worker-4
}

# All in one rack.
case_measured_order_without_gaps() {
  train "$hosts" 'workers: {replicas: 3, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: measured}}'
  expect 0 "have no clear gap: ranks follow the numbers of the workers" trained
  ranks worker-0 worker-1 worker-2
}

# A firewall of one worker drops the packets that are measured.
case_measured_order_behind_a_firewall() {
  racks worker-1=far worker-3=far -- pods=b far=b
  image prepare '[[ $POD != worker-0 ]] || nft -f - <<<"table ip f {
    chain i { type filter hook input priority 0; tcp dport 2223 iif != lo drop; }
    chain o { type filter hook output priority 0; tcp dport 2223 oif != lo drop; }
  }"'
  train "$hosts" 'workers: {replicas: 4, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: measured}}'
  expect 0 "ranks follow the measured round-trip times: 2 groups (2, 1 hosts), gaps: " \
    "hosts whose round-trip times could not be measured come last: $job-$run-worker-0.$job" trained
  ranks worker-1 worker-3 worker-2 worker-0
}

# Over a tree of ssh sessions, and with one host to which the others measure in a round. The first round finds its rack, and the second one
# the other rack. Both rounds and the launch are two sessions each.
case_measured_order_over_a_tree() {
  count_sessions
  image env landmarks=1
  racks worker-1=far worker-3=far -- pods=b far=b
  tree_job "$hosts; sleep 2" 'placement: {topology: {rankOrder: measured}}'
  wait_for launcher "rank 4 on" && sessions_are 6
  expect 0 "ranks follow the measured round-trip times: 2 groups (3, 2 hosts), gaps: " trained
  ranks worker-0 worker-2 worker-4 worker-1 worker-3
}

# Rank 0 is in the launcher's pod, so the launcher's rack comes first.
case_measured_order_of_an_indexed_job() {
  racks 1=far 2=far -- pods=b far=b
  train 'echo rank $OMPI_COMM_WORLD_RANK on $(hostname)' 'workers: {replicas: 4, slotsPerWorker: 1}' \
    'launcher: {kind: mpirun, runsIn: firstWorker}' 'placement: {topology: {rankOrder: measured}}'
  expect 0 "ranks follow the measured round-trip times: 2 groups (2, 2 hosts), gaps: " trained
  logged 0 "rank 0 on $job-$run-0" "rank 1 on $job-$run-3" "rank 2 on $job-$run-1" "rank 3 on $job-$run-2"
}

# A launcher that runs ranks, and groups: each group is sorted by itself.
case_measured_order_of_groups() {
  racks launcher=far worker-a-1=far worker-b-0=far -- pods=b far=b
  train "$hosts" 'workers: {slotsPerWorker: 1, groups: [{name: a, replicas: 2}, {name: b, replicas: 2}]}' \
    'launcher: {kind: mpirun, runsRanks: true}' 'placement: {topology: {rankOrder: measured}}'
  expect 0 "ranks follow the measured round-trip times: 2 groups (1, 1, 1, 1 hosts), gaps: " trained
  ranks launcher worker-a-1 worker-a-0 worker-b-0 worker-b-1
}

# A spare in the rack of the lost host takes its ranks, and the others keep theirs.
case_measured_order_after_a_loss() {
  local rank
  racks worker-1=far worker-4=far -- pods=b far=b
  # With `keepWorkers`, the workers do not wait for the launcher, so the spares answer before it measures.
  image prepare '[[ $POD != launcher ]] || sleep 4'
  train "$hosts; [[ -e /tmp/again || \$HOSTNAME == *-worker-4 ]] || { touch /tmp/again; sleep 300; }" \
    'workers: {replicas: 3, spares: 2, slotsPerWorker: 1}' 'placement: {topology: {rankOrder: measured}}' 'lifecycle: {retries: 2, keepWorkers: true}'
  wait_for launcher "ranks follow the measured round-trip times: 2 groups (2, 1 hosts)" || return
  for rank in 0 1 2; do wait_for launcher "rank $rank on" || return; done
  ranks worker-0 worker-2 worker-1
  other_hosts_stay "rank 0 on worker-0 rank 1 on worker-2 rank 2 on worker-4"
}

# A new launcher measures again, after the workers have accepted it.
case_measured_order_of_a_new_launcher() {
  racks worker-1=far worker-3=far -- pods=b far=b
  tree_job "$hosts; [[ -e /tmp/again ]] || { touch /tmp/again; sleep 300; }" 'placement: {topology: {rankOrder: measured}}'
  wait_for launcher "rank 4 on" || return
  sleep 1
  kill_pod launcher
  expect 0 trained
  [[ $(grep -c "ranks follow the measured round-trip times: 2 groups (3, 2 hosts)" "$work/launcher.log") == 2 ]] || fail "not sorted twice"
  ranks worker-0 worker-2 worker-4 worker-1 worker-3
}
