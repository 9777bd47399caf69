#!/bin/bash
# `khorovod stop` in each phase of a run. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `here`, `work`, `job`, `run` and `endless` come from lib.sh

# a_kubectl COMMAND...: runs khorovod with a kubectl for this cluster.
a_kubectl() { WORK=$work KUBECTL=$here/kubectl.py "$KHOROVOD" "$@" -n team-a; }

# in_phase PHASE [TEXT]: waits until `khorovod status` prints the phase, and a text in its sentence.
in_phase() {
  local tries found=''
  for ((tries = 0; tries < 100; tries++)); do
    found=$(a_kubectl status "$job" -o json 2>&1)
    [[ $found == *"\"phase\": \"$1\""*"${2:-}"* || $found == *"${2:-}"*"\"phase\": \"$1\""* ]] && return
    sleep 0.3
  done
  fail "the phase is not $1: $(grep -E '"(phase|message)"' <<<"$found")"
  return 1
}

# stops SECONDS [OPTION...]: runs `khorovod stop`, which may take that long and releases all pods. `told` is what it printed.
stops() {
  local since=$SECONDS
  told=$(a_kubectl stop "$job" "${@:2}" 2>&1) || fail "stop failed: $told"
  lasted "$1" "$since" "stop"
  if [[ " ${*:2} " == *" --now "* ]]; then
    [[ $told == *"$job is stopped, and its "* ]] || fail "stop printed: $told"
  else
    [[ $told == *"$job is stopped, and its resources are released"* ]] || fail "stop printed: $told"
  fi
  in_phase stopped
}

# without_signal: no rank runs, so stop prints nothing about a signal.
without_signal() { [[ $told != *"signal of lifecycle.checkpoint"* ]] || fail "stop printed: $told"; }

# One worker does not answer.
case_stop_while_it_waits() {
  image prepare '[[ $POD != worker-1 ]] || echo "case \$* in *-t*) exit ;; esac; exec sleep 300" >usr/sbin/sshd'
  train "$endless"
  wait_for status "1 of 2 workers answer" || return
  in_phase waiting || return
  stops 20
  without_signal
  expect 143 "received SIGTERM"
}

# The workers download their data.
prepare_stop_while_it_downloads() { prepare_s3; }
case_stop_while_it_downloads() {
  uploads || return
  kill -STOP "$bucket_server"
  train "$endless" "$(out_volume 1h both)"
  wait_for events "worker-0 started worker" || return
  sleep 2
  in_phase waiting || return
  stops 40
  without_signal
}

# The launcher checks the hosts after a failed attempt.
case_stop_in_a_health_check() {
  train 'exit 3' 'workers: {replicas: 2, slotsPerWorker: 1, healthCheck: {policy: Always, command: [sh, -c, "touch /tmp/checks; sleep 100"]}}'
  until inside_pod worker-0 test -e /tmp/checks; do sleep 0.3; done
  in_phase preparing || return
  stops 20
  without_signal
  expect 143 "received SIGTERM"
}

# Ranks save a checkpoint, because a worker is evicted. They get no second signal, and have the time that they need.
takes_a_minute stop_while_it_saves
case_stop_while_it_saves() {
  # mpirun ends the other ranks once one has failed.
  train 'trap "echo saving; sleep 6; echo saved; sleep 3; exit 1" USR1; echo up $OMPI_COMM_WORLD_RANK; while :; do sleep 0.2; done' \
    'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}}'
  wait_for launcher ":up 3" || return
  evict_pod worker-1
  wait_for launcher ">:saving" || return
  in_phase saving || return
  stops 30
  expect 143 "received SIGTERM" ">:saved"
  [[ $(grep -c ">:saving" "$work/launcher.log") == 4 && $(grep -c ">:saved" "$work/launcher.log") == 4 ]] || fail "not every rank has saved once"
}

# The first stop waits for the checkpoint; the second one does not.
case_stop_now_while_it_saves() {
  train 'trap "echo saving; sleep 100; exit 1" USR1; echo up $OMPI_COMM_WORLD_RANK; while :; do sleep 0.2; done' \
    'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 90s}}'
  wait_for launcher ":up 3" || return
  # The launcher reports this phase two seconds after it has started mpirun.
  in_phase training || return
  a_kubectl stop "$job" >"$work/first.log" 2>&1 &
  wait_for launcher ">:saving" || return
  wait_for first "the ranks get the signal of lifecycle.checkpoint" || return
  in_phase stopping || return
  stops 15 --now
}

# The training has ended, and its results are uploaded: all of them arrive.
prepare_stop_while_it_uploads() { prepare_s3; }
takes_a_minute stop_while_it_uploads
case_stop_while_it_uploads() {
  uploads || return
  train '((OMPI_COMM_WORLD_RANK == 0)) || exit 0; head -c 3M /dev/zero >/out/result; echo up; until [[ -e /tmp/end ]]; do sleep 0.1; done' \
    "$(out_volume 1h)" 'lifecycle: {checkpoint: {gracePeriod: 30s}, retries: 0}'
  wait_for launcher ":up" || return
  in_bucket .khorovod-s3 || return
  kill -STOP "$bucket_server"
  inside_pod worker-0 touch /tmp/end
  in_phase uploading || return
  (sleep 4 && kill -CONT "$bucket_server") &
  stops 40
  without_signal
  [[ $told == *"results"* ]] || fail "stop printed: $told"
  in_bucket result 1
  expect 143 "received SIGTERM"
}

# After the end, stop changes nothing.
case_stop_after_the_end() {
  train true
  expect 0 trained
  told=$(a_kubectl stop "$job" 2>&1) || fail "stop failed: $told"
  [[ $told == "$job has already ended: trained"*"; workers are released" ]] || fail "stop printed: $told"
}

# Each pod of torchrun has an agent, and all of them end.
case_stop_under_torchrun() {
  agents || return 0
  in_phase training || return
  stops 40
  [[ $told == *"signal of lifecycle.checkpoint"* ]] || fail "stop printed: $told"
  expect 143 "received SIGTERM" "saved 0" "saved 1"
  logged 1 "saved 2" "saved 3"
}
