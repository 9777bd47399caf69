#!/bin/bash
# A torchrun agent. The agents rendezvous at index 0, whose exit ends the job.
#
# Index 0 exits with the codes of launcher.sh. If another agent fails, because a rank or another agent has failed, it starts again
# in the same pod and joins again: a new pod would take longer each time, and its GPUs could go to others.
. /etc/khorovod/scripts/common.sh
. "$scripts/attempt.sh"
[[ ! -e $scripts/stall.sh ]] || . "$scripts/stall.sh"
[[ -z $own_job ]] || . "$scripts/api.sh"
deaths=0 failures=0

began=$(printf '%(%s)T' -1)
index=$JOB_COMPLETION_INDEX
export PET_NODE_RANK=$index
rendezvous=${team_names[0]}-0.$service

finish() {
  trap '' TERM INT
  terminate_message "$2"
  case $1 in 4[34] | 143) save_checkpoint "$2" ;; esac
  stop_training
  case $1 in 4[234]) [[ -z $own_job ]] || end_job ;; esac
  exit "$1"
}
on_hosts() { timeout "$1" /bin/bash -c "${2//'{}'/$HOSTNAME}"; }
signal_ranks() { /bin/bash "$scripts/signal.sh" "$checkpoint_signal"; }
trap 'finish 143 "received SIGTERM"' TERM INT
# A new pod may see the ConfigMap of the run before for a while.
for ((age = 0; age < 150; age++)); do
  is_superseded || break
  pause 1
done
check_limits
download || exit 1

# Gloo resolves its own host name. With hostNetwork that is the node's name, which on many nodes has no address or 127.0.1.1.
if [[ -z ${GLOO_SOCKET_IFNAME:-} && " $(getent hosts "$HOSTNAME" 2>/dev/null)" =~ ^\ (127\..*|::1\ .*|)$ ]]; then
  while read -r interface destination _; do
    [[ $destination != 00000000 ]] || { export GLOO_SOCKET_IFNAME=$interface && break; }
  done </proc/net/route
fi
# Elastic agents exchange host names, which with hostNetwork are those of the nodes.
here=${team_names[0]}-$index
[[ ${HOSTNAME%%.*} == "$here" ]] || export PET_LOCAL_ADDR=${PET_LOCAL_ADDR:-$here.$service}
allowed=$(limit wait-timeout 1800)
export PET_RDZV_CONF=is_host=$((index == 0)),${PET_RDZV_CONF:-join_timeout=$allowed}
if ((index > 0)); then
  while
    since=$SECONDS told=-10
    until timeout 2 /bin/bash -c "exec 3<>/dev/tcp/$rendezvous/29400" 2>/dev/null; do
      check_limits
      ((SECONDS - since < allowed)) || finish 42 "$rendezvous did not answer within $allowed s"
      if ((SECONDS - told >= 10)); then
        log "waiting for $rendezvous"
        told=$SECONDS
      fi
      pause 1
    done
    ! attempt
  do
    # Only index 0 fails the job.
    log "$failure; this agent joins again"
    pause 2
  done
  # If the first pod that succeeds ends the job, that must be index 0.
  [[ -z ${stays:-} ]] || while :; do pause 60; done
  finish 0 "trained"
fi
attempt || finish 42 "$failure"
# The ranks of index 0 ran here.
launcher_host=$rendezvous
upload || finish 42 "trained, but the S3 volumes could not be uploaded"
finish 0 "trained"
