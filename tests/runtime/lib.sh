#!/bin/bash
# What cases are written with. Sourced. README.md has a list.
# shellcheck disable=SC2034,SC2154 # `here` and `work` are set by run.sh; `failed`, `skipped` and `first` are read there

fail() { failed+="; $*"; }

# skip REASON: for what a machine may lack.
skip() { skipped=$*; }

# takes_a_minute CASE: it goes among the first, so that it is not alone at the end.
first=()
takes_a_minute() { first+=("$1"); }

# image PART LINE...: what the image of all pods is made of: root, layers, mount, env, prepare.
image() {
  mkdir -p "$work/image"
  printf '%s\n' "${@:2}" >>"$work/image/$1"
}

# kube METHOD PATH [BODY]: as an admin of the cluster.
kube() {
  curl -sS -f -m 20 --cacert "$work/ca.crt" -H 'Authorization: Bearer admin' -X "$1" ${3:+--data-binary "$3"} \
    "https://10.88.255.254:6443$2"
}
batch=/apis/batch/v1/namespaces/team-a apps=/apis/apps/v1/namespaces/team-a core=/api/v1/namespaces/team-a

# start ARGUMENT...: a cluster, and in it what `khorovod render ARGUMENT...` says.
start() {
  cluster
  apply "$@"
}

cluster() { [[ -e $work/ca.crt ]] || "$here/pods/start" "$work" || fail "no cluster"; }

# label NAME: of the objects; one that begins with a digit stands in quotes.
label() { sed -n "s/^    khorovod.dev\/$1: //p" "$work/objects.yaml" | head -n 1 | tr -d '"'; }

# apply ARGUMENT...: as `khorovod render ARGUMENT... | kubectl apply -f -`. Sets `job` and `run`.
apply() {
  "$KHOROVOD" render -q --ssh-seed examples/ssh.seed "$@" >"$work/objects.yaml" || fail "not rendered: $*"
  job=$(label job) run=$(label run)
  kube POST /apply "@$work/objects.yaml" >/dev/null || fail "not applied: $*"
}

# spec COMMAND [LINE...]: writes job.yaml, in which two workers have two ranks each that run COMMAND
# under bash. LINEs are more of the spec, `workers:` among them if they differ.
spec() {
  {
    printf 'apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n  image: image:1\n'
    # shellcheck disable=SC2001 # of every line
    [[ -z $1 ]] || { echo '  command: |-' && sed 's/^/    /' <<<"$1"; }
    [[ " ${*:2}" == *" workers:"* ]] || echo '  workers: {replicas: 2, slots: 2}'
    (($# == 1)) || printf '  %s\n' "${@:2}"
  } >"$work/job.yaml"
}

# train COMMAND [LINE...]: starts the job of such a spec in namespace team-a.
train() {
  spec "$@"
  start -n team-a "$work/job.yaml"
}

# said POD TEXT...: PODs are launcher, worker-0, 0 of an Indexed Job, and events of the cluster.
said() {
  local text
  for text in "${@:2}"; do grep -qF -- "$text" "$work/$1.log" || fail "$1 did not say: $text"; done
}

# wait_for POD TEXT [SECONDS]: until it has said so.
wait_for() {
  local tries
  for ((tries = 0; tries < ${3:-40} * 5; tries++)); do
    grep -qF -- "$2" "$work/$1.log" 2>/dev/null && return
    sleep 0.2
  done
  fail "$1 did not say in time: $2"
  return 1
}

# expect CODE TEXT...: waits for the job's end; its launcher must have ended so and said that.
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
  said "$launcher" "${@:2}"
}

# released: the launcher has scaled its workers to 0.
released() {
  [[ $(kube GET "$apps/statefulsets/$job-$run-worker/scale") == *'"spec": {"replicas": 0}'* ]] || fail "the workers stay"
}

# lasted LESS SINCE WHAT: whether SECONDS have gone on for no longer since then.
lasted() { ((SECONDS - $2 < $1)) || fail "$3 took $((SECONDS - $2)) s"; }

# Faults and changes.

# kill_pod POD [SIGNAL]: its first process, by SIGKILL: as the kernel does for want of memory.
kill_pod() { kill "-${2:-KILL}" "$(<"$work/pods/$1/pid")"; }

# delete_pod POD [GRACE]: as kubectl does. evict_pod: as a drained node does.
delete_pod() { kube DELETE "$core/pods/$1" "${2:+{\"gracePeriodSeconds\": $2\}}" >/dev/null; }
evict_pod() { kube DELETE "$core/pods/$1" '{"disrupted": true}' >/dev/null; }
delete_job() { kube DELETE "$batch/jobs/$job-$run-launcher" >/dev/null; }

# cut_network POD, mend_network POD: as a node that falls silent, and comes back.
cut_network() { nsenter --target "$(<"$work/pods/$1/pid")" --net ip link set eth0 "${2:-down}"; }
mend_network() { cut_network "$1" up; }

# scale REPLICAS: as kubectl does with the workers.
scale() { kube PATCH "$apps/statefulsets/$job-$run-worker/scale" "{\"spec\":{\"replicas\":$1}}" >/dev/null; }

# set_current KEY VALUE: an edit of ConfigMap J-current.
set_current() { kube PATCH "$core/configmaps/$job-current" "{\"data\":{\"$1\":\"$2\"}}" >/dev/null; }

# inside_pod POD COMMAND...: as `kubectl exec`.
inside_pod() {
  local pid environment
  pid=$(<"$work/pods/$1/pid")
  mapfile -d '' -t environment <"/proc/$pid/environ"
  nsenter --target "$pid" --mount --uts --ipc --net --pid --root --wd setpriv --reuid "$(stat -c %u "/proc/$pid")" \
    --regid "$(stat -c %g "/proc/$pid")" --clear-groups --no-new-privs env -i "${environment[@]}" "${@:2}"
}

# A training that says so once its ranks are up: `up 3`.
# shellcheck disable=SC2016 # for the ranks
endless='echo up $OMPI_COMM_WORLD_RANK; sleep 300'

# memory POD: what its processes hold of the machine's memory, in KiB.
memory() {
  nsenter --target "$(<"$work/pods/$1/pid")" --mount --pid --root bash -c 'cat /proc/[0-9]*/smaps_rollup' 2>/dev/null |
    awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'
}
