# Waits until the workers answer: all of them, or the smallest number an elastic job runs with.
wait_workers() {
  local allowed since=$SECONDS told=-10 absent=${#hosts[@]} needed=${min_workers:-${#hosts[@]}} up=0
  local round=0 quick=$((2 + ${#hosts[@]} / 5)) calm=$((1 + ${#hosts[@]} / 8)) tenths patience asked=$SECONDS waited present unborn
  local all="$needed workers"
  [[ -z $min_workers ]] || all="at least $needed workers"
  allowed=$(limit wait-timeout 1800)
  missing=("${hosts[@]}")
  ((calm < 5)) || calm=5
  # Briefly at first: where nobody is yet, TCP tries again after a whole second. Some need longer.
  while
    tenths=$((++round % 5 ? quick << round % 5 / 2 : 30))
    ((tenths < 30)) || tenths=30
    patience=$((tenths / 10)).$((tenths % 10))
    present=("${missing[@]}") unborn=()
    # Once a minute all are asked, whatever the API server knows of them.
    if [[ -n $scales ]] && ((SECONDS - asked < 60)); then locate; else asked=$SECONDS; fi
    find_missing "${present[@]}"
    missing+=("${unborn[@]}")
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
    pause "$((waited / 60 ? 2 : 0)).$((waited < 10 ? calm : 5))"
  done
  log "$up of $all answer after $((SECONDS - since)) s"
}
