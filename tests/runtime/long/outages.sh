#!/bin/bash
# Cases that take longer than five minutes. The stage `faults` runs them. Sourced.
# shellcheck disable=SC2154 # `job` and `run` come from lib.sh

# The network of a worker fails and stays away. Another worker takes its place, and the ranks of the silent one end within about five
# minutes, so that they do not write to a shared volume for longer: sshd and the daemon of MPI notice it.
case_silent_worker_ends_its_ranks() {
  local since
  allow 900
  # shellcheck disable=SC2016 # for the ranks
  train 'echo up $OMPI_COMM_WORLD_RANK; sleep 900' 'lifecycle: {retries: 1}'
  wait_for launcher ":up 3" || return
  cut_network worker-1
  since=$SECONDS
  wait_for launcher "$job-$run-worker-2.$job replaces it" 90 || return
  inside_pod worker-1 pgrep -f 'sleep 900' >/dev/null || fail "the silent worker has no ranks"
  while inside_pod worker-1 pgrep -f 'sleep 900' >/dev/null && ((SECONDS - since < 400)); do sleep 1; done
  echo "the ranks of the silent worker ended after $((SECONDS - since)) s"
  lasted 360 "$since" "the end of the ranks"
  delete_job
  expect 143
}
