#!/bin/bash
# The floor: starts a command on many hosts over a tree of ssh sessions, without khorovod.
#
#   floor.sh CONFIG RADIX COMMAND <ADDRESSES      prints the command's output of all hosts
#
# Each host gets the addresses below it on standard input. Nothing is checked except the host keys and the user's key.
config=$1 radix=$2 command=$3
mapfile -t hosts
children=()
for ((child = 0; child < radix; child++)); do
  from=$((${#hosts[@]} * child / radix)) to=$((${#hosts[@]} * (child + 1) / radix))
  ((from < to)) || continue
  if ((to - from == 1)); then
    ssh -n -F "$config" "${hosts[from]}" "$command" &
  else
    printf '%s\n' "${hosts[@]:from+1:to-from-1}" |
      ssh -F "$config" "${hosts[from]}" "$command & exec /bin/bash $0 $config $radix '$command'" &
  fi
  children+=($!)
done
code=0
for child in "${children[@]}"; do wait "$child" || code=$?; done
exit "$code"
