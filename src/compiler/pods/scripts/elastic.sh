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
  done
}

# Replaces the `stuck` hosts of replace_lost.
replace_stuck() {
  replace_silent "${!stuck[@]}"
  stuck=()
  list_all
  list_missing "${candidates[@]}"
}

# Replaces hosts that have not answered Horovod's discovery script for 25 seconds. A host that is about to end has the time 0.
watch_silent() {
  local host when missed now silent
  while rest 5; do
    printf -v now '%(%s)T' -1
    silent=()
    while read -r host when missed _; do
      ((when == 0 || now - when < 25 || missed < 3)) || silent+=("$host")
    done 2>/dev/null <"$generated/seen"
    replace_silent "${silent[@]}"
  done
}
