#!/bin/bash
# Kills what an earlier attempt left on a worker: all processes but the worker's script, its sshd and this session. Prints the
# faults of the worker, for the launcher's log.
#
#   sweep.sh             on the worker
#   sweep.sh from HOST   on the launcher
set -u
if (($#)); then
  output=$(ssh -n -o ConnectTimeout=5 -o ConnectionAttempts=1 "$2" "/bin/bash $0" 2>&1)
  if (($? == 255)); then
    output=${output##*$'\n'}
    echo "cannot log in to $2: ${output#*@*: }"
  elif [[ -n $output ]]; then
    echo "$output"
  fi
  exit 0
fi

mapfile -t own </horovod/generated/own
pid=$$
while ((pid > 1)); do
  own+=("$pid")
  while read -r key value; do [[ $key == PPid: ]] && pid=$value; done <"/proc/$pid/status"
done
for folder in /proc/[0-9]*; do
  pid=${folder#/proc/}
  [[ " ${own[*]} " == *" $pid "* ]] || kill -KILL "$pid" 2>/dev/null
done
# Killed ranks leave their shared memory.
read -r used size < <(df -h --output=pcent,size /dev/shm 2>/dev/null | tail -n 1)
[[ $used != 100% ]] || echo "/dev/shm of $HOSTNAME is full ($size): raise workers.shm"
find /dev/shm -mindepth 1 -delete 2>/dev/null
exit 0
