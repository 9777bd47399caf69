# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Waits until the workers answer: all of them, or the smallest number an elastic job runs with.
wait_workers() {
  local allowed began=$SECONDS told=-10 absent=${#hosts[@]} tolerated=0
  allowed=$(limit wait-timeout 1800)
  [[ -z $min_workers ]] || tolerated=$((${#hosts[@]} - min_workers))
  missing=("${hosts[@]}")
  while find_missing "${missing[@]}"; ((${#missing[@]} > tolerated)); do
    check_limits
    if ((SECONDS - began >= allowed)); then
      finish 42 "${#missing[@]} of ${#hosts[@]} workers did not answer on port $port within $allowed s: $(some "${missing[@]}")"
    fi
    if ((${#missing[@]} < absent || SECONDS - told >= 10)); then
      log "waiting for ${#missing[@]} of ${#hosts[@]} workers: $(some "${missing[@]}")"
      told=$SECONDS absent=${#missing[@]}
    fi
    pause 1
  done
  log "$((${#hosts[@]} - ${#missing[@]})) of ${#hosts[@]} workers answer after $((SECONDS - began)) s"
}
