# shellcheck shell=bash disable=SC1090,SC1091,SC2016,SC2034,SC2154,SC2317
# Sorts hosts with distances.sh by times that the cases make up. The scripts are in the current folder.
set -u
eval "$(sed -n '/^shorten() {/,/^}/p; /^count() {/,/^}/p' common.sh)"
scripts=. launcher_host='' min_workers='' logged='' failed=0
log() { logged+="$*; "; }
beat() { :; }
write_hostfile() { :; }
has_tree() { false; }
is_usable() { true; }
strange=()
declare -A team_of=() domains=() addresses=()
. ./topology.sh
. ./distances.sh

# Hosts are h0, h1 and so on, and the address of h0 is 0. The function `between` sets the time between two hosts.
on_hosts() {
  local host target time line
  [[ $2 != *';'* ]] || echo "an address became a command: $2" >&2
  for host in "${@:3}"; do
    line=$host
    for target in "${targets[@]}"; do
      between "${host#h}" "$target"
      line+=" $time"
    done
    echo "$line"
  done
}

# By default, hosts of one rack are 40 to 49 microseconds apart, racks with the same first digit 200 to 219, and others 900 to 949.
in_racks() {
  if ((rack[$1] == rack[$2])); then
    time=$((40 + ($1 * 7 + $2 * 3) % 10))
  elif ((rack[$1] / 10 == rack[$2] / 10)); then
    time=$((200 + ($1 + $2) % 20))
  else
    time=$((900 + ($1 + $2) % 50))
  fi
}
between() { in_racks "$@"; }

# order NAME HOSTS LOG: sorts the hosts of `rack`, and checks their order and what is logged.
order() {
  local index
  hosts=() candidates=() logged=''
  for index in "${!rack[@]}"; do
    hosts+=("h$index") team_of[h$index]=0 addresses[h$index]=${strange[index]:-$index}
  done
  order_hosts
  if [[ "${hosts[*]}" == "$2" && $logged == *"$3"* ]]; then echo "ok $1"; else
    echo "$1: ${hosts[*]}: $logged"
    failed=1
  fi
}

rack=(10 11 10 11 10)
order two-racks "h0 h2 h4 h1 h3" "times: 2 groups (3, 2 hosts), gaps: 0.044 to 0.201 ms; "
rack=(10 20 11 10 21 11 20)
order blocks "h0 h3 h2 h5 h1 h6 h4" "times: 4 groups (2, 2, 2, 1 hosts), gaps: 0.205 to 0.901 ms, 0.045 to 0.202 ms; "
rack=(10 10 10 10)
order no-gap "h0 h1 h2 h3" "times, 0.041 to 0.043 ms, have no clear gap: ranks follow the numbers of the workers"
rack=(10)
order one-host "h0" "no round-trip time could be measured"

launcher_host=h1 rack=(10 11 10 11 10)
order rank-0 "h1 h3 h0 h2 h4" "times: 2 groups (2, 3 hosts)"
launcher_host=''

# It neither measures nor is measured.
between() {
  in_racks "$@"
  [[ $1 != 0 && $2 != 0 ]] || time=-
}
rack=(10 11 11 10 11)
order unmeasured "h1 h2 h4 h3 h0" "2 groups (3, 1 hosts), gaps: 0.043 to 0.204 ms; hosts whose round-trip times could not be measured come last: h0; "

# One host prints times that are too long, or text that is not a time. The others have measured to it.
between() {
  in_racks "$@"
  [[ $1 != 3 ]] || time=3000
}
rack=(10 11 10 11)
order busy-host "h0 h2 h1 h3" "2 groups (2, 2 hosts)"
between() {
  in_racks "$@"
  [[ $1 != 1 ]] || time='a[$(touch>touched)] 99999999999999999999 -5 0x10 08'
}
order nonsense "h0 h2 h1 h3" "2 groups (2, 2 hosts)"
[[ ! -e touched ]] || failed=1

# The address of a host is text of its worker. The others cannot measure to it, but it measures to them.
between() { in_racks "$@"; }
strange=([1]='1;touch touched')
order strange-address "h0 h2 h1 h3" "2 groups (2, 2 hosts)"
strange=()

# Fewer hosts are measured to than there are racks, and the number of a host has two digits. Later rounds find the other racks.
landmarks=4 rack=(10 11 12 13 14 15 10 11 12 13 14 15)
order rounds "h0 h6 h1 h7 h2 h8 h3 h9 h4 h10 h5 h11" "6 groups (2, 2, 2, 2, 2, 2 hosts)"
landmarks=64 rack=() wanted=''
for ((index = 0; index < 512; index++)); do rack+=($((100 + index * 7 % 64))); done
for ((index = 0; index < 64; index++)); do for ((next = index; next < 512; next += 64)); do wanted+="h$next "; done; done
between() { if ((rack[$1] == rack[$2])); then time=40; else time=200; fi; }
order many "${wanted% }" "64 groups (8, 8, 8, 8, 8, 8, 8, 8, ... hosts)"
exit "$failed"
