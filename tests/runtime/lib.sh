#!/bin/bash
# Functions for cases; README.md lists them. Sourced.
# shellcheck disable=SC2034,SC2154 # `here` and `work` are set by run.sh; `failed`, `skipped`, `first` and `variants` are read there

fail() { failed+="; $*"; }

# skip REASON: skips a case if the machine lacks something.
skip() { skipped=$*; }

# takes_a_minute CASE: starts this case early, so that it does not run alone at the end.
first=()
takes_a_minute() { first+=("$1"); }

# allow SECONDS: sets the time limit of this case, from now on.
allow() {
  [[ -z $timer ]] || kill -KILL "$timer"
  # shellcheck disable=SC2016 # for the other shell, which has no traps
  bash -c 'sleep "$1" && kill "$2"' timer "$1" $$ &
  timer=$!
  disown
}

# only_in_test_all CASE...: with QUICK=1, these cases do not run. Another case tests the same part of khorovod with another MPI, launcher,
# framework or shape of job, or the case needs a minute for what a unit test or another fault also reaches.
variants=()
only_in_test_all() { variants+=("$@"); }

# image PART LINE...: changes the image of all pods. PART is root, layers, mount, env or prepare.
image() {
  mkdir -p "$work/image"
  printf '%s\n' "${@:2}" >>"$work/image/$1"
}

# kube METHOD PATH [BODY]: calls the API server as an administrator.
kube() {
  curl -sS -f -m 20 --cacert "$work/ca.crt" -H 'Authorization: Bearer admin' -X "$1" ${3:+--data-binary "$3"} \
    "https://10.88.255.254:6443$2"
}
batch=/apis/batch/v1/namespaces/team-a apps=/apis/apps/v1/namespaces/team-a core=/api/v1/namespaces/team-a

# start ARGUMENT...: starts a cluster with the objects of `khorovod render ARGUMENT...`.
start() {
  cluster
  apply "$@"
}

cluster() { [[ -e $work/ca.crt ]] || "$here/pods/start" "$work" || fail "no cluster"; }

# label NAME: prints the value of a label of the objects. YAML quotes a value that begins with a digit.
label() { sed -n "s/^    khorovod.dev\/$1: //p" "$work/objects.yaml" | head -n 1 | tr -d '"'; }

# apply ARGUMENT...: like `khorovod render ARGUMENT... | kubectl apply -f -`. Sets `job` and `run`.
apply() {
  "$KHOROVOD" render -q --ssh-seed examples/ssh.seed "$@" >"$work/objects.yaml" || fail "not rendered: $*"
  job=$(label job) run=$(label run)
  kube POST /apply "@$work/objects.yaml" >/dev/null || fail "not applied: $*"
}

# spec COMMAND [LINE...]: writes job.yaml with two workers of two ranks each that run COMMAND in bash. LINEs are added to the
# spec; a line `workers:` replaces the default.
spec() {
  {
    printf 'apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n  image: image:1\n'
    # shellcheck disable=SC2001 # applies to every line
    [[ -z $1 ]] || { echo '  command: |-' && sed 's/^/    /' <<<"$1"; }
    [[ " ${*:2}" == *" workers:"* ]] || echo '  workers: {replicas: 2, slotsPerWorker: 2}'
    (($# == 1)) || printf '  %s\n' "${@:2}"
  } >"$work/job.yaml"
}

# train COMMAND [LINE...]: starts a job with such a spec in namespace team-a.
train() {
  spec "$@"
  start -n team-a "$work/job.yaml"
}

# logged POD TEXT...: checks that a log contains the texts. POD is launcher, worker-0, 0 in an Indexed Job, or events.
logged() {
  local text
  for text in "${@:2}"; do grep -qF -- "$text" "$work/$1.log" || fail "$1 did not log: $text"; done
}

# wait_for POD TEXT [SECONDS]: waits until a log contains the text.
wait_for() {
  local tries
  for ((tries = 0; tries < ${3:-40} * 5; tries++)); do
    grep -qF -- "$2" "$work/$1.log" 2>/dev/null && return
    sleep 0.2
  done
  fail "$1 did not log in time: $2"
  return 1
}

# until_started POD TEXT [COUNT]: waits until ranks have printed a text COUNT times. On a busy machine they may load their libraries for
# minutes, so only the time limit of the case ends this, or the end of the job: a rank may fail before another has printed the text.
until_started() {
  echo "$SECONDS s: waiting for '$2' of pod $1" >&2
  until [[ -e $work/$1.log ]] && (($(grep -cF -- "$2" "$work/$1.log") >= ${3:-1})); do
    if [[ -s $work/jobs/$job-$run || -s $work/jobs/$job-$run-launcher ]]; then
      echo "$SECONDS s: the job has ended before pod $1 has printed '$2'" >&2
      return
    fi
    sleep 0.2
  done
  echo "$SECONDS s: pod $1 has printed '$2'" >&2
}

# expect CODE TEXT...: waits for the end of the job; checks the launcher's exit code and log.
expect() {
  local tries ended launcher=launcher name=$job-$run-launcher
  grep -q "^  name: $name$" "$work/objects.yaml" || launcher=0 name=$job-$run
  for ((tries = 0; tries < 600; tries++)); do
    [[ ! -s $work/jobs/$name ]] || break
    sleep 0.2
  done
  read -r ended code < <(cat "$work/jobs/$name" 2>/dev/null)
  [[ ${code:-} == "$1" ]] || fail "the launcher ended with ${code:-nothing}, not $1"
  case $ended,$1 in
  Complete,0 | Failed,4[234] | Deleted,*) ;;
  *) fail "the Job is $ended after $1" ;;
  esac
  ! grep -q "/etc/khorovod/scripts/.*: unbound variable" "$work"/*.log || fail "a script uses an unset variable"
  logged "$launcher" "${@:2}"
  [[ $ended != Failed ]] || sentence "$name" "$launcher"
}

# sentence JOB POD: compares the sentence of `khorovod status` about a failed job with that of the case in sentences.txt, where `…` is any
# text, RUN the run, and N s a time. Each case whose job fails must have one. With KHOROVOD_BLESS, it is written.
sentence() {
  local found wanted pattern
  [[ -z ${CASES:-} ]] || return 0
  found=$(WORK=$work JOB=$1 POD=$2 KUBECTL=$here/kubectl.py "$KHOROVOD" status "$job" -n team-a | head -n 1) || fail "no status"
  found=$(sed -E "s/^$job, run $run: //; s/$run/RUN/g; s/ \([0-9a-z ]+ ago\)$//; s/[0-9]+ s\b/N s/g; s/10\.88\.[0-9.]+/ADDRESS/g" <<<"$found")
  wanted=$(sed -n "s/^$title: //p" "$here/sentences.txt")
  pattern=$(sed 's/[][\.*^(){}?+|$]/\\&/g; s/…/.*/g' <<<"$wanted")
  grep -qxE -- "$pattern" <<<"$found" && return
  if [[ -n ${KHOROVOD_BLESS:-} ]]; then
    (
      flock 9
      rest=$(grep -v "^$title: " "$here/sentences.txt")
      printf '%s\n' "$rest" "$title: $found" | LC_ALL=C sort >"$here/sentences.txt"
    ) 9>"$runs/.sentences"
  else
    fail "sentences.txt has \"$wanted\", and khorovod status prints \"$found\""
  fi
}

# released: checks that the launcher has scaled its workers to 0.
released() {
  [[ $(kube GET "$apps/statefulsets/$job-$run-worker/scale") == *'"spec": {"replicas": 0}'* ]] || fail "the workers stay"
}

# lasted LESS SINCE WHAT: checks that at most LESS seconds have passed since SINCE.
lasted() { ((SECONDS - $2 < $1)) || fail "$3 took $((SECONDS - $2)) s"; }

# Failures and changes.

# kill_pod POD [SIGNAL]: signals the first process of a pod, by default with SIGKILL, as the kernel does if out of memory.
kill_pod() { kill "-${2:-KILL}" "$(<"$work/pods/$1/pid")"; }

# delete_pod POD [GRACE]: deletes a pod like kubectl. evict_pod: evicts it like a drained node.
delete_pod() { kube DELETE "$core/pods/$1" "${2:+{\"gracePeriodSeconds\": $2\}}" >/dev/null; }
evict_pod() { kube DELETE "$core/pods/$1" '{"disrupted": true}' >/dev/null; }
delete_job() { kube DELETE "$batch/jobs/$job-$run-launcher" >/dev/null; }

# cut_network POD, mend_network POD: disconnects a pod, and connects it again.
cut_network() { nsenter --target "$(<"$work/pods/$1/pid")" --net ip link set eth0 "${2:-down}"; }
mend_network() { cut_network "$1" up; }

# scale REPLICAS: scales the workers like kubectl.
scale() { kube PATCH "$apps/statefulsets/$job-$run-worker/scale" "{\"spec\":{\"replicas\":$1}}" >/dev/null; }

# set_current KEY VALUE: changes the ConfigMap J-current.
set_current() { kube PATCH "$core/configmaps/$job-current" "{\"data\":{\"$1\":\"$2\"}}" >/dev/null; }

# inside_pod POD COMMAND...: runs a command in a pod, like `kubectl exec`.
inside_pod() {
  local pid environment
  pid=$(<"$work/pods/$1/pid")
  mapfile -d '' -t environment <"/proc/$pid/environ"
  nsenter --target "$pid" --mount --uts --ipc --net --pid --root --wd setpriv --reuid "$(stat -c %u "/proc/$pid")" \
    --regid "$(stat -c %g "/proc/$pid")" --clear-groups --no-new-privs env -i "${environment[@]}" "${@:2}"
}

# parent_of POD NAME: prints the process id, in the pod, of the parent of its oldest process with this name.
# shellcheck disable=SC2016 # for the shell in the pod
parent_of() { inside_pod "$1" sh -c 'ps -o ppid= -p "$(pgrep -o -x "$0")"' "$2" | tr -d ' '; }

# kill_unnoticed POD NAME [OPTION...]: kills the processes of this name with `pkill`. Their parent, which would notice it, is stopped for
# three seconds, as on a busy host.
kill_unnoticed() {
  local parent
  parent=$(parent_of "$1" "$2")
  inside_pod "$1" kill -STOP "$parent"
  inside_pod "$1" pkill "${@:3}" -KILL -x "$2"
  sleep 3
  inside_pod "$1" kill -CONT "$parent"
}

# A training whose ranks log `up 3` when they have started.
# shellcheck disable=SC2016 # for the ranks
endless='echo up $OMPI_COMM_WORLD_RANK; sleep 300'
# The same, but on a host on which it has started before, it succeeds at once.
# shellcheck disable=SC2016 # for the ranks
endless_once='if [[ -e /tmp/again ]]; then exit; fi; sleep 1; touch /tmp/again; echo up $OMPI_COMM_WORLD_RANK; sleep 300'

# memory POD: prints how much memory the processes of a pod use, in KiB.
memory() {
  nsenter --target "$(<"$work/pods/$1/pid")" --mount --pid --root bash -c 'cat /proc/[0-9]*/smaps_rollup' 2>/dev/null |
    awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'
}

# trains_while_the_api_server_hangs LOG TEXT [LINE...]: waits for a text of a log, and then the API server hangs while a worker is lost.
# The launcher notices it as soon as ever, and the second attempt trains.
# shellcheck disable=SC2016 # the ranks expand it
trains_while_the_api_server_hangs() {
  local since
  train 'again=/tmp/again-$OMPI_COMM_WORLD_RANK; if [[ -e $again ]]; then sleep 15; exit; fi; touch $again; echo up $OMPI_COMM_WORLD_RANK; sleep 300' \
    'lifecycle: {retries: 1}' "${@:3}"
  wait_for launcher ":up 3" || return
  wait_for "$1" "$2"
  touch "$work/hangs"
  since=$SECONDS
  kill_pod worker-1
  wait_for launcher "attempt 1 of 2 failed" 20
  lasted 10 "$since" "failing"
  sleep 12
  rm "$work/hangs"
  expect 0 trained
}
