#!/bin/bash
# Horovod runs this every second to list the hosts: prints `host:slots` of each worker that answers. A worker that misses one or
# two probes stays in the list, because it may be busy. On a busy machine Horovod asks less often. DNS is asked only for workers
# that did not answer from the address they had.
scripts=/etc/khorovod/scripts
. "$scripts/job.sh"
. "$scripts/hosts.sh"
probe_timeout=0.8
seen=/horovod/generated/seen found=/horovod/generated/found
printf -v now '%(%s)T' -1
declare -A last=() missed=()
list_hosts
if [[ -e $seen ]]; then
  while read -r host when probes address; do last[$host]=$when missed[$host]=$((probes + 1)) addresses["$host"]=$address; done <"$seen"
fi
while read -r host _ address _ _ state; do
  last[$host]=$now missed[$host]=0
  [[ $address == - ]] || addresses["$host"]=$address
  # A worker that is about to end gets no ranks any more.
  [[ -z $state ]] || last[$host]=0 missed[$host]=3
done < <(
  printf '%s\n' "${hosts[@]}" | grep -vxFf /horovod/generated/unfit | while read -r host; do
    [[ -z ${addresses[$host]:-} ]] || echo "$host=${addresses[$host]}"
    [[ -n ${addresses[$host]:-} && ${missed[$host]} == 1 ]] || echo "$host"
  done | probe_hosts
)
for host in "${!last[@]}"; do echo "$host ${last[$host]} ${missed[$host]} ${addresses[$host]:-}"; done >"$seen.$$" && mv "$seen.$$" "$seen"
for index in "${!hosts[@]}"; do
  host=${hosts[index]}
  if ((now - ${last[$host]:-0} < 5 || ${missed[$host]:-3} < 3)); then echo "$host:${slots[index]}"; fi
done >"$found.$$" && mv "$found.$$" "$found"
if [[ -s $found ]]; then echo "$(<"$found")"; fi
exit 0
