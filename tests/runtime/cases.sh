#!/bin/bash
# The cases of local.sh, and what they share. Sourced.
# shellcheck disable=SC2034,SC2154 # `failed` and `skipped` are read there, `here`, `work` and `moto` are set there

# begin PLAN TRAINING: the files of a plan and the addresses of its pods. TRAINING replaces its last words.
begin() {
  files=$work/files
  cp -r "$KHOROVOD_FILES/$1" "$files"
  export files work
  echo "launch=( \"\${runner[@]}\" $2 )" >>"$files/scripts/job.sh"
  {
    echo "127.0.0.1 localhost"
    echo "10.88.0.2 mnist-bcdfgh-launcher mnist-bcdfgh-launcher.mnist"
    for i in 0 1 2 3; do
      echo "10.88.0.1$i mnist-bcdfgh-worker-$i mnist-bcdfgh-worker-$i.mnist"
    done
  } >"$work/hosts"
  "$here/api.py" "$work" "$here/pod.sh" >"$work/api.log" 2>&1 &
  sleep 0.5
}

# pod NAME ADDRESS SCRIPT: in the foreground, bounded.
pod() { timeout -k 1 80 "$here/pod.sh" "$@"; }

launcher() { pod mnist-bcdfgh-launcher 10.88.0.2 launcher.sh >"$work/launcher.log" 2>&1; }

# inside_pod NAME COMMAND...: as `kubectl exec` would.
inside_pod() {
  local pid='' name=$1
  shift
  # The first process of the pod's own namespace.
  for pid in $(ip netns pids "$name"); do
    [[ $(awk '/^NSpid/ { print $NF }' "/proc/$pid/status") == 1 ]] && break
  done
  nsenter --target "$pid" --mount --uts --net --pid --root --wd setpriv --reuid 65532 --regid 65532 --clear-groups "$@"
}

# limit NAME VALUE: as an edit of J-current would.
limit() { echo "$2" >"$files/current/$1"; }

fail() {
  failed+="; $*"
}

# said FILE TEXT...
said() {
  local file=$1 text
  shift
  for text; do grep -qF -- "$text" "$work/$file.log" || fail "$file did not say: $text"; done
}

# expect CODE TEXT...: what the launcher must have ended with and said.
expect() {
  local wanted=$1
  shift
  [[ $code == "$wanted" ]] || fail "the launcher ended with $code, not $wanted"
  said launcher "$@"
}

# wait_for TEXT: until the launcher has said it.
wait_for() {
  local tries
  for ((tries = 0; tries < 150; tries++)); do
    grep -qF -- "$1" "$work/launcher.log" 2>/dev/null && return
    sleep 0.2
  done
  fail "nobody said in time: $1"
}

released() { [[ $(tail -n 1 "$work/scale") == 0 ]] || fail "the workers stay"; }

# A training that says so once its ranks are up: `up 3`.
endless="bash -c 'echo up \$OMPI_COMM_WORLD_RANK; sleep 300'"

case_notices_a_silent_worker() {
  begin statefulset "$endless"
  limit retries 0
  launcher &
  wait_for "up 3"
  ip -n mnist-bcdfgh-worker-1 link set eth0 down
  wait $!
  code=$?
  expect 42 "lost worker mnist-bcdfgh-worker-1.mnist"
  released
}

# torchrun_job ENVIRONMENT: an agent with two ranks in each of two pods.
# Debian's torch 1.13 fails under its own Python without PET_TEE and PET_REDIRECTS like these.
torchrun_job() {
  local env="PET_NPROC_PER_NODE=2 PET_MAX_RESTARTS=0 PET_TEE=1 PET_REDIRECTS=7:1 $1"
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { skipped="no python3-torch"; return; }
  begin torchrun true
  cp "$here/sum.py" "$files/scripts"
  echo 'launch=(python3 -m torch.distributed.run --no_python python3 /etc/khorovod/scripts/sum.py)' >>"$files/scripts/job.sh"
  printf '10.88.0.1%s mnist-bcdfgh-%s mnist-bcdfgh-%s.mnist\n' 0 0 0 1 1 1 >"$work/hosts"
  echo "127.0.0.1 localhost" >>"$work/hosts"
  MORE="$env JOB_COMPLETION_INDEX=1" pod mnist-bcdfgh-1 10.88.0.11 torchrun.sh >"$work/other.log" 2>&1 &
  MORE="$env JOB_COMPLETION_INDEX=0" pod mnist-bcdfgh-0 10.88.0.10 torchrun.sh >"$work/launcher.log" 2>&1
  code=$?
  wait $!
  other=$?
  expect 0 "trained" "rank 0 of 4 on mnist-bcdfgh-0: sum 6"
  said other "rank 2 of 4 on mnist-bcdfgh-1: sum 6" "trained"
  [[ $other == 0 ]] || fail "the other agent ended with $other"
}

case_torchrun() { torchrun_job "PET_NNODES=2 PET_MASTER_ADDR=mnist-bcdfgh-0.mnist PET_MASTER_PORT=29400 WANTED=4"; }

# Which agent gets which ranks is settled when they meet.
case_torchrun_elastic() {
  torchrun_job "PET_NNODES=1:2 PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=mnist-bcdfgh-0.mnist:29400 PET_RDZV_ID=mnist PET_RDZV_CONF=join_timeout=60"
}

case_s3() {
  [[ -x $moto ]] || { skipped="moto could not be installed"; return; }
  begin s3 "bash -c 'cat /set/deep/er/text; echo result > /set/out-\$OMPI_COMM_WORLD_RANK'"
  mkdir -p "$files/s3/set"
  printf AKIDTEST >"$files/s3/set/AWS_ACCESS_KEY_ID"
  printf 'not/to+be+seen' >"$files/s3/set/AWS_SECRET_ACCESS_KEY"
  sed -i 's|https://[^"]*|http://10.88.0.1:9000|; s|"bucket":"b"|"bucket":"data"|' "$files/scripts/s3.json"
  cp "$here/buckets.sh" "$files/scripts"
  "$moto" "$here/buckets.py" >"$work/s3.log" 2>&1 &
  until curl -sf http://10.88.0.1:9000/ready >/dev/null; do sleep 0.2; done
  launcher
  code=$?
  expect 0 "of the bucket" "2 of 206 files were new and went out"
  pod mnist-bcdfgh-launcher 10.88.0.2 buckets.sh >"$work/cases.log" 2>&1 || fail "buckets.sh ended with $?"
  ! grep -q "not/to+be+seen" "$work"/*.log || fail "the key was shown"
}

case_fails() {
  begin statefulset "bash -c 'exit 3'"
  limit retries 1
  launcher
  code=$?
  expect 42 "attempt 1 of 2 failed" "failed after 2 attempts; the last: training ended with code 3"
  released
}

# Somebody works in the pod for longer than the idle time, then leaves. The platform chose the user.
case_idle() {
  local started=$SECONDS
  UID_OF_PODS=1000660000 begin interactive ''
  echo 'launch=()' >>"$files/scripts/job.sh"
  limit idle-timeout 6
  UID_OF_PODS=1000660000 launcher &
  wait_for "ready: 2 workers"
  inside_pod mnist-bcdfgh-launcher bash -c 'sleep 15'
  kill -0 $! 2>/dev/null || fail "it left while somebody was there"
  wait $!
  code=$?
  expect 0 "nobody used it for 6 s" "released the workers"
  ((SECONDS - started < 45)) || fail "it did not leave in time"
  released
}

case_keeps_its_deadline() {
  begin statefulset "sleep 300"
  limit deadline 8
  launcher
  code=$?
  expect 44 "past its deadline of 8 s"
  released
}

case_steps_aside() {
  begin statefulset "$endless"
  launcher &
  wait_for "up 3"
  limit run zzzzzz
  wait $!
  code=$?
  expect 43 "superseded: run zzzzzz is current"
  released
}

case_trains() {
  begin statefulset "bash -c 'echo rank on \$(hostname), \$MODE; sleep 1'"
  launcher
  code=$?
  expect 0 "the world is right: 4 ranks on 2 hosts" "rank on mnist-bcdfgh-worker-1, of the pod" "released the workers"
  [[ $(grep -c "^rank on" "$work/launcher.log") == 4 ]] || fail "not four ranks"
  released
}

case_scales_without_curl() {
  WITHOUT=curl begin statefulset true
  WITHOUT=curl launcher
  code=$?
  expect 0 "trained" "released the workers"
  released
}

case_may_not_scale() {
  DENY=yes begin statefulset true
  launcher
  code=$?
  expect 42 "cannot scale mnist-bcdfgh-worker (HTTP 403)" "bind the account of namespace default" "use -n team-a" "NOT RELEASED"
  ((SECONDS < 20)) || fail "it took $SECONDS s"
}

case_discovers() {
  local index
  begin elastic true
  echo max_workers=3 >>"$files/scripts/job.sh"
  # shellcheck disable=SC2016 # for the script
  echo 'start=${EPOCHREALTIME/./}; bash "${0%/*}/discover.sh"; echo "code $?, $(((${EPOCHREALTIME/./} - start) / 1000)) ms"' >"$files/scripts/try.sh"
  pod mnist-bcdfgh-launcher 10.88.0.2 try.sh >"$work/none.log" 2>&1
  [[ $(<"$work/none.log") == "code 0, "* ]] || fail "with nobody up: $(<"$work/none.log")"
  for index in 0 2; do "$here/pod.sh" "mnist-bcdfgh-worker-$index" "10.88.0.1$index" worker.sh >"$work/worker-$index.log" 2>&1 & done
  until grep -q answers "$work/worker-0.log" && grep -q answers "$work/worker-2.log"; do sleep 0.2; done
  pod mnist-bcdfgh-launcher 10.88.0.2 try.sh >"$work/two.log" 2>&1
  said two mnist-bcdfgh-worker-0.mnist:2 mnist-bcdfgh-worker-2.mnist:2 "code 0, "
  [[ $(wc -l <"$work/two.log") == 3 ]] || fail "with two up: $(<"$work/two.log")"
  [[ $(tail -n 1 "$work/two.log") =~ ,\ 1?[0-9]?[0-9]?[0-9]\ ms ]] || fail "slow: $(<"$work/two.log")"
}

case_names_the_missing() {
  begin statefulset true
  limit wait-timeout 3
  sed -i /worker-1/d "$work/hosts"
  launcher
  code=$?
  expect 42 "1 of 2 workers did not answer on port 2222 within 3 s: mnist-bcdfgh-worker-1.mnist"
  released
}

case_counts_dead_launchers() {
  FAILED=4 begin statefulset true
  launcher
  code=$?
  expect 42 "4 launchers died, and retries are 3"
  released
}

case_releases_when_told_to_end() {
  begin statefulset "$endless"
  launcher &
  wait_for "up 3"
  inside_pod mnist-bcdfgh-launcher bash -c 'kill -TERM 1'
  wait $!
  code=$?
  expect 143 "told to end"
  released
}

case_wants_the_mpi_of_the_spec() {
  begin statefulset true
  echo mpi=intelmpi >>"$files/scripts/job.sh"
  launcher
  code=$?
  expect 42 "the image has openmpi" "the spec says intelmpi"
}

# One Indexed Job under MPICH; its hostfile is made in the pod.
# shellcheck disable=SC2016 # for the script
case_indexed() {
  local hydra="HYDRA_HOST_FILE=/horovod/generated/hostfile HYDRA_LAUNCHER_EXEC=/horovod/generated/bin/ssh"
  type -P mpirun.mpich >/dev/null || { skipped="no mpich"; return; }
  begin indexed "bash -c 'echo rank on \$(hostname), \$MODE'"
  echo 'runner=(mpirun -np 4 -f /horovod/generated/hostfile -localhost mnist-bcdfgh-0.mnist); launch=("${runner[@]}" "${launch[@]:5}")' >>"$files/scripts/job.sh"
  printf '10.88.0.1%s mnist-bcdfgh-%s.mnist\n' 0 0 1 1 >"$work/hosts"
  MPI=mpich MORE="$hydra JOB_COMPLETION_INDEX=1" "$here/pod.sh" mnist-bcdfgh-1 10.88.0.11 indexed.sh >"$work/other.log" 2>&1 &
  MPI=mpich MORE="$hydra JOB_COMPLETION_INDEX=0" pod mnist-bcdfgh-0 10.88.0.10 indexed.sh >"$work/launcher.log" 2>&1
  code=$?
  expect 0 "the world is right: 4 ranks on 2 hosts under mpich" "rank on mnist-bcdfgh-1, of the pod"
}
