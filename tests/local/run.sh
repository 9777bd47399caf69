#!/bin/bash
# Tests of `khorovod run --local`: jobs on this machine as a user without rights. The kernel gives each pod its namespaces.
#
#   tests/local/run.sh [CASE...]
#
# As root, the jobs run as user 65534. Without an MPI, sshd or namespaces no case runs, and the exit code is 77.
# shellcheck disable=SC2317 # cases are called by their names
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

if [[ -z ${KHOROVOD:-} ]]; then
  cargo build --quiet --locked || exit
  KHOROVOD=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/khorovod
fi
as_user=()
((UID)) || as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
reason=''
for program in mpirun ssh unshare setpriv hostname; do
  type -P "$program" >/dev/null || reason="$program is not installed"
done
PATH=$PATH:/usr/sbin type -P sshd >/dev/null || reason="sshd is not installed"
"${as_user[@]}" unshare --user --map-root-user --mount --pid --fork --mount-proc true 2>/dev/null ||
  reason="users cannot create namespaces on this machine"
[[ -z $reason ]] || exec tests/note.sh left-out "$reason"

# The user reads neither this folder nor the home folder of root. /tmp is hidden in pods, /var/tmp is not.
work=$(mktemp -d /var/tmp/khorovod-test-XXXXXX) || exit
trap 'rm -rf "$work"' EXIT
install -m 0755 "$KHOROVOD" "$work/khorovod"
cp examples/cpu/job.yaml tests/runtime/sum.py "$work"
mkdir "$work/temporary" "$work/home" "$work/jobs"
((UID)) || chown 65534 "$work"/{temporary,home,jobs}
chmod 0755 "$work"

failed=''
fail() { failed+="; $*"; }

# spec COMMAND [LINE...]: writes jobs/job.yaml with two workers of one rank each that run COMMAND in bash.
spec() {
  {
    printf 'apiVersion: khorovod.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: mnist}\nspec:\n  image: image:1\n  command: |-\n'
    # shellcheck disable=SC2001 # applies to every line
    sed 's/^/    /' <<<"$1"
    [[ " ${*:2}" == *" workers:"* ]] || echo '  workers: {replicas: 2, slotsPerWorker: 1}'
    (($# == 1)) || printf '  %s\n' "${@:2}"
  } >"$work/jobs/job.yaml"
}

# start ARGUMENT...: starts `khorovod run --local` as the user, in the folder jobs, and sets `started` to its process id. Its output is in
# `out`. `with` has more variables. Bash lets background processes ignore Ctrl-C, which Python changes back.
with=()
start() {
  : >"$work/out"
  (
    cd "$work/jobs" || exit
    exec "${as_user[@]}" env -i PATH="$PATH" HOME="$work/home" TMPDIR="$work/temporary" "${with[@]}" /usr/bin/python3 -c \
      'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
      "$work/khorovod" run --local "$@"
  ) >"$work/out" 2>&1 </dev/null &
  started=$!
}

# finish: waits for the end of what was started, at most four minutes. Sets `code`.
finish() {
  local tries
  for ((tries = 0; tries < 2400; tries++)); do
    kill -0 "$started" 2>/dev/null || break
    sleep 0.1
  done
  ((tries < 2400)) || { fail "still runs after four minutes" && kill -KILL "$started"; }
  wait "$started"
  code=$?
} 2>/dev/null

# run ARGUMENT...: runs a job to its end. Sets `code`.
run() {
  start "$@"
  finish
}

# expect CODE TEXT...: checks the exit code and the output of the last run, and that its processes and folders are gone.
expect() {
  local text
  [[ $code == "$1" ]] || fail "the exit code is $code, not $1"
  for text in "${@:2}"; do grep -qF -- "$text" "$work/out" || fail "not printed: $text"; done
  nothing_left
}

# Checks that no process and no folder of a run is left.
nothing_left() {
  local tries file
  for ((tries = 0; tries < 50; tries++)); do
    [[ -n $(find "$work/temporary" -mindepth 1 -maxdepth 1) || -n $(processes) ]] || return
    sleep 0.1
  done
  file=$(processes)
  fail "left: $(ls "$work/temporary") $file"
}

# The processes that work in the folder of the test, by their command lines and variables.
processes() {
  local folder
  for folder in /proc/[0-9]*; do
    if tr '\0' ' ' <"$folder/cmdline" | grep -F "$work/temporary"; then :; fi
    if [[ ${folder#/proc/} != "$$" ]] && tr '\0' '\n' <"$folder/environ" | grep -qF "TMPDIR=$work/temporary"; then echo "$folder"; fi
  done 2>/dev/null
}

# wait_for TEXT COUNT: waits until the running command has printed a text so often.
wait_for() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    (($(grep -cF -- "$1" "$work/out") < $2)) || return 0
    sleep 0.1
  done
  fail "not printed $2 times: $1"
}

case_trains() {
  local rank
  run "$work/job.yaml"
  expect 0 "3 of 3 workers answer" "on 3 hosts for 6 ranks" "khorovod: trained" "hello: trained in"
  for rank in {0..5}; do
    grep -qE "rank $rank of 6 on hello-[a-z0-9]+-worker-$((rank / 2))" "$work/out" || fail "rank $rank does not run on worker $((rank / 2))"
  done
}

case_fewer_workers() {
  run --workers 1 "$work/job.yaml"
  expect 0 "1 of 3 workers, because of --workers" "on 1 hosts for 2 ranks" "rank 1 of 2 on"
}

# A job of one pod, which launches and trains.
# shellcheck disable=SC2016 # for the ranks
case_one_worker() {
  spec 'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE on $HOSTNAME"' 'workers: {replicas: 1, slotsPerWorker: 2}' \
    'launcher: {kind: mpirun, runsIn: firstWorker}'
  run
  expect 0 "on 1 hosts for 2 ranks" "rank 1 of 2 on mnist-" "mnist: trained in"
}

# shellcheck disable=SC2016 # for the ranks
case_fails() {
  spec '((OMPI_COMM_WORLD_RANK != 1)) || exit 7; sleep 20' 'lifecycle: {retries: 1}'
  run
  expect 42 "attempt 1 of 2 failed: training ended with code 7" "failed after 2 attempts; the last: training ended with code 7" \
    "the launcher ended with code 42"
  compgen -G "$work/home/.local/state/khorovod/local/logs/mnist-*/*-worker-1.log" >/dev/null || fail "no log of the workers is kept"
}

case_wrong_world() {
  spec true 'launcher: {kind: mpirun, args: [--map-by, "ppr:2:node:OVERSUBSCRIBE"]}' 'lifecycle: {retries: 0}'
  run
  expect 42 "wrong world"
}

# A pod has its own process ids and its own /tmp, and the folder in which the user works.
# shellcheck disable=SC2016 # for the ranks
case_pods_are_separate() {
  spec 'echo "pid 1 is $(tr "\0" " " </proc/1/cmdline) in $PWD with HOME $HOME as $(id -un)"; : >/tmp/mine; echo files $(ls /tmp)' \
    'security: {runAsUser: 1234}' 'lifecycle: {retries: 0}'
  run
  expect 0 "pid 1 is /bin/bash /etc/khorovod/scripts/worker.sh  in $work/jobs with HOME /tmp as khorovod" "files mine"
}

# shellcheck disable=SC2016 # for the ranks
case_volumes() {
  spec 'date >/data/$OMPI_COMM_WORLD_RANK; cat /code/given; echo "$TOKEN"; touch /code/given && echo writable' \
    'storage: [{name: data, mountPath: /data, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}, {name: code, mountPath: /code, readOnly: true, existingClaim: c}]' \
    'env: {TOKEN: {secretKeyRef: {name: s, key: k}}}' 'lifecycle: {retries: 0}'
  mkdir "$work/given" && echo from-a-folder >"$work/given/given" && chmod -R 0777 "$work/given"
  run
  expect 3 "the variable TOKEN comes from the Secret s, which only the cluster has; set TOKEN in your shell"
  with=(TOKEN=from-the-shell)
  run --volume "code=$work/given"
  expect 42 "from-a-folder" "from-the-shell" "/data is the folder $work/home/.local/state/khorovod/local/mnist-data, which stays"
  [[ -s $work/home/.local/state/khorovod/local/mnist-data/1 ]] || fail "the data is lost"
  grep -q "touch: .*: Read-only file system" "$work/out" || fail "the volume is writable"
}

# shellcheck disable=SC2016 # for the ranks
endless='trap "echo saved $OMPI_COMM_WORLD_RANK; exit" TERM; echo up $OMPI_COMM_WORLD_RANK; while :; do sleep 0.1; done'

# ends SIGNAL CODE TEXT...: signals the command while its ranks run.
ends() {
  spec "$endless"
  start
  wait_for ">:up" 2
  kill "-$1" "$started"
  finish
  expect "${@:2}"
}

case_ctrl_c() { ends INT 130 "saved 0" "saved 1" "the ranks get the signal"; }
case_is_killed() { ends KILL 137; }

case_lost_worker() {
  spec "$endless" 'lifecycle: {retries: 0}'
  start
  wait_for ">:up" 2
  kill_worker 1
  finish
  expect 42 "worker-1 ended with code 137" "lost worker mnist-"
}

# kill_worker INDEX: kills the first process of a worker. Its host name is in its environment, and its root is in the folder of the test.
kill_worker() {
  local folder shell script
  for folder in /proc/[0-9]*; do
    { IFS= read -r -d '' shell && IFS= read -r -d '' script; } <"$folder/cmdline" || continue
    [[ "$shell $script" == "/bin/bash /etc/khorovod/scripts/worker.sh" ]] || continue
    grep -qz "^HOSTNAME=mnist-.*-worker-$1$" "$folder/environ" || continue
    grep -qF " $work/temporary/" "$folder/mountinfo" || continue
    [[ $(awk '/^NSpid:/ { print $NF }' "$folder/status") != 1 ]] || kill -KILL "${folder#/proc/}"
  done 2>/dev/null
}

# sum_spec: writes a spec whose ranks add their numbers with Open MPI.
sum_spec() {
  cat >"$work/sum_mpi.py" <<END
import ctypes
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
world, integer, add = (ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_" + name)) for name in ("comm_world", "int", "op_sum"))
mpi.MPI_Init(None, None)
rank, total = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Allreduce(ctypes.byref(rank), ctypes.byref(total), 1, integer, add, world)
print(f"rank {rank.value} has the sum {total.value}", flush=True)
mpi.MPI_Finalize()
END
  spec "exec python3 $work/sum_mpi.py" 'workers: {replicas: 2, slotsPerWorker: 2}' 'lifecycle: {retries: 0}'
}

case_communicates() {
  sum_spec
  run
  expect 0 "rank 0 has the sum 6" "rank 3 has the sum 6"
}

# Also on a machine that has only the loopback interface.
case_without_network() {
  type -P ip >/dev/null || { tests/note.sh partly "local run without a network: ip is not installed" && return; }
  sum_spec
  (
    cd "$work/jobs" || exit
    "${as_user[@]}" unshare --user --map-root-user --net env HOME="$work/home" TMPDIR="$work/temporary" PATH="$PATH:/usr/sbin:/sbin" \
      /bin/bash -c 'ip link set lo up; exec "$@"' - "$work/khorovod" run --local
  ) >"$work/out" 2>&1
  code=$?
  expect 0 "rank 0 has the sum 6" "rank 3 has the sum 6"
}

case_machine_lacks() {
  local programs=$work/programs
  mkdir "$programs"
  ln -s /usr/bin/* "$programs" 2>/dev/null
  rm -f "$programs/mpirun" "$programs/python3"
  with=("PATH=$programs")
  run "$work/job.yaml"
  expect 3 "mpirun is not installed: install the package openmpi-bin" "the command python3 is not on this machine"
  with=("CUDA_VISIBLE_DEVICES=0,1,2")
  run "$work/job.yaml" --set workers.gpus=2
  expect 3 "it needs 6 GPUs (nvidia.com/gpu), and this machine has 3: use --workers 1"
}

# Prints the pods, the folders and the command, and leaves nothing.
case_dry_run() {
  spec 'echo "it is up"' 'workers: {replicas: 2, gpus: 2, slotsPerWorker: 1}' \
    'storage: [{name: data, mountPath: /data, claim: {size: 1Gi, accessModes: [ReadWriteMany]}}]'
  with=("CUDA_VISIBLE_DEVICES=4,5,6,7")
  run --dry-run
  expect 0 "mnist would start 3 pods on this machine:" "-worker-0: worker.sh, with the GPUs 4,5" "-worker-1: worker.sh, with the GPUs 6,7" \
    "-launcher: launcher.sh" "/data would be the folder $work/home/.local/state/khorovod/local/mnist-data" \
    "the training would start with: mpirun -np 2 " "bash -c 'echo \"it is up\"'"
  [[ ! -e $work/home/.local/state/khorovod/local/mnist-data ]] || fail "it created a folder"
  run --dry-run --set workers.gpus=8
  expect 3 "it needs 16 GPUs (nvidia.com/gpu), and this machine has 4"
}

# shellcheck disable=SC2016 # for the ranks
case_gpus() {
  spec 'echo "rank $OMPI_COMM_WORLD_RANK has $CUDA_VISIBLE_DEVICES"' 'workers: {replicas: 2, gpus: 2, slotsPerWorker: 1}'
  with=("CUDA_VISIBLE_DEVICES=4,5,6,7")
  run
  expect 0 "rank 0 has 4,5" "rank 1 has 6,7"
}

case_no_namespaces() {
  (
    cd "$work/jobs" || exit
    # The limit applies below this namespace only.
    "${as_user[@]}" unshare --user --map-root-user --mount --pid --fork --mount-proc env HOME="$work/home" TMPDIR="$work/temporary" \
      /bin/bash -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' - "$work/khorovod" run --local "$work/job.yaml"
  ) >"$work/out" 2>&1
  code=$?
  expect 3 "this machine does not let you create namespaces" "sudo sysctl -w user.max_user_namespaces"
}

case_torchrun() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { tests/note.sh partly "local torchrun: no python3-torch" && return; }
  # Debian 12's torch 1.13 fails with Debian's Python unless PET_TEE and PET_REDIRECTS are set like this.
  spec "exec python3 $work/sum.py" 'workers: {replicas: 2, slotsPerWorker: 2}' 'launcher: torchrun' \
    'env: {PET_TEE: "1", PET_REDIRECTS: "7:1", WANTED: "4"}' 'lifecycle: {retries: 0}'
  run
  expect 0 "[0] " "[1] " "rank 0 of 4 on mnist-" "rank 2 of 4 on mnist-" "sum 6" "khorovod: trained"
  spec "exit 9" 'launcher: torchrun' 'env: {PET_TEE: "1", PET_REDIRECTS: "7:1"}' 'lifecycle: {retries: 0}'
  run
  expect 42 "failed after 1 attempt"
}

# The script of docs/many-nodes.md after its diff for torchrun. A second run finds the checkpoint of the first.
case_many_nodes() {
  /usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || { tests/note.sh partly "script of docs/many-nodes.md: no python3-torch" && return; }
  patch --quiet --output "$work/train.py" docs/many-nodes/train.py docs/many-nodes/torchrun.diff && chmod 0644 "$work/train.py"
  cp docs/many-nodes/torchrun.yaml "$work"
  local job=("$work/torchrun.yaml" --set 'spec.workers={replicas: 2, slotsPerWorker: 1}' --set "spec.command=[/usr/bin/python3, $work/train.py]"
    --set 'spec.env.PET_TEE="1"' --set 'spec.env.PET_REDIRECTS="7:1"' --set spec.lifecycle.retries=0)
  run "${job[@]}"
  expect 0 "epoch 1/5: loss" "epoch 5/5: loss 0.00" "on 2 ranks" "khorovod: trained"
  [[ $(grep -c "epoch 5/5: loss" "$work/out") == 1 ]] || fail "not only rank 0 prints the loss"
  run "${job[@]}" --set 'runTag="2"'
  expect 0 "khorovod: trained"
  ! grep -q "epoch ./5: loss" "$work/out" || fail "the second run does not continue from the checkpoint"
}

if (($# == 1)); then
  declare -F "case_$1" >/dev/null || { echo "there is no case $1" >&2 && exit 1; }
  began=$SECONDS failed='' with=()
  "case_$1"
  if [[ -z $failed ]]; then
    echo "ok $1 ($((SECONDS - began)) s)"
    exit
  fi
  tail -n 40 "$work/out"
  echo "FAILED $1: ${failed#; }"
  exit 1
fi

# The longest case first.
all=("$@")
(($#)) || mapfile -t all < <({ echo torchrun; declare -F | sed -n 's/^declare -f case_//p'; } | awk '!seen[$0]++')
if [[ ${QUICK:-} && $# == 0 ]]; then
  # Two more jobs of torchrun, which load PyTorch six times.
  echo "only in make test-all: many_nodes"
  mapfile -t all < <(printf '%s\n' "${all[@]}" | grep -vx many_nodes)
fi
# many_nodes and torchrun use the same port.
xargs -P "$(nproc)" -n 1 tests/local/run.sh < <(printf '%s\n' "${all[@]}" | grep -vx many_nodes)
code=$?
if [[ " ${all[*]} " == *" many_nodes "* ]]; then tests/local/run.sh many_nodes || code=1; fi
exit "$code"
