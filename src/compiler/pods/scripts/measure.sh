#!/bin/bash
# measure.sh HOST ADDRESS...: prints HOST and, for each address, the round-trip time in microseconds, or `-`. With `order` for HOST it runs
# by an order.
#
# It connects to a port on which nothing listens. The kernel of the other host refuses the connection, which takes one round trip
# and no process of it. The shortest of 20 times hardly varies, because a busy host only makes a time longer.
. /etc/khorovod/scripts/job.sh
export LC_ALL=C
# A connection without an answer outlives this script, and must not keep the session open.
exec 2>/dev/null
host=$1
[[ $host != order ]] || host=$SLURMD_NODENAME
shift
closed=$((port < 65535 ? port + 1 : port - 1))

# connect_to ADDRESS: prints the shortest time. Fails if the answer does not come from the other host, as with `No route to host`.
connect_to() {
  local tries start until time least errors error=''
  exec {errors}<> <(:)
  { : <>"/dev/tcp/$1/$closed"; } 2>&"$errors"
  read -r -t 0.01 -u "$errors" error
  [[ -z $error || $error == *refused* ]] || return
  start=${EPOCHREALTIME/./} until=$((${EPOCHREALTIME/./} + 300000))
  for ((tries = 0; tries < 20 && start < until; tries++)); do
    start=${EPOCHREALTIME/./}
    : <>"/dev/tcp/$1/$closed"
    time=$((${EPOCHREALTIME/./} - start))
    ((time >= ${least:-time + 1})) || least=$time
  done
  echo "$least"
}

addresses=("$@") times=("${@//*/-}") own=''
# Version 5.0 of bash is the first with a clock of microseconds.
if [[ -n ${EPOCHREALTIME:-} ]] && (($#)); then
  # bash itself needs some of each time: as much as for a connection within the host.
  read -r -t 1.5 own < <(connect_to 127.0.0.1) || kill $!
  # The hosts start with different addresses.
  first=${host%%.*} first=${first##*-}
  [[ $first =~ ^[0-9]{1,6}$ ]] || first=0
  for ((index = 0; ${#own} && index < $# && SECONDS < 10; index++)); do
    turn=$(((10#$first + index) % $#))
    read -r -t 1.5 time < <(connect_to "${addresses[turn]}") || { kill $!; continue; }
    time=$((time - own))
    times[turn]=$((time > 1 ? time : 1))
  done
fi
echo "$host ${times[*]}"
