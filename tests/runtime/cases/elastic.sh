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
only_in_test_all elastic_too_few_for_good
case_elastic_too_few_for_good() {
  image prepare 'printf "#!/bin/bash\nwhile /horovod/generated/discoverHosts.sh; do sleep 1; done\n" >usr/local/bin/horovodrun; chmod +x usr/local/bin/horovodrun'
  train true 'workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2, timeout: 1s}}' 'launcher: horovodrun' 'lifecycle: {retries: 0}'
  wait_for launcher "launching: 'horovodrun'" || return
  scale 1
  wait_for launcher "1 of at least 2 workers answer; training waits for more" 60
  expect 42 "fewer than 2 workers for" "and Horovod has not exited"
  released
}

# A replacement for Horovod that ends once two workers are found of which one has a given index or a higher one. It prints each list.
finds_worker() {
  image prepare "install -m 0755 $work/horovodrun usr/local/bin/horovodrun"
  cat >"$work/horovodrun" <<END
#!/bin/bash
while :; do
  mapfile -t found < <(/horovod/generated/discoverHosts.sh)
  echo "found \${found[*]%%.*}"
  [[ \${#found[@]} != 2 || "\${found[*]}" != *-worker-[$1-9].* ]] || exit 0
  sleep 1
done
END
}
elastic() {
  train true "workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: $1}}" 'launcher: horovodrun' 'lifecycle: {retries: 2}'
  wait_for launcher "found $job-$run-worker-0 $job-$run-worker-1"
}

# The node of a worker fails and stays away: one more worker starts, beyond workers.elastic.maxReplicas if necessary. The second
# time, the first one stays in its place.
takes_a_minute elastic_replaces_lost_workers
case_elastic_replaces_lost_workers() {
  finds_worker 3
  elastic 2 || return
  cut_network worker-1
  wait_for launcher "$job-$run-worker-1.$job has an address but does not answer: $job-$run-worker-2.$job replaces it" 60
  wait_for launcher "found $job-$run-worker-0 $job-$run-worker-2" 60
  cut_network worker-2
  wait_for launcher "$job-$run-worker-2.$job has an address but does not answer: $job-$run-worker-3.$job replaces it" 60
  expect 0 "found $job-$run-worker-0 $job-$run-worker-3" trained
  [[ $(grep -c "replaces it" "$work/launcher.log") == 2 ]] || fail "there are more replacements"
  released
}

# A worker and the launcher are lost at the same time: the next launcher does not wait for that worker.
takes_a_minute elastic_replaces_a_worker_lost_with_the_launcher
only_in_test_all elastic_replaces_a_worker_lost_with_the_launcher
case_elastic_replaces_a_worker_lost_with_the_launcher() {
  finds_worker 2
  elastic 2 || return
  cut_network worker-1
  kill_pod launcher
  wait_for launcher "$job-$run-worker-1.$job has an address but does not answer: $job-$run-worker-2.$job replaces it" 90
  expect 0 "found $job-$run-worker-0 $job-$run-worker-2" trained
  released
}

# A worker of an elastic job is evicted. Only its own ranks get the signal for a checkpoint, after half of the grace period, because the
# others continue. When the run ends, all ranks get it.
case_elastic_drained() {
  local since
  image mount "$here/../programs:/programs"
  image prepare "install -m 0755 $work/horovodrun usr/local/bin/horovodrun"
  cat >"$work/horovodrun" <<'END'
#!/bin/bash
for host in $(/horovod/generated/discoverHosts.sh); do
  rank=${host#*-worker-}
  ssh "${host%:*}" "HOROVOD_RANK=${rank%%.*} python3 /programs/saves.py" &
done
wait
END
  train true 'workers: {replicas: 2, elastic: {minReplicas: 1, maxReplicas: 2}}' 'launcher: horovodrun' \
    'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 10s}}'
  wait_for launcher "up 0" && wait_for launcher "up 1" || return
  evict_pod worker-1
  since=$SECONDS
  wait_for launcher "saved 1" 20
  ((SECONDS - since >= 4)) || fail "the signal came after $((SECONDS - since)) s"
  ! grep "saved 0" "$work/launcher.log" || fail "the other worker got the signal"
  delete_job
  wait_for launcher "saved 0" 20
  expect 143
  released
}

# counts: starts a job with Horovod itself, of two workers with two ranks each, that needs both workers.
counts() {
  use_horovod
  from_example elastic --set 'spec.command=[python3, /programs/elastic.py]' --set 'spec.env.STEPS="100000"' \
    --set 'spec.workers.elastic={minReplicas: 2, maxReplicas: 2, cooldown: {min: 1s, max: 2s}}'
  wait_for launcher "from step 0: rank 3 of 4" 120 || return
  sleep 5
}

# continues SECONDS WORKER: all ranks continue from a commit, with this worker, within this time and in the same attempt.
continues() {
  local since=$SECONDS lines
  until
    lines=$(grep -oE "from step [1-9][0-9]*: rank [0-9] of 4 on worker-[0-9]+" "$work/launcher.log")
    [[ $(wc -l <<<"$lines") == 4 ]]
  do
    ((SECONDS - since < $1)) || { fail "after $1 s these ranks continue: ${lines:-none}" && return; }
    sleep 0.5
  done
  [[ $(grep -c "on $2$" <<<"$lines") == 2 ]] || fail "$2 has other ranks: $lines"
  [[ $(grep -c " launching: " "$work/launcher.log") == 1 ]] || fail "the launcher started another attempt"
  delete_job
  expect 143
  released
}

# A rank fails, and its host may return before Horovod has enough workers without it.
prepare_elastic_continues_after_a_rank_failed() { make_horovod; }
takes_a_minute elastic_continues_after_a_rank_failed
only_in_test_all elastic_continues_after_a_rank_failed
case_elastic_continues_after_a_rank_failed() {
  counts || return
  inside_pod worker-1 pkill -KILL -f -n '^python3 /programs/elastic.py'
  continues 60 worker-1
}

prepare_elastic_continues_after_a_worker_was_killed() { make_horovod; }
takes_a_minute elastic_continues_after_a_worker_was_killed
only_in_test_all elastic_continues_after_a_worker_was_killed
case_elastic_continues_after_a_worker_was_killed() {
  counts || return
  kill_pod worker-1
  continues 60 worker-1
}

# The node of a worker fails without closing its connections. Gloo notices that after 30 seconds.
prepare_elastic_continues_after_a_silent_loss() { make_horovod; }
takes_a_minute elastic_continues_after_a_silent_loss
only_in_test_all elastic_continues_after_a_silent_loss
case_elastic_continues_after_a_silent_loss() {
  counts || return
  cut_network worker-1
  continues 120 worker-2
}

# The same without the API server: no worker replaces the lost one, and the ranks of the others continue. When its network is
# back, the worker joins again.
prepare_elastic_continues_without_the_api() { make_horovod; }
takes_a_minute elastic_continues_without_the_api
only_in_test_all elastic_continues_without_the_api
case_elastic_continues_without_the_api() {
  use_horovod
  from_example elastic --set 'spec.command=[python3, /programs/elastic.py]' --set 'spec.env.STEPS="100000"' \
    --set 'spec.workers={replicas: 3, slotsPerWorker: 1, elastic: {minReplicas: 2, maxReplicas: 3, cooldown: {min: 1s, max: 2s}}}' \
    --set spec.lifecycle.keepWorkers=true
  ! grep -q "^kind: Role" "$work/objects.yaml" || fail "the pods have a Role"
  wait_for launcher "from step 0: rank 2 of 3" 120 || return
  sleep 5
  cut_network worker-1
  wait_for launcher "lost worker $job-$run-worker-1.$job" 90
  continue_with 2 120
  mend_network worker-1
  continue_with 3 120
  [[ $(grep -c " launching: " "$work/launcher.log") == 1 ]] || fail "the launcher started another attempt"
  ! grep -q "replaces it" "$work/launcher.log" || fail "a worker was replaced"
  delete_job
  expect 143
}

# continue_with RANKS SECONDS: this many ranks continue from a commit within this time.
continue_with() {
  local tries
  for ((tries = 0; tries < $2 * 2; tries++)); do
    [[ $(grep -cE "from step [1-9][0-9]*: rank [0-9] of $1 " "$work/launcher.log") -lt $1 ]] || return 0
    sleep 0.5
  done
  fail "$1 ranks do not continue"
}

# Horovod has lost a worker and its ranks, and does not exit: another attempt starts, which costs no retry.
takes_a_minute elastic_without_ranks
only_in_test_all elastic_without_ranks
case_elastic_without_ranks() {
  image prepare "install -m 0755 $work/horovodrun usr/local/bin/horovodrun"
  cat >"$work/horovodrun" <<'END'
#!/bin/bash
mkdir /tmp/first 2>/dev/null || exit 0
mapfile -t found < <(/horovod/generated/discoverHosts.sh)
for host in "${found[@]}"; do ssh "${host%:*}" sleep 1000 & done
while [[ $(jobs -rp | wc -l) == 2 ]]; do /horovod/generated/discoverHosts.sh >/dev/null; sleep 1; done
echo "a session ended"
kill $(jobs -p)
while :; do /horovod/generated/discoverHosts.sh >/dev/null; sleep 1; done &
wait
END
  train true 'workers: {replicas: 2, elastic: {minReplicas: 2, maxReplicas: 2}}' 'launcher: horovodrun' 'lifecycle: {retries: 0}'
  wait_for worker-1 "answers on port" && sleep 5
  cut_network worker-1
  wait_for launcher "lost worker $job-$run-worker-1.$job" 60
  wait_for launcher "a session ended"
  expect 0 "attempt ended: Horovod has had no ranks for 60 s, and has not exited; it does not count against lifecycle.retries" trained
  released
}

# Workers that a person removes are not replaced, nor are those that are about to start.
takes_a_minute elastic_keeps_a_smaller_scale
only_in_test_all elastic_keeps_a_smaller_scale
case_elastic_keeps_a_smaller_scale() {
  finds_worker 9
  train true 'workers: {replicas: 3, elastic: {minReplicas: 1, maxReplicas: 3}}' 'launcher: horovodrun'
  wait_for launcher "found $job-$run-worker-0 $job-$run-worker-1 $job-$run-worker-2" || return
  scale 2
  sleep 45
  ! grep -q "replaces it" "$work/launcher.log" || fail "a worker was replaced"
  delete_job
  expect 143
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
