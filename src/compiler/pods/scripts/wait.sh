# Waits until all workers answer, or as many as elastic.minWorkers.
wait_workers() {
  local allowed since=$SECONDS told=-10 absent=${#hosts[@]} needed=${min_workers:-${#hosts[@]}} up=0
  local round=0 probe_timeout asked=$SECONDS waited tenths turn
  local quick=$((${#hosts[@]} < 8 ? 2 : 5 + ${#hosts[@]} / 8))
  local all="$needed workers"
  [[ -z $min_workers ]] || all="at least $needed workers"
  allowed=$(limit wait-timeout 1800)
  missing=("${hosts[@]}")
  # A short timeout: TCP repeats a SYN after a second. Each fifth round is for slow workers.
  while
    probe_timeout=3
    ((++round % 5 == 0 || quick > 30)) || probe_timeout=$((quick / 10)).$((quick % 10))
    no_address=()
    # Once a minute all are probed, whatever the API server answers.
    if [[ -n $scales ]] && ((SECONDS - asked < 60)); then find_no_address; else asked=$SECONDS; fi
    find_missing "${missing[@]}"
    up=$((${#hosts[@]} - ${#missing[@]}))
    ((up < needed))
  do
    check_limits
    waited=$((SECONDS - since))
    if ((waited >= allowed)); then
      finish 42 "only $up of $all answered on port $port within $allowed s; missing: $(shorten "${missing[@]}")"
    fi
    if ((${#missing[@]} < absent || SECONDS - told >= 10)); then
      log "$up of $all answer; waiting for $(shorten "${missing[@]}")"
      told=$SECONDS absent=${#missing[@]}
    fi
    # The last few are probed often. Probing many would take processor time from workers that start.
    tenths=$((waited < 10 && ${#missing[@]} < 64 ? 1 : 5))
    for turn in {1..9}; do
      pause "$((waited / 60 ? 2 : 0)).$tenths"
      [[ -z $scales$min_workers && $tenths == 1 && -n ${missing[3]:-} && -z $(probe_hosts <<<"${missing[-1]}") ]] || break
    done
  done
  no_address=()
  log "$up of $all answer after $((SECONDS - since)) s"
}
