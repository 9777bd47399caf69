# wait_workers SINCE: waits until enough workers of each group answer. Enough are all workers or, in an elastic job,
# workers.elastic.minReplicas.
wait_workers() {
  local allowed since=$1 told=-10 absent=${#candidates[@]} needed=${min_workers:-${#hosts[@]}} up=0
  local round=0 probe_timeout asked=$SECONDS waited tenths turn by_address=yes by_name='' free=()
  local text queue='' quick=$((${#candidates[@]} < 8 ? 2 : 5 + ${#candidates[@]} / 8))
  local all="$needed workers"
  [[ -z $min_workers ]] || { all="at least $needed workers" && list_all; }
  allowed=$(limit wait-timeout 1800)
  missing=("${candidates[@]}") addressed=()
  # The timeout is short, because TCP repeats a lost SYN only after a second. Every fifth round has a longer one for slow workers.
  while
    probe_timeout=3
    ((++round % 5 == 0 || quick > 30)) || probe_timeout=$((quick / 10)).$((quick % 10))
    no_address=() listed=()
    [[ -z $own_job ]] || find_no_address
    # Once a minute all missing workers are probed, whether or not the API server lists their addresses.
    by_name=''
    ((SECONDS - asked < 60)) || by_name=yes asked=$SECONDS
    # The first round uses the addresses of the last attempt, which need no DNS.
    find_missing "${missing[@]}"
    by_address=''
    count_usable
    ((up < needed))
  do
    check_limits
    waited=$((SECONDS - since))
    note_gang
    if ((waited >= allowed)); then
      finish 42 "only $up of $all answered on port $port within $allowed s$queue; missing: $(shorten "${missing[@]}")$(explain_unfit "${missing[@]}")"
    fi
    [[ -z $scales ]] || replace_lost "$waited"
    if ((${#missing[@]} < absent || SECONDS - told >= 10)); then
      text="$up of $all answer$queue; waiting for $(shorten "${missing[@]}")"
      log "$text"
      ((up == 0)) || has_workers=yes
      record_phase waiting "$text"
      told=$SECONDS absent=${#missing[@]}
    fi
    # The last few are probed often. Probing many would take processor time from workers that start.
    tenths=$((waited < 10 && ${#missing[@]} < 64 ? 1 : 5))
    for turn in {1..9}; do
      pause "$((waited / 60 ? 2 : 0)).$tenths"
      [[ -z $own_job$min_workers && $tenths == 1 && -n ${missing[3]:-} && -z $(probe_hosts <<<"${missing[-1]}") ]] || break
    done
  done
  no_address=() listed=()
  log "$up of $all answer after $((SECONDS - since)) s"
}

# explain_unfit HOST...: prints which of the hosts failed their health check, and why.
explain_unfit() {
  local host
  for host; do ! is_unfit "$host" || printf '; %s' "${reasons[$host]}"; done
}

# Sets `up` of wait_workers to the number of usable workers, not counting more of a group than it needs, and `free` to the number
# that each group lacks. Workers that are about to end are checked again.
count_usable() {
  local host
  free=("${team_replicas[@]}")
  missing+=("${!leaving[@]}")
  for host in "${!verdicts[@]}"; do
    [[ -z ${answers[$host]:-} ]] || ! is_unfit "$host" || missing+=("$host")
  done
  if [[ -n $min_workers ]]; then
    up=$((${#candidates[@]} - ${#missing[@]}))
    return
  fi
  up=0
  for host in "${candidates[@]}"; do
    if is_usable "$host" && ((free[${team_of[$host]}]-- > 0)); then ((++up)); fi
  done
}
