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
  files=$KHOROVOD_FILES/$1
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

launcher() { timeout -k 1 "${1:-60}" "$here/pod.sh" mnist-bcdfgh-launcher 10.88.0.2 launcher.sh >"$work/launcher.log" 2>&1; }

finish() {
  kill "$api"
  wait "$api" 2>/dev/null
}

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
  [[ $(tail -n 1 "$work/scale") == 0 ]] || fail "the workers stay"
  finish
}

failed=''
(($#)) || mapfile -t all < <(declare -F | sed -n 's/^declare -f case_//p')
for name in "${all[@]:-$@}"; do
  "case_$name"
  [[ " $failed " == *" $name "* ]] || echo "ok $name"
done
[[ -z $failed ]]
