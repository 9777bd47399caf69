# Finds the domains of the hosts by the round-trip times between them, if `rankOrder` is `measured`.

# To how many hosts all others measure in one round. In a job with at most that many hosts, each measures to each.
landmarks=${landmarks:-64}

# order_hosts: like that of topology.sh, but with measured domains.
order_hosts() {
  local first='' known='' runs=() unknown=() gaps=() span='' host sizes
  local -A groups=()
  # The hosts of an elastic job have not all answered, and their order has no effect.
  [[ -z $min_workers ]] || return 0
  beat $((120 + ${#hosts[@]} / 2))
  measure_domains
  [[ -z $launcher_host ]] || first=${domains[$launcher_host]:-}
  sort_hosts "$first"
  for host in "${hosts[@]}"; do
    if [[ -n ${domains[$host]:-} ]]; then groups[${domains[$host]}]=1; else unknown+=("$host"); fi
  done
  if ((${#gaps[@]})); then
    mapfile -t sizes < <(printf '%s\n' "${runs[@]}" | sed -n 's/^[0-9].* (\([0-9]*\)),*$/\1/p')
    ((${#sizes[@]} <= 8)) || sizes=("${sizes[@]:0:8}" ...)
    log "ranks follow the measured round-trip times: $(count "${#groups[@]}" group) ($(join "${sizes[@]}") hosts), gaps: $(join "${gaps[@]}")"
    ((${#unknown[@]} == 0)) || log "hosts whose round-trip times could not be measured come last: $(shorten "${unknown[@]}")"
  elif [[ -n $span ]]; then
    log "the measured round-trip times, $span, have no clear gap: ranks follow the numbers of the workers"
  else
    log "no round-trip time could be measured: ranks follow the numbers of the workers"
  fi
}

# measure_domains: sets the domains of all workers that may be hosts, and `gaps` and `span` of order_hosts. A domain is `0/3`: for each
# gap, the outermost first, the number of the first host of the group. Without a gap there are no domains.
measure_domains() {
  local all=() alone=() edges=() path=() marks=() targets=() host index step round since=$SECONDS
  local -A number=()
  local -a was_mark=()
  all=("${hosts[@]}")
  for host in "${hosts[@]}"; do number[$host]=0; done
  for host in "${candidates[@]}"; do
    [[ -n ${number[$host]:-} ]] || ! is_usable "$host" || all+=("$host")
  done
  # on_hosts executes the command in this pod only if its host is the last one.
  if [[ -n $launcher_host ]]; then
    addresses["$launcher_host"]=${addresses[$launcher_host]:-${KHOROVOD_POD_IP:-}}
    [[ -n ${number[$launcher_host]:-} ]] || all+=("$launcher_host")
  fi
  for index in "${!all[@]}"; do
    number[${all[index]}]=$index
    unset "domains[${all[index]}]"
    # An address is text of a worker, which becomes part of commands.
    [[ ! ${addresses[${all[index]}]:-} =~ ^[0-9A-Fa-f.:]+$ ]] || alone+=("$index")
  done
  # A group may not contain any of these hosts. It gets one in the next round, which is spread over the hosts without a group. Steps of the
  # golden ratio do not follow a pattern of the racks.
  for round in 1 2 3 4; do
    marks=() targets=()
    for ((step = 0; step < landmarks && step < ${#alone[@]}; step++)); do
      index=${alone[${#alone[@]} > landmarks ? step * 40503 % 65536 * ${#alone[@]} / 65536 : step]}
      [[ -z ${was_mark[index]:-} ]] || continue
      was_mark[index]=1 marks+=("$index") targets+=("${addresses[${all[index]}]}")
    done
    ((${#marks[@]})) || break
    read_times < <(ask_times)
    group_hosts
    ((${#gaps[@]} && round < 4 && SECONDS - since < 30)) || break
  done
  rank_order=(0)
  ((${#gaps[@]})) || return 0
  rank_order=("${!gaps[@]}")
  for index in "${!path[@]}"; do domains["${all[index]}"]=${path[index]}; done
}

# ask_times: prints a line of measure.sh for each host in `all`, over the tree if there is one.
ask_times() {
  local host output='' rest=()
  local -A has_answered=()
  if has_tree; then output=$(over_tree 25 /bin/bash "$scripts/measure.sh" order "${targets[@]}"); fi
  while read -r host _; do [[ -z $host ]] || has_answered[$host]=1; done <<<"$output"
  [[ -z $output ]] || echo "$output"
  for host in "${all[@]}"; do
    [[ -n ${has_answered[$host]:-} || $host == "$launcher_host" ]] || rest+=("$host")
  done
  rest+=(${launcher_host:+"$launcher_host"})
  ((${#rest[@]} == 0)) || on_hosts 25 "/bin/bash $scripts/measure.sh {} ${targets[*]}" "${rest[@]}"
}

# read_times: adds to `edges` times with the indexes of their two hosts: all times of a host to which others measure, and the shortest
# time of any other host.
read_times() {
  local host line times from index least nearest
  while read -r host line; do
    # Other lines are text of a worker, which must not become part of an array subscript.
    [[ -n $host && -n ${number[$host]:-} && $line =~ ^((-|[1-9][0-9]{0,8})( |$))+$ ]] || continue
    from=${number[$host]} nearest='' least=''
    read -r -a times <<<"$line"
    for index in "${!marks[@]}"; do
      [[ ${times[index]:--} != - && $from != "${marks[index]}" ]] || continue
      if [[ -n ${was_mark[from]:-} ]]; then
        edges+=("${times[index]} $from ${marks[index]}")
      elif ((times[index] < ${least:-times[index] + 1})); then
        least=${times[index]} nearest=${marks[index]}
      fi
    done
    [[ -z $nearest ]] || edges+=("$least $from $nearest")
  done
}

# group_hosts: joins groups of hosts by the shortest times first. If the next time that joins two groups is at least 1.5 times the last
# one, and 20 microseconds longer, there is a gap, and the groups before it are a level. Fills `path` with the domains, and `alone` with
# hosts that are alone at the innermost level and to which no host has measured.
group_hosts() {
  local time from to last=0 index root shortest='' parent=("${!all[@]}") inner=()
  local -a is_known=() members=()
  gaps=() path=() alone=() span=''
  while read -r time from to; do
    [[ -n $time ]] || continue
    is_known[from]=1 is_known[to]=1
    find_root "$from"
    from=$root
    find_root "$to"
    to=$root
    ((from != to)) || continue
    if ((last && time >= last + 20 && 2 * time >= 3 * last)); then
      add_level
      gaps=("$(print_ms "$last") to $(print_ms "$time") ms" "${gaps[@]}")
    fi
    shortest=${shortest:-$time} last=$time
    # The root is the first host of the group.
    parent[from > to ? from : to]=$((from < to ? from : to))
  done < <(printf '%s\n' "${edges[@]}" | LC_ALL=C sort -n)
  [[ -z $shortest ]] || span="$(print_ms "$shortest") to $(print_ms "$last") ms"
  for index in "${!all[@]}"; do
    [[ -n ${is_known[$index]:-} ]] || unset "path[index]"
  done
  for index in "${!path[@]}"; do ((members[inner[index]] > 1)) || [[ -n ${was_mark[index]:-} ]] || alone+=("$index"); done
}

# add_level: puts the groups before the groups of the levels inside them.
add_level() {
  for index in "${!all[@]}"; do
    find_root "$index"
    path[index]=$root${path[index]:+/${path[index]}}
    ((${#gaps[@]})) || inner[index]=$root members[root]=$((${members[root]:-0} + 1))
  done
}

# find_root INDEX: sets `root` to the first host of its group.
find_root() {
  root=$1
  while ((parent[root] != root)); do
    parent[root]=${parent[parent[root]]}
    root=${parent[root]}
  done
}

join() {
  local list
  printf -v list ', %s' "$@"
  printf '%s' "${list:2}"
}

print_ms() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }
