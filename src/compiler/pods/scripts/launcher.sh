#!/bin/bash
# The launcher scales up the workers, waits for them, checks MPI, trains, releases the workers and exits.
#
# Exit codes: 0 trained, 42 failed, 43 superseded, 44 past its deadline. Before it exits with one of these, it releases the workers.
# After any other code Kubernetes starts a new launcher.
# The trap comes first, as in worker.sh.
trap 'exit 143' TERM INT
. /etc/khorovod/scripts/common.sh
# health.sh redefines it if workers are checked.
is_checked() { false; }
# advance.sh redefines it if the progress may be known.
check_advance() { :; }
# gang.sh redefines these for gangs of Kubernetes.
check_gang() { :; }
note_gang() { :; }
# tree.sh redefines these for large jobs.
use_tree() { :; }
sweep_tree() { false; }
uses_tree=''
for part in advance hosts topology distances wait mpi world tree attempt relay stall elastic sshd api status scale gang health idle; do
  # A job has only the files that it needs.
  [[ ! -e $scripts/$part.sh ]] || . "$scripts/$part.sh"
done

began=$(printf '%(%s)T' -1) began_here=$began
is_successor='' deaths=0 failures=0 attempts=0 failure='' remarks=()
# Workers refuse sessions of an earlier launcher (session.sh).
export KHOROVOD_LAUNCHER=${KHOROVOD_POD_UID:-}

# finish CODE REASON: ends the ranks, stores their results, releases the workers and exits. Nothing else exits.
finish() {
  trap '' TERM INT
  trap - EXIT
  terminate_message "$2"
  case $1 in
  4[34] | 143)
    if ((attempts)); then
      save_checkpoint "$2"
      stop_training
      # No upload if the workers stay and the next launcher uses them from the start, because their volumes stay, too.
      [[ -n $stays_evicted && -z $launcher_host && ${hosts[0]} == "${candidates[0]}" ]] || upload "$checkpoint_grace" || log "the S3 volumes could not be uploaded"
    fi
    ;;
  esac
  stop_training
  record_end "$1" "$2"
  [[ -z $scales || -n $stays_evicted ]] || release_workers
  case $1 in 4[234]) [[ -z $own_job ]] || end_job ;; esac
  finish_status
  [[ -z ${sshd:-} ]] || kill "$sshd" 2>/dev/null
  exit "$1"
}

# Handles SIGTERM. Either the Job ends, or only this pod was evicted. After an eviction the workers stay for the next launcher.
stays_evicted=''
end() {
  trap '' TERM INT
  if [[ -n $own_job ]]; then
    call GET "$job_path"
    case $status in 401 | 403 | 404) ;; *) is_ending || stays_evicted=yes ;; esac
    # The next launcher must not count this attempt. A suspended Job has one when it is resumed.
    if [[ -n $stays_evicted || $answer =~ \"suspend\":[[:space:]]*true ]]; then note_attempt left; fi
  fi
  finish 143 "$(why_term)${stays_evicted:+; the workers stay for the next launcher}"
}
end_on end TERM INT
trap 'finish 1 "the launcher script ended unexpectedly; this is a bug in khorovod"' EXIT
# While ranks run, the launcher uses no `$(`: see `end_on`.
trap '[[ -z $training ]] || kill -USR1 "$training" 2>/dev/null' USR1
trap '[[ -z $training ]] || kill -USR2 "$training" 2>/dev/null' USR2

# on_hosts SECONDS COMMAND [HOST...]: runs a command on all hosts of the attempt at the same time, or on some. In the command, `{}`
# is the name of the host.
on_hosts() {
  local seconds=$1 command=$2 host
  shift 2
  (($#)) || set -- "${hosts[@]}" ${launcher_host:+"$launcher_host"}
  for host; do [[ $host == "$launcher_host" ]] || echo "$host"; done |
    xargs -r -P 64 -I '{}' timeout -k 1 "$seconds" ssh -n -o ConnectTimeout=5 -o ConnectionAttempts=1 '{}' "$command" 2>/dev/null
  [[ -z $launcher_host || $launcher_host != "${*: -1}" ]] || /bin/bash -c "${command//'{}'/$launcher_host}"
}

# Sends the checkpoint signal to the ranks of all hosts.
signal_ranks() {
  # mpirun of Open MPI passes these signals on to all ranks, which is faster than ssh sessions.
  case $kind,$mpi,$checkpoint_signal in
  mpirun,openmpi,USR[12])
    kill -s "$checkpoint_signal" "$training"
    # A worker that is about to end would signal its ranks again after half of the time.
    on_hosts 8 ": >$generated/signalled" &
    return
    ;;
  esac
  on_hosts 8 "/bin/bash $scripts/signal.sh $checkpoint_signal"
}

# Puts hostfile, discovery script and ssh where launchers and people look for them.
prepare() {
  { name_user && copy_keys && install_ssh; } || finish 42 "ssh could not be set up; see the line above"
  [[ ! -e $scripts/discover.sh ]] || install -m 0755 "$scripts/discover.sh" "$generated/discoverHosts.sh"
  [[ ! -e $scripts/elastic.sh ]] || install_resume
  if [[ -e $scripts/horovodrun ]] && program=$(type -P horovodrun); then
    ln -sfn "$program" "$generated/real-horovodrun" && install -m 0755 "$scripts/horovodrun" "$generated/bin/horovodrun"
  fi
  export PATH=$generated/bin:$PATH
  # The files in the home directory are for people, and for programs that do not inherit this PATH.
  home=$(unset HOME; echo ~)
  if [[ ! -e $home/.ssh/config ]] && mkdir -p "$home/.ssh" 2>/dev/null; then
    (
      umask 077
      { printf 'Port %s\nUser %s\n' "$port" "$user"; cat "$scripts/ssh_config"; } >"$home/.ssh/config"
    )
  fi
  # Without this setting, Open MPI would try the IPv4 address that is only for egress.
  has_ipv4 || export OMPI_MCA_btl_tcp_disable_family=${OMPI_MCA_btl_tcp_disable_family:-4}
  [[ -e $home/.bashrc ]] || {
    echo "PATH=$generated/bin:\$PATH"
    declare -p OMPI_MCA_btl_tcp_disable_family
  } 2>/dev/null >"$home/.bashrc"
  list_hosts
  write_hostfile
}

# Whether a worker is older than this launcher, so that an earlier launcher may have used it.
are_older() {
  local host
  for host in "${hosts[@]}"; do
    host=${instances[$host]:-0}
    ((${host##*-} > 0 && ${host##*-} < began_here - 20)) && return
  done
  return 1
}

# Ends all processes that an attempt left on the workers, and makes the workers refuse any earlier launcher. Fills `remarks` with the
# faults that were found on the workers.
sweep() {
  local host
  if sweep_tree; then return; fi
  mapfile -t remarks < <(
    for host in "${hosts[@]}"; do
      [[ $host == "$launcher_host" || -z ${answers[$host]:-} ]] || echo "$host"
    done | xargs -r -n 1 -P 32 timeout -k 1 8 /bin/bash "$scripts/sweep.sh" from
  )
}

# find_hosts SINCE: waits for workers and chooses the hosts of the next attempt. Fails if other hosts may have to be chosen.
find_hosts() {
  wait_workers "$1"
  has_workers=yes
  record_phase preparing
  choose_hosts
  write_hostfile
  [[ -z $scales ]] || release_added
  # The workers may have ranks of an earlier attempt, or of an earlier launcher, which may still run.
  if ((attempts)) || [[ -n $is_successor ]] || are_older; then sweep; fi
  # Later attempts keep the order, so that each host keeps its ranks, whose data it has.
  ((attempts)) || order_hosts
  if is_checked; then check_health; fi
}

# For a while, the mounted ConfigMap of a new pod may still name the earlier run.
for ((age = 0; age < 150; age++)); do
  is_superseded || break
  pause 1
done
check_limits

[[ -z $launcher_host ]] || has_workers=yes
record_phase preparing
[[ -z $own_job ]] || read_job
start_status
if [[ -n $own_job ]]; then
  check_limits
  retries=$(limit retries 3)
  ((failures <= retries)) || finish 42 "$(count "$failures" attempt) failed, the last with its launcher, and lifecycle.retries is $retries"
  [[ -z $scales ]] || scale_up
  note_attempt || finish 42 "cannot change the Job $own_job (HTTP $status)$(explain_denied "get and patch on jobs")"
  check_gang
fi
# The workers start in the meantime. These steps may take long, because some nodes load the programs of an image when they first run.
beat 600
[[ $kind != mpirun ]] || check_mpi
prepare
if [[ -n $launcher_host ]]; then
  { download && start_sshd && check_sshd; } || finish 42 "${undownloaded:-this pod cannot serve as a worker; see the lines above}"
fi

while :; do
  since=$SECONDS
  until find_hosts "$since"; do :; done
  restore || continue
  [[ $kind != mpirun ]] || check_mpi_versions
  if ((${#launch[@]} == 0)); then stay_open; fi
  if [[ -n $own_job ]] && ((attempts)); then note_attempt; fi
  watch=watch_workers since=$SECONDS
  [[ -z $min_workers ]] || watch=watch_silent
  use_tree
  ((++attempts))
  passed=() rejections=0
  if attempt $watch; then
    upload || finish 42 "trained, but the S3 volumes could not be uploaded; see the lines above"
    finish 0 "trained"
  fi
  for host in "${gone[@]}"; do
    node=${nodes[$host]:--}
    [[ $node == - ]] || faults["$node"]=$((${faults[$node]:-0} + 1))
  done
  # A lost worker is not a fault of the tree.
  if ((${#gone[@]})); then
    rm -f "$generated/tree-failed"
  else
    sweep
    ((${#remarks[@]} == 0)) || failure+="; $(IFS=';' && shorten "${remarks[@]}")"
  fi
  # The limits may have changed.
  retries=$(limit retries 3)
  ((SECONDS - since < $(limit retries-reset-after 3600))) || failures=0
  last_end=$failure
  if [[ -n $uses_tree && -s $generated/tree-errors ]]; then tail -n 20 "$generated/tree-errors" >&2; fi
  if [[ -n $uses_tree && -e $generated/tree-failed ]]; then
    log "the tree of ssh sessions could not be used: $failure; the next attempt opens all sessions itself and does not count against lifecycle.retries"
    record_phase waiting
    continue
  fi
  check_advance "$((SECONDS - since))"
  # The loss of a worker costs no retry, unless the attempt was so short that it is likely to repeat.
  if [[ -s $generated/leaves ]] || ((${#gone[@]} && SECONDS - since >= 60)); then
    log "attempt ended: $failure; it does not count against lifecycle.retries"
    record_phase waiting
    continue
  fi
  ((++failures))
  log "attempt $failures of $((retries + 1)) failed: $failure"
  if [[ -n $code && " $(limit final-exit-codes '') " == *" $code "* ]]; then
    upload || log "the S3 volumes could not be uploaded"
    finish 42 "$failure, which lifecycle.finalExitCodes lists"
  fi
  if ((failures > retries)); then
    ((${#gone[@]} + ${#remarks[@]})) || ! is_checked || explain_failure
    break
  fi
  record_phase waiting "the next attempt starts soon"
  # The pause is longer after each failure, at most a minute.
  pause $((failures < 6 ? 1 << failures : 60))
done
upload || log "the S3 volumes could not be uploaded"
finish 42 "failed after $(count "$failures" attempt); the last: $failure"
