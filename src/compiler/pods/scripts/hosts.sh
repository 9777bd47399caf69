# The job's hosts in the order of ranks.

# Fills `hosts` and `slots`; `elastic` jobs list every candidate.
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

# The hostfile where launchers and people look for it. Too large for a ConfigMap, it is made here.
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

# From hosts on standard input, those that answer, and their MPI: 128 at a time, each given `patience` seconds.
patience=3
answering() { xargs -r -n 16 -P 8 timeout "$patience" /bin/bash "$scripts/probe.sh" "$port" "$domain"; }

# What makes a host's name a whole one: asked for that, DNS is not asked for each of the pod's other domains too.
domain=$(
  while read -r key first _; do
    [[ $key != search || $first != *.svc.* ]] || echo ".${first%.}."
  done </etc/resolv.conf
)

# find_missing HOST...: fills `missing` with those that do not answer, `answers` with the MPI of those that do. The `unborn`,
# who have no address yet, are not asked.
declare -A answers=() unborn=()
find_missing() {
  local host mpi
  local -A up=()
  while read -r host mpi; do up[$host]=1 answers[$host]=$mpi; done < <(
    for host; do [[ -n ${unborn[$host]:-} ]] || echo "$host"; done | answering
  )
  missing=()
  for host; do [[ -n ${up[$host]:-} ]] || missing+=("$host"); done
}

# A few names of many.
some() {
  local shown=("${@:1:8}")
  printf '%s' "${shown[*]}"
  (($# <= 8)) || printf ' and %d more' $(($# - 8))
}
