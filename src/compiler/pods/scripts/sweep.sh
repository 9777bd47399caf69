#!/bin/bash
# Ends what an earlier attempt left on a worker: everything but the worker's own script, its sshd and
# this session. Prints what a person should know, for the launcher's log.
#
#   sweep.sh             on the worker
#   sweep.sh from HOST   on the launcher
set -u
if (($#)); then
  said=$(ssh -n -o ConnectTimeout=5 -o ConnectionAttempts=1 "$2" "/bin/bash $0" 2>&1)
  if (($? == 255)); then
    said=${said##*$'\n'}
    echo "cannot log in to $2: ${said#*@*: }"
  elif [[ -n $said ]]; then
    echo "$said"
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
# Ranks that are killed leave their shared memory behind.
read -r used size < <(df -h --output=pcent,size /dev/shm 2>/dev/null | tail -n 1)
[[ $used != 100% ]] || echo "/dev/shm of $HOSTNAME is full ($size): raise workers.shm"
find /dev/shm -mindepth 1 -delete 2>/dev/null
exit 0
