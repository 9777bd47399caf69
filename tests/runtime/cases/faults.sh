#!/bin/bash
# What goes wrong in a cluster, and what a person then reads. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `job` and `run` come from lib.sh

case_notices_a_silent_worker() {
  local since
  train "$endless" 'launcher: {retries: 0}'
  wait_for launcher "up 3"
  cut_network worker-1
  since=$SECONDS
  wait_for launcher "lost worker $job-$run-worker-1.$job"
  lasted 30 "$since" "noticing"
  expect 42 "lost worker"
  released
}

case_names_the_missing() {
  image prepare '[[ $POD != worker-1 ]] || rm usr/sbin/sshd'
  train true 'launcher: {waitTimeout: 4s}'
  expect 42 "1 of 2 workers did not answer on port 2222 within 4 s: $job-$run-worker-1.$job"
  said worker-1 "the image has no sshd: install openssh-server"
  released
}

# Killed outright, as for want of memory: a new one comes and counts.
case_counts_dead_launchers() {
  local life
  train "$endless" 'launcher: {retries: 1}'
  for life in 1 2; do
    until [[ $(grep -c "up 3" "$work/launcher.log") == "$life" ]]; do sleep 0.2; done
    kill_pod launcher
  done
  expect 42 "2 launchers died, and retries are 1"
  released
}

case_wants_the_mpi_of_the_spec() {
  train true 'launcher: {mpi: intelmpi}'
  expect 42 "the image has openmpi" "the spec says intelmpi"
}
