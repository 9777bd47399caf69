# One attempt: starts the training in its own process group, watches it, and ends the whole group.
training='' watchers=() pause_length=5

# beat [SECONDS]: writes the time before which this process calls `beat` again: a minute from now, longer with many workers, and SECONDS
# later. If it does not, the process hangs, and alive.sh, the liveness probe, fails. After `beat never` there is no such time.
rm -f "$generated/next-beat" "$generated/hung"
beat_within=$((60 + ${max_workers:-0} / 4))
for each in "${team_replicas[@]}"; do ((beat_within += each / 4)); done
beat() {
  local now
  # Background processes must not call `beat` for this process.
  [[ $BASHPID == "$$" ]] || return 0
  if [[ ${1:-} == never ]]; then
    rm -f "$generated/next-beat"
  else
    printf -v now '%(%s)T' -1
    echo "$((now + beat_within + ${1:-0}))" >"$generated/next-beat"
  fi
}

# Prints why this process got SIGTERM.
why_term() { if [[ -e $generated/hung ]]; then echo "hung, and was ended by its liveness probe"; else echo "received SIGTERM"; fi; }

# relay.sh redefines these two.

start_training() {
  set -m
  "$@" </dev/null &
  training=$!
  set +m
}

finish_output() { :; }

is_running() { kill -0 "$training" 2>/dev/null; }

# stop_training [SECONDS]: sends SIGTERM, so that MPI can end its ranks, and SIGKILL to what is left after 10 seconds. With the
# launcher `shell`, the whole process group gets SIGTERM. mpirun alone gets it otherwise, because it aborts if it gets a second one.
stop_training() {
  local tries=0 target
  for target in "${watchers[@]}"; do kill -KILL -- "-$target" 2>/dev/null; done
  watchers=()
  [[ -n $training ]] || return 0
  target=$training
  [[ $kind != shell ]] || target=-$training
  kill -TERM -- "$target" 2>/dev/null
  while kill -0 -- "$target" 2>/dev/null && ((tries++ < ${1:-10} * 5)); do pause 0.2; done
  kill -KILL -- "-$training" 2>/dev/null
  # This does not call `wait`: if a signal arrives when the process ends, bash loses the exit status, and `wait` never returns.
  tries=0
  while is_running && ((tries++ < 50)); do pause 0.1; done
  training=''
  finish_output
}

# start_watcher COMMAND...: starts a background process in its own process group, which stop_training ends. When the command has
# ended, `attempt` looks at once for what it wrote.
start_watcher() {
  set -m
  { "$@"; wake_attempt; } &
  watchers+=($!)
  disown $!
  set +m
}

# Ends the pause of `attempt`. bash reports no process that SIGPIPE ended.
# The file of the pause exists after the first one.
wake_attempt() { [[ ! -s $generated/pause ]] || kill -PIPE "$(<"$generated/pause")" 2>/dev/null; }

# Ends the run if it is superseded or past its deadline. Uses no `$(`: see `end_on`.
check_limits() {
  local deadline now
  if is_superseded; then finish 43 "superseded: run $current is current"; fi
  limit deadline '' deadline
  printf -v now '%(%s)T' -1
  if [[ -n $deadline ]] && ((now - began >= deadline)); then finish 44 "past its deadline of $deadline s"; fi
}

# Fills `gone` with the hosts that were lost: those that have not answered for ten seconds, or whose pod or container started
# again. The caller declares `missing_since` and `started_as`.
find_gone() {
  local host asked=$SECONDS in_turn=yes
  find_missing "${hosts[@]}"
  gone=()
  for host in "${unsure[@]}"; do
    if [[ -z ${answers[$host]:-} ]]; then
      missing_since[$host]=${missing_since[$host]:-$asked}
      ((SECONDS - missing_since[$host] < ${patience:-10})) || gone+=("$host")
    else
      unset "missing_since[$host]"
      [[ ${instances[$host]} == "${started_as[$host]:-${instances[$host]}}" ]] || gone+=("$host")
    fi
  done
}

# Returns once a host is lost or is about to end, and writes its name to the file `lost` or `leaves`. Uses no DNS. If more than half
# of the hosts do not answer, the network of the launcher has probably failed, so they count as lost only if the API server
# confirms it.
watch_workers() {
  local host told=''
  local -A missing_since=()
  probe_timeout=3
  # Hosts that did not answer are asked again soon.
  while rest "$((${#missing_since[@]} ? 1 : 3 + ${#hosts[@]} / 32))"; do
    find_gone
    if ((${#leaving[@]})); then
      printf '%s\n' "${!leaving[@]}" >"$generated/leaves"
      return
    fi
    ((${#gone[@]})) || continue
    if ((2 * ${#missing[@]} > ${#hosts[@]})) && ! { [[ -n $scales ]] && confirm_lost "${#missing[@]}"; }; then
      [[ -n $told ]] || log "${#missing[@]} of ${#hosts[@]} workers do not answer; the network of the launcher may have failed, so the training continues"
      told=yes
      continue
    fi
    printf '%s\n' "${gone[@]}" >"$generated/lost"
    return
  done
}

# Whether all hosts are the same as at the start of the attempt, and no daemon of Open MPI 5 was killed on them. If not, fills `gone`.
# Waits ten seconds for hosts that do not answer, and longer if these are more than half of the hosts, because the network of the
# launcher has then probably failed.
all_stayed() {
  local since=$SECONDS allowed host
  local -a asked=()
  local -A missing_since=()
  allowed=$(limit wait-timeout 1800)
  # The worker of a killed daemon exits, but maybe later than mpirun.
  if [[ -e $generated/tree-code ]]; then
    ! lost_daemon || return 1
  else
    for host in "${hosts[@]}"; do [[ ${answers[$host]:-} != openmpi-5.* ]] || asked+=("$host"); done
    ((${#asked[@]} == 0)) || mapfile -t gone < <(
      on_hosts 10 "/bin/bash $scripts/daemons.sh {}" "${asked[@]}" | grep -Fx "$(printf '%s\n' "${asked[@]}")"
    )
  fi
  ((${#gone[@]} == 0)) || return 1
  while
    find_gone
    ((${#missing[@]} && (SECONDS - since < 10 || 2 * ${#missing[@]} > ${#hosts[@]} && SECONDS - since < allowed)))
  do
    if ((SECONDS - since >= 10)) && [[ -n $scales ]] && confirm_lost "${#missing[@]}"; then break; fi
    pause 1
  done
  ((${#missing[@]} == 0 && ${#gone[@]} == 0)) && return
  ((${#gone[@]})) || gone=("${missing[@]}")
  return 1
}

# agent.sh redefines it.
name_gone() { echo "lost worker $(shorten "${gone[@]}")"; }

# Whether ranks still save a checkpoint. agent.sh redefines it.
are_saving() { true; }

# save_checkpoint WHY: sends the checkpoint signal to all ranks and waits for their end, at most checkpoint_grace seconds. If this launcher
# is stopped meanwhile, the ranks get no second signal, which would interrupt them while they save.
saves_until=''
save_checkpoint() {
  [[ -n $training ]] && is_running || return 0
  if [[ -z $saves_until ]]; then
    saves_until=$((SECONDS + checkpoint_grace))
    log "$1: all ranks get SIG$checkpoint_signal and have $checkpoint_grace s to save a checkpoint"
    record_phase saving "$1"
    # A script of the launcher `shell` and all its local processes get SIGTERM.
    if [[ $kind$checkpoint_signal == shellTERM ]]; then
      stop_training "$checkpoint_grace"
      return
    fi
    signal_ranks
  fi
  while is_running && are_saving && ((SECONDS < saves_until)); do pause 0.2; done
}

# Whether this pod reaches other pods by IPv4. In an IPv6 cluster of EKS, a pod also has an IPv4 address, but only for egress and
# without a name in DNS.
has_ipv4() {
  local routes
  mapfile -t routes </proc/net/route
  ((${#routes[@]} > 1)) || return
  [[ -n $(getent ahostsv4 "$HOSTNAME" 2>/dev/null) || -z $(getent ahostsv6 "$HOSTNAME" 2>/dev/null) ]]
}

# explain_ipv6 CODE: ends the run if the launcher program needs IPv4 and the pods have only IPv6. The program does not report this.
explain_ipv6() {
  has_ipv4 || case "${mpi_found:-$kind} $1 $HOSTNAME" in
  openmpi\ 5.*\ 139\ *.*) ;;
  openmpi\ 5.*\ 139\ * | mpich*\ 255\ * | horovodrun\ 1\ *) finish 42 "${mpi_found:-$kind} cannot launch in pods that have only IPv6 addresses" ;;
  esac
}

# rest SECONDS: sleeps without starting a process, for background loops. The end of a process would interrupt a trap that runs. Always
# succeeds.
rest() {
  [[ -p $generated/quiet ]] || mkfifo "$generated/quiet" 2>/dev/null
  ! read -r -t "$1" <>"$generated/quiet"
}

# attempt [WATCH]: runs the launch to its end. Sets `failure`, which is empty after success, `code`, the exit code of the
# training if it ended by itself, and `gone`, the hosts that were lost. WATCH is the function that finds lost hosts: `watch_workers`,
# or `watch_agents` of agent.sh.
attempt() {
  local checked=$SECONDS host patience='' other
  local -A started_as=() missing_since=()
  failure='' code='' gone=() by_address=yes saves_until=''
  : >"$generated/lost"
  # A worker lost in the last attempt must not count as busy.
  rm -f "$generated/seen" "$generated/found" "$generated/leaves" "$generated/stalled" "$generated/progress" "$generated/silent" "$generated/stuck"
  rm -rf "$generated/failed"
  few_since=''
  if [[ ${1:-} == watch_workers ]]; then
    for host in "${hosts[@]}"; do started_as[$host]=${instances[$host]:-}; done
  fi
  log "launching: ${launch[*]@Q}"
  start_training "${launch[@]}"
  record_phase training
  if [[ -n ${1:-} ]]; then start_watcher "$1"; fi
  [[ -z ${stall_action:-} ]] || start_watcher watch_progress
  start_uploads
  while
    beat
    # Wait for a process, not for a signal: if a signal woke this process up, bash could lose another signal or the exit status of
    # the training.
    sleep "$pause_length" >/dev/null 2>&1 &
    echo $! >"$generated/pause"
    wait -n "$training" $!
    code=$?
    is_running
  do
    if [[ -s $generated/lost ]]; then
      mapfile -t gone <"$generated/lost"
      failure=$(name_gone)
      log "$failure"
      # MPI would wait for the lost worker, so it gets only a second. sweep.sh ends what is left on the other workers.
      stop_training 1
      return 1
    fi
    if [[ -s $generated/leaves ]]; then
      mapfile -t gone <"$generated/leaves"
      failure="worker $(shorten "${gone[@]}") ends, because it was evicted or deleted"
      save_checkpoint "$failure"
      stop_training
      return 1
    fi
    if [[ -s $generated/stalled ]]; then
      failure=$(<"$generated/stalled")
      stop_training
      # SIGKILL also ends ranks that are in the state stopped. sweep.sh ends the ranks on the other hosts.
      /bin/bash "$scripts/signal.sh" KILL
      return 1
    fi
    if [[ -s $generated/stuck ]]; then
      list_silent
      failure=$(<"$generated/stuck")
      log "$failure"
      stop_training
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
  wake_attempt
  # `wait -n` may have returned the code of `sleep`.
  wait "$training"
  other=$?
  ((other == 127)) || code=$other
  [[ ${1:-} != watch_agents ]] || report_end "$code"
  stop_training
  if ((code == 0)); then
    # Open MPI 5 also exits with 0 if it loses a host, and other launchers than mpirun may call it.
    if [[ ${1:-} != watch_workers || $kind == mpirun && ${mpi_found:-} != openmpi\ 5.* ]] || all_stayed; then return 0; fi
  elif [[ ${1:-} == watch_workers ]]; then
    # MPI may notice a lost worker before the watcher does.
    patience=0 find_gone
  elif [[ ${1:-} == watch_silent ]]; then
    list_silent
  fi
  # 197 is the exit code of rank.sh.
  if ((code == 197)); then finish 42 "the ranks do not match the spec; see a rank's line above"; fi
  explain_ipv6 "$code"
  failure="training ended with code $code"
  ((code)) || ((${#gone[@]})) || failure="a daemon of MPI ended before the ranks did"
  [[ ! -s $generated/stalled ]] || failure+=", after $(<"$generated/stalled")"
  if ((${#gone[@]})); then
    printf '%s\n' "${gone[@]}" >"$generated/lost"
    failure="$(name_gone): $failure"
  fi
  return 1
}
