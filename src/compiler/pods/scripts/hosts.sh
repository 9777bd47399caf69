# The job's hosts in the order of ranks.

# Fills `hosts` and `slots`. An elastic job lists every candidate.
list_hosts() {
  local team index
  hosts=() slots=()
  for team in "${!team_names[@]}"; do
    for ((index = 0; index < ${max_workers:-${team_replicas[team]}}; index++)); do
      hosts+=("${team_names[team]}-$index.$service")
      slots+=("${team_slots[team]}")
    done
  done
}

# Writes the hostfile. One that is too large for a ConfigMap is made here.
write_hostfile() {
  local index
  if [[ -e $scripts/hostfile ]]; then
    cp -L "$scripts/hostfile" "$generated/hostfile"
  else
    {
      [[ -z $launcher_host || ${launcher_host} == "${hosts[0]}" ]] || echo "$launcher_host$hostfile_mark$launcher_slots"
      for index in "${!hosts[@]}"; do echo "${hosts[index]}$hostfile_mark${slots[index]}"; done
    } >"$generated/hostfile"
  fi
  chmod 0644 "$generated/hostfile"
}

# Prints the hosts of standard input that answer, with their MPI. Probes 128 at a time, for `probe_timeout` seconds each.
probe_timeout=3
probe_hosts() { xargs -r -n 16 -P 8 timeout "$probe_timeout" /bin/bash "$scripts/probe.sh" "$port" "$domain"; }

# Makes a host name fully qualified, so that the resolver does not try each search domain.
domain=$(
  while read -r key first _; do
    [[ $key != search || $first != *.svc.* ]] || echo ".${first%.}."
  done </etc/resolv.conf
)

# find_missing HOST...: fills `missing` with the hosts that do not answer and `answers` with the MPI of the others. Does not
# probe hosts in `no_address`.
declare -A answers=() no_address=()
find_missing() {
  local host mpi
  local -A up=()
  while read -r host mpi; do up[$host]=1 answers[$host]=$mpi; done < <(
    for host; do [[ -n ${no_address[$host]:-} ]] || echo "$host"; done | probe_hosts
  )
  missing=()
  for host; do [[ -n ${up[$host]:-} ]] || missing+=("$host"); done
}

# shorten NAME...: prints at most eight names and the number of the others.
shorten() {
  local shown=("${@:1:8}")
  printf '%s' "${shown[*]}"
  (($# <= 8)) || printf ' and %d more' $(($# - 8))
}
