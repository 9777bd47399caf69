# Installs resume.py in the place of horovodrun.
install_resume() {
  if program=$(type -P horovodrun) && { IFS= read -r line <"$program"; } 2>/dev/null && [[ $line == '#!'*python* ]]; then
    ln -sfn "$program" "$generated/real-horovodrun" && { echo "$line" && cat "$scripts/resume.py"; } >"$generated/bin/horovodrun" && chmod 0755 "$generated/bin/horovodrun"
  fi
}

# Logs if an elastic run has too few workers, which Horovod does not. Training continues once enough workers are back.
# Fails, with `failure` set, if Horovod has not exited 20 s after its own timeout, which happens.
check_min_workers() {
  local up text
  mapfile -t up <"$generated/found"
  if ((${#up[@]} >= min_workers)); then
    [[ -z $few_since ]] || record_phase training
    few_since=''
    return
  fi
  few_since=${few_since:-$SECONDS}
  text="${#up[@]} of at least $min_workers workers answer; training waits for more until workers.elastic.timeout"
  log "$text"
  record_phase training "$text"
  ((SECONDS - few_since < elastic_timeout + 20)) || {
    failure="fewer than $min_workers workers for $((SECONDS - few_since)) s, and Horovod has not exited"
    return 1
  }
}

# The file `replaced` has a line `HOST SCALE` for each host that was replaced, and the scale since then. Another launcher writes one
# for the scale that it finds.
rm -f "$generated/replaced"

# list_all: like list_hosts, with the workers that were added beyond workers.elastic.maxReplicas.
list_all() {
  local now
  while read -r _ now; do ((now <= max_workers)) || max_workers=$now; done 2>/dev/null <"$generated/replaced"
  list_hosts
}

# replace_silent HOST...: starts one more worker for each of the hosts that has an address and was not replaced before. Not for a
# host beyond the scale, which a person may have reduced.
replace_silent() {
  local missing=("$@") host now index
  no_address=()
  ((!$#)) || find_no_address
  for host; do
    if [[ -n ${no_address[$host]:-} ]] || grep -sq "^$host " "$generated/replaced"; then continue; fi
    call_scale 0 GET
    now=$(field replicas)
    [[ $status == 200 && -n $now ]] || return
    index=${host%%.*}
    if ((${index##*-} >= now)) || ! scale 0 "$((now + 1))"; then continue; fi
    log_replaced "$host" "${team_names[0]}-$now.$service"
    echo "$host $((now + 1))" >>"$generated/replaced"
    echo "$host" >>"$generated/silent"
  done
}

# Replaces the `stuck` hosts of replace_lost.
replace_stuck() {
  replace_silent "${!stuck[@]}"
  stuck=()
  list_all
  list_missing "${candidates[@]}"
}

# Fills `sessions` with the process ids of Horovod's ssh sessions to each host. Starts no process to find out.
find_sessions() {
  local folder words word
  sessions=()
  for folder in /proc/[0-9]*; do
    { mapfile -d '' -t words <"$folder/cmdline"; } 2>/dev/null
    [[ ${words[0]:-} == "$generated/real-ssh" ]] || continue
    for word in "${words[@]}"; do
      [[ -z $word || -z ${heard[$word]:-} ]] || { sessions[$word]+="${folder#/proc/} " && break; }
    done
  done
}

# end_sessions HOST...: ends the sessions of Horovod to hosts that do not answer, so that it notices the loss before ssh does. If more than
# half of its hosts seem lost, the network of the launcher has probably failed, so the API server must confirm it.
end_sessions() {
  local host lost=() ids
  for host; do [[ -z ${sessions[$host]:-} ]] || lost+=("$host"); done
  ((${#lost[@]})) || return 0
  ((2 * ${#lost[@]} <= ${#sessions[@]})) || { [[ -n $scales ]] && confirm_lost "${#lost[@]}"; } || return 0
  log "lost worker $(shorten "${lost[@]}")"
  for host in "${lost[@]}"; do
    echo "$host" >>"$generated/silent"
    read -ra ids <<<"${sessions[$host]}"
    kill "${ids[@]}" 2>/dev/null
  done
}

# Fills `gone` with the hosts that were lost during the attempt.
list_silent() { [[ ! -s $generated/silent ]] || mapfile -t gone < <(sort -u "$generated/silent"); }

# Ends the sessions to hosts that have not answered Horovod's discovery script for 25 seconds, and replaces these hosts. A host that is
# about to end has the time 0. Writes the file `stuck` if Horovod has had no session for a minute although there are enough hosts.
watch_silent() {
  local host when missed now silent found=() idle_since=''
  local -A heard=() sessions=()
  while rest 5; do
    printf -v now '%(%s)T' -1
    silent=() heard=()
    while read -r host when missed _; do
      heard[$host]=1
      ((when == 0 || now - when < 25 || missed < 3)) || silent+=("$host")
    done 2>/dev/null <"$generated/seen"
    find_sessions
    mapfile -t found 2>/dev/null <"$generated/found"
    if ((${#sessions[@]} || ${#found[@]} < min_workers && ${idle_since:-0})); then
      idle_since=$SECONDS
    elif [[ -n $idle_since ]] && ((SECONDS - idle_since >= 60)); then
      echo "Horovod has had no ranks for 60 s, and has not exited" >"$generated/stuck"
    fi
    end_sessions "${silent[@]}"
    [[ -z $scales ]] || replace_silent "${silent[@]}"
  done
}
