#!/bin/bash
# Elastic runs: discovery of the workers. Sourced.
# shellcheck disable=SC2154 # `work`, `job` and `run` come from lib.sh

# discover: runs the discovery script in the launcher; sets its output, exit code and duration.
discover() {
  # shellcheck disable=SC2016 # for the pod
  inside_pod launcher bash -c '
    start=${EPOCHREALTIME/./}
    PATH=/horovod/generated/bin:$PATH /horovod/generated/discoverHosts.sh
    echo "code $?, $(((${EPOCHREALTIME/./} - start) / 1000)) ms"'
}

# A Horovod that calls the discovery script, and does not apply its own time limit.
case_elastic_too_few_for_good() {
  image prepare 'printf "#!/bin/bash\nwhile /horovod/generated/discoverHosts.sh; do sleep 1; done\n" >usr/local/bin/horovodrun; chmod +x usr/local/bin/horovodrun'
  train true 'workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2, timeout: 1s}}' 'launcher: horovodrun' 'lifecycle: {retries: 0}'
  wait_for launcher "launching: 'horovodrun'" || return
  scale 1
  wait_for launcher "1 of at least 2 workers answer; training waits for more" 60
  expect 42 "fewer than 2 workers for" "and Horovod has not exited"
  released
}

case_discovers() {
  local found
  # A replacement for Horovod.
  image prepare 'printf "#!/bin/bash\nsleep 100\n" >usr/local/bin/horovodrun; chmod +x usr/local/bin/horovodrun'
  train 'true' 'workers: {replicas: 2, slotsPerWorker: 2, elastic: {minReplicas: 2, maxReplicas: 3}}' 'launcher: horovodrun'
  wait_for launcher "launching: 'horovodrun'"
  found=$(discover)
  [[ $found == "$job-$run-worker-0.$job:2"$'\n'"$job-$run-worker-1.$job:2"$'\n'"code 0, "* ]] || fail "with two up: $found"
  [[ ${found##*, } =~ ^1?[0-9]?[0-9]?[0-9]\ ms ]] || fail "slow: $found"
  scale 3
  wait_for events "worker-2 is ready"
  for _ in {1..5}; do [[ $(discover) != *worker-2* ]] || break; sleep 1; done
  cut_network worker-0
  # A worker that does not answer for a moment stays in the list.
  found=$(discover)
  [[ $found == *worker-0* && $found == *worker-2* ]] || fail "with one silent for a moment: $found"
  sleep 6
  # A worker that was probed twice in that time also stays.
  found=$(discover)
  [[ $found == *worker-0* ]] || fail "with one silent, asked seldom: $found"
  found=$(discover)
  [[ $found == "$job-$run-worker-1.$job:2"$'\n'"$job-$run-worker-2.$job:2"$'\n'"code 0, "* ]] || fail "with one silent: $found"
  scale 0
  discover >/dev/null
  discover >/dev/null
  sleep 6
  found=$(discover)
  [[ $found == "code 0, "* ]] || fail "without workers: $found"
}
