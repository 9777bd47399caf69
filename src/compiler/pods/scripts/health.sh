# Checks the hosts of an attempt before it starts. Hosts that fail are replaced.

# Whether the hosts of the next attempt are checked.
is_checked() { ((attempts)) || [[ -n $health_always$is_successor ]]; }

# check_tree: checks all hosts over the tree, and prints the faults that check.sh finds. Removes the hosts that were checked from
# `is_asked`.
check_tree() {
  local level host reason
  while read -r level host reason; do
    # Other hosts are text of a worker, which must not become part of an array subscript.
    [[ -n $host && -n ${is_asked[$host]:-} ]] || continue
    case $level in
    checked) unset "is_asked[$host]" ;;
    suspect | unfit | refused) echo "$level $host $reason" ;;
    esac
  done < <(over_tree $((health_timeout + 60)) /bin/bash "$scripts/check.sh" order "$(printf '%(%s)T' -1)")
}

# ask_health HOST...: prints the faults that check.sh finds on the hosts. Each host also connects to the worker before it and to the
# worker after it.
ask_health() {
  local host index ring=()
  local -A place=() is_asked=()
  for host; do is_asked[$host]=1; done
  if (($# >= ${#hosts[@]})) && has_tree; then check_tree; fi
  ((${#is_asked[@]})) || return 0
  for host in "${candidates[@]}"; do
    if [[ -z ${addresses[$host]:-} ]] || ! is_usable "$host"; then continue; fi
    place[$host]=${#ring[@]}
    ring+=("$host=${addresses[$host]}")
  done
  for host; do
    [[ -n ${is_asked[$host]:-} ]] || continue
    index=${place[$host]:-}
    # If two workers do not reach each other, either may have the fault, so each worker connects to two others.
    ((${#ring[@]} > 2)) && [[ -n $index ]] && host+=" ${ring[index - 1]} ${ring[(index + 1) % ${#ring[@]}]}"
    echo "$host"
  done | xargs -L 1 -P 32 /bin/bash "$scripts/check.sh" from
}

# The checks take longer than other steps.
allow_checks() { beat "$(((${#hosts[@]} / 32 + 1) * (health_timeout + 70)))"; }

# Checks the hosts that were not checked since the last attempt. Fails if there is a new fault, so that other hosts may be chosen.
declare -A passed=()
rejections=0
check_health() {
  local host level reason refused='' changed='' asked=() unfit=() up=0
  for host in "${hosts[@]}" $launcher_host; do
    [[ -z ${answers[$host]:-} && $host != "$launcher_host" || ${passed[$host]:-} == "${instances[$host]:-yes}" ]] ||
      asked+=("$host")
    passed[$host]=${instances[$host]:-yes}
  done
  ((${#asked[@]})) || return 0
  allow_checks
  while read -r level host reason; do
    reason="$host on node ${nodes[$host]:-${KHOROVOD_NODE_IP:--}}: $reason"
    log "health check of $reason"
    [[ $level != refused ]] || refused=$reason
    # Without permissions, no new pod can replace the host, so it is used unless another one is better.
    [[ $level == refused || -n $own_job ]] || level=suspect
    [[ $level == suspect ]] || level=unfit
    if is_unfit "$host" || [[ ${verdicts[$host]:-} == "$level ${instances[$host]:-}" ]]; then continue; fi
    verdicts["$host"]="$level ${instances[$host]:-}" reasons["$host"]=$reason changed=yes
    [[ $level == suspect ]] || faults[${nodes[$host]:--}]=$((${faults[${nodes[$host]:--}]:-0} + 1))
  done < <(ask_health "${asked[@]}")
  [[ -n $changed ]] || return 0
  for host in "${hosts[@]}"; do
    [[ -z ${answers[$host]:-} ]] || ((++up))
    ! is_unfit "$host" || unfit+=("$host")
  done
  if ((${#unfit[@]} > 1 && ${#unfit[@]} == up)); then
    [[ -z $refused ]] || finish 42 "all $up hosts fail the health check, such as $refused"
    log "all $up hosts fail the health check, so the fault is not in one of them: the attempt starts with them"
    verdicts=()
    return 0
  fi
  # This limit ends the run if no worker can pass the check. Without it, the run would try one node after the other.
  if ((${#unfit[@]} && ++rejections > $(limit retries 3) + 1)); then
    finish 42 "hosts that replaced others fail the health check too: ${reasons[${unfit[0]}]}"
  fi
  if [[ -n $launcher_host ]] && is_unfit "$launcher_host"; then
    # Kubernetes replaces this pod; the workers stay.
    stays_evicted=yes
    finish 1 "health check of ${reasons[$launcher_host]}"
  fi
  # In an Indexed Job, Kubernetes replaces a pod that exits. The new pod may be on the same node.
  if [[ -z $scales && -n $own_job ]]; then
    for host in "${unfit[@]}"; do
      timeout -k 1 8 ssh -n "$host" "kill \$(head -n 1 $generated/own)" 2>/dev/null
    done
  fi
  return 1
}

# Adds to `failure` the faults of the hosts that may have caused it.
explain_failure() {
  allow_checks
  mapfile -t remarks < <(ask_health "${hosts[@]}")
  ((${#remarks[@]} == 0)) || failure+="; $(IFS=';' && shorten "${remarks[@]#* }")"
}
