#!/bin/bash
# PyTorch's launcher, without ssh. Sourced.
# shellcheck disable=SC2154 # `here`, `work`, `job` and `run` come from lib.sh

# torchrun_job LINE...: starts two pods, each with an agent and two ranks.
# Debian 12's torch 1.13 fails with Debian's Python unless PET_TEE and PET_REDIRECTS are set like this.
torchrun_job() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  image prepare "install -m 0644 $here/sum.py usr/local/lib/sum.py"
  train 'exec python3 /usr/local/lib/sum.py' 'launcher: torchrun' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1", WANTED: "4"}' "$@"
  expect 0 "trained" "rank 0 of 4 on $job-$run-0: sum 6"
  logged 1 "rank 2 of 4 on $job-$run-1: sum 6"
}

case_torchrun() { torchrun_job; }

# The rendezvous decides which agent gets which ranks.
only_in_test_all torchrun_elastic
case_torchrun_elastic() { torchrun_job 'workers: {replicas: 2, slotsPerWorker: 2, elastic: {minReplicas: 1, maxReplicas: 2}}'; }

# agents [COMMAND [LINE...]]: starts two agents whose ranks never communicate, so that torchrun notices nothing. They end with
# the file /tmp/end. torchrun keeps what they write to standard output until its end.
# shellcheck disable=SC2016 # for the ranks
agents() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return 1; }
  train 'exec >&2; trap "echo saved $RANK; touch /tmp/end" USR1; echo up $RANK; '"${1:-}"'until [[ -e /tmp/end ]]; do sleep 0.2; done; echo down $RANK' \
    'launcher: torchrun' 'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}}' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}' "${@:2}"
  # torchrun loads PyTorch first, which takes long on a busy machine.
  wait_for 0 "up 1" 150 && wait_for 1 "up 3" 150
}

end_agents() {
  local pod
  for pod in 0 1; do inside_pod $pod touch /tmp/end; done
  expect 0 "trained"
}

# again POD TEXT: waits until a log contains the text twice.
again() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    (($(grep -cF -- "$2" "$work/$1.log") < 2)) || return 0
    sleep 0.2
  done
  fail "$1 did not log twice in time: $2"
}

# DNS and the API server do not answer for OUTAGE seconds, as in the case outlasts_outages.
takes_a_minute torchrun_outlasts_outages
only_in_test_all torchrun_outlasts_outages
case_torchrun_outlasts_outages() {
  local pod
  allow $((${OUTAGE:-40} + 300))
  agents || return 0
  touch "$work/silent" "$work/hangs"
  sleep "${OUTAGE:-40}"
  rm "$work/silent" "$work/hangs"
  sleep 15
  end_agents
  for pod in 0 1; do [[ $(grep -c "launching: " "$work/$pod.log") == 1 ]] || fail "pod $pod started its ranks again"; done
}

takes_a_minute torchrun_loses_an_agent
case_torchrun_loses_an_agent() {
  agents || return 0
  kill_pod 1
  wait_for 0 "lost worker $job-$run-1" 30
  again 0 "up 1"
  wait_for 1 "up 3" 60
  end_agents
}

takes_a_minute torchrun_loses_the_first_agent
only_in_test_all torchrun_loses_the_first_agent
case_torchrun_loses_the_first_agent() {
  agents || return 0
  kill_pod 0
  wait_for 1 "lost worker $job-$run-0" 30
  again 1 "up 3"
  wait_for 0 "up 1" 60
  end_agents
}

# The node of an elastic job's first agent fails, which closes no connection. The others join again once another pod replaces it, which
# takes Kubernetes 80 seconds.
takes_a_minute torchrun_elastic_notices_a_silent_first_agent
only_in_test_all torchrun_elastic_notices_a_silent_first_agent
case_torchrun_elastic_notices_a_silent_first_agent() {
  local since
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skip "no python3-torch"; return; }
  # shellcheck disable=SC2016 # for the ranks
  train 'exec >&2; echo up of $WORLD_SIZE; until [[ -e /tmp/end ]]; do sleep 0.2; done' 'launcher: torchrun' \
    'workers: {replicas: 2, slotsPerWorker: 2, elastic: {minReplicas: 2, maxReplicas: 2}}' 'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}'
  wait_for 0 "up of 4" && wait_for 1 "up of 4" || return
  cut_network 0
  since=$SECONDS
  wait_for 1 "lost worker $job-$run-0" 40 || return
  lasted 30 "$since" "noticing"
  delete_pod 0 0
  for ((tries = 0; tries < 300; tries++)); do
    (($(grep -cF "up of 4" "$work/1.log") < 4)) || break
    sleep 0.2
  done
  ((tries < 300)) || fail "no ranks with both agents again"
  end_agents
}

# All ranks get the signal when one agent is evicted.
takes_a_minute torchrun_drained
case_torchrun_drained() {
  agents || return 0
  evict_pod 1
  wait_for 1 "saved 3" 20
  wait_for 0 "worker $job-$run-1 ends, because it was evicted or deleted: all ranks get SIGUSR1" 20
  wait_for 0 "saved 1" 20
  wait_for 0 "it does not count against lifecycle.retries" 30
}

# A rank fails once: all agents start again, as often as lifecycle.retries allows.
only_in_test_all torchrun_retries
# shellcheck disable=SC2016 # for the ranks
case_torchrun_retries() {
  agents '[[ $RANK != 3 || -e /tmp/tried ]] || { touch /tmp/tried; sleep 2; exit 3; }; ' || return 0
  wait_for 0 "attempt 1 of 4 failed: ranks failed on $job-$run-1" 30
  again 0 "up 1"
  again 1 "up 3"
  sleep 5
  end_agents
}

# The loss of a worker costs no retry after a minute, but ranks that fail cost one, also on another pod than that with index 0. In the place
# of torchrun, a script starts the ranks, ends them if one fails, and starts them again at most once.
takes_a_minute torchrun_counts_failures
only_in_test_all torchrun_counts_failures
case_torchrun_counts_failures() {
  # shellcheck disable=SC2016 # for the script
  image prepare 'cat >usr/local/bin/torchrun <<"END"
#!/bin/bash
[[ $1 != --no_python ]] || shift
trap "kill \$(jobs -p); exit 1" TERM
((PET_NODE_RANK)) || (exec python3 -c "import socket, time; server = socket.create_server((\"\", 29400)); time.sleep(1000)" &)
for ((TORCHELASTIC_RESTART_COUNT = 0; TORCHELASTIC_RESTART_COUNT < 2; TORCHELASTIC_RESTART_COUNT++)); do
  export TORCHELASTIC_RESTART_COUNT
  for rank in 0 1; do RANK=$((2 * PET_NODE_RANK + rank)) "$@" & done
  if wait -n; then wait && exit 0; fi
  kill $(jobs -p)
  wait
done
exit 1
END
    chmod +x usr/local/bin/torchrun'
  # shellcheck disable=SC2016 # for the ranks
  train 'echo up $RANK; until [[ -e /tmp/fail ]] && mkdir /tmp/failed 2>/dev/null; do sleep 0.2; done; exit 3' 'launcher: torchrun' 'lifecycle: {retries: 0}'
  allow 600
  until_started 0 "up 1" && until_started 1 "up 3"
  sleep 62
  kill_pod 1
  wait_for 0 "attempt ended: lost worker $job-$run-1; it does not count against lifecycle.retries" 60 || return
  until_started 0 "up 1" 2
  until_started 1 "up 3" 2
  sleep 62
  inside_pod 1 touch /tmp/fail
  expect 42 "failed after 1 attempt; the last: ranks failed on $job-$run-1"
}

# ft_job LINE...: starts two pods, each with an `ft_launcher` of NVIDIA's Resiliency Extension, in place of torchrun, and two ranks. The
# image is the worker image, because ft_launcher needs PyTorch 2.3.
ft_job() {
  local folder
  folder=$(framework ft)
  [[ -d $folder ]] || { skip "nvidia-resiliency-ext could not be installed from PyPI"; return 1; }
  use_horovod
  image mount "$folder:/opt/ft"
  image prepare "install -m 0644 $here/train_ft.py usr/local/lib/train.py" \
    'printf "#!/usr/bin/python3\nfrom nvidia_resiliency_ext.fault_tolerance.launcher import main\nmain()\n" >usr/local/bin/ft_launcher' \
    'chmod 755 usr/local/bin/ft_launcher'
  train 'exec python3 /usr/local/lib/train.py' \
    'launcher: {kind: torchrun, program: ft_launcher, args: [--ft-initial-rank-heartbeat-timeout=60, --ft-rank-heartbeat-timeout=10]}' \
    'workers: {replicas: 2, slotsPerWorker: 2, elastic: {minReplicas: 2, maxReplicas: 2}}' \
    "env: {PYTHONPATH: /opt/ft/lib/$(basename "$folder"/lib/python3*)/site-packages, HANG: \"${HANG:-}\"}"
}

ft_trains() {
  expect 0 "trained" "of 4 on $job-$run-0: sum 6"
  logged 1 "of 4 on $job-$run-1: sum 6"
}

only_in_test_all ft_launcher_loses_a_worker
prepare_ft_launcher() { make_horovod && make_framework ft; }
only_in_test_all ft_launcher
case_ft_launcher() { ft_job && ft_trains; }

# ft_launcher ends ranks of which one sends no heartbeat, and starts all ranks again.
takes_a_minute ft_launcher_ends_a_hang
prepare_ft_launcher_ends_a_hang() { prepare_ft_launcher; }
only_in_test_all ft_launcher_ends_a_hang
case_ft_launcher_ends_a_hang() {
  HANG=3 ft_job || return 0
  expect 0 "trained" "of 4 on $job-$run-0: sum 6"
  cat "$work"/[01].log | grep -q "rank 3 hangs" || fail "no rank hung"
  ! grep -q "attempt 1 of" "$work/0.log" || fail "khorovod ended the attempt"
}

# Another pod takes the place of a lost one.
takes_a_minute ft_launcher_loses_a_worker
prepare_ft_launcher_loses_a_worker() { prepare_ft_launcher; }
case_ft_launcher_loses_a_worker() {
  HANG=3 ft_job || return 0
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    ! cat "$work"/[01].log | grep -q "rank 3 hangs" || break
    sleep 0.2
  done
  kill_pod 1
  ft_trains
}
