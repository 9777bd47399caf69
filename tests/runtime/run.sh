#!/bin/bash
# Runs rendered jobs on this machine, each case in its own namespaces. See README.md.
#
#   tests/runtime/run.sh [CASE...]
#
# Requires root on Linux, an MPI and sshd; skips the cases if they are missing.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
here=$PWD/tests/runtime
# shellcheck source=tests/tools.sh
. tests/tools.sh
# shellcheck source=tests/runtime/lib.sh
. "$here/lib.sh"
for file in "${CASES:-$here/cases}"/*.sh; do
  # shellcheck source=tests/runtime/cases/life.sh
  . "$file"
done

if [[ ${1:-} != inside ]]; then
  reason=''
  ((UID == 0)) || reason="not root"
  for program in mpirun ssh ip unshare nsenter openssl curl; do
    type -P "$program" >/dev/null || reason="$program is not installed"
  done
  PATH=$PATH:/usr/sbin type -P sshd >/dev/null || reason="sshd is not installed"
  /usr/bin/python3 -c 'import yaml' 2>/dev/null || reason="python3-yaml is not installed"
  if [[ -n $reason ]]; then
    echo "skipped: $reason"
    exit 0
  fi
  if [[ -z ${KHOROVOD:-} ]]; then
    cargo build --quiet --locked || exit
    KHOROVOD=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/khorovod
  fi
  runs=$(mktemp -d) || exit
  export KHOROVOD runs
  trap 'rm -rf "$runs"' EXIT
  all=("$@")
  (($#)) || mapfile -t all < <({ printf '%s\n' "${first[@]}"; declare -F | sed -n 's/^declare -f case_//p'; } | awk 'NF && !seen[$0]++')
  for name in "${all[@]}"; do
    declare -F "case_$name" >/dev/null || {
      echo "there is no case $name" >&2
      exit 1
    }
    # Runs here, because cases have no network access.
    if declare -F "prepare_$name" >/dev/null; then "prepare_$name" >&2; fi
  done
  # Every case has its own process, network and mount namespaces, which end with its first process.
  alone=(unshare --mount --net --pid --fork --kill-child --mount-proc "$here/run.sh" inside '{}')
  # Cases mostly wait, so four run in parallel. Their time limits assume a machine that is not busy: a case that fails while
  # others run gets one more attempt alone.
  printf '%s\n' "${all[@]}" | xargs -P 4 -I '{}' "${alone[@]}"
  [[ -e $runs/failed ]] || exit 0
  mapfile -t again <"$runs/failed"
  echo "again, one at a time: ${again[*]}"
  (cd "$runs" && rm -rf failed "${again[@]}")
  printf '%s\n' "${again[@]}" | xargs -P 1 -I '{}' "${alone[@]}"
  exit
fi

title=$2 failed='' skipped=''
work=$runs/$title
mkdir -p "$work" && mount -t tmpfs run /run && mkdir /run/netns || exit
# Prints the output of a case in one piece at its end, because other cases print too; also if the case was interrupted.
report() {
  if [[ -n $skipped ]]; then
    echo "skipped $title: $skipped"
  elif [[ -z $failed ]]; then
    echo "ok $title ($SECONDS s)"
  else
    tail -n 40 "$work"/*.log
    echo "FAILED $title: $failed"
    echo "$title" >>"$runs/failed"
    exit 1
  fi
}
failed="broke off"
trap report EXIT
trap 'failed+="; out of time"; exit' TERM
(sleep "${CASE_LIMIT:-300}" && kill $$) &
exec 2>"$work/case.log"
"case_$title"
failed=${failed#broke off}
