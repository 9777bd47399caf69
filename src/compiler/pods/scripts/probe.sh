#!/bin/bash
# probe.sh PORT DOMAIN [in-turn] HOST[=ADDRESS]...: prints one line for each host whose sshd answers as that host of the job:
# `HOST MPI ADDRESS NODE[=DOMAIN] INSTANCE [leaving]`, from the greeting that sshd.sh sets. With `in-turn`, one process connects to all, so
# that a host that accepts no connection delays the others.
#
# The name is checked because a DNS record may still hold the address of an earlier pod, and all workers have the same host
# key. With an address no name is resolved.
port=$1 domain=$2
shift 2
exec 2>/dev/null

# open_connection TARGET: sets `host` and `connection`.
open_connection() {
  host=${1%%=*}
  local address=$host$domain
  [[ $1 == "$host" ]] || address=${1#*=}
  exec {connection}<>"/dev/tcp/$address/$port"
}

print_greeting() {
  local greeting words name
  read -r -u "$connection" greeting || return
  words=${greeting#SSH-* khorovod }
  name=${words%% *}
  [[ $words != "$greeting" && ($name == - || $name == "${host%%.*}") ]] || return
  words=${words%$'\r'}
  echo "$host ${words#* }"
}

if [[ $1 == in-turn ]]; then
  shift
  hosts=() connections=()
  for target; do
    if open_connection "$target"; then hosts+=("$host") connections+=("$connection"); fi
  done
  for index in "${!hosts[@]}"; do
    host=${hosts[index]} connection=${connections[index]}
    print_greeting
  done
  exit
fi
for target; do
  { open_connection "$target" && print_greeting; } &
done
wait
