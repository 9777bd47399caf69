#!/bin/bash
# An agent of torchrun, or of the ranks that processes.sh starts. The agents rendezvous at index 0, whose exit ends the job.
#
# Index 0 exits with the codes of launcher.sh. If an agent is lost, all other agents stop their ranks and rendezvous again without
# leaving their pods: new pods would take longer to start, and other jobs could get their GPUs.
# The trap comes first, as in worker.sh.
trap 'exit 143' TERM INT
. /etc/khorovod/scripts/common.sh
. "$scripts/attempt.sh"
. "$scripts/ranks.sh"
check_advance() { :; }
[[ ! -e $scripts/advance.sh ]] || . "$scripts/advance.sh"
[[ ! -e $scripts/stall.sh ]] || . "$scripts/stall.sh"
[[ -z $own_job ]] || . "$scripts/api.sh"
deaths=0 failures=0

began=$(printf '%(%s)T' -1)
index=$JOB_COMPLETION_INDEX
[[ ! -e $scripts/relay.sh ]] || . "$scripts/relay.sh"
((index)) || [[ ! -e $scripts/status.sh ]] || . "$scripts/status.sh"
export PET_NODE_RANK=$index
rendezvous=${team_names[0]}-0.$service

finish() {
  trap '' TERM INT
  terminate_message "$2"
  # USR1 makes agents.py report that this agent leaves, so that the ranks of the other agents save a checkpoint at the same time.
  [[ $1 != 143 || -z $watch ]] || kill -USR1 "${watchers[0]:-}" 2>/dev/null
  case $1 in
  4[34] | 143)
    save_checkpoint "$2"
    stop_training
    [[ -z $launcher_host ]] || upload "$checkpoint_grace" || log "the S3 volumes could not be uploaded"
    ;;
  esac
  stop_training
  record_end "$1" "$2"
  case $1 in 4[234]) [[ -z $own_job ]] || end_job ;; esac
  finish_status
  exit "$1"
}
on_hosts() { timeout -k 1 "$1" /bin/bash -c "${2//'{}'/$HOSTNAME}"; }
signal_ranks() {
  list_ranks "$(kill -l "$checkpoint_signal")"
  signalled=("${ranks[@]}")
  kill -s "$checkpoint_signal" "${ranks[@]}" 2>/dev/null
}
# Prints which agents were lost, or whose ranks have failed.
name_gone() { if [[ -e $generated/ranks-failed ]]; then echo "ranks failed on ${gone[*]}"; else echo "lost worker ${gone[*]}"; fi; }
# Only the ranks that got the signal count, because torchrun may have started new ones in place of ranks that exited with an error.
are_saving() {
  local pid
  for pid in "${signalled[@]}"; do [[ ! -e /proc/$pid ]] || return 0; done
  return 1
}
# Exits if this pod cannot train, so that Kubernetes replaces it.
check_health() {
  local level reason
  [[ -e $scripts/check.sh ]] || return 0
  beat "$((health_timeout + 70))"
  while read -r level _ reason; do
    log "health check: $reason"
    [[ $level == suspect ]] || finish 1 "health check of $here on node ${KHOROVOD_NODE_IP:--}: $reason"
  done < <(/bin/bash "$scripts/check.sh" "$here")
}
end() { finish 143 "$(why_term)"; }
end_on end TERM INT

# watch_agents connects the agents, so that each notices if another one is lost. Elastic agents notice it themselves, except for index 0.
watch=watch_agents
type -P python3 >/dev/null || watch=''
# `agents.py` takes the place of the watcher, and does not end the pause of `attempt`.
pause_length=1
watch_agents() {
  local launcher=$kind
  [[ -z ${min_workers:-} ]] || launcher=elastic
  exec python3 "$scripts/agents.py" "$index" "$rendezvous" "$launcher" "${address:-}"
}

# The port on which index 0 answers once an attempt has begun. JAX and TensorFlow open their ports only after their imports, so with
# them it is the port of agents.py, if that runs.
case $kind,$watch in torchrun,* | jax,) meeting=29400 ;; tensorflow,) meeting=29410 ;; *) meeting=29401 ;; esac

# report_end CODE: reports to the other agents how the ranks of this agent have ended. Fills `gone` if they have failed because another
# agent was lost, which ranks may notice before the agents.
report_end() {
  local signal=USR2
  (($1 == 0)) || signal=TERM
  if kill -s "$signal" "${watchers[0]}" 2>/dev/null; then
    pause 0.5
  fi
  [[ $1 != 0 && -s $generated/lost ]] || return 0
  mapfile -t gone <"$generated/lost"
  [[ ${gone[0]} != "$here" ]] || gone=()
}

# Ends ranks that outlive torchrun, which starts them in sessions of their own.
end_ranks() {
  local tries=0
  while list_ranks && ((${#ranks[@]} && tries++ < 50)); do
    kill -KILL "${ranks[@]}" 2>/dev/null
    pause 0.2
  done
}

# For a while, the mounted ConfigMap of a new pod may still name the earlier run.
for ((age = 0; age < 150; age++)); do
  is_superseded || break
  pause 1
done
check_limits
has_workers=yes
record_phase preparing
start_status
download || {
  (($? != 2)) || finish 42 "$undownloaded"
  exit 1
}
restore_here

# Gloo resolves its own host name. With hostNetwork that is the node's name, which on many nodes has no address or 127.0.1.1.
if [[ -z ${GLOO_SOCKET_IFNAME:-} && " $(getent hosts "$HOSTNAME" 2>/dev/null)" =~ ^\ (127\..*|::1\ .*|)$ ]]; then
  while read -r interface destination _; do
    [[ $destination != 00000000 ]] || { export GLOO_SOCKET_IFNAME=$interface && break; }
  done </proc/net/route
fi
# Elastic agents exchange host names, which with hostNetwork are those of the nodes.
here=${team_names[0]}-$index
[[ ${HOSTNAME%%.*} == "$here" ]] || export PET_LOCAL_ADDR=${PET_LOCAL_ADDR:-$here.$service}
[[ -z ${health_always:-} ]] || check_health
allowed=$(limit wait-timeout 1800)
export PET_RDZV_CONF=is_host=$((index == 0)),${PET_RDZV_CONF:-join_timeout=$allowed}
# Sets `address` to the address at which index 0 answers. DNS may also list the address of an earlier pod.
find_first() {
  local line
  while read -r address line; do
    timeout 2 /bin/bash -c "exec 3<>/dev/tcp/$address/$meeting" 2>/dev/null && return
  done < <(getent ahosts "$rendezvous" | grep STREAM)
  return 1
}

if ((index > 0)); then
  while
    since=$SECONDS told=-10
    until find_first; do
      check_limits
      ((SECONDS - since < allowed)) || finish 42 "$rendezvous did not answer within $allowed s"
      if ((SECONDS - told >= 10)); then
        log "waiting for $rendezvous"
        told=$SECONDS
      fi
      pause 1
    done
    # torchrun may start ranks again. With the address, and not the name, they cannot join a new pod that replaces index 0.
    [[ -n ${min_workers:-} || $address == *:* ]] || export PET_MASTER_ADDR=$address
    # DNS may still have the address of an earlier pod.
    [[ $kind != jax ]] || export JAX_COORDINATOR_ADDRESS=$address:29400
    [[ $kind != jax || $address != *:* ]] || export JAX_COORDINATOR_ADDRESS=[$address]:29400
    ! attempt $watch
  do
    # Only index 0 fails the job.
    log "$failure; this agent joins again"
    end_ranks
    check_health
    pause 2
  done
  # If the first pod that succeeds ends the job, that must be index 0.
  [[ -z ${stays:-} ]] || while :; do pause 60; done
  finish 0 "trained"
fi
# s3.sh uploads from the pod that this variable names, which is index 0.
launcher_host=$rendezvous
give_up() {
  upload || log "the S3 volumes could not be uploaded"
  finish 42 "$1"
}
while
  since=$SECONDS
  ! attempt $watch
do
  end_ranks
  check_health
  last_end=$failure
  check_advance "$((SECONDS - since))"
  retries=$(limit retries 3)
  ((SECONDS - since < $(limit retries-reset-after 3600))) || failures=0
  if [[ -s $generated/leaves ]] || { [[ ! -e $generated/ranks-failed ]] && ((${#gone[@]} && SECONDS - since >= 60)); }; then
    log "attempt ended: $failure; it does not count against lifecycle.retries"
  else
    ((++failures <= retries)) || give_up "failed after $(count "$failures" attempt); the last: $failure"
    log "attempt $failures of $((retries + 1)) failed: $failure"
  fi
  record_phase waiting "the next attempt starts soon"
  # The other agents notice that this one has stopped.
  pause 3
done
upload || finish 42 "trained, but the S3 volumes could not be uploaded"
finish 0 "trained"
