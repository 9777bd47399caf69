#!/bin/bash
# Horovod runs this script every second to list the hosts, and less often on a busy machine. The script prints `host:slots` for each
# worker that answers. A worker that misses one or two probes may be busy, so it stays in the list. It leaves the list if its ranks
# have failed since it last answered. The script asks DNS only for workers that did not answer and whose addresses the API server does
# not list.
scripts=/etc/khorovod/scripts
. "$scripts/job.sh"
. "$scripts/hosts.sh"
probe_timeout=0.8
seen=/horovod/generated/seen found=/horovod/generated/found
printf -v now '%(%s)T' -1
declare -A last=() missed=() failed=()
for host in /horovod/generated/failed/*; do [[ ! -e $host ]] || failed[${host##*/}]=1; done

# list_addresses: fills `listed` with the addresses that the API server lists, because a DNS server returns a new address up to half a
# minute later. Asks the API server at most every two seconds, and only if workers are absent. Sets `are_listed` to yes if the API server
# lists every address.
are_listed=no
list_addresses() {
  local when=0 host address file=/horovod/generated/listed
  [[ -n $own_job ]] && ((${#absent[@]})) || return 0
  { read -r when are_listed && while read -r host address; do listed["$host"]=$address; done; } 2>/dev/null <"$file"
  ((now - when >= 2)) || return 0
  . "$scripts/api.sh"
  missing=("${absent[@]}")
  find_no_address
  are_listed=no
  [[ ${has_endpoints:-yes} != yes || ($status != 200 && $status != 404) ]] || are_listed=yes
  {
    echo "$now $are_listed"
    for host in "${!listed[@]}"; do echo "$host ${listed[$host]}"; done
  } >"$file.$$" && mv "$file.$$" "$file"
}

# The workers that were added beyond workers.elastic.maxReplicas: see elastic.sh.
while read -r _ more; do ((more <= max_workers)) || max_workers=$more; done 2>/dev/null </horovod/generated/replaced
list_hosts
if [[ -e $seen ]]; then
  while read -r host when probes address; do last[$host]=$when missed[$host]=$((probes + 1)) addresses["$host"]=$address; done <"$seen"
fi
absent=()
for host in "${hosts[@]}"; do [[ ${missed[$host]:-} == 1 ]] || absent+=("$host"); done
list_addresses
while read -r host _ address _ _ state; do
  last[$host]=$now missed[$host]=0
  [[ $address == - ]] || addresses["$host"]=$address
  # A worker that is about to end gets no ranks any more.
  [[ -z $state ]] || last[$host]=0 missed[$host]=3
done < <(
  printf '%s\n' "${hosts[@]}" | grep -vxFf /horovod/generated/unfit | while read -r host; do
    for address in ${addresses[$host]:-} ${listed[$host]:-}; do echo "$host=$address"; done
    [[ ${missed[$host]:-} == 1 || $are_listed == yes ]] || echo "$host"
  done | probe_hosts
)
for host in "${!last[@]}"; do echo "$host ${last[$host]} ${missed[$host]} ${addresses[$host]:-}"; done >"$seen.$$" && mv "$seen.$$" "$seen"
for index in "${!hosts[@]}"; do
  host=${hosts[index]}
  if [[ -e /horovod/generated/failed/$host ]]; then
    [[ -n ${failed[$host]:-} && ${missed[$host]:-} == 0 ]] || continue
    rm -f "/horovod/generated/failed/$host"
  fi
  if ((now - ${last[$host]:-0} < 5 || ${missed[$host]:-3} < 3)); then echo "$host:${slots[index]}"; fi
done >"$found.$$" && mv "$found.$$" "$found"
if [[ -s $found ]]; then echo "$(<"$found")"; fi
exit 0
