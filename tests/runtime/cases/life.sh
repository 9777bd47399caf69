#!/bin/bash
# How a run ends: success, failure, a newer run, SIGTERM. It must always release its workers. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `job` and `run` come from lib.sh

case_trains() {
  train 'echo rank on $(hostname), $MODE; sleep 1' 'env: {MODE: of the pod}'
  expect 0 "openmpi 4.1.4 on 2 hosts for 4 ranks" "rank on $job-$run-worker-1, of the pod" "released the workers"
  [[ $(grep -c ">:rank on" "$work/launcher.log") == 4 ]] || fail "not four ranks"
  released
}

case_fails() {
  train 'exit 3' 'lifecycle: {retries: 1}'
  expect 42 "attempt 1 of 2 failed" "failed after 2 attempts; the last: training ended with code 3"
  [[ $(<"$work/pods/launcher/termination") == "failed after 2 attempts; the last: training ended with code 3" ]] || fail "not that termination message"
  released
}

case_keeps_its_deadline() {
  train "$endless" 'lifecycle: {deadline: 15s}'
  wait_for launcher "up 3"
  expect 44 "past its deadline of 15 s"
  released
}

# A higher limit takes effect while the run is active.
case_reads_the_retries_again() {
  train '[[ -e /tmp/third ]] && exit; [[ ! -e /tmp/second ]] || touch /tmp/third; touch /tmp/second; sleep 1; exit 3' 'lifecycle: {retries: 0}'
  wait_for launcher "launching:" || return
  set_current retries 5
  expect 0 "attempt 1 of 6 failed"
  released
}

case_final_exit_codes() {
  train 'exit 9' 'lifecycle: {retries: 3, finalExitCodes: [9]}'
  expect 42 "attempt 1 of 4 failed: training ended with code 9" "which lifecycle.finalExitCodes lists"
  released
}

# Signals that come while no training runs.
case_early_signals() {
  image prepare '[[ $POD != worker-1 ]] || rm usr/sbin/sshd'
  train true 'lifecycle: {startTimeout: 8s}'
  wait_for launcher "1 of 2 workers answer" || return
  kill_pod launcher USR1
  kill_pod launcher USR2
  expect 42 "only 1 of 2 workers answered"
  released
}

# The deadline passes: every rank may save a checkpoint first.
case_saves_at_the_deadline() {
  train 'trap "echo saved \$OMPI_COMM_WORLD_RANK; exit 0" TERM; echo up $OMPI_COMM_WORLD_RANK; while :; do sleep 0.2; done' 'lifecycle: {deadline: 15s}'
  for rank in 0 1 2 3; do wait_for launcher ">:saved $rank" 60; done
  expect 44 "past its deadline of 15 s: all ranks get SIGTERM"
  released
}

# A changed spec is applied: the old run ends, and the new one trains.
case_steps_aside() {
  local old
  train "$endless"
  wait_for launcher "up 3"
  old=$run
  spec 'echo the second run'
  apply -n team-a "$work/job.yaml"
  expect 0 "the second run" "trained"
  released
  # The first launcher checks every few seconds; the second run may have ended by then.
  wait_for launcher "superseded: run $run is current" || return
  for _ in {1..50}; do [[ ! -s $work/jobs/$job-$old-launcher ]] || break; sleep 0.2; done
  [[ $(<"$work/jobs/$job-$old-launcher") == "Failed 43" ]] || fail "the first: $(<"$work/jobs/$job-$old-launcher")"
  run=$old released
}

case_releases_after_sigterm() {
  local since
  train "$endless"
  wait_for launcher "up 3"
  since=$SECONDS
  delete_job
  expect 143 "received SIGTERM"
  lasted 10 "$since" "the end"
  released
}

# Kueue preempts the job: it suspends the Job, and resumes it later. This costs no retry.
case_suspended_and_resumed() {
  # mpirun ends all ranks when the first exits with an error, so each waits after it has saved.
  local count=1
  train 'trap "echo saved \$OMPI_COMM_WORLD_RANK; sleep 2; exit 1" USR1; echo up $OMPI_COMM_WORLD_RANK; while :; do sleep 0.2; done' \
    'launcher: {kind: mpirun, runsIn: firstWorker}' 'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}, retries: 0}'
  wait_for 0 ":up 3" || return
  kube PATCH "$batch/jobs/$job-$run" '{"spec":{"suspend":true}}' >/dev/null
  for rank in 0 1 2 3; do wait_for 0 ":saved $rank" || return; done
  wait_for events "1 ended with" && wait_for events "0 ended with" || return
  kube PATCH "$batch/jobs/$job-$run" '{"spec":{"suspend":false}}' >/dev/null
  until ((count == 2 || SECONDS > 100)); do
    sleep 0.2
    count=$(grep -c ":up 3" "$work/0.log")
  done
  kube DELETE "$batch/jobs/$job-$run" >/dev/null
  expect 143
  ((count == 2)) || fail "the training did not run again"
}

# The signal that cluster tools send to request a checkpoint reaches every rank.
case_passes_signals_on() {
  local rank
  train 'trap "echo saved" USR1; trap "echo asked; exit 0" USR2; echo up $OMPI_COMM_WORLD_RANK; while :; do sleep 0.2; done'
  for rank in 0 1 2 3; do wait_for launcher "up $rank" || return; done
  kill_pod launcher USR1
  wait_for launcher "[1,3]<stdout>:saved"
  kill_pod launcher USR2
  expect 0 "[1,0]<stdout>:saved" "[1,3]<stdout>:asked" "trained"
  released
}

# Programs that a script has started also receive SIGTERM, not only the shell.
case_sigterm_to_a_script() {
  train 'bash -c '"'"'trap "echo sa\"\"ved; exit 0" TERM; echo up; while :; do sleep 0.2; done'"'"'; echo after' 'launcher: shell'
  wait_for launcher "up" || return
  delete_job
  expect 143 "saved" "received SIGTERM"
  released
}

# A person works in the pod for longer than the idle time, then leaves. The platform has chosen the user ID.
case_idle() {
  train '' 'launcher: {kind: shell, interactive: true, idleTimeout: 6s}' 'security: {podSecurityLevel: openshift}'
  wait_for launcher "ready: 2 workers"
  inside_pod launcher sleep 15
  [[ ! -s $work/jobs/$job-$run-launcher ]] || fail "it exited while a person was logged in"
  expect 0 "idle for 6 s" "released the workers"
  ((SECONDS < 45)) || fail "it did not leave in time"
  released
}

case_scales_without_curl() {
  image prepare 'rm usr/bin/curl'
  train true
  expect 0 "trained" "released the workers"
  released
}

# Rendered without a namespace and applied to a namespace.
case_may_not_scale() {
  spec true
  start "$work/job.yaml"
  wait_for events "launcher ended with 42"
  logged launcher "cannot scale $job-$run-worker (HTTP 403)" "bind the ServiceAccount of namespace default" "use -n team-a" "NOT RELEASED" \
    "cannot end the Job $job-$run-launcher (HTTP 403)"
  ((SECONDS < 40)) || fail "it took $SECONDS s"
}

# One Indexed Job with MPICH, without a token.
case_indexed() {
  type -P mpirun.mpich >/dev/null || { skip "no mpich"; return; }
  image prepare 'ln -sf mpirun.mpich usr/bin/mpirun'
  train 'echo rank on $(hostname), $MODE' 'workers: {replicas: 2, slotsPerWorker: 2}' 'launcher: {kind: mpirun, mpi: mpich, runsIn: firstWorker}' 'env: {MODE: of the pod}'
  expect 0 "mpich 4.0.2 on 2 hosts for 4 ranks" "rank on $job-$run-1, of the pod"
}

# gang [LINE...]: a job that Kubernetes itself must start together.
gang() {
  spec 'echo rank $OMPI_COMM_WORLD_RANK' 'workers: {replicas: 2, slotsPerWorker: 1}' 'scheduling: {gang: native}' "$@"
  start -n team-a --kube-version 1.37 "$work/job.yaml"
}
gang_of_workers() { gang 'launcher: {kind: mpirun, runsIn: ownPod}' "$@"; }

case_gang_of_kubernetes() {
  gang
  expect 0 "rank 1" trained
  ! grep -q schedulingGroup "$work/0.log" || fail "the launcher misses a gang that is there"
}

case_dropped_gang() {
  touch "$work/drops"
  gang
  expect 0 "the API server dropped schedulingGroup, so the pods start one by one" trained
}

# The launcher starts before its gang, and finds the gang in the StatefulSet.
case_gang_of_workers() {
  touch "$work/full"
  gang_of_workers
  wait_for launcher "0 of 2 workers answer: their gang waits until the nodes have room for 2 of them together"
  [[ ! -e $work/worker-0.log ]] || fail "a worker started without its gang"
  rm "$work/full"
  expect 0 "rank 1" trained
  ! grep -q schedulingGroup "$work/launcher.log" || fail "the launcher misses a gang that is there"
  released
}

case_gang_of_workers_without_room() {
  touch "$work/full"
  gang_of_workers 'lifecycle: {startTimeout: 12s}'
  expect 42 "only 0 of 2 workers answered" "their gang waits until the nodes have room for 2 of them together"
  released
}

case_dropped_gang_of_workers() {
  touch "$work/drops"
  gang_of_workers
  expect 0 "the API server dropped schedulingGroup, so the pods start one by one" trained
}

# Workers with an account of their own have no token, and the launcher releases them with its own.
case_account_of_workers() {
  train 'ls /var/run/secrets/kubernetes.io/serviceaccount/token || echo no token on $(hostname)' \
    'workers: {replicas: 2, slotsPerWorker: 1, serviceAccountName: reads-data}'
  expect 0 "no token on $job-$run-worker-1" trained
  released
}
