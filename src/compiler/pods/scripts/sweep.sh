#!/bin/bash
# Kills what an earlier attempt or an earlier launcher left on a worker: all processes but the worker's scripts, its sshd, this
# session and what people run with `kubectl exec`. Prints the faults of the worker, for the launcher's log.
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

rm -f /horovod/generated/daemon-*
mapfile -t own </horovod/generated/own
declare -A parent=()
for folder in /proc/[0-9]*; do
  while read -r key value; do [[ $key != PPid: ]] || parent[${folder#/proc/}]=$value; done 2>/dev/null <"$folder/status"
done
pid=$$
while ((pid > 1)); do
  own+=("$pid")
  pid=${parent[$pid]:-0}
done
for pid in "${!parent[@]}"; do
  top=$pid
  while ((${parent[$top]:-0} > 1)); do
    # This order is passed on to other workers.
    [[ $top != "${KHOROVOD_ORDER:-}" ]] || continue 2
    top=${parent[$top]}
  done
  # Processes of `kubectl exec` have no parent in this pod. The third of `own` is the script that watches the launcher.
  [[ ${parent[$top]:-0} != 0 && $top != "${own[2]:-}" && " ${own[*]} " != *" $pid "* ]] || continue
  kill -KILL "$pid" 2>/dev/null
done
# Killed ranks leave their shared memory.
read -r used size < <(df -h --output=pcent,size /dev/shm 2>/dev/null | tail -n 1)
[[ $used != 100% ]] || echo "/dev/shm of $HOSTNAME is full ($size): raise workers.shm"
find /dev/shm -mindepth 1 -delete 2>/dev/null
exit 0
