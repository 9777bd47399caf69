#!/bin/bash
# Horovod asks every second which hosts there are: `host:slots` of each worker that answers.
# One that misses a probe or two is kept, as a busy worker is no lost one; where processors are short, Horovod asks seldom.
scripts=/etc/khorovod/scripts
. "$scripts/job.sh"
. "$scripts/hosts.sh"
patience=0.8
seen=/horovod/generated/seen found=/horovod/generated/found
printf -v now '%(%s)T' -1
declare -A last=() missed=()
list_hosts
if [[ -e $seen ]]; then while read -r host when probes; do last[$host]=$when missed[$host]=$((probes + 1)); done <"$seen"; fi
while read -r host _; do last[$host]=$now missed[$host]=0; done < <(printf '%s\n' "${hosts[@]}" | answering)
for host in "${!last[@]}"; do echo "$host ${last[$host]} ${missed[$host]}"; done >"$seen.$$" && mv "$seen.$$" "$seen"
for index in "${!hosts[@]}"; do
  host=${hosts[index]}
  if ((now - ${last[$host]:-0} < 5 || ${missed[$host]:-3} < 3)); then echo "$host:${slots[index]}"; fi
done >"$found.$$" && mv "$found.$$" "$found"
if [[ -s $found ]]; then echo "$(<"$found")"; fi
exit 0
