# Models and data are downloaded once per job, and passed on from pod to pod: see download.py.
#
# The pods have positions: first the workers, group by group, then a launcher pod that runs ranks, then workers that replace others.
distributor=''

# Sets `position` of this pod, and `positions`, the number of pods at the start.
find_position() {
  local team size name=${HOSTNAME%%.*}
  position='' positions=0
  [[ ! -e $scripts/agent.sh && ! -e $scripts/indexed.sh ]] || position=$JOB_COMPLETION_INDEX
  # With hostNetwork, HOSTNAME is the name of the node.
  [[ " ${team_names[*]} " == *" ${name%-*} "* ]] || name=${KHOROVOD_POD_NAME:-$name}
  for team in "${!team_names[@]}"; do
    size=$((team_replicas[team] + team_spares[team]))
    if [[ -z $position && ${name%-*} == "${team_names[team]}" ]]; then
      position=${name##*-}
      ((position < size)) && position=$((positions + position)) || position=+$((position - size))
    fi
    ((positions += size))
  done
  if [[ -n $launcher_host && ! -e $scripts/agent.sh && ! -e $scripts/indexed.sh ]]; then
    [[ -n $position ]] || position=$positions
    ((++positions))
  fi
  [[ -n $position ]] || position=+0
  [[ $position != +* ]] || position=$((positions + ${position#+}))
}

# host_of POSITION: prints the name of a pod.
host_of() {
  local team size at=$1
  for team in "${!team_names[@]}"; do
    size=$((team_replicas[team] + team_spares[team]))
    ((at >= size)) || { echo "${team_names[team]}-$at.$service" && return; }
    ((at -= size))
  done
  echo "$launcher_host"
}

download_once() {
  local position positions at names=() child code result=$generated/downloaded
  find_position
  for ((at = position; at > 0; )); do
    at=$(((at - 1) / 2))
    ((at >= positions)) || names+=("$(host_of "$at")")
  done
  names+=(-)
  for child in $((2 * position + 1)) $((2 * position + 2)); do
    ((child >= positions)) || names+=("$(host_of "$child")")
  done
  rm -f "$result"
  python3 "$scripts/download.py" "$result" "$position" "$positions" "${names[@]}" &
  distributor=$!
  until [[ -e $result ]]; do
    kill -0 "$distributor" 2>/dev/null || break
    pause 0.2
  done
  [[ "$(cat "$result" 2>/dev/null)" != ok ]] || return 0
  wait "$distributor"
  code=$?
  undownloaded=$(cat "$result" 2>/dev/null) || undownloaded="download.py ended with code $code; see the lines above"
  terminate_message "$undownloaded"
  return "$code"
}
