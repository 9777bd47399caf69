#!/bin/bash
# Runs jobs for real on this machine: every pod is a process tree with a network, hosts file and
# read-write layer of its own, without root, and a small API server scales the workers.
#
#   tests/runtime/local.sh [CASE...]      the cases are the functions case_* in cases.sh
#
# Needs root on Linux, Open MPI and sshd; says so and passes where they are missing.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

here=$PWD/tests/runtime
# shellcheck source=tests/runtime/cases.sh
. "$here/cases.sh"
# shellcheck source=tests/tools.sh
. tests/tools.sh
# A Python with a server of buckets, for the case s3.
moto=$tools_cache/moto-5.1.22/bin/python

if [[ ${1:-} != inside ]]; then
  reason=''
  ((UID == 0)) || reason="not root"
  for program in mpirun ssh ip unshare setpriv nsenter openssl python3; do
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
  # Here, as cases have no way out.
  [[ " ${*:-s3} " != *" s3 "* || -x $moto ]] || {
    { python3 -m venv "${moto%/bin/*}" && "${moto%/*}/pip" install -q "moto[s3,server]==5.1.22"; } >&2 || rm -rf "${moto%/bin/*}"
  }
  (($#)) || mapfile -t all < <(declare -F | sed -n 's/^declare -f case_//p')
  # Every case has networks and mounts of its own, and all of it is gone with its last process.
  # Most of their time is waiting.
  printf '%s\n' "${all[@]:-$@}" |
    xargs -P 4 -I '{}' unshare --mount --net --pid --fork --kill-child --mount-proc "$here/local.sh" inside '{}'
  exit
fi

name=$2 failed='' skipped=''
work=$KHOROVOD_FILES/$name.pods
mkdir -p "$work" && mount -t tmpfs work "$work"
mount -t tmpfs run /run && mkdir /run/netns
{ ip link add pods type bridge && ip addr add 10.88.0.1/24 dev pods && ip link set pods up && ip link set lo up; } || exit

# The API server's certificate and token, as a ServiceAccount volume has them.
account=$work/account
mkdir "$account"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=api -addext subjectAltName=IP:10.88.0.1 \
  -keyout "$work/key.pem" -out "$account/ca.crt" 2>/dev/null
echo secret-token >"$account/token"
printf team-a >"$account/namespace"
chmod -R a+rX "$work"

# At the end in one piece, as other cases talk meanwhile; also when a case broke off.
report() {
  if [[ -n $skipped ]]; then
    echo "skipped $name: $skipped"
  elif [[ -z $failed ]]; then
    echo "ok $name ($SECONDS s)"
  else
    tail -n 40 "$work"/*.log
    echo "FAILED $name: $failed"
    exit 1
  fi
}
failed="broke off"
trap report EXIT
exec 2>"$work/case.log"
"case_$name"
failed=${failed#broke off}
