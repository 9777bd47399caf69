#!/bin/bash
# Runs rendered jobs on this machine, each case in its own namespaces. See README.md.
#
#   tests/runtime/run.sh [CASE...]
#   QUICK=1 tests/runtime/run.sh                   without the cases that only `make test-all` runs
#   KEEP=FOLDER tests/runtime/run.sh [CASE...]     also stores the logs and the result of each case in FOLDER/CASE
#
# Needs root on Linux, an MPI and sshd. Without them no case runs, and the exit code is 77.
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
    exec tests/note.sh left-out "$reason"
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
  for name in "${first[@]}" "${variants[@]}"; do
    declare -F "case_$name" >/dev/null || {
      echo "takes_a_minute or only_in_test_all names $name, which is not a case" >&2
      exit 1
    }
  done
  if [[ ${QUICK:-} && $# == 0 && ${#variants[@]} -gt 0 ]]; then
    echo "only in make test-all: ${variants[*]}"
    mapfile -t all < <(printf '%s\n' "${all[@]}" | grep -vxF -f <(printf '%s\n' "${variants[@]}"))
  fi
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
  # Cases mostly wait, so four per CPU run at once. A time limit may be missed on a busy machine, so a case that fails beside
  # others runs once more by itself. tests/flakes.md lists the cases that may need this.
  code=0
  touch "$runs/.passed" "$runs/.skipped"
  printf '%s\n' "${all[@]}" | xargs -P $((4 * $(nproc))) -I '{}' "${alone[@]}"
  # Also a case that could not start: it has reported nothing.
  mapfile -t again < <(printf '%s\n' "${all[@]}" | grep -vxF -f "$runs/.passed")
  if ((${#again[@]})); then
    echo "again, one at a time: ${again[*]}"
    (cd "$runs" && rm -rf "${again[@]}")
    printf '%s\n' "${again[@]}" | xargs -P 1 -I '{}' "${alone[@]}"
    mapfile -t passed < <(printf '%s\n' "${again[@]}" | grep -xF -f "$runs/.passed")
    ((${#passed[@]} == ${#again[@]})) || code=1
    ((${#passed[@]} == 0)) || tests/note.sh second-try "$(basename "${CASES:-$here}")" "${passed[@]}" || code=1
  fi
  [[ ! -e $runs/.ok ]] || tests/results.py <"$runs/.ok"
  mapfile -t reasons <"$runs/.skipped"
  for reason in "${reasons[@]}"; do tests/note.sh partly "$reason"; done
  ((code || ${#reasons[@]} < ${#all[@]})) || code=77
  exit "$code"
fi

title=$2 failed='' skipped=''
work=$runs/$title
mkdir -p "$work" && mount -t tmpfs run /run && mkdir /run/netns || exit
# Prints the output of a case in one piece at its end, because other cases print too; also if the case was interrupted.
report() {
  if [[ -n ${KEEP:-} ]]; then
    mkdir -p "$KEEP/$title" && cp "$work"/*.log "$KEEP/$title/"
    cp "$work/facts" "$KEEP/$title/" 2>/dev/null
    printf '%s\n%s\n%s\n' "$SECONDS" "$skipped" "$failed" >"$KEEP/$title/result"
  fi
  if [[ -n $skipped ]]; then
    echo "$title: $skipped" >>"$runs/.skipped"
  elif [[ -z $failed ]]; then
    echo "ok $title ($SECONDS s)"
    grep -lE "^case_$title\(\)" "${CASES:-tests/runtime/cases}"/*.sh | sed "s/$/ $title/" >>"$runs/.ok"
  else
    tail -n 40 "$work"/*.log
    echo "FAILED $title: $failed"
    exit 1
  fi
  echo "$title" >>"$runs/.passed"
}
failed="broke off"
trap report EXIT
trap 'failed+="; out of time"; exit' TERM
timer=''
allow "${CASE_LIMIT:-300}"
exec 2>"$work/case.log"
"case_$title"
failed=${failed#broke off}
