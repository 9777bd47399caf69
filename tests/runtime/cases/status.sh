#!/bin/bash
# The status that launchers write to their Job. Sourced.
# shellcheck disable=SC2016,SC2154 # the ranks expand; `work`, `job`, `run` and `endless` come from lib.sh

# statuses EXPRESSION: checks a Python expression about the list `every` of the statuses in the order in which they were written.
statuses() {
  /usr/bin/python3 - "$work/status.log" "$1" 2>&1 <<'END' || fail "not in the statuses: $1"
import json, sys
with open(sys.argv[1]) as file:
    texts = file.read().splitlines()
assert all(len(text) <= 2048 for text in texts)
every = [json.loads(text) for text in texts]
# Each phase with the attempt, without repetitions. Preparing is written if it takes a second.
phases = [f"{one['phase']} {one['attempt']}" for one in every if one["phase"] != "preparing"]
phases = [one for one, before in zip(phases, [""] + phases) if one != before]
assert eval(sys.argv[2]), phases
END
}

# An attempt fails, and the next one trains. One worker starts late.
takes_a_minute status_of_a_run
case_status_of_a_run() {
  image prepare '[[ $POD != worker-1 ]] || { mv usr/sbin/sshd usr/sbin/sshd.real; cat >usr/sbin/sshd; chmod +x usr/sbin/sshd; } <<END' \
    '#!/bin/bash' 'sleep 6' 'exec /usr/sbin/sshd.real "\$@"' END
  train 'sleep 4; [[ -e /tmp/again ]] || { touch /tmp/again; exit 7; }'
  expect 0 trained
  statuses 'phases == ["waiting 1", "training 1", "waiting 2", "training 2", "ended 2"]'
  statuses '[one for one in every if one["phase"] == "waiting"][0]["message"].startswith("1 of 2 workers answer; waiting for '"$job-$run-worker-1.$job"'")'
  statuses '[one for one in every if one["phase"] == "waiting"][-1].items() >= {"message": "the next attempt starts soon", "failures": 1, "retries": 3}.items()'
  statuses '"training ended with code 7" == every[-1]["lastEnd"] and every[-1]["message"] == "trained"'
  statuses '8 <= every[-1]["trained"] <= 40 and every[-1]["trained"] + 2 <= every[-1]["held"] <= 120'
  statuses 'len(every) <= 8 and all(one["since"] <= one["at"] for one in every)'
  ! grep -q "khorovod.dev" "$work/launcher.log" || fail "it logs"
  released
}

# The launcher is killed and evicted: its successors continue the counts.
takes_a_minute status_of_successors
case_status_of_successors() {
  train "$endless" 'lifecycle: {retries: 3}'
  wait_for launcher ":up 3" || return
  wait_for status '"phase":"training"'
  sleep 3
  kill_pod launcher
  wait_for status '"attempt":2'
  until [[ $(grep -c ":up 3" "$work/launcher.log") == 2 ]]; do sleep 0.2; done
  sleep 2
  statuses 'phases[-1] == "training 2" and every[-1]["failures"] == 1 and every[-1]["lastEnd"] == "the launcher was killed"'
  statuses 'every[-1]["held"] >= 3'
  evict_pod launcher
  until [[ $(grep -c ":up 3" "$work/launcher.log") == 3 ]]; do sleep 0.2; done
  sleep 2
  statuses 'phases[-1] == "training 3" and every[-1]["failures"] == 1'
  statuses 'every[-1]["lastEnd"] == "received SIGTERM; the workers stay for the next launcher"'
  statuses '"saving 2" in phases and every[-1]["trained"] >= 2 and every[-1]["held"] > every[-1]["trained"]'
  delete_job
  expect 143 "received SIGTERM"
  released
}

# The API server hangs: a lost worker is noticed as soon as ever, and the status is written once the server answers.
takes_a_minute status_while_the_api_server_hangs
case_status_while_the_api_server_hangs() {
  trains_while_the_api_server_hangs status '"phase":"training"' || return
  statuses 'every[-1].items() >= {"phase": "ended", "message": "trained", "attempt": 2, "failures": 1}.items()'
  released
}

# The API server hangs at the end: the pod that launches exits at most some seconds later.
case_status_does_not_delay_the_end() {
  local ended pod
  train 'echo up $OMPI_COMM_WORLD_RANK; until [[ -e /tmp/end ]]; do sleep 0.2; done; echo the end' 'launcher: {kind: mpirun, runsIn: firstWorker}'
  wait_for 0 ":up 3" || return
  wait_for status '"phase":"training"'
  touch "$work/hangs"
  for pod in 0 1; do inside_pod $pod touch /tmp/end; done
  wait_for 0 ">:the end"
  ended=$SECONDS
  expect 0 trained
  lasted 9 "$ended" "the end"
  statuses 'phases[-1] == "training 1"'
}

# Without permissions nothing is written.
case_status_needs_access() {
  train true 'security: {apiAccess: false}'
  expect 0 trained
  [[ ! -e $work/status.log ]] || fail "it wrote a status"
  ! grep -qi "status" "$work/launcher.log" || fail "it logs about it"
}

takes_a_minute status_of_torchrun
only_in_test_all status_of_torchrun
case_status_of_torchrun() {
  agents || return 0
  wait_for status '"phase":"training"'
  kill_pod 1
  wait_for 0 "lost worker $job-$run-1" 30
  again 0 "up 1"
  wait_for 1 "up 3" 60
  end_agents
  statuses 'phases[-4:] == ["training 1", "waiting 2", "training 2", "ended 2"]'
  statuses 'every[-1]["lastEnd"] == "lost worker '"$job-$run-1"'" and every[-1]["message"] == "trained"'
}

# Bars of tqdm, of a rank on a worker, which mpirun passes on. The output arrives unchanged.
case_progress_by_bars() {
  image prepare "install -m 0644 $here/progress/tqdm.log usr/local/lib/tqdm.log"
  train '[[ $OMPI_COMM_WORLD_RANK == 0 ]] || exit 0
    head -c 4000 /usr/local/lib/tqdm.log >&2; sleep 3; tail -c +4001 /usr/local/lib/tqdm.log >&2; sleep 3; echo the last line' 'observability: {progress: auto}'
  expect 0 ">:the last line" trained
  statuses 'every[-1].items() >= {"phase": "ended", "step": 50, "steps": 50, "unit": "step"}.items()'
  statuses 'every[-1]["since"] - 20 <= every[-1]["progressAt"] <= every[-1]["since"]'
  [[ $(sed '/>:the last line/,$d' "$work/launcher.log" | tr '\r' '\n' | grep -c "Loading checkpoint shards") -ge 2 ]] || fail "output is missing"
  [[ $(tail -n 2 "$work/launcher.log" | head -n 1) == *"khorovod: trained" ]] || fail "output after the end"
  released
}

# A pattern, in the pod that also launches, with a stall that is noticed although the relay reads the output.
takes_a_minute progress_by_pattern
case_progress_by_pattern() {
  train 'for ((n = 1; n <= 4; n++)); do echo "it=$n of 8, step 1/1000"; sleep 1; done; mark=/tmp/up$OMPI_COMM_WORLD_RANK; [[ -e $mark ]] || { touch $mark; sleep 300; }; echo "it=8 of 8"' \
    'launcher: {kind: mpirun, runsIn: firstWorker}' 'lifecycle: {stall: {timeout: 15s}, retries: 1}' \
    'observability: {progress: {pattern: "it=(\\d+) of (\\d+)"}}'
  expect 0 "attempt 1 of 2 failed: no output for " trained
  statuses '[one for one in every if one["phase"] == "waiting" and one["attempt"] == 2][-1].items() >= {"step": 4, "steps": 8, "unit": "step"}.items()'
  statuses '"no output for " in every[-1]["lastEnd"] and every[-1]["step"] == 8'
}

# A file on the host of rank 0, which is read at the start and every 30 s.
takes_a_minute progress_by_file
only_in_test_all progress_by_file
case_progress_by_file() {
  train '[[ $OMPI_COMM_WORLD_RANK != 0 ]] || for ((n = 1; n <= 45; n++)); do echo "{\"epoch\": $n, \"epochs\": 45}" >/tmp/progress; sleep 1; done' \
    'observability: {progress: {file: /tmp/progress}}'
  expect 0 trained
  statuses '30 <= every[-1]["step"] <= 45 and every[-1]["steps"] == 45 and every[-1]["unit"] == "epoch"'
  released
}

# Evictions cost no retry, but a run that passes no new step ends nevertheless.
case_ends_without_progress() {
  local number
  train 'echo "step 7/40"; echo up $OMPI_COMM_WORLD_RANK; sleep 300' 'lifecycle: {retries: 0, retriesWithoutProgress: 2}' 'observability: {progress: auto}'
  for number in 1 2 3; do
    until [[ $(grep -c ">:up 3" "$work/launcher.log") -ge $number || $SECONDS -gt 150 ]]; do sleep 0.2; done
    evict_pod worker-1
    [[ $number == 3 ]] || until [[ $(grep -c "it does not count against lifecycle.retries" "$work/launcher.log") == "$number" || $SECONDS -gt 150 ]]; do sleep 0.2; done
  done
  expect 42 "no attempt has passed step 7 in the last 2, and lifecycle.retriesWithoutProgress is 2; the last: worker $job-$run-worker-1.$job ends, because it was evicted or deleted"
  [[ $(<"$work/pods/launcher/termination") == "no attempt has passed step 7 in the last 2, "* ]] || fail "another termination message"
  released
}

# Each attempt passes a new step.
case_continues_with_progress() {
  train '[[ $OMPI_COMM_WORLD_RANK == 0 ]] || exec sleep 300; n=$(($(cat /tmp/n 2>/dev/null || echo 0) + 1)); echo "$n" >/tmp/n; echo "step $n/40"; sleep 2; exit 3' \
    'lifecycle: {retries: 3, retriesWithoutProgress: 1}' 'observability: {progress: auto}'
  expect 42 ">:step 4/40" "failed after 4 attempts; the last: training ended with code 3"
  released
}

# The step in a file. Before the first step nothing is counted.
takes_a_minute ends_without_progress_in_a_file
only_in_test_all ends_without_progress_in_a_file
case_ends_without_progress_in_a_file() {
  train '[[ $OMPI_COMM_WORLD_RANK == 0 ]] || exec sleep 300; n=$(($(cat /tmp/n 2>/dev/null || echo 0) + 1)); echo "$n" >/tmp/n; ((n > 2)) || exit 3; echo "{\"epoch\": 2}" >/tmp/progress; sleep 40; exit 3' \
    'lifecycle: {retries: 9, retriesWithoutProgress: 1}' 'observability: {progress: {file: /tmp/progress}}'
  expect 42 "attempt 3 of 10 failed" "no attempt has passed epoch 2 in the last 1, and"
  [[ $(grep -c "launching: " "$work/launcher.log") == 4 ]] || fail "it did not end after the fourth attempt"
  released
}

# The metrics of the launcher, also without permissions. That is an Indexed Job.
case_status_as_metrics() {
  train 'echo step 3/40; sleep 12' 'security: {apiAccess: false}' 'observability: {progress: auto, launcherMetrics: {port: 9401}}'
  wait_for 0 ">:step 3/40" || return
  sleep 8
  inside_pod 0 curl -s http://127.0.0.1:9401/metrics >"$work/metrics.log"
  logged metrics "khorovod_phase{training_job=\"mnist\",run=\"$run\",phase=\"training\"} 1" \
    "khorovod_has_progress{training_job=\"mnist\",run=\"$run\"} 1" \
    "khorovod_phase{training_job=\"mnist\",run=\"$run\",phase=\"waiting\"} 0" \
    "khorovod_step{training_job=\"mnist\",run=\"$run\"} 3" "khorovod_steps{training_job=\"mnist\",run=\"$run\"} 40" \
    "# TYPE khorovod_trained_seconds_total counter"
  [[ $(inside_pod 0 curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:9401/other) == 404 ]] || fail "it serves more"
  expect 0 trained
  [[ ! -e $work/status.log ]] || fail "it wrote a status"
}
