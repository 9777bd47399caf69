#!/bin/bash
# Failures in a cluster: how soon the run ends, and which messages it logs. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `job` and `run` come from lib.sh

case_names_the_missing() {
  image prepare '[[ $POD != worker-1 ]] || rm usr/sbin/sshd'
  train true 'lifecycle: {startTimeout: 4s}'
  expect 42 "1 of 2 workers answer; waiting for $job-$run-worker-1.$job" \
    "only 1 of 2 workers answered on port 2222 within 4 s; missing: $job-$run-worker-1.$job"
  logged worker-1 "the image has no sshd: install openssh-server"
  released
}

# The cluster's DNS caches negative answers for half a minute: no name may be looked up too early.
case_dns_remembers() {
  cluster
  echo 30 >"$work/denial"
  echo 1 >"$work/late"
  train true
  wait_for launcher "2 of 2 workers answer" 20
  expect 0
  released
}

# The Secret has changed since the launcher copied it: the second worker has another key.
case_wrong_key() {
  image prepare '[[ $POD != worker-1 ]] || { mv usr/sbin/sshd usr/sbin/sshd.real; cat >usr/sbin/sshd; chmod +x usr/sbin/sshd; } <<END' \
    '#!/bin/bash' ': >/horovod/generated/keys/authorized_keys' 'exec /usr/sbin/sshd.real "\$@"' END
  train true 'lifecycle: {retries: 0}'
  expect 42 "cannot log in to $job-$run-worker-1.$job: " "Permission denied (publickey)"
  released
}

# Another host has a worker's address and reports its name.
case_impostor() {
  image prepare '[[ $POD != worker-1 ]] || { mv usr/sbin/sshd usr/sbin/sshd.real; cat >usr/sbin/sshd; chmod +x usr/sbin/sshd; } <<END' \
    '#!/bin/bash' 'rm -f /horovod/generated/keys/host_key' 'ssh-keygen -q -t ed25519 -N "" -f /horovod/generated/keys/host_key <<<y' \
    'exec /usr/sbin/sshd.real "\$@"' END
  train 'echo trained with it' 'lifecycle: {retries: 0}'
  expect 42 "cannot log in to $job-$run-worker-1.$job: " "Host key verification failed"
  ! grep -q ">:trained with it" "$work/launcher.log" || fail "the impostor was taken for a worker"
  released
}

# A process that stopped for a while gets all signals of that time at once: the launcher misses neither the end of the training nor
# SIGTERM.
case_signals_at_once() {
  train 'echo up; sleep 1'
  wait_for launcher "[1,3]<stdout>:up"
  kill_pod launcher STOP
  sleep 2.5
  kill_pod launcher CONT
  expect 0 trained
  [[ $(grep -c "launching: " "$work/launcher.log") == 1 ]] || fail "the training ran again"
}
case_sigterm_beside_others() {
  train "$endless"
  wait_for launcher "up 3"
  kill_pod launcher STOP
  sleep 1.2
  kill_pod launcher TERM
  kill_pod launcher CONT
  wait_for launcher "received SIGTERM; the workers stay for the next launcher"
}

# The launcher's script hangs: the liveness probe notices it, and prints what its processes do.
case_launcher_that_hangs() {
  local output due
  alive() { output=$(inside_pod launcher /bin/bash /etc/khorovod/scripts/alive.sh); }
  train "$endless"
  wait_for launcher "up 3"
  due=$(inside_pod launcher cat /horovod/generated/next-beat)
  ((due > $(date +%s) + 50)) || fail "the next beat is due at $due"
  alive || fail "a training counts as hung: $output"
  kill_pod launcher STOP
  sleep 1.2
  inside_pod launcher /bin/bash -c "echo $(($(date +%s) - 2)) >/horovod/generated/next-beat"
  ! alive || fail "a stopped launcher counts as alive"
  [[ $output == *"the script of this pod hangs since "*"  process 1 of 0, state T, in the kernel "*": /bin/bash /etc/khorovod/scripts/launcher.sh"*" mpirun "* ]] ||
    fail "the probe printed: $output"
  kill_pod launcher TERM
  kill_pod launcher CONT
  wait_for launcher "hung, and was ended by its liveness probe; the workers stay for the next launcher"
}

# A worker is killed with SIGKILL, as if out of memory: the attempt fails within 10 s, and the next attempt trains.
case_loses_a_worker() {
  local since
  train 'if [[ -e /tmp/again ]]; then exit; fi; sleep 1; echo up; touch /tmp/again; sleep 300' 'lifecycle: {retries: 1}'
  wait_for launcher "[1,3]<stdout>:up"
  since=$SECONDS
  kill_pod worker-1
  wait_for launcher "attempt 1 of 2 failed" 20
  lasted 10 "$since" "failing"
  expect 0 trained
}

# Open MPI 5 exits with 0 in this case: the launcher must not.
prepare_fails_when_open_mpi_5_loses_a_worker() { make_images openmpi5; }
case_fails_when_open_mpi_5_loses_a_worker() {
  local since
  use_image openmpi5
  train "$endless" 'lifecycle: {retries: 0}'
  wait_for launcher "up 3"
  since=$SECONDS
  kill_pod worker-1
  expect 42 "failed after 1 attempt; the last: lost worker"
  lasted 20 "$since" "failing"
  released
}

# A worker's node stops answering, without closing connections.
case_notices_a_silent_worker() {
  local since
  train "$endless" 'lifecycle: {retries: 0}'
  wait_for launcher "up 3"
  cut_network worker-1
  since=$SECONDS
  expect 42 "failed after 1 attempt; the last: lost worker $job-$run-worker-1.$job"
  lasted 20 "$since" "noticing and ending"
  released
}

# A launcher that does not scale its workers loses one: of a job that keeps its workers, and of an Indexed Job.
case_loses_a_kept_worker() {
  train "$endless" 'lifecycle: {keepWorkers: true, retries: 0}'
  wait_for launcher "up 3"
  kill_pod worker-1
  expect 42 "failed after 1 attempt; the last: lost worker $job-$run-worker-1.$job"
}

case_loses_an_indexed_worker() {
  train "$endless" 'launcher: {kind: mpirun, runsIn: firstWorker}' 'lifecycle: {retries: 0}'
  wait_for 0 "up 3"
  kill_pod 1
  expect 42 "failed after 1 attempt; the last: lost worker $job-$run-1.$job"
}

# The launcher is killed with SIGKILL, as if out of memory: a new one starts and counts the attempt.
case_counts_dead_launchers() {
  local life
  train "$endless" 'lifecycle: {retries: 1}'
  for life in 1 2; do
    until [[ $(grep -c "up 3" "$work/launcher.log") == "$life" ]]; do sleep 0.2; done
    kill_pod launcher
  done
  expect 42 "2 attempts failed, the last with its launcher, and lifecycle.retries is 1"
  released
}

# The launcher's node is drained: the workers stay for the next launcher, which does not count the attempt.
case_evicted_launcher() {
  local before after
  train "$endless" 'lifecycle: {retries: 0}'
  wait_for launcher ":up 3"
  before=$(readlink "$work/pods/worker-0" "$work/pods/worker-1")
  evict_pod launcher
  wait_for events "launcher ended with 143"
  wait_for launcher "received SIGTERM; the workers stay for the next launcher"
  until [[ $(grep -c ":up 3" "$work/launcher.log") == 2 ]]; do sleep 0.2; done
  after=$(readlink "$work/pods/worker-0" "$work/pods/worker-1")
  [[ $before == "$after" ]] || fail "the workers did not stay: $before, then $after"
  delete_job
  expect 143 "received SIGTERM" "released the workers"
  released
}

# The node of a worker fails and stays away, with no spare worker: one more worker starts, and the next attempt runs with it.
case_replaces_a_lost_worker() {
  train 'if [[ $HOSTNAME == *-worker-2 ]]; then echo "in its place"; exit; fi; mark=/tmp/up$OMPI_COMM_WORLD_LOCAL_RANK; [[ ! -e $mark ]] || exit 0; touch $mark; echo up $OMPI_COMM_WORLD_RANK; sleep 300' \
    'lifecycle: {retries: 1}'
  wait_for launcher "up 3" || return
  cut_network worker-1
  wait_for launcher "lost worker $job-$run-worker-1.$job" 60
  wait_for launcher "$job-$run-worker-2.$job replaces it" 60
  expect 0 "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job" "in its place" "trained"
  released
}

# The node of a worker does not answer for a while, and its worker is replaced meanwhile. When the node is back, the ranks that it
# still runs end, the training continues, and the end of the run also ends this worker.
takes_a_minute lost_worker_comes_back
only_in_test_all lost_worker_comes_back
case_lost_worker_comes_back() {
  local tries
  train "$endless" 'lifecycle: {retries: 1}'
  wait_for launcher ":up 3" || return
  cut_network worker-1
  wait_for launcher "$job-$run-worker-2.$job replaces it" 60 || return
  until [[ $(grep -c ":up 3" "$work/launcher.log") == 2 ]]; do sleep 0.2; done
  inside_pod worker-1 pgrep -f 'sleep 300' || fail "the silent worker has no ranks"
  mend_network worker-1
  for ((tries = 0; tries < 150; tries++)); do
    inside_pod worker-1 pgrep -f 'sleep 300' || break
    sleep 0.2
  done
  ((tries < 150)) || fail "its ranks still run"
  sleep 10
  [[ $(grep -c "launching: " "$work/launcher.log") == 2 ]] || fail "the training was started again"
  delete_job
  expect 143
  released
  wait_for events "worker-1 ended with" 20
}

# The nodes of two workers fail one after the other, and both stay away: the first one does not delay the replacement of the second.
takes_a_minute replaces_a_second_lost_worker
only_in_test_all replaces_a_second_lost_worker
case_replaces_a_second_lost_worker() {
  local number since first
  train 'echo up $OMPI_COMM_WORLD_RANK; sleep 300' 'lifecycle: {retries: 5}'
  wait_for launcher ":up 3" || return
  for number in 1 2; do
    since=$SECONDS
    cut_network "worker-$number"
    wait_for launcher "$job-$run-worker-$number.$job has an address but does not answer: $job-$run-worker-$((number + 1)).$job replaces it" 60 || return
    until [[ $(grep -c ":up 3" "$work/launcher.log") == $((number + 1)) ]]; do sleep 0.2; done
    first=${first:-$((SECONDS - since))}
  done
  lasted $((first + 40)) "$since" "the second replacement, after $first s for the first,"
  delete_job
  expect 143
  released
}

# A worker and the only spare, which started after the training, are lost: one more worker starts.
takes_a_minute replaces_a_worker_lost_with_the_spare
only_in_test_all replaces_a_worker_lost_with_the_spare
case_replaces_a_worker_lost_with_the_spare() {
  image prepare '[[ $POD != worker-2 ]] || sleep 5'
  train 'if [[ $HOSTNAME == *-worker-3 ]]; then echo "in its place"; fi; [[ ! -e /tmp/up ]] || exit 0; touch /tmp/up; echo up $OMPI_COMM_WORLD_RANK; [[ $HOSTNAME == *-worker-3 ]] || sleep 300' \
    'workers: {replicas: 2, slotsPerWorker: 1, spares: 1}' 'lifecycle: {retries: 1}'
  wait_for launcher "up 1" || return
  wait_for events "worker-2 is ready" && sleep 2
  cut_network worker-1
  cut_network worker-2
  wait_for launcher "lost worker $job-$run-worker-1.$job" 60
  wait_for launcher "$job-$run-worker-3.$job replaces it" 60
  [[ $(grep -c "replaces it" "$work/launcher.log") == 1 ]] || fail "there are more replacements"
  expect 0 "$job-$run-worker-3.$job takes the place of $job-$run-worker-1.$job" "in its place" "trained"
  released
}

# A worker is lost twice on the same node, and another worker is ready: that one is used, although the first one answers again.
takes_a_minute avoids_a_node_that_failed_twice
case_avoids_a_node_that_failed_twice() {
  local node
  again() { until [[ $(grep -c ":up 3" "$work/launcher.log") -ge $1 ]]; do sleep 0.2; done; }
  # The last worker is the spare one, because it starts later than the others, which may take seconds on a busy machine.
  image prepare '[[ $POD != worker-2 ]] || sleep 15'
  train "$endless" 'workers: {replicas: 2, slotsPerWorker: 2, spares: 1}' 'lifecycle: {retries: 9}'
  wait_for launcher ":up 3" || return
  wait_for events "worker-2 is ready"
  # The first time the spare worker does not answer.
  cut_network worker-2
  kill_pod worker-1
  again 2
  ! grep -q "takes the place" "$work/launcher.log" || fail "another worker was used after one failure"
  # The next pause is longer than the start of the worker takes.
  inside_pod worker-0 pkill -KILL -f 'sleep 300'
  again 3
  mend_network worker-2
  kill_pod worker-1
  again 4
  node=$(inside_pod worker-1 printenv KHOROVOD_NODE_IP)
  logged launcher "$job-$run-worker-2.$job takes the place of $job-$run-worker-1.$job, whose node $node failed 2 times"
  [[ $(grep -c ">:up [23]" "$work/launcher.log") == 8 ]] || fail "ranks are missing"
  delete_job
  expect 143
  released
}

# The pause before the next attempt is longer after each failure.
case_waits_longer_after_each_failure() {
  local number pauses
  train 'exit 3' 'lifecycle: {retries: 3}'
  expect 42 "attempt 3 of 4 failed: training ended with code 3" "failed after 4 attempts; the last: training ended with code 3"
  # From each failure to the next launch.
  mapfile -t pauses < <(awk -F '[: ]' '
    / khorovod: attempt [0-9]+ of 4 failed/ { failed = $1 * 3600 + $2 * 60 + $3 }
    / khorovod: launching: / { if (failed) print ($1 * 3600 + $2 * 60 + $3 - failed + 86400) % 86400 }' "$work/launcher.log")
  ((${#pauses[@]} == 3)) || fail "there are ${#pauses[@]} pauses"
  for number in 1 2 3; do
    # Whole seconds, and the checks before an attempt.
    ((pauses[number - 1] >= (1 << number) - 1 && pauses[number - 1] < (1 << number) + 8)) || fail "pause $number took ${pauses[number - 1]} s"
  done
  released
}

# An attempt of lifecycle.retriesResetAfter sets the number of failed attempts back, until that limit is raised.
case_resets_the_retries() {
  train 'sleep 5; exit 3' 'lifecycle: {retries: 1, retriesResetAfter: 4s}'
  until [[ $(grep -c "attempt 1 of 2 failed: training ended with code 3" "$work/launcher.log" 2>/dev/null) == 3 || $SECONDS -gt 120 ]]; do sleep 0.2; done
  set_current retries-reset-after 3600
  expect 42 "failed after 2 attempts; the last: training ended with code 3"
  released
}

# A second launcher starts while the first one is still alive, as with `kubectl delete pod --force`: the workers refuse the first.
case_two_launchers() {
  local first
  train 'echo up $OMPI_COMM_WORLD_RANK $$; sleep 300' 'lifecycle: {retries: 3}'
  wait_for launcher "up 3" || return
  first=$(<"$work/pods/launcher/pid")
  kill -STOP "$first"
  evict_pod launcher
  until [[ $(grep -c ":up 3" "$work/launcher.log") == 2 ]]; do sleep 0.2; done
  # Only the ranks of the second launcher are left.
  [[ $(inside_pod worker-1 pgrep -c -f 'sleep 300') == 2 ]] || fail "ranks of the first launcher are left"
  nsenter --target "$first" --mount --pid --root env KHOROVOD_LAUNCHER="$(tr '\0' '\n' </proc/"$first"/environ | sed -n 's/^KHOROVOD_POD_UID=//p')" \
    /horovod/generated/bin/ssh "$job-$run-worker-1.$job" true 2>"$work/refused.log"
  logged refused "refuses this launcher, because it serves another launcher of the run"
  kill -CONT "$first"
  delete_job
  expect 143
  released
}

# The API server has too many requests when the launcher starts: the launcher waits.
case_waits_for_a_busy_api_server() {
  cluster
  touch "$work/busy"
  train 'echo trained with it'
  wait_for launcher "cannot scale $job-$run-worker to 2 (HTTP 429)" || return
  sleep 10
  rm "$work/busy"
  expect 0 "trained with it" "trained"
  released
}

# While ranks run, DNS and the API server do not answer for OUTAGE seconds, and then the launcher has no network for as long: the ranks
# do not stop. The stage `faults` sets three minutes.
takes_a_minute outlasts_outages
case_outlasts_outages() {
  local outage=${OUTAGE:-40} pod
  allow $((2 * outage + 300))
  train 'echo up $OMPI_COMM_WORLD_RANK; until [[ -e /tmp/end ]]; do sleep 5; echo step; done' 'lifecycle: {retries: 3}'
  wait_for launcher ":up 3" || return
  touch "$work/silent" "$work/hangs"
  ! inside_pod launcher timeout 2 getent hosts "$job-$run-worker-0.$job" >/dev/null || fail "DNS answers"
  sleep "$outage"
  rm "$work/silent" "$work/hangs"
  # The launcher may judge a worker after the outage.
  sleep 15
  cut_network launcher
  sleep "$outage"
  mend_network launcher
  sleep 15
  for pod in worker-0 worker-1; do inside_pod "$pod" touch /tmp/end; done
  expect 0 "2 of 2 workers do not answer; the network of the launcher may have failed, so the training continues" trained
  [[ $(grep -c "launching: " "$work/launcher.log") == 1 ]] || fail "the training was started again"
  released
}

# The launcher cannot start again: the workers release themselves after launcher.lostTimeout.
takes_a_minute releases_without_a_launcher
case_releases_without_a_launcher() {
  train "$endless" 'launcher: {kind: mpirun, lostTimeout: 5s}'
  wait_for launcher "up 3" || return
  kube DELETE "$core/secrets/$(sed -n 's/^  name: \(.*-ssh\)$/\1/p' "$work/objects.yaml" | head -n 1)" >/dev/null
  kill_pod launcher
  wait_for events "-worker scaled to 0" 120
  released
}

# A worker whose node is drained: every rank of the job may save a checkpoint, all at once.
case_drained_worker() {
  train 'trap "echo saved \$OMPI_COMM_WORLD_RANK; touch /tmp/saved" USR1; echo up $OMPI_COMM_WORLD_RANK; until [[ -e /tmp/saved ]]; do sleep 0.2; done; sleep 2; [[ $OMPI_COMM_WORLD_RANK != 0 ]] || echo done' \
    'lifecycle: {checkpoint: {signal: SIGUSR1, gracePeriod: 20s}, retries: 0}'
  wait_for launcher "up 3" || return
  evict_pod worker-1
  wait_for launcher "ends, because it was evicted or deleted: all ranks get SIGUSR1" 30
  for rank in 0 1 2 3; do wait_for launcher ">:saved $rank" 30; done
  wait_for launcher "it does not count against lifecycle.retries" 60
  delete_job
  expect 143
  released
}

case_needs_the_mpi_of_the_spec() {
  train true 'launcher: {kind: mpirun, mpi: intelmpi}'
  expect 42 "the image has openmpi" "and launcher.mpi is intelmpi"
  released
}

case_mpi_versions_differ() {
  image prepare '[[ $POD != worker-1 ]] || { rm usr/bin/mpirun; printf "#!/bin/sh\necho mpirun \\(Open MPI\\) 5.0.8\n" >usr/bin/mpirun; chmod +x usr/bin/mpirun; }'
  train true
  expect 42 "MPI differs: the launcher has openmpi 4.1.4; $job-$run-worker-1.$job has openmpi 5.0.8"
  released
}

# All ranks on one host: training would continue there without an error.
case_wrong_slots() {
  train 'echo trained' 'launcher: {kind: mpirun, args: [--map-by, "ppr:4:node:OVERSUBSCRIBE"]}'
  expect 42 "wrong world: $job-$run-worker-0 runs 4 of 4 ranks; the spec has 2 of 4" "the ranks do not match the spec"
  ! grep -q ">:trained" "$work/launcher.log" || fail "it trained"
  released
}

# An mpirun that ignores its hostfile, as a new Open MPI does with the settings of an old one.
case_all_on_the_launcher() {
  image prepare '[[ $POD != launcher ]] || { rm usr/bin/mpirun; cat >usr/bin/mpirun; chmod +x usr/bin/mpirun; } <<END' \
    '#!/bin/bash' '[[ \$1 != --version ]] || exec -a mpirun mpirun.openmpi --version' \
    'unset OMPI_MCA_orte_default_hostfile; exec mpirun.openmpi -np 4 --oversubscribe "\${@:5}"' END
  train 'echo trained' 'workers: {replicas: 1, slotsPerWorker: 4}'
  expect 42 "wrong world: $job-$run-launcher runs 4 of 4 ranks; the spec has 0 of 4"
  ! grep -q ">:trained" "$work/launcher.log" || fail "it trained"
  released
}

# Output at full speed (MEGABYTES=1024 for more): no byte is lost, and the launcher's memory stays small.
case_prints_much() {
  local most=0 now bytes all=$((${MEGABYTES:-128} << 20))
  train "yes \"\$(printf %01023d 0)\" | head -n $((all / 4096))" 'observability: {logs: {rankPrefix: false}}'
  until [[ -e $work/pods/launcher/pid ]]; do sleep 0.1; done
  while [[ ! -s $work/jobs/$job-$run-launcher ]]; do
    now=$(memory launcher)
    ((now <= most)) || most=$now
    sleep 1
  done
  expect 0 trained
  bytes=$(grep -v "khorovod: " "$work/launcher.log" | wc -c)
  [[ $bytes == "$all" ]] || fail "$bytes bytes came, not $all"
  echo "$((all >> 20)) MiB of output in $SECONDS s; the launcher held $((most / 1024)) MiB at most"
  ((most < 100 * 1024)) || fail "the launcher held $((most / 1024)) MiB"
  rm "$work/launcher.log"
}

case_ignores_sigterm() {
  local since
  train 'trap "" TERM; echo up $OMPI_COMM_WORLD_RANK; while :; do sleep 1; done' 'lifecycle: {checkpoint: {gracePeriod: 5s}}'
  wait_for launcher ":up 3"
  since=$SECONDS
  delete_job
  expect 143 "received SIGTERM"
  lasted 20 "$since" "the end"
  released
}

case_full_shm() {
  # Either worker may run full first; the other is terminated.
  train 'head -c 8M /dev/zero >/dev/shm/$OMPI_COMM_WORLD_RANK' 'workers: {replicas: 2, slotsPerWorker: 2, shm: 4Mi}' 'lifecycle: {retries: 0}'
  expect 42 "No space left on device" "; /dev/shm of $job-$run-worker-" "is full (4.0M): raise workers.shm"
  released
}

case_elastic_below_min() {
  image prepare '[[ $POD != worker-1 ]] || rm usr/sbin/sshd'
  train true 'launcher: horovodrun' 'workers: {replicas: 2, slotsPerWorker: 2, elastic: {minReplicas: 2, maxReplicas: 4}}' 'lifecycle: {startTimeout: 5s}'
  expect 42 "1 of at least 2 workers answer; waiting for" "only 1 of at least 2 workers answered on port 2222 within 5 s"
  released
}

# Only the MPI daemon is killed, as by an out-of-memory kernel, and its pod continues. Open MPI 5 would report success.
prepare_loses_an_mpi_daemon_of_open_mpi_5() { make_images openmpi5; }
case_loses_an_mpi_daemon() { loses_a_daemon orted; }
case_loses_an_mpi_daemon_of_open_mpi_5() {
  use_image openmpi5
  loses_a_daemon prted
}
# On a busy host, mpirun ends before the worker has noticed the end of its daemon: here, the process that notices it is stopped.
case_loses_an_mpi_daemon_on_a_busy_host() {
  use_image openmpi5
  train "$endless_once" 'lifecycle: {retries: 1}'
  wait_for launcher "up 3" || return
  kill_unnoticed worker-1 prted
  wait_for launcher "attempt 1 of 2 failed" 25
  expect 0 trained
  logged worker-1 "an MPI daemon was killed on this worker"
}
# The daemon is two processes. The second one uses more memory.
prepare_loses_the_second_process_of_an_mpi_daemon() { make_images openmpi5; }
case_loses_the_second_process_of_an_mpi_daemon() {
  use_image openmpi5
  train "$endless_once" 'lifecycle: {retries: 1}'
  wait_for launcher "up 3" || return
  inside_pod worker-1 pkill -n -KILL -x prted
  expect 0 "attempt 1 of 2 failed" trained
}
prepare_loses_an_mpi_daemon_on_a_busy_host() { make_images openmpi5; }
loses_a_daemon() {
  local since
  train "$endless_once" 'lifecycle: {retries: 1}'
  wait_for launcher "up 3" || return
  since=$SECONDS
  # The pod may end before pkill does; the worker's log shows whether there was a daemon.
  inside_pod worker-1 pkill -KILL -x "$1"
  wait_for launcher "attempt 1 of 2 failed" 25
  lasted 25 "$since" "failing"
  expect 0 trained
  logged worker-1 "an MPI daemon was killed on this worker"
}

# The number of workers is reduced during the run, by a person or a quota: the launcher logs what it waits for, and how long.
prepare_elastic_shrinks_below_min() { make_horovod; }
takes_a_minute elastic_shrinks_below_min
only_in_test_all elastic_shrinks_below_min
case_elastic_shrinks_below_min() {
  use_horovod
  from_example elastic --set 'spec.command=[python3, /programs/elastic.py]' --set 'spec.env.STEPS="1000"' \
    --set 'spec.lifecycle.retries=0' --set 'spec.workers.elastic={minReplicas: 2, maxReplicas: 2, timeout: 30s}'
  wait_for launcher "from step 0: rank 3 of 4" 120 || return
  scale 1
  wait_for launcher " of at least 2 workers answer; training waits for more" 60
  expect 42 "failed after 1 attempt"
  released
}

# Before the next attempt, all processes that the last one left are killed, and sessions of `kubectl exec` stay with their children.
case_sweep_spares_exec_sessions() {
  local pod
  train 'if mkdir /tmp/first 2>/dev/null; then
    setsid sleep 2221 </dev/null &>/dev/null &
    echo first
    until [[ -e /tmp/fail ]]; do sleep 0.1; done
    exit 1
  fi
  echo second
  until [[ -e /tmp/end ]]; do sleep 0.1; done' 'workers: {replicas: 2, slotsPerWorker: 1}' 'lifecycle: {retries: 1}'
  wait_for launcher ":first" || return
  inside_pod worker-0 bash -c 'sleep 2222 & wait' &
  until inside_pod worker-0 pgrep -f '^sleep 2221' && inside_pod worker-0 pgrep -f '^sleep 2222'; do sleep 0.2; done
  inside_pod worker-0 touch /tmp/fail
  wait_for launcher ":second" || return
  inside_pod worker-0 pgrep -f '^sleep 2222' || fail "the session of kubectl exec was killed"
  ! inside_pod worker-0 pgrep -f '^sleep 2221' || fail "a process of the first attempt still runs"
  for pod in worker-0 worker-1; do inside_pod "$pod" touch /tmp/end; done
  expect 0 "attempt 1 of 2 failed" "trained"
}
