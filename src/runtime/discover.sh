#!/bin/bash
# Horovod asks every second which hosts there are: `host:slots` of each worker that answers.
# One that misses a probe or two is kept, as a busy worker is no lost one.
scripts=/etc/khorovod/scripts
. "$scripts/job.sh"
. "$scripts/hosts.sh"
patience=0.8
seen=/horovod/generated/seen
printf -v now '%(%s)T' -1
declare -A last=()
list_hosts
if [[ -e $seen ]]; then while read -r host when; do last[$host]=$when; done <"$seen"; fi
while read -r host _; do last[$host]=$now; done < <(printf '%s\n' "${hosts[@]}" | answering)
for host in "${!last[@]}"; do echo "$host ${last[$host]}"; done >"$seen.$$" && mv "$seen.$$" "$seen"
for index in "${!hosts[@]}"; do
  host=${hosts[index]}
  if ((now - ${last[$host]:-0} < 5)); then echo "$host:${slots[index]}"; fi
done
exit 0
