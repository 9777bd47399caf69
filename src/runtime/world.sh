# shellcheck shell=bash disable=SC1091,SC2034,SC2154
# Asserts the world before anything trains: the MPI asked for, one version everywhere, and as
# many hosts and ranks as the spec says. A wrong world fails here, not after a night on one node.
assert_world() {
  local here line host version wanted got
  local -A ranks=() versions=()
  local pattern='khorovod-rank ([^ ]+) ([^ ]+)\.'
  here=$(mpi_found)
  if [[ $here == none ]]; then finish 42 "the image has no mpirun on PATH; the spec says $mpi"; fi
  if [[ ${here%% *} != "$mpi" ]]; then finish 42 "the image has $here; the spec says $mpi (launcher.mpi)"; fi

  start timeout "$((120 + np / 50))" "${runner[@]}" /bin/bash "$scripts/rank.sh" >"$generated/world" 2>"$generated/world.log"
  wait "$training"
  stop_training
  while read -r line; do
    [[ $line =~ $pattern ]] || continue
    host=${BASH_REMATCH[1]} version=${BASH_REMATCH[2]}
    ranks[$host]=$((${ranks[$host]:-0} + 1))
    [[ $version == - ]] || versions[$version]=$host
  done <"$generated/world"
  if ((${#ranks[@]} == 0)); then
    log "the trial launch said:"
    tail -n 40 "$generated/world" "$generated/world.log" >&2
    return 1
  fi
  if ((${#versions[@]} != 1)) || [[ ${here/ /-} != "${!versions[*]}" ]]; then
    finish 42 "MPI differs: the launcher has $here, workers have $(for version in "${!versions[@]}"; do printf '%s (on %s) ' "$version" "${versions[$version]}"; done)"
  fi
  # Host names differ from pod names on the host's network, so count.
  wanted=$( ((${#launcher_host})) && [[ $launcher_host != "${hosts[0]}" ]] && echo "$launcher_slots"; printf '%s\n' "${slots[@]}")
  wanted=$(sort -n <<<"$wanted" | uniq -c)
  got=$(printf '%s\n' "${ranks[@]}" | sort -n | uniq -c)
  if [[ $wanted != "$got" ]]; then
    finish 42 "the world is not the spec's: wanted $(counts "$wanted"); got $(counts "$got")"
  fi
  log "the world is right: $np ranks on ${#ranks[@]} hosts under $here"
}

# `4 8` as `4 hosts of 8 ranks`.
counts() {
  local many each text=''
  while read -r many each; do text+="${text:+, }$many hosts of $each ranks"; done <<<"$1"
  printf '%s' "$text"
}
