#!/bin/bash
# Measures the overhead of khorovod's launch compared with a plain mpirun with the same ssh. Sourced.
# shellcheck disable=SC2016,SC2154 # the pods expand; `work` comes from lib.sh

# first_line TEXT: prints the time in milliseconds at which a line with this text arrives.
first_line() {
  local line
  while read -r line; do
    [[ $line != *"$1"* ]] || { echo "$((${EPOCHREALTIME/./} / 1000))"; return; }
  done
}

# From "all workers answer" to the first line of a rank, alternating with a manual mpirun in the same pod.
case_starts_as_fast_as_mpirun() {
  local round from to ours bare follower
  rm -f "$work"/{ours,bare}
  for round in 1 2 3 4 5; do
    spec 'echo first of the ranks; until [[ -e /tmp/enough ]]; do sleep 0.5; done' "runTag: \"$round\""
    cluster
    : >"$work/launcher.log"
    coproc follower { tail -n +1 -s 0.01 -F "$work/launcher.log"; }
    apply -n team-a "$work/job.yaml"
    from=$(first_line "2 of 2 workers answer" <&"${follower[0]}")
    to=$(first_line ">:first of the ranks" <&"${follower[0]}")
    kill "$follower_PID"
    echo $((to - from)) >>"$work/ours"
    from=$((${EPOCHREALTIME/./} / 1000))
    to=$(inside_pod launcher mpirun -np 4 --hostfile /horovod/generated/hostfile --bind-to none --tag-output echo bare |
      first_line ">:bare")
    [[ -z $to ]] || echo $((to - from)) >>"$work/bare"
    inside_pod worker-0 touch /tmp/enough
    inside_pod worker-1 touch /tmp/enough
    expect 0
  done
  [[ $(wc -l <"$work/bare") -ge 4 ]] || fail "mpirun by hand failed"
  ours=$(sort -n "$work/ours" | sed -n 3p) bare=$(sort -n "$work/bare" | sed -n 3p)
  echo "the first line comes after $ours ms, by a bare mpirun after $bare ms ($(paste -sd' ' "$work/ours"); $(paste -sd' ' "$work/bare"))"
  ((ours * 10 <= bare * 13)) || fail "$ours ms is more than 1.3 times $bare ms"
}
