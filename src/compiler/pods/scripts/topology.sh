# Sorts the hosts of each group by the domains of their nodes at each level of `rank_order`, so that ranks with near numbers run
# near each other.

# find_domain: sets `pod_domain` to the domains of this pod's node: `block-1/rack-3`. A level without a label is `-`.
pod_domain=''
find_domain() {
  local level value node=''
  [[ -z ${KHOROVOD_NODE_NAME:-} ]] || node=$(read_labels)
  pod_domain=''
  for level in "${rank_order[@]}"; do
    value=''
    case $level in
    topology.kubernetes.io/zone) value=${KHOROVOD_ZONE:-} ;;
    topology.kubernetes.io/region) value=${KHOROVOD_REGION:-} ;;
    esac
    [[ ! $node =~ \"$level\":[[:space:]]*\"([^\"]+)\" ]] || value=${BASH_REMATCH[1]}
    pod_domain+=${pod_domain:+/}${value:--}
  done
}

# Prints the labels of this pod's node. A permission as new as this pod may not apply yet.
read_labels() {
  local tries=0
  [[ -e $scripts/api.sh ]] || return
  . "$scripts/api.sh"
  while
    call GET "/api/v1/nodes/$KHOROVOD_NODE_NAME"
    [[ $status != 200 && $status != 404 ]] && ((++tries < 5))
  do pause 1; done
  if [[ $status != 200 ]]; then
    log "cannot read the labels of the node $KHOROVOD_NODE_NAME (HTTP $status); its ServiceAccount needs get on nodes"
  elif [[ $answer =~ \"labels\":[[:space:]]*(\{[^}]*\}) ]]; then
    printf '%s' "${BASH_REMATCH[1]}"
  fi
}

# order_hosts: sorts `hosts` by the domains of their nodes.
order_hosts() {
  local first='' known='' runs=()
  [[ -z $launcher_host ]] || first=$pod_domain
  sort_hosts "$first"
  if [[ -n $known ]]; then
    log "ranks follow the topology: ${runs[*]}"
  else
    log "no node of a worker has one of the labels ${rank_order[*]}: ranks follow the numbers of the workers"
  fi
}

# sort_hosts FIRST: sorts `hosts` within each group of workers, and writes the hostfile. If ranks run in the launcher's pod, which has rank
# 0, its domain FIRST comes first. Hosts whose domain is not known come last. Fills `runs` of the caller: `b1/r1 (2), b1/r2 (2)`; and sets
# `known` if a host has a domain.
sort_hosts() {
  local index host key sorted=() last='' length=0
  mapfile -t sorted < <(
    for index in "${!hosts[@]}"; do
      host=${hosts[index]}
      find_key "$1" "${domains[$host]:--}"
      # The host of rank 0 stays first.
      [[ $host != "$launcher_host" ]] || key=0
      printf '%d %s %d %s\n' "${team_of[$host]}" "$key" "$index" "$host"
    done | LC_ALL=C sort -k1,1n -k2,2V -k3,3n
  )
  hosts=("${sorted[@]##* }")
  for host in "${hosts[@]}" ''; do
    key=${domains[${host:--}]:--}
    [[ -z ${key//[-\/]/} ]] || known=yes
    if [[ -n $last && ($key != "$last" || -z $host) ]]; then
      runs+=("$last ($length)${host:+,}")
      length=0
    fi
    last=$key
    ((++length))
  done
  write_hostfile
}

# find_key FIRST DOMAIN: sets `key` to a text by which domains are sorted: those in FIRST, then others by name, and then unknown ones.
find_key() {
  local level first domain is_near=$1
  IFS=/ read -r -a first <<<"$1"
  IFS=/ read -r -a domain <<<"$2"
  key=''
  for level in "${!rank_order[@]}"; do
    if [[ -n $is_near && ${first[level]} == "${domain[level]:--}" ]]; then
      key+=/0
    else
      is_near=''
      [[ ${domain[level]:--} == - ]] && key+=/2 || key+=/1=${domain[level]}
    fi
  done
}

# near_first HOST: fills `substitutes` with all workers, first those in the domain of a lost host.
near_first() {
  local other far=()
  substitutes=()
  for other in "${candidates[@]}"; do
    if [[ ${domains[$other]:--} == "${domains[$1]:--}" ]]; then substitutes+=("$other"); else far+=("$other"); fi
  done
  substitutes+=("${far[@]}")
}
