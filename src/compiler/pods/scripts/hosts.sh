# The workers of the job, and those of them that are hosts of the current attempt.

# Fills `candidates` with all workers that may be hosts, and `hosts` and `slots` with the first ones in the order of ranks. An
# elastic job lists every candidate as a host.
declare -A team_of=()
team_added=()
list_hosts() {
  local team
  candidates=() hosts=() slots=()
  for team in "${!team_names[@]}"; do list_team "$team"; done
}

# list_team TEAM: the workers of one group.
list_team() {
  local index host end=${max_workers:-$((team_replicas[$1] + team_spares[$1] + ${team_added[$1]:-0}))}
  for ((index = 0; index < end; index++)); do
    host=${team_names[$1]}-$index.$service
    candidates+=("$host") team_of[$host]=$1
    [[ -n $max_workers ]] || ((index < team_replicas[$1])) || continue
    hosts+=("$host") slots+=("${team_slots[$1]}")
  done
}

# Whether a worker has answered in this round of checks, is not about to end, and has not failed its health check.
is_usable() { [[ -n ${answers[$1]:-} && -z ${leaving[$1]:-} ]] && ! is_unfit "$1"; }

# Whether a worker failed its health check. The verdict is for one instance, so it does not apply to a new pod with the same name.
declare -A verdicts=() reasons=()
is_unfit() { [[ ${verdicts[$1]:-} == "unfit ${instances[$1]:-}" ]]; }

# Whether workers on this worker's node were lost twice, or another worker would be better.
is_avoided() {
  ((${faults[${nodes[$1]:--}]:-0} > 1)) || [[ ${verdicts[$1]:-} == "suspect ${instances[$1]:-}" ]]
}

# topology.sh redefines these two.
near_first() { substitutes=("${candidates[@]}"); }
order_hosts() { :; }

# Keeps each host of the last attempt that is usable, so that its ranks stay where their data is. Replaces each other host by another
# worker of its group.
declare -A faults=()
choose_hosts() {
  local index host other substitutes
  local -A taken=()
  [[ -z $max_workers ]] || return 0
  for host in "${hosts[@]}"; do
    if is_usable "$host" && ! is_avoided "$host"; then taken[$host]=1; fi
  done
  ((${#taken[@]} < ${#hosts[@]})) || return 0
  for index in "${!hosts[@]}"; do
    host=${hosts[index]}
    [[ -z ${taken[$host]:-} ]] || continue
    near_first "$host"
    for other in "${substitutes[@]}"; do
      [[ ${team_of[$other]} == "${team_of[$host]}" && -z ${taken[$other]:-} ]] || continue
      if ! is_usable "$other" || is_avoided "$other"; then continue; fi
      log "$other takes the place of $host$(! is_usable "$host" || [[ -n ${reasons[$host]:-} ]] || echo ", whose node ${nodes[$host]} failed ${faults[${nodes[$host]}]} times")"
      event Normal WorkerReplaced "${other%%.*} takes the place of ${host%%.*}"
      hosts[index]=$other taken[$other]=1
      continue 2
    done
    taken[$host]=1
  done
}

# Writes the hostfile of the attempt, the list of the workers that have failed their health check, and the addresses that the script
# `ssh` uses. The addresses are left out if workers may get other addresses while the job runs.
write_hostfile() {
  local index
  {
    [[ -z $launcher_host || ${launcher_host} == "${hosts[0]}" ]] || echo "$launcher_host$hostfile_mark$launcher_slots"
    for index in "${!hosts[@]}"; do echo "${hosts[index]}$hostfile_mark${slots[index]}"; done
  } >"$generated/hostfile"
  chmod 0644 "$generated/hostfile"
  for index in "${candidates[@]}"; do ! is_unfit "$index" || echo "$index"; done >"$generated/unfit"
  rm -rf "$generated/addresses"
  [[ -z $min_workers ]] && ((${#launch[@]})) || return 0
  mkdir -p "$generated/addresses"
  for index in "${hosts[@]}"; do
    [[ -z ${addresses[$index]:-} ]] || echo "${addresses[$index]}" >"$generated/addresses/$index"
  done
  [[ -e $scripts/srun ]] || return 0
  for index in "${hosts[@]}"; do
    [[ $index == "$launcher_host" ]] || echo "$index ${addresses[$index]:-$index} ${instances[$index]:--}"
  done >"$generated/tree"
}

# probe_hosts: prints a line of probe.sh for each target of standard input that answers, after at most `probe_timeout` seconds for 16
# targets. Probes 128 at a time.
probe_timeout=3
probe_hosts() { xargs -r -n 16 -P 8 timeout -k 1 "$probe_timeout" /bin/bash "$scripts/probe.sh" "$port" "$domain"; }

# Makes a host name fully qualified, so that the resolver does not try each search domain.
domain=$(
  while read -r key first _; do
    [[ $key != search || $first != *.svc.* ]] || echo ".${first%.}."
  done </etc/resolv.conf
)

# find_missing HOST...: fills `missing` with the hosts that do not answer, and for the others `answers` with their MPI,
# `addresses`, `nodes`, `domains`, `instances` (which change if the pod or its container starts again) and `leaving`. With `by_address`
# it uses known addresses instead of names. It also uses the addresses in `listed`, and does not probe hosts in `no_address`, unless
# `by_name` is set. `in_turn` is for calls in which all hosts should answer as before: it first finds those that may not, the `unsure` ones,
# which takes a tenth of the processor time. One process probes 128 hosts. If one of them gives another answer, these and all later ones are
# unsure.
declare -A answers=() greetings=() addresses=() nodes=() domains=() instances=() leaving=() no_address=() listed=()
by_address='' by_name='' in_turn='' unsure=()
find_missing() {
  local host address from=0 asked=() probes=()
  unsure=() missing=()
  for host; do
    if [[ -n ${in_turn:+${greetings[$host]:-}} ]]; then
      asked+=("$host") probes+=("${addresses[$host]}" "${host%%.*}" "${greetings[$host]}")
    else
      unsure+=("$host")
    fi
  done
  while ((from < ${#asked[@]})) && timeout -k 1 "$probe_timeout" /bin/bash "$scripts/probe.sh" "$port" same "${probes[@]:from * 3:384}"; do
    ((from += 128))
  done
  unsure+=("${asked[@]:from}")
  ((${#unsure[@]})) || return 0
  for host in "${unsure[@]}"; do unset "answers[$host]" "greetings[$host]" "leaving[$host]"; done
  read_answers < <(
    for host in "${unsure[@]}"; do
      [[ -z ${no_address[$host]:-} || -n $by_name ]] || continue
      if [[ -n $by_address && -n ${addresses[$host]:-} ]]; then
        echo "$host=${addresses[$host]}"
      elif [[ -n ${listed[$host]:-} && -z $by_name ]]; then
        # The list may also have the address of the dead pod that this one replaces.
        for address in ${listed[$host]}; do echo "$host=$address"; done
      else
        echo "$host"
      fi
    done | probe_hosts
  )
  for host in "${unsure[@]}"; do [[ -n ${answers[$host]:-} ]] || missing+=("$host"); done
}

read_answers() {
  local host mpi address node instance state
  while read -r host mpi address node instance state; do
    [[ ${address:--} == - ]] || addresses[$host]=$address greetings[$host]="$mpi $address $node $instance${state:+ $state}"
    [[ $node != *=* ]] || domains[$host]=${node#*=} node=${node%%=*}
    answers[$host]=$mpi nodes[$host]=${node:--} instances[$host]=$instance
    [[ -z $state ]] || leaving[$host]=1
  done
}
