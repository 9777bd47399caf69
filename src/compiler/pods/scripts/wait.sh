# Waits until the workers answer: all of them, or the smallest number an elastic job runs with.
wait_workers() {
  local allowed since=$SECONDS told=-10 absent=${#hosts[@]} needed=${min_workers:-${#hosts[@]}} up=0
  local round=0 patience asked=$SECONDS waited tenths turn
  local quick=$((${#hosts[@]} < 8 ? 2 : 5 + ${#hosts[@]} / 8))
  local all="$needed workers"
  [[ -z $min_workers ]] || all="at least $needed workers"
  allowed=$(limit wait-timeout 1800)
  missing=("${hosts[@]}")
  # Briefly: where nobody is yet, TCP tries again after a whole second. Some need longer.
  while
    patience=3
    ((++round % 5 == 0 || quick > 30)) || patience=$((quick / 10)).$((quick % 10))
    unborn=()
    # Once a minute all are asked, whatever the API server knows of them.
    if [[ -n $scales ]] && ((SECONDS - asked < 60)); then locate; else asked=$SECONDS; fi
    find_missing "${missing[@]}"
    up=$((${#hosts[@]} - ${#missing[@]}))
    ((up < needed))
  do
    check_limits
    waited=$((SECONDS - since))
    if ((waited >= allowed)); then
      finish 42 "only $up of $all answered on port $port within $allowed s; missing: $(some "${missing[@]}")"
    fi
    if ((${#missing[@]} < absent || SECONDS - told >= 10)); then
      log "$up of $all answer; waiting for $(some "${missing[@]}")"
      told=$SECONDS absent=${#missing[@]}
    fi
    # The last ones soon; where more are still to come, asking all would keep the processors from starting them.
    tenths=$((waited < 10 && ${#missing[@]} < 64 ? 1 : 5))
    for turn in {1..9}; do
      pause "$((waited / 60 ? 2 : 0)).$tenths"
      [[ -z $scales$min_workers && $tenths == 1 && -n ${missing[3]:-} && -z $(answering <<<"${missing[-1]}") ]] || break
    done
  done
  unborn=()
  log "$up of $all answer after $((SECONDS - since)) s"
}
