#!/bin/bash
# Launches over a tree of ssh sessions. Sourced. The jobs have few workers, so the settings of the tree are smaller too: with five
# workers and two per host, worker-0 starts worker-1, and worker-2 starts worker-3 and worker-4.
# shellcheck disable=SC2016,SC2154 # the pods expand; `work`, `job` and `run` come from lib.sh

# tree_job COMMAND [LINE...]: starts a job that is rendered for 70 workers, with five. `workers` has more settings of its workers.
tree_job() {
  spec "$1" "workers: {replicas: 70${workers:-}}" "${@:2}"
  cluster
  "$KHOROVOD" render -q --ssh-seed examples/ssh.seed -n team-a "$work/job.yaml" | sed \
    -e 's/^\( *\)np=70$/\1tree_from=2 tree_radix=2\n\1np=5/' -e 's/team_replicas=( 70 )/team_replicas=( 5 )/' \
    -e '/^ *launch=/s/ 70 / 5 /' -e 's/^\( *value: \)"70"$/\1"5"/' \
    -e 's/^\(  completions: \|  parallelism: \)70$/\15/' >"$work/objects.yaml"
  job=$(label job) run=$(label run)
  kube POST /apply "@$work/objects.yaml" >/dev/null || fail "not applied"
}

# count_sessions: the launcher counts its sessions. sessions_are NUMBER checks how many it has opened.
count_sessions() {
  image prepare '[[ $POD != launcher ]] || { mv usr/bin/ssh usr/bin/ssh.real; cat >usr/bin/ssh; chmod 755 usr/bin/ssh; } <<"END"' \
    '#!/bin/bash' '[[ $1 == -V ]] || echo "$@" >>/tmp/sessions' 'exec /usr/bin/ssh.real "$@"' END
}
sessions_are() {
  local opened
  opened=$(inside_pod launcher cat /tmp/sessions)
  (($(wc -l <<<"$opened") == $1)) || fail "the launcher has not opened $1 sessions: $opened"
}

# Each rank counts the sessions that its pod has opened.
counts='sleep 2; echo "$(hostname) of ${SLURM_JOBID:-no Slurm} started $(cat /proc/[0-9]*/comm | grep -cx ssh)"'

trains_over_a_tree() {
  local index started=(1 0 2 0 0)
  tree_job "$counts" "$@"
  expect 0 "${log:-the launch uses a tree of ssh sessions}" trained
  for index in 0 1 2 3 4; do
    logged launcher "$job-$run-worker-$index of no Slurm started ${started[index]}"
  done
  released
}
only_in_test_all tree_open_mpi_4 tree_intel_mpi tree_deepspeed_open_mpi tree_deepspeed_intel_mpi tree_loses_an_mpi_daemon_of_open_mpi_5
case_tree_open_mpi_4() { trains_over_a_tree; }
prepare_tree_open_mpi_5() { make_images openmpi5; }
case_tree_open_mpi_5() {
  use_image openmpi5
  trains_over_a_tree
}
prepare_tree_mpich() { make_images mpich; }
case_tree_mpich() {
  use_image mpich
  trains_over_a_tree 'launcher: {kind: mpirun, mpi: mpich}'
}
prepare_tree_intel_mpi() { make_images intelmpi; }
case_tree_intel_mpi() {
  use_image intelmpi
  trains_over_a_tree 'launcher: {kind: mpirun, mpi: intelmpi}'
}

# deepspeed and horovodrun call mpirun.
deepspeed_over_a_tree() {
  log="mpirun uses a tree of ssh sessions, if deepspeed calls it" \
    trains_over_a_tree "launcher: {kind: deepspeed, mpi: $1}" 'env: {DS_ACCELERATOR: cpu}' 'workingDir: /tmp'
}
prepare_tree_deepspeed_open_mpi() { make_images openmpi4; }
case_tree_deepspeed_open_mpi() {
  use_image openmpi4
  deepspeed_over_a_tree openmpi
}
prepare_tree_deepspeed_mpich() { make_images openmpi4 mpich; }
case_tree_deepspeed_mpich() {
  use_image openmpi4 mpich
  deepspeed_over_a_tree mpich
}
prepare_tree_deepspeed_intel_mpi() { make_images openmpi4 intelmpi; }
case_tree_deepspeed_intel_mpi() {
  use_image openmpi4 intelmpi
  deepspeed_over_a_tree intelmpi
}
prepare_tree_horovodrun_by_mpi() { make_horovod; }
only_in_test_all tree_horovodrun_by_mpi
case_tree_horovodrun_by_mpi() {
  use_horovod
  log="mpirun uses a tree of ssh sessions, if horovodrun calls it" trains_over_a_tree 'launcher: horovodrun'
}

# horovodrun_opens SESSIONS LINE...: checks how many sessions the launcher opens until all ranks run. Two are for horovodrun's test of ssh.
horovodrun_opens() {
  use_horovod
  count_sessions
  tree_job 'echo up ${OMPI_COMM_WORLD_RANK:-$HOROVOD_RANK}; sleep 300' 'lifecycle: {retries: 0}' 'collective: {interface: eth0}' "${@:2}"
  wait_for launcher "up 4" 60 || return
  sessions_are "$1"
  delete_job
  wait_for launcher "received SIGTERM"
}
prepare_tree_horovodrun_sessions() { make_horovod; }
only_in_test_all tree_horovodrun_sessions
case_tree_horovodrun_sessions() { horovodrun_opens 4 'launcher: horovodrun'; }
# With Gloo, each rank needs a session of the launcher.
prepare_tree_horovodrun_by_gloo() { make_horovod; }
only_in_test_all tree_horovodrun_by_gloo
case_tree_horovodrun_by_gloo() {
  horovodrun_opens 7 'launcher: {kind: horovodrun, args: [--gloo]}'
  ! grep -q "a tree of ssh sessions" "$work/launcher.log" || fail "it claims to use a tree"
}
# The test of ssh still finds a worker that cannot be logged in to.
prepare_tree_horovodrun_finds_an_impostor() { make_horovod; }
case_tree_horovodrun_finds_an_impostor() {
  use_horovod
  impostor
  tree_job 'echo trained with it' 'lifecycle: {retries: 0}' 'launcher: horovodrun'
  expect 42 "Host key verification failed"
  ! grep -q ">:trained with it" "$work/launcher.log" || fail "the impostor was taken for a worker"
  released
}

# The programs that a script calls do not run in a Slurm job. The two sweeps after its failure use the tree.
case_tree_shell() {
  count_sessions
  tree_job 'echo "in ${SLURM_JOBID:-no Slurm}: $(cat /tmp/sessions | wc -l)"; mpirun hostname
    [[ -e /tmp/again ]] || { touch /tmp/again; exit 3; }' 'launcher: shell' 'lifecycle: {retries: 1}'
  # Five sessions of mpirun, and two of each sweep.
  expect 0 "in no Slurm: 0" "attempt 1 of 2 failed" "in no Slurm: 9" trained
  released
}

# The checks of a health check, one of which finds a fault, use the tree. The worker that replaces that one is checked by itself.
case_tree_checks_health() {
  local workers=', healthCheck: {policy: Always, command: "[[ $HOSTNAME != *-worker-3 ]]"}'
  count_sessions
  tree_job 'echo up $OMPI_COMM_WORLD_RANK; sleep 300' 'lifecycle: {retries: 0}'
  wait_for launcher "up 4" || return
  logged launcher "health check of $job-$run-worker-3.$job on node 10.88." ": the command of workers.healthCheck ended with code 1" \
    "$job-$run-worker-5.$job takes the place of $job-$run-worker-3.$job"
  # Two for the checks, one for the new worker, and two for the launch.
  sessions_are 5
  delete_job
  wait_for launcher "received SIGTERM"
}

# A worker that cannot start others: the launcher checks these itself, and the launch uses no tree.
case_tree_checks_health_without_ssh() {
  local workers=', healthCheck: {policy: Always}'
  image prepare '[[ $POD != worker-2 ]] || rm usr/bin/ssh'
  tree_job 'echo "$(hostname) trains"' 'lifecycle: {retries: 0}'
  expect 0 "the tree of ssh sessions could not be used" "worker-4 trains" trained
  ! grep -q "health check of" "$work/launcher.log" || fail "a host fails the health check"
  released
}

# stalls_over_a_tree SESSIONS COMMAND...: all ranks wait. Runs the command. The launcher opens this number of sessions to ask what they do.
stalls_over_a_tree() {
  tree_job 'echo up $OMPI_COMM_WORLD_RANK; exec sleep 300' 'lifecycle: {retries: 0, stall: {timeout: 15s, action: report}}'
  wait_for launcher "up 4" || return
  "${@:2}"
  wait_for launcher "asking all hosts what their ranks are doing" 60 || return
  wait_for launcher "  5 ranks " 40
  # Two for the launch, and those of the report.
  sessions_are "$((2 + $1))"
  delete_job
  wait_for launcher "received SIGTERM"
}
takes_a_minute tree_stall
case_tree_stall() {
  count_sessions
  stalls_over_a_tree 2 :
}

# A worker that starts two others cannot do it any more: the launcher asks these itself.
takes_a_minute tree_stall_below_a_broken_worker
case_tree_stall_below_a_broken_worker() {
  count_sessions
  image prepare '[[ $POD != worker-2 ]] || { mv usr/bin/ssh usr/bin/ssh.real; cat >usr/bin/ssh; chmod 755 usr/bin/ssh; } <<"END"' \
    '#!/bin/bash' '[[ ! -e /tmp/broken ]] || exit 255' 'exec /usr/bin/ssh.real "$@"' END
  stalls_over_a_tree 4 inside_pod worker-2 touch /tmp/broken
}

# A worker invents answers of other hosts to the commands of the launcher.
takes_a_minute tree_distrusts_output
case_tree_distrusts_output() {
  local workers=', healthCheck: {policy: Always}'
  image prepare '[[ $POD != worker-2 ]] || { mv usr/bin/ssh usr/bin/ssh.real; cat >usr/bin/ssh; chmod 755 usr/bin/ssh; } <<"END"' '#!/bin/bash' \
    'printf "%s\n" "checked x[\$(touch /tmp/owned)]" "x[\$(touch /tmp/owned)] end" "../../../../tmp/owned note owned" "unfit ../../x owned" " owned"' \
    'echo yes >>/tmp/ran' 'exec /usr/bin/ssh.real "$@"' END
  tree_job 'echo up $OMPI_COMM_WORLD_RANK; exec sleep 300' 'lifecycle: {retries: 0, stall: {timeout: 15s, action: report}}'
  wait_for launcher "  5 ranks " 90 || return
  [[ -n $(inside_pod worker-2 cat /tmp/ran) ]] || fail "the worker has invented nothing"
  ! inside_pod launcher test -e /tmp/owned || fail "the launcher executed or wrote what a worker has sent"
  ! grep -q owned "$work/launcher.log" || fail "the launcher logs what a worker has sent about other hosts"
  delete_job
  wait_for launcher "received SIGTERM"
}

# Index 0 is a host too, and mpirun starts its ranks itself: index 1 starts 2, and 3 starts 4. The sessions of index 0 are not counted,
# because its program has another name.
case_tree_in_one_job() {
  local index started=(0 1 0 1 0)
  tree_job "$counts" 'launcher: {kind: mpirun, runsIn: firstWorker}'
  expect 0 "the launch uses a tree of ssh sessions" trained
  for index in 0 1 2 3 4; do
    logged 0 "$job-$run-$index of no Slurm started ${started[index]}"
  done
}

# Tries what a worker can do with all that it has: an order of the launcher, and the host key.
case_tree_obeys_only_the_launcher() {
  local order refused
  tree_job 'echo up $OMPI_COMM_WORLD_RANK; sleep 300' 'lifecycle: {retries: 0}'
  wait_for launcher "up 4" || return
  # from_worker COMMAND <INPUT: opens a session to worker-3 from worker-0, as order.sh does.
  from_worker() {
    inside_pod worker-0 /bin/bash -c '. /etc/khorovod/scripts/job.sh; cd /horovod/generated/keys
      exec ssh -F /etc/khorovod/scripts/ssh_config -i host_key -o UserKnownHostsFile=relays_hosts -p $port -l $user '"${2:-}"' \
        '"$job-$run-worker-3.$job"' "$1"' - "$1" 2>&1
  }
  order=$(inside_pod worker-0 /bin/bash -c 'cat /horovod/generated/orders/[0-9]*')
  [[ $order == *"BEGIN SSH SIGNATURE"*"khorovod-order 1"* ]] || fail "worker-0 has no order"
  is_refused() {
    refused=$(from_worker "$2" "${4:-}" <<<"$3")
    [[ $refused == *"$1"* && $refused != *uid=* ]] || fail "$2: $refused"
  }
  local run_here="/bin/bash /etc/khorovod/scripts/order.sh"
  is_refused "accepts only orders" id ''
  is_refused "accepts only orders" "" 'id' -T
  is_refused "PTY allocation request failed" "" 'id' -tt
  is_refused "accepts only orders" "$run_here 3 4; id" "$order"
  is_refused "accepts only orders" "/bin/bash /etc/khorovod/scripts/sweep.sh" ''
  # The errors of a subsystem are not shown.
  from_worker sftp -s </dev/null
  (($? == 77)) || fail "sftp is not refused"
  is_refused "not signed by the launcher" "$run_here 3 4" "id"
  is_refused "not signed by the launcher" "$run_here 3 4" "${order/orted/id; orted}"
  is_refused "is not this container" "$run_here 4 5" "$order"
  is_refused "hosts, not 9" "$run_here 3 9" "$order"
  is_refused "it is not new" "$run_here 3 4" "$order"
  # It cannot make the other worker serve another launcher either.
  is_refused "accepts only orders" id '' "-o SetEnv=KHOROVOD_LAUNCHER=other"
  [[ $(inside_pod worker-3 cat /horovod/generated/owner) != other* ]] || fail "worker-3 serves another launcher"
  # A signature of the host key is not one of the launcher.
  order=$(inside_pod worker-0 /bin/bash -c 'cd /tmp; order=/horovod/generated/orders/[0-9]*
    sed "1,/END SSH SIGNATURE/d" $order | sed "2s/ .*/ 9999999999999999999/; 3s/.*/id/" >forged
    ssh-keygen -q -Y sign -f /horovod/generated/keys/host_key -n khorovod-order forged 2>/dev/null; cat forged.sig forged')
  is_refused "not signed by the launcher" "$run_here 3 4" "$order"
  # The launcher may still do everything.
  [[ $(inside_pod launcher /bin/bash -c "exec /horovod/generated/bin/ssh $job-$run-worker-3.$job id -u") =~ ^[0-9]+$ ]] || fail "no session for the launcher"
  delete_job
  wait_for launcher "received SIGTERM"
}

# An impostor below another worker is found there, and then by the launcher itself.
case_tree_impostor() {
  image prepare '[[ $POD != worker-1 ]] || { mv usr/sbin/sshd usr/sbin/sshd.real; cat >usr/sbin/sshd; chmod +x usr/sbin/sshd; } <<END' \
    '#!/bin/bash' 'rm -f /horovod/generated/keys/host_key' 'ssh-keygen -q -t ed25519 -N "" -f /horovod/generated/keys/host_key <<<y' \
    'exec /usr/sbin/sshd.real "\$@"' END
  tree_job 'echo trained with it' 'lifecycle: {retries: 0}'
  expect 42 "Host key verification failed" "the tree of ssh sessions could not be used"
  ! grep -q ">:trained with it" "$work/launcher.log" || fail "the impostor was taken for a worker"
  released
}

# A worker whose image has no ssh client cannot start others.
case_tree_without_ssh() {
  image prepare '[[ $POD != worker-2 ]] || rm usr/bin/ssh'
  tree_job 'echo "$(hostname) trains"' 'lifecycle: {retries: 0}'
  expect 0 "the tree of ssh sessions could not be used" "worker-4 trains" trained
  released
}

# A worker that has started others is lost.
case_tree_loses_a_worker() {
  local since
  tree_job "$endless_once" 'lifecycle: {retries: 1}'
  wait_for launcher "up 4" || return
  since=$SECONDS
  kill_pod worker-2
  wait_for launcher "lost worker" 25
  lasted 25 "$since" "failing"
  expect 0 trained
  # The tree is not at fault, so the second attempt uses it again.
  [[ $(grep -c "the launch uses a tree" "$work/launcher.log") == 2 ]] || fail "not two launches over the tree"
  # No rank and no session of the first attempt is left.
  [[ -z $(inside_pod worker-3 pgrep -x sleep) ]] || fail "a rank is left"
  released
}

case_tree_loses_an_mpi_daemon() {
  tree_job "$endless_once" 'lifecycle: {retries: 1}'
  wait_for launcher "up 4" || return
  inside_pod worker-3 pkill -KILL -x orted
  wait_for launcher "attempt 1 of 2 failed" 25
  expect 0 trained
  released
}

prepare_tree_loses_an_mpi_daemon_of_open_mpi_5() { make_images openmpi5; }
case_tree_loses_an_mpi_daemon_of_open_mpi_5() {
  use_image openmpi5
  tree_job "$endless_once" 'lifecycle: {retries: 1}'
  wait_for launcher "up 4" || return
  inside_pod worker-3 pkill -KILL -x prted
  expect 0 "attempt 1 of 2 failed: a daemon of MPI ended before the ranks did" trained
  released
}

# On a busy host, mpirun ends before the host has noticed the end of its daemon.
prepare_tree_loses_an_mpi_daemon_on_a_busy_host() { make_images openmpi5; }
case_tree_loses_an_mpi_daemon_on_a_busy_host() {
  use_image openmpi5
  tree_job "$endless_once" 'lifecycle: {retries: 1}'
  wait_for launcher "up 4" || return
  kill_unnoticed worker-3 prted -n
  expect 0 "attempt 1 of 2 failed: a daemon of MPI ended before the ranks did" trained
  released
}
