#!/bin/bash
# The Kubernetes Events that launchers post for their Job. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `job`, `run` and `endless` come from lib.sh

# posted LINE...: checks that these events were posted, in this order, and no others. MPI may also notice a lost worker.
posted() {
  [[ $(sed 's/: training ended with code 2[05]5$//' "$work/posted.log") == "$(printf '%s\n' "$@")" ]] || fail "the events are: $(<"$work/posted.log")"
}

# An attempt fails, a worker is lost, and the third attempt trains.
takes_a_minute events_of_a_run
case_events_of_a_run() {
  train 'tries=/tmp/tries; echo x >>$tries; echo up; case $(wc -l <$tries) in 1) sleep 2; exit 7 ;; 2) sleep 300 ;; esac' \
    'workers: {replicas: 2, slotsPerWorker: 1}' 'observability: {events: true}'
  until [[ $(grep -c ":up" "$work/launcher.log") == 4 ]]; do sleep 0.2; done
  kill_pod worker-1
  expect 0 trained
  released
  posted \
    "Normal AttemptStarted: the training starts" \
    "Warning AttemptEnded: training ended with code 7" \
    "Normal AttemptStarted: the training starts (failed attempts: 1)" \
    "Warning WorkerLost: lost $job-$run-worker-1" \
    "Warning AttemptEnded: lost worker $job-$run-worker-1.$job" \
    "Normal AttemptStarted: the training starts (failed attempts: 2)" \
    "Normal Trained: trained" \
    "Normal WorkersReleased: released the workers"
}

# The ranks hang, and the run fails. Quotes and other characters arrive as text.
case_events_of_a_hang() {
  train 'echo up; sleep 300' 'workers: {replicas: 1, slotsPerWorker: 1}' 'lifecycle: {stall: {timeout: 10s}, retries: 0}' \
    'observability: {events: true}'
  expect 42 "failed after 1 attempt"
  grep -q "^Warning Stalled: no output for 1[0-9] s: " "$work/posted.log" || fail "no event about the hang: $(<"$work/posted.log")"
  grep -q "^Warning Failed: failed after 1 attempt; the last: " "$work/posted.log" || fail "no event about the end"
}

# The API server hangs: the launcher does not wait for it, and the events arrive once it answers.
takes_a_minute events_never_delay
case_events_never_delay() {
  trains_while_the_api_server_hangs posted AttemptStarted 'observability: {events: true}' || return
  [[ $(grep -c AttemptStarted "$work/posted.log") == 2 ]] || fail "the events are: $(<"$work/posted.log")"
  logged posted "Warning WorkerLost: lost $job-$run-worker-1" "Normal Trained: trained"
}

# Without a permission the launcher logs it once and trains. By default there are no events, and no permission.
case_events_need_a_permission() {
  spec 'sleep 15' 'workers: {replicas: 1, slotsPerWorker: 1}' 'observability: {events: true}'
  cluster
  "$KHOROVOD" render -q --ssh-seed examples/ssh.seed -n team-a "$work/job.yaml" |
    /usr/bin/python3 -c 'import sys, yaml
objects = [one for one in yaml.safe_load_all(sys.stdin) if one]
for one in objects:
    if one["kind"] == "Role":
        one["rules"] = [rule for rule in one["rules"] if "events" not in rule["resources"]]
yaml.safe_dump_all(objects, sys.stdout)' >"$work/objects.yaml"
  job=$(label job) run=$(label run)
  kube POST /apply "@$work/objects.yaml" >/dev/null || fail "not applied"
  expect 0 "cannot post events (HTTP 403); its ServiceAccount needs create on events in namespace team-a"
  [[ ! -e $work/posted.log && $(grep -c "cannot post events" "$work/launcher.log") == 1 ]] || fail "it posted, or logged more than once"
}

# The agents: only the first one posts.
takes_a_minute events_of_torchrun
only_in_test_all events_of_torchrun
case_events_of_torchrun() {
  agents '' 'observability: {events: true}' || return 0
  wait_for posted AttemptStarted
  kill_pod 1
  wait_for 0 "lost worker $job-$run-1" 30
  again 0 "up 1"
  wait_for 1 "up 3" 60
  end_agents
  posted \
    "Normal AttemptStarted: the training starts" \
    "Warning WorkerLost: lost $job-$run-1" \
    "Warning AttemptEnded: lost worker $job-$run-1" \
    "Normal AttemptStarted: the training starts (failed attempts: 1)" \
    "Normal Trained: trained"
}
