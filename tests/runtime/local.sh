#!/bin/bash
# Runs jobs for real on this machine: every pod is a process tree with a network, hosts file and
# read-write layer of its own, without root, and a small API server scales the workers.
#
#   tests/runtime/local.sh [CASE...]      the cases are the functions below, named case_*
#
# Needs root on Linux, Open MPI and sshd; says so and passes where they are missing.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

here=$PWD/tests/runtime
if [[ ${1:-} != inside ]]; then
  reason=''
  ((UID == 0)) || reason="not root"
  for program in mpirun ssh ip unshare setpriv openssl python3; do
    type -P "$program" >/dev/null || reason="$program is not installed"
  done
  PATH=$PATH:/usr/sbin type -P sshd >/dev/null || reason="sshd is not installed"
  if [[ -n $reason ]]; then
    echo "skipped: $reason"
    exit 0
  fi
  KHOROVOD_FILES=$(mktemp -d) || exit
  export KHOROVOD_FILES
  trap 'rm -rf "$KHOROVOD_FILES"' EXIT
  cargo test --quiet --lib runtime::tests::dump -- --ignored >"$KHOROVOD_FILES/log" 2>&1 || {
    cat "$KHOROVOD_FILES/log"
    exit 1
  }
  # All that is made in here is gone with the last process.
  unshare --mount --net --pid --fork --kill-child --mount-proc "$here/local.sh" inside "$@"
  exit
fi
shift

work=$KHOROVOD_FILES/work
mkdir -p "$work" && mount -t tmpfs work "$work"
mount -t tmpfs run /run && mkdir /run/netns
{ ip link add pods type bridge && ip addr add 10.88.0.1/24 dev pods && ip link set pods up && ip link set lo up; } || exit

# The API server's certificate and token, as a ServiceAccount volume has them.
account=$work/account
mkdir "$account"
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=api -addext subjectAltName=IP:10.88.0.1 \
  -keyout "$work/key.pem" -out "$account/ca.crt" 2>/dev/null
echo secret-token >"$account/token"
printf team-a >"$account/namespace"
chmod -R a+rX "$work"

# The addresses of a case's pods, and the files of a plan. `training` replaces its last words.
begin() {
  rm -rf "$work/files" && cp -r "$KHOROVOD_FILES/$1" "$work/files" && rm -f "$work"/*.log "$work/scale"
  files=$work/files
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
  api=$!
  sleep 0.5
}

launcher() { timeout -k 1 60 "$here/pod.sh" mnist-bcdfgh-launcher 10.88.0.2 launcher.sh >"$work/launcher.log" 2>&1; }

finish() {
  kill "$api"
  wait "$api" 2>/dev/null
  ip netns list | while read -r pod _; do ip netns delete "$pod"; done
}

# limit NAME VALUE: as an edit of J-current would.
limit() { echo "$2" >"$files/current/$1"; }

# expect CODE TEXT...: what the launcher must have ended with and said.
expect() {
  local wanted=$1 text
  shift
  [[ $code == "$wanted" ]] || fail "the launcher ended with $code, not $wanted"
  for text; do grep -qF -- "$text" "$work/launcher.log" || fail "nobody said: $text"; done
}

fail() {
  echo "FAILED $name: $*"
  [[ " $failed " == *" $name "* ]] || tail -n 40 "$work"/*.log
  failed+=" $name"
}

case_trains() {
  begin statefulset "bash -c 'echo rank on \$(hostname), \$MODE; sleep 1'"
  launcher
  code=$?
  expect 0 "the world is right: 4 ranks on 2 hosts" "rank on mnist-bcdfgh-worker-1, of the pod" "released the workers"
  [[ $(grep -c "^rank on" "$work/launcher.log") == 4 ]] || fail "not four ranks"
  released
  finish
}

# wait_for TEXT: until the launcher has said it.
wait_for() {
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    grep -qF -- "$1" "$work/launcher.log" 2>/dev/null && return
    sleep 0.2
  done
  fail "nobody said in time: $1"
}

released() { [[ $(tail -n 1 "$work/scale") == 0 ]] || fail "the workers stay"; }

case_fails() {
  begin statefulset "bash -c 'exit 3'"
  limit retries 1
  launcher
  code=$?
  expect 42 "attempt 1 of 2 failed" "failed after 2 attempts; the last: training ended with code 3"
  released
  finish
}

case_counts_dead_launchers() {
  FAILED=4 begin statefulset true
  launcher
  code=$?
  expect 42 "4 launchers died, and retries are 3"
  released
  finish
}

case_names_the_missing() {
  begin statefulset true
  limit wait-timeout 3
  sed -i /worker-1/d "$work/hosts"
  launcher
  code=$?
  expect 42 "1 of 2 workers did not answer on port 2222 within 3 s: mnist-bcdfgh-worker-1.mnist"
  released
  finish
}

case_notices_a_silent_worker() {
  begin statefulset "sleep 300"
  limit retries 0
  launcher &
  wait_for launching
  ip -n mnist-bcdfgh-worker-1 link set eth0 down
  wait $!
  code=$?
  expect 42 "lost worker mnist-bcdfgh-worker-1.mnist"
  released
  finish
}

case_steps_aside() {
  begin statefulset "sleep 300"
  launcher &
  wait_for launching
  limit run zzzzzz
  wait $!
  code=$?
  expect 43 "superseded: run zzzzzz is current"
  released
  finish
}

case_keeps_its_deadline() {
  begin statefulset "sleep 300"
  limit deadline 8
  launcher
  code=$?
  expect 44 "past its deadline of 8 s"
  released
  finish
}

case_releases_when_told_to_end() {
  begin statefulset "sleep 300"
  launcher &
  wait_for launching
  ip netns pids mnist-bcdfgh-launcher | while read -r pid; do
    [[ $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") != "/bin/bash /etc/khorovod/scripts/launcher.sh " ]] || kill -TERM "$pid"
  done
  wait $!
  code=$?
  expect 143 "told to end"
  released
  finish
}

case_wants_the_mpi_of_the_spec() {
  begin statefulset true
  echo mpi=intelmpi >>"$files/scripts/job.sh"
  launcher
  code=$?
  expect 42 "the image has openmpi" "the spec says intelmpi"
  finish
}

# One Indexed Job under MPICH; its hostfile is made in the pod.
# shellcheck disable=SC2016 # for the script
case_indexed() {
  local hydra="HYDRA_HOST_FILE=/horovod/generated/hostfile HYDRA_LAUNCHER_EXEC=/horovod/generated/bin/ssh"
  type -P mpirun.mpich >/dev/null || { echo "skipped indexed: no mpich"; return; }
  begin indexed "bash -c 'echo rank on \$(hostname), \$MODE'"
  echo 'runner=(mpirun -np 4 -f /horovod/generated/hostfile -localhost mnist-bcdfgh-0.mnist); launch=("${runner[@]}" "${launch[@]:5}")' >>"$files/scripts/job.sh"
  printf '10.88.0.1%s mnist-bcdfgh-%s.mnist\n' 0 0 1 1 >"$work/hosts"
  MPI=mpich MORE="$hydra JOB_COMPLETION_INDEX=1" "$here/pod.sh" mnist-bcdfgh-1 10.88.0.11 indexed.sh >"$work/other.log" 2>&1 &
  MPI=mpich MORE="$hydra JOB_COMPLETION_INDEX=0" timeout -k 1 60 "$here/pod.sh" mnist-bcdfgh-0 10.88.0.10 indexed.sh >"$work/launcher.log" 2>&1
  code=$?
  expect 0 "the world is right: 4 ranks on 2 hosts under mpich" "rank on mnist-bcdfgh-1, of the pod"
  kill -KILL %%
  finish
}

failed=''
(($#)) || mapfile -t all < <(declare -F | sed -n 's/^declare -f case_//p')
for name in "${all[@]:-$@}"; do
  "case_$name"
  [[ " $failed " == *" $name "* ]] || echo "ok $name"
done
[[ -z $failed ]]
