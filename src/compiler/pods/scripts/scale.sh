# Scales the workers.

# call_scale TEAM METHOD [BODY]
call_scale() { call "$2" "/apis/apps/v1/namespaces/$namespace/statefulsets/${team_names[$1]}/scale" "${3:-}"; }

# scale TEAM REPLICAS: succeeds if the API server accepts it, or if there is nothing left to scale down.
scale() {
  call_scale "$1" PATCH "{\"spec\":{\"replicas\":$2}}"
  [[ $status == 200 || ($status == 404 && $2 == 0) ]]
}

# wanted TEAM: prints how many workers of a group should run.
wanted() { echo "$((team_replicas[$1] + team_spares[$1] + ${team_added[$1]:-0}))"; }

# Scales to the number of workers in the spec. Does not lower a higher scale: a user may have raised the scale of an elastic job, or an
# earlier launcher may have added workers.
scale_up() {
  local team told=-10 tries=0 now
  for team in "${!team_names[@]}"; do
    if [[ -n $max_workers$is_successor ]]; then
      call_scale "$team" GET
      now=$(field replicas || echo 0)
      if [[ $status == 200 ]] && ((now > $(wanted "$team"))); then
        if [[ -n $max_workers ]]; then echo "- $now" >"$generated/replaced"; else team_added[team]=$((now - $(wanted "$team"))); fi
        continue
      fi
    fi
    until scale "$team" "$(wanted "$team")"; do
      if ((SECONDS - told >= 10)); then
        log "cannot scale ${team_names[team]} to $(wanted "$team") (HTTP $status): ${answer:0:300}"
        told=$SECONDS
      fi
      # The Role may be as new as this pod, and then it may not be in effect yet. After other errors, such as an API server that is
      # unavailable, this tries again until the timeout.
      if [[ $status == 40[13] ]] && ((++tries >= 4)); then
        max_denials=1
        finish 42 "cannot scale ${team_names[team]} (HTTP $status)$(explain_denied "get and patch on statefulsets/scale")"
      fi
      ((SECONDS < $(limit wait-timeout 1800))) || finish 42 "cannot scale ${team_names[team]} (HTTP $status)"
      check_limits
      pause 2
    done
  done
}

# replace_lost WAITED: starts one more worker for each host that has failed its health check, or has an address for 15 seconds and does not
# answer. Its node may never come back, and Kubernetes does not replace a pod of a StatefulSet while its node does not answer. A worker
# that never answered may still prepare its volumes, so it is lost after two minutes, and only if most workers answer. Called by
# wait_workers, and changes its `free`.
#
# `addressed` has the addresses of each worker behind the time since which it has them. If the API server lists none, a worker that has
# answered before counts as one with an address.
unscaled=''
declare -A addressed=()
replace_lost() {
  local host team index address wait never='' changed=''
  local -A stuck=()
  ((2 * up < needed)) || never=120
  # An earlier launcher may have heard from it.
  [[ -z $is_successor ]] || never=15
  for host in "${missing[@]}"; do
    address=${listed[$host]:-}
    [[ -n $has_list ]] || address=${nodes[$host]:-}
    [[ ${addressed[$host]:-} == *" $address" ]] || addressed[$host]="$SECONDS $address"
    wait=${nodes[$host]:+15}
    wait=${wait:-$never}
    if is_unfit "$host" || { [[ -n $wait && -n $address ]] && ((SECONDS - ${addressed[$host]%% *} >= wait)); }; then
      stuck[$host]=1
    else
      # It is about to answer, unless it is a spare that had time to start during an attempt: its node may also have failed.
      team=${team_of[$host]} index=${host%%.*}
      if (($1 >= 30 && attempts && ${index##*-} < team_replicas[team] + team_spares[team])) && [[ -n $address ]]; then continue; fi
      ((free[team]--))
    fi
  done
  [[ -z $max_workers ]] || replace_stuck
  for host in "${hosts[@]}"; do
    team=${team_of[$host]}
    if [[ -z ${stuck[$host]:-} ]] || ((free[team]-- <= 0)); then continue; fi
    changed+=" $team"
    team_added[team]=$((${team_added[team]:-0} + 1))
    candidates+=("${team_names[team]}-$(($(wanted "$team") - 1)).$service")
    team_of[${candidates[-1]}]=$team
    missing+=("${candidates[-1]}")
    log_replaced "$host" "${candidates[-1]}"
  done
  changed+=$unscaled unscaled=''
  for team in $changed; do
    scale "$team" "$(wanted "$team")" || unscaled+=" $team"
  done
}

log_replaced() {
  local why="has an address but does not answer"
  ! is_unfit "$1" || why="failed its health check"
  log "$1 $why: $2 replaces it"
  event Normal WorkerReplaced "${1%%.*} $why: ${2%%.*} replaces it"
}

# Ends added workers that no host needs any more.
release_added() {
  local team host last
  for team in "${!team_names[@]}"; do
    ((${team_added[team]:-0})) || continue
    last=0
    for host in "${hosts[@]}"; do
      [[ ${team_of[$host]} == "$team" ]] || continue
      host=${host%%.*}
      ((${host##*-} < last)) || last=$((${host##*-} + 1))
    done
    host=$((team_replicas[team] + team_spares[team]))
    ((last > host)) || last=$host
    ((last < $(wanted "$team"))) || continue
    team_added[team]=$((last - host))
    scale "$team" "$last" || true
  done
}

# confirm_lost COUNT: whether the API server reports that at least COUNT workers are not Ready.
confirm_lost() {
  local team ready=0 all=0
  for team in "${!team_names[@]}"; do
    call GET "/apis/apps/v1/namespaces/$namespace/statefulsets/${team_names[team]}"
    [[ $status == 200 ]] || return
    ((ready += $(field readyReplicas || echo 0), all += $(wanted "$team")))
  done
  ((all - ready >= $1))
}

# Scales the workers to 0. Returns once the API server has accepted it.
release_workers() {
  local team tries=0
  for team in "${!team_names[@]}"; do
    until scale "$team" 0; do
      # After `kubectl delete` the ServiceAccount may be deleted. Its token then stays invalid, so few tries are enough.
      [[ $status != 401 ]] || max_denials=3
      # Waiting does not grant a missing permission.
      if [[ $status == 40[13] ]] && ((++tries >= ${max_denials:-30})); then
        log "NOT RELEASED: ${team_names[team]} still runs; delete it with: kubectl delete statefulset ${team_names[team]}"
        return
      fi
      log "cannot release ${team_names[team]} yet (HTTP $status): ${answer:0:300}"
      pause 2
    done
  done
  log "released the workers"
  event Normal WorkersReleased "released the workers"
}
