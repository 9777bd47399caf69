# One attempt: starts the training in its own process group, watches it, and ends the whole group.
training='' watcher=''

start_training() {
  set -m
  "$@" </dev/null &
  training=$!
  set +m
}

is_running() { kill -0 "$training" 2>/dev/null; }

# stop_training [SECONDS]: sends SIGTERM, so that MPI can end its ranks, and SIGKILL to what is left after 10 seconds. A script
# gets SIGTERM with its whole group; mpirun gets it alone, because it aborts on a second one.
stop_training() {
  local tries=0 target=$training
  [[ -z $watcher ]] || kill -KILL -- "-$watcher" 2>/dev/null
  watcher=''
  [[ -n $training ]] || return 0
  [[ $kind != shell ]] || target=-$training
  kill -TERM -- "$target" 2>/dev/null
  while kill -0 -- "$target" 2>/dev/null && ((tries++ < ${1:-10} * 5)); do pause 0.2; done
  kill -KILL -- "-$training" 2>/dev/null
  wait "$training" 2>/dev/null
  training=''
}

# Ends the run if it is superseded or past its deadline.
check_limits() {
  local deadline
  if is_superseded; then finish 43 "superseded: run $(limit run '') is current"; fi
  deadline=$(limit deadline '')
  if [[ -n $deadline ]] && (($(printf '%(%s)T' -1) - began >= deadline)); then
    finish 44 "past its deadline of $deadline s"
  fi
}

# Returns once a worker did not answer three times, with its name in the file `lost`: a busy worker must not count as lost.
watch_workers() {
  local times
  probe_timeout=8
  while sleep "$((3 + ${#hosts[@]} / 64))"; do
    missing=("${hosts[@]}")
    for times in 1 2 3; do
      find_missing "${missing[@]}"
      ((${#missing[@]})) || continue 2
    done
    shorten "${missing[@]}" >"$generated/lost"
    return
  done
}

# Whether this pod reaches others by IPv4. In an IPv6 cluster of EKS, a pod has an IPv4 address for egress only, without a name.
has_ipv4() {
  local routes
  mapfile -t routes </proc/net/route
  ((${#routes[@]} > 1)) || return
  [[ -n $(getent ahostsv4 "$HOSTNAME" 2>/dev/null) || -z $(getent ahostsv6 "$HOSTNAME" 2>/dev/null) ]]
}

# explain_ipv6 CODE: ends the run if its launcher needs IPv4 and there is none, which the launcher does not report.
explain_ipv6() {
  has_ipv4 || case "${mpi_found:-$kind} $1 $HOSTNAME" in
  openmpi\ 5.*\ 139\ *.*) ;;
  openmpi\ 5.*\ 139\ * | mpich*\ 255\ * | horovodrun\ 1\ *) finish 42 "${mpi_found:-$kind} cannot launch in pods that have only IPv6 addresses" ;;
  esac
}

# attempt [watch]: runs the launch to its end. Sets `failure`, which is empty after success.
attempt() {
  local checked=$SECONDS code
  failure=''
  : >"$generated/lost"
  # A worker lost in the last attempt must not count as busy.
  rm -f "$generated/seen" "$generated/found"
  few_since=''
  log "launching: ${launch[*]@Q}"
  start_training "${launch[@]}"
  if [[ ${1:-} == watch ]]; then
    set -m
    watch_workers &
    watcher=$!
    disown "$watcher"
    set +m
  fi
  while is_running; do
    pause 0.5
    if [[ -s $generated/lost ]]; then
      failure="lost worker $(<"$generated/lost")"
      log "$failure"
      # MPI would wait for that worker; sweep.sh ends what is left on the others.
      stop_training 1
      return 1
    fi
    if ((SECONDS - checked >= 5)); then
      check_limits
      [[ -z ${min_workers:-} || ! -e $generated/found ]] || check_min_workers || {
        stop_training
        return 1
      }
      checked=$SECONDS
    fi
  done
  wait "$training"
  code=$?
  stop_training
  missing=()
  [[ ${1:-} != watch ]] || find_missing "${hosts[@]}"
  # Open MPI 5 exits with 0 if it loses a host. A busy host is probed again.
  if ((code == 0 && ${#missing[@]})); then probe_timeout=8 find_missing "${missing[@]}"; fi
  ((code || ${#missing[@]})) || return 0
  # The exit code of rank.sh.
  if ((code == 197)); then finish 42 "the ranks do not match the spec; see a rank's line above"; fi
  explain_ipv6 "$code"
  failure="training ended with code $code"
  # MPI may notice a lost worker before the watcher does.
  if ((${#missing[@]})); then
    shorten "${missing[@]}" >"$generated/lost"
    failure="lost worker $(<"$generated/lost"): $failure"
  fi
  return 1
}
